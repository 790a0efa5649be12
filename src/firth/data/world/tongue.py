"""The second language: how its words are spelled and inflected. Its order is in the rules of the grammar.

It puts the verb last and marks objects with `o`; what English says before a noun (adjective, article, preposition)
follows it. Adjectives agree with their noun in gender and number, verbs with their subject in number; the future is an
ending. Colours are written in one word with their noun, places of work are compounds of the job. It has no `is`, no `a`
and no `that` before reported speech; `because` is two words.
"""

from __future__ import annotations

from collections.abc import Iterable

CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"
GENDERS = ("o", "a")  # the endings of nouns, and of adjectives that agree with them
TENSES = {"present": "en", "past": "et", "future": "un"}
LINK = "e"  # between the parts of a compound
HOUSE, HEAD_CITY = "dom", "kapeburgo"

FUNCTION = {
    "the": "ta", "every": "kut", "some": "pon", "two": "dos", "three": "tren", "from": "ab", "to": "ad", "in": "il",
    "than": "kam", "of": "di", "and": "ed", "because": "por te", "when": "kan", "he": "lu", "she": "li",
    "today": "oge", "yesterday": "ire", "once": "alim", "tomorrow": "kras", "soon": "balde", "capital": HEAD_CITY,
    "older": "anuk", "younger": "yunuk", "bigger": "maguk", "smaller": "piluk", ".": ".", ",": ",",
}  # fmt: skip
RELATIVE = "ke"


class Tongue:
    """Stems of the second language for words of the lexicon, in a fixed order; no two are alike."""

    def __init__(self, lemmas: Iterable[str]) -> None:
        self.stems = {lemma: spell(index) for index, lemma in enumerate(lemmas)}
        self._gender = {lemma: index % 2 for index, lemma in enumerate(self.stems)}

    def gender(self, lemma: str) -> int:
        """Every noun has one."""
        return self._gender[lemma]

    def noun(self, lemma: str, number: str) -> str:
        """Stem, gender, number."""
        return self.stems[lemma] + GENDERS[self.gender(lemma)] + "i" * (number == "many")

    def adjective(self, lemma: str, number: str) -> tuple[tuple[str], ...]:
        """One word for each gender."""
        return tuple([(self.stems[lemma] + ending + "i" * (number == "many"),) for ending in GENDERS])

    def colour(self, lemma: str) -> str:
        """The first part of a compound."""
        return self.stems[lemma] + LINK

    def verb(self, lemma: str, number: str, tense: str) -> str:
        """Stem, tense, number of the subject."""
        return self.stems[lemma] + TENSES[tense] + "i" * (number == "many")

    def place(self, job: str) -> str:
        """The house of a job."""
        return self.stems[job] + LINK + HOUSE + "o"


def spell(index: int) -> str:
    """A stem for a number: neighbours sound different, and no two numbers share one."""
    space = len(CONSONANTS) ** 2 * len(VOWELS)
    more, within = divmod(index, space)
    within = (within * 379 + 17) % space  # 379 has no factor in common with the space
    within, last = divmod(within, len(CONSONANTS))
    first, vowel = divmod(within, len(VOWELS))
    stem = CONSONANTS[first] + VOWELS[vowel] + CONSONANTS[last]
    return stem + VOWELS[more % 5] + spell(more - 1) if more else stem
