"""Plots of a generated text: its attention weights as a heat map, its beam search as a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firth.report.beam_tree import beam_tree, search_nodes
from firth.report.heatmap import heatmap

if TYPE_CHECKING:
    from firth.pipelines.translate import TranslateOptions, TranslationModel


def plot_attention(model: TranslationModel, source: str, target: str, path: str) -> None:
    """A heat map of the cross attention weights of target words over source words."""
    (attention,) = model.align([source], [target])
    heatmap(attention.target, attention.source, attention.weights, title="Attention weights").save(path)


def plot_search_tree(model: TranslationModel, text: str, options: TranslateOptions, path: str) -> None:
    """The tree of the beam search for the target of a source text."""
    result = model.search(text, options)
    nodes = search_nodes(result.trees[0], model.token_text)
    beam_tree(nodes, title=text).save(path)
