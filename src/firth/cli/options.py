"""Options that several verbs share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from firth.api import SHORT

_HELP = {
    "text": "File, folder, - (standard input), python-docs or world; several with commas.",
    "valid": "Own validation text instead of a share.",
    "test": "Own test text instead of a share.",
    "document": "What a document is: auto, file, paragraph or line.",
    "encoding": "Of the text files.",
    "errors": "strict, or replace bytes that are not text.",
    "tokenizer": "char, byte, word, bpe, byte-bpe, wordpiece or unigram.",
    "budget": "90s, 2m, 1.5h, 500 steps or 13 epochs.",
    "precision": "float32 or bf16.",
}


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command a flag for every short setting; it receives them, with those of --set, as `settings`."""

    def wrapped(**given: Any) -> None:
        values = {full: given.pop(short) for short, full in SHORT.items()}
        flags = [f"{full}={value}" for full, value in values.items() if value is not None]
        command(settings=[*flags, *(given.pop("set_") or [])], **given)

    own = [p for p in inspect.signature(command, eval_str=True).parameters.values() if p.name != "settings"]
    flags = [_flag(short, full) for short, full in SHORT.items()]
    several = Annotated[list[str] | None, typer.Option("--set", help="Any setting: --set backbone.width=256")]
    extra = inspect.Parameter("set_", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=several)
    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own] + [*flags, extra]
    wrapped.__signature__ = inspect.Signature(parameters)
    wrapped.__annotations__ = {p.name: p.annotation for p in parameters}
    wrapped.__doc__, wrapped.__name__ = command.__doc__, command.__name__
    return wrapped


def _flag(short: str, full: str) -> inspect.Parameter:
    about = _HELP.get(short) or f"The setting {full}."
    kind = Annotated[str | None, typer.Option(f"--{short}", help=about, rich_help_panel="Settings")]
    return inspect.Parameter(short, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
