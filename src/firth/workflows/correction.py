"""Spelling correction by a noisy channel model: argmax over intended texts of P(intended) · P(typed | intended).

The language model gives P(intended). In the error model every edit (or confusion of words) has the same probability.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from firth.errors import FirthError
from firth.pipelines.language_model import LanguageModel
from firth.tokenizers.split import split_sentences
from firth.workflows.rank import softmax
from firth.workflows.word_counts import WORD, Lexicon, training_lexicon

EDIT_PROBABILITY = 1e-3  # probability of an edit
CONFUSION_PROBABILITY = 0.05  # probability of confusing two words of a confusion set, which is more frequent
_MAX_CANDIDATES = 20  # per word
_MAX_COMBINED = 4  # candidates per word that are combined with those of other words
_MAX_LOSS = 4.0  # nats by which a candidate alone may score worse and still be combined with others
_BEAM_SIZE = 8
_CONTEXT_CHARACTERS = 300  # characters before a sentence on which its score is conditioned

CandidateGenerator = Callable[[str], list[tuple[str, int]]]  # candidates for a typed word, with their numbers of edits


@dataclass(frozen=True)
class Correction:
    """A corrected word."""

    start: int  # character offset in the typed text
    typed: str
    intended: str
    probability: float  # posterior: the fraction of the beam's probability mass with this word here


@dataclass(frozen=True)
class CorrectedText:
    """A corrected text, and what was corrected."""

    text: str
    corrections: tuple[Correction, ...]


def correct(
    model: LanguageModel,
    text: str,
    *,
    max_distance: int = 1,
    error_rate: float | None = None,
    confusion_sets: Iterable[Sequence[str]] = (),
    lexicon: Lexicon | None = None,
) -> CorrectedText:
    """Correct spelling: replace words by known ones within `max_distance` edits where the text gets more probable.

    With `confusion_sets` (words that are mistaken for each other) only words of a set are replaced, by others of it.
    """
    sets = [tuple(words) for words in confusion_sets]
    error_rate = error_rate if error_rate is not None else CONFUSION_PROBABILITY if sets else EDIT_PROBABILITY
    if not 0 < error_rate < 1 or max_distance not in (1, 2):
        raise FirthError("the error rate must lie between 0 and 1, and the distance must be 1 or 2")
    generator = (
        _confusion_candidates(sets) if sets else _spelling_candidates(lexicon or training_lexicon(model), max_distance)
    )
    corrected, corrections, position = "", [], 0
    for sentence in split_sentences(text):
        start = text.index(sentence, position)
        corrected += text[position:start]
        best = _Sentence(model, corrected[-_CONTEXT_CHARACTERS:], sentence, generator, -math.log(error_rate)).decode()
        corrections += [Correction(start + correction.start, *correction[1:]) for correction in best]
        corrected, position = corrected + _apply(sentence, best), start + len(sentence)
    return CorrectedText(corrected + text[position:], tuple(corrections))


def _spelling_candidates(lexicon: Lexicon, max_distance: int) -> CandidateGenerator:
    return lambda word: lexicon.candidates(word, max_distance, _MAX_CANDIDATES) if len(word) > 1 else []


def _confusion_candidates(sets: Sequence[Sequence[str]]) -> CandidateGenerator:
    others: dict[str, list[tuple[str, int]]] = {}
    for each in sets:
        for word in each:
            others.setdefault(word.lower(), []).extend((other, 1) for other in each)
    return lambda word: others.get(word.lower(), [])


class _Candidate(NamedTuple):
    """A word that may have been intended for a typed one; the cost is its −log P(typed | intended)."""

    start: int
    typed: str
    intended: str
    cost: float


class _Sentence:
    """One sentence and the candidates for each of its words."""

    def __init__(
        self, model: LanguageModel, context: str, text: str, generator: CandidateGenerator, cost: float
    ) -> None:
        self.model, self.context, self.text = model, context, text
        self.candidates = [_candidates(word, generator(word[0]), cost) for word in WORD.finditer(text)]

    def decode(self) -> list[_Candidate]:
        """Beam search for the best text: its corrections in order, each with its posterior in place of its cost."""
        promising = self._promising()
        beam = {(): self._scores([()])[0]}
        for candidates in promising:
            extended = [*beam, *((*corrections, each) for corrections in beam for each in candidates)]
            scores = dict(zip(extended, self._scores(extended), strict=True))
            best = sorted(extended, key=lambda corrections: -scores[corrections])[:_BEAM_SIZE]
            beam = {corrections: scores[corrections] for corrections in dict.fromkeys([*best, ()])}
        posteriors = dict(zip(beam, softmax(list(beam.values())), strict=True))
        best = max(beam, key=lambda corrections: beam[corrections])
        return [each._replace(cost=sum(posteriors[other] for other in beam if each in other)) for each in best]

    def _promising(self) -> list[list[_Candidate]]:
        """For each word the candidates that alone raise the score, or nearly: only they are combined."""
        alone = [(each,) for candidates in self.candidates for each in candidates]
        as_typed, *scores = self._scores([(), *alone])
        gains = {each: score - as_typed for (each,), score in zip(alone, scores, strict=True)}
        promising = []
        for candidates in self.candidates:
            best = sorted(
                (candidate for candidate in candidates if gains[candidate] > -_MAX_LOSS),
                key=lambda candidate: -gains[candidate],
            )[:_MAX_COMBINED]
            promising += [best] if best else []
        return promising

    def _scores(self, corrections: Sequence[tuple[_Candidate, ...]]) -> list[float]:
        """The noisy channel's log-probability of each set of corrections: log P(intended) + log P(typed | intended)."""
        texts = [self.context + _apply(self.text, changes) for changes in corrections]
        scored = zip(self.model.score(texts, whole=False), self.model.oov_nll(texts), corrections, strict=True)
        return [score - oov_nll - sum(each.cost for each in changes) for score, oov_nll, changes in scored]


def _candidates(word: re.Match[str], generated: Iterable[tuple[str, int]], cost: float) -> list[_Candidate]:
    """The distinct candidates for a typed word, in its capitalisation."""
    typed = word[0]
    candidates = (
        _Candidate(word.start(), typed, _match_case(intended, typed), edits * cost) for intended, edits in generated
    )
    return [each for each in dict.fromkeys(candidates) if each.intended != typed]


def _apply(text: str, corrections: Iterable[_Candidate]) -> str:
    """Apply corrections to the text."""
    parts, position = [], 0
    for correction in corrections:
        parts += [text[position : correction.start], correction.intended]
        position = correction.start + len(correction.typed)
    return "".join([*parts, text[position:]])


def _match_case(word: str, typed: str) -> str:
    """Transfer the capitalisation of the typed word: all capitals, a first capital, or none."""
    if len(typed) > 1 and typed.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if typed[:1].isupper() else word
