"""The search tree of a beam search: positions of nodes, edges that cross neither each other nor a text, the files."""

import random
from xml.etree import ElementTree

import numpy as np
import pytest

from firth.errors import FirthError
from firth.generation import search_tree as search
from firth.report.beam_tree import Node, beam_tree, search_nodes
from firth.report.drawing import Circle, Line, Polygon, Text
from firth.report.label_layout import boxes_overlap, segments_cross_boxes, segments_intersect, text_width

WORDS = ["the", "Donaudampfschifffahrtsgesellschaft", "猫", "<b>&amp;", "القط", "a", ",", "[END]"]


def random_search(width, steps, branches, seed=0):
    """The nodes of a random search."""
    rng = random.Random(seed)
    nodes, active, ended = [Node(0, None, "[START]", 0.0, 0, "kept")], [(0.0, 0)], []
    for step in range(1, steps + 1):
        expanded = [
            (total + (log_probability := -rng.expovariate(1)), parent, log_probability)
            for total, parent in active
            for _ in range(branches)
        ]
        expanded.sort(reverse=True)
        active = []
        for rank, (total, parent, log_probability) in enumerate(expanded):
            state = "pruned" if rank >= width else "ended" if step == steps or rng.random() < 0.1 else "kept"
            nodes.append(Node(len(nodes), parent, rng.choice(WORDS), log_probability, step, state))
            (active if state == "kept" else ended if state == "ended" else []).append((total, nodes[-1].id))
        if not active:
            break
    best, best_path = max(ended)[1], set()
    while best is not None:
        best_path.add(best)
        best = nodes[best].parent
    return [node._replace(best=node.id in best_path) for node in nodes]


def segments(figure):
    """The edges as lines and as segments (n, 4), without the line of the legend."""
    lines = [shape for shape in figure.drawing.shapes if isinstance(shape, Line)][1:]
    return lines, np.array([(*line.points[0], *line.points[-1]) for line in lines])


def text_boxes(figure):
    """The boxes of all texts of nodes, as wide as they can be."""
    boxes = []
    for text in [shape for shape in figure.drawing.shapes if isinstance(shape, Text)][5:]:
        width = text_width(text.text, text.size)
        left = text.x - (width if text.align == "end" else 0.0)
        boxes.append((left, text.y - 0.8 * text.size, left + width, text.y + 0.2 * text.size))
    return np.array(boxes)


@pytest.mark.parametrize(("width", "steps", "branches"), [(1, 1, 1), (2, 4, 3), (5, 12, 5), (3, 40, 2)])
def test_edges_cross_neither_each_other_nor_a_text_and_texts_do_not_overlap(width, steps, branches):
    nodes = random_search(width, steps, branches)
    figure = beam_tree(nodes)
    lines, edges = segments(figure)
    assert len(lines) == len(nodes) - 1 and not segments_intersect(edges, edges).any()
    texts = text_boxes(figure)
    assert len(texts) == 2 * len(nodes)
    assert not segments_cross_boxes(edges, texts).any() and boxes_overlap(texts, texts).sum() == len(
        texts
    )  # each only itself
    assert texts.min() >= 0 and texts[:, 2].max() <= figure.drawing.width and texts[:, 3].max() <= figure.drawing.height


def test_steps_go_to_the_right_and_more_probable_siblings_are_higher():
    nodes = random_search(3, 6, 3)
    markers = [
        shape for shape in beam_tree(nodes).drawing.shapes if isinstance(shape, (Circle, Polygon)) and shape.tooltip
    ]
    position = {node.id: ((shape.x, shape.y) if isinstance(shape, Circle) else tuple(np.mean(shape.points, 0)))
          for node, shape in zip(nodes, markers, strict=True)}  # fmt: skip
    for one in nodes:
        for two in nodes:
            if one.step < two.step:
                assert position[one.id][0] < position[two.id][0]
            elif one.id != two.id and one.parent == two.parent and one.log_probability > two.log_probability:
                assert position[one.id][1] < position[two.id][1]


