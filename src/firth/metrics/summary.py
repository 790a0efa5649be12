"""ROUGE (Lin 2004): how many of a reference's words, pairs of words, or words in its order a text has. No stemming."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from firth.metrics.counted import Counted, digest, percent
from firth.metrics.score import signature
from firth.metrics.translation import USUAL, Manner, check, tokens
from firth.text import patterns
from firth.text.split import sentences

Words = Sequence[str]


class Rouge(NamedTuple):
    """How far two texts agree, each from 0 to 1; `f` weighs precision and recall alike."""

    precision: float
    recall: float
    f: float


def words(text: str) -> list[str]:
    """Runs of letters and digits in lower case; ideographs one by one. For English, what `rouge-score` cuts."""
    return _pattern().findall(text.lower())


@cache
def _pattern() -> re.Pattern[str]:
    apart = f"{patterns.SPACE}{patterns.MARKS}{patterns.IDEOGRAPHS}_"
    return re.compile(f"[^{apart}]+|[{patterns.IDEOGRAPHS}]")


# --- two texts ----------------------------------------------------------------------------------------------------


def rouge_n(text: Words, reference: Words, order: int) -> Rouge:
    """Runs of `order` words in both, each as often as it is in both."""
    ours, theirs = _runs(text, order), _runs(reference, order)
    return _agreement((ours & theirs).total(), ours.total(), theirs.total())


def rouge_l(text: Words, reference: Words) -> Rouge:
    """The longest row of words that both have in the same order, other words between them or not."""
    return _agreement(len(common(text, reference)), len(text), len(reference))


def rouge_l_summary(text: Sequence[Words], reference: Sequence[Words]) -> Rouge:
    """The same for texts of several sentences: words of each reference sentence that are in order in some sentence.

    As in Lin's own program, and unlike his formula, no word counts more often than each text has it.
    """
    left = Counter(word for sentence in text for word in sentence)
    hits = 0
    for sentence in reference:
        found = sorted({place for other in text for place in common(other, sentence)})
        union = Counter(sentence[place] for place in found)
        hits += (union & left).total()
        left -= union
    return _agreement(hits, sum(map(len, text)), sum(map(len, reference)))


def common(text: Words, reference: Words) -> list[int]:
    """Places in the reference of a longest common subsequence; of several, the one that goes back in it last."""
    longest = [[0] * (len(text) + 1)]  # [words of the reference][words of the text]
    for word in reference:
        above, row = longest[-1], [0]
        for place, other in enumerate(text):
            row.append(above[place] + 1 if word == other else max(above[place + 1], row[place]))
        longest.append(row)
    found, i, j = [], len(reference), len(text)
    while i and j:
        if reference[i - 1] == text[j - 1]:
            i, j = i - 1, j - 1
            found.append(i)
        elif longest[i][j - 1] > longest[i - 1][j]:
            j -= 1
        else:
            i -= 1
    return found[::-1]


def _runs(text: Words, order: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(text[at : at + order]) for at in range(len(text) - order + 1))


def _agreement(hits: int, ours: int, theirs: int) -> Rouge:
    if not hits:
        return Rouge(0.0, 0.0, 0.0)
    return Rouge(hits / ours, hits / theirs, 2 * hits / (ours + theirs))


# --- many texts ---------------------------------------------------------------------------------------------------


class _Cut(NamedTuple):
    """A text in sentences of words."""

    sentences: list[list[str]]

    @property
    def words(self) -> list[str]:
        return [word for sentence in self.sentences for word in sentence]


KINDS: dict[str, Callable[[_Cut, _Cut], Rouge]] = {
    "ROUGE-1": lambda text, reference: rouge_n(text.words, reference.words, 1),
    "ROUGE-2": lambda text, reference: rouge_n(text.words, reference.words, 2),
    "ROUGE-L": lambda text, reference: rouge_l(text.words, reference.words),
    "ROUGE-Lsum": lambda text, reference: rouge_l_summary(text.sentences, reference.sentences),
}


def count_rouge(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], manner: Manner = USUAL
) -> list[Counted]:
    """ROUGE-1, -2, -L and -Lsum: the mean F of all texts in hundredths, each against its best reference."""
    check(hypotheses, references)
    ours = _cut(hypotheses, manner)
    theirs = list(zip(*(_cut(texts, manner) for texts in references), strict=True))
    told = {"nrefs": len(references), "case": "lc", "tok": manner.tokenize or "words", "sent": "rule", "stem": "no",
            "beta": 1, "data": digest(references)}  # fmt: skip
    found = []
    for name, agree in KINDS.items():
        best = [max((agree(text, other) for other in several), key=lambda rouge: rouge.f)
                for text, several in zip(ours, theirs, strict=True)]  # fmt: skip
        rows = np.array([(rouge.f, rouge.precision, rouge.recall, 1.0) for rouge in best])
        found.append(Counted(name, rows, percent, signature(told), _details))
    return found


def _details(sums: np.ndarray) -> dict[str, float]:
    return {"precision": float(100.0 * sums[1] / sums[3]), "recall": float(100.0 * sums[2] / sums[3])}


def _cut(texts: Sequence[str], manner: Manner) -> list[_Cut]:
    """Each text in sentences: its lines, and what the rules of `text.split` cut these into."""
    split = [[sentence for line in text.splitlines() for sentence in sentences(line)] for text in texts]
    if not manner.tokenize:
        return [_Cut([words(sentence) for sentence in each]) for each in split]
    flat = iter(tokens([sentence.lower() for each in split for sentence in each], manner))
    return [_Cut([next(flat) for _ in each]) for each in split]
