"""Language identification: py3langid's pretrained model by default, or one trained on the user's own texts.

The trained one is naive Bayes over character n-grams (n = 1 to 4, additive smoothing); it knows only its own languages.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from firth.arguments import read_file
from firth.errors import FirthError
from firth.runs import atomic_files
from firth.tokenizers.regexes import PUNCTUATION, SPACE

MAX_N = 4  # characters of an n-gram
MAX_NGRAMS = 20_000  # n-grams per language, the most frequent
MAX_TRAINING_CHARACTERS = 10_000_000  # per language
CHUNK = 10_000  # characters counted at once
MAX_CHARACTERS = 300  # of a text that is identified, from its beginning
SMOOTHING = 0.1  # added to every count
FORMAT = "firth languages 1"

_NON_LETTERS = re.compile(rf"[\d_{SPACE}{PUNCTUATION}]+")

_MULTIPLIER, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)  # odd: unigrams never collide


class LanguagePrediction(NamedTuple):
    """A language and the probability that it is the right one of those known."""

    language: str
    confidence: float


class LanguageIdentifier(Protocol):
    """The interface of a language identifier."""

    @property
    def languages(self) -> tuple[str, ...]: ...
    def identify(self, text: str) -> LanguagePrediction: ...


# --- pretrained ---------------------------------------------------------------------------------------------------


class Py3LangidIdentifier:
    """The pretrained identifier of the package py3langid, for about a hundred languages (ISO 639-1 codes)."""

    def __init__(self) -> None:
        try:
            from py3langid import langid
        except ImportError:
            do = 'pip install "firth[language]", or train an identifier on your own texts: --identifier en=FILE,de=FILE'
            raise FirthError("language identification needs the package py3langid", do=do) from None
        self._model = langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)
        self.languages = tuple(sorted(self._model.labels))

    def identify(self, text: str) -> LanguagePrediction:
        """The most probable language; the confidence is 0 for a text without letters."""
        prediction = LanguagePrediction(*self._model.classify(text[:MAX_CHARACTERS]))
        return prediction if _letters_only(text[:MAX_CHARACTERS]) else prediction._replace(confidence=0.0)


@cache
def default_identifier() -> LanguageIdentifier:
    """The identifier used when none trained on own texts is given: py3langid, loaded once."""
    return Py3LangidIdentifier()


# --- trained on the user's texts ----------------------------------------------------------------------------------


class NgramLanguageIdentifier:
    """A naive Bayes classifier over character n-grams for the languages it was trained on. Immutable."""

    def __init__(self, counts: Mapping[str, Mapping[str, int]], totals: Mapping[str, list[int]]) -> None:
        self.languages = tuple(sorted(counts))
        self._counts, self._totals = counts, totals
        ngrams = sorted(set().union(*counts.values()))
        types_by_length = Counter(map(len, ngrams))
        weights = np.array([self._log_probabilities(language, ngrams, types_by_length) for language in self.languages])
        keys = np.concatenate([_hash_ngrams(ngram, len(ngram)) for ngram in ngrams])
        order = np.argsort(keys)
        self._keys, self._weights = keys[order], weights.T[order]  # (ngrams,), (ngrams, languages)

    def _log_probabilities(
        self, language: str, ngrams: Iterable[str], types_by_length: Mapping[int, int]
    ) -> list[float]:
        """The log-probability of each n-gram among the n-grams of its length."""
        counts, totals = self._counts[language], self._totals[language]
        log_totals = [math.log(totals[n - 1] + SMOOTHING * max(1, types_by_length[n])) for n in range(1, MAX_N + 1)]
        return [math.log(counts.get(ngram, 0) + SMOOTHING) - log_totals[len(ngram) - 1] for ngram in ngrams]

    @classmethod
    def train(cls, texts: Mapping[str, Iterable[str]]) -> NgramLanguageIdentifier:
        """Train on texts of each language; at least two languages."""
        if len(texts) < 2:
            do = "give texts of two or more, such as en=english.txt,de=german.txt"
            raise FirthError(f"{len(texts)} language to identify", where="language identifier", do=do)
        ngrams_by_language = {language: _count_ngrams(language, texts[language]) for language in sorted(texts)}
        counts = {language: dict(sorted(_most_common(ngrams))) for language, ngrams in ngrams_by_language.items()}
        totals = {language: _totals_by_length(ngrams) for language, ngrams in ngrams_by_language.items()}
        return cls(counts, totals)

    def identify(self, text: str) -> LanguagePrediction:
        """The most probable language; for a text without any known n-gram the first language with confidence 0."""
        rows = self._known_ngrams(text)
        if not len(rows):
            return LanguagePrediction(self.languages[0], 0.0)
        scores = self._log_likelihoods(rows)
        best = max(scores)
        # Every character occurs in n-grams of MAX_N lengths, so the summed evidence is divided by MAX_N.
        odds = [math.exp((score - best) / MAX_N) for score in scores]
        return LanguagePrediction(self.languages[scores.index(best)], 1 / sum(odds))

    def scores(self, text: str) -> list[float]:
        """The log-likelihood of the text's n-grams in each language, in the order of `languages`."""
        return self._log_likelihoods(self._known_ngrams(text))

    def _known_ngrams(self, text: str) -> np.ndarray:
        """The rows of those n-grams of the text that occur in some language."""
        padded = f" {_letters_only(text[:MAX_CHARACTERS])} "
        keys = np.concatenate([_hash_ngrams(padded, n) for n in range(1, MAX_N + 1)])
        rows = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return rows[self._keys[rows] == keys]

    def _log_likelihoods(self, rows: np.ndarray) -> list[float]:
        return self._weights[rows].sum(axis=0).tolist()

    def to_json(self) -> str:
        """The content of its file: the same texts give the same bytes."""
        content = {"format": FORMAT, "totals": self._totals, "counts": self._counts}
        return json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":")) + "\n"

    def save(self, path: str | Path) -> None:
        """Write its file."""
        atomic_files.replace_file(Path(path), self.to_json().encode())

    @classmethod
    def load(cls, path: str | Path) -> NgramLanguageIdentifier:
        """Open a file written by `save`."""
        invalid = FirthError("not a language identifier file", where=path, do="make one with --save-identifier")
        try:
            content = json.loads(read_file(Path(path)))
        except (ValueError, RecursionError):
            raise invalid from None
        if not _is_valid(content):
            raise invalid
        return cls(content["counts"], content["totals"])


