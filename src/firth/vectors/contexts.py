"""Words in context: how alike two words are where they stand (SCWS), and whether a word means the same twice (WiC)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from firth.data import lines
from firth.data.records import Pair
from firth.errors import FirthError
from firth.metrics.correlation import spearman
from firth.metrics.score import Score
from firth.text.split import words as split_words
from firth.vectors.asking import Asking, Known, Result, unit
from firth.vectors.senses import Senses, Surroundings

if TYPE_CHECKING:
    from firth.vectors.store import WordVectors

MARKED = re.compile(r"<b>(.*?)</b>", re.DOTALL)
WIDE = 10  # words on each side of a word in its context


class Spot(NamedTuple):
    """A word where it stands."""

    word: str
    before: list[str]
    after: list[str]


def spot(word: str, context: str, where: object = "") -> Spot:
    """The word and what stands around it; it is marked with <b> and </b>."""
    found = MARKED.search(context)
    if found is None:
        raise FirthError(f"{word!r} is not marked in its context", where=where, do="put <b> and </b> around it")
    before, after = MARKED.sub(r"\1", context[: found.start()]), MARKED.sub(r"\1", context[found.end() :])
    return Spot(word, split_words(before), split_words(after))


def read_wic(path: str | Path, gold: str | Path | None = None) -> Iterator[Pair]:
    """WiC's pairs: word, part of speech, places (0-3), two sentences; labels T and F line by line in `gold`.

    Without `gold`, the file beside it whose name says gold instead of data.
    """
    path = Path(path)
    beside = Path(gold) if gold else path.with_name(path.name.replace(".data.", ".gold."))
    if beside == path or not beside.exists():
        raise FirthError("no file with the labels", where=path, do="put NAME.gold.txt beside NAME.data.txt")
    labels = [(number, line.strip()) for number, line in lines.lines(beside)]
    rows = list(lines.lines(path))
    if len(labels) != len(rows):
        raise FirthError(f"{len(labels)} labels for {len(rows)} pairs", where=beside, do="give one a line")
    for (number, line), (at, label) in zip(rows, labels, strict=True):
        if label not in ("T", "F"):
            raise FirthError(f"label {label!r}", where=lines.at(beside, at), do="write T or F")
        yield _wic(line, label, number, lines.at(path, number))


def _wic(line: str, label: str, number: int, where: str) -> Pair:
    cells = line.split("\t")
    places = re.fullmatch(r"(\d+)-(\d+)", cells[2]) if len(cells) == 5 else None
    if places is None:
        raise FirthError("not a pair of WiC", where=where, do="write word, part of speech, 0-3 and two sentences")
    marked = []
    for text, place in zip(cells[3:], map(int, places.groups()), strict=True):
        words = text.split(" ")
        if place >= len(words):
            raise FirthError(f"place {place} in a sentence of {len(words)} words", where=where, do="count from 0")
        marked.append(" ".join([*words[:place], f"<b>{words[place]}</b>", *words[place + 1 :]]))
    fields = (("left_pos", cells[1]), ("left_context", marked[0]), ("right_context", marked[1]))
    return Pair(cells[0], cells[0], label, None, number, fields)


class _Judge:
    """Likenesses of two words in their contexts."""

    def __init__(self, known: Known, senses: Senses | None) -> None:
        self.known, self.senses = known, senses
        self.around = Surroundings(known.vectors, WIDE)

    def context(self, at: Spot) -> np.ndarray:
        """The mean around the word."""
        ids = np.r_[self.around.ids(at.before[-WIDE:]), -1, self.around.ids(at.after[:WIDE])]
        return self.around.means(ids)[min(len(at.before), WIDE)]

    def senses_of(self, at: Spot) -> tuple[np.ndarray, np.ndarray]:
        """The word's sense vectors and the chance of each here; a word without senses has one, its vector.

        A sense is taken as the word's vector plus what sets the sense apart from the word's others: the former is
        known from all of the training, the latter from a sample of contexts.
        """
        own = self.known.vector(at.word)
        form = at.word if self.senses is None or at.word in self.senses else at.word.lower()
        if self.senses is None or form not in self.senses:
            return own[None], np.ones(1)
        vectors, shares = self.senses.of(form)
        return unit(own + vectors - shares @ vectors), self.senses.chances(form, self.context(at))

    def likenesses(self, left: Spot, right: Spot) -> dict[str, float]:
        """By the words alone, by the contexts alone, and through senses: all by their chances, or the likeliest."""
        (one, p), (other, q) = self.senses_of(left), self.senses_of(right)
        cosines = one @ other.T
        here, there = unit(np.stack([self.context(left), self.context(right)]))
        words = self.known.vector(left.word) @ self.known.vector(right.word)
        found = {"word": float(words), "context": float(here @ there)}
        if self.senses is not None:
            found |= {"senses": float(p @ cosines @ q), "likeliest sense": float(cosines[p.argmax(), q.argmax()])}
        return {way: round(value, 6) for way, value in found.items()}  # the same sense twice is a tie, not float noise


def _judged(
    known: Known, pairs: Sequence[Pair], senses: Senses | None, name: str
) -> tuple[list[Pair], list[dict[str, float]]]:
    """The pairs whose words are known, and their likenesses."""
    judge, kept, found = _Judge(known, senses), [], []
    for pair in pairs:
        if known.vector(pair.left) is None or known.vector(pair.right) is None:
            continue
        fields = dict(pair.fields)
        where = f"{name}:{pair.line}"
        left = spot(pair.left, fields.get("left_context", ""), where)
        right = spot(pair.right, fields.get("right_context", ""), where)
        kept.append(pair)
        found.append(judge.likenesses(left, right))
    return kept, found


def _signed(known: Known, name: str, pairs: Sequence[Pair], senses: Senses | None) -> str:
    told = "none" if senses is None else f"{len(senses.words)}/{len(senses.vectors)}"
    return known.signature(name, [pair[:4] for pair in pairs], senses=told, around=WIDE)


def evaluate_contexts(
    vectors: WordVectors,
    pairs: Iterable[Pair],
    senses: Senses | None = None,
    name: str = "contexts",
    asking: Asking | None = None,
) -> Result:
    """Spearman's correlation with people's scores of words in context; with senses, through them first."""
    known, pairs = Known(vectors, asking), list(pairs)
    kept, found = _judged(known, pairs, senses, name)
    gold, told = [pair.score for pair in kept], _signed(known, name, pairs, senses)
    ways = ("senses", "likeliest sense", "word", "context") if senses is not None else ("word", "context")
    scores = [
        Score(f"spearman ({way})", spearman([one[way] for one in found], gold) if found else None, told) for way in ways
    ]
    return Result(name, "contexts", tuple(scores), len(pairs), len(kept), known.report())


def evaluate_wic(
    vectors: WordVectors,
    pairs: Iterable[Pair],
    senses: Senses | None = None,
    name: str = "wic",
    asking: Asking | None = None,
) -> Result:
    """How often it is told rightly whether a word means the same in two sentences.

    A pair means the same where its likeness is at least a bound; the bound for each half of the pairs (every other
    one) is the best of the other half.
    """
    known, pairs = Known(vectors, asking), list(pairs)
    kept, found = _judged(known, pairs, senses, name)
    gold, told = np.array([pair.label == "T" for pair in kept], bool), _signed(known, name, pairs, senses)
    ways = ("senses", "likeliest sense", "context") if senses is not None else ("context",)
    scores = [Score(f"accuracy ({way})", _halves(np.array([one[way] for one in found]), gold), told) for way in ways]
    base = float(max(gold.mean(), 1 - gold.mean())) if len(gold) else None
    scores.append(Score("commonest label", base, told))
    return Result(name, "wic", tuple(scores), len(pairs), len(kept), known.report())


def _halves(values: np.ndarray, gold: np.ndarray) -> float | None:
    if len(values) < 2:
        return None
    even = np.arange(len(values)) % 2 == 0
    right = [((values[asked] >= bound(values[~asked], gold[~asked])) == gold[asked]).sum() for asked in (even, ~even)]
    return float(sum(right) / len(values))


def bound(values: np.ndarray, gold: np.ndarray) -> float:
    """The bound, halfway between values, from which on calling them true is right most often; the lowest such."""
    found = np.unique(values)
    tried = np.r_[-np.inf, (found[1:] + found[:-1]) / 2.0, np.inf]
    right = [((values >= one) == gold).sum() for one in tried]
    return float(tried[int(np.argmax(right))])
