"""What can be asked of a ladder: the same text, tokenizer, split, seed and budget for all rungs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from firth.climbing.rungs import USUAL, require_known
from firth.config import schema
from firth.config.core import bounded, merge, override
from firth.errors import FirthError, unknown
from firth.runs.budget import parse


@dataclass(frozen=True)
class Settings:
    """One ladder."""

    data: schema.Text = field(default_factory=schema.Text)
    # auto: single characters for very little text, otherwise byte-bpe
    tokenizer: Literal["auto", "char", "byte", "word", "bpe", "byte-bpe", "wordpiece", "unigram"] = "auto"
    vocabulary: int = bounded(0, least=0)  # 0: more for more text
    lower: Literal["no", "yes", "turkish"] = "no"
    split: Literal["words", "whitespace"] = "words"  # whitespace: where the text is cut into words already
    rungs: tuple[str, ...] = USUAL
    budget: str = "2m"  # time for all rungs together, or steps or epochs of each neural one
    precision: Literal["float32", "bf16"] = "float32"
    threads: int = bounded(0, least=0, most=1024)  # 0: all cores
    seed: int = bounded(1, least=0, most=2**63 - 1)


# Flags of the command line and arguments of `firth.ladder`.
SHORT = {
    "text": "data.text",
    "valid": "data.valid",
    "test": "data.test",
    "document": "data.document",
    "encoding": "data.encoding",
    "errors": "data.errors",
    **{name: name for name in ("tokenizer", "vocabulary", "lower", "split", "rungs", "budget", "precision", "threads")},
    "seed": "seed",
}


def read(given: Mapping[str, str]) -> Settings:
    """Settings from words, checked now rather than when their rung's turn comes."""
    for name in given:
        if name not in SHORT:
            raise unknown("argument", name, [*SHORT, "out", "progress"])
    found = override(Settings(), [f"{SHORT[name]}={value}" for name, value in given.items()])
    require_known(found.rungs)
    budget = parse(found.budget)
    if budget.unit != "seconds" and budget.amount != int(budget.amount):
        do = "give whole steps or epochs, or a time"
        raise FirthError(f"a budget of {found.budget}", where="--budget", do=do)
    if found.vocabulary:
        merge(schema.Tokenizer(), {"size": found.vocabulary})
    return found
