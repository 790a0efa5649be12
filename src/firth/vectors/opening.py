"""Word vectors wherever they are: a file of any format, or a run folder."""

from __future__ import annotations

import json
from pathlib import Path

from firth.errors import FirthError
from firth.vectors import files
from firth.vectors.bag_classifier import Classifier
from firth.vectors.files import native
from firth.vectors.store import WordVectors

_GIVE = "give a file of word vectors, a run of word vectors, or a folder for TensorBoard's projector"


def open_vectors(path: str | Path) -> WordVectors:
    """The store of a file of any format, or of a run folder whose weights are word vectors."""
    path = Path(path)
    if path.is_dir() and (path / "config.json").is_file():
        return _of_run(path)
    if path.is_dir() and not (path / "vectors.tsv").is_file():
        raise FirthError("no word vectors in this folder", where=path, do=_GIVE)
    return files.read(path)


def _of_run(path: Path) -> WordVectors:
    """Read without the run's tokenizer, which may take longer than all that is asked of the vectors."""
    config, weights = path / "config.json", path / "model.safetensors"
    try:
        kind = json.loads(config.read_bytes())["config"]["kind"]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise FirthError(f"damaged ({error})", where=config, do="restore it, or train again") from None
    if kind not in ("vectors", "classifier"):
        raise FirthError(f"a run of another kind ({kind}), which has no word vectors", where=path, do=_GIVE)
    if not weights.is_file():
        raise FirthError("this run has no vectors yet", where=path, do="let firth train come to its end")
    if kind == "classifier":
        return Classifier.read(weights)[0].vectors()
    return native.read(weights)
