"""Vectors from a matrix of counts: PPMI, Hellinger PCA, LSA. Everything is one piece of work."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from firth.config.schema import Counted
from firth.counts import matrix, reduction
from firth.counts.reduction import Factors
from firth.errors import FirthError
from firth.vectors import cells
from firth.vectors.corpus import Corpus
from firth.vectors.learner import Loss
from firth.vectors.store import WordVectors


class Model:
    """Vectors to be worked out at once; see `Learner`. There is no loss."""

    predicts = False
    pieces = 1

    def __init__(
        self, corpus: Corpus, config: Counted, seed: int, threads: int = 0, folder: Path | None = None
    ) -> None:
        """With a folder, counting needs less memory; the matrix is in memory in any case."""
        self.corpus, self.config, self.seed = corpus, config, seed
        self.threads, self.folder, self.size = threads, folder, corpus.size
        _check_width(corpus, config)
        names = ("vectors", "context") if config.matrix == "ppmi" else ("vectors",)
        self.arrays = {name: np.zeros((len(corpus.words), config.width), np.float32) for name in names}

    def work(self, epoch: int, piece: int) -> Loss:
        """Work out all vectors; doing it again gives the same."""
        factors = MATRICES[self.config.matrix](self)
        cells.remove(self.folder)
        self.arrays["vectors"][:] = factors.rows(self.config.power)
        if "context" in self.arrays:
            self.arrays["context"][:] = factors.columns(self.config.power)
        return Loss(0, 0.0)

    def held_out(self, corpus: Corpus) -> None:
        """Nothing is predicted, so there is none."""

    def store(self) -> WordVectors:
        """The vectors; those of PPMI have context vectors, weighted by the singular values likewise."""
        found = {name: array.copy() for name, array in self.arrays.items()}
        return WordVectors(self.corpus.words, counts=self.corpus.counts, **found)


def _check_width(corpus: Corpus, config: Counted) -> None:
    words, documents = len(corpus.words), len(corpus.starts) - 1
    most = min(words, documents) if config.matrix == "documents" else words
    if config.width > most:
        text = f"{words:,} words" + (f" and {documents:,} documents" if config.matrix == "documents" else "")
        do = f"choose a width of at most {most}, or give more text"
        raise FirthError(f"vectors of width {config.width} from {text}", where="width", do=do)


def _near(model: Model) -> csr_array:
    """Words by words: how often each stands near each."""
    found = cells.count(model.corpus, model.config, model.threads, model.folder, np.float64)
    if not len(found):
        raise cells.none_near()
    return found.matrix()


def _ppmi(model: Model) -> Factors:
    config = model.config
    also = {"shift": config.shift, "smoothing": config.smoothing, "method": config.method, "seed": model.seed}
    return reduction.reduce_ppmi(_near(model), config.width, **also)


def _hellinger(model: Model) -> Factors:
    config = model.config
    return reduction.reduce_hellinger(_near(model), config.width, method=config.method, seed=model.seed)


def _documents(model: Model) -> Factors:
    config = model.config
    also = {"weighting": config.weighting, "method": config.method, "seed": model.seed}
    bags = matrix.bag_of_words(cells.rows(model.corpus), model.corpus.starts, len(model.corpus.words))
    return reduction.reduce_documents(bags, config.width, **also)


MATRICES = {"ppmi": _ppmi, "hellinger": _hellinger, "documents": _documents}
