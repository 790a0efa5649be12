"""Loads word vectors from a file of any format or from a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict

from firth.arguments import as_path
from firth.config.migrations import KINDS
from firth.embeddings import formats
from firth.embeddings.fasttext_model import Classifier
from firth.embeddings.formats import safetensors_store
from firth.embeddings.word_vectors import WordVectors
from firth.errors import FirthError
from firth.runs import json_files
from firth.runs.gate import Gate

_GIVE = "give a file of word vectors, a run of word vectors, or a folder for TensorBoard's projector"


class _Config(TypedDict):
    """What is needed of a run's configuration."""

    kind: str


class _Record(TypedDict):
    """What is needed of config.json."""

    config: _Config


def load_vectors(path: str | Path) -> WordVectors:
    """The word vectors of a file of any format, or of a run folder of a word-embedding or fastText model."""
    path = as_path(path)
    if path.is_dir() and (path / "config.json").is_file():
        return _of_run(path)
    if path.is_dir() and not (path / "vectors.tsv").is_file():
        raise FirthError("no word vectors in this folder", where=path, do=_GIVE)
    return formats.read(path)


def _of_run(path: Path) -> WordVectors:
    """Read without the run's tokenizer, which may take longer to load than the vectors take to use."""
    gate, weights = Gate(path), path / "model.safetensors"
    values = json_files.read(gate, "config.json", _Record, "restore it, or train again")["config"]
    kind = KINDS[""].get(values["kind"], values["kind"])
    if kind not in ("word-embeddings", "fasttext-classifier"):
        raise FirthError(f"a run of another kind ({kind}), which has no word vectors", where=path, do=_GIVE)
    if not gate.exists(weights.name):
        raise FirthError("this run has no vectors yet", where=path, do="let firth train finish")
    if kind == "fasttext-classifier":
        return Classifier.read(weights)[0].vectors()
    return safetensors_store.read(weights)
