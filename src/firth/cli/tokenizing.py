"""`firth tokenizer train | encode | decode | info`, and the rest of `firth tokenizer` from `tokenfiles`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from firth.cli import tokenfiles
from firth.config import core, schema
from firth.errors import FirthError

app = typer.Typer(
    help="Train tokenizers and look at what they do.", no_args_is_help=True, add_completion=False, rich_markup_mode=None
)
app.command("import")(tokenfiles.bring)
app.command("export")(tokenfiles.export)
app.command("edit")(tokenfiles.edit)
_File = Annotated[Path, typer.Argument(metavar="TOKENIZER", help="A tokenizer.json, or a run folder.")]


@app.command("train")
def train(
    out: Annotated[Path, typer.Argument(metavar="OUT.json", help="The file to write.")],
    text: Annotated[
        str, typer.Option(help="Files, folders, -, python-docs or world; several with commas.")
    ] = "python-docs",
    model: Annotated[str, typer.Option(help="char, byte, word, bpe, byte-bpe, wordpiece or unigram.")] = "byte-bpe",
    size: Annotated[int, typer.Option(help="Of the vocabulary, special tokens included.")] = 8000,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="lower=turkish, normal=nfkc, split=whitespace …")
    ] = None,
    encoding: Annotated[str, typer.Option(help="Of the text files.")] = "utf-8",
    errors: Annotated[str, typer.Option(help="strict, or replace bytes that are not text.")] = "strict",
) -> None:
    """Train a tokenizer on a text."""
    from firth.data.cache import default_cache
    from firth.data.sources import open_source
    from firth.runs import files
    from firth.text.tokenizer import Tokenizer

    config = core.override(schema.Tokenizer(), [f"model={model}", f"size={size}", *(settings or [])])
    data = core.override(schema.Text(), [f"text={text}", f"encoding={encoding}", f"errors={errors}"])
    files.destination(out)  # told before the training, not after it
    made = Tokenizer.train(config, open_source(data.text, data, default_cache() / "spool"))
    files.replace_file(out, made.to_json().encode())
    print(f"{out}: {made.size:,} tokens, sha256 {made.hash[:12]}")


@app.command("encode")
def encode(
    tokenizer: _File,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text, or - to read one per line.")] = "-",
    pieces: Annotated[bool, typer.Option("--pieces", help="Show the pieces instead of the ids.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Ids, pieces and offsets.")] = False,
) -> None:
    """Turn text into tokens."""
    found = tokenfiles.load(tokenizer)
    for line in _lines(text):
        entry = found.encode(line)
        if as_json:
            rows = {"ids": entry.ids, "pieces": entry.pieces, "offsets": [list(pair) for pair in entry.offsets]}
            print(json.dumps(rows, ensure_ascii=False))
        else:
            print(" ".join(entry.pieces if pieces else map(str, entry.ids)))


@app.command("decode")
def decode(
    tokenizer: _File,
    ids: Annotated[str, typer.Argument(metavar="IDS", help="Numbers with blanks between, or - to read lines.")] = "-",
) -> None:
    """Turn tokens back into text."""
    found = tokenfiles.load(tokenizer)
    for line in _lines(ids):
        try:
            numbers = [int(word) for word in line.split()]
        except ValueError:
            raise FirthError(f"not a list of token numbers: {line[:40]!r}", do="write it as 17 4 208") from None
        unknown = [number for number in numbers if not 0 <= number < found.size]
        if unknown:
            raise FirthError(f"no token {unknown[0]}", where=tokenizer, do=f"numbers run from 0 to {found.size - 1}")
        print(found.decode(numbers))


@app.command("info")
def info(
    tokenizer: _File,
    text: Annotated[str | None, typer.Option(help="A text to measure it on.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for machines.")] = False,
) -> None:
    """Tell about a tokenizer: kind, size, special tokens, how much text a token covers."""
    from itertools import islice

    from firth.data.cache import default_cache
    from firth.data.sources import open_source
    from firth.text import describe

    data = replace(schema.Text(), text=(text or "python-docs",))
    sample = list(islice(open_source(data.text, data, default_cache() / "spool"), 1000))
    about = {**describe(tokenfiles.load(tokenizer), sample), "sample": data.text[0]}
    if as_json:
        print(json.dumps(about, ensure_ascii=False))
        return
    for key, value in about.items():
        print(f"{key.replace('_', ' '):<22} {value}")


def _lines(text: str) -> Iterable[str]:
    if text != "-":
        return [text]
    sys.stdin.reconfigure(errors="replace")
    return (line.rstrip("\n") for line in sys.stdin)
