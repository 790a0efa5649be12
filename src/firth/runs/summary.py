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
from firth.metrics.score import format_scores, parse_signature
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
    tokenizer = part(lambda: run.tokenizers().get("text"))
    return {
        "preset": record.preset,
        **part(lambda: _state(run), {}),
        "parameters": part(lambda: count_parameters(run.weights) if run.is_trained else None),
        "tokenizer": tokenizer and {"kind": tokenizer.kind, "vocabulary_size": tokenizer.vocab_size},
        "text": list((*getattr(data, "source", ()), *getattr(data, "target", ())) or data.text),
        "seconds": max((line.get("seconds", 0.0) for line in lines), default=0.0),
        "tokens_seen": tokens,
        "training": record.data.get("training"),
        "notes": [note for line in lines for note in line.get("notes", ())],
        "best_valid": best and {key: best[key] for key in ("metric", "value", "step")},
        "scores": part(run.scores, []),
        "machine": dict(record.machine),
        "origin": record.data.get("origin"),
        "base": record.config.init_from if "base" in record.data else None,
    }


def _disk_use(path: Path) -> int:
    """The bytes of the files in a folder; links are not followed."""
    return sum((Path(folder) / name).lstat().st_size for folder, _, names in os.walk(path) for name in names)


def format_summary(about: Mapping[str, Any], verbose: bool = False) -> dict[str, Any]:
    """A summary for people: thousands separators, times and sizes with units; with `verbose` signatures of scores."""
    tokenizer, best, origin = about.get("tokenizer"), about.get("best_valid"), about.get("origin")
    values = {
        "run": about["run"],
        "preset": about.get("preset"),
        "state": format_state(about) if "state" in about else None,
        "parameters": about.get("parameters"),
        "adapter_of": about.get("base"),
        "vocabulary": tokenizer and f"{tokenizer['vocabulary_size']:,} ({tokenizer['kind']})",
        "text": ", ".join(about.get("text", ())),
        "time": format_duration(about["seconds"]) if "seconds" in about else None,
        "tokens_seen": about.get("tokens_seen"),
        "training": about.get("training"),
        "notes": "; ".join(about.get("notes", ())),
        "best_valid": best and f"{best['metric']} {best['value']:.4f} at step {best['step']:,}",
        "scores": format_scores(about.get("scores", ()), verbose),
        "machine": ", ".join(f"{key} {value}" for key, value in about.get("machine", {}).items()),
        "origin": origin and _format_origin(origin),
        "disk": f"{about['disk'] / 1e6:,.1f} MB",
        "damaged": about.get("damaged"),
    }
    shown = {key: value for key, value in values.items() if value not in (None, "", [])}
    return {key: f"{value:,}" if isinstance(value, int) else value for key, value in shown.items()}


def format_state(about: Mapping[str, Any]) -> str:
    """The state for people: done, step 6 of 6."""
    step, steps = about["step"], about["steps"]
    if step is None:
        return about["state"] + " (its checkpoints are gone)" * (about["state"] == "trained")
    return f"{about['state']}, step {step:,}" + (f" of {steps:,}" if steps else "")


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
    """One row per run, and warnings about differences that make scores incomparable. Perplexities of different
    vocabularies are left out; such runs are ranked by bits per byte if all have it on the same text."""
    scores_of = [_test_scores(Run.open(path)) for path in paths]
    signatures: dict[str, list[dict[str, str]]] = {}
    for scores in scores_of:
        for name, score in scores.items():
            signatures.setdefault(name, []).append(parse_signature(score["signature"]))
    incomparable = {name for name, each in signatures.items() if "perplexity" in name and _differ("tok", each)}
    names = [name for name in signatures if name not in incomparable]
    rows = [_row(path, scores, names) for path, scores in zip(paths, scores_of, strict=True)]
    differing = {part for part in _DIFFERING if any(_differ(part, each) for each in signatures.values())}
    if "data" in differing:  # other texts overlap differently
        differing.discard("leak")
    warnings = [text for part, text in _DIFFERING.items() if part in differing]
    if incomparable:
        left_out = "these runs have different vocabularies: their perplexities do not compare and are left out"
        is_ranked = _is_ranked(rows, signatures)
        warnings.append(f"{left_out}; ranked by bits per byte, the best first" if is_ranked else left_out)
        rows = sorted(rows, key=lambda row: row[_RANKED]) if is_ranked else rows
    return rows, warnings


_RANKED = "test bits per byte"


def _is_ranked(rows: Sequence[Mapping[str, Any]], signatures: Mapping[str, Sequence[dict[str, str]]]) -> bool:
    return all(row.get(_RANKED) is not None for row in rows) and not _differ("data", signatures["bits_per_byte"])


def _test_scores(run: Run) -> dict[str, dict[str, Any]]:
    """The scores of a run's test split by name; one of the whole split replaces one of a sample."""
    return {
        score["name"]: score
        for score in sorted(run.scores(), key=_is_whole_test)
        if parse_signature(score["signature"]).get("split", "").partition("/")[0] == "test"
    }


def _row(path: str, scores: Mapping[str, Mapping[str, Any]], names: Iterable[str]) -> dict[str, Any]:
    about = summary(path)
    columns = ("run", "preset", "state", "step", "parameters", "seconds")
    values = {name: score["value"] for name, score in scores.items()}
    return {
        **{column: about[column] for column in columns},
        "tokens seen": about["tokens_seen"],
        **{f"test {name.replace('_', ' ')}": values.get(name) for name in names},
    }


def _is_whole_test(score: Mapping[str, Any]) -> bool:
    return parse_signature(score["signature"]).get("split") == "test"


def _differ(part: str, signatures: Sequence[dict[str, str]]) -> bool:
    """Whether the signatures of scores of one name differ in a part."""
    return len({signature.get(part) for signature in signatures}) > 1


# The warning for each part of the signatures that differs.
_DIFFERING = {
    "data": "these runs were tested on different text, so their scores cannot be compared",
    "leak": "some of these runs were tested on text that is in their training text: see leak in their signatures",
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


def _state(run: Run) -> dict[str, Any]:
    """Begun, open or done (or trained, with its checkpoints gone), the last step, and how many there will be."""
    steps = run.record.data.get("steps") or None
    checkpoint = checkpoints.newest_checkpoint(run.path)
    if checkpoint is None:
        without_checkpoint = "trained" if "steps" in run.record.data else "done"
        return {"state": without_checkpoint if run.is_trained else "begun", "step": None, "steps": steps}
    file = checkpoint / "training.json"
    values = json_files.parse(checkpoints.read(checkpoint, file.name), Progress, file, "delete this checkpoint")
    return {"state": "done" if values["finished"] else "open", "step": values["step"], "steps": steps}


def _format_origin(origin: Mapping[str, Any]) -> str:
    """The run that an edited run comes from."""
    change = f"{origin['added']} tokens added, {origin['removed']} removed"
    return f"{origin['run']} at step {origin['step']}, {change}"
