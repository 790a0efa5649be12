"""Prompt comparison: the words a model associates with one prompt rather than another, at [MASK] or as next token."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from firth.errors import FirthError
from firth.pipelines.fill_mask import MASK
from firth.pipelines.language_model import LanguageModel
from firth.tokenizers.tokenizer import Tokenizer
from firth.tokenizers.word_boundaries import ends_in_word, token_spelling

MIN_LOG_RATIO = math.log(2)  # a word is associated with a prompt if it is at least twice as probable with it
Side = Literal["a", "b", "both"]


@dataclass(frozen=True)
class Word:
    """A token with its log-probability in both prompts; the prefix ## marks one that continues a word."""

    text: str
    log_a: float  # in nats
    log_b: float

    @property
    def difference(self) -> float:
        """The log-probability ratio; above 0: more probable with the first prompt."""
        return self.log_a - self.log_b

    @property
    def side(self) -> Side:
        """The prompt with which the word is at least twice as probable, or both."""
        if abs(self.difference) < MIN_LOG_RATIO:
            return "both"
        return "a" if self.difference > 0 else "b"


@dataclass(frozen=True)
class Comparison:
    """Two prompts and the most probable words of each."""

    a: str
    b: str
    words: tuple[Word, ...]  # the union of the most probable words of each prompt
    divergence: float  # Jensen–Shannon divergence in bits: 0 for equal distributions, 1 for disjoint ones

    def side(self, side: Side, count: int | None = None) -> list[Word]:
        """The words of one prompt by decreasing log ratio, or the words of both by decreasing probability."""
        words = [word for word in self.words if word.side == side]
        keys = {
            "a": lambda word: (-word.difference, -word.log_a),
            "b": lambda word: (word.difference, -word.log_b),
            "both": lambda word: -min(word.log_a, word.log_b),
        }
        return sorted(words, key=keys[side])[:count]


def compare_prompts(model: Any, a: str, b: str, *, top_k: int = 50) -> Comparison:
    """Compare the distributions at the [MASK] of two texts, or of the next token for a language model.

    Only the `top_k` most probable tokens of each prompt are compared: estimates for rare tokens are unreliable.
    """
    if not hasattr(model, "prompt_log_probs"):
        do = "use a masked or causal language model, such as firth train bert"
        raise FirthError("this model does not predict words", where=model.run.path, do=do)
    if top_k < 1:
        raise FirthError(f"top_k = {top_k}: must be at least 1")
    logprobs = np.stack([model.prompt_log_probs(_prepare_prompt(model, text)) for text in (a, b)])  # (2, vocabulary)
    is_candidate = np.zeros(logprobs.shape[1], bool)
    is_candidate[list(_candidate_ids(model))] = True
    best = np.argsort(np.where(is_candidate, -logprobs, np.inf), axis=1, kind="stable")[:, :top_k]
    selected = [
        token for token in np.unique(best).tolist() if is_candidate[token] and logprobs[:, token].max() > -np.inf
    ]
    texts = _token_texts(model.tokenizer)
    words = (Word(texts[token], float(logprobs[0, token]), float(logprobs[1, token])) for token in selected)
    ordered = sorted(words, key=lambda word: -max(word.log_a, word.log_b))
    return Comparison(a, b, tuple(ordered), _jensen_shannon(np.exp(logprobs)))


def _prepare_prompt(model: Any, text: str) -> str:
    """The prompt as the model takes it: a language model has no [MASK]."""
    if not isinstance(model, LanguageModel):
        return text
    if MASK in text:
        what = f"this is a causal language model, which has no {MASK}"
        raise FirthError(what, do="give the text up to the word to predict: next-token predictions are compared")
    # A space before a word belongs to the word's first token, where there are tokens of several characters.
    return text if model.tokenizer.kind in ("char", "byte") else text.rstrip(" ")


def _candidate_ids(model: Any) -> set[int]:
    """All tokens but special ones; for a language model also the end token."""
    special, known = model.tokenizer.special, set(model.tokenizer.vocabulary().values())
    return known - (special.ids - ({special.end} if isinstance(model, LanguageModel) else set()))


def _token_texts(tokenizer: Tokenizer) -> list[str]:
    """How each token is shown: its text inside a sentence, with ## if it continues a word."""
    is_character_level = tokenizer.kind in ("char", "byte")
    spellings, texts = token_spelling(tokenizer).inside.tokens, []
    for number, text in enumerate(each.decode(errors="replace") for each in spellings):
        if not text:
            texts.append(tokenizer.id_to_token(number) if number in tokenizer.special.ids else "")
        elif text.isspace():
            texts.append(repr(text))
        else:
            continues_word = not is_character_level and ends_in_word(text[0]) and not text[0].isspace()
            texts.append(f"##{text}" if continues_word else text.strip())
    return texts


def _jensen_shannon(probabilities: np.ndarray) -> float:
    """Jensen-Shannon divergence of two distributions (2, vocabulary) in bits."""
    mixture = probabilities.mean(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(probabilities > 0, probabilities * np.log2(probabilities / mixture), 0.0)
    return float(parts.sum() / 2)
