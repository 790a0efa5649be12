"""Visual question answering (VQA) on scenes: questions with a unique answer, multiple choices and a rationale."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import permutations, product
from typing import NamedTuple

from firth.datasets.world.captions import NUMBERS, OPPOSITE, RELATIONS, ListStatement, Phrase, is_related
from firth.datasets.world.scenes import COLOURS, SHAPES, Scene, SceneObject, choose, sample

YES_NO = ("yes", "no")
DIRECTIONS = tuple(relation.removesuffix(" of") for relation in RELATIONS)


class VisualQuestion(NamedTuple):
    """A question; the answer is one of the choices."""

    kind: str
    text: str
    answer: str
    choices: tuple[str, ...]
    rationale: str


def make_questions(scene: Scene, uniforms: Iterator[float]) -> tuple[VisualQuestion, ...]:
    """One question of every kind that has a unique answer in this scene."""
    drafts = (ask(scene, uniforms) for ask in QUESTION_KINDS.values())
    return tuple(question for question in drafts if question)


def ask_colour(scene: Scene, uniforms: Iterator[float]) -> VisualQuestion | None:
    """What colour is the big circle?"""
    referent = choose_referent(scene, uniforms, without="colour")
    if not referent:
        return None
    obj, phrase = referent
    rationale = f"the {phrase.text()} is at the {obj.position} and is {obj.colour}"
    text = f"what colour is the {phrase.text()}?"
    return VisualQuestion("colour", text, obj.colour, answer_choices(obj.colour, COLOURS, uniforms), rationale)


def ask_shape(scene: Scene, uniforms: Iterator[float]) -> VisualQuestion | None:
    """What shape is the red one?"""
    referent = choose_referent(scene, uniforms, without="shape")
    if not referent:
        return None
    obj, phrase = referent
    one = phrase.text("one")
    rationale = f"the {one} is at the {obj.position} and is a {obj.shape}"
    return VisualQuestion(
        "shape", f"what shape is the {one}?", obj.shape, answer_choices(obj.shape, SHAPES, uniforms), rationale
    )


def ask_size(scene: Scene, uniforms: Iterator[float]) -> VisualQuestion | None:
    """Is the red circle little or big?"""
    referent = choose_referent(scene, uniforms, without="size")
    if not referent:
        return None
    obj, phrase = referent
    rationale = f"the {phrase.text()} is at the {obj.position} and is {obj.size}"
    return VisualQuestion("size", f"is the {phrase.text()} little or big?", obj.size, ("little", "big"), rationale)


def ask_count(scene: Scene, uniforms: Iterator[float]) -> VisualQuestion:
    """How many red shapes are there? High counts are rare in scenes, so they get more weight."""
    phrases_by_count: dict[int, list[Phrase]] = {}
    for phrase in _countable_phrases(scene, uniforms):
        phrases_by_count.setdefault(len(phrase.referents(scene)), []).append(phrase)
    tickets = [number for number in sorted(phrases_by_count) for _ in range(max(number, 1))]
    number = choose(tickets, next(uniforms))
    phrase = choose(phrases_by_count[number], next(uniforms))
    plural = phrase.with_count(0).removeprefix("zero ")
    positions = join_words([f"at the {obj.position}" for obj in phrase.referents(scene)])
    rationale = f"there {_copula(number)} {phrase.with_count(number)}, {positions}" if number else _describe_all(scene)
    return VisualQuestion("count", f"how many {plural} are there?", NUMBERS[number], NUMBERS, rationale)


def ask_existence(scene: Scene, uniforms: Iterator[float]) -> VisualQuestion:
    """Is there a red circle? If not, there is a similar object."""
    obj, affirmative, sized = choose(scene, next(uniforms)), next(uniforms) < 0.5, next(uniforms) < 0.5
    phrase = full_phrase(obj) if sized else full_phrase(obj)._replace(size="")
    if affirmative:
        rationale = f"a {phrase.text()} is at the {obj.position}"
    else:
        phrase = choose([edit for edit in phrase.edits() if not edit.referents(scene)], next(uniforms))
        rationale = _describe_all(scene)
    return VisualQuestion("existence", f"is there a {phrase.text()}?", YES_NO[not affirmative], YES_NO, rationale)


def ask_relation(scene: Scene, uniforms: Iterator[float]) -> VisualQuestion | None:
    """Is the red circle left of the blue ring?"""
    pairs = [(a, b, r) for a, b in permutations(scene, 2) for r in RELATIONS if is_related(a, r, b)]
    referents = choose_referent_pair(scene, pairs, uniforms)
    if not referents:
        return None
    one, other, relation, rationale = referents
    affirmative = next(uniforms) < 0.5
    text = f"is the {one.text()} {relation if affirmative else OPPOSITE[relation]} the {other.text()}?"
    return VisualQuestion("relation", text, YES_NO[not affirmative], YES_NO, rationale)


def ask_direction(scene: Scene, uniforms: Iterator[float]) -> VisualQuestion | None:
    """Where is the red circle as seen from the blue ring? Only for objects in one row or column."""
    pairs = [
        (a, b, relation)
        for a, b in permutations(scene, 2)
        for relation in RELATIONS
        if is_related(a, relation, b) and (a.row == b.row or a.column == b.column)
    ]
    referents = choose_referent_pair(scene, pairs, uniforms)
    if not referents:
        return None
    one, other, relation, rationale = referents
    text = f"where is the {one.text()} as seen from the {other.text()}?"
    return VisualQuestion("direction", text, relation.removesuffix(" of"), DIRECTIONS, rationale)


def ask_comparison(scene: Scene, uniforms: Iterator[float]) -> VisualQuestion:
    """Are there more red shapes than blue shapes?"""
    name, table = choose((("colour", COLOURS), ("shape", SHAPES)), next(uniforms))
    present = sorted({getattr(obj, name) for obj in scene})
    values = [*present, choose([word for word in table if word not in present], next(uniforms))]
    affirmative = next(uniforms) < 0.5
    pairs = []
    for pair in permutations(values, 2):
        one, other = (Phrase(**{name: word}) for word in pair)
        if (len(one.referents(scene)) > len(other.referents(scene))) == affirmative:
            pairs.append((one, other))
    one, other = choose(pairs, next(uniforms))
    more, less = (phrase.with_count(0).removeprefix("zero ") for phrase in (one, other))
    numbers = [phrase.with_count(len(phrase.referents(scene))) for phrase in (one, other)]
    rationale = f"there {_copula(len(one.referents(scene)))} {numbers[0]} and {numbers[1]}"
    return VisualQuestion(
        "comparison", f"are there more {more} than {less}?", YES_NO[not affirmative], YES_NO, rationale
    )


QUESTION_KINDS = {
    "colour": ask_colour,
    "shape": ask_shape,
    "size": ask_size,
    "count": ask_count,
    "existence": ask_existence,
    "relation": ask_relation,
    "direction": ask_direction,
    "comparison": ask_comparison,
}


# --- referring expressions ---


def full_phrase(obj: SceneObject) -> Phrase:
    """The phrase with all attributes of an object."""
    return Phrase(obj.size, obj.colour, obj.shape)


def referring_expressions(scene: Scene, obj: SceneObject, without: str = "") -> list[Phrase]:
    """All phrases that match this object alone, without the attribute that the question asks for."""
    fits = _count_matches(scene)
    phrases = [phrase for phrase in _phrases(full_phrase(obj)) if fits[phrase] == 1]
    return [phrase for phrase in phrases if not getattr(phrase, without)] if without else phrases


@cache
def _phrases(whole: Phrase) -> tuple[Phrase, ...]:
    """All phrases with a non-empty subset of the attributes."""
    phrases = [Phrase(*words) for words in product(*(("", word) for word in whole))]
    return tuple(phrases[1:])


@lru_cache(maxsize=16)  # used by all questions of a scene
def _count_matches(scene: Scene) -> Counter[Phrase]:
    """The number of objects that each phrase matches."""
    return Counter(phrase for obj in scene for phrase in _phrases(full_phrase(obj)))


def choose_referent(scene: Scene, uniforms: Iterator[float], without: str) -> tuple[SceneObject, Phrase] | None:
    """An object with a referring expression, and one of its expressions; None if there is none."""
    candidates = [(obj, expressions) for obj in scene if (expressions := referring_expressions(scene, obj, without))]
    if not candidates:
        return None
    obj, expressions = choose(candidates, next(uniforms))
    return obj, choose(expressions, next(uniforms))


def choose_referent_pair(
    scene: Scene, pairs: Sequence[tuple[SceneObject, SceneObject, str]], uniforms: Iterator[float]
) -> tuple[Phrase, Phrase, str, str] | None:
    """Referring expressions of two related objects, the relation, and a rationale; None if there are none."""
    known = {obj: referring_expressions(scene, obj) for obj in scene}
    pairs = [pair for pair in pairs if known[pair[0]] and known[pair[1]]]
    if not pairs:
        return None
    one, other, relation = choose(pairs, next(uniforms))
    first, second = choose(known[one], next(uniforms)), choose(known[other], next(uniforms))
    rationale = f"the {first.text()} is at the {one.position} and the {second.text()} at the {other.position}"
    return first, second, relation, rationale


def answer_choices(answer: str, table: Iterable[str], uniforms: Iterator[float], size: int = 4) -> tuple[str, ...]:
    """The answer and distractors of its table, in random order."""
    others = sample([word for word in table if word != answer], size - 1, uniforms)
    return tuple(sample([answer, *others], size, uniforms))


def join_words(words: Sequence[str]) -> str:
    """One, two and three."""
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)


def _copula(number: int) -> str:
    return "is" if number == 1 else "are"


def _describe_all(scene: Scene) -> str:
    """All objects of the scene: the rationale for an absence."""
    return f"the picture has only {ListStatement(tuple(map(full_phrase, scene))).text()}"


def _countable_phrases(scene: Scene, uniforms: Iterator[float]) -> list[Phrase]:
    """Phrases that may be counted: present ones with up to two attributes; absent ones by shape, by colour, by both."""
    obj = choose(scene, next(uniforms))
    present = {Phrase(), Phrase(size="little"), Phrase(size="big")}
    for one in scene:
        present |= {Phrase(shape=one.shape), Phrase(colour=one.colour), Phrase(colour=one.colour, shape=one.shape)}
    shape, colour = choose(tuple(SHAPES), next(uniforms)), choose(tuple(COLOURS), next(uniforms))
    absent = {Phrase(shape=shape), Phrase(colour=colour), Phrase(colour=colour, shape=obj.shape)}
    return sorted(present | absent)
