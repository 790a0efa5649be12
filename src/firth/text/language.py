"""Which language a text is in: naive Bayes over runs of one to four characters, learnt from the user's own texts."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from firth.errors import FirthError
from firth.text.patterns import MARKS, SPACE

LONGEST = 4  # characters of a run
KEPT = 20_000  # runs kept of each language, the commonest
READ = 10_000_000  # characters read of each language
PIECE = 10_000  # of which at once
LOOKED_AT = 300  # characters of a text that are judged
UNSEEN = 0.1  # added to every count
FORMAT = "firth languages 1"

_NO_LETTER = re.compile(rf"[\d_{SPACE}{MARKS}]+")

_TIMES, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)  # odd: no two texts of one character share a number


class Guess(NamedTuple):
    """A language and the probability that it is the right one of those known."""

    language: str
    confidence: float


class Identifier(Protocol):
    """What tells languages apart."""

    @property
    def languages(self) -> tuple[str, ...]: ...
    def identify(self, text: str) -> Guess: ...


class Languages:
    """An identifier of the languages it was shown. It never changes."""

    def __init__(self, counts: Mapping[str, Mapping[str, int]], totals: Mapping[str, list[int]]) -> None:
        self.languages = tuple(sorted(counts))
        self._counts, self._totals = counts, totals
        runs = sorted(set().union(*counts.values()))
        sizes = Counter(map(len, runs))
        weights = np.array([self._column(language, runs, sizes) for language in self.languages])
        keys = np.concatenate([_keys(run, len(run)) for run in runs])
        order = np.argsort(keys)
        self._keys, self._weights = keys[order], weights.T[order]  # (runs,), (runs, languages)

    def _column(self, language: str, runs: Iterable[str], sizes: Mapping[int, int]) -> list[float]:
        """The log-probability of each run among the runs of its length."""
        counts, totals = self._counts[language], self._totals[language]
        bases = [math.log(totals[n - 1] + UNSEEN * max(1, sizes[n])) for n in range(1, LONGEST + 1)]
        return [math.log(counts.get(run, 0) + UNSEEN) - bases[len(run) - 1] for run in runs]

    @classmethod
    def train(cls, texts: Mapping[str, Iterable[str]]) -> Languages:
        """Learn from texts of each language; two languages at least."""
        if len(texts) < 2:
            do = "give texts of two or more, such as en=english.txt,de=german.txt"
            raise FirthError(f"{len(texts)} language cannot be told from others", where="languages", do=do)
        found = {language: _count(language, texts[language]) for language in sorted(texts)}
        counts = {language: dict(sorted(_commonest(runs))) for language, runs in found.items()}
        totals = {language: _totals(runs) for language, runs in found.items()}
        return cls(counts, totals)

    def identify(self, text: str) -> Guess:
        """The likeliest language; of a text without any known run nothing can be said: the first, confidence 0."""
        rows = self._known(text)
        if not len(rows):
            return Guess(self.languages[0], 0.0)
        sums = self._sums(rows)
        top = max(sums)
        # Every character is counted in runs of each length, so a share of the sum is what the characters tell.
        odds = [math.exp((value - top) / LONGEST) for value in sums]
        return Guess(self.languages[sums.index(top)], 1 / sum(odds))

    def scores(self, text: str) -> list[float]:
        """The log-likelihood of the text's runs in each language, in the order of `languages`."""
        return self._sums(self._known(text))

    def _known(self, text: str) -> np.ndarray:
        """The rows of those runs of the text that some language has."""
        padded = f" {_only_letters(text[:LOOKED_AT])} "
        keys = np.concatenate([_keys(padded, n) for n in range(1, LONGEST + 1)])
        rows = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return rows[self._keys[rows] == keys]

    def _sums(self, rows: np.ndarray) -> list[float]:
        return self._weights[rows].sum(axis=0).tolist()

    def to_json(self) -> str:
        """The content of its file: the same texts give the same bytes."""
        content = {"format": FORMAT, "totals": self._totals, "counts": self._counts}
        return json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":")) + "\n"

    def save(self, path: str | Path) -> None:
        """Write its file."""
        Path(path).write_text(self.to_json(), encoding="utf-8", newline="\n")

    @classmethod
    def load(cls, path: str | Path) -> Languages:
        """Open a file of `save`."""
        wrong = FirthError("not a file of languages", where=path, do="make one with --save-languages")
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise FirthError(f"cannot read: {error.strerror}", where=path) from None
        except ValueError:
            raise wrong from None
        if not _is_sound(content):
            raise wrong
        return cls(content["counts"], content["totals"])


