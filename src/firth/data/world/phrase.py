"""Phrases: the layers of gold annotation, put together from smaller phrases by the rule of a grammar's option.

A phrase holds its words, a dependency tree (heads as distances, so that phrases can be joined without renumbering), a
constituency tree as brackets, and its translation with the source words that each translated word stands for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Union

UNALIGNED = -(10**6)  # the source of a translated word that stands for none; still negative after any shift


CONTENT = frozenset({"ADJ", "NOUN", "PROPN", "VERB"})


class Agree(NamedTuple):
    """Part number `part`, in the form for the gender of part number `of`."""

    part: int
    of: int


class Join(NamedTuple):
    """Two parts written as one word."""

    first: int
    second: int


class Rule(NamedTuple):
    """How the parts of an option hang together."""

    relations: tuple[str, ...]  # of each part to the head; of the head itself: ""
    tree: str  # brackets with a slot {} for each part; "": the parts after the first fill the slot of the first
    order: tuple[Union[int, str, Agree, Join], ...]  # noqa: UP007 - the translation; text stands for itself
    head: int  # the part all others depend on


def rule(relations: str, tree: str, *order: int | str | Agree | Join) -> Rule:
    """A rule; relations have blanks between them and `*` is the head. Without an order, that of the parts."""
    names = tuple("" if name == "*" else name for name in relations.split())
    return Rule(names, tree, order or tuple(range(len(names))), names.index(""))


class Word(str):
    """A word with all that is known of it alone; as a string it is its English form."""

    lemma: str
    upos: str
    xpos: str
    feats: str
    entity: str  # B-PER, I-LOC, O
    tone: int  # 1 good, -1 bad, 0 neither
    columns: tuple[str, str, str, str, str]  # all but the tone, for the layers of a sentence
    phrase: Phrase

    def __new__(cls, form: str, upos: str, xpos: str, feats: str = "_", **more: object) -> Word:
        """`target` is the translation (for each gender, if it differs); `role` a relation of its own."""
        word = super().__new__(cls, form)
        word.lemma, word.upos, word.xpos, word.feats = str(more.get("lemma", form)), upos, xpos, feats
        word.entity, word.tone = str(more.get("entity", "O")), int(more.get("tone", 0))
        word.columns = (word.lemma, upos, xpos, feats, word.entity)
        target = more.get("target", ((),))
        sources, widths, gender = (0,) * len(target[0]), (1,) * len(target[0]), more.get("gender", 0)
        word.phrase = Phrase((word,), (0,), ("",), 0, f"({xpos} {form})", target, sources, widths, gender)
        word.phrase.role, word.phrase.content = str(more.get("role", "")), int(upos in CONTENT)
        return word


class Phrase:
    """Words with every layer; immutable by agreement, and shared wherever the same phrase occurs."""

    __slots__ = (
        "_text", "content", "gender", "head", "heads", "relations", "role",
        "sources", "target", "tree", "widths", "words",
    )  # fmt: skip

    def __init__(self, words, heads, relations, head, tree, target, sources, widths, gender) -> None:
        self.words: tuple[Word, ...] = words
        self.heads: Sequence[int] = heads  # distance to the head; 0 for the phrase's own head
        self.relations: Sequence[str] = relations
        self.head: int = head
        self.tree: str = tree
        self.target: Sequence[Sequence[str]] = target  # one for each gender it may have to agree with, or one for all
        self.sources: Sequence[int] = sources  # of each translated word, the first word it stands for …
        self.widths: Sequence[int] = widths  # … and how many there are
        self.gender: int = gender
        self.role = ""  # a relation of its own, instead of the one that a rule gives
        self.content = 0  # how many of its words are neither grammar nor punctuation
        self._text: str | None = None

    @property
    def text(self) -> str:
        """The words with spaces between."""
        if self._text is None:
            self._text = " ".join(self.words)
        return self._text

    @property
    def number(self) -> str:
        """Of its head: one or many."""
        return "many" if self.words[self.head].xpos == "NNS" else "one"


def compose(rule: Rule, parts: list[Phrase]) -> Phrase:
    """The phrase that a rule makes of its parts."""
    if len(parts) == 1 and rule.tree == "{}":
        return parts[0]
    words, heads, relations, offsets, content = [], [], [], [], 0
    for part in parts:
        offsets.append(len(words))
        words += part.words
        heads += part.heads
        relations += part.relations
        content += part.content
    top = parts[rule.head]
    head = offsets[rule.head] + top.head
    for part, offset, relation in zip(parts, offsets, rule.relations):  # noqa: B905 - here every microsecond counts
        if relation:
            at = offset + part.head
            heads[at] = head - at
            relations[at] = part.role or relation
    target, sources, widths = _translate(rule.order, parts, offsets)
    tree = _bracket(rule.tree, [part.tree for part in parts])
    made = Phrase(tuple(words), heads, relations, head, tree, target, sources, widths, top.gender)
    made.content = content
    return made


def _bracket(template: str, trees: list[str]) -> str:
    if template:
        return template.format(*trees)
    return trees[0].format("".join([" " + tree for tree in trees[1:]]))


def _translate(order: tuple, parts: list[Phrase], offsets: list[int]) -> tuple:
    """The words of the second language, in its order, and what they stand for."""
    rows, sources, widths = [[]], [], []
    for item in order:
        if item.__class__ is int:
            part = parts[item]
            forms, offset = part.target, offsets[item]
        elif item.__class__ is Agree:
            part = parts[item.part]
            forms = part.target[parts[item.of].gender : parts[item.of].gender + 1] or part.target
            offset = offsets[item.part]
        elif item.__class__ is Join:
            _join(parts[item.first], parts[item.second], offsets[item.first], (rows, sources, widths))
            continue
        else:
            for row in rows:
                row.append(item)
            sources.append(UNALIGNED)
            widths.append(1)
            continue
        if len(forms) == len(rows) == 1:
            rows[0] += forms[0]
        else:
            rows = [row + list(form) for row, form in _together(rows, forms)]
        sources += [source + offset for source in part.sources] if offset else part.sources
        widths += part.widths
    return rows, sources, widths


def _together(rows: list, forms: list) -> Iterator[tuple]:
    """Each variant of what there is with that of what comes next; a single one goes with all."""
    count = max(len(rows), len(forms))
    return zip(rows * count if len(rows) == 1 else rows, forms * count if len(forms) == 1 else forms, strict=False)


def _join(first: Phrase, second: Phrase, offset: int, into: tuple[list, list, list]) -> None:
    rows, sources, widths = into
    for row in rows:
        row.append("".join((*first.target[0], *second.target[0])))
    sources.append(offset)
    widths.append(len(first.words) + len(second.words))
