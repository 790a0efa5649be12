"""A lexicon of the package `wn`, which downloads lexicons into a database of its own."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from firth.lexicon.synsets import HYPERNYMS, Relation, Synset, category, normalise_word

CACHED = 1 << 14  # synsets


class WnPackage:
    """A reader of one of its lexicons; ids are those of the lexicon."""

    def __init__(self, lexicon: Any) -> None:
        import wn

        self.name, self.language = lexicon.specifier(), lexicon.language
        self.place = f"the package wn, {wn.config.database_path}"
        self._net = wn.Wordnet(self.name)
        self.synset = lru_cache(CACHED)(self._read)
        self.ids = lru_cache(CACHED)(self._find)

    def _find(self, word: str, pos: str) -> tuple[str, ...]:
        """The synsets of a word in the order of its senses."""
        types = ("a", "s") if pos == "a" else (pos,)
        entries = [entry for each in types for entry in self._net.words(word, pos=each)]  # with its forms too
        own = [entry for entry in entries if normalise_word(entry.lemma()) == word]
        return tuple(dict.fromkeys(synset.id for entry in own for synset in entry.synsets()))

    def base_forms(self, form: str, pos: str) -> tuple[str, ...]:
        """The lemmas of which the lexicon lists this form."""
        lemmas = (normalise_word(entry.lemma()) for entry in self._net.words(form, pos=pos))
        return tuple(dict.fromkeys(lemma for lemma in lemmas if lemma != form))

    def taxonomy(self, pos: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The synsets with their hypernyms."""
        for synset in self._net.synsets(pos=pos):
            yield synset.id, tuple(dict.fromkeys(other.id for other in synset.get_related(*HYPERNYMS)))

    def count(self, key: str) -> int:
        """0: counts are not read."""
        return 0

    def _read(self, id_: str) -> Synset:
        import wn

        try:
            synset = self._net.synset(id_)
        except wn.Error:
            raise KeyError(id_) from None
        senses = synset.senses()
        words = tuple(sense.word().lemma() for sense in senses)
        relations = [Relation(k, other.id) for k, others in synset.relations().items() for other in others]
        for number, sense in enumerate(senses, 1):
            for kind, others in sense.relations().items():
                for other in others:
                    ids = [each.id for each in other.synset().senses()]
                    relations.append(Relation(kind, other.synset().id, number, ids.index(other.id) + 1))
        definition, examples = synset.definition() or "", tuple(synset.examples())
        return Synset(
            id_, category(synset.pos) if synset.pos != "s" else "s", words, definition, examples, tuple(relations)
        )


def wn_lexicons() -> list[Any]:
    """The lexicons that `wn` has; its database is not created by asking."""
    if find_spec("wn") is None:
        return []
    import wn

    return wn.lexicons() if wn.config.database_path.is_file() else []
