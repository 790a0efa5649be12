"""`firth doctor`."""

from __future__ import annotations

import os
import platform
import shutil
import statistics
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

from firth.cli.console import print_json
from firth.cli.options import JSON

_PACKAGES = ("torch", "numpy", "numba", "scipy", "tokenizers", "safetensors")
_EXTRAS = {
    "sentencepiece": "SentencePiece models",
    "py3langid": "language identification",
    "openTSNE": "t-SNE maps",
    "umap-learn": "UMAP maps",
    "usearch": "approximate nearest neighbours",
    "pillow": "images",
}
_SIDE, _ROUNDS = 1024, 7  # of the matrix products that are timed


def doctor(as_json: JSON = False) -> None:
    """Check this machine: versions, cores, instructions, memory, disk, cache, speed."""
    facts = {**_versions(), **_machine(), **_folders(), **_speed()}
    if as_json:
        print_json(facts)
        return
    width = max(map(len, facts)) + 2
    for name, value in facts.items():
        print(f"{name:<{width}}{value}")
    for note in _notes(facts):
        print(f"note: {note}")


def _versions() -> dict[str, Any]:
    names = ("firth", *_PACKAGES, *_EXTRAS)
    versions = {name: _version(name) for name in names}
    missing = {name: f"not installed ({_EXTRAS[name]})" for name in _EXTRAS if versions[name] is None}
    return {"python": platform.python_version(), **versions, **missing}


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _machine() -> dict[str, Any]:
    import torch

    from firth.training.device import has_bf16, idle_cores
    from firth.training.flops import free_memory

    cores = len(os.sched_getaffinity(0))
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "system": platform.platform(terse=True),
        "cores": f"{cores}, {idle_cores():.1f} of them idle",
        "threads": torch.get_num_threads(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "bf16": "yes" if has_bf16() else "no: --precision bf16 would be emulated, and slow",
        "memory": f"{free_memory() / 1e9:.1f} GB free of {total / 1e9:.1f} GB",
    }


def _folders() -> dict[str, Any]:
    from firth.datasets.token_cache import default_cache

    cache = default_cache()
    used = sum(file.stat().st_size for file in cache.rglob("*") if file.is_file()) if cache.is_dir() else 0
    return {
        "disk": f"{shutil.disk_usage(Path.cwd()).free / 1e9:.1f} GB free here",
        "cache": f"{cache}: {used / 1e6:,.0f} MB",
    }


def _speed() -> dict[str, Any]:
    """Matrix products and copies, about the two things that training a network waits for."""
    import torch

    from firth.training.device import has_bf16

    facts = {}
    for kind in ("float32", "bfloat16") if has_bf16() else ("float32",):
        matrix = torch.ones(_SIDE, _SIDE, dtype=getattr(torch, kind))
        seconds = _median(lambda matrix=matrix: matrix @ matrix)
        facts[f"{kind} products"] = f"{2 * _SIDE**3 / seconds / 1e9:,.0f} GFLOP/s"
    block, copy = torch.ones(2, 1 << 25)
    seconds = _median(lambda: copy.copy_(block))
    facts["memory speed"] = f"{2 * block.nbytes / seconds / 1e9:.1f} GB/s"
    return facts


def _median(work: Callable[[], object]) -> float:
    times = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def _notes(facts: dict[str, Any]) -> list[str]:
    cores, idle = (float(word) for word in (facts["cores"].split(",")[0], facts["cores"].split()[1]))
    notes = []
    if idle < cores - 0.5:
        notes.append("other programs keep cores busy: training is slower, and takes fewer threads with a time budget")
    if facts["threads"] > cores:
        notes.append(f"{facts['threads']} threads on {cores:.0f} cores: set OMP_NUM_THREADS={cores:.0f}")
    return notes
