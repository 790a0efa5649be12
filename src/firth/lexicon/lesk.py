"""Word-sense disambiguation by glosses: most frequent sense, simplified Lesk (Kilgarriff and Rosenzweig 2000), extended
gloss overlaps (Banerjee and Pedersen 2003).

The original of Lesk (1986) counts the words that the gloss of a sense shares with the glosses of the words around it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from firth.errors import unknown
from firth.lexicon.lexical_database import Lexicon, Sense
from firth.lexicon.synsets import HYPERNYMS, HYPONYMS, Synset
from firth.tokenizers.split import split_words

# Words that say little about a sense.
FUNCTION_WORDS = frozenset({
    "a", "about", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be", "because", "been", "before",
    "being", "between", "but", "by", "can", "could", "did", "do", "does", "done", "down", "each", "every", "few",
    "for", "from", "had", "has", "have", "he", "her", "hers", "him", "his", "how", "i", "if", "in", "into", "is", "it",
    "its", "just", "many", "may", "me", "might", "more", "most", "much", "must", "my", "no", "nor", "not", "of", "off",
    "on", "one", "only", "onto", "or", "other", "our", "out", "over", "shall", "she", "should", "so", "some",
    "somebody", "someone", "something", "such", "than", "that", "the", "their", "them", "then", "there", "these",
    "they", "this", "those", "through", "to", "too", "under", "until", "up", "upon", "us", "very", "was", "we", "were",
    "what", "when", "where", "which", "while", "who", "whom", "whose", "why", "will", "with", "within", "without",
    "would", "you", "your",
})  # fmt: skip
WINDOW = 3  # content words on each side whose glosses are compared
Words = tuple[str, ...]
RELATION_PAIRS = (("gloss", "gloss"), ("hype", "hype"), ("hypo", "hypo"), ("hype", "gloss"), ("gloss", "hype"))


class ScoredSense(NamedTuple):
    """A sense of a word and how well it fits the context."""

    sense: Sense
    score: float


class Target(NamedTuple):
    """A word to disambiguate in its sentence."""

    words: Sequence[str]
    position: int
    lemma: str = ""  # by default the word itself
    pos: str = ""

    @property
    def word(self) -> str:
        """What is looked up in the lexicon."""
        return self.lemma or self.words[self.position]


def rank_senses(lexicon: Lexicon, target: Target, method: str = "lesk") -> list[ScoredSense]:
    """The senses of a word, the best first; of equal ones the most frequent. None if the lexicon lacks the word."""
    if method not in METHODS:
        raise unknown("method", method, METHODS)
    senses = lexicon.senses(target.word, target.pos)
    scores = METHODS[method](lexicon, target, senses) if senses else []
    scored = [ScoredSense(sense, score) for sense, score in zip(senses, scores, strict=True)]
    return sorted(scored, key=lambda each: -each.score)


def by_frequency(_: Lexicon, target: Target, senses: Sequence[Sense]) -> list[float]:
    """The shares of the senses in the lexicon's own counts, where it has them; else only their order counts."""
    total = sum(sense.count for sense in senses)
    ordered = [-float(number) for number, _ in enumerate(senses)]
    return [sense.count / total for sense in senses] if total else ordered


def simplified_lesk(lexicon: Lexicon, target: Target, senses: Sequence[Sense]) -> list[float]:
    """The number of words of the context that are in the gloss or the examples of each sense."""
    context = set(_content_lemmas(lexicon, _around(target)))
    own = {lemma for lemma, _ in lexicon.lemmas(target.word)}
    return [float(len((context - own) & _signature(lexicon, sense.synset))) for sense in senses]


def extended_gloss_overlaps(lexicon: Lexicon, target: Target, senses: Sequence[Sense]) -> list[float]:
    """The summed relatedness of each sense to all senses of the nearest content words."""
    others = [
        synset for word in _nearest(lexicon, target) for synset in lexicon.synsets(word)
    ]  # of all parts of speech, as in the paper
    glosses = lru_cache(None)(lambda id_: _related_glosses(lexicon, lexicon.reader.synset(id_)))
    return [
        float(sum(relatedness(glosses(sense.synset.id), glosses(other.id)) for other in others)) for sense in senses
    ]


