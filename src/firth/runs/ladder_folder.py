"""The folder of a ladder: its settings, the result of each rung, the comparison and the recommendation. No torch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
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
from firth.runs.base_ladder import BaseLadder, ConfidenceInterval, rung_folder
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


@dataclass(frozen=True, repr=False)
class Ladder(BaseLadder):
    """A finished ladder of language models."""

    rows: tuple[Row, ...]
    results: tuple[Result, ...]
    floors: Mapping[str, float] = field(default_factory=dict)  # the entropy of valid and test, where it is known

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
