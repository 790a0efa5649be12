"""The folder of a ladder: what was asked, what each rung reached, and what follows from it. No torch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from math import log
from pathlib import Path
from typing import Any

import firth
from firth.errors import FirthError
from firth.runs import files

FORMAT = 1
_DAMAGED = "damaged; delete it and give the same command again"


@dataclass(frozen=True)
class Point:
    """A look at the validation text while a rung was trained."""

    seconds: float
    tokens: int  # read so far
    bits: float
    sample: str = ""


@dataclass(frozen=True)
class Surprise:
    """A badly predicted passage: bits per byte, and its tokens with the bits of each."""

    bits: float
    pieces: tuple[str, ...]
    each: tuple[float, ...]


@dataclass(frozen=True)
class Units:
    """What a rung paid for each unit (document or block) of a held-out split."""

    perplexity: float
    nats: tuple[float, ...]
    sizes: tuple[float, ...]  # bytes, or tokens where bytes cannot be told

    @property
    def bits(self) -> float:
        """Per byte (or token) over all units."""
        return sum(self.nats) / log(2) / sum(self.sizes)


@dataclass(frozen=True)
class Result:
    """What one rung reached."""

    rung: str
    preset: str
    parameters: int
    seconds: float
    tokens: int  # read in training
    valid: Units
    test: Units
    curve: tuple[Point, ...]
    samples: tuple[str, ...]
    worst: tuple[Surprise, ...]


@dataclass(frozen=True)
class Spread:
    """A value and where it lies in 95 of 100 draws of the documents."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    rung: str
    preset: str
    parameters: int
    seconds: float
    tokens_per_second: float
    tokens: int
    perplexity: float
    bits: Spread  # of the test text
    valid: Spread  # of the validation text
    behind: Spread  # bits of the test text more than the rung that is best there
    valid_behind: Spread  # the same of the validation text
    sample: str


@dataclass(frozen=True)
class Advice:
    """What to use, and why, in plain words."""

    rung: str
    sentences: tuple[str, ...]
    command: str  # trains it alone, for longer


@dataclass(frozen=True)
class Ladder:
    """A finished ladder: what `firth.ladder` gives."""

    path: Path
    about: Mapping[str, str]  # text, splits, tokenizer, budget: for a person
    yardstick: str  # bits per byte, or per token
    rows: tuple[Row, ...]
    advice: Advice
    floors: Mapping[str, float]  # what the truth costs on valid and test, where it is known
    notes: tuple[str, ...]
    results: tuple[Result, ...]

    @property
    def report(self) -> Path:
        """The page about it."""
        return self.path / "report.html"

    @property
    def recommended(self) -> Path:
        """The run folder of the rung that is recommended."""
        return rung_folder(self.path, self.advice.rung)

    def to_dict(self) -> dict[str, Any]:
        """The table and the advice as JSON values."""
        found = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("results", "path")}
        rows, advice = [asdict(row) for row in self.rows], asdict(self.advice)
        return {**found, "path": str(self.path), "report": str(self.report), "rows": rows, "advice": advice}


def rung_folder(ladder: Path, rung: str) -> Path:
    """The run folder of a rung."""
    return ladder / "rungs" / rung.replace(":", "-")


@dataclass(frozen=True)
class Folder:
    """The files of a ladder."""

    path: Path

    @property
    def exists(self) -> bool:
        """Whether a ladder was begun here."""
        return (self.path / "ladder.json").is_file()

    def read(self) -> dict[str, Any]:
        """What ladder.json says."""
        place = self.path / "ladder.json"
        values = _read(place)
        if not isinstance(values, dict) or not isinstance(values.get("settings"), dict):
            raise FirthError(_DAMAGED, where=place)
        if values.get("format") != FORMAT:
            raise FirthError("written by another firth", where=place, do="choose another --out, or upgrade")
        return values

    def write(self, values: Mapping[str, Any]) -> None:
        """Write ladder.json."""
        files.make_folder(self.path)
        told = {"format": FORMAT, "firth": firth.__version__, **values}
        files.replace_file(self.path / "ladder.json", _json(told, indent=2))

    def result(self, rung: str) -> Result | None:
        """What a rung reached, if it is done."""
        place = self._place(rung)
        if not place.exists():
            return None
        try:
            return _result(_read(place))
        except (TypeError, KeyError, ValueError):
            raise FirthError(_DAMAGED, where=place) from None

    def keep(self, result: Result) -> None:
        """A rung is done."""
        place = self._place(result.rung)
        files.make_folder(place.parent)
        files.replace_file(place, _json(asdict(result)))

    def _place(self, rung: str) -> Path:
        return self.path / "results" / f"{rung.replace(':', '-')}.json"


def _json(values: Any, indent: int | None = None) -> bytes:
    return (json.dumps(values, ensure_ascii=False, indent=indent) + "\n").encode("utf-8", "replace")


def _read(place: Path) -> Any:
    try:
        return json.loads(place.read_bytes())
    except (OSError, ValueError):
        raise FirthError(_DAMAGED, where=place) from None


def _result(values: dict[str, Any]) -> Result:
    units = {name: Units(**_tuples(values[name])) for name in ("valid", "test")}
    curve = tuple(Point(**point) for point in values["curve"])
    worst = tuple(Surprise(**_tuples(entry)) for entry in values["worst"])
    return Result(**{**values, **units, "curve": curve, "worst": worst, "samples": tuple(values["samples"])})


def _tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
