"""Arguments that the verbs of `firth vectors` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from firth.cli.options import choice
from firth.embeddings.word_vectors import KINDS, Method, WordVectors

VECTORS = Annotated[Path, typer.Argument(metavar="VECTORS", help="A file of word vectors, or a run folder.")]
WORDS = Annotated[list[str], typer.Argument(metavar="WORD", help="Words, or - to read one per line.")]
KIND = Annotated[choice(KINDS) | None, typer.Option(help="Which vectors; by default as stored.")]
METHOD = Annotated[Method, typer.Option(help="Analogy method: 3CosAdd or 3CosMul.")]
RESTRICT_VOCAB = Annotated[int, typer.Option(min=0, help="Only the first n words of the vocabulary; 0: all.")]
LEXICON = Annotated[
    str, typer.Option(help="Which WordNet: a folder with data.noun, a file in WN-LMF, nltk, or a lexicon of wn.")
]


def load_vectors(path: Path, kind: str | None = None) -> WordVectors:
    """The vectors of a file or run, as they are stored or of another kind."""
    from firth.embeddings.loading import load_vectors

    vectors = load_vectors(path)
    return vectors.kind(kind) if kind else vectors
