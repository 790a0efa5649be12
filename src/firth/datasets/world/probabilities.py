"""The probabilities of the grammar, as weights among alternatives."""

from __future__ import annotations

from dataclasses import dataclass

from firth.datasets.world.lexicon import Animacy, Number, Tense

NUMBERS: tuple[Number, ...] = ("singular", "plural")
ANIMACIES: tuple[Animacy, ...] = ("animate", "inanimate")
TENSES: tuple[Tense, ...] = ("present", "past", "future")
DETERMINERS = {"singular": {"the": 6, "every": 1}, "plural": {"the": 4, "some": 2, "two": 1, "three": 1}}
TIMES = {"present": ("today",), "past": ("yesterday", "once"), "future": ("tomorrow", "soon")}


@dataclass(frozen=True)
class Weights:
    """The probabilities of the grammar, as weights among alternatives."""

    sentences: tuple[float, ...] = (0, 0, 2, 4, 5, 4, 3, 2)  # of a document: 1, 2, 3, …
    pronoun: tuple[float, float] = (2, 3)  # the hero by name, by pronoun
    number: tuple[float, float] = (3, 2)  # singular, plural
    animacy: tuple[float, float] = (1, 1)  # of grammatical objects: animate, inanimate
    tense: tuple[float, float, float] = (4, 5, 1)  # present, past, future
    time: tuple[float, float] = (2, 1)  # without, with an adverb of time
    size: tuple[float, float] = (3, 1)  # without, with an adjective of size
    colour: tuple[float, float] = (3, 1)
    relative: tuple[float, float] = (2, 1)  # without, with a relative clause
    clause: tuple[float, float, float, float] = (3, 3, 1, 1)  # that sees it, that it sees, that is red, that lives in
    home: float = 5  # weight of the hero's own city against 1 for any other, in facts about capitals
    # Kinds of sentences, in the order of `entailment.STORY`: the hero acts, does, travels, works, feels, is older than;
    # two people act; others act; a description, a comparison of sizes, a fact about a capital, reported speech, when.
    story: tuple[float, ...] = (6, 2, 2, 2, 4, 1, 2, 5, 4, 2, 2, 2, 2)
