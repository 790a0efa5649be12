"""The scatter plot of two prompts: positions of words, labels that never overlap, and the files."""

from xml.etree import ElementTree

import numpy as np
import pytest

from firth.report import prompt_plot
from firth.report.drawing import Circle, Polygon
from firth.report.label_layout import boxes_overlap, segments_cross_boxes
from firth.report.prompt_plot import SIDE_STYLES, Point, scatter_plot

RNG = np.random.default_rng(0)


def random_points(count, spread=2.0):
    """Words that are close together."""
    probabilities = np.exp(-6 + spread * RNG.normal(size=(count, 2)))
    sides = [("both", "a", "b")[(abs(a / b) > 2) * 1 + (a < b / 2) * (1 if b > 2 * a else 0)] for a, b in probabilities]
    return [
        Point(f"word{n}", float(a), float(b), side)
        for n, ((a, b), side) in enumerate(zip(probabilities, sides, strict=True))
    ]


@pytest.mark.parametrize(("count", "spread"), [(12, 2.0), (90, 2.0), (90, 0.3)])
def test_labels_overlap_neither_each_other_nor_a_marker_nor_the_diagonal(count, spread):
    points = random_points(count, spread)
    layout = prompt_plot._ScatterLayout("one", "two", points, 820.0)
    boxes = np.array([label.box for label in layout.labels if label])
    assert len(boxes) > count // 4
    assert boxes_overlap(boxes, boxes).sum() == len(boxes)  # each only itself
    markers = np.array([(x - 3, y - 3, x + 3, y + 3) for x, y in layout.positions])
    assert not boxes_overlap(boxes, markers).any()
    assert not segments_cross_boxes(np.array([[*layout.diagonal[0], *layout.diagonal[1]]]), boxes).any()


def test_words_are_at_their_probabilities():
    points = [Point("same", 0.01, 0.01, "both"), Point("left", 0.1, 0.001, "a"), Point("none", 0.0, 0.1, "b")]
    layout = prompt_plot._ScatterLayout("one", "two", points, 620.0)
    box, (same, left, none) = layout.panel.box, layout.positions
    (x0, y0), (x1, y1) = layout.diagonal
    assert (same[0] - x0) / (x1 - x0) == pytest.approx((same[1] - y0) / (y1 - y0))  # on the diagonal
    assert left[0] > same[0] > none[0] and left[1] > same[1] > none[1]  # y grows downwards
    assert left[0] - same[0] == pytest.approx(left[1] - same[1])  # ten times more, ten times less
    assert none[0] == box.left


def test_every_word_has_a_marker_and_a_label():
    points = random_points(40)
    figure = scatter_plot("A <b>", "B & c", points, "a note")
    markers = [shape for shape in figure.drawing.shapes if isinstance(shape, (Circle, Polygon)) and shape.tooltip]
    assert [marker.tooltip.split(":")[0] for marker in markers] == [point.text for point in points]
    assert {type(marker) for marker in markers} == {Circle, Polygon} and len(figure.rows) == 40
    assert figure.dropped_labels == sum(not row["labelled"] for row in figure.rows) <= 2
    texts = "".join(ElementTree.fromstring(figure.svg()).itertext())
    assert "A <b>" in texts and "B & c" in texts and "a note" in texts
    assert all(f"word{n}" in texts for n in range(40))


def test_the_files_are_whole_and_escaped(tmp_path):
    figure = scatter_plot("<i>one", "two", [Point("<b>&", 0.5, 0.25, "a"), Point("no", 0.0, 0.1, "b")], "note")
    for name in ("p.svg", "p.html"):
        assert figure.save(tmp_path / name) == []
        text = (tmp_path / name).read_text()
        assert "<b>" not in text and "<i>" not in text and "<script" not in text and "&lt;b&gt;&amp;" in text
    assert figure.rows[1]["log p with a"] is None and set(SIDE_STYLES) == {"a", "b", "both"}


def test_one_word_is_a_figure_too():
    assert "alone" in scatter_plot("one", "two", [Point("alone", 0.5, 0.5, "both")], "").svg()
