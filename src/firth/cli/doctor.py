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
    facts: dict[str, Any] = {}
    for check in (_versions, _machine, _folders, _speed):  # each is shown when it is done
        checked = check()
        facts |= checked
        for name, value in () if as_json else checked.items():
            print(f"{_LABELS.get(name, name):<{_LABEL_WIDTH}}{_format(name, value)}", flush=True)
    if as_json:
        print_json(facts)
        return
    for note in _notes(facts):
        print(f"note: {note}")


_LABELS = {
    "idle_cores": "idle cores",
    "free_memory": "free memory",
    "free_disk": "free disk",
    "cache_bytes": "cache size",
    "float32_flops": "float32 products",
    "bfloat16_flops": "bfloat16 products",
    "bytes_per_second": "memory speed",
}
_LABEL_WIDTH = 19


def _format(name: str, value: Any) -> str:
    """A fact for people: with its unit."""
    if value is None:
        return f"not installed ({_EXTRAS[name]})" if name in _EXTRAS else "not installed"
    if name.endswith("_flops"):
        return f"{value / 1e9:,.0f} GFLOP/s"
    if name == "bf16":
        return "yes" if value else "no: --precision bf16 would be emulated, and slow"
    if name == "cache_bytes":
        return f"{value / 1e6:,.0f} MB"
    sizes = ("memory", "free_memory", "free_disk", "bytes_per_second")
    if name in sizes:
        return f"{value / 1e9:,.1f} GB{'/s' * (name == 'bytes_per_second')}"
    return str(value)


def _versions() -> dict[str, Any]:
    names = ("firth", *_PACKAGES, *_EXTRAS)
    return {"python": platform.python_version(), **{name: _version(name) for name in names}}


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
        "cores": cores,
        "idle_cores": round(idle_cores(), 2),
        "threads": torch.get_num_threads(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "bf16": has_bf16(),
        "memory": total,
        "free_memory": free_memory(),
    }


def _folders() -> dict[str, Any]:
    from firth.datasets.token_cache import default_cache

    cache = default_cache()
    used = sum(file.stat().st_size for file in cache.rglob("*") if file.is_file()) if cache.is_dir() else 0
    return {
        "free_disk": shutil.disk_usage(Path.cwd()).free,
        "cache": str(cache),
        "cache_bytes": used,
    }


def _speed() -> dict[str, Any]:
    """Matrix products and copies, about the two things that training a network waits for."""
    import torch

    from firth.training.device import has_bf16

    facts = {}
    for kind in ("float32", "bfloat16") if has_bf16() else ("float32",):
        matrix = torch.ones(_SIDE, _SIDE, dtype=getattr(torch, kind))
        seconds = _median(lambda matrix=matrix: matrix @ matrix)
        facts[f"{kind}_flops"] = 2 * _SIDE**3 / seconds
    block, copy = torch.ones(2, 1 << 25)
    seconds = _median(lambda: copy.copy_(block))
    facts["bytes_per_second"] = 2 * block.nbytes / seconds
    return facts


def _median(work: Callable[[], object]) -> float:
    times = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def _notes(facts: dict[str, Any]) -> list[str]:
    cores, idle = facts["cores"], facts["idle_cores"]
    notes = []
    if idle < cores - 0.5:
        notes.append("other programs keep cores busy: training is slower, and takes fewer threads with a time budget")
    if facts["threads"] > cores:
        notes.append(f"{facts['threads']} threads on {cores} cores: set OMP_NUM_THREADS={cores}")
    return notes
