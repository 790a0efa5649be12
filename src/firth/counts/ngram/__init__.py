"""n-gram language models: counted, smoothed, pruned, scored, and exchanged as ARPA files."""

from __future__ import annotations

import numpy as np

from firth.config.schema import Ngram
from firth.counts.ngram.arpa import read_arpa, write_arpa
from firth.counts.ngram.counting import LIMIT, count
from firth.counts.ngram.model import Model, load, save
from firth.counts.ngram.pruning import prune_by_entropy
from firth.counts.ngram.scoring import Scores, document_sums, score
from firth.counts.ngram.smoothing import Estimate, estimate
from firth.counts.ngram.stepping import distribution
from firth.text.special import Special

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
    size: int,
    special: Special,
    config: Ngram | None = None,
    *,
    limit: int = LIMIT,
    threads: int = 0,
) -> Estimate:
    """The model of a tokenised text: documents back to back, each closed by the end token."""
    config = config or Ngram()
    return estimate(count(ids, starts, size, special, order=config.order, limit=limit, threads=threads), config)
