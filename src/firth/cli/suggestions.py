"""Words of other programs: what the user may mean by an unknown command or option."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from firth.config.short_names import SYNONYMS
from firth.errors import FirthError, unknown

# What other programs call a command -> what it is here.
COMMANDS: Mapping[str, str] = {
    "generate": "run RUN",
    "sample": "run RUN",
    "predict": "run RUN",
    "infer": "run RUN",
    "inference": "run RUN",
    "complete": "run RUN",
    "chat": "run RUN",
    "tag": "run RUN",
    "parse": "run RUN",
    "classify": "run RUN",
    "translate": "run RUN",
    "fill-mask": "run RUN",
    "embed": "run RUN INPUT --embed",
    "evaluate": "eval RUN",
    "test": "eval RUN",
    "perplexity": "eval RUN",
    "ppl": "eval RUN",
    "list": "presets",
    "ls": "presets",
    "models": "presets",
    "fit": "train PRESET",
    "learn": "train PRESET",
    "resume": "train RUN",
    "continue": "train RUN",
    "plan": "train PRESET --plan",
    "finetune": "train PRESET --init-from RUN",
    "fine-tune": "train PRESET --init-from RUN",
    "show": "info RUN",
    "describe": "info RUN",
    "status": "info RUN",
    "benchmark": "ladder",
    "check": "doctor",
    "env": "doctor",
    "convert": "export RUN",
    "similar": "vectors neighbours",
    "most-similar": "vectors neighbours",
    "neighbors": "vectors neighbours",
    "nn": "vectors neighbours",
    "analogies": "vectors analogy",
    "tokenize": "tokenizer encode",
    "tokenise": "tokenizer encode",
    "encode": "tokenizer encode",
    "decode": "tokenizer decode",
    "spellcheck": "lm correct",
    "kwic": "corpus concordance",
    "keywords": "corpus keyness",
    "dedup": "corpus clean --deduplicate",
    "bleu": "score",
    "rouge": "score",
    "version": "--version",
    "help": "--help",
}
# What other programs call an option that only some commands have -> its names here, the first that a command has.
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "max-tokens": ("max-length",),
    "max-new-tokens": ("max-length",),
    "length": ("max-length",),
    "num-return-sequences": ("count",),
    "num-samples": ("count",),
    "samples": ("count",),
    "topn": ("count",),
    "top-n": ("count",),
    "n": ("count", "order"),
    "k": ("top-k", "count"),
    "p": ("top-p",),
    "num-beams": ("beam",),
    "beam-size": ("beam",),
    "beam-width": ("beam",),
    "model": ("tokenizer", "preset", "run"),
    "limit": ("count",),
    "output": ("out",),
    "format": ("to",),
}


def unknown_command(name: str, table: Mapping[str, Any], below: Mapping[str, Iterable[str]]) -> FirthError:
    """The error for an unknown command; `below` has the commands of each group."""
    word = name.lower().replace("_", "-")
    meant = COMMANDS.get(word) or next((f"{group} {word}" for group, names in below.items() if word in names), "")
    if meant and meant.split()[0] in (*table, "--version", "--help"):
        return FirthError(f"unknown command {name!r}", do=f"did you mean firth {meant}?")
    return unknown("command", name, table)


def meant_option(given: str, known: Iterable[str]) -> str:
    """The option of a command that an unknown one means: spelled otherwise, or called so by another program."""
    word, known = given.lstrip("-").lower().replace("_", "-"), {name.lstrip("-") for name in known}
    joined = {_join(name): name for name in (*known, *SYNONYMS, *_OPTIONS)}
    word = joined.get(_join(word), word)  # as --batchsize for --batch-size
    candidates = [word, *([SYNONYMS[word]] if word in SYNONYMS else []), *_OPTIONS.get(word, ())]
    near = get_close_matches(word, sorted(known), n=1, cutoff=0.7)
    return next((f"--{name}" for name in (*candidates, *near) if name in known), "")


def _join(name: str) -> str:
    return name.replace("-", "")
