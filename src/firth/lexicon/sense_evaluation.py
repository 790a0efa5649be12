"""Accuracy of word-sense disambiguation on words whose senses are known, beside its baselines."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from firth.datasets.records import WordSense
from firth.errors import FirthError
from firth.lexicon.lesk import Target, rank_senses
from firth.lexicon.lexical_database import Lexicon, Sense
from firth.metrics.bootstrap import ConfidenceInterval, bootstrap_scores, confidence_interval
from firth.metrics.corpus_metric import CorpusStatistics, ratio
from firth.metrics.score import Score, signature

Choose = Callable[[WordSense], bool | None]  # whether the sense that a method chooses is right; None: it chooses none
RANDOM, FREQUENT = "random", "most frequent in training"


@dataclass(frozen=True)
class SenseAccuracy:
    """The accuracy of one method: right choices among all words, those without a choice counted as wrong."""

    method: str
    score: Score
    interval: ConfidenceInterval | None  # None of an expectation
    answered: int
    words: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        interval = list(self.interval) if self.interval else None
        about = {"method": self.method, "answered": self.answered, "words": self.words, "interval": interval}
        return about | self.score.to_dict()


def evaluate_senses(
    records: Sequence[WordSense], methods: dict[str, Choose], name: str = "", seed: int = 0
) -> list[SenseAccuracy]:
    """The accuracy of each method on the same words."""
    if not records:
        raise FirthError("no words with senses", where=name, do="give at least one")
    return [_evaluate(method, choose, records, name, seed) for method, choose in methods.items()]


def _evaluate(method: str, choose: Choose, records: Sequence[WordSense], name: str, seed: int) -> SenseAccuracy:
    choices = [choose(record) for record in records]
    counts = np.array([(bool(choice), 1.0) for choice in choices])
    signed = signature({"data": name or "given", "method": method.replace(" ", "-"), "words": len(records)})
    statistics = CorpusStatistics("accuracy", counts, ratio, signed)
    interval = confidence_interval(bootstrap_scores(statistics, seed))
    answered = sum(choice is not None for choice in choices)
    return SenseAccuracy(method, statistics.score(), interval, answered, len(records))


def random_baseline(lexicon: Lexicon, records: Sequence[WordSense], name: str = "") -> SenseAccuracy:
    """The expected accuracy of a sense chosen at random."""
    counts = [len(lexicon.senses(record.word)) for record in records]
    value = sum(1 / count for count in counts if count) / len(records)
    signed = signature({"data": name or "given", "method": RANDOM, "words": len(records)})
    return SenseAccuracy(RANDOM, Score("accuracy", value, signed), None, sum(map(bool, counts)), len(records))


def by_lexicon(lexicon: Lexicon, method: str) -> Choose:
    """A method of `lesk`: whether its best sense is the right one."""

    def choose(record: WordSense) -> bool | None:
        ranked = rank_senses(lexicon, Target(record.words, record.position, record.word), method)
        return is_sense(lexicon, ranked[0].sense, record.sense) if ranked else None

    return choose


def most_frequent_sense(training: Iterable[WordSense]) -> Choose:
    """The most frequent sense of each word in labelled text, of equal ones the first."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for record in training:
        counts[record.word][record.sense] += 1
    best = {word: senses.most_common(1)[0][0] for word, senses in counts.items()}
    return lambda record: best[record.word] == record.sense if record.word in best else None


def is_sense(lexicon: Lexicon, sense: Sense, label: str) -> bool:
    """Whether a label (a name of the synset by any of its words, an id, or a sense key) means this sense."""
    if label in (sense.name, sense.key, sense.synset.id):
        return True
    if label.count(".") < 2 or "%" in label:
        return False
    try:
        return lexicon.synset(label).id == sense.synset.id
    except FirthError:  # of a word that the lexicon lacks
        return False