def _count(language: str, texts: Iterable[str]) -> Counter[str]:
    """How often each run stands in the texts, of which only a bounded part is read."""
    runs, left = Counter(), READ
    for text in [texts] if isinstance(texts, str) else texts:
        for start in range(0, min(len(text), left), PIECE):
            runs.update(_runs(text[start : min(start + PIECE, left)]))
        left -= len(text)
        if left <= 0:
            break
    if not runs:
        raise FirthError("no letters in its texts", where=f"language {language!r}", do="give texts with words")
    return runs


def _only_letters(text: str) -> str:
    """The text in small letters, with a blank for all that is none."""
    return _NO_LETTER.sub(" ", text.lower()).strip()


def _runs(text: str) -> list[str]:
    """The letters of the text, and its runs of two to four letters and blanks."""
    letters = _only_letters(text)
    text = f" {letters} " if letters else ""
    runs = [text[at : at + n] for n in range(2, LONGEST + 1) for at in range(len(text) - n + 1)]
    return [*letters.replace(" ", ""), *runs]


def _keys(text: str, length: int) -> np.ndarray:
    """A number for each run of this length in the text; two runs have one number only by an unheard-of chance."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    count = max(0, len(codes) - length + 1)
    keys = np.full(count, length, np.uint64)
    for place in range(length):
        keys = (keys + codes[place : place + count]) * _TIMES
        keys ^= keys >> _SHIFT
    return keys


def _commonest(runs: Counter[str]) -> list[tuple[str, int]]:
    return list(islice(sorted(runs.items(), key=lambda item: (-item[1], item[0])), KEPT))


def _totals(runs: Counter[str]) -> list[int]:
    totals = [0] * LONGEST
    for run, count in runs.items():
        totals[len(run) - 1] += count
    return totals


def _is_sound(content: Any) -> bool:
    """Whether this is what `to_json` writes."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        return False
    counts, totals = content.get("counts"), content.get("totals")
    if not isinstance(counts, dict) or not isinstance(totals, dict) or set(counts) != set(totals) or len(counts) < 2:
        return False
    return all(map(_are_counts, counts.values())) and all(map(_are_totals, totals.values()))


def _are_counts(runs: Any) -> bool:
    sound = isinstance(runs, dict) and bool(runs)
    return sound and all(0 < len(run) <= LONGEST and type(n) is int and n > 0 for run, n in runs.items())


def _are_totals(totals: Any) -> bool:
    return isinstance(totals, list) and len(totals) == LONGEST and all(type(n) is int and n >= 0 for n in totals)


# --- ready-made ---------------------------------------------------------------------------------------------------


class ReadyMade:
    """The identifier of the package py3langid, which brings its model of some hundred languages with it."""

    def __init__(self) -> None:
        try:
            from py3langid.langid import MODEL_FILE, LanguageIdentifier
        except ImportError:
            do = "install it with: pip install 'firth[language]', or give texts: --languages en=FILE,de=FILE"
            raise FirthError("telling languages apart needs texts of them or the package py3langid", do=do) from None
        self._model = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
        self.languages = tuple(sorted(self._model.labels))

    def identify(self, text: str) -> Guess:
        """The likeliest language; of a text without letters nothing can be said."""
        guess = Guess(*self._model.classify(text[:LOOKED_AT]))
        return guess if _only_letters(text[:LOOKED_AT]) else guess._replace(confidence=0.0)
