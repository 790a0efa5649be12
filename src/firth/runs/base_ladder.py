"""What ladders of language models and of labelled tasks have in common: a table, a recommendation, a report."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from html import escape
from pathlib import Path
from typing import Any

from firth.display import Table


@dataclass(frozen=True)
class ConfidenceInterval:
    """A value and its 95 % bootstrap confidence interval over documents."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Advice:
    """The recommended rung, and why."""

    rung: str
    sentences: tuple[str, ...]  # the reasons
    command: str  # trains a rung alone, for longer
    next_rung: str = ""  # the one of the command; the recommended one, or a network that may overtake it


@dataclass(frozen=True, repr=False)
class BaseLadder(ABC):
    """A finished ladder, as `firth.run_ladder` returns it."""

    path: Path
    about: Mapping[str, Any]  # text, splits, budget, seed and what else all rungs share
    metric: str
    rows: tuple[Any, ...]
    advice: Advice
    notes: tuple[str, ...]
    results: tuple[Any, ...]

    @property
    def report(self) -> Path:
        """The report page."""
        return self.path / "report.html"

    @property
    def recommended(self) -> Path:
        """The run folder of the recommended rung."""
        return rung_folder(self.path, self.advice.rung)

    @property
    @abstractmethod
    def table(self) -> Table[dict[str, Any]]:
        """A row for each rung."""

    def describe(self) -> dict[str, str]:
        """What the ladder is about, for people."""
        return {name: describe_value(value) for name, value in self.about.items()}

    def to_pandas(self) -> Any:
        """The rows of the table as a pandas DataFrame."""
        return self.table.to_pandas()

    def __repr__(self) -> str:
        return "\n".join([f"{type(self).__name__}({str(self.path)!r})", repr(self.table), *self.advice.sentences])

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
