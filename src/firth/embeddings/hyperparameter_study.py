"""A hyperparameter study of GloVe: analogy accuracy against vector width, window size, context and corpus size.

One hyperparameter is varied at a time around a base configuration (after Pennington et al. 2014, section 4.4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from firth.config.schema import GloVe
from firth.embeddings.analogies import Question, evaluate_analogies
from firth.embeddings.glove import GloVeTrainer
from firth.embeddings.lookup import EvaluationOptions, digest
from firth.embeddings.training_text import BLOCK, Corpus
from firth.embeddings.word_vectors import WordVectors
from firth.errors import FirthError
from firth.jit import default_threads, run_in_order


@dataclass(frozen=True)
class Study:
    """The values to try; the base configuration has the last width, the last window, the first context and all text."""

    widths: tuple[int, ...] = (25, 50, 100)
    windows: tuple[int, ...] = (2, 5, 10)
    contexts: tuple[str, ...] = ("symmetric", "left")
    fractions: tuple[float, ...] = (0.25, 0.5, 1.0)  # of the text's documents
    epochs: int = 15
    restrict_vocab: int = 30_000  # analogies are searched among the most frequent words
    seed: int = 1

    def __post_init__(self) -> None:
        if not (self.widths and self.windows and self.contexts and self.fractions):
            raise FirthError("a study needs at least one width, window, context and fraction of the text")
        if min(*self.widths, *self.windows) < 1:
            raise FirthError(f"widths = {self.widths}, windows = {self.windows}: each must be 1 or more")
        if not all(0 < fraction <= 1 for fraction in self.fractions):
            raise FirthError(f"fractions = {self.fractions}: each must be above 0 and at most 1")

    def configurations(self) -> list[tuple[GloVe, float]]:
        """All trainings, each once: a configuration and a fraction of the text."""
        base = GloVe(width=self.widths[-1], window=self.windows[-1], context=self.contexts[0])
        configs = [(replace(base, width=width), 1.0) for width in self.widths]
        for context in self.contexts:
            configs += [(replace(base, window=window, context=context), 1.0) for window in self.windows]
        configs += [(base, fraction) for fraction in self.fractions]
        return list(dict.fromkeys(configs))


def run(
    corpus: Corpus,
    questions: Sequence[Question],
    study: Study,
    previous: Iterable[dict[str, Any]] = (),
    on_row: Callable[[dict[str, Any]], None] = lambda row: None,
) -> list[dict[str, Any]]:
    """A row for each configuration, for `report.study_figure`; `previous` rows of the same questions are reused."""
    shared = {"epochs": study.epochs, "seed": study.seed, "among": study.restrict_vocab, "questions": digest(questions)}
    rows = [row for row in previous if shared.items() <= row.items()]
    for config, fraction in study.configurations():
        text = first_fraction(corpus, fraction)
        row = {"width": config.width, "window": config.window, "side": config.context, "words": text.size, **shared}
        if any(row.items() <= old.items() for old in rows):
            continue
        options = EvaluationOptions(restrict_vocab=study.restrict_vocab)
        result = evaluate_analogies(_train(text, config, study), questions, options=options)
        totals = {section.name: section.value for section in result.sections if section.kind == "total"}
        rows.append(row | {"semantic": totals.get("semantic"), "syntactic": totals.get("syntactic")})
        rows[-1] |= {"total": result.value, "answered": result.answered}
        on_row(rows[-1])
    return rows


def first_fraction(corpus: Corpus, fraction: float) -> Corpus:
    """The first documents of a text; words keep their rows and are counted again."""
    documents = max(1, round(fraction * (len(corpus.starts) - 1)))
    if documents == len(corpus.starts) - 1:
        return corpus
    tokens, counts = corpus.tokens[: corpus.starts[documents]], np.zeros(len(corpus.words), np.int64)
    for low in range(0, len(tokens), BLOCK):
        rows = corpus.row_of[tokens[low : low + BLOCK]]
        counts += np.bincount(rows[rows >= 0], minlength=len(counts))
    return replace(corpus, tokens=tokens, starts=corpus.starts[: documents + 1], counts=counts)


def _train(corpus: Corpus, config: GloVe, study: Study) -> WordVectors:
    model = GloVeTrainer(corpus, config, study.seed)
    for epoch in range(study.epochs):
        for _ in run_in_order(partial(model.train_chunk, epoch), list(range(model.chunks)), default_threads()):
            pass
    return model.word_vectors()
