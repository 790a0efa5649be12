"""The folder of a ladder: its settings, the result of each rung, the comparison and the recommendation. No torch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from html import escape
from math import log
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import numpy as np

import firth
from firth.config import migrations
from firth.display import Table
from firth.errors import FirthError
from firth.metrics.ladder_metric import BITS_PER_BYTE
from firth.runs import atomic_files, json_files
from firth.runs.gate import Gate
from firth.runs.json_files import Amount, Natural

FORMAT = 1
_ADVICE = "delete it and give the same command again"


@dataclass(frozen=True)
class Point:
    """A point of the learning curve: the validation score while a rung is trained."""

    seconds: Amount
    tokens: Natural  # trained on so far
    bits: Amount
    sample: str = ""


@dataclass(frozen=True)
class WorstPassage:
    """A badly predicted passage: its bits per byte, and its tokens with the surprisal of each."""

    bits: Amount
    tokens: tuple[str, ...]
    token_bits: tuple[Amount, ...]


@dataclass(frozen=True)
class UnitScores:
    """The negative log-likelihood of a rung for each unit (document or block) of a held-out split."""

    perplexity: Amount
    nats: tuple[Amount, ...]
    sizes: tuple[Amount, ...]  # bytes, or tokens where bytes are not known

    @property
    def bits(self) -> float:
        """Bits per byte (or token) over all units."""
        return sum(self.nats) / log(2) / sum(self.sizes)

    @property
    def counts(self) -> np.ndarray:
        """What bits per byte are computed from (units, 2): nats and sizes."""
        return np.array([self.nats, self.sizes]).T


@dataclass(frozen=True)
class Result:
    """The result of one rung."""

    rung: str
    preset: str
    parameters: Natural
    seconds: Amount
    tokens: Amount  # trained on
    valid: UnitScores
    test: UnitScores
    curve: tuple[Point, ...]
    samples: tuple[str, ...]
    worst: tuple[WorstPassage, ...]
    tokens_per_second: Amount | None = None  # of training steps; None where none was logged: tokens by seconds

    @property
    def shown_score(self) -> str:
        """The validation score, for people."""
        return BITS_PER_BYTE.format(self.valid.bits)

    @property
    def shown_work(self) -> str:
        """What the rung was trained on, for people."""
        return f"{self.tokens:,} tokens"


@dataclass(frozen=True)
class ConfidenceInterval:
    """A value and its 95 % bootstrap confidence interval over documents."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Row:
    """A row of the comparison table."""

    rung: str
    preset: str
    parameters: int
    seconds: float  # of training
    tokens_per_second: float
    tokens: int  # trained on, repetitions counted
    perplexity: float  # on the test text
    bits: ConfidenceInterval  # on the test text
    valid: ConfidenceInterval  # on the validation text
    behind: ConfidenceInterval  # bits more than the best rung, on the test text
    valid_behind: ConfidenceInterval  # the same on the validation text
    sample: str


@dataclass(frozen=True)
class Advice:
    """The recommended rung, and why."""

    rung: str
    sentences: tuple[str, ...]  # the reasons
    command: str  # trains a rung alone, for longer
    next_rung: str = ""  # the one of the command; the recommended one, or a network that may overtake it


