"""Annotated words, and phrase structures: dependency tree, constituency tree and translation order without the words.

A structure holds a dependency tree (heads as distances, so that structures can be joined without renumbering), a
constituency tree as brackets with a slot for each word, and the plan of the translation. There are far fewer structures
than phrases: each is computed once, by the rule of the production from the structures of its parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple, Union

CACHE_SIZE = 100_000  # phrase structures
PARTICLES = ("o",)  # words of the second language without a source word: the object marker
CONTENT = frozenset({"ADJ", "NOUN", "PROPN", "VERB"})


class Agreement(NamedTuple):
    """Agreement: part number `part`, inflected for the gender of part number `of`."""

    part: int
    of: int


class Compound(NamedTuple):
    """A compound: two parts of one word each, written as one word."""

    first: int
    second: int


@dataclass(frozen=True, eq=False)
class Rule:
    """The phrase structure of a production: dependency relations, constituency brackets, order in the translation."""

    relations: tuple[str, ...]  # of each part to the head; of the head itself: ""
    tree: str  # brackets with a slot {} for each part; "": the parts after the first fill the slot of the first
    order: tuple[Union[int, str, Agreement, Compound], ...]  # noqa: UP007 - of the translation; a string is a particle


def rule(relations: str, tree: str, *order: int | str | Agreement | Compound) -> Rule:
    """A rule; relations are separated by spaces and `*` is the head. The default order is that of the parts."""
    names = tuple("" if name == "*" else name for name in relations.split())
    return Rule(names, tree, order or tuple(range(len(names))))


class TranslationPlan(NamedTuple):
    """The words of a translation, in order, packed into integers since there are very many plans."""

    slots: tuple[int, ...]  # 4 × word + 2 × token + (1: joined to the next); negative: −1 − a particle
    genders: tuple[int, ...]  # the word whose gender each agrees with; −1: none, or not known yet


class PhraseStructure:
    """The syntactic structure of a phrase of `size` words."""

    __slots__ = (
        "_alignment",
        "_heads",
        "content",
        "head",
        "head_distances",
        "plan",
        "relation_override",
        "relations",
        "size",
        "tree",
    )

    def __init__(self, size, head, head_distances, relations, tree, plan, content, relation_override="") -> None:
        self.size: int = size
        self.head: int = head
        self.head_distances: tuple[int, ...] = head_distances  # from each word to its head; 0 for the root
        self.relations: tuple[str, ...] = relations
        self.tree: str = tree  # with %s for each bracketed word with its tag
        self.plan: TranslationPlan = plan
        self.content: int = content  # content words
        self.relation_override: str = relation_override  # replaces the relation that a rule gives
        self._heads: tuple[int, ...] | None = None
        self._alignment: tuple[tuple[int, int], ...] | None = None

    @property
    def heads(self) -> tuple[int, ...]:
        """The head of each word, counted from 1; 0 for the root."""
        if self._heads is None:
            self._heads = tuple([at + away if away else 0 for at, away in enumerate(self.head_distances, 1)])
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
        """The words of the translation. Gender index −1 is the last word, a full stop, which has the first gender."""
        words_, prefix = [], ""
        for slot, gender in zip(self.plan.slots, self.plan.genders, strict=False):
            if slot < 0:
                words_.append(PARTICLES[-1 - slot])
            elif slot & 1:
                prefix = "".join(words[slot >> 2].translations[0])  # `will` has no word of its own
            else:
                words_.append(prefix + words[slot >> 2].translations[words[gender].gender][(slot >> 1) & 1])
                prefix = ""
        return words_


class Word(str):
    """A word with its annotation; as a string it is its English form."""

    lemma: str
    upos: str
    xpos: str
    feats: str
    entity: str  # B-PER, I-LOC, O
    polarity: int  # 1 good, -1 bad, 0 neither
    columns: tuple[str, str, str, str, str, int]  # these six, for the layers of a sentence
    bracket: str  # the leaf of a constituency tree
    translations: tuple[tuple[str, ...], tuple[str, ...]]  # its translation for each gender
    gender: int
    structure: PhraseStructure

    def __new__(cls, form: str, upos: str, xpos: str, feats: str = "_", **more: object) -> Word:
        """`target` is the translation, one for each gender if they differ; `relation_override` a fixed relation."""
        word = super().__new__(cls, form)
        word.lemma, word.upos, word.xpos, word.feats = str(more.get("lemma", form)), upos, xpos, feats
        word.entity, word.polarity = str(more.get("entity", "O")), int(more.get("polarity", 0))
        word.columns = (word.lemma, upos, xpos, feats, word.entity, word.polarity)
        target = more.get("target", ((),))
        word.bracket, word.gender = f"({xpos} {form})", int(more.get("gender", 0))
        word.translations = (target[0], target[-1])
        word.structure = word_structure(len(target[0]), upos in CONTENT, str(more.get("relation_override", "")))
        return word

    @property
    def text(self) -> str:
        """The word itself, for the interface of a phrase."""
        return self


@cache
def word_structure(tokens: int, content: bool, relation_override: str) -> PhraseStructure:
    """The structure of one word, translated by up to two."""
    plan = TranslationPlan(tuple([2 * token for token in range(tokens)]), (-1,) * tokens)
    return PhraseStructure(1, 0, (0,), ("root",), "%s", plan, int(content), relation_override)


@lru_cache(maxsize=CACHE_SIZE)
def compose_structure(rule: Rule, *parts: PhraseStructure) -> PhraseStructure:
    """The structure that a rule composes of the structures of its parts."""
    if len(parts) == 1 and rule.tree == "{}":
        return parts[0]
    offsets, head_distances, relations = [0], [], []
    for part in parts:
        offsets.append(offsets[-1] + part.size)
        head_distances += part.head_distances
        relations += part.relations
    top = rule.relations.index("")
    head = offsets[top] + parts[top].head
    for part, offset, relation in zip(parts, offsets, rule.relations, strict=False):
        if relation:
            at = offset + part.head
            head_distances[at] = head - at
            relations[at] = part.relation_override or relation
    tree, plan = _bracket(rule.tree, [part.tree for part in parts]), _plan(rule.order, parts, offsets)
    content = sum([part.content for part in parts])
    return PhraseStructure(offsets[-1], head, tuple(head_distances), tuple(relations), tree, plan, content)


def _bracket(template: str, trees: list[str]) -> str:
    if template:
        return template.format(*trees)
    return trees[0].format("".join([" " + tree for tree in trees[1:]]))


def _plan(order: tuple, parts: Sequence[PhraseStructure], offsets: list[int]) -> TranslationPlan:
    """The plans of the parts in the order of the second language, with renumbered words."""
    slots, genders = [], []
    for item in order:
        if item.__class__ is str:
            slots.append(-1 - PARTICLES.index(item))
            genders.append(-1)
        elif item.__class__ is Compound:
            slots += [4 * offsets[item.first] + 1, 4 * offsets[item.second]]
            genders += [-1, -1]
        else:
            at, gender = (item, -1) if item.__class__ is int else (item.part, offsets[item.of] + parts[item.of].head)
            plan, offset = parts[at].plan, offsets[at]
            slots += [slot + 4 * offset if slot >= 0 else slot for slot in plan.slots]
            genders += [known + offset if known >= 0 else gender for known in plan.genders]
    return TranslationPlan(tuple(slots), tuple(genders))
