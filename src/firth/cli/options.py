"""Command-line options that several verbs share; their choices come from configuration fields and tables."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer

from firth.config import schema


def choice(values: Iterable[str]) -> Any:
    """The type of an option that takes one of these values."""
    return Literal[tuple(values)]


def field_type(config: type, name: str) -> Any:
    """The type of a configuration field; a Literal where its values are fixed."""
    return get_type_hints(config)[name]


DocumentUnit = field_type(schema.Text, "document")
EncodingErrors = field_type(schema.Text, "encoding_errors")
Lowercase = field_type(schema.Tokenizer, "lowercase")

RUN = Annotated[str, typer.Argument(metavar="RUN", help="A run folder.")]
LANGUAGE_MODEL = Annotated[str, typer.Argument(metavar="RUN", help="The run folder of a language model.")]
THREADS = Annotated[int, typer.Option(min=0, help="Number of threads; 0: all cores.")]
JSON = Annotated[bool, typer.Option("--json", help="Print JSON.")]
VERBOSE = Annotated[bool, typer.Option("--verbose", help="Print the signature of each score; --json always has it.")]
QUIET = Annotated[bool, typer.Option("--quiet", help="Print errors only.")]
SEED = Annotated[int, typer.Option(min=0, help="Random seed.")]
COUNT = Annotated[int, typer.Option(min=1, help="Number of results.")]
SETTINGS = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any setting by its full name.")]
TEXT = Annotated[str, typer.Option(help="Files, folders, -, python-docs or world; several with commas.")]
COLUMN = Annotated[str, typer.Option(help="The text column, if the text is a TSV, CSV or JSONL table.")]
DOCUMENT = Annotated[DocumentUnit, typer.Option(help="What a document is.")]
ENCODING = Annotated[str, typer.Option(help="Character encoding of the text files.")]
ENCODING_ERRORS = Annotated[EncodingErrors, typer.Option(help="What to do with undecodable bytes.")]
DATA = Annotated[Path | None, typer.Option("--data", help="Folder of the public data sets; default $FIRTH_DATA.")]
