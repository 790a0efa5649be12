"""A score and its signature: two scores are comparable if their signatures agree (Post 2018)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import firth
from firth.display import html_table


@dataclass(frozen=True)
class Score:
    """A named value with a signature; None where the metric is undefined (shown as n/a)."""

    name: str  # `perplexity`, `bits_per_byte`, `accuracy`, …
    value: float | None
    signature: str  # how it was computed: `tok:word/1a2b|ctx:carried|split:test|…`
    note: str = ""  # what belongs beside the value

    def __str__(self) -> str:
        value = "n/a" if self.value is None else f"{self.value:.4f}"
        return f"{self.name} {value}{self.note and f' ({self.note})'}  [{self.signature}]"

    def _repr_html_(self) -> str:
        return html_table([self.to_dict()])

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        values = asdict(self)
        return values if self.note else {key: value for key, value in values.items() if key != "note"}


def signature(fields: Mapping[str, object]) -> str:
    """The settings behind a score in sacrebleu's format: `tok:word/1a2b|ctx:carried|…|firth:0.1.0`."""
    return "|".join(f"{name}:{value}" for name, value in {**fields, "firth": firth.__version__}.items())


def parse_signature(signature: str) -> dict[str, str]:
    """The inverse of `signature`."""
    return dict(field.partition(":")[::2] for field in signature.split("|"))


def format_scores(scores: Iterable[Mapping[str, Any]], verbose: bool = False) -> list[str]:
    """A line for each split, `test perplexity: 9.547   bits per byte 0.6988`; with `verbose` one for each score, with
    its signature."""
    lines: dict[str, list[str]] = {}
    for score in scores:
        split = _describe_split(parse_signature(score["signature"]).get("split", ""))
        key = split + score["signature"] + score["name"] if verbose else split
        parts = lines.setdefault(key, [])
        name = score["name"].replace("_", " ")
        first = f"{split} {name}:".lstrip() if not parts else name
        note = f" ({score['note']})" if score.get("note") else ""
        parts.append(f"{first} {format_value(score['value'])}{note}")
        if verbose:
            parts[-1] += f"  [{score['signature']}]"
    return ["   ".join(parts) for parts in lines.values()]


def format_value(value: float | None) -> str:
    """Four digits, those before the point all; n/a for an undefined value."""
    if value is None:
        return "n/a"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _describe_split(split: str) -> str:
    """The split of a signature: a sample of one in three is test/3, and a text given for evaluation has no name."""
    name, _, every = split.partition("/")
    return "" if name == "given" else f"{name} (one in {every})" if every else name
