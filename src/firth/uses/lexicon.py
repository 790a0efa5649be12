"""The words that a model's training text has, with their counts: kept in the cache, made when first needed."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from firth.data.cache import default_cache
from firth.errors import FirthError
from firth.families.language import LanguageModel
from firth.runs import files
from firth.text.edits import Words

_FORMAT = 1
# Letters, an apostrophe among them; not a part of a name with digits or underscores. A compound is its parts.
WORD = re.compile(r"(?<!\w)[^\W\d_]+(?:['’][^\W\d_]+)*(?!\w)")
_RARE = 0.1  # a form with less than this share of a word is not told
_MANY = 200_000  # words kept, the most frequent


class Lexicon:
    """Known words. They are found in small letters, and told in the forms that the text has: may and May."""

    def __init__(self, counts: Mapping[str, int], least: int = 1) -> None:
        forms: dict[str, Counter[str]] = {}
        for word, count in counts.items():
            forms.setdefault(word.lower(), Counter())[word] += count
        known = {small: each for small, each in forms.items() if each.total() >= least}
        self.counts = {small: each.total() for small, each in known.items()}
        self.forms = {small: _usual(each) for small, each in known.items()}
        self._keys = list(known)

    @cached_property
    def _table(self) -> Words:
        return Words.of(self._keys)

    def near(self, word: str, distance: int, count: int) -> list[tuple[str, int]]:
        """Known words a few edits away in their usual forms, with their edits: the nearest and most frequent."""
        found = [(self._keys[n], edits) for n, edits in self._table.near(word.lower(), distance) if edits]
        found.sort(key=lambda each: (each[1], -self.counts[each[0]], each[0]))
        return [(form, edits) for small, edits in found[:count] for form in self.forms[small]]


def _usual(forms: Counter[str]) -> list[str]:
    """The forms of a word without the rare ones, the most frequent first."""
    return [form for form, count in forms.most_common() if count >= _RARE * forms.total()]


def lexicon(model: LanguageModel, least: int = 2, cache: Path | None = None) -> Lexicon:
    """The words of a model's training text that it has at least so often; those of a vocabulary if it has no text."""
    cache, splits = cache or default_cache(), model.run.record.data["splits"]
    if "train" not in splits:
        return Lexicon(_vocabulary(model))
    key = files.digest(f"{_FORMAT} {splits['train']}".encode())[:32]
    place = cache / "words" / f"{key}.json"
    try:
        counts = json.loads(place.read_bytes())
    except (OSError, ValueError):
        counts = _counted(model, cache)
        files.make_folder(place.parent)
        files.replace_file(place, json.dumps(counts, ensure_ascii=False).encode())
    return Lexicon(counts, least)


def _counted(model: LanguageModel, cache: Path) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for document in model.documents(cache)["train"]:
        counts.update(WORD.findall(document))
    return dict(counts.most_common(_MANY))


def _vocabulary(model: LanguageModel) -> dict[str, int]:
    if model.tokenizer.kind != "word":
        do = "use a run that was trained here, or word sets with --choices"
        raise FirthError("this model has no text to learn spellings from", where=model.run.path, do=do)
    return {piece: 1 for piece in model.tokenizer.vocabulary() if WORD.fullmatch(piece)}
