"""`firth tokenizer train | encode | decode | info | import | export | edit`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from firth.cli.config_options import ConfigOptions
from firth.cli.console import print_json, read_inputs, require_writable
from firth.cli.options import ENCODING, ENCODING_ERRORS, JSON, SETTINGS, TEXT, choice
from firth.config import core, schema
from firth.config.short_names import SHORT_NAMES, ShortName
from firth.errors import FirthError
from firth.tokenizers.formats import FORMATS

if TYPE_CHECKING:
    from firth.tokenizers.tokenizer import Tokenizer

app = typer.Typer(
    help="Train, apply, convert and edit tokenizers.", no_args_is_help=True, add_completion=False, rich_markup_mode=None
)
TOKENIZER = Annotated[Path, typer.Argument(metavar="TOKENIZER", help="A tokenizer.json, or a run folder.")]
OUT_FILE = Annotated[Path, typer.Argument(metavar="OUT.json", help="The tokenizer.json to write.")]
_SHORT = {
    "Tokenizer": {
        "model": replace(SHORT_NAMES["tokenizer"], names=("model",)),
        "vocab-size": replace(SHORT_NAMES["vocab-size"], names=("vocabulary_size",)),
        "min-count": replace(SHORT_NAMES["min-count"], names=("min_count",)),
        "unicode-form": ShortName("Unicode normalisation before anything else.", ("unicode_form",)),
        "lowercase": replace(SHORT_NAMES["lowercase"], names=("lowercase",)),
        "split": ShortName("Pre-tokenisation: words and punctuation, whitespace, or tabs.", ("split",)),
    }
}


@ConfigOptions(_SHORT, (schema.Tokenizer,)).add_to
def train(
    out: OUT_FILE,
    values: dict[str, str],
    text: TEXT = "python-docs",
    encoding: ENCODING = "utf-8",
    encoding_errors: ENCODING_ERRORS = "strict",
    settings: SETTINGS = None,
    as_json: JSON = False,
) -> None:
    """Train a tokenizer on a text."""
    from firth.datasets.sources import open_source
    from firth.datasets.token_cache import default_cache
    from firth.runs import atomic_files
    from firth.tokenizers.tokenizer import Tokenizer

    fields = [f"{_SHORT['Tokenizer'][name].names[0]}={value}" for name, value in values.items()]
    config = core.override(schema.Tokenizer(), [*fields, *(settings or [])])
    data = core.override(schema.Text(), [f"text={text}", f"encoding={encoding}", f"encoding_errors={encoding_errors}"])
    require_writable(out)
    tokenizer = Tokenizer.train(config, open_source(data.text, data, default_cache() / "spool"))
    atomic_files.replace_file(out, tokenizer.to_json().encode())
    if as_json:
        print_json(_describe(tokenizer, out))
        return
    print(f"{out}: {tokenizer.vocab_size:,} tokens, sha256 {tokenizer.hash[:12]}")


def _describe(tokenizer: Tokenizer, out: Path) -> dict[str, Any]:
    return {"file": str(out), "kind": tokenizer.kind, "vocab_size": tokenizer.vocab_size, "hash": tokenizer.hash}


app.command("train", cls=train.command_class)(train)


@app.command("encode")
def encode(
    tokenizer: TOKENIZER,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text, or - to read one per line.")] = "-",
    tokens: Annotated[bool, typer.Option("--tokens", help="Print tokens instead of ids.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print ids, tokens and offsets.")] = False,
) -> None:
    """Tokenize text."""
    loaded = load_tokenizer(tokenizer)
    for line in read_inputs(text):
        encoding = loaded.encode_with_offsets(line)
        if as_json:
            offsets = [list(pair) for pair in encoding.offsets]
            print_json({"ids": encoding.ids, "tokens": encoding.tokens, "offsets": offsets})
        else:
            print(" ".join(encoding.tokens if tokens else map(str, encoding.ids)))


@app.command("decode")
def decode(
    tokenizer: TOKENIZER,
    ids: Annotated[str, typer.Argument(metavar="IDS", help="Token ids with blanks between, or - to read lines.")] = "-",
    as_json: JSON = False,
) -> None:
    """Decode token ids to text."""
    loaded = load_tokenizer(tokenizer)
    for line in read_inputs(ids):
        try:
            numbers = [int(word) for word in line.split()]
        except ValueError:
            raise FirthError(f"not a list of token ids: {line[:40]!r}", do="write it as 17 4 208") from None
        unknown = [number for number in numbers if not 0 <= number < loaded.vocab_size]
        if unknown:
            raise FirthError(f"no token {unknown[0]}", where=tokenizer, do=f"ids go from 0 to {loaded.vocab_size - 1}")
        decoded = loaded.decode(numbers)
        print_json({"ids": numbers, "text": decoded}) if as_json else print(decoded)


@app.command("info")
def info(
    tokenizer: TOKENIZER,
    text: Annotated[str | None, typer.Option(help="A text to measure the compression on; python-docs.")] = None,
    as_json: JSON = False,
) -> None:
    """Describe a tokenizer: model, vocabulary size, special tokens, bytes per token."""
    from itertools import islice

    from firth.datasets.sources import open_source
    from firth.datasets.token_cache import default_cache
    from firth.tokenizers import describe

    data = schema.Text(text=(text or "python-docs",))
    sample = list(islice(open_source(data.text, data, default_cache() / "spool"), 1000))
    about = {**describe(load_tokenizer(tokenizer), sample), "sample": data.text[0]}
    if as_json:
        print_json(about)
        return
    for key, value in about.items():
        print(f"{key.replace('_', ' '):<22} {_format(value)}")


def _format(value: object) -> str:
    """A property for people."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {number}" for name, number in value.items())
    if isinstance(value, list):
        return " ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