@dataclass(frozen=True, repr=False)
class Ladder:
    """A finished ladder, as `firth.run_ladder` returns it."""

    path: Path
    about: Mapping[str, Any]  # text, splits, tokenizer, budget, seed
    metric: str  # bits per byte; of firth 0.2 also bits per token
    rows: tuple[Row, ...]
    advice: Advice
    floors: Mapping[str, float]  # the entropy of valid and test, where the generating process is known
    notes: tuple[str, ...]
    results: tuple[Result, ...]

    @property
    def report(self) -> Path:
        """The report page."""
        return self.path / "report.html"

    @property
    def recommended(self) -> Path:
        """The run folder of the recommended rung."""
        return rung_folder(self.path, self.advice.rung)

    @property
    def table(self) -> Table[dict[str, Any]]:
        """A row for each rung: size, time, perplexity and bits per byte with their 95 % confidence interval."""
        bits = self.metric.replace(" ", "_")
        return Table(
            {
                "rung": row.rung,
                "preset": row.preset,
                "parameters": row.parameters,
                "seconds": row.seconds,
                "tokens_per_second": row.tokens_per_second,
                "tokens": row.tokens,
                "perplexity": row.perplexity,
                bits: row.bits.value,
                f"{bits}_low": row.bits.low,
                f"{bits}_high": row.bits.high,
                "recommended": row.rung == self.advice.rung,
            }
            for row in self.rows
        )

    def describe(self) -> dict[str, str]:
        """What the ladder is about, for people."""
        return {name: describe_value(value) for name, value in self.about.items()}

    def to_pandas(self) -> Any:
        """The rows of the table as a pandas DataFrame."""
        return self.table.to_pandas()

    def __repr__(self) -> str:
        return "\n".join([f"Ladder({str(self.path)!r})", repr(self.table), *self.advice.sentences])

    def _repr_html_(self) -> str:
        advice = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.advice.sentences)
        return f"<strong>{escape(str(self.path))}</strong>{self.table._repr_html_()}{advice}"

    def to_dict(self) -> dict[str, Any]:
        """The table and the recommendation as JSON values."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("results", "path")}
        rows, advice = [asdict(row) for row in self.rows], asdict(self.advice)
        return {**values, "path": str(self.path), "report": str(self.report), "rows": rows, "advice": advice}


def describe_value(value: Any) -> str:
    """A fact for people: 1,200 documents, 90,000 tokens."""
    if isinstance(value, Mapping):
        parts = (part if isinstance(part, str) else f"{part:,} {unit}" for unit, part in value.items())
        return ", ".join(parts)
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def rung_folder(ladder: Path, rung: str) -> Path:
    """The run folder of a rung."""
    return ladder / "rungs" / rung.replace(":", "-")


class LadderFile(TypedDict):
    """What a later command reads of ladder.json."""

    format: Natural
    settings: dict[str, Any]
    tokenizer: NotRequired[str]
    splits: NotRequired[dict[str, str]]


@dataclass(frozen=True)
class LadderFolder:
    """The files of a ladder."""

    path: Path

    @property
    def exists(self) -> bool:
        """Whether there is a ladder in the folder."""
        return self._gate.exists("ladder.json")

    @property
    def _gate(self) -> Gate:
        return Gate(self.path)

    def read(self) -> dict[str, Any]:
        """The content of ladder.json."""
        path = self.path / "ladder.json"
        values = json_files.read(self._gate, "ladder.json", LadderFile, _ADVICE)
        if values["format"] != FORMAT:
            raise FirthError("written by another firth", where=path, do="choose another --out, or upgrade")
        settings = migrations.rename(values["settings"], migrations.LADDER)
        return values | {"settings": migrations.keep_split(settings)}

    def write(self, values: Mapping[str, Any]) -> None:
        """Write ladder.json."""
        atomic_files.make_folder(self.path)
        content = {"format": FORMAT, "firth": firth.__version__, **values}
        self._gate.replace("ladder.json", _json(content, indent=2))

    def write_report(self, page: str) -> None:
        """Write report.html."""
        self._gate.replace("report.html", page.encode("utf-8", "replace"))

    def run_folder(self, rung: str) -> Path:
        """The run folder of a rung, below a folder that is there; an error if one of them is a link."""
        self._gate.make_folder("rungs")
        path = rung_folder(self.path, rung)
        self._gate.names(str(path.relative_to(self.path)))
        return path

    def read_result(self, rung: str, units: Mapping[str, int]) -> Result | None:
        """The result of a rung, if it is done, with a score for each of so many units of the held-out splits."""
        result: Result | None = self.read_values(rung, Result)
        if result is not None:
            scores = {"valid": result.valid, "test": result.test}
            fits = all(len(scores[split].nats) == len(scores[split].sizes) == count for split, count in units.items())
            self.require(result.rung == rung and fits, rung)
        return result

    def read_values(self, rung: str, kind: type) -> Any:
        """The result of a rung as values of this type; None if it is not done."""
        name = _result_name(rung)
        return json_files.read(self._gate, name, kind, _ADVICE) if self._gate.exists(name) else None

    def require(self, fits: bool, rung: str) -> None:
        """An error unless the result that was read fits the rung and the data."""
        if not fits:
            where = self.path / _result_name(rung)
            raise FirthError("damaged: not the result of this rung", where=where, do=_ADVICE)

    def save_result(self, result: Any) -> None:
        """Save the result of a rung."""
        self._gate.make_folder("results")
        self._gate.replace(_result_name(result.rung), _json(asdict(result)))


def _result_name(rung: str) -> str:
    return f"results/{rung.replace(':', '-')}.json"


def _json(values: Any, indent: int | None = None) -> bytes:
    return (json.dumps(values, ensure_ascii=False, indent=indent) + "\n").encode("utf-8", "replace")
