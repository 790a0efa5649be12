"""ROUGE (Lin 2004): n-gram overlap (ROUGE-1, -2) and longest common subsequence (ROUGE-L, -Lsum). No stemming."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from firth.metrics.bleu import DEFAULT_OPTIONS, MetricOptions, check_references, tokenize
from firth.metrics.corpus_metric import CorpusStatistics, digest, percentage
from firth.metrics.score import signature
from firth.tokenizers import regexes
from firth.tokenizers.split import split_sentences

Words = Sequence[str]


class Rouge(NamedTuple):
    """A ROUGE score, each value from 0 to 1."""

    precision: float
    recall: float
    f1: float


def rouge_words(text: str) -> list[str]:
    """ROUGE's tokens: lower-cased words of letters and digits, ideographs one by one. For English as `rouge-score`."""
    return _pattern().findall(text.lower())


@cache
def _pattern() -> re.Pattern[str]:
    separators = f"{regexes.SPACE}{regexes.PUNCTUATION}{regexes.IDEOGRAPHS}_"
    return re.compile(f"[^{separators}]+|[{regexes.IDEOGRAPHS}]")


# --- one text and one reference -----------------------------------------------------------------------------------


def rouge_n(text: Words, reference: Words, n: int) -> Rouge:
    """ROUGE-N: clipped n-gram overlap."""
    ngrams, reference_ngrams = _ngrams(text, n), _ngrams(reference, n)
    return _rouge((ngrams & reference_ngrams).total(), ngrams.total(), reference_ngrams.total())


def rouge_l(text: Words, reference: Words) -> Rouge:
    """ROUGE-L: the longest common subsequence (LCS)."""
    return _rouge(len(lcs_positions(text, reference)), len(text), len(reference))


def rouge_lsum(text: Sequence[Words], reference: Sequence[Words]) -> Rouge:
    """Summary-level ROUGE-L of texts in sentences: the union of each reference sentence's LCS with all sentences.

    As in Lin's own program, and unlike his formula, no word counts more often than each text has it.
    """
    remaining = Counter(word for sentence in text for word in sentence)
    hits = 0
    for sentence in reference:
        positions = sorted({position for other in text for position in lcs_positions(other, sentence)})
        union = Counter(sentence[position] for position in positions)
        hits += (union & remaining).total()
        remaining -= union
    return _rouge(hits, sum(map(len, text)), sum(map(len, reference)))


def lcs_positions(text: Words, reference: Words) -> list[int]:
    """Positions in the reference of a longest common subsequence; which of several is as in `rouge-score`."""
    length = [[0] * (len(text) + 1)]  # [words of the reference][words of the text]
    for word in reference:
        above, row = length[-1], [0]
        for j, other in enumerate(text):
            row.append(above[j] + 1 if word == other else max(above[j + 1], row[j]))
        length.append(row)
    positions, i, j = [], len(reference), len(text)
    while i and j:
        if reference[i - 1] == text[j - 1]:
            i, j = i - 1, j - 1
            positions.append(i)
        elif length[i][j - 1] > length[i - 1][j]:
            j -= 1
        else:
            i -= 1
    return positions[::-1]


def _ngrams(words: Words, n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[start : start + n]) for start in range(len(words) - n + 1))


def _rouge(hits: int, length: int, reference_length: int) -> Rouge:
    if not hits:
        return Rouge(0.0, 0.0, 0.0)
    return Rouge(hits / length, hits / reference_length, 2 * hits / (length + reference_length))


# --- corpora ------------------------------------------------------------------------------------------------------


class _TokenizedText(NamedTuple):
    """A text as sentences of words."""

    sentences: list[list[str]]

    @property
    def words(self) -> list[str]:
        return [word for sentence in self.sentences for word in sentence]


VARIANTS: dict[str, Callable[[_TokenizedText, _TokenizedText], Rouge]] = {
    "ROUGE-1": lambda text, reference: rouge_n(text.words, reference.words, 1),
    "ROUGE-2": lambda text, reference: rouge_n(text.words, reference.words, 2),
    "ROUGE-L": lambda text, reference: rouge_l(text.words, reference.words),
    "ROUGE-Lsum": lambda text, reference: rouge_lsum(text.sentences, reference.sentences),
}


def count_rouge(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], options: MetricOptions = DEFAULT_OPTIONS
) -> list[CorpusStatistics]:
    """ROUGE-1, -2, -L and -Lsum: 100 times the mean F1 of all texts, each against its best reference."""
    check_references(hypotheses, references)
    texts = _tokenized(hypotheses, options)
    golds = list(zip(*(_tokenized(reference_set, options) for reference_set in references), strict=True))
    fields = {"nrefs": len(references), "case": "lc", "tok": options.tokenize or "words", "sent": "rule", "stem": "no",
              "beta": 1, "data": digest(references)}  # fmt: skip
    statistics = []
    for name, rouge in VARIANTS.items():
        best = [max((rouge(text, gold) for gold in several), key=lambda score: score.f1)
                for text, several in zip(texts, golds, strict=True)]  # fmt: skip
        counts = np.array([(score.f1, score.precision, score.recall, 1.0) for score in best])
        statistics.append(CorpusStatistics(name, counts, percentage, signature(fields), _details))
    return statistics


def _details(sums: np.ndarray) -> dict[str, float]:
    return {"precision": float(100.0 * sums[1] / sums[3]), "recall": float(100.0 * sums[2] / sums[3])}


def _tokenized(texts: Sequence[str], options: MetricOptions) -> list[_TokenizedText]:
    """Each text in sentences: its lines, split further by the rules of `split_sentences`."""
    split = [[sentence for line in text.splitlines() for sentence in split_sentences(line)] for text in texts]
    if not options.tokenize:
        return [_TokenizedText([rouge_words(sentence) for sentence in each]) for each in split]
    flat = iter(tokenize([sentence.lower() for each in split for sentence in each], options))
    return [_TokenizedText([next(flat) for _ in each]) for each in split]
