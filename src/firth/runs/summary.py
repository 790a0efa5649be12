"""Runs in a few lines: how far, how good, how big. No torch is needed to tell."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from firth.errors import FirthError
from firth.metrics.score import parts
from firth.runs import checkpoints
from firth.runs.budget import duration
from firth.runs.folder import Run
from firth.runs.log import read
from firth.runs.weights import NOTE


def summary(path: Path | str) -> dict[str, Any]:
    """What there is to know about a run."""
    run = Run.open(path)
    record, lines = run.record, list(read(run.path / "log.jsonl"))
    data = record.config.data
    valid = [line for line in lines if line.get("split") == "valid" and {"loss", "metric", "value"} <= set(line)]
    best = min(valid, key=lambda line: line["loss"], default=None)
    tokens = sum(line.get("tokens", 0) for line in lines)
    vocabulary = run.vocabulary()
    return {
        "run": str(run.path),
        "preset": record.preset,
        "state": _state(run),
        "parameters": parameters(run.weights) if run.is_trained else None,
        "vocabulary": f"{vocabulary.size:,} ({vocabulary.kind})" if vocabulary else None,
        "text": ", ".join((*getattr(data, "source", ()), *getattr(data, "target", ())) or data.text),
        "seconds": max((line.get("seconds", 0.0) for line in lines), default=0.0),
        "tokens_seen": tokens,
        **({"training": record.data["training"]} if "training" in record.data else {}),
        **_notes(lines),
        "best_valid": f"{best['metric']} {best['value']:.4f} at step {best['step']:,}" if best else None,
        "scores": [f"{score['name']} {_number(score['value'])}  [{score['signature']}]" for score in run.scores()],
        "machine": ", ".join(f"{key} {value}" for key, value in record.machine.items()),
        **_origin(record.data.get("origin")),
        "disk": sum(file.stat().st_size for file in run.path.rglob("*") if file.is_file()),
    }


def readable(about: Mapping[str, Any]) -> dict[str, Any]:
    """A summary for people: thousands apart, times and sizes in units one can grasp."""
    told = {**about, "seconds": duration(about["seconds"]), "disk": f"{about['disk'] / 1e6:,.1f} MB"}
    names = {"seconds": "time"}
    return {names.get(key, key): f"{value:,}" if isinstance(value, int) else value for key, value in told.items()}


def comparison(paths: Sequence[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """A row per run, and what keeps rows from being compared."""
    rows: list[dict[str, Any]] = []
    signatures: dict[str, list[dict[str, str]]] = {}
    for path in paths:
        run, about = Run.open(path), summary(path)
        scores = {score["name"]: score for score in run.scores() if parts(score["signature"]).get("split") == "test"}
        rows.append(
            {
                "run": about["run"],
                "preset": about["preset"],
                "state": about["state"],
                "parameters": about["parameters"],
                "seconds": about["seconds"],
                "tokens seen": about["tokens_seen"],
                "scores": {name.replace("_", " "): score["value"] for name, score in scores.items()},
            }
        )
        for name, score in scores.items():
            signatures.setdefault(name, []).append(parts(score["signature"]))
    names = dict.fromkeys(name for row in rows for name in row["scores"])
    rows = [row | {f"test {name}": row["scores"].get(name) for name in names} for row in rows]
    for row in rows:
        del row["scores"]
    return rows, [
        text for part, text in _DIFFERING.items() if any(_differ(part, found) for found in signatures.values())
    ]


def _differ(part: str, signatures: Sequence[dict[str, str]]) -> bool:
    """Whether scores of one name came about differently in a part of what their signatures say."""
    return len({signature.get(part) for signature in signatures}) > 1


# What it means that a part of the signatures differs.
_DIFFERING = {
    "data": "these runs were tested on different text, so their scores cannot be compared",
    "tok": "these runs have different tokenizers: compare bits per byte, not perplexity",
    "ctx": "these runs were scored with different contexts: see ctx in their signatures",
    "prec": "these runs were scored in different precisions: see prec in their signatures",
}


def parameters(path: Path) -> int:
    """How many numbers a weights file holds, or what it says itself it has (n-grams), from its header alone."""
    try:
        with path.open("rb") as file:
            header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        told = json.loads(header.pop("__metadata__", {}).get(NOTE, "{}"))
        if "parameters" in told:
            return int(told["parameters"])
        tensors = header.values()
        return sum(math.prod(entry["shape"]) for entry in tensors if "F" in entry["dtype"])
    except (OSError, ValueError, struct.error, KeyError, TypeError, AttributeError):
        raise FirthError("damaged weights", where=path, do="restore the file, or train again") from None


def _state(run: Run) -> str:
    steps = run.record.data.get("steps", 0)
    place = checkpoints.newest(run.path)
    if place is None:
        at_once = "done" if "steps" not in run.record.data else "trained (its checkpoints are gone)"
        return at_once if run.is_trained else "begun"
    values = json.loads((place / "training.json").read_bytes())
    return f"{'done' if values['finished'] else 'open'}, step {values['step']:,}" + (f" of {steps:,}" if steps else "")


def _notes(lines: Sequence[dict[str, Any]]) -> dict[str, str]:
    """What there was to say of the run while it was made; nothing for most."""
    found = [note for line in lines for note in line.get("notes", ())]
    return {"notes": "; ".join(found)} if found else {}


def _origin(origin: dict[str, Any] | None) -> dict[str, str]:
    """Where an edited run comes from; nothing for a run that was trained from the start."""
    if origin is None:
        return {}
    change = f"{origin['added']} tokens added, {origin['removed']} removed"
    return {"origin": f"{origin['run']} at step {origin['step']}, {change}"}


def _number(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.4f}"
