"""Pseudo-words: two words of one part of speech are merged into one, whose sense is then to be by_sense (Schütze 1992;
Gale et al. 1992). The grammar gives the exact posterior of the senses, so the best possible accuracy is known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from math import exp
from typing import TYPE_CHECKING, NamedTuple

from firth.datasets.records import Pair, WordSense
from firth.datasets.world.annotation import AnnotatedSentence, AnnotatedStory
from firth.datasets.world.definitions import ADJECTIVE, NOUN, VERB, definitions_by_word
from firth.datasets.world.lexicon import Lexicon, Noun, Verb
from firth.types import generator

if TYPE_CHECKING:
    from firth.datasets.world.world_text import World

POOL_INDEX, POOL_STORIES = 1 << 61, 200  # the stories that second sentences of words in context come from


class PseudoWord(NamedTuple):
    """A pseudo-word: its part of speech, and the two words that it stands for."""

    word: str
    pos: str
    senses: tuple[str, str]


class PseudoForms(NamedTuple):
    """The pseudo-words of a lexicon, and the word forms that are merged: dogs → (dogkeys, dogkey, dog)."""

    words: dict[str, PseudoWord]
    forms: dict[str, tuple[str, str, str]]  # form -> merged form, pseudo-word, sense
    unmerged: dict[tuple[str, str], str]  # (merged form, sense) -> form


@cache
def pseudo_forms(lexicon: Lexicon) -> PseudoForms:
    """Animate with inanimate nouns, transitive with intransitive verbs, colours with moods, in the order of the
    lexicon."""
    pairs = (
        (NOUN, lexicon.animate_nouns, lexicon.inanimate_nouns),
        (VERB, lexicon.transitive_verbs, lexicon.intransitive_verbs),
        (ADJECTIVE, lexicon.colours, tuple(mood.name for mood in lexicon.moods)),
    )
    words, forms = {}, {}
    for pos, left, right in pairs:
        for one, other in zip(left, right, strict=False):
            first, second = _forms(one), _forms(other)
            merged = [a + b for a, b in zip(first, second, strict=True)]
            words[merged[0]] = PseudoWord(merged[0], pos, (first[0], second[0]))
            for inflected in (first, second):
                forms |= {form: (m, merged[0], inflected[0]) for form, m in zip(inflected, merged, strict=True)}
    return PseudoForms(words, forms, {(merged, sense): form for form, (merged, _, sense) in forms.items()})


def _forms(entry: Noun | Verb | str) -> tuple[str, ...]:
    """The forms of an entry that occur in sentences, its lemma first."""
    if isinstance(entry, Noun):
        return entry.singular, entry.plural
    return (entry.base, entry.third, entry.past) if isinstance(entry, Verb) else (entry,)


def merge(words: Sequence[str], word: str, lexicon: Lexicon) -> tuple[str, ...]:
    """The words of a sentence, those that one pseudo-word stands for replaced by it."""
    forms = pseudo_forms(lexicon).forms
    return tuple([forms[each][0] if each in forms and forms[each][1] == word else each for each in words])


def senses(world: World, sentence: AnnotatedSentence) -> Iterator[WordSense]:
    """The words of a sentence that become pseudo-words, one at a time, with their senses."""
    forms, known = pseudo_forms(world.lexicon).forms, definitions_by_word(world.lexicon)
    for position, word in enumerate(sentence.words):
        if word in forms:
            _, pseudo, sense = forms[word]
            words, definition = merge(sentence.words, pseudo, world.lexicon), known[sense]
            yield WordSense(words, position, pseudo, definition.name, definition.gloss)


def sense_posteriors(world: World, number: int) -> Iterator[tuple[WordSense, dict[str, float]]]:
    """The pseudo-words of document `number`, and the exact probability of each sense given the words of its sentence
    and the scene: no method can do better than to take the most probable."""
    story = world.annotate(number)
    for at, sentence in enumerate(story.sentences):
        for record in senses(world, sentence):
            readings = list(_readings(world, story, at, record))
            total = sum(weight for weight, _ in readings)
            shares: dict[str, float] = defaultdict(float)
            for weight, sense in readings:
                shares[sense] += weight / total
            yield record, dict(shares)


def _readings(world: World, story: AnnotatedStory, at: int, record: WordSense) -> Iterator[tuple[float, str]]:
    """Each way to choose the senses of all occurrences of a pseudo-word in its sentence: its relative probability, and
    the sense at the position."""
    forms, known = pseudo_forms(world.lexicon), definitions_by_word(world.lexicon)
    sentence = story.sentences[at]
    positions = [n for n, (old, new) in enumerate(zip(sentence.words, record.words, strict=True)) if old != new]
    for chosen in product(forms.words[record.word].senses, repeat=len(positions)):
        words = list(record.words)
        for position, sense in zip(positions, chosen, strict=True):
            words[position] = forms.unmerged[record.words[position], sense]
        log_probability = world.sentence_log_probability(story.scene, words, opening=at == 0)
        yield exp(log_probability - sentence.log_probability), known[chosen[positions.index(record.position)]].name


# --- words in context ---------------------------------------------------------------------------------------------


@cache
def _pool(world: World) -> dict[tuple[str, str], list[WordSense]]:
    """Sentences of other stories by pseudo-word and sense."""
    by_sense = defaultdict(list)
    for story in world.annotated_documents(POOL_STORIES, POOL_INDEX):
        for sentence in story.sentences:
            for record in senses(world, sentence):
                by_sense[record.word, record.sense].append(record)
    return dict(by_sense)


def words_in_context(world: World, story: AnnotatedStory, number: int) -> Iterator[Pair]:
    """One pseudo-word of the story with another sentence that has it: in the same sense (T) or not (F), by chance."""
    rng, known = generator(world.seed, "words in context", number), definitions_by_word(world.lexicon)
    records = [record for sentence in story.sentences for record in senses(world, sentence)]
    if not records:
        return
    record = records[int(rng.integers(len(records)))]
    pseudo = pseudo_forms(world.lexicon).words[record.word]
    same = bool(rng.integers(2))
    names = [known[sense].name for sense in pseudo.senses]
    sense = record.sense if same else next(name for name in names if name != record.sense)
    others = _pool(world).get((record.word, sense), [])
    if others:
        other = others[int(rng.integers(len(others)))]
        fields = (
            ("word", record.word),
            ("pos", pseudo.pos.upper()),
            ("positions", f"{record.position}-{other.position}"),
        )
        yield Pair(" ".join(record.words), " ".join(other.words), "FT"[same], None, 0, fields)
