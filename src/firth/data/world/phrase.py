"""Words, and the shape of phrases: how the words of a derivation hang together, whatever words they are.

A shape holds a dependency tree (heads as distances, so that shapes can be joined without renumbering), a constituency
tree as brackets with a slot for each word, and the plan of the translation. There are far fewer shapes than phrases:
each is worked out once, by the rule of the grammar's option and from the shapes of its parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple, Union

SHAPES = 100_000  # that are kept
PARTICLES = ("o",)  # words of the second language that stand for none: the mark of an object
CONTENT = frozenset({"ADJ", "NOUN", "PROPN", "VERB"})


class Agree(NamedTuple):
    """Part number `part`, in the form for the gender of part number `of`."""

    part: int
    of: int


class Join(NamedTuple):
    """Two parts of one word each, written as one."""

    first: int
    second: int


@dataclass(frozen=True, eq=False)
class Rule:
    """How the parts of an option hang together."""

    relations: tuple[str, ...]  # of each part to the head; of the head itself: ""
    tree: str  # brackets with a slot {} for each part; "": the parts after the first fill the slot of the first
    order: tuple[Union[int, str, Agree, Join], ...]  # noqa: UP007 - the translation; text stands for itself


def rule(relations: str, tree: str, *order: int | str | Agree | Join) -> Rule:
    """A rule; relations have blanks between them and `*` is the head. Without an order, that of the parts."""
    names = tuple("" if name == "*" else name for name in relations.split())
    return Rule(names, tree, order or tuple(range(len(names))))


class Plan(NamedTuple):
    """The words of a translation, in order. All in whole numbers, since there are very many plans."""

    slots: tuple[int, ...]  # 4 × word + 2 × token + (1: written together with the next); negative: −1 − a particle
    genders: tuple[int, ...]  # the word whose gender each agrees with; −1: none, or not known yet


class Shape:
    """How so many words hang together."""

    __slots__ = ("_alignment", "_heads", "content", "distances", "head", "plan", "relations", "role", "size", "tree")

    def __init__(self, size, head, distances, relations, tree, plan, content, role="") -> None:
        self.size: int = size
        self.head: int = head
        self.distances: tuple[int, ...] = distances  # from each word to its head; 0 for the head of all
        self.relations: tuple[str, ...] = relations
        self.tree: str = tree  # with %s for each word in brackets with its tag
        self.plan: Plan = plan
        self.content: int = content  # words that are neither grammar nor punctuation
        self.role: str = role  # a relation of its own, instead of the one that a rule gives
        self._heads: tuple[int, ...] | None = None
        self._alignment: tuple[tuple[int, int], ...] | None = None

    @property
    def heads(self) -> tuple[int, ...]:
        """Of each word, counted from 1; 0 for the root."""
        if self._heads is None:
            self._heads = tuple([at + away if away else 0 for at, away in enumerate(self.distances, 1)])
        return self._heads

    @property
    def alignment(self) -> tuple[tuple[int, int], ...]:
        """(word, word of the translation), counted from 0."""
        if self._alignment is None:
            links, at = [], 0
            for slot in self.plan.slots:
                if slot >= 0:
                    links.append((slot >> 2, at))
                at += slot < 0 or not slot & 1
            self._alignment = tuple(links)
        return self._alignment

    def translate(self, words: Sequence[Word]) -> list[str]:
        """The words of the second language. A gender of none is that of the last word, a full stop: the first."""
        found, begun = [], ""
        for slot, gender in zip(self.plan.slots, self.plan.genders, strict=False):
            if slot < 0:
                found.append(PARTICLES[-1 - slot])
            elif slot & 1:
                begun = "".join(words[slot >> 2].forms[0])  # `will` has no word of its own
            else:
                found.append(begun + words[slot >> 2].forms[words[gender].gender][(slot >> 1) & 1])
                begun = ""
        return found


class Word(str):
    """A word with all that is known of it alone; as a string it is its English form."""

    lemma: str
    upos: str
    xpos: str
    feats: str
    entity: str  # B-PER, I-LOC, O
    tone: int  # 1 good, -1 bad, 0 neither
    columns: tuple[str, str, str, str, str, int]  # these six, for the layers of a sentence
    bracket: str  # with its tag, as the leaf of a tree
    forms: tuple[tuple[str, ...], tuple[str, ...]]  # its translation for each gender
    gender: int
    shape: Shape

    def __new__(cls, form: str, upos: str, xpos: str, feats: str = "_", **more: object) -> Word:
        """`target` is the translation, one for each gender if it differs; `role` a relation of its own."""
        word = super().__new__(cls, form)
        word.lemma, word.upos, word.xpos, word.feats = str(more.get("lemma", form)), upos, xpos, feats
        word.entity, word.tone = str(more.get("entity", "O")), int(more.get("tone", 0))
        word.columns = (word.lemma, upos, xpos, feats, word.entity, word.tone)
        target = more.get("target", ((),))
        word.bracket, word.gender = f"({xpos} {form})", int(more.get("gender", 0))
        word.forms = (target[0], target[-1])
        word.shape = leaf(len(target[0]), upos in CONTENT, str(more.get("role", "")))
        return word

    @property
    def text(self) -> str:
        """Itself, as a phrase has a text."""
        return self


@cache
def leaf(tokens: int, content: bool, role: str) -> Shape:
    """The shape of one word, translated by up to two."""
    plan = Plan(tuple([2 * token for token in range(tokens)]), (-1,) * tokens)
    return Shape(1, 0, (0,), ("root",), "%s", plan, int(content), role)


@lru_cache(maxsize=SHAPES)
def compose(rule: Rule, *parts: Shape) -> Shape:
    """The shape that a rule makes of the shapes of its parts."""
    if len(parts) == 1 and rule.tree == "{}":
        return parts[0]
    offsets, distances, relations = [0], [], []
    for part in parts:
        offsets.append(offsets[-1] + part.size)
        distances += part.distances
        relations += part.relations
    top = rule.relations.index("")
    head = offsets[top] + parts[top].head
    for part, offset, relation in zip(parts, offsets, rule.relations, strict=False):
        if relation:
            at = offset + part.head
            distances[at] = head - at
            relations[at] = part.role or relation
    tree, plan = _bracket(rule.tree, [part.tree for part in parts]), _plan(rule.order, parts, offsets)
    content = sum([part.content for part in parts])
    return Shape(offsets[-1], head, tuple(distances), tuple(relations), tree, plan, content)


def _bracket(template: str, trees: list[str]) -> str:
    if template:
        return template.format(*trees)
    return trees[0].format("".join([" " + tree for tree in trees[1:]]))


def _plan(order: tuple, parts: Sequence[Shape], offsets: list[int]) -> Plan:
    """The plans of the parts in the order of the second language, their words renumbered."""
    slots, genders = [], []
    for item in order:
        if item.__class__ is str:
            slots.append(-1 - PARTICLES.index(item))
            genders.append(-1)
        elif item.__class__ is Join:
            slots += [4 * offsets[item.first] + 1, 4 * offsets[item.second]]
            genders += [-1, -1]
        else:
            at, gender = (item, -1) if item.__class__ is int else (item.part, offsets[item.of] + parts[item.of].head)
            plan, offset = parts[at].plan, offsets[at]
            slots += [slot + 4 * offset if slot >= 0 else slot for slot in plan.slots]
            genders += [known + offset if known >= 0 else gender for known in plan.genders]
    return Plan(tuple(slots), tuple(genders))
