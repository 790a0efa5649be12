"""Pictures of how a text was written: where the network looked, and what it searched through."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firth.report.heatmap import heatmap
from firth.report.tree import beam_tree, of_search

if TYPE_CHECKING:
    from firth.families.translating import Asked, TranslatingModel


def draw_looks(model: TranslatingModel, read: str, written: str, path: str) -> None:
    """A heat map of where the model looks in one text while it writes another."""
    (found,) = model.align([read], [written])
    heatmap(found.written, found.read, found.weights, title="Where it looked").save(path)


def draw_search(model: TranslatingModel, text: str, asked: Asked, path: str) -> None:
    """The tree of a beam search for what is written for a text."""
    searched = model.searched(text, asked)
    nodes = of_search(searched.trees[0], model.spelled)
    beam_tree(nodes, title=text).save(path)
