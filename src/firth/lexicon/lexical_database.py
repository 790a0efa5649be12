"""A lexicon to ask: synsets and senses of word forms, the taxonomy of hypernyms, lexical relations of two words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from firth.errors import FirthError, unknown
from firth.lexicon.lemmas import base_forms
from firth.lexicon.synsets import HYPERNYMS, HYPONYMS, PARTS_OF_SPEECH, Reader, Synset, normalise_word

RELATIONS = ("form", "synonym", "antonym", "hypernym", "hyponym", "co-hyponym")  # of two words, by precedence
VERB_ROOT = "verbs"  # the verbs of WordNet have many roots; this is a common hypernym of all


class Sense(NamedTuple):
    """A word in one of its meanings."""

    word: str
    number: int  # among the senses of the word and part of speech, from 1
    synset: Synset
    key: str  # such as bank%1:17:01::, where the lexicon has it
    count: int  # in the lexicon's own annotated texts

    @property
    def name(self) -> str:
        """As in bank.n.01."""
        return f"{self.word.replace(' ', '_')}.{self.synset.pos}.{self.number:02d}"


class Lexicon:
    """The synsets of a language with their relations; what was looked up is kept."""

    def __init__(self, reader: Reader) -> None:
        self.reader, self.name = reader, reader.name
        self._lemmas: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {}
        self._hypernyms: dict[str, tuple[str, ...]] = {}
        self._closures: dict[str, dict[str, int]] = {}
        self._depths: dict[str, int] = {}
        self._max_depths: dict[str, int] = {}

    # --- words ------------------------------------------------------------------------------------------------------

    def lemmas(self, form: str, pos: str = "") -> tuple[tuple[str, str], ...]:
        """The lemmas of a word form that the lexicon has, each with its part of speech; the form itself comes first."""
        form = normalise_word(form)
        if (form, pos) not in self._lemmas:
            parts = (_part_of_speech(pos),) if pos else tuple(PARTS_OF_SPEECH)
            parts = parts if form else ()
            inflects = self.reader.language.partition("-")[0] == "en"
            self._lemmas[form, pos] = tuple(
                (lemma, part)
                for part in parts
                for lemma in base_forms(
                    form,
                    part,
                    self.reader.base_forms(form, part),
                    lambda word, part=part: bool(self.reader.ids(word, part)),
                    inflects,
                )
            )
        return self._lemmas[form, pos]

    def synsets(self, form: str, pos: str = "") -> tuple[Synset, ...]:
        """The synsets of a word form, those of its most frequent senses first; none if it is not in the lexicon."""
        ids = (id_ for lemma, part in self.lemmas(form, pos) for id_ in self.reader.ids(lemma, part))
        return tuple(map(self.reader.synset, dict.fromkeys(ids)))

    def senses(self, form: str, pos: str = "") -> list[Sense]:
        """The senses of a word form: as the synsets, with the number, key and count of each."""
        return [
            self._sense(lemma, number, self.reader.synset(id_))
            for lemma, part in self.lemmas(form, pos)
            for number, id_ in enumerate(self.reader.ids(lemma, part), 1)
        ]

    def _sense(self, lemma: str, number: int, synset: Synset) -> Sense:
        at = next((n for n, word in enumerate(synset.words) if normalise_word(word) == lemma), 0)
        key = synset.keys[at] if synset.keys else ""
        return Sense(lemma, number, synset, key, self.reader.count(key) if key else 0)

    def synset(self, name: str) -> Synset:
        """The synset of a name (dog.n.01), an id of the lexicon (02084071-n) or a sense key (dog%1:05:00::)."""
        word, dot, rest = name.rpartition(".")[0].rpartition(".") if name.count(".") >= 2 else ("", "", "")
        number = name.rpartition(".")[2]
        if dot and rest and number.isascii() and number.isdigit():
            return self._numbered(name, word, rest, int(number))
        if "%" in name:
            senses = self.senses(name.partition("%")[0])
            match = next((sense.synset for sense in senses if sense.key == name), None)
            if match is None:
                raise unknown("sense key", name, [sense.key for sense in senses if sense.key] or ["none of this word"])
            return match
        try:
            return self.reader.synset(name)
        except KeyError:
            raise FirthError(
                f"no synset {name!r} in {self.name}", do="give a name such as dog.n.01, or a word"
            ) from None

    def _numbered(self, name: str, word: str, pos: str, number: int) -> Synset:
        ids = self.reader.ids(normalise_word(word), _part_of_speech("a" if pos == "s" else pos))
        if not 1 <= number <= len(ids):
            count = f"{len(ids)} sense{'s' * (len(ids) != 1)}" if ids else "no senses"
            what = f"no synset {name!r} in {self.name}: {word!r} has {count} of this part of speech"
            raise FirthError(what, do="firth lexicon synsets WORD lists them")
        return self.reader.synset(ids[number - 1])

    def find(self, name: str, pos: str = "") -> tuple[Synset, ...]:
        """The synset of a name or key, or all synsets of a word; an error if there is none."""
        if "%" in name or name.count(".") >= 2:
            return (self.synset(name),)
        synsets = self.synsets(name, pos)
        if not synsets and name.rpartition("-")[2] in (*PARTS_OF_SPEECH, "s"):
            return (self.synset(name),)
        if not synsets:
            part = f" as a {PARTS_OF_SPEECH[_part_of_speech(pos)]}" if pos else ""
            raise FirthError(f"{name!r} is not in {self.name}{part}", do="try its base form, or another lexicon")
        return synsets

    def sense_name(self, synset: Synset) -> str:
        """The name of a synset by its first word: dog.n.01."""
        lemma = normalise_word(synset.words[0])
        ids = self.reader.ids(lemma, synset.category)
        number = ids.index(synset.id) + 1 if synset.id in ids else 0
        return f"{lemma.replace(' ', '_')}.{synset.pos}.{number:02d}"

    def all_synsets(self, pos: str) -> Iterator[Synset]:
        """All synsets of a part of speech."""
        return (self.reader.synset(id_) for id_, _ in self.reader.taxonomy(_part_of_speech(pos)))

    # --- relations --------------------------------------------------------------------------------------------------

    def related(self, synset: Synset, *kinds: str) -> tuple[Synset, ...]:
        """The synsets with one of these relations (hypernym, mero_part …) to a synset."""
        return tuple(map(self.reader.synset, synset.related(kinds)))

    def hypernyms(self, synset: Synset) -> tuple[Synset, ...]:
        """The direct hypernyms, those of instances included."""
        return self.related(synset, *HYPERNYMS)

    def hyponyms(self, synset: Synset) -> tuple[Synset, ...]:
        """The direct hyponyms, instances included."""
        return self.related(synset, *HYPONYMS)

    def antonyms(self, form: str, pos: str = "") -> tuple[str, ...]:
        """The antonyms of a word in any of its senses."""
        return tuple(dict.fromkeys(self._antonyms(self.lemmas(form, pos))))

    def _antonyms(self, lemmas: Iterable[tuple[str, str]]) -> Iterator[str]:
        for lemma, part in lemmas:
            for synset in map(self.reader.synset, self.reader.ids(lemma, part)):
                for relation in synset.relations:
                    if relation.kind == "antonym" and _is_of(lemma, relation.word, synset):
                        words = self.reader.synset(relation.target).words
                        yield from map(
                            normalise_word, words[max(0, relation.target_word - 1) :][: relation.target_word or None]
                        )

    def relation(self, a: str, b: str) -> str:
        """The lexical relation of `b` to `a` in any of their senses: one of RELATIONS, or ""."""
        left, right = ({synset.id for synset in self.synsets(word)} for word in (a, b))
        if not left or not right:
            return ""
        if {lemma for lemma, _ in self.lemmas(a)} & {lemma for lemma, _ in self.lemmas(b)}:
            return "form"
        if left & right:
            return "synonym"
        if self._are_antonyms(a, b) or self._are_antonyms(b, a):
            return "antonym"
        if any(right & self.hypernym_distances(id_).keys() for id_ in left):
            return "hypernym"
        if any(left & self.hypernym_distances(id_).keys() for id_ in right):
            return "hyponym"
        parents = [{parent for id_ in ids for parent in self.hypernym_ids(id_)} for ids in (left, right)]
        return "co-hyponym" if (parents[0] & parents[1]) - {VERB_ROOT} else ""

    def _are_antonyms(self, a: str, b: str) -> bool:
        return not {lemma for lemma, _ in self.lemmas(b)}.isdisjoint(self.antonyms(a))

    # --- the taxonomy -----------------------------------------------------------------------------------------------

    def hypernym_ids(self, id_: str) -> tuple[str, ...]:
        """The direct hypernyms; a verb without any has the common root of verbs."""
        if id_ not in self._hypernyms:
            synset = self.reader.synset(id_) if id_ != VERB_ROOT else None
            hypernyms = synset.related(HYPERNYMS) if synset else ()
            self._hypernyms[id_] = hypernyms or _roots(synset.pos if synset else "")
        return self._hypernyms[id_]

    def all_ids(self, pos: str) -> list[str]:
        """The ids of all synsets of a part of speech, whose hypernyms are then known."""
        taxonomy = dict(self.reader.taxonomy(pos))
        roots = _roots(pos)
        self._hypernyms |= {id_: hypernyms or roots for id_, hypernyms in taxonomy.items()}
        return list(taxonomy)

    def hypernym_distances(self, id_: str) -> dict[str, int]:
        """The synset itself and all its hypernyms, direct and indirect, with the shortest distance to each."""
        if id_ not in self._closures:
            distances, level = {id_: 0}, [id_]
            while level:
                parents = [parent for child in level for parent in self.hypernym_ids(child) if parent not in distances]
                distances |= dict.fromkeys(parents, distances[level[0]] + 1)
                level = list(dict.fromkeys(parents))
            self._closures[id_] = distances
        return self._closures[id_]

    def depth(self, id_: str) -> int:
        """The number of synsets on the longest path to the root, both ends included."""
        if id_ not in self._depths:
            self._depths[id_] = 1  # ends the recursion in a cycle; WordNet 3.0 has one
            self._depths[id_] = 1 + max(map(self.depth, self.hypernym_ids(id_)), default=0)
        return self._depths[id_]

    def max_depth(self, pos: str) -> int:
        """The number of relations on the longest path of a part of speech to its root; it visits all synsets."""
        if pos not in self._max_depths:
            self._max_depths[pos] = max(map(self.depth, self.all_ids(pos)), default=1) - 1
        return self._max_depths[pos]


def _part_of_speech(pos: str) -> str:
    """The letter of a part of speech, given as a letter or a word."""
    names = {name: letter for letter, name in PARTS_OF_SPEECH.items()}
    letter = names.get(pos, pos)
    if letter not in PARTS_OF_SPEECH:
        raise unknown("part of speech", pos, [*PARTS_OF_SPEECH, *names])
    return letter


def _roots(pos: str) -> tuple[str, ...]:
    """What is above a synset without hypernyms."""
    return (VERB_ROOT,) if pos == "v" else ()


def _is_of(lemma: str, number: int, synset: Synset) -> bool:
    """Whether a relation is of this word of the synset, or of all."""
    return not number or (number <= len(synset.words) and normalise_word(synset.words[number - 1]) == lemma)
