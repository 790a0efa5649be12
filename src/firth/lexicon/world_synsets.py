"""The lexicon of the built-in world: a miniature of WordNet that is always there, with the world's pseudo-words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

from firth.datasets.world.ambiguous_words import pseudo_forms
from firth.datasets.world.definitions import ANTONYMS, Definition, definitions, synset_name
from firth.datasets.world.lexicon import LEXICON, Noun, Verb
from firth.datasets.world.lexicon import Lexicon as WorldWords
from firth.lexicon.synsets import HYPERNYMS, HYPONYMS, Relation, Synset, normalise_word


class WorldSynsets:
    """A reader of the definitions of the world's words; ids are names such as dog.n.01."""

    name, language, place = "world", "en", "built in"

    def __init__(self, words: WorldWords = LEXICON) -> None:
        self._world = words
        self._definitions = {each.name: each for each in definitions(words)}

    def ids(self, word: str, pos: str) -> tuple[str, ...]:
        """The synset of a word, or the two of a pseudo-word."""
        return tuple(self._ids.get((word, pos), ()))

    @cached_property
    def _ids(self) -> dict[tuple[str, str], list[str]]:
        ids = defaultdict(list)
        for name, definition in self._definitions.items():
            for word in definition.words:
                ids[normalise_word(word), definition.pos].append(name)
        for pseudo in pseudo_forms(self._world).words.values():
            ids[pseudo.word, pseudo.pos] = [ids[sense, pseudo.pos][0] for sense in pseudo.senses]
        return dict(ids)

    def synset(self, id_: str) -> Synset:
        """The synset of a name."""
        definition = self._definitions[id_]
        relations = tuple(self._relations.get(id_, ()))
        return Synset(id_, definition.pos, definition.words, definition.gloss, relations=relations)

    @cached_property
    def _relations(self) -> dict[str, list[Relation]]:
        relations = defaultdict(list)
        by_word = {word: each for each in self._definitions.values() for word in each.words}
        for name, definition in self._definitions.items():
            if definition.hypernym:
                above = synset_name(definition.hypernym, definition.pos)
                relations[name].append(Relation(HYPERNYMS[definition.instance], above))
                relations[above].append(Relation(HYPONYMS[definition.instance], name))
        for pair in ANTONYMS:
            for word, other in (pair, pair[::-1]):
                numbers = _number(by_word[word], word), _number(by_word[other], other)
                relations[by_word[word].name].append(Relation("antonym", by_word[other].name, *numbers))
        return dict(relations)

    def taxonomy(self, pos: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The synsets with their hypernyms."""
        for name, definition in self._definitions.items():
            if definition.pos == pos:
                above = (synset_name(definition.hypernym, pos),) if definition.hypernym else ()
                yield name, above

    def base_forms(self, form: str, pos: str) -> tuple[str, ...]:
        """The lemma of a plural, or of a form of a verb."""
        return tuple(self._forms.get((form, pos), ()))

    @cached_property
    def _forms(self) -> dict[tuple[str, str], list[str]]:
        forms = defaultdict(list)
        for entries in vars(self._world).values():
            for entry in entries:
                if isinstance(entry, Noun):
                    forms[entry.plural, "n"].append(entry.singular)
                if isinstance(entry, Verb):
                    for form in dict.fromkeys((entry.third, entry.past, entry.past_participle)):
                        forms[form, "v"].append(entry.base)
        pseudo = pseudo_forms(self._world)
        for merged, word, _ in pseudo.forms.values():
            if merged != word and word not in forms[merged, pseudo.words[word].pos]:
                forms[merged, pseudo.words[word].pos].append(word)
        return dict(forms)

    def count(self, key: str) -> int:
        """0: nothing is counted."""
        return 0


def _number(definition: Definition, word: str) -> int:
    return definition.words.index(word) + 1
