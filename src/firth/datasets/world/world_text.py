"""The world as text: documents by index, and the exact probability of any text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import chain, count
from math import exp, fsum, inf, log

import numpy as np

from firth.datasets.world.annotation import AnnotatedStory, Annotator
from firth.datasets.world.grammar import Grammar
from firth.datasets.world.lexicon import LEXICON, MIN_ENTRIES, City, Job, Lexicon, Mood, Person, Scene
from firth.datasets.world.probabilities import Weights
from firth.datasets.world.surface_text import realise
from firth.datasets.world.weighted_grammar import Derivation, meanings, parse, sample_derivation
from firth.errors import FirthError

STREAM = 0x3041D  # separates these random numbers from other uses of the same seed
# index of the first story that unrelated sentences come from, number of stories
FAR_INDEX, NUM_UNRELATED = 1 << 62, 300
BLOCK = 192  # random numbers generated at once: enough for most documents


@dataclass(frozen=True)
class Story:
    """One document as derivations: its scene, and the derivation of each sentence."""

    scene: Scene
    sentences: tuple[Derivation, ...]


@dataclass(frozen=True)
class World:
    """A generator of short stories with a known distribution; document i is a pure function of the seed and i."""

    seed: int = 1
    depth: int = 2  # of nested relative clauses
    lexicon: Lexicon = field(default=LEXICON, repr=False)
    weights: Weights = field(default=Weights(), repr=False)

    def __post_init__(self) -> None:
        if self.depth < 0:
            raise FirthError(f"depth {self.depth} is negative", where="world", do="use 0, 1, 2, …")
        for name, entries in vars(self.lexicon).items():
            minimum = MIN_ENTRIES.get(name, 1)
            if len(entries) < minimum:
                raise FirthError(f"{len(entries)} {name}", where="world lexicon", do=f"give {minimum} at least")

    def documents(self, count: int, start: int = 0) -> Iterator[str]:
        """The texts of documents start … start+count−1, each one line."""
        return (render_text(self.story(index)) for index in range(start, start + count))

    def story(self, index: int) -> Story:
        """Document number `index` as derivations."""
        uniforms = _uniform_stream(self.seed, index)
        opening = sample_derivation(self._grammar.opening(), uniforms)
        scene = _scene(opening)
        more = len(sample_derivation(self._grammar.length(), uniforms).parts) - 1
        sentence = self._grammar.sentence(scene)
        return Story(scene, (opening, *(sample_derivation(sentence, uniforms) for _ in range(more))))

    def annotated_documents(self, count: int, start: int = 0) -> Iterator[AnnotatedStory]:
        """Documents start … start+count−1 with all annotation layers."""
        return (self.annotate(index) for index in range(start, start + count))

    def annotate(self, index: int) -> AnnotatedStory:
        """Document number `index` with all annotation layers."""
        story = self.story(index)
        return self._annotator.story(story.scene, story.sentences, index)

    def log_probability(self, document: str) -> float:
        """The log-probability (nats) of a document with exactly this text; −inf if the grammar does not generate it."""
        sentences = self._sentences(document)
        opening = parse(self._grammar.opening(), sentences[0]) if sentences else []
        if not opening:
            return -inf
        sentence_symbol = self._grammar.sentence(_scene(opening[0].node))
        stops = parse(self._grammar.length(), ["."] * len(sentences))
        rest = [parse(sentence_symbol, sentence) for sentence in sentences[1:]]
        return fsum(_log_sum([result.log_probability for result in parses]) for parses in (stops, opening, *rest))

    def sentence_log_probability(self, scene: Scene, words: Sequence[str], opening: bool = False) -> float:
        """The log-probability (nats) of a sentence given the scene, by its words; −inf if it cannot be generated."""
        first = words[0] if words[0] in self._proper_nouns else words[0][:1].lower() + words[0][1:]
        symbol = self._grammar.opening() if opening else self._grammar.sentence(scene)
        return _log_sum([result.log_probability for result in parse(symbol, [first, *words[1:]])])

    def continuation_log_probability(self, context: str, text: str, whole: bool = False) -> float:
        """The log-probability (nats) that a document that begins with these sentences goes on with those of the text,
        and with `whole` ends after them; −inf if none does."""
        before, new = self._sentences(context), self._sentences(text)
        first = (before or new)[:1]
        opening = parse(self._grammar.opening(), first[0]) if first else []
        if not opening or not new or (context and not before):
            return -inf
        scene, ends = _scene(opening[0].node), len(before) + len(new)
        logs = [self.sentence_log_probability(scene, row, not before and n == 0) for n, row in enumerate(new)]
        reached, stops = self._length_probability(len(before), False), self._length_probability(ends, whole)
        return fsum([*logs, log(stops / reached)]) if stops and reached else -inf

    def _length_probability(self, sentences: int, exactly: bool) -> float:
        """The probability that a document has so many sentences, or at least as many."""
        length = self._grammar.length()
        pairs = zip(length.probabilities, length.productions, strict=True)
        return sum(p for p, o in pairs if (len(o.parts) == sentences if exactly else len(o.parts) >= sentences))

    def entropy(self) -> float:
        """The exact entropy of a document, in nats."""
        return self._grammar.opening().entropy + self._grammar.length().entropy + self._later_sentences[0]

    def bytes_per_document(self) -> float:
        """The exact expected length of a document in UTF-8 bytes."""
        return self._grammar.opening().bytes + self._later_sentences[1] - 1  # no space before the first word

    def bits_per_byte(self) -> float:
        """The entropy rate in bits per byte: the lower bound for any model on many documents."""
        return self.entropy() / log(2) / self.bytes_per_document()

    # --- internals ---

    @cached_property
    def _grammar(self) -> Grammar:
        return Grammar(self.lexicon, self.weights, self.depth)

    @cached_property
    def _annotator(self) -> Annotator:
        stories = [self.story(FAR_INDEX + index) for index in range(NUM_UNRELATED)]
        others = [node for story in stories for node in story.sentences if node.words[0] not in ("he", "she")]
        return Annotator(self.lexicon, others)

    @cached_property
    def _proper_nouns(self) -> frozenset[str]:
        """The words that are always capitalised."""
        names = [name for city in self.lexicon.cities for name in (city.name, city.country)]
        return frozenset(word for name in (*names, *(p.name for p in self.lexicon.people)) for word in name.split(" "))

    @cached_property
    def _later_sentences(self) -> tuple[float, float]:
        """Expected entropy and bytes of all sentences after the first.

        No part of a sentence depends on two fields of the scene, so each field is averaged separately.
        """
        length, words = self._grammar.length(), self.lexicon
        more = sum(p * len(o.parts) for p, o in zip(length.probabilities, length.productions, strict=True)) - 1
        base = Scene(words.people[0], words.moods[0].polarity, words.jobs[0], words.cities[0])
        whole = self._expected(base)
        scenes = (
            [replace(base, hero=hero) for hero in words.people],
            [replace(base, polarity=mood.polarity) for mood in words.moods],
            [replace(base, job=job) for job in words.jobs],
            [replace(base, home=home) for home in words.cities],
        )
        meaning = [np.mean([self._expected(scene) for scene in changed], axis=0) for changed in scenes]
        entropy, size = more * (whole + sum(mean - whole for mean in meaning))
        return float(entropy), float(size)

    def _expected(self, scene: Scene) -> np.ndarray:
        sentence = self._grammar.sentence(scene)
        return np.array([sentence.entropy, sentence.bytes])

    def _sentences(self, document: str) -> list[list[str]]:
        """The text tokenized into sentences of grammar words; empty if it is not a surface form of the grammar."""
        sentences: list[list[str]] = [[]]
        for word in document.replace(".", " .").replace(",", " ,").split(" "):
            first = not sentences[-1] and word not in self._proper_nouns
            sentences[-1].append(word[:1].lower() + word[1:] if first else word)
            if word == ".":
                sentences.append([])
        return sentences[:-1] if _join_sentences(sentences[:-1]) == document else []


def render_text(story: Story) -> str:
    """The story as text."""
    return " ".join([realise(sentence.text) for sentence in story.sentences])


def _join_sentences(sentences: list[list[str]]) -> str:
    return " ".join([realise(" ".join(sentence)) for sentence in sentences])


def _scene(opening: Derivation) -> Scene:
    """The scene that the first sentence states."""
    entries = {type(entry): entry for entry in meanings(opening)}
    return Scene(entries[Person], entries[Mood].polarity, entries[Job], entries[City])


def _uniform_stream(seed: int, index: int) -> Iterator[float]:
    """The stream of uniform numbers in [0, 1) of one document."""
    stream = np.random.Philox(key=np.array([seed % 2**64, STREAM], np.uint64), counter=[0, index, 0, 0])
    blocks = (stream.random_raw(BLOCK) for _ in count())
    return chain.from_iterable(((block >> np.uint64(11)) * 2.0**-53).tolist() for block in blocks)


def _log_sum(logs: list[float]) -> float:
    """Log-sum-exp: the logarithm of the sum of probabilities; −inf of none."""
    top = max(logs, default=-inf)
    return top if top == -inf else top + log(sum(exp(value - top) for value in logs))


@cache
def default_world() -> World:
    """The world of the built-in data; one for all readers, since building its grammar takes a second."""
    return World()
