"""What a model associates more with one prompt than with another: the words it expects in the gaps of two texts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from firth.errors import FirthError
from firth.families.language import LanguageModel
from firth.families.masked import MASK
from firth.text.spelling import in_word, spelling
from firth.text.tokenizer import Tokenizer

TWICE = math.log(2)  # a word that is so much more probable with one prompt belongs to it
Side = Literal["a", "b", "both"]


@dataclass(frozen=True)
class Word:
    """A token in both gaps; ## stands before one that goes on with a word."""

    text: str
    log_a: float  # log-probabilities in nats
    log_b: float

    @property
    def difference(self) -> float:
        """Above 0: more probable with the first prompt."""
        return self.log_a - self.log_b

    @property
    def side(self) -> Side:
        """The prompt with which it is at least twice as probable, or both."""
        if abs(self.difference) < TWICE:
            return "both"
        return "a" if self.difference > 0 else "b"


@dataclass(frozen=True)
class Comparison:
    """Two prompts and the words that are probable with one of them."""

    a: str
    b: str
    words: tuple[Word, ...]  # the most probable of each prompt, all together
    divergence: float  # Jensen and Shannon's, in bits: 0 if all words are equally probable, 1 if none is in both

    def side(self, side: Side, count: int | None = None) -> list[Word]:
        """The words of one prompt, those that tell it most from the other first; or of both, the most probable first"""
        found = [word for word in self.words if word.side == side]
        keys = {
            "a": lambda word: (-word.difference, -word.log_a),
            "b": lambda word: (word.difference, -word.log_b),
            "both": lambda word: -min(word.log_a, word.log_b),
        }
        return sorted(found, key=keys[side])[:count]


def compare(model: Any, a: str, b: str, *, among: int = 50) -> Comparison:
    """Compare the gaps of two texts: of one [MASK] each, or for a language model of what comes next.

    Only the `among` most probable tokens of each gap are compared: of improbable ones, models know little.
    """
    if not hasattr(model, "gap"):
        do = "use a model that fills gaps or continues texts, such as firth train bert"
        raise FirthError("this model expects no words", where=model.run.path, do=do)
    if among < 1:
        raise FirthError(f"among = {among}: must be at least 1")
    logs = np.stack([model.gap(_checked(model, text)) for text in (a, b)])  # (2, vocabulary)
    told = np.zeros(logs.shape[1], bool)
    told[list(_tellable(model))] = True
    best = np.argsort(np.where(told, -logs, np.inf), axis=1, kind="stable")[:, :among]
    chosen = [n for n in np.unique(best).tolist() if told[n] and logs[:, n].max() > -np.inf]
    texts = _texts(model.tokenizer)
    words = (Word(texts[n], float(logs[0, n]), float(logs[1, n])) for n in chosen)
    ordered = sorted(words, key=lambda word: -max(word.log_a, word.log_b))
    return Comparison(a, b, tuple(ordered), _divergence(np.exp(logs)))


def _checked(model: Any, text: str) -> str:
    """The text as the model is to read it."""
    if not isinstance(model, LanguageModel):
        return text
    if MASK in text:
        what = f"this model reads from the left and has no {MASK}"
        raise FirthError(what, do="give the text up to the gap: what comes next is compared")
    # A space before a word belongs to the word's first token, where there are tokens of several characters.
    return text if model.tokenizer.kind in ("char", "byte") else text.rstrip(" ")


def _tellable(model: Any) -> set[int]:
    """The tokens that may be told: no special ones, but for the end of a text that goes on."""
    special, known = model.tokenizer.special, set(model.tokenizer.vocabulary().values())
    return known - (special.ids - ({special.end} if isinstance(model, LanguageModel) else set()))


def _texts(tokenizer: Tokenizer) -> list[str]:
    """What each token looks like in the midst of a text."""
    signs = tokenizer.kind in ("char", "byte")
    added, found = spelling(tokenizer).inside.texts, []
    for number, text in enumerate(each.decode(errors="replace") for each in added):
        if not text:
            found.append(tokenizer.piece(number) if number in tokenizer.special.ids else "")
        elif text.isspace():
            found.append(repr(text))
        else:
            goes_on = not signs and in_word(text[0]) and not text[0].isspace()
            found.append(f"##{text}" if goes_on else text.strip())
    return found


def _divergence(chances: np.ndarray) -> float:
    """Jensen-Shannon divergence of two distributions (2, vocabulary) in bits."""
    middle = chances.mean(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(chances > 0, chances * np.log2(chances / middle), 0.0)
    return float(parts.sum() / 2)
