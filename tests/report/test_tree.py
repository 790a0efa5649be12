"""The tree of a beam search: where nodes stand, that edges meet neither each other nor a text, the files."""

import random
from xml.etree import ElementTree

import numpy as np
import pytest

from firth.decoding import tree as search
from firth.errors import FirthError
from firth.report.labels import crosses, meet, overlap, text_width
from firth.report.scene import Area, Dot, Line, Text
from firth.report.tree import Node, beam_tree, of_search

WORDS = ["the", "Donaudampfschifffahrtsgesellschaft", "猫", "<b>&amp;", "القط", "a", ",", "[END]"]


def grown(width, steps, branches, seed=0):
    """The nodes of a made-up search."""
    draws = random.Random(seed)
    nodes, live, ends = [Node(0, None, "[START]", 0.0, 0, "kept")], [(0.0, 0)], []
    for step in range(1, steps + 1):
        found = sorted(((total + (own := -draws.expovariate(1)), parent, own) for total, parent in live
                        for _ in range(branches)), reverse=True)  # fmt: skip
        live = []
        for place, (total, parent, own) in enumerate(found):
            state = "pruned" if place >= width else "ended" if step == steps or draws.random() < 0.1 else "kept"
            nodes.append(Node(len(nodes), parent, draws.choice(WORDS), own, step, state))
            (live if state == "kept" else ends if state == "ended" else []).append((total, nodes[-1].id))
        if not live:
            break
    best, on = max(ends)[1], set()
    while best is not None:
        on.add(best)
        best = nodes[best].parent
    return [node._replace(best=node.id in on) for node in nodes]


def segments(figure):
    """The edges (n, 4), without the line of the legend."""
    lines = [shape for shape in figure.scene.shapes if isinstance(shape, Line)][1:]
    return lines, np.array([(*line.points[0], *line.points[-1]) for line in lines])


def boxes(figure):
    """Around all texts of nodes, as wide as they can be."""
    found = []
    for text in [shape for shape in figure.scene.shapes if isinstance(shape, Text)][5:]:
        wide = text_width(text.text, text.size)
        left = text.x - (wide if text.align == "end" else 0.0)
        found.append((left, text.y - 0.8 * text.size, left + wide, text.y + 0.2 * text.size))
    return np.array(found)


@pytest.mark.parametrize(("width", "steps", "branches"), [(1, 1, 1), (2, 4, 3), (5, 12, 5), (3, 40, 2)])
def test_edges_cross_neither_each_other_nor_a_text_and_texts_do_not_collide(width, steps, branches):
    nodes = grown(width, steps, branches)
    figure = beam_tree(nodes)
    lines, edges = segments(figure)
    assert len(lines) == len(nodes) - 1 and not meet(edges, edges).any()
    texts = boxes(figure)
    assert len(texts) == 2 * len(nodes)
    assert not crosses(edges, texts).any() and overlap(texts, texts).sum() == len(texts)  # each only itself
    assert texts.min() >= 0 and texts[:, 2].max() <= figure.scene.width and texts[:, 3].max() <= figure.scene.height


def test_steps_go_to_the_right_and_the_more_probable_stand_higher():
    nodes = grown(3, 6, 3)
    marks = [shape for shape in beam_tree(nodes).scene.shapes if isinstance(shape, (Dot, Area)) and shape.about]
    at = {node.id: ((shape.x, shape.y) if isinstance(shape, Dot) else tuple(np.mean(shape.points, 0)))
          for node, shape in zip(nodes, marks, strict=True)}  # fmt: skip
    for one in nodes:
        for two in nodes:
            if one.step < two.step:
                assert at[one.id][0] < at[two.id][0]
            elif one.id != two.id and one.parent == two.parent and one.log_probability > two.log_probability:
                assert at[one.id][1] < at[two.id][1]


def test_the_best_path_is_thick_and_whole():
    nodes = grown(3, 6, 3)
    lines, edges = segments(beam_tree(nodes))
    thick = np.array([line.width > 2 for line in lines])
    assert thick.sum() == sum(node.best for node in nodes) - 1
    path = edges[thick][np.argsort(edges[thick][:, 0])]
    np.testing.assert_allclose(path[1:, 1], path[:-1, 3])  # each goes on at the height where the last ended
    assert {line.colour for line, best in zip(lines, thick, strict=True) if best} == {"group 2"}


def test_totals_are_sums_along_the_path():
    rows = {row["id"]: row for row in beam_tree(grown(2, 5, 2)).rows}
    for row in rows.values():
        before = 0.0 if row["parent"] is None else rows[row["parent"]]["total"]
        assert row["total"] == pytest.approx(before + row["log p"])


def test_several_first_tokens_follow_a_start():
    nodes = [Node(3, None, "a", -0.1, 1, "ended", True), Node(4, None, "b", -2.0, 1, "pruned")]
    figure = beam_tree(nodes)
    assert len(segments(figure)[0]) == 2 and len(figure.rows) == 2
    assert "start" in [shape.text for shape in figure.scene.shapes if isinstance(shape, Text)]


def test_the_tree_of_a_search_can_be_drawn():
    nodes = [search.Node(7, -0.5, -0.5, -1, 1, "kept"), search.Node(8, -1.5, -1.5, -1, 1, "pruned"),
             search.Node(2, -0.1, -0.6, 0, 2, "ended")]  # fmt: skip
    found = of_search(search.Tree(nodes, [2]), {7: "the", 8: "a", 2: "[END]"}.__getitem__)
    assert found == [Node(0, None, "the", -0.5, 1, "kept", True), Node(1, None, "a", -1.5, 1, "pruned"),
                     Node(2, 0, "[END]", -0.1, 2, "ended", True)]  # fmt: skip
    assert "[END]" in beam_tree(found).svg()
    assert not any(node.best for node in of_search(search.Tree(nodes), str))


def test_the_files_are_whole_and_escaped(tmp_path):
    figure = beam_tree(grown(3, 5, 3), "<i>title</i>", "a <note>")
    for ending in ("svg", "html", "png"):
        figure.save(tmp_path / f"t.{ending}")
        assert (tmp_path / f"t.{ending}").stat().st_size > 500
    for ending in ("svg", "html"):
        text = (tmp_path / f"t.{ending}").read_text()
        assert "<b>" not in text and "<i>" not in text and "<script" not in text
    told = "".join(ElementTree.fromstring(figure.svg()).itertext())
    assert "<b>&amp;" in told and "a <note>" in told
    assert "width:" in figure.piece()  # a page leaves it as wide as it is


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ([], "a tree without nodes; ask the search to return its tree"),
        ([Node(0, None, "a", 0.0, 0, "kept")] * 2, "two nodes of a tree have the same id"),
        ([Node(0, None, "a", 0.0, 0, "lost")], "unknown state of a node 'lost'"),
        ([Node(0, 5, "a", 0.0, 0, "kept")], "node 0 does not follow its parent 5"),
        ([Node(0, 1, "a", 0.0, 1, "kept"), Node(1, 0, "b", 0.0, 1, "kept")], "node 0 does not follow its parent 1"),
        ([Node(0, None, "a", 0.0, 0, "kept"), Node(1, None, "b", 0.0, 3, "kept")], "without a parent at several steps"),
        (
            [Node(n, n - 1 if n else None, "a", 0.0, n, "kept") for n in range(300)],
            "too large to draw; draw fewer",
        ),
    ],
)
def test_bad_input(nodes, said):
    with pytest.raises(FirthError) as caught:
        beam_tree(nodes)
    assert said in str(caught.value)
