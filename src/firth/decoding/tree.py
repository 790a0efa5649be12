"""The tree of a search: what was looked at, and what became of it. Plain data, to be drawn or written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from firth.decoding.scoring import Hypothesis

Fate = Literal["kept", "pruned", "ended"]


class Node(NamedTuple):
    """A token after those of its parent."""

    token: int
    log_probability: float  # of the token, under the model itself
    total: float  # of the path from the root: what the step chose by
    parent: int  # the number of its node; -1: the beginning
    step: int  # from 1
    fate: Fate


@dataclass
class Tree:
    """The nodes of one input's search, parents before their children."""

    nodes: list[Node] = field(default_factory=list)
    best: list[int] = field(default_factory=list)  # where the hypotheses end that were returned, in their order

    def path(self, node: int) -> list[int]:
        """The nodes from the beginning to this one."""
        found = []
        while node >= 0:
            found.append(node)
            node = self.nodes[node].parent
        return found[::-1]

    def tokens(self, node: int) -> list[int]:
        """The tokens from the beginning to this node."""
        return [self.nodes[at].token for at in self.path(node)]


class Grown(NamedTuple):
    """What one step looked at for one input, best first."""

    parents: list[int]  # slots of the beam
    tokens: list[int]
    log_probabilities: list[float]
    totals: list[float]
    ended: list[bool]
    kept: list[int]  # the places in these lists that go on, by their new slots


class Trees:
    """Trees of some inputs while they grow."""

    def __init__(self, inputs: int) -> None:
        self.trees = [Tree() for _ in range(inputs)]
        self._at = [[-1] for _ in range(inputs)]  # the node in each slot of the beam

    def grow(self, number: int, step: int, grown: Grown, end: int) -> None:
        """Add a step's nodes to an input's tree. What cannot be is not shown."""
        tree, at, kept, made = self.trees[number], self._at[number], set(grown.kept), []
        for place, (parent, token) in enumerate(zip(grown.parents, grown.tokens, strict=True)):
            made.append(len(tree.nodes))
            if grown.totals[place] == float("-inf"):
                continue
            going = place in kept and token != end
            fate: Fate = "ended" if grown.ended[place] else "kept" if going else "pruned"
            told = (token, grown.log_probabilities[place], grown.totals[place], at[parent], step, fate)
            tree.nodes.append(Node(*told))
        self._at[number] = [made[place] for place in grown.kept]

    def finish(self, found: Sequence[Sequence[Hypothesis]], end: int) -> list[Tree]:
        """The trees, with where the hypotheses end that were returned."""
        for tree, hypotheses in zip(self.trees, found, strict=True):
            ends = {tuple(tree.tokens(n)): n for n, node in enumerate(tree.nodes) if node.fate != "pruned"}
            tree.best = [ends.get((*each.ids, *[end] * each.ended), -1) for each in hypotheses]
        return self.trees