def test_the_best_path_is_thick_and_whole():
    nodes = random_search(3, 6, 3)
    lines, edges = segments(beam_tree(nodes))
    thick = np.array([line.width > 2 for line in lines])
    assert thick.sum() == sum(node.best for node in nodes) - 1
    path = edges[thick][np.argsort(edges[thick][:, 0])]
    np.testing.assert_allclose(path[1:, 1], path[:-1, 3])  # each starts at the height where the last ended
    assert {line.colour for line, best in zip(lines, thick, strict=True) if best} == {"group 2"}


def test_totals_are_sums_along_the_path():
    rows = {row["id"]: row for row in beam_tree(random_search(2, 5, 2)).rows}
    for row in rows.values():
        before = 0.0 if row["parent"] is None else rows[row["parent"]]["total"]
        assert row["total"] == pytest.approx(before + row["log p"])


def test_several_first_tokens_follow_a_start():
    nodes = [Node(3, None, "a", -0.1, 1, "ended", True), Node(4, None, "b", -2.0, 1, "pruned")]
    figure = beam_tree(nodes)
    assert len(segments(figure)[0]) == 2 and len(figure.rows) == 2
    assert "start" in [shape.text for shape in figure.drawing.shapes if isinstance(shape, Text)]


def test_the_tree_of_a_search_can_be_drawn():
    nodes = [search.Node(7, -0.5, -0.5, -1, 1, "kept"), search.Node(8, -1.5, -1.5, -1, 1, "pruned"),
             search.Node(2, -0.1, -0.6, 0, 2, "ended")]  # fmt: skip
    converted = search_nodes(search.SearchTree(nodes, [2]), {7: "the", 8: "a", 2: "[END]"}.__getitem__)
    assert converted == [Node(0, None, "the", -0.5, 1, "kept", True), Node(1, None, "a", -1.5, 1, "pruned"),
                     Node(2, 0, "[END]", -0.1, 2, "ended", True)]  # fmt: skip
    assert "[END]" in beam_tree(converted).svg()
    assert not any(node.best for node in search_nodes(search.SearchTree(nodes), str))


def test_the_files_are_whole_and_escaped(tmp_path):
    figure = beam_tree(random_search(3, 5, 3), "<i>title</i>", "a <note>")
    for ending in ("svg", "html", "png"):
        figure.save(tmp_path / f"t.{ending}")
        assert (tmp_path / f"t.{ending}").stat().st_size > 500
    for ending in ("svg", "html"):
        text = (tmp_path / f"t.{ending}").read_text()
        assert "<b>" not in text and "<i>" not in text and "<script" not in text
    text_content = "".join(ElementTree.fromstring(figure.svg()).itertext())
    assert "<b>&amp;" in text_content and "a <note>" in text_content
    assert "width:" in figure.html_fragment()  # a page leaves it as wide as it is


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([], "the search tree has no nodes; have the search return its tree"),
        ([Node(0, None, "a", 0.0, 0, "kept")] * 2, "two nodes of the search tree have the same id"),
        ([Node(0, None, "a", 0.0, 0, "lost")], "unknown state of a node 'lost'"),
        ([Node(0, 5, "a", 0.0, 0, "kept")], "node 0 does not follow its parent 5"),
        ([Node(0, 1, "a", 0.0, 1, "kept"), Node(1, 0, "b", 0.0, 1, "kept")], "node 0 does not follow its parent 1"),
        ([Node(0, None, "a", 0.0, 0, "kept"), Node(1, None, "b", 0.0, 3, "kept")], "without a parent at several steps"),
        (
            [Node(n, n - 1 if n else None, "a", 0.0, n, "kept") for n in range(300)],
            "too large to draw; use fewer",
        ),
    ],
)
def test_invalid_input(nodes, message):
    with pytest.raises(FirthError) as caught:
        beam_tree(nodes)
    assert message in str(caught.value)
