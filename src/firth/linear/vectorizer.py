"""Texts as rows of a sparse matrix: a bag of word n-grams and character n-grams; counted, binary or tf-idf."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack

from firth.embeddings.document_term import TfIdf, fit_tfidf
from firth.errors import FirthError
from firth.linear import ngram_blocks
from firth.linear.ngram_blocks import CHARACTERS, CharacterNgrams, Features, FoundFeature, NgramBlock, WordNgrams
from firth.linear.ngram_vocabulary import HashedNgrams, NgramVocabulary
from firth.tokenizers.tokenizer import Tokenizer

BLOCKS: Mapping[str, Any] = {"words": WordNgrams, "characters": CharacterNgrams}
_WEIGHTINGS = {"counts": False, "binary": True, "tf-idf": False}  # whether a feature counts once


@dataclass(frozen=True, eq=False)
class Vectorizer:
    """The features of the training texts."""

    config: Features
    blocks: Mapping[str, NgramBlock]
    documents: np.ndarray  # int32 (columns,): how many training texts have the feature
    tfidf: TfIdf | None = None

    @classmethod
    def fit(cls, texts: Sequence[str], tokenizer: Tokenizer, config: Features) -> tuple[Vectorizer, csr_array]:
        """The features of the training texts, and their matrix (texts, columns)."""
        blocks, matrices = {}, []
        for name in _block_names(config):
            block, matrix = BLOCKS[name].fit(texts, tokenizer, config)
            least = getattr(config, "min_documents", 1)
            if least > 1:
                kept = _documents(matrix) >= least
                block, matrix = ngram_blocks.select(block, kept), matrix[:, kept]
            blocks[name] = block
            matrices.append(matrix)
        counts = _join(matrices)
        documents = _documents(counts)
        if not documents.any():
            do = "lower features.min_documents or tokenizer.min_count, or give longer texts"
            raise FirthError("the training texts have no features", where="features", do=do)
        tfidf = fit_tfidf(counts, "smooth") if config.weighting == "tf-idf" else None
        vectorizer = cls(config, blocks, documents, tfidf)
        return vectorizer, vectorizer.weigh(counts)

    @property
    def size(self) -> int:
        """The number of columns."""
        return len(self.documents)

    def transform(self, texts: Sequence[str]) -> csr_array:
        """The features of texts (texts, columns), float32; a text of unknown words has none."""
        return self.weigh(_join([block.counts(texts) for block in self.blocks.values()]))

    def weigh(self, counts: csr_array) -> csr_array:
        """Counts of features with the weighting of the configuration."""
        if self.tfidf is not None:
            return csr_array(self.tfidf.transform(counts), dtype=np.float32)
        if _WEIGHTINGS[self.config.weighting]:
            counts = csr_array((np.ones_like(counts.data), counts.indices, counts.indptr), shape=counts.shape)
        return counts

    def find(self, text: str) -> list[FoundFeature]:
        """The features of one text, by column and name."""
        features, first = [], 0
        for block in self.blocks.values():
            features += [FoundFeature(first + column, name) for column, name in block.find(text)]
            first += block.ngrams.size
        return features

    def name(self, column: int) -> str:
        """The n-gram of a column."""
        for block in self.blocks.values():
            if column < block.ngrams.size:
                return block.name(column)
            column -= block.ngrams.size
        raise IndexError(column)

    # --- files ----------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays for a file."""
        arrays = {"documents": self.documents}
        for name, block in self.blocks.items():
            if isinstance(block.ngrams, NgramVocabulary):
                arrays |= block.ngrams.arrays(name)
        return arrays | ({} if self.tfidf is None else {"idf": self.tfidf.idf})

    def about(self) -> dict[str, Any]:
        """What a file says besides the arrays."""
        return {name: ngram_blocks.describe(block) for name, block in self.blocks.items()}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, np.ndarray], about: Mapping[str, Any], tokenizer: Tokenizer, config: Features
    ) -> Vectorizer:
        """The inverse of `arrays` and `about`. ValueError or KeyError if they do not fit."""
        blocks: dict[str, NgramBlock] = {}
        for name in _block_names(config):
            spans = {"words": (config.word_ngrams, 1), "characters": (config.max_n, max(1, config.min_n))}[name]
            if buckets := getattr(config, "buckets", 0):
                blocks[name] = BLOCKS[name](tokenizer, HashedNgrams(buckets, *spans))
                continue
            units = {"words": tokenizer.vocab_size, "characters": CHARACTERS}[name]
            ngrams = NgramVocabulary.from_arrays(arrays, name, units, about[name]["sizes"])
            blocks[name] = BLOCKS[name](tokenizer, ngrams)
        tfidf = TfIdf(arrays["idf"], True) if config.weighting == "tf-idf" else None
        vectorizer = cls(config, blocks, arrays["documents"], tfidf)
        sizes = [sum(block.ngrams.size for block in blocks.values())] + ([] if tfidf is None else [len(tfidf.idf)])
        if any(size != vectorizer.size for size in sizes):
            raise ValueError
        return vectorizer


def _block_names(config: Features) -> list[str]:
    """The blocks of a configuration, in the order of their columns; settings that make none are refused."""
    if not min(1, config.max_n) <= config.min_n <= config.max_n:
        what = f"character n-grams of {config.min_n} to {config.max_n} characters"
        raise FirthError(what, where="features.min_n, features.max_n", do="choose 2 and 5, or 0 and 0 for none")
    names = ["words"] * bool(config.word_ngrams) + ["characters"] * bool(config.max_n)
    if not names:
        do = "set features.word_ngrams=1, or features.min_n and features.max_n"
        raise FirthError("neither word n-grams nor character n-grams", where="features", do=do)
    return names


def _join(matrices: Sequence[csr_array]) -> csr_array:
    return matrices[0] if len(matrices) == 1 else csr_array(hstack(matrices, "csr"))


def _documents(counts: csr_array) -> np.ndarray:
    """How many rows have each column."""
    return np.bincount(counts.indices, minlength=counts.shape[1]).astype(np.int32)
