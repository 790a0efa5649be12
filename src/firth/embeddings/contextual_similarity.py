"""Contextual word similarity: graded similarity of words in context (SCWS), and the same-sense task Word-in-Context
(WiC)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from firth.datasets.readers.word_senses import WordsInContext
from firth.datasets.records import Pair
from firth.embeddings.lookup import EvaluationOptions, Result, VocabularyLookup, l2_normalise
from firth.embeddings.senses import ContextVectors, WordSenses
from firth.errors import FirthError
from firth.metrics.correlation import spearman
from firth.metrics.score import Score
from firth.tokenizers.split import split_words

if TYPE_CHECKING:
    from firth.embeddings.word_vectors import WordVectors

TARGET_WORD = re.compile(r"<b>(.*?)</b>", re.DOTALL)
WINDOW = 10  # words on each side that are its context
MEASURES = ("AvgSimC", "MaxSimC", "word", "context")


class WordInContext(NamedTuple):
    """An occurrence of a word, with the words to the left and to the right of it."""

    word: str
    left_context: list[str]
    right_context: list[str]


def parse_context(word: str, context: str, where: object = "") -> WordInContext:
    """The occurrence that is marked with <b> and </b> in a context."""
    match = TARGET_WORD.search(context)
    if match is None:
        raise FirthError(f"{word!r} is not marked in its context", where=where, do="put <b> and </b> around it")
    left, right = (TARGET_WORD.sub(r"\1", text) for text in (context[: match.start()], context[match.end() :]))
    return WordInContext(word, split_words(left), split_words(right))


def read_wic(path: str | Path, gold: str | Path | None = None) -> Iterator[Pair]:
    """The pairs of WiC with their contexts, in which the word is marked; labels T and F line by line in `gold`.

    Without `gold`, the labels are in the file beside it that is named gold instead of data.
    """
    path = Path(path)
    gold = Path(gold) if gold else path.with_name(path.name.replace(".data.", ".gold."))
    if gold == path or not gold.exists():
        raise FirthError("no file with the labels", where=path, do="put NAME.gold.txt beside NAME.data.txt")
    return map(mark_words, WordsInContext().read((path, gold)))


def mark_words(pair: Pair) -> Pair:
    """A pair of sentences of WiC as a pair of words, each marked in its context."""
    fields = dict(pair.fields)
    positions = map(int, fields["positions"].split("-"))
    marked = []
    for text, position in zip((pair.left, pair.right), positions, strict=True):
        words = text.split(" ")
        marked.append(" ".join([*words[:position], f"<b>{words[position]}</b>", *words[position + 1 :]]))
    contexts = (("left_pos", fields["pos"]), ("left_context", marked[0]), ("right_context", marked[1]))
    return Pair(fields["word"], fields["word"], pair.label, None, pair.line, contexts)


class _ContextualSimilarity:
    """Similarities of two words in their contexts (Reisinger and Mooney 2010; Huang et al. 2012)."""

    def __init__(self, lookup: VocabularyLookup, senses: WordSenses | None) -> None:
        self.lookup, self.senses = lookup, senses
        self.context_vectors = ContextVectors(lookup.vectors, WINDOW)

    def context_vector(self, occurrence: WordInContext) -> np.ndarray:
        """The weighted mean of the vectors around the word."""
        left, right = occurrence.left_context[-WINDOW:], occurrence.right_context[:WINDOW]
        ids = np.r_[self.context_vectors.ids(left), -1, self.context_vectors.ids(right)]
        return self.context_vectors.means(ids)[len(left)]

    def senses_of(self, occurrence: WordInContext) -> tuple[np.ndarray, np.ndarray]:
        """The word's sense vectors and the probability of each in this context; a word without senses has one.

        A sense vector here is the word's vector plus the sense's deviation from the mean of the word's senses: the
        former is estimated from the whole training text, the latter from a sample of contexts.
        """
        vector = self.lookup.vector(occurrence.word)
        form = occurrence.word if self.senses is None or occurrence.word in self.senses else occurrence.word.lower()
        if self.senses is None or form not in self.senses:
            return vector[None], np.ones(1)
        senses, priors = self.senses.senses_of(form)
        probabilities = self.senses.probabilities(form, self.context_vector(occurrence))
        return l2_normalise(vector + senses - priors @ senses), probabilities

    def similarities(self, left: WordInContext, right: WordInContext) -> dict[str, float]:
        """Cosines of the words and of the contexts; with senses also AvgSimC (the expected cosine over the senses'
        probabilities) and MaxSimC (the cosine of the most probable senses)."""
        (left_senses, p), (right_senses, q) = self.senses_of(left), self.senses_of(right)
        cosines = left_senses @ right_senses.T
        left_context, right_context = l2_normalise(np.stack([self.context_vector(left), self.context_vector(right)]))
        word = self.lookup.vector(left.word) @ self.lookup.vector(right.word)
        values = {"word": float(word), "context": float(left_context @ right_context)}
        if self.senses is not None:
            values |= {"AvgSimC": float(p @ cosines @ q), "MaxSimC": float(cosines[p.argmax(), q.argmax()])}
        return {measure: round(value, 6) for measure, value in values.items()}  # the same sense twice is an exact tie


def _pair_similarities(
    lookup: VocabularyLookup, pairs: Sequence[Pair], senses: WordSenses | None, name: str
) -> tuple[list[Pair], list[dict[str, float]]]:
    """The pairs whose words are both in the vocabulary, and their similarities."""
    similarity, answered, values = _ContextualSimilarity(lookup, senses), [], []
    for pair in pairs:
        if lookup.vector(pair.left) is None or lookup.vector(pair.right) is None:
            continue
        fields = dict(pair.fields)
        where = f"{name}:{pair.line}"
        left = parse_context(pair.left, fields.get("left_context", ""), where)
        right = parse_context(pair.right, fields.get("right_context", ""), where)
        answered.append(pair)
        values.append(similarity.similarities(left, right))
    return answered, values


def _signature(lookup: VocabularyLookup, name: str, pairs: Sequence[Pair], senses: WordSenses | None) -> str:
    inventory = "none" if senses is None else f"{len(senses.words)}/{len(senses.vectors)}"
    return lookup.signature(name, [pair[:4] for pair in pairs], senses=inventory, context_window=WINDOW)


def evaluate_contextual_similarity(
    vectors: WordVectors,
    pairs: Iterable[Pair],
    senses: WordSenses | None = None,
    name: str = "contexts",
    options: EvaluationOptions | None = None,
) -> Result:
    """Spearman's correlation with human similarity ratings of words in context (SCWS); the sense measures first."""
    lookup, pairs = VocabularyLookup(vectors, options), list(pairs)
    answered, values = _pair_similarities(lookup, pairs, senses, name)
    gold, signature = [pair.score for pair in answered], _signature(lookup, name, pairs, senses)
    scores = []
    for measure in MEASURES if senses is not None else MEASURES[2:]:
        predicted = [value[measure] for value in values]
        scores.append(Score(f"spearman ({measure})", spearman(predicted, gold) if values else None, signature))
    return Result(name, "contexts", tuple(scores), len(pairs), len(answered), lookup.list_oov_words())


