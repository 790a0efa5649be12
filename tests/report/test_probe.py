"""The scatter plot of two prompts: where words stand, labels that never collide, and the files."""

from xml.etree import ElementTree

import numpy as np
import pytest

from firth.report import probe
from firth.report.labels import crosses, overlap
from firth.report.probe import LOOKS, Point, scatter
from firth.report.scene import Area, Dot

DRAWS = np.random.default_rng(0)


def crowd(count, spread=2.0):
    """Words that stand close together."""
    chances = np.exp(-6 + spread * DRAWS.normal(size=(count, 2)))
    sides = [("both", "a", "b")[(abs(a / b) > 2) * 1 + (a < b / 2) * (1 if b > 2 * a else 0)] for a, b in chances]
    return [
        Point(f"word{n}", float(a), float(b), side) for n, ((a, b), side) in enumerate(zip(chances, sides, strict=True))
    ]


@pytest.mark.parametrize(("count", "spread"), [(12, 2.0), (90, 2.0), (90, 0.3)])
def test_labels_cover_neither_each_other_nor_a_mark_nor_the_diagonal(count, spread):
    points = crowd(count, spread)
    drawing = probe._Drawing("one", "two", points, 820.0)
    boxes = np.array([label.box for label in drawing.labels if label])
    assert len(boxes) > count // 4
    assert overlap(boxes, boxes).sum() == len(boxes)  # each only itself
    marks = np.array([(x - 3, y - 3, x + 3, y + 3) for x, y in drawing.at])
    assert not overlap(boxes, marks).any()
    assert not crosses(np.array([[*drawing.diagonal[0], *drawing.diagonal[1]]]), boxes).any()


def test_words_stand_where_their_probabilities_are():
    points = [Point("same", 0.01, 0.01, "both"), Point("left", 0.1, 0.001, "a"), Point("none", 0.0, 0.1, "b")]
    drawing = probe._Drawing("one", "two", points, 620.0)
    box, (same, left, none) = drawing.panel.box, drawing.at
    (x0, y0), (x1, y1) = drawing.diagonal
    assert (same[0] - x0) / (x1 - x0) == pytest.approx((same[1] - y0) / (y1 - y0))  # on the diagonal
    assert left[0] > same[0] > none[0] and left[1] > same[1] > none[1]  # y grows downwards
    assert left[0] - same[0] == pytest.approx(left[1] - same[1])  # ten times more, ten times less
    assert none[0] == box.left


def test_every_word_has_its_mark_and_is_named():
    points = crowd(40)
    figure = scatter("A <b>", "B & c", points, "a note")
    marks = [shape for shape in figure.scene.shapes if isinstance(shape, (Dot, Area)) and shape.about]
    assert [mark.about.split(":")[0] for mark in marks] == [point.text for point in points]
    assert {type(mark) for mark in marks} == {Dot, Area} and len(figure.rows) == 40
    assert figure.dropped == sum(not row["labelled"] for row in figure.rows) <= 2
    texts = "".join(ElementTree.fromstring(figure.svg()).itertext())
    assert "A <b>" in texts and "B & c" in texts and "a note" in texts
    assert all(f"word{n}" in texts for n in range(40))


def test_the_files_are_whole_and_escaped(tmp_path):
    figure = scatter("<i>one", "two", [Point("<b>&", 0.5, 0.25, "a"), Point("no", 0.0, 0.1, "b")], "note")
    for name in ("p.svg", "p.html"):
        assert figure.save(tmp_path / name) == []
        text = (tmp_path / name).read_text()
        assert "<b>" not in text and "<i>" not in text and "<script" not in text and "&lt;b&gt;&amp;" in text
    assert figure.rows[1]["log p with a"] is None and set(LOOKS) == {"a", "b", "both"}


def test_one_word_is_a_picture_too():
    assert "alone" in scatter("one", "two", [Point("alone", 0.5, 0.5, "both")], "").svg()