def _count_ngrams(language: str, texts: Iterable[str]) -> Counter[str]:
    """Counts of the n-grams in the texts, of which at most MAX_TRAINING_CHARACTERS are read."""
    ngrams, remaining = Counter(), MAX_TRAINING_CHARACTERS
    for text in [texts] if isinstance(texts, str) else texts:
        for start in range(0, min(len(text), remaining), CHUNK):
            ngrams.update(_extract_ngrams(text[start : min(start + CHUNK, remaining)]))
        remaining -= len(text)
        if remaining <= 0:
            break
    if not ngrams:
        raise FirthError("no letters in its texts", where=f"language {language!r}", do="give texts with words")
    return ngrams


def _letters_only(text: str) -> str:
    """The text in lower case, with a space for everything that is not a letter."""
    return _NON_LETTERS.sub(" ", text.lower()).strip()


def _extract_ngrams(text: str) -> list[str]:
    """The letters of the text (unigrams), and its n-grams of two to four letters and spaces."""
    letters = _letters_only(text)
    text = f" {letters} " if letters else ""
    ngrams = [text[start : start + n] for n in range(2, MAX_N + 1) for start in range(len(text) - n + 1)]
    return [*letters.replace(" ", ""), *ngrams]


def _hash_ngrams(text: str, n: int) -> np.ndarray:
    """A 64-bit hash of each n-gram of the text; collisions are negligibly rare."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    count = max(0, len(codes) - n + 1)
    keys = np.full(count, n, np.uint64)
    for offset in range(n):
        keys = (keys + codes[offset : offset + count]) * _MULTIPLIER
        keys ^= keys >> _SHIFT
    return keys


def _most_common(ngrams: Counter[str]) -> list[tuple[str, int]]:
    return list(islice(sorted(ngrams.items(), key=lambda item: (-item[1], item[0])), MAX_NGRAMS))


def _totals_by_length(ngrams: Counter[str]) -> list[int]:
    totals = [0] * MAX_N
    for ngram, count in ngrams.items():
        totals[len(ngram) - 1] += count
    return totals


def _is_valid(content: Any) -> bool:
    """Whether this is what `to_json` writes."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        return False
    counts, totals = content.get("counts"), content.get("totals")
    if not isinstance(counts, dict) or not isinstance(totals, dict) or set(counts) != set(totals) or len(counts) < 2:
        return False
    return all(map(_are_counts, counts.values())) and all(map(_are_totals, totals.values()))


def _are_counts(ngrams: Any) -> bool:
    valid = isinstance(ngrams, dict) and bool(ngrams)
    return valid and all(0 < len(ngram) <= MAX_N and type(n) is int and n > 0 for ngram, n in ngrams.items())


def _are_totals(totals: Any) -> bool:
    return isinstance(totals, list) and len(totals) == MAX_N and all(type(n) is int and n >= 0 for n in totals)
