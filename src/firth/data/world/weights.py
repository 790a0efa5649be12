"""How often the grammar does what: all its probabilities, as weights among the answers to one question."""

from __future__ import annotations

from dataclasses import dataclass

from firth.data.world.lexicon import Kind, Number, Tense

NUMBERS: tuple[Number, ...] = ("one", "many")
KINDS: tuple[Kind, ...] = ("being", "thing")
TENSES: tuple[Tense, ...] = ("present", "past", "future")
DETERMINERS = {"one": {"the": 6, "every": 1}, "many": {"the": 4, "some": 2, "two": 1, "three": 1}}
TIMES = {"present": ("today",), "past": ("yesterday", "once"), "future": ("tomorrow", "soon")}


@dataclass(frozen=True)
class Weights:
    """All probabilities of the grammar, as weights among the alternatives of one question."""

    sentences: tuple[float, ...] = (0, 0, 2, 4, 5, 4, 3, 2)  # how many a document has: 1, 2, 3, …
    pronoun: tuple[float, float] = (2, 3)  # the hero by name, by pronoun
    number: tuple[float, float] = (3, 2)  # one, many
    kind: tuple[float, float] = (1, 1)  # of objects: beings, things
    tense: tuple[float, float, float] = (4, 5, 1)  # present, past, future
    time: tuple[float, float] = (2, 1)  # without, with a word for the time
    size: tuple[float, float] = (3, 1)  # without, with an adjective of size
    colour: tuple[float, float] = (3, 1)
    relative: tuple[float, float] = (2, 1)  # without, with a relative clause
    clause: tuple[float, float, float, float] = (3, 3, 1, 1)  # that sees it, that it sees, that is red, that lives in
    home: float = 5  # weight of the hero's own city against 1 for any other, where a fact is told
    # Sentences: the hero acts, does, travels, works, feels, is older than; two act; others act; a description,
    # a comparison of things, a fact about a capital, somebody says, when … then.
    story: tuple[float, ...] = (6, 2, 2, 2, 4, 1, 2, 5, 4, 2, 2, 2, 2)
