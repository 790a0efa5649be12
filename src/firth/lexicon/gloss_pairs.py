"""Word-sense disambiguation as sentence pairs (GlossBERT, Huang et al. 2019): the context, its word marked, and the
gloss of a sense; the pair is positive if the gloss is that of the word's sense."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from firth.datasets.marked_words import mark_word
from firth.datasets.records import Pair, WordSense
from firth.errors import FirthError
from firth.lexicon.lexical_database import Lexicon, Sense
from firth.lexicon.sense_evaluation import is_sense

POSITIVE, NEGATIVE = "yes", "no"


class GlossPair(NamedTuple):
    """A sense of a word, and the two texts that ask whether it is meant."""

    sense: Sense
    context: str
    gloss: str


def gloss_text(lemma: str, sense: Sense) -> str:
    """What stands for a sense: the word, and the definition."""
    return f"{lemma} : {sense.synset.definition}"


def gloss_pairs(
    lexicon: Lexicon, words: Sequence[str], position: int, lemma: str = "", pos: str = ""
) -> list[GlossPair]:
    """The pairs of a word in its sentence, one for each sense, in the order of the lexicon."""
    lemma, marked = lemma or words[position], mark_word(words, position)
    return [GlossPair(sense, marked, gloss_text(lemma, sense)) for sense in lexicon.senses(lemma, pos)]


def labelled_pairs(lexicon: Lexicon, examples: Iterable[WordSense]) -> Iterator[Pair]:
    """The pairs of words with known senses, as training data; a sense that the lexicon lacks is an error."""
    for example in examples:
        pairs = gloss_pairs(lexicon, example.words, example.position, example.word)
        right = [is_sense(lexicon, pair.sense, example.sense) for pair in pairs]
        if not any(right):
            known = ", ".join(pair.sense.name for pair in pairs) or "none"
            what = f"{lexicon.name} has no sense {example.sense!r} of {example.word!r} (its senses: {known})"
            where = f"line {example.line}" if example.line else ""
            raise FirthError(what, where=where, do="name the lexicon that the senses come from with --lexicon")
        for pair, is_right in zip(pairs, right, strict=True):
            yield Pair(pair.context, pair.gloss, POSITIVE if is_right else NEGATIVE)
