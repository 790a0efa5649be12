"""Information content of synsets (Resnik 1995): -log of the probability that a word of a text means the synset or one
below it."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from firth.errors import FirthError
from firth.lexicon.lexical_database import Lexicon

PARTS = ("n", "v")  # those with a taxonomy


@dataclass(frozen=True)
class InformationContent:
    """Nats by the id of a synset."""

    values: Mapping[str, float]
    words: int  # of the text that are in the lexicon as nouns or verbs

    def __getitem__(self, id_: str) -> float:
        return self.values.get(id_, math.inf)


def information_content(lexicon: Lexicon, counts: Mapping[str, int], smoothing: float = 1.0) -> InformationContent:
    """The information content by the counts of word forms: each is divided equally among the synsets of its lemmas, and
    counts for all hypernyms of these, once each. `smoothing` is added to every synset."""
    own, known = _own_counts(lexicon, counts)
    if not known:
        raise FirthError(f"no word of the text is a noun or verb of {lexicon.name}", do="give text of its language")
    totals: dict[str, float] = defaultdict(float)
    roots: dict[str, float] = defaultdict(float)
    part_of: dict[str, str] = {}
    for part in PARTS:
        for id_ in lexicon.all_ids(part):
            weight = own.get(id_, 0.0) + smoothing
            roots[part] += weight
            for hypernym in _with_hypernyms(lexicon, id_):
                totals[hypernym] += weight
                part_of[hypernym] = part
    values = {id_: -math.log(total / roots[part_of[id_]]) for id_, total in totals.items() if total}
    return InformationContent({id_: max(0.0, value) for id_, value in values.items()}, known)


def _with_hypernyms(lexicon: Lexicon, id_: str) -> set[str]:
    """The synset and all its hypernyms."""
    reached, stack = {id_}, [id_]
    while stack:
        for hypernym in lexicon.hypernym_ids(stack.pop()):
            if hypernym not in reached:
                reached.add(hypernym)
                stack.append(hypernym)
    return reached


def _own_counts(lexicon: Lexicon, counts: Mapping[str, int]) -> tuple[dict[str, float], int]:
    """The counts of the synsets themselves, and how many words of the text they come from."""
    own: dict[str, float] = defaultdict(float)
    known = 0
    for word, count in counts.items():
        is_known = False
        for part in PARTS:
            ids = [synset.id for synset in lexicon.synsets(word, part)]
            for id_ in ids:
                own[id_] += count / len(ids)
            is_known = is_known or bool(ids)
        known += count * is_known
    return own, known


def count_words(documents: Iterable[Iterable[str]]) -> Counter[str]:
    """The counts of lower-cased words."""
    return Counter(word.lower() for document in documents for word in document)
