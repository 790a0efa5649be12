"""n-gram language models: counting, smoothing (modified Kneser–Ney and others), pruning, scoring, ARPA files."""

from __future__ import annotations

import numpy as np

from firth.config.schema import Ngram
from firth.ngram.arpa import read_arpa, write_arpa
from firth.ngram.context_state import distribution
from firth.ngram.counts import MEMORY_LIMIT, count
from firth.ngram.ngram_model import Model, load, save
from firth.ngram.pruning import prune_by_entropy
from firth.ngram.scoring import Scores, document_sums, score
from firth.ngram.smoothing import Estimate, estimate
from firth.tokenizers.special_tokens import SpecialTokens

__all__ = [
    "Estimate",
    "Model",
    "Scores",
    "count",
    "distribution",
    "document_sums",
    "estimate",
    "fit",
    "load",
    "prune_by_entropy",
    "read_arpa",
    "save",
    "score",
    "write_arpa",
]


def fit(
    ids: np.ndarray,
    starts: np.ndarray,
    vocab_size: int,
    special: SpecialTokens,
    config: Ngram | None = None,
    *,
    memory_limit: int = MEMORY_LIMIT,
    threads: int = 0,
) -> Estimate:
    """Estimate an n-gram model from a tokenised text: documents back to back, each closed by the end token."""
    config = config or Ngram()
    counts = count(ids, starts, vocab_size, special, order=config.order, memory_limit=memory_limit, threads=threads)
    return estimate(counts, config)
