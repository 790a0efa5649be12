"""The lexicon of a model's training text: words with their counts, cached on disk when first needed."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from firth.datasets.token_cache import default_cache
from firth.errors import FirthError
from firth.pipelines.language_model import LanguageModel
from firth.runs import atomic_files
from firth.workflows.edit_distance import WordMatrix

_FORMAT = 1
# Letters with inner apostrophes; nothing attached to digits or underscores. A hyphenated compound is several words.
WORD = re.compile(r"(?<!\w)[^\W\d_]+(?:['’][^\W\d_]+)*(?!\w)")
_MIN_FORM_FRACTION = 0.1  # rarer capitalised forms of a word are not candidates
_MAX_WORDS = 200_000  # the most frequent


class Lexicon:
    """Known words, looked up in lower case and returned in the capitalised forms of the text: may and May."""

    def __init__(self, counts: Mapping[str, int], min_count: int = 1) -> None:
        forms: dict[str, Counter[str]] = {}
        for word, count in counts.items():
            forms.setdefault(word.lower(), Counter())[word] += count
        frequent = {small: each for small, each in forms.items() if each.total() >= min_count}
        self.counts = {small: each.total() for small, each in frequent.items()}
        self.forms = {small: _frequent_forms(each) for small, each in frequent.items()}
        self._keys = list(frequent)

    @cached_property
    def _table(self) -> WordMatrix:
        return WordMatrix.from_words(self._keys)

    def candidates(self, word: str, max_distance: int, count: int) -> list[tuple[str, int]]:
        """The nearest and most frequent known words within an edit distance, in frequent forms, with distances."""
        nearest = [(self._keys[n], edits) for n, edits in self._table.within(word.lower(), max_distance) if edits]
        nearest.sort(key=lambda each: (each[1], -self.counts[each[0]], each[0]))
        return [(form, edits) for small, edits in nearest[:count] for form in self.forms[small]]


def _frequent_forms(forms: Counter[str]) -> list[str]:
    """The capitalised forms of a word without rare ones, the most frequent first."""
    return [form for form, count in forms.most_common() if count >= _MIN_FORM_FRACTION * forms.total()]


def training_lexicon(model: LanguageModel, min_count: int = 2, cache: Path | None = None) -> Lexicon:
    """The words with at least `min_count` occurrences in a model's training text; its vocabulary if it has no text."""
    cache, splits = cache or default_cache(), model.run.record.data["splits"]
    if "train" not in splits:
        return Lexicon(_vocabulary_words(model))
    key = atomic_files.digest(f"{_FORMAT} {splits['train']}".encode())[:32]
    path = cache / "words" / f"{key}.json"
    try:
        counts = json.loads(path.read_bytes())
    except (OSError, ValueError):
        counts = _count_words(model, cache)
        atomic_files.make_folder(path.parent)
        atomic_files.replace_file(path, json.dumps(counts, ensure_ascii=False).encode())
    return Lexicon(counts, min_count)


def _count_words(model: LanguageModel, cache: Path) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for document in model.documents(cache)["train"]:
        counts.update(WORD.findall(document))
    return dict(counts.most_common(_MAX_WORDS))


def _vocabulary_words(model: LanguageModel) -> dict[str, int]:
    if model.tokenizer.kind != "word":
        do = "use a run that was trained here, or confusion sets with --confusion-set"
        raise FirthError("this model has no training text to take a lexicon from", where=model.run.path, do=do)
    return {token: 1 for token in model.tokenizer.vocabulary() if WORD.fullmatch(token)}