# --- files of other programs, and other tokens ----------------------------------------------------------------------


@app.command("import")
def import_tokenizer(
    source: Annotated[
        Path, typer.Argument(metavar="FILE", help="A .model, vocab.txt, vocab.json or merges.txt, or their folder.")
    ],
    out: OUT_FILE,
    as_json: JSON = False,
) -> None:
    """Import a tokenizer of SentencePiece, BERT or GPT-2 as a tokenizer.json."""
    from firth.runs import atomic_files
    from firth.tokenizers.formats import read

    require_writable(out)
    tokenizer = read(source)
    atomic_files.replace_file(out, tokenizer.to_json().encode())
    if as_json:
        print_json(_describe(tokenizer, out))
        return
    print(f"{out}: {tokenizer.kind}, {tokenizer.vocab_size:,} tokens, sha256 {tokenizer.hash[:12]}")


@app.command("export")
def export(
    tokenizer: TOKENIZER,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The .model to write; for bert and gpt2 a folder.")],
    to: Annotated[choice(FORMATS), typer.Option(help="The format to write.")],
    as_json: JSON = False,
) -> None:
    """Export a tokenizer to the format of SentencePiece, BERT or GPT-2."""
    from firth.runs import atomic_files
    from firth.tokenizers.formats import convert

    files = convert(load_tokenizer(tokenizer), to)
    if "" not in files.contents:
        atomic_files.require_folder(out.parent)
        atomic_files.make_folder(out)
    paths = {out / name if name else out: content for name, content in files.contents.items()}
    for path, content in paths.items():
        atomic_files.replace_file(path, content)
    if as_json:
        written = [{"file": str(path), "bytes": len(content)} for path, content in paths.items()]
        print_json({"files": written, "warnings": list(files.warnings)})
        return
    for path, content in paths.items():
        print(f"{path}: {len(content):,} bytes")
    for warning in files.warnings:
        print(f"note: {warning}")


@app.command("edit")
def edit(
    tokenizer: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, or a tokenizer.json.")],
    out: Annotated[Path, typer.Option(help="The new run folder, or the new tokenizer.json.")],
    add: Annotated[str, typer.Option(help="Tokens to add, with commas; a blank before one counts.")] = "",
    remove: Annotated[str, typer.Option(help="Tokens to remove, with commas.")] = "",
    add_file: Annotated[Path | None, typer.Option(help="Tokens to add, one per line.")] = None,
    remove_file: Annotated[Path | None, typer.Option(help="Tokens to remove, one per line.")] = None,
    as_json: JSON = False,
) -> None:
    """Add or remove tokens of a run's vocabulary: a new run, its embedding matrices resized."""
    from firth.runs import atomic_files

    added, removed = _read_tokens(add, add_file), _read_tokens(remove, remove_file)
    if not added and not removed:
        raise FirthError("nothing to add or remove", do="give --add, --remove, --add-file or --remove-file")
    atomic_files.require_folder(out.parent)
    if tokenizer.is_dir():
        from firth.families.vocabulary_surgery import edit_run

        edited = edit_run(tokenizer, out, added, removed)
    else:
        from firth.tokenizers.surgery import edit_vocabulary

        edited = edit_vocabulary(load_tokenizer(tokenizer), added, removed)
        atomic_files.replace_file(out, edited.tokenizer.to_json().encode())
    if as_json:
        changes = {"added": edited.added, "removed": edited.removed, "unreachable": edited.unreachable}
        print_json({**_describe(edited.tokenizer, out), **changes})
        return
    size = len(edited.tokenizer.vocabulary())
    print(f"{out}: {size:,} tokens, {len(edited.added)} added, {len(edited.removed)} removed")
    if edited.unreachable:
        print(f"note: {_abbreviate(edited.unreachable)} can no longer be produced: a part of it was removed")


def load_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer of a file or of a run folder."""
    from firth.tokenizers.tokenizer import Tokenizer

    return Tokenizer.load(path / "tokenizers" / "text.json" if path.is_dir() else path)


def _read_tokens(tokens: str, path: Path | None) -> list[str]:
    from firth.tokenizers.formats.vocabulary_lines import read_lines

    return [*(tokens.split(",") if tokens else []), *(filter(None, read_lines(path)) if path else [])]


def _abbreviate(tokens: tuple[str, ...]) -> str:
    first = ", ".join(map(repr, tokens[:5]))
    return first if len(tokens) <= 5 else f"{first} and {len(tokens) - 5} others"
