"""Summaries and comparisons of runs: state, scores, size. No torch."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, TypedDict

from firth.display import Table
from firth.errors import FirthError
from firth.metrics.score import parse_signature
from firth.runs import atomic_files, checkpoints, json_files
from firth.runs.json_files import Natural
from firth.runs.progress import format_duration
from firth.runs.run_folder import Run, read_log
from firth.runs.weights import METADATA_KEY, read_header


def summary(path: Path | str) -> dict[str, Any]:
    """The summary of a run; an error if a part of it is damaged."""
    about, damage = survey(path)
    if damage:
        raise damage[0]
    return about


def survey(path: Path | str) -> tuple[dict[str, Any], list[FirthError]]:
    """What can be told of a run, and the damage that was found."""
    run = Run.require(path)
    damage: list[FirthError] = []

    def part(read: Callable[[], Any], default: Any = None) -> Any:
        try:
            return read()
        except FirthError as error:
            damage.append(error)
            return default

    about: dict[str, Any] = {"run": str(run.path)}
    if part(lambda: run.record) is not None:
        about |= _describe(run, part)
    return about | {"disk": _disk_use(run.path)}, damage


def _describe(run: Run, part: Callable[..., Any]) -> dict[str, Any]:
    record, lines = run.record, part(lambda: list(read_log(run.path / "log.jsonl")), [])
    data = record.config.data
    valid = [line for line in lines if line.get("split") == "valid" and {"loss", "metric", "value"} <= set(line)]
    best = min(valid, key=lambda line: line["loss"], default=None)
    tokens = sum(line.get("tokens", 0) for line in lines)
    vocabulary = part(lambda: run.tokenizers().get("text"))
    return {
        "preset": record.preset,
        "state": part(lambda: _state(run)),
        "parameters": part(lambda: count_parameters(run.weights) if run.is_trained else None),
        "vocabulary": f"{vocabulary.vocab_size:,} ({vocabulary.kind})" if vocabulary else None,
        "text": ", ".join((*getattr(data, "source", ()), *getattr(data, "target", ())) or data.text),
        "seconds": max((line.get("seconds", 0.0) for line in lines), default=0.0),
        "tokens_seen": tokens,
        **({"training": record.data["training"]} if "training" in record.data else {}),
        **_notes(lines),
        "best_valid": f"{best['metric']} {best['value']:.4f} at step {best['step']:,}" if best else None,
        "scores": [_score_line(score) for score in part(run.scores, [])],
        "machine": ", ".join(f"{key} {value}" for key, value in record.machine.items()),
        **_origin(record.data.get("origin")),
    }


def _disk_use(path: Path) -> int:
    """The bytes of the files in a folder; links are not followed."""
    return sum((Path(folder) / name).lstat().st_size for folder, _, names in os.walk(path) for name in names)


def format_summary(about: Mapping[str, Any]) -> dict[str, Any]:
    """A summary for people: thousands separators, times and sizes with units."""
    values = {**about, "disk": f"{about['disk'] / 1e6:,.1f} MB"}
    if "seconds" in about:
        values["seconds"] = format_duration(about["seconds"])
    names = {"seconds": "time"}
    return {names.get(key, key): f"{value:,}" if isinstance(value, int) else value for key, value in values.items()}


class Comparison(Table[dict[str, Any]]):
    """Runs side by side, and warnings where their scores cannot be compared."""

    def __init__(self, rows: Iterable[dict[str, Any]] = (), warnings: Sequence[str] = ()) -> None:
        super().__init__(rows)
        self.warnings = tuple(warnings)

    @classmethod
    def of(cls, paths: Sequence[str]) -> Comparison:
        """The comparison of the runs in these folders."""
        return cls(*compare_runs(paths))

    def __repr__(self) -> str:
        return "\n".join([super().__repr__(), *(f"note: {warning}" for warning in self.warnings)])

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>note: {escape(warning)}</p>" for warning in self.warnings)
        return super()._repr_html_() + notes


def compare_runs(paths: Sequence[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """One row per run, and warnings about differences that make scores incomparable."""
    rows: list[dict[str, Any]] = []
    signatures: dict[str, list[dict[str, str]]] = {}
    for path in paths:
        run, about = Run.open(path), summary(path)
        scores = {
            score["name"]: score
            for score in sorted(run.scores(), key=_is_whole_test)  # a score of the whole split replaces one of a sample
            if parse_signature(score["signature"]).get("split", "").partition("/")[0] == "test"
        }
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
            signatures.setdefault(name, []).append(parse_signature(score["signature"]))
    names = dict.fromkeys(name for row in rows for name in row["scores"])
    rows = [row | {f"test {name}": row["scores"].get(name) for name in names} for row in rows]
    for row in rows:
        del row["scores"]
    return rows, [text for part, text in _DIFFERING.items() if any(_differ(part, each) for each in signatures.values())]


def _is_whole_test(score: Mapping[str, Any]) -> bool:
    return parse_signature(score["signature"]).get("split") == "test"


def _differ(part: str, signatures: Sequence[dict[str, str]]) -> bool:
    """Whether the signatures of scores of one name differ in a part."""
    return len({signature.get(part) for signature in signatures}) > 1


# The warning for each part of the signatures that differs.
_DIFFERING = {
    "data": "these runs were tested on different text, so their scores cannot be compared",
    "tok": "these runs have different tokenizers: compare bits per byte, not perplexity",
    "ctx": "these runs were scored with different contexts: see ctx in their signatures",
    "prec": "these runs were scored in different precisions: see prec in their signatures",
}


class Counted(TypedDict, total=False):
    """The metadata of a weights file whose tensors are not its parameters."""

    parameters: Natural


class Progress(TypedDict):
    """How far training came, of a checkpoint."""

    step: Natural
    finished: bool


def count_parameters(path: Path) -> int:
    """The number of parameters in a weights file, or as its metadata says (n-gram models), from its header alone."""
    try:
        with atomic_files.open_file(path) as file:
            header = read_header(file)
        metadata = json_files.decode(header.metadata.get(METADATA_KEY, "{}").encode(), Counted)
        if "parameters" in metadata:
            return metadata["parameters"]
        return sum(math.prod(entry["shape"]) for entry in header.tensors.values() if "F" in entry["dtype"])
    except (OSError, ValueError):
        raise FirthError("damaged weights", where=path, do="restore the file, or train again") from None


def _state(run: Run) -> str:
    steps = run.record.data.get("steps", 0)
    checkpoint = checkpoints.newest_checkpoint(run.path)
    if checkpoint is None:
        without_checkpoint = "done" if "steps" not in run.record.data else "trained (its checkpoints are gone)"
        return without_checkpoint if run.is_trained else "begun"
    file = checkpoint / "training.json"
    values = json_files.parse(checkpoints.read(checkpoint, file.name), Progress, file, "delete this checkpoint")
    return f"{'done' if values['finished'] else 'open'}, step {values['step']:,}" + (f" of {steps:,}" if steps else "")


def _notes(lines: Sequence[dict[str, Any]]) -> dict[str, str]:
    """The notes of the training log; nothing for most runs."""
    notes = [note for line in lines for note in line.get("notes", ())]
    return {"notes": "; ".join(notes)} if notes else {}


def _origin(origin: dict[str, Any] | None) -> dict[str, str]:
    """The run that an edited run comes from; nothing for a trained run."""
    if origin is None:
        return {}
    change = f"{origin['added']} tokens added, {origin['removed']} removed"
    return {"origin": f"{origin['run']} at step {origin['step']}, {change}"}


def _score_line(score: Mapping[str, Any]) -> str:
    return f"{score['name']} {_number(score['value'])}  [{score['signature']}]"


def _number(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.4f}"
