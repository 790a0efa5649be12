"""Count-based word vectors: PPMI with SVD, Hellinger PCA, LSA; computed in one chunk, without epochs or loss."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from firth.config.schema import CountVectors
from firth.embeddings import cooccurrence_files, document_term, svd
from firth.embeddings.method import Loss
from firth.embeddings.svd import Factors
from firth.embeddings.training_text import Corpus
from firth.embeddings.word_vectors import WordVectors
from firth.errors import FirthError


class CountVectorsTrainer:
    """A matrix factorisation behind the interface of `EmbeddingTrainer`: one chunk, no loss."""

    has_loss = False
    chunks = 1

    def __init__(
        self, corpus: Corpus, config: CountVectors, seed: int, threads: int = 0, folder: Path | None = None
    ) -> None:
        """With a folder, counting needs less memory; the matrix itself is in memory in any case."""
        self.corpus, self.config, self.seed = corpus, config, seed
        self.threads, self.folder, self.size = threads, folder, corpus.size
        _check_width(corpus, config)
        names = ("vectors", "context") if config.matrix == "ppmi" else ("vectors",)
        self.arrays = {name: np.zeros((len(corpus.words), config.width), np.float32) for name in names}

    def train_chunk(self, epoch: int, chunk: int) -> Loss:
        """Compute all vectors; deterministic, so repeating it changes nothing."""
        factors = MATRICES[self.config.matrix](self)
        cooccurrence_files.remove_files(self.folder)
        self.arrays["vectors"][:] = factors.rows(self.config.singular_value_power)
        if "context" in self.arrays:
            self.arrays["context"][:] = factors.columns(self.config.singular_value_power)
        return Loss(0, 0.0)

    def held_out(self, corpus: Corpus) -> None:
        """There is no loss."""

    def word_vectors(self) -> WordVectors:
        """The word vectors; with PPMI also context vectors, weighted by the singular values likewise."""
        arrays = {name: array.copy() for name, array in self.arrays.items()}
        return WordVectors(self.corpus.words, counts=self.corpus.counts, **arrays)


def _check_width(corpus: Corpus, config: CountVectors) -> None:
    words, documents = len(corpus.words), len(corpus.starts) - 1
    max_width = min(words, documents) if config.matrix == "lsa" else words
    if config.width > max_width:
        text = f"{words:,} words" + (f" and {documents:,} documents" if config.matrix == "lsa" else "")
        do = f"choose a width of at most {max_width}, or give more text"
        raise FirthError(f"vectors of width {config.width} from {text}", where="width", do=do)


def _cooccurrence_matrix(model: CountVectorsTrainer) -> csr_array:
    """The word-context co-occurrence matrix of the training text."""
    counts = cooccurrence_files.count_corpus(model.corpus, model.config, model.threads, model.folder, np.float64)
    if not len(counts):
        raise cooccurrence_files.no_cooccurrences()
    return counts.to_csr()


def _ppmi(model: CountVectorsTrainer) -> Factors:
    config = model.config
    return svd.ppmi_svd(
        _cooccurrence_matrix(model),
        config.width,
        shift=config.shift,
        context_smoothing=config.context_smoothing,
        method=config.svd,
        seed=model.seed,
    )


def _hellinger(model: CountVectorsTrainer) -> Factors:
    config = model.config
    return svd.hellinger_pca(_cooccurrence_matrix(model), config.width, method=config.svd, seed=model.seed)


def _lsa(model: CountVectorsTrainer) -> Factors:
    config = model.config
    ids, words = cooccurrence_files.token_rows(model.corpus), len(model.corpus.words)
    bags = document_term.bag_of_words(ids, model.corpus.starts, words)
    return svd.lsa(bags, config.width, weighting=config.weighting, method=config.svd, seed=model.seed)


MATRICES = {"ppmi": _ppmi, "hellinger": _hellinger, "lsa": _lsa}