def evaluate_wic(
    vectors: WordVectors,
    pairs: Iterable[Pair],
    senses: WordSenses | None = None,
    name: str = "wic",
    options: EvaluationOptions | None = None,
) -> Result:
    """The accuracy of predicting whether a word has the same sense in two sentences (WiC).

    A pair is predicted to have the same sense where its similarity reaches a threshold; the threshold of each half of
    the pairs (every other one) is tuned on the other half.
    """
    lookup, pairs = VocabularyLookup(vectors, options), list(pairs)
    answered, values = _pair_similarities(lookup, pairs, senses, name)
    gold = np.array([pair.label == "T" for pair in answered], bool)
    signature = _signature(lookup, name, pairs, senses)
    scores = []
    for measure in ("AvgSimC", "MaxSimC", "context") if senses is not None else ("context",):
        accuracy = _two_fold_accuracy(np.array([value[measure] for value in values]), gold)
        scores.append(Score(f"accuracy ({measure})", accuracy, signature))
    majority = float(max(gold.mean(), 1 - gold.mean())) if len(gold) else None
    scores.append(Score("majority class", majority, signature))
    return Result(name, "wic", tuple(scores), len(pairs), len(answered), lookup.list_oov_words())


def _two_fold_accuracy(values: np.ndarray, gold: np.ndarray) -> float | None:
    if len(values) < 2:
        return None
    even = np.arange(len(values)) % 2 == 0
    correct = 0
    for test in (even, ~even):
        threshold = best_threshold(values[~test], gold[~test])
        correct += int(((values[test] >= threshold) == gold[test]).sum())
    return correct / len(values)


def best_threshold(values: np.ndarray, gold: np.ndarray) -> float:
    """The threshold, halfway between two values, with the highest accuracy of `value >= threshold`; the lowest such."""
    unique = np.unique(values)
    thresholds = np.r_[-np.inf, (unique[1:] + unique[:-1]) / 2.0, np.inf]
    correct = [((values >= threshold) == gold).sum() for threshold in thresholds]
    return float(thresholds[int(np.argmax(correct))])
