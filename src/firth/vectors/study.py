"""A study of what makes good vectors: width, window, symmetry and size of the text, each against analogies.

Starting from one setting, each question changes one thing (after Pennington et al. 2014, section 4.4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from firth.config.schema import GloVe
from firth.counts.compiled import default_threads, run_in_order
from firth.errors import FirthError
from firth.vectors.analogies import Question, evaluate_analogies
from firth.vectors.asking import Asking, digest
from firth.vectors.corpus import BLOCK, Corpus
from firth.vectors.glove import Model
from firth.vectors.store import WordVectors


@dataclass(frozen=True)
class Study:
    """Which values are tried; the last width, the last window and the whole text are where each question starts."""

    widths: tuple[int, ...] = (25, 50, 100)
    windows: tuple[int, ...] = (2, 5, 10)
    sides: tuple[str, ...] = ("both", "left")
    shares: tuple[float, ...] = (0.25, 0.5, 1.0)  # of the text's documents
    epochs: int = 15
    words: int = 30_000  # the most frequent ones are asked for
    seed: int = 1

    def __post_init__(self) -> None:
        if not (self.widths and self.windows and self.sides and self.shares):
            raise FirthError("a study needs at least one width, window, side and share")
        if min(*self.widths, *self.windows) < 1:
            raise FirthError(f"widths = {self.widths}, windows = {self.windows}: each must be 1 or more")
        if not all(0 < share <= 1 for share in self.shares):
            raise FirthError(f"shares = {self.shares}: each must be above 0 and at most 1")

    def settings(self) -> list[tuple[GloVe, float]]:
        """All that is trained, each once: a configuration and a share of the text."""
        start = GloVe(width=self.widths[-1], window=self.windows[-1], side=self.sides[0])
        found = [(replace(start, width=width), 1.0) for width in self.widths]
        found += [(replace(start, window=window, side=side), 1.0) for side in self.sides for window in self.windows]
        found += [(start, share) for share in self.shares]
        return list(dict.fromkeys(found))


def run(
    corpus: Corpus,
    questions: Sequence[Question],
    study: Study,
    known: Iterable[dict[str, Any]] = (),
    done: Callable[[dict[str, Any]], None] = lambda row: None,
) -> list[dict[str, Any]]:
    """A row for each setting, for `report.study`; those `known`, if of the same questions, are not trained again."""
    how = {"epochs": study.epochs, "seed": study.seed, "among": study.words, "questions": digest(questions)}
    rows = [row for row in known if how.items() <= row.items()]
    for config, share in study.settings():
        text = first_part(corpus, share)
        row = {"width": config.width, "window": config.window, "side": config.side, "words": text.size}
        row |= how
        if any(row.items() <= old.items() for old in rows):
            continue
        asking = Asking(restrict=study.words)
        result = evaluate_analogies(_trained(text, config, study), questions, asking=asking)
        shares = {part.name: part.value for part in result.parts if part.kind == "total"}
        rows.append(row | {"semantic": shares.get("semantic"), "syntactic": shares.get("syntactic")})
        rows[-1] |= {"total": result.value, "answered": result.answered}
        done(rows[-1])
    return rows


def first_part(corpus: Corpus, share: float) -> Corpus:
    """The first documents of a text; words keep their rows, counted anew."""
    documents = max(1, round(share * (len(corpus.starts) - 1)))
    if documents == len(corpus.starts) - 1:
        return corpus
    tokens, counts = corpus.tokens[: corpus.starts[documents]], np.zeros(len(corpus.words), np.int64)
    for low in range(0, len(tokens), BLOCK):
        rows = corpus.row_of[tokens[low : low + BLOCK]]
        counts += np.bincount(rows[rows >= 0], minlength=len(counts))
    return replace(corpus, tokens=tokens, starts=corpus.starts[: documents + 1], counts=counts)


def _trained(corpus: Corpus, config: GloVe, study: Study) -> WordVectors:
    model = Model(corpus, config, study.seed)
    for epoch in range(study.epochs):
        for _ in run_in_order(partial(model.work, epoch), list(range(model.pieces)), default_threads()):
            pass
    return model.store()
