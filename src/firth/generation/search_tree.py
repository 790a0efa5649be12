"""The tree of a beam search: every candidate of every step and whether it was kept, pruned or ended. Plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from firth.generation.hypothesis_scores import Hypothesis

NodeStatus = Literal["kept", "pruned", "ended"]


class Node(NamedTuple):
    """A token after those of its parent."""

    token: int
    log_probability: float  # of the token, under the model itself
    total: float  # of the path from the root, penalties included: what the step selects by
    parent: int  # the index of its node; -1: the root
    step: int  # from 1
    status: NodeStatus


@dataclass
class SearchTree:
    """The nodes of one input's search, parents before their children."""

    nodes: list[Node] = field(default_factory=list)
    best: list[int] = field(default_factory=list)  # last nodes of the returned hypotheses, in their order

    def path(self, node: int) -> list[int]:
        """The nodes from the root to this one."""
        path = []
        while node >= 0:
            path.append(node)
            node = self.nodes[node].parent
        return path[::-1]

    def tokens(self, node: int) -> list[int]:
        """The tokens from the root to this node."""
        return [self.nodes[index].token for index in self.path(node)]


class Expansion(NamedTuple):
    """The candidates of one step for one input, best first."""

    parents: list[int]  # beams that they extend
    tokens: list[int]
    log_probabilities: list[float]
    totals: list[float]
    ended: list[bool]
    survivors: list[int]  # indices of the candidates that continue, by their new beams


class SearchTreeBuilder:
    """Builds the search trees of a batch, step by step."""

    def __init__(self, inputs: int) -> None:
        self.trees = [SearchTree() for _ in range(inputs)]
        self._node_of_beam = [[-1] for _ in range(inputs)]

    def expand(self, number: int, step: int, expansion: Expansion, end: int) -> None:
        """Add a step's nodes to the tree of input `number`. Impossible candidates are left out."""
        tree, node_of_beam = self.trees[number], self._node_of_beam[number]
        survivors, nodes = set(expansion.survivors), []
        for index, (parent, token) in enumerate(zip(expansion.parents, expansion.tokens, strict=True)):
            nodes.append(len(tree.nodes))
            total = expansion.totals[index]
            if total == float("-inf"):
                continue
            kept = index in survivors and token != end
            status: NodeStatus = "ended" if expansion.ended[index] else "kept" if kept else "pruned"
            log_probability = expansion.log_probabilities[index]
            tree.nodes.append(Node(token, log_probability, total, node_of_beam[parent], step, status))
        self._node_of_beam[number] = [nodes[index] for index in expansion.survivors]

    def finish(self, results: Sequence[Sequence[Hypothesis]], end: int) -> list[SearchTree]:
        """The trees, with the last nodes of the returned hypotheses."""
        for tree, hypotheses in zip(self.trees, results, strict=True):
            leaves = {tuple(tree.tokens(n)): n for n, node in enumerate(tree.nodes) if node.status != "pruned"}
            tree.best = [leaves.get((*each.ids, *[end] * each.ended), -1) for each in hypotheses]
        return self.trees
