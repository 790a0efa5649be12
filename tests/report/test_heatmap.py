"""The heat map: positions of cells and labels, labels that never overlap, the files."""

import io
import itertools
import math
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from firth.errors import FirthError
from firth.report.drawing import THEMES, Drawing, Line, Polygon, Text, to_svg
from firth.report.heatmap import Link, heatmap
from firth.report.label_layout import LINE_HEIGHT, text_width
from firth.report.run_page import html_page

LONG = "Donaudampfschifffahrtsgesellschaftskapitän"


def grid(rows, columns, seed=0):
    return np.random.default_rng(seed).random((rows, columns))


def shapes(figure, kind):
    return [shape for shape in figure.drawing.shapes if isinstance(shape, kind)]


def cells(figure):
    return [shape for shape in shapes(figure, Polygon) if shape.tooltip]


def labels(figure, words):
    """The labels of the rows and of the columns."""
    texts = [shape for shape in shapes(figure, Text) if shape.weight == "normal" and shape.colour == "ink"]
    assert len(texts) == words
    return [text for text in texts if not text.rotation], [text for text in texts if text.rotation]


def test_opacity_is_the_value_and_each_cell_is_in_its_place():
    values = [[0.2, 0.0, 0.8], [1.0, 0.004, 0.5]]
    by_tooltip = {shape.tooltip: shape for shape in cells(heatmap(["x", "y"], ["a", "b", "c"], values))}
    assert {tooltip: shape.opacity for tooltip, shape in by_tooltip.items()} == {
        "x ← a: 0.20": 0.2, "x ← c: 0.80": 0.8, "y ← a: 1.00": 1.0, "y ← c: 0.50": 0.5,
    }  # fmt: skip
    xa, xc, ya = (np.mean(by_tooltip[tooltip].points, 0) for tooltip in ("x ← a: 0.20", "x ← c: 0.80", "y ← a: 1.00"))
    assert xa[0] == ya[0] < xc[0] and xa[1] == xc[1] < ya[1]


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 30), (30, 3), (60, 60)])
@pytest.mark.parametrize("word", ["it", LONG, "猫が座った", "कुत्ता"])
def test_labels_overlap_neither_each_other_nor_a_cell_and_stay_in_the_figure(rows, columns, word):
    figure = heatmap([word] * rows, [word] * columns, grid(rows, columns))
    row_labels, column_labels = labels(figure, rows + columns)
    left = min(x for cell in cells(figure) for x, _ in cell.points)
    top = min(y for cell in cells(figure) for _, y in cell.points)
    line_height = row_labels[0].size * LINE_HEIGHT
    assert all(two.y - one.y >= line_height for one, two in itertools.pairwise(row_labels))
    assert all(text.x < left and text.x - text_width(text.text, text.size) >= 0 for text in row_labels)
    angle = math.radians(-column_labels[0].rotation)
    gaps = [(two.x - one.x) * math.sin(angle) for one, two in itertools.pairwise(column_labels)]
    assert all(gap >= line_height - 1e-9 for gap in gaps) and len({text.rotation for text in column_labels}) == 1
    for text in column_labels:
        width = text_width(text.text, text.size)
        assert text.y < top and text.y - width * math.sin(angle) - text.size > 30.0  # below the title
        assert text.x + width * math.cos(angle) <= figure.drawing.width


def test_gold_links_are_outlined_in_their_cells_and_distinguished():
    figure = heatmap(["x", "y"], ["a", "b"], grid(2, 2), gold=[Link(0, 1), Link(1, 0, sure=False)])
    squares = {cell.tooltip.partition(":")[0]: np.array(cell.points) for cell in cells(figure)}
    gold = [line for line in shapes(figure, Line) if line.colour == "group 2"]
    assert [line.width for line in gold[:2]] == [2.0, 0.9]
    for line, name in zip(gold, ("x ← b", "y ← a"), strict=False):
        inside = np.array(line.points)
        assert (inside > squares[name].min(0)).all() and (inside < squares[name].max(0)).all()
    texts = {shape.text for shape in shapes(figure, Text)}
    assert {"gold", "possible"} <= texts and len(gold) == 4  # two more in the legend
    assert [row["gold"] for row in figure.rows] == ["b", "a"]


