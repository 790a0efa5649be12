"""Word-sense disambiguation by an encoder: sense embeddings from labelled examples, glosses compared with the context
by a sentence encoder, and glosses paired with the context by a classifier."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from firth.datasets.records import WordSense
from firth.embeddings.lookup import l2_normalise
from firth.errors import FirthError
from firth.lexicon.gloss_pairs import POSITIVE, GlossPair, gloss_pairs
from firth.lexicon.lesk import ScoredSense, Target
from firth.lexicon.lexical_database import Lexicon
from firth.lexicon.sense_evaluation import Choose, is_sense
from firth.pipelines.word_states import WordStates

SENSE_EMBEDDINGS, GLOSS_EMBEDDINGS, GLOSS_PAIRS = "sense-embeddings", "gloss-embeddings", "gloss-pairs"
ENCODER_METHODS = (SENSE_EMBEDDINGS, GLOSS_EMBEDDINGS, GLOSS_PAIRS)
Rank = Callable[[Sequence[Target]], list[list[ScoredSense]]]


class SenseEmbeddings:
    """Contextual nearest neighbours (Melamud et al. 2016; Peters et al. 2018): a sense is the mean of the states of its
    examples, and a word has the sense with the greatest cosine. A word without examples has the lexicon's first sense,
    the most frequent one."""

    def __init__(self, states: WordStates, examples: Sequence[WordSense], lexicon: Lexicon) -> None:
        if not examples:
            raise FirthError("no labelled examples", do="give text with senses to train on: --train FILE")
        self.states, self.lexicon = states, lexicon
        vectors = l2_normalise(states([each.words for each in examples], [each.position for each in examples]))
        sums: dict[tuple[str, str], np.ndarray] = {}
        self._counts: dict[str, Counter[str]] = defaultdict(Counter)
        for each, vector in zip(examples, vectors, strict=True):
            key = each.word, each.sense
            sums[key] = sums.get(key, 0.0) + vector
            self._counts[each.word][each.sense] += 1
        self._vectors = {key: l2_normalise(total[None])[0] for key, total in sums.items()}

    def labels(self, records: Sequence[WordSense]) -> list[list[tuple[str, float]]]:
        """The labels of the senses of each word with their cosines, best first; none of a word without examples."""
        vectors = l2_normalise(self.states([each.words for each in records], [each.position for each in records]))
        rows = []
        for each, vector in zip(records, vectors, strict=True):
            senses = [sense for sense, _ in self._counts.get(each.word, Counter()).most_common()]
            cosines = [(sense, float(self._vectors[each.word, sense] @ vector)) for sense in senses]
            rows.append(sorted(cosines, key=lambda pair: -pair[1]))
        return rows

    def rank(self, targets: Sequence[Target]) -> list[list[ScoredSense]]:
        """The senses of the lexicon by the cosines of their labels, best first; those without examples follow in the
        order of the lexicon."""
        records = [WordSense(tuple(each.words), each.position, self._lemma(each), "") for each in targets]
        return [self._ranked(*pair) for pair in zip(targets, self.labels(records), strict=True)]

    def _lemma(self, target: Target) -> str:
        """The form under which the examples have the word."""
        forms = [target.word, *(lemma for lemma, _ in self.lexicon.lemmas(target.word))]
        return next((form for form in forms if form in self._counts), target.word)

    def _ranked(self, target: Target, labels: Sequence[tuple[str, float]]) -> list[ScoredSense]:
        senses = self.lexicon.senses(target.word, target.pos)
        scored = [
            ScoredSense(sense, next((cosine for label, cosine in labels if is_sense(self.lexicon, sense, label)), -1.0))
            for sense in senses
        ]
        return sorted(scored, key=lambda each: -each.score)

    def evaluator(self, records: Sequence[WordSense]) -> Choose:
        """Whether the chosen sense of each of these words is right."""
        best = {
            record: labels[0][0] == record.sense if labels else self._first(record)
            for record, labels in zip(records, self.labels(records), strict=True)
        }
        return lambda record: best[record]

    def _first(self, record: WordSense) -> bool | None:
        """Whether the first sense of the lexicon is right."""
        senses = self.lexicon.senses(record.word)
        return is_sense(self.lexicon, senses[0], record.sense) if senses else None


def rank_by_glosses(lexicon: Lexicon, model: Any) -> Rank:
    """The ranking of senses by their glosses: by the probability of a pair of a classifier, else by the cosine of the
    embeddings of the marked context and the gloss (as in the bi-encoder of Blevins and Zettlemoyer 2020)."""
    score = _pair_probabilities(model) if is_pair_classifier(model) else _cosines(model)

    def rank(targets: Sequence[Target]) -> list[list[ScoredSense]]:
        groups = [gloss_pairs(lexicon, each.words, each.position, each.word, each.pos) for each in targets]
        values = iter(score([pair for group in groups for pair in group]))
        scored = [[ScoredSense(pair.sense, next(values)) for pair in group] for group in groups]
        return [sorted(group, key=lambda each: -each.score) for group in scored]

    return rank


def is_pair_classifier(model: Any) -> bool:
    """Whether a model labels pairs of texts as matching or not."""
    return getattr(model, "texts_per_example", 0) == 2 and hasattr(model, "predict_proba")


def gloss_method(model: Any) -> str:
    """Which method by glosses a model serves."""
    if is_pair_classifier(model):
        return GLOSS_PAIRS
    return GLOSS_EMBEDDINGS if hasattr(model, "embed") else ""


def _pair_probabilities(model: Any) -> Callable[[Sequence[GlossPair]], list[float]]:
    if POSITIVE not in model.labels:
        what = f"its labels are {', '.join(map(str, model.labels))}, and none is {POSITIVE!r}"
        do = "train it on pairs of contexts and glosses: firth lexicon gloss-pairs"
        raise FirthError(what, where=model.run.path, do=do)
    column = list(model.labels).index(POSITIVE)

    def score(pairs: Sequence[GlossPair]) -> list[float]:
        texts = [(pair.context, pair.gloss) for pair in pairs]
        return [float(row[column]) for row in model.predict_proba(texts)] if texts else []

    return score


def _cosines(model: Any) -> Callable[[Sequence[GlossPair]], list[float]]:
    def score(pairs: Sequence[GlossPair]) -> list[float]:
        if not pairs:
            return []
        texts = list(dict.fromkeys(text for pair in pairs for text in (pair.context, pair.gloss)))
        vectors = dict(zip(texts, l2_normalise(np.asarray(model.embed(texts))), strict=True))
        return [float(vectors[pair.context] @ vectors[pair.gloss]) for pair in pairs]

    return score


def choose_by_rank(lexicon: Lexicon, rank: Rank, records: Sequence[WordSense]) -> Choose:
    """Whether the best sense of each of these words is right; None of a word that the lexicon lacks."""
    ranked = rank([Target(each.words, each.position, each.word) for each in records])
    best = {
        record: is_sense(lexicon, senses[0].sense, record.sense) if senses else None
        for record, senses in zip(records, ranked, strict=True)
    }
    return lambda record: best[record]
