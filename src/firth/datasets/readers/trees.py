"""Bracketed constituency trees (Penn Treebank, SST), one per line or spread over lines; without recursion.

Brackets in words are written -LRB- and -RRB- in such files, and stay so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, TypeVar

from firth.datasets import numbered_lines
from firth.datasets.readers import fault_report
from firth.datasets.records import Tree
from firth.errors import FirthError

Value = TypeVar("Value")
TOKEN = re.compile(r"[()]|[^() \t\r\n]+")  # a no-break space is part of a word
TRACE = "-NONE-"


@dataclass(frozen=True)
class Trees:
    """A sequence of trees; without labels every word in brackets is a leaf, as in `( ( a b ) c )`."""

    labels: Literal["yes", "no"] = "yes"
    spacing: Literal["tight", "outer", "wide"] = "tight"  # written ((S …)), ( (S …)) or ( ( a b ) c )
    unit: Literal["tree", "phrase"] = "tree"  # phrase: every constituent is a tree of its own, read once
    classes: tuple[str, ...] = ()  # label:class, …; the trees whose root has another label are left out
    extensions: ClassVar[tuple[str, ...]] = ("mrg", "ptb", "psd", "trees")
    record_type: ClassVar[type] = Tree

    def read(self, path: str | Path, report: fault_report.Report | None = None) -> Iterator[Tree]:
        """The trees; inner nodes have no line."""
        reader, names = _Reader(self.labels == "yes", path), self._class_names()
        trees = fault_report.parse_all(reader.parse, reader.texts(report), report)
        read = _distinct_phrases(trees) if self.unit == "phrase" else trees
        if not names:
            return read
        return (tree._replace(label=names[tree.label]) for tree in read if tree.label in names)

    def _class_names(self) -> dict[str, str]:
        """Labels of roots -> classes."""
        parts = [text.partition(":") for text in self.classes]
        for label, _, name in parts:
            if not label or not name:
                what = f"classes={','.join(self.classes)}: no label and class in {label or name!r}"
                raise FirthError(what, do="write them as classes=0:negative,1:negative,3:positive")
        return {label: name for label, _, name in parts}

    def rows(self, records: Iterable[Tree]) -> Iterator[str]:
        """One line per tree."""
        for tree in records:
            yield to_text(tree, self.spacing)


class _Reader:
    """One pass over a file."""

    def __init__(self, labelled: bool, path: str | Path) -> None:
        self.labelled, self.path = labelled, path

    def texts(self, report: fault_report.Report | None) -> Iterator[tuple[int, list[str]]]:
        """The lines of each tree with the number of the first, cut where brackets are balanced."""
        lines, first, depth = [], 0, 0
        for number, line in numbered_lines.lines(self.path):
            if not lines and not line.strip(" \t\r"):
                continue
            first = first if lines else number
            lines.append(line)
            depth += line.count("(") - line.count(")")
            if depth <= 0:
                yield first, lines
                lines, depth = [], 0
        if lines:
            do = f"give it {depth} more closing bracket{'s' * (depth > 1)}"
            error = FirthError("an unclosed bracket", where=numbered_lines.at(self.path, first), do=do)
            if report is None:
                raise error
            report(error)

    def parse(self, unit: tuple[int, list[str]]) -> Tree:
        first, lines = unit
        open_nodes: list[_Node] = []
        done: Tree | None = None
        for number, line in enumerate(lines, first):
            for token in TOKEN.findall(line):
                if done is not None or (not open_nodes and token != "("):
                    raise self._unbalanced(token, number, done)
                if token == "(":
                    open_nodes.append(_Node())
                elif token == ")":
                    tree = self._close(open_nodes.pop(), number, first if not open_nodes else 0)
                    if open_nodes:
                        open_nodes[-1].children.append(tree)
                    else:
                        done = tree
                else:
                    self._word(open_nodes[-1], token)
        if done is None:  # not from a file: `texts` cuts where brackets are balanced
            what = "an unclosed bracket" if open_nodes else "no brackets"
            raise FirthError(
                what, where=numbered_lines.at(self.path, first), do="write a tree such as (S (NP Ann) (VP sings))"
            )
        return done

    def _word(self, node: _Node, token: str) -> None:
        if self.labelled and node.label is None and not node.children:
            node.label = token
        else:
            node.children.append(Tree("", (), token))

    def _close(self, node: _Node, number: int, line: int) -> Tree:
        label, children = node.label or "", node.children
        if not children:
            what = "a constituent without a word" if label else "an empty constituent"
            do = "give it a word, or set labels=no" if label else "remove the brackets"
            raise FirthError(what, where=numbered_lines.at(self.path, number), do=do)
        only = children[0]
        if node.label is not None and len(children) == 1 and only.word is not None and not only.label:
            return Tree(label, (), only.word, line)
        return Tree(label, tuple(children), None, line)

    def _unbalanced(self, token: str, number: int, done: Tree | None) -> FirthError:
        where = numbered_lines.at(self.path, number)
        if token == "(":
            return FirthError("two trees on one line", where=where, do="give every tree a line of its own")
        if token == ")":
            return FirthError("a closing bracket without an opening one", where=where, do="remove it")
        what = f"{token[:20]!r} {'after' if done else 'outside of'} a tree"
        return FirthError(what, where=where, do="put it into brackets, or remove it")


class _Node:
    """A node whose bracket is still open."""

    __slots__ = ("children", "label")

    def __init__(self) -> None:
        self.label: str | None = None
        self.children: list[Tree] = []


def _distinct_phrases(trees: Iterable[Tree]) -> Iterator[Tree]:
    """Every constituent, with the line of its tree; the same words with the same label only once."""
    seen: set[tuple[str, ...]] = set()
    for tree in trees:
        for node in nodes(tree):
            key = (node.label, *leaves(node))
            if key not in seen:
                seen.add(key)
                yield node._replace(line=tree.line)


def from_text(text: str) -> Tree:
    """A tree from its bracketed text."""
    return _Reader(True, "brackets").parse((1, [text]))


# --- operations on trees --------------------------------------------------------------------------------------------


def fold(tree: Tree, combine: Callable[[Tree, list[Value]], Value]) -> Value:
    """The value of a tree, from each node and the values of its children, bottom up and left to right."""
    stack: list[tuple[Tree, list[Value]]] = [(tree, [])]
    while True:
        node, values = stack[-1]
        if len(values) < len(node.children):
            stack.append((node.children[len(values)], []))
            continue
        value = combine(node, values)
        stack.pop()
        if not stack:
            return value
        stack[-1][1].append(value)


def nodes(tree: Tree) -> Iterator[Tree]:
    """All nodes, each before its children."""
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))


def leaves(tree: Tree) -> list[str]:
    """The words."""
    return [node.word for node in nodes(tree) if node.word is not None]


def tagged_words(tree: Tree) -> list[tuple[str, str]]:
    """The words with their part-of-speech tags (the labels just above them)."""
    return [(node.word, node.label) for node in nodes(tree) if node.word is not None]


def spans(tree: Tree) -> list[tuple[int, int, str]]:
    """Start, end and label of each constituent with children, each before those inside it."""
    constituents: list[tuple[int, int, str]] = []
    stack: list[tuple[Tree, int]] = [(tree, -1)]  # an index instead of -1: the node ends here
    word = 0
    while stack:
        node, index = stack.pop()
        if index >= 0:
            constituents[index] = (constituents[index][0], word, node.label)
        elif node.word is not None:
            word += 1
        else:
            constituents.append((word, word, node.label))
            stack.append((node, len(constituents) - 1))
            stack.extend((child, -1) for child in reversed(node.children))
    return constituents


def strip_traces(tree: Tree) -> Tree | None:
    """The tree without traces (-NONE-, and what they leave empty) and functional tags (NP-SBJ-1: NP); None if empty."""

    def combine(node: Tree, children: list[Tree | None]) -> Tree | None:
        if node.word is not None:
            return None if node.label == TRACE else node._replace(label=base_label(node.label))
        remaining = tuple(child for child in children if child is not None)
        return Tree(base_label(node.label), remaining, None, node.line) if remaining else None

    return fold(tree, combine)


def base_label(label: str) -> str:
    """A label without its functional tags; labels that begin with a dash (-LRB-) stay."""
    return label if label.startswith("-") else re.split("[-=]", label, maxsplit=1)[0]


def binarise(tree: Tree, mark: str = "@") -> Tree:
    """Binarise: at most two children per node, further ones under nodes of the same label with a mark before it."""

    def combine(node: Tree, children: list[Tree]) -> Tree:
        rest = list(children)
        while len(rest) > 2:
            last = (rest.pop(-2), rest.pop())
            rest.append(Tree(mark + node.label, last))
        return node._replace(children=tuple(rest))

    return fold(tree, combine)


def unbinarise(tree: Tree, mark: str = "@") -> Tree:
    """Undo `binarise`."""

    def combine(node: Tree, children: list[Tree]) -> Tree:
        helper = mark + node.label.removeprefix(mark)
        if children and children[-1].label == helper and children[-1].children:
            children = [*children[:-1], *children[-1].children]
        return node._replace(children=tuple(children))

    return fold(tree, combine)


def to_text(tree: Tree, spacing: str = "tight") -> str:
    """The tree in brackets, on one line."""
    parts: list[str] = []
    stack: list[Tree | str] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            parts.append(node)
        elif node.word is not None and not node.label:
            parts.append(node.word)
        else:
            head, end = _brackets(node, spacing)
            inside = node.children or (Tree("", (), node.word or ""),)
            parts.append(head)
            stack.append(end)
            for index in range(len(inside) - 1, -1, -1):
                stack.append(inside[index])
                if index:
                    stack.append(" ")
    return "".join(parts)


def _brackets(node: Tree, spacing: str) -> tuple[str, str]:
    if spacing == "wide":
        return f"( {node.label} " if node.label else "( ", " )"
    if node.label:
        return f"({node.label} ", ")"
    return "( " if spacing == "outer" else "(", ")"
