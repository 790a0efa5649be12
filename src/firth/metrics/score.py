"""A number and how it came about: two scores may be compared when their signatures agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import firth


@dataclass(frozen=True)
class Score:
    """A signed number; None where the question has no answer (the cell says n/a)."""

    name: str
    value: float | None
    signature: str

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)


def signature(parts: Mapping[str, object]) -> str:
    """How a number came about, in sacrebleu's manner: `tok:word/1a2b|ctx:carried|…|firth:0.1.0`."""
    return "|".join(f"{name}:{value}" for name, value in {**parts, "firth": firth.__version__}.items())


def parts(signature: str) -> dict[str, str]:
    """The inverse of `signature`."""
    return dict(part.partition(":")[::2] for part in signature.split("|"))
