"""Options that several verbs share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from firth.api import SHORT

_HELP = {
    "text": "File, folder, - (standard input), python-docs or world; several with commas.",
    "valid": "Own validation text instead of a share.",
    "test": "Own test text instead of a share.",
    "source": "A file of texts to read, a text a line, instead of --text.",
    "target": "The file of what is to be written for them, line by line.",
    "document": "What a document is: auto, file, paragraph or line.",
    "encoding": "Of the text files.",
    "errors": "strict, or replace bytes that are not text.",
    "tokenizer": "char, byte, word, bpe, byte-bpe, wordpiece or unigram.",
    "budget": "90s, 2m, 1.5h, 500 steps or 13 epochs.",
    "precision": "float32 or bf16.",
    "lower": "no, yes or turkish.",
    "min-count": "Rarer words are unknown.",
    "phrases": "Rounds of joining words that belong together.",
    "ngrams": "Runs of so many words are features too.",
    "order": "Tokens of the longest n-grams.",
    "smoothing": "Of n-grams: none, add-k, katz, stupid, kneser-ney or modified-kneser-ney; of labels: 0.1.",
    "start": "A run to start from (for word vectors also a file).",
    "teacher": "A run that fills gaps, for a smaller one to learn from.",
    "noise": "What is done to a text that is to be written anew: permute,infill or spans, for example.",
    "vectors": "Word vectors that a network's words start from: a run or a file.",
    "deterministic": "yes: the same seed gives the same bytes.",
}


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command a flag for every short setting; it receives them as `short`, those of --set as `settings`."""

    def wrapped(**given: Any) -> None:
        flags = {name: given.pop(name.replace("-", "_")) for name in SHORT}
        chosen = {name: value for name, value in flags.items() if value is not None}
        command(short=chosen, settings=given.pop("set_") or [], **given)

    named = inspect.signature(command, eval_str=True).parameters
    own = [parameter for name, parameter in named.items() if name not in ("short", "settings")]
    flags = [_flag(short, names) for short, names in SHORT.items()]
    several = Annotated[list[str] | None, typer.Option("--set", help="Any setting: --set backbone.width=256")]
    extra = inspect.Parameter("set_", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=several)
    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own] + [*flags, extra]
    wrapped.__signature__ = inspect.Signature(parameters)
    wrapped.__annotations__ = {p.name: p.annotation for p in parameters}
    wrapped.__doc__, wrapped.__name__ = command.__doc__, command.__name__
    return wrapped


def _flag(short: str, names: Sequence[str]) -> inspect.Parameter:
    about = _HELP.get(short) or f"The setting {' or '.join(names).replace('+', ' and ')}."
    kind = Annotated[str | None, typer.Option(f"--{short}", help=about, rich_help_panel="Settings")]
    return inspect.Parameter(short.replace("-", "_"), inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
