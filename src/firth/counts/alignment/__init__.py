"""Words of texts and of their translations aligned by counting: IBM Models 1 and 2, fast_align's diagonal, the HMM."""

from __future__ import annotations

from firth.config.schema import Aligner
from firth.counts.alignment.bitext import Bitext, encode
from firth.counts.alignment.both import Both, load, read_note, save
from firth.counts.alignment.joining import JOINS, Links, join
from firth.counts.alignment.model import Direction, Loss, Training
from firth.counts.compiled import default_threads
from firth.errors import FirthError

__all__ = [
    "JOINS",
    "Bitext",
    "Both",
    "Direction",
    "Links",
    "Loss",
    "Training",
    "begin",
    "encode",
    "fit",
    "join",
    "load",
    "read_note",
    "save",
]


def begin(bitext: Bitext, vocabulary: int, config: Aligner) -> Training:
    """A model of both directions before its first pass; pairs with an empty side or too many tokens teach nothing."""
    usable = bitext.usable(config.longest)
    if not usable.any():
        what = f"none of {len(bitext):,} pairs has words on both sides, and at most {config.longest} of them"
        raise FirthError(what, do="give other texts, or raise method.longest")
    return Training(bitext.chosen(usable), vocabulary, config)


def fit(bitext: Bitext, vocabulary: int, config: Aligner | None = None, passes: int = 5, threads: int = 0) -> Both:
    """Learn both directions from pairs of texts: the passes of Model 1 that the configuration wants, then its own."""
    config = config or Aligner()
    training = begin(bitext, vocabulary, config)
    for epoch in range(config.first + passes):
        training.work(epoch, threads or default_threads())
    return Both(*training.models)
