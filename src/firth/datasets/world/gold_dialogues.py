"""Dialogues about stories: a fact is asked for and given, over several turns; and instructions with their replies.

A reply is a function of the turns before it: a question that the story answers twice is never asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from firth.datasets.records import Dialogue, Turn
from firth.datasets.world.annotation import AnnotatedSentence, AnnotatedStory
from firth.datasets.world.lexicon import Lexicon
from firth.datasets.world.surface_text import realise
from firth.types import generator

if TYPE_CHECKING:
    import numpy as np

    from firth.datasets.world.world_text import World

# Kinds of questions whose answers the story states, or every reader of the world knows.
FACTS = ("job", "mood", "origin", "country", "who", "place", "object", "colour", "size", "capital")
MAX_QUESTIONS = 4
UNKNOWN = "The story does not say."
UNKNOWN_PROBABILITY, FOLLOW_UP_PROBABILITY = 0.15, 0.5
FOLLOW_UP = "Which country is that in?"  # after a city: it can be answered only with the turn before
WORDINGS = {
    "summarise": ("Summarise this story: {}", "{} What is this story about, in one sentence?"),
    "translate": ("Translate this sentence: {}", "How do you say this in the second language? {}"),
    "paraphrase": ("Say this in other words: {}", "Rephrase: {}"),
    "sentiment": ("Is this good, bad or neutral? {}", "{} Is that good, bad or neutral?"),
    "answer": ("Read the story: {} {}", "{} {}"),
}


class Fact(NamedTuple):
    """A question about a story and its one answer."""

    question: str
    answer: str


def dialogue(world: World, story: AnnotatedStory, number: int) -> Dialogue:
    """A conversation about story `number`, which is the system's turn: one to four questions with their replies."""
    rng = generator(world.seed, "dialogue", number)
    turns, facts = [Turn("system", story.text)], _facts(story)
    countries = {city.name: city.country for city in world.lexicon.cities}
    for at in rng.permutation(len(facts))[: 1 + int(rng.integers(MAX_QUESTIONS))]:
        fact = facts[at]
        if rng.random() < UNKNOWN_PROBABILITY:
            fact = _unanswerable(story, world.lexicon, rng)
        turns += _exchange(fact)
        if fact.answer in countries and rng.random() < FOLLOW_UP_PROBABILITY:
            turns += _exchange(Fact(FOLLOW_UP, countries[fact.answer]))
    return Dialogue(tuple(turns))


def instructions(world: World, story: AnnotatedStory, number: int) -> Iterator[Dialogue]:
    """One instruction of each kind about story `number`, with its reply."""
    rng = generator(world.seed, "instruction", number)
    for kind, wordings in WORDINGS.items():
        sentence = story.sentences[int(rng.integers(len(story.sentences)))]
        given, reply = REPLIES[kind](story, sentence, rng)
        prompt = wordings[int(rng.integers(len(wordings)))].format(*given)
        yield Dialogue((Turn("user", prompt), Turn("assistant", reply)))


def _exchange(fact: Fact) -> tuple[Turn, Turn]:
    return Turn("user", fact.question), Turn("assistant", fact.answer)


def _facts(story: AnnotatedStory) -> list[Fact]:
    """The questions with one answer; there is always the hero's origin."""
    return [
        Fact(question.text, question.answers[0].text)
        for question in story.questions
        if question.kind in FACTS and len(question.answers) == 1
    ]


def _unanswerable(story: AnnotatedStory, lexicon: Lexicon, rng: np.random.Generator) -> Fact:
    """Where somebody else comes from: a story says so of its hero only."""
    others = [person.name for person in lexicon.people if person != story.scene.hero]
    return Fact(f"Where does {others[int(rng.integers(len(others)))]} come from?", UNKNOWN)


def _answer(story: AnnotatedStory, _: AnnotatedSentence, rng: np.random.Generator) -> tuple[tuple[str, ...], str]:
    facts = _facts(story)
    fact = facts[int(rng.integers(len(facts)))]
    return (story.text, fact.question), fact.answer


Reply = Callable[[AnnotatedStory, AnnotatedSentence, "np.random.Generator"], tuple[tuple[str, ...], str]]
REPLIES: dict[str, Reply] = {
    "summarise": lambda story, _, rng: ((story.text,), story.summary),
    "translate": lambda _, sentence, rng: ((sentence.text,), realise(" ".join(sentence.translation))),
    "paraphrase": lambda _, sentence, rng: ((sentence.text,), sentence.pairs[0].right),
    "sentiment": lambda _, sentence, rng: ((sentence.text,), sentence.sentiment),
    "answer": _answer,
}
