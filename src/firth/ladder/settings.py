"""Settings of a ladder: one text, tokenizer, split, seed and budget for all rungs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from firth.config import schema
from firth.config.core import bounded, merge, override
from firth.config.short_names import SHORT_NAMES, ShortName
from firth.errors import FirthError, unknown
from firth.ladder.rungs import DEFAULT_RUNGS, is_neural, scorable_bytes, validate_rungs
from firth.runs.progress import parse_budget


@dataclass(frozen=True)
class Settings:
    """The settings of one ladder."""

    data: schema.Text = field(default_factory=schema.Text)
    # auto: single characters for very little text, otherwise byte-bpe
    tokenizer: Literal["auto", "char", "byte", "word", "bpe", "byte-bpe", "wordpiece", "unigram"] = "auto"
    vocabulary_size: int = bounded(0, least=0)  # 0: by the size of the text
    lowercase: Literal["no", "yes", "turkish"] = "no"
    split: Literal["words", "whitespace"] = "words"  # whitespace: for text that is tokenised already
    rungs: tuple[str, ...] = DEFAULT_RUNGS
    budget: str = "2m"  # time for all rungs together, or steps or epochs of each neural rung
    precision: Literal["float32", "bf16"] = "float32"
    threads: int = bounded(0, least=0, most=1024)  # 0: all cores
    seed: int = bounded(1, least=0, most=2**63 - 1)


def _same(name: str, path: str = "") -> ShortName:
    """The help of `firth train` for a setting that stands here under `path`."""
    return replace(SHORT_NAMES[name], names=(path or name,))


# Command-line flags and arguments of `firth.run_ladder`, in the sections of the help.
SECTIONS = {
    "Data": {name: SHORT_NAMES[name] for name in ("text", "valid", "test", "document", "encoding", "encoding-errors")},
    "Tokenizer": {
        "tokenizer": ShortName("Kind of tokenizer; auto: byte-bpe, or char for very little text.", ("tokenizer",)),
        "vocab-size": ShortName("Vocabulary size; 0: by the size of the text.", ("vocabulary_size",)),
        "lowercase": _same("lowercase"),
        "split": ShortName("Pre-tokenisation; whitespace: for text that is tokenised already.", ("split",)),
    },
    "Ladder": {
        "rungs": ShortName("The models to train, from n-gram to Transformer.", ("rungs",)),
        "budget": ShortName("Time for all rungs together, or steps or epochs of each network.", ("budget",), "TIME"),
        **{name: _same(name) for name in ("precision", "threads", "seed")},
    },
}
SHORT = {name: entry.names[0] for section in SECTIONS.values() for name, entry in section.items()}


def parse_settings(arguments: Mapping[str, str]) -> Settings:
    """Parse and validate settings given as text by short name."""
    for name in arguments:
        if name not in SHORT:
            raise unknown("argument", name, [*SHORT, "out", "progress"])
    settings = override(Settings(), [f"{SHORT[name]}={value}" for name, value in arguments.items()])
    validate_rungs(settings.rungs)
    require_whole_budget(settings.budget)
    if settings.vocabulary_size:
        merge(schema.Tokenizer(), {"vocabulary_size": settings.vocabulary_size})
    return _limit_held_out(settings)


def _limit_held_out(settings: Settings) -> Settings:
    """With a budget in time, held-out splits that can be scored within a part of it."""
    budget, most = parse_budget(settings.budget), settings.data.max_heldout
    if budget.unit != "seconds" or not any(map(is_neural, settings.rungs)):
        return settings
    data = replace(settings.data, max_heldout=min(most, scorable_bytes(settings.rungs, budget.amount)))
    return replace(settings, data=data)


def require_whole_budget(text: str) -> None:
    """Raise an error for a budget that is none, or of a fraction of a step or an epoch."""
    budget = parse_budget(text)
    if budget.unit != "seconds" and budget.amount != int(budget.amount):
        do = "give whole steps or epochs, or a time"
        raise FirthError(f"a budget of {text} is not a whole number", where="--budget", do=do)