Method = Callable[[Lexicon, Target, Sequence[Sense]], list[float]]
METHODS: dict[str, Method] = {
    "most-frequent": by_frequency, "lesk": simplified_lesk, "extended-lesk": extended_gloss_overlaps,
}  # fmt: skip


# --- overlaps -------------------------------------------------------------------------------------------------------


def relatedness(left: dict[str, Words], right: dict[str, Words]) -> int:
    """The overlaps of the glosses of two synsets and of their hypernyms and hyponyms."""
    return sum(overlap(left[one], right[other]) for one, other in RELATION_PAIRS)


def overlap(left: Words, right: Words) -> int:
    """The sum of the squared lengths of the phrases that two glosses share, longest first, each word used once; a
    phrase neither begins nor ends with a function word."""
    if set(left).isdisjoint(set(right) - FUNCTION_WORDS):
        return 0
    one, other, total = list(left), list(right), 0
    while (phrase := _longest_phrase(one, other))[0]:
        size, i, j = phrase
        total += size * size
        one[i : i + size] = [""]  # a mark that no phrase crosses, and that matches nothing
        other[j : j + size] = [""]
    return total


def _longest_phrase(left: Sequence[str], right: Sequence[str]) -> tuple[int, int, int]:
    """The length of the longest common phrase, and where it begins in both; length 0 if there is none."""
    best = (0, 0, 0)
    starts: dict[str, list[int]] = {}
    for j, word in enumerate(right):
        if word and word not in FUNCTION_WORDS:
            starts.setdefault(word, []).append(j)
    for i, word in enumerate(left):
        for j in starts.get(word, ()):
            size = 1
            last = 1  # up to the last content word
            while i + size < len(left) and j + size < len(right) and left[i + size] == right[j + size] != "":
                size += 1
                last = last if left[i + size - 1] in FUNCTION_WORDS else size
            best = max(best, (last, -i, -j))
    return best[0], -best[1], -best[2]


def _related_glosses(lexicon: Lexicon, synset: Synset) -> dict[str, Words]:
    """The words of the glosses of a synset, its hypernyms and its hyponyms."""
    groups = {
        "gloss": [synset],
        "hype": lexicon.related(synset, *HYPERNYMS),
        "hypo": lexicon.related(synset, *HYPONYMS),
    }
    return {name: _gloss_words(synsets) for name, synsets in groups.items()}


def _gloss_words(synsets: Sequence[Synset]) -> Words:
    """The words of several definitions, with a mark between two that no phrase crosses."""
    words: list[str] = []
    for synset in synsets:
        words += [*(word.lower() for word in split_words(synset.definition) if word[:1].isalnum()), ""]
    return tuple(words)


# --- words of the context -------------------------------------------------------------------------------------------


def _around(target: Target) -> list[str]:
    return [*target.words[: target.position], *target.words[target.position + 1 :]]


def _content_lemmas(lexicon: Lexicon, words: Sequence[str]) -> list[str]:
    """The lemmas of the words that are not function words; a word that is not in the lexicon is its own."""
    content = [word.lower() for word in words if word[:1].isalnum() and word.lower() not in FUNCTION_WORDS]
    return [lemma for word in content for lemma in [each for each, _ in lexicon.lemmas(word)] or [word]]


def _signature(lexicon: Lexicon, synset: Synset) -> set[str]:
    """The lemmas of a synset's gloss and examples."""
    return set(_content_lemmas(lexicon, split_words(" ".join((synset.definition, *synset.examples)))))


def _nearest(lexicon: Lexicon, target: Target) -> list[str]:
    """The nearest words of the lexicon on each side that are not function words."""

    def known(words: Sequence[str]) -> list[str]:
        content = (word for word in words if word.lower() not in FUNCTION_WORDS and lexicon.lemmas(word))
        return [word for _, word in zip(range(WINDOW), content, strict=False)]

    return [*known(list(target.words[: target.position])[::-1]), *known(target.words[target.position + 1 :])]
