"""Bracketed constituent trees (Penn Treebank, SST), one a line or spread over lines. Nothing here recurses.

Brackets in words are written -LRB- and -RRB- in such files, and are left so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, TypeVar

from firth.data import lines
from firth.data.formats import going
from firth.data.records import Tree
from firth.errors import FirthError

Value = TypeVar("Value")
TOKEN = re.compile(r"[()]|[^() \t\r\n]+")  # a no-break space belongs to a word
TRACE = "-NONE-"


@dataclass(frozen=True)
class Trees:
    """One tree after another; without labels every word in brackets is a leaf, as in `( ( a b ) c )`."""

    labels: Literal["yes", "no"] = "yes"
    spacing: Literal["tight", "outer", "wide"] = "tight"  # written ((S …)), ( (S …)) or ( ( a b ) c )
    endings: ClassVar[tuple[str, ...]] = ("mrg", "ptb", "psd", "trees")
    holds: ClassVar[type] = Tree

    def read(self, path: str | Path, report: going.Report | None = None) -> Iterator[Tree]:
        """The trees; nodes inside them have no line."""
        reader = _Reader(self.labels == "yes", path)
        return going.parsed(reader.parse, reader.texts(report), report)

    def rows(self, records: Iterable[Tree]) -> Iterator[str]:
        """One line a tree."""
        for tree in records:
            yield to_text(tree, self.spacing)


class _Reader:
    """One pass over a file."""

    def __init__(self, labelled: bool, path: str | Path) -> None:
        self.labelled, self.path = labelled, path

    def texts(self, report: going.Report | None) -> Iterator[tuple[int, list[str]]]:
        """The lines of one tree after another, each with the number of the first, cut where brackets are balanced."""
        held, begun, depth = [], 0, 0
        for number, line in lines.lines(self.path):
            if not held and not line.strip(" \t\r"):
                continue
            begun = begun if held else number
            held.append(line)
            depth += line.count("(") - line.count(")")
            if depth <= 0:
                yield begun, held
                held, depth = [], 0
        if held:
            do = f"give it {depth} more closing bracket{'s' * (depth > 1)}"
            error = FirthError("a bracket that never closes", where=lines.at(self.path, begun), do=do)
            if report is None:
                raise error
            report(error)

    def parse(self, unit: tuple[int, list[str]]) -> Tree:
        begun, held = unit
        open_nodes: list[_Node] = []
        done: Tree | None = None
        for number, line in enumerate(held, begun):
            for token in TOKEN.findall(line):
                if done is not None or (not open_nodes and token != "("):
                    raise self._unbalanced(token, number, done)
                if token == "(":
                    open_nodes.append(_Node())
                elif token == ")":
                    tree = self._close(open_nodes.pop(), number, begun if not open_nodes else 0)
                    if open_nodes:
                        open_nodes[-1].children.append(tree)
                    else:
                        done = tree
                else:
                    self._word(open_nodes[-1], token)
        if done is None:  # not in a file: `texts` cuts where brackets are balanced
            what = "a bracket that never closes" if open_nodes else "no brackets"
            raise FirthError(what, where=lines.at(self.path, begun), do="write a tree such as (S (NP Ann) (VP sings))")
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
            raise FirthError(what, where=lines.at(self.path, number), do=do)
        only = children[0]
        if node.label is not None and len(children) == 1 and only.word is not None and not only.label:
            return Tree(label, (), only.word, line)
        return Tree(label, tuple(children), None, line)

    def _unbalanced(self, token: str, number: int, done: Tree | None) -> FirthError:
        where = lines.at(self.path, number)
        if token == "(":
            return FirthError("two trees on one line", where=where, do="give every tree a line of its own")
        if token == ")":
            return FirthError("a closing bracket without an opening one", where=where, do="remove it")
        what = f"{token[:20]!r} {'after' if done else 'outside of'} a tree"
        return FirthError(what, where=where, do="put it into brackets, or remove it")


class _Node:
    """A bracket that is still open."""

    __slots__ = ("children", "label")

    def __init__(self) -> None:
        self.label: str | None = None
        self.children: list[Tree] = []


def from_text(text: str) -> Tree:
    """A tree from its brackets."""
    return _Reader(True, "brackets").parse((1, [text]))


# --- what is done with trees ----------------------------------------------------------------------------------------


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


def tagged(tree: Tree) -> list[tuple[str, str]]:
    """The words with the labels just above them."""
    return [(node.word, node.label) for node in nodes(tree) if node.word is not None]


def spans(tree: Tree) -> list[tuple[int, int, str]]:
    """Start, end and label of each constituent with children, each before those inside it."""
    found: list[tuple[int, int, str]] = []
    stack: list[tuple[Tree, int]] = [(tree, -1)]  # a place in `found` instead of -1: the node ends here
    word = 0
    while stack:
        node, place = stack.pop()
        if place >= 0:
            found[place] = (found[place][0], word, node.label)
        elif node.word is not None:
            word += 1
        else:
            found.append((word, word, node.label))
            stack.append((node, len(found) - 1))
            stack.extend((child, -1) for child in reversed(node.children))
    return found


def strip(tree: Tree) -> Tree | None:
    """Without traces (-NONE-, and what they leave empty) and functional tags (NP-SBJ-1: NP); none if all goes."""

    def combine(node: Tree, children: list[Tree | None]) -> Tree | None:
        if node.word is not None:
            return None if node.label == TRACE else node._replace(label=plain(node.label))
        kept = tuple(child for child in children if child is not None)
        return Tree(plain(node.label), kept, None, node.line) if kept else None

    return fold(tree, combine)


def plain(label: str) -> str:
    """A label without its functional tags; those that begin with a dash (-LRB-) stay."""
    return label if label.startswith("-") else re.split("[-=]", label, maxsplit=1)[0]


def binarise(tree: Tree, mark: str = "@") -> Tree:
    """At most two children a node: further ones go into nodes of the same label with a mark before it."""

    def combine(node: Tree, children: list[Tree]) -> Tree:
        rest = list(children)
        while len(rest) > 2:
            last = (rest.pop(-2), rest.pop())
            rest.append(Tree(mark + node.label, last))
        return node._replace(children=tuple(rest))

    return fold(tree, combine)


def unbinarise(tree: Tree, mark: str = "@") -> Tree:
    """The tree that was binarised."""

    def combine(node: Tree, children: list[Tree]) -> Tree:
        helper = mark + node.label.removeprefix(mark)
        if children and children[-1].label == helper and children[-1].children:
            children = [*children[:-1], *children[-1].children]
        return node._replace(children=tuple(children))

    return fold(tree, combine)


def to_text(tree: Tree, spacing: str = "tight") -> str:
    """The tree in brackets, on one line."""
    pieces: list[str] = []
    stack: list[Tree | str] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            pieces.append(node)
        elif node.word is not None and not node.label:
            pieces.append(node.word)
        else:
            head, end = _brackets(node, spacing)
            inside = node.children or (Tree("", (), node.word or ""),)
            pieces.append(head)
            stack.append(end)
            for place in range(len(inside) - 1, -1, -1):
                stack.append(inside[place])
                if place:
                    stack.append(" ")
    return "".join(pieces)


def _brackets(node: Tree, spacing: str) -> tuple[str, str]:
    if spacing == "wide":
        return f"( {node.label} " if node.label else "( ", " )"
    if node.label:
        return f"({node.label} ", ")"
    return "( " if spacing == "outer" else "(", ")"
