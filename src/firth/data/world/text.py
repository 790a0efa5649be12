"""The world as text: documents by number, and the exact probability of any text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, count
from math import exp, fsum, inf, log

import numpy as np

from firth.data.world.annotated import AnnotatedStory, Annotator
from firth.data.world.chance import Node, derivations, draw, meanings
from firth.data.world.grammar import Grammar
from firth.data.world.lexicon import LEAST, LEXICON, City, Job, Lexicon, Mood, Person, Scene
from firth.data.world.weights import Weights
from firth.data.world.writing import write
from firth.errors import FirthError

STREAM = 0x3041D  # keeps these random numbers apart from other uses of the same seed
FAR, UNRELATED = 1 << 62, 300  # where the stories begin that lend their sentences as unrelated ones, and how many
NUMBERS = 192  # random numbers made at once: enough for most documents


@dataclass(frozen=True)
class Story:
    """One document before it is text: what it is about, and the derivation of each sentence."""

    scene: Scene
    sentences: tuple[Node, ...]


@dataclass(frozen=True)
class World:
    """A source of short stories whose true distribution is known; document i depends on nothing but seed and i."""

    seed: int = 1
    depth: int = 2  # of relative clauses within each other
    lexicon: Lexicon = field(default=LEXICON, repr=False)
    weights: Weights = field(default=Weights(), repr=False)

    def __post_init__(self) -> None:
        if self.depth < 0:
            raise FirthError(f"depth {self.depth} is negative", where="world", do="use 0, 1, 2, …")
        for name, entries in vars(self.lexicon).items():
            least = LEAST.get(name, 1)
            if len(entries) < least:
                raise FirthError(f"{len(entries)} {name}", where="world lexicon", do=f"give {least} at least")

    def documents(self, count: int, start: int = 0) -> Iterator[str]:
        """The texts of documents start … start+count−1, each one line."""
        return (render(self.story(index)) for index in range(start, start + count))

    def story(self, index: int) -> Story:
        """Document number `index` as derivations."""
        numbers = _numbers(self.seed, index)
        opening = draw(self._grammar.opening(), numbers)
        scene = _scene(opening)
        more = len(draw(self._grammar.length(), numbers).parts) - 1
        sentence = self._grammar.sentence(scene)
        return Story(scene, (opening, *(draw(sentence, numbers) for _ in range(more))))

    def annotated(self, count: int, start: int = 0) -> Iterator[AnnotatedStory]:
        """Documents start … start+count−1 with all their layers."""
        return (self.annotate(index) for index in range(start, start + count))

    def annotate(self, index: int) -> AnnotatedStory:
        """Document number `index` with all its layers."""
        story = self.story(index)
        return self._annotator.story(story.scene, story.sentences, index)

    def log_probability(self, document: str) -> float:
        """The natural logarithm of the probability that a document is exactly this text; −inf if it cannot be."""
        sentences = self._sentences(document)
        opening = derivations(self._grammar.opening(), sentences[0]) if sentences else []
        if not opening:
            return -inf
        later = self._grammar.sentence(_scene(opening[0].node))
        stops = derivations(self._grammar.length(), ["."] * len(sentences))
        rest = [derivations(later, sentence) for sentence in sentences[1:]]
        return fsum(_log_sum([found.log_probability for found in parses]) for parses in (stops, opening, *rest))

    def entropy(self) -> float:
        """The exact entropy of a document, in nats."""
        return self._grammar.opening().entropy + self._grammar.length().entropy + self._later[0]

    def bytes_per_document(self) -> float:
        """The exact expected length of a document in bytes."""
        return self._grammar.opening().bytes + self._later[1] - 1  # no space before the first word

    def bits_per_byte(self) -> float:
        """The least expected bits per byte that any model can reach on long runs of documents."""
        return self.entropy() / log(2) / self.bytes_per_document()

    # --- inside ---

    @cached_property
    def _grammar(self) -> Grammar:
        return Grammar(self.lexicon, self.weights, self.depth)

    @cached_property
    def _annotator(self) -> Annotator:
        stories = [self.story(FAR + index) for index in range(UNRELATED)]
        others = [node for story in stories for node in story.sentences if node.words[0] not in ("he", "she")]
        return Annotator(self.lexicon, others)

    @cached_property
    def _proper(self) -> frozenset[str]:
        """The words that have a capital wherever they stand."""
        names = [name for city in self.lexicon.cities for name in (city.name, city.country)]
        return frozenset(word for name in (*names, *(p.name for p in self.lexicon.people)) for word in name.split(" "))

    @cached_property
    def _later(self) -> tuple[float, float]:
        """Expected entropy and bytes of all sentences after the first.

        No part of a sentence depends on two things of the scene, so each of them can be averaged by itself.
        """
        length, words = self._grammar.length(), self.lexicon
        more = sum(p * len(o.parts) for p, o in zip(length.probabilities, length.options, strict=True)) - 1
        base = Scene(words.people[0], words.moods[0].tone, words.jobs[0], words.cities[0])
        whole = self._expected(base)
        scenes = (
            [replace(base, hero=hero) for hero in words.people],
            [replace(base, tone=mood.tone) for mood in words.moods],
            [replace(base, job=job) for job in words.jobs],
            [replace(base, home=home) for home in words.cities],
        )
        means = [np.mean([self._expected(scene) for scene in changed], axis=0) for changed in scenes]
        entropy, size = more * (whole + sum(mean - whole for mean in means))
        return float(entropy), float(size)

    def _expected(self, scene: Scene) -> np.ndarray:
        sentence = self._grammar.sentence(scene)
        return np.array([sentence.entropy, sentence.bytes])

    def _sentences(self, document: str) -> list[list[str]]:
        """The text as sentences of words as the grammar has them; none if the text is not written as we write."""
        rows: list[list[str]] = [[]]
        for word in document.replace(".", " .").replace(",", " ,").split(" "):
            first = not rows[-1] and word not in self._proper
            rows[-1].append(word[:1].lower() + word[1:] if first else word)
            if word == ".":
                rows.append([])
        return rows[:-1] if _write(rows[:-1]) == document else []


def render(story: Story) -> str:
    """The story as text: sentences side by side, each with a capital and a full stop."""
    return " ".join([write(sentence.text) for sentence in story.sentences])


def _write(sentences: list[list[str]]) -> str:
    return " ".join([write(" ".join(sentence)) for sentence in sentences])


def _scene(opening: Node) -> Scene:
    """What the first sentence tells."""
    told = {type(entry): entry for entry in meanings(opening)}
    return Scene(told[Person], told[Mood].tone, told[Job], told[City])


def _numbers(seed: int, index: int) -> Iterator[float]:
    """Uniform numbers in [0, 1) that belong to one document."""
    stream = np.random.Philox(key=np.array([seed % 2**64, STREAM], np.uint64), counter=[0, index, 0, 0])
    blocks = (stream.random_raw(NUMBERS) for _ in count())
    return chain.from_iterable(((block >> np.uint64(11)) * 2.0**-53).tolist() for block in blocks)


def _log_sum(logs: list[float]) -> float:
    """The logarithm of the sum of probabilities; −inf of none."""
    top = max(logs, default=-inf)
    return top if top == -inf else top + log(sum(exp(value - top) for value in logs))