def test_the_table_has_the_highest_value_of_each_target_word():
    rows = heatmap(["x", "y"], ["a", "b"], [[0.3, 0.7], [0.6, 0.4]]).rows
    assert rows == ({"target": "x", "source": "b", "value": 0.7}, {"target": "y", "source": "a", "value": 0.6})


def test_the_files_are_whole_and_escaped(tmp_path):
    figure = heatmap(["<b>&", "\n", ""], ['"quoted"', "]]>\x00"], grid(3, 2), "<i>title</i>", "a <note>")
    for name in ("h.svg", "h.html"):
        assert figure.save(tmp_path / name) == []
        text = (tmp_path / name).read_text()
        assert "<b>" not in text and "<i>" not in text and "<script" not in text and "&lt;b&gt;&amp;" in text
    text_content = "".join(ElementTree.fromstring(figure.svg()).itertext())
    assert (
        "<b>&" in text_content and "<i>title</i>" in text_content and "a <note>" in text_content and "␣" in text_content
    )
    page = html_page("report", [figure.html_fragment(), heatmap(["x"], ["y"], [[0.5]]).html_fragment()])
    assert page.count("<svg") == page.count("</svg>") == 2 and page.count('<div class="scroll"><svg') == 2


def test_png_blends_opacity_as_svg_does():
    def middle(opacity):
        square = Polygon(((0, 0), (20, 0), (20, 20), (0, 20)), "group 1", "", opacity)
        drawing = Drawing(20, 20, "", (square,))
        from firth.report.png import to_png

        return np.array(Image.open(io.BytesIO(to_png(drawing))).getpixel((20, 20))), to_svg(drawing)

    full, half, none = (middle(opacity) for opacity in (1.0, 0.5, 0.0))
    background, colour = (
        [int(THEMES["light"][name][n : n + 2], 16) for n in (1, 3, 5)] for name in ("paper", "group 1")
    )
    assert full[0].tolist() == colour and none[0].tolist() == background
    assert np.abs(half[0] - (np.array(background) + colour) / 2).max() <= 1
    assert "fill-opacity" not in full[1] and 'fill-opacity="0.5"' in half[1]


@pytest.mark.parametrize("align", ["start", "middle", "end"])
def test_rotated_text_in_png_is_the_rotated_image(align):
    from firth.report.png import to_png

    def ink(rotation):
        drawing = Drawing(200, 200, "", (Text(100, 100, "Alignment", 16.0, align=align, rotation=rotation),))
        image = np.array(Image.open(io.BytesIO(to_png(drawing))).convert("L"))
        return image < 128

    plain, rotated = ink(0.0), ink(-90.0)
    assert plain.sum() > 100
    position, expected = (np.argwhere(each).mean(0) for each in (rotated, np.rot90(plain)))
    assert np.abs(position - expected).max() < 3
    assert 0.8 < rotated.sum() / plain.sum() < 1.2


def test_a_small_heatmap_is_a_figure_in_every_format(tmp_path):
    figure = heatmap(["ja"], ["yes"], np.array([[1.0]], np.float32))
    for ending in ("svg", "html", "png"):
        figure.save(tmp_path / f"h.{ending}")
        assert (tmp_path / f"h.{ending}").stat().st_size > 500


@pytest.mark.parametrize(
    ("values", "gold", "message"),
    [
        ([[0.1, 0.2]], (), "values of 1 × 2 for 2 target and 2 source words"),
        ([[0.1, 0.2], [0.3, 1.5]], (), "a value is not between 0 and 1"),
        ([[0.1, 0.2], [0.3, math.nan]], (), "a value is not between 0 and 1"),
        ([[0.1, 0.2], [0.3, 0.4]], [Link(2, 0)], "the gold link 2-0 is out of range; count words from 0"),
    ],
)
def test_invalid_input(values, gold, message):
    with pytest.raises(FirthError) as caught:
        heatmap(["x", "y"], ["a", "b"], values, gold=gold)
    assert message in str(caught.value)
    with pytest.raises(FirthError, match="values of"):
        heatmap([], ["a"], np.empty((0, 1)))
