"""The second language, for translation: stems and inflection. Its word order is in the rules of the grammar.

It is verb-final and marks objects with the particle `o`; adjectives, articles and adpositions follow their noun.
Adjectives agree with their noun in gender and number, verbs with their subject in number; the future is a suffix.
Colours form compounds with their noun, places of work are compounds of the job. It has no copula, no indefinite article
and no complementiser before reported speech; `because` is two words.
"""

from __future__ import annotations

from collections.abc import Iterable

CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"
GENDERS = ("o", "a")  # the suffixes of nouns, and of adjectives that agree with them
TENSES = {"present": "en", "past": "et", "future": "un"}
LINKING_VOWEL = "e"  # between the parts of a compound
HOUSE, HEAD_CITY = "dom", "kapeburgo"

TRANSLATIONS = {
    "the": "ta", "every": "kut", "some": "pon", "two": "dos", "three": "tren", "from": "ab", "to": "ad", "in": "il",
    "than": "kam", "of": "di", "and": "ed", "because": "por te", "when": "kan", "he": "lu", "she": "li",
    "today": "oge", "yesterday": "ire", "once": "alim", "tomorrow": "kras", "soon": "balde", "capital": HEAD_CITY,
    "older": "anuk", "younger": "yunuk", "bigger": "maguk", "smaller": "piluk", ".": ".", ",": ",",
}  # fmt: skip
RELATIVE = "ke"


class SecondLanguage:
    """Inflects the words of the second language; each lemma of the lexicon has a stem of its own."""

    def __init__(self, lemmas: Iterable[str]) -> None:
        self.stems = {lemma: make_stem(index) for index, lemma in enumerate(lemmas)}
        self._gender = {lemma: index % 2 for index, lemma in enumerate(self.stems)}

    def gender(self, lemma: str) -> int:
        """The grammatical gender of a noun."""
        return self._gender[lemma]

    def noun(self, lemma: str, number: str) -> str:
        """Stem, gender suffix, number suffix."""
        return self.stems[lemma] + GENDERS[self.gender(lemma)] + "i" * (number == "plural")

    def adjective(self, lemma: str, number: str) -> tuple[tuple[str], ...]:
        """One form for each gender."""
        return tuple([(self.stems[lemma] + ending + "i" * (number == "plural"),) for ending in GENDERS])

    def colour(self, lemma: str) -> str:
        """The first part of a compound."""
        return self.stems[lemma] + LINKING_VOWEL

    def verb(self, lemma: str, number: str, tense: str) -> str:
        """Stem, tense suffix, number suffix of the subject."""
        return self.stems[lemma] + TENSES[tense] + "i" * (number == "plural")

    def place(self, job: str) -> str:
        """The place of work of a job: a compound with `dom` (house)."""
        return self.stems[job] + LINKING_VOWEL + HOUSE + "o"


def make_stem(index: int) -> str:
    """A pseudoword stem for a number, unique; successive numbers give dissimilar stems."""
    space = len(CONSONANTS) ** 2 * len(VOWELS)
    more, within = divmod(index, space)
    within = (within * 379 + 17) % space  # 379 has no factor in common with the space
    within, last = divmod(within, len(CONSONANTS))
    first, vowel = divmod(within, len(VOWELS))
    stem = CONSONANTS[first] + VOWELS[vowel] + CONSONANTS[last]
    return stem + VOWELS[more % 5] + make_stem(more - 1) if more else stem
