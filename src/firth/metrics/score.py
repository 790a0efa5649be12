"""A score and its signature: two scores are comparable if their signatures agree (Post 2018)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import firth
from firth.display import html_table


@dataclass(frozen=True)
class Score:
    """A named value with a signature; None where the metric is undefined (shown as n/a)."""

    name: str
    value: float | None
    signature: str
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
