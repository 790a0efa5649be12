"""The heat map: where squares and words stand, labels that never collide, the files."""

import io
import itertools
import math
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from firth.errors import FirthError
from firth.report.heatmap import Link, heatmap
from firth.report.labels import HEIGHT, text_width
from firth.report.page import sheet
from firth.report.scene import THEMES, Area, Line, Scene, Text, to_svg

LONG = "Donaudampfschifffahrtsgesellschaftskapitän"


def grid(rows, columns, seed=0):
    return np.random.default_rng(seed).random((rows, columns))


def shapes(figure, kind):
    return [shape for shape in figure.scene.shapes if isinstance(shape, kind)]


def cells(figure):
    return [shape for shape in shapes(figure, Area) if shape.about]


def labels(figure, words):
    """The texts that are words, the rows' and the columns'."""
    found = [shape for shape in shapes(figure, Text) if shape.weight == "normal" and shape.colour == "ink"]
    assert len(found) == words
    return [text for text in found if not text.turn], [text for text in found if text.turn]


def test_the_stronger_the_nearer_to_one_and_each_in_its_place():
    values = [[0.2, 0.0, 0.8], [1.0, 0.004, 0.5]]
    found = {shape.about: shape for shape in cells(heatmap(["x", "y"], ["a", "b", "c"], values))}
    assert {about: shape.strength for about, shape in found.items()} == {
        "x ← a: 0.20": 0.2, "x ← c: 0.80": 0.8, "y ← a: 1.00": 1.0, "y ← c: 0.50": 0.5,
    }  # fmt: skip
    xa, xc, ya = (np.mean(found[about].points, 0) for about in ("x ← a: 0.20", "x ← c: 0.80", "y ← a: 1.00"))
    assert xa[0] == ya[0] < xc[0] and xa[1] == xc[1] < ya[1]


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 30), (30, 3), (60, 60)])
@pytest.mark.parametrize("word", ["it", LONG, "猫が座った", "कुत्ता"])
def test_labels_cover_neither_each_other_nor_a_square_and_stay_on_the_paper(rows, columns, word):
    figure = heatmap([word] * rows, [word] * columns, grid(rows, columns))
    beside, above = labels(figure, rows + columns)
    left = min(x for cell in cells(figure) for x, _ in cell.points)
    top = min(y for cell in cells(figure) for _, y in cell.points)
    high = beside[0].size * HEIGHT
    assert all(two.y - one.y >= high for one, two in itertools.pairwise(beside))
    assert all(text.x < left and text.x - text_width(text.text, text.size) >= 0 for text in beside)
    turn = math.radians(-above[0].turn)
    apart = [(two.x - one.x) * math.sin(turn) for one, two in itertools.pairwise(above)]
    assert all(gap >= high - 1e-9 for gap in apart) and len({text.turn for text in above}) == 1
    for text in above:
        reach = text_width(text.text, text.size)
        assert text.y < top and text.y - reach * math.sin(turn) - text.size > 30.0  # below the title
        assert text.x + reach * math.cos(turn) <= figure.scene.width


def test_gold_links_are_outlined_in_their_cells_and_told_apart():
    figure = heatmap(["x", "y"], ["a", "b"], grid(2, 2), gold=[Link(0, 1), Link(1, 0, sure=False)])
    squares = {cell.about.partition(":")[0]: np.array(cell.points) for cell in cells(figure)}
    gold = [line for line in shapes(figure, Line) if line.colour == "group 2"]
    assert [line.width for line in gold[:2]] == [2.0, 0.9]
    for line, name in zip(gold, ("x ← b", "y ← a"), strict=False):
        inside = np.array(line.points)
        assert (inside > squares[name].min(0)).all() and (inside < squares[name].max(0)).all()
    texts = {shape.text for shape in shapes(figure, Text)}
    assert {"gold", "possible"} <= texts and len(gold) == 4  # two more in the legend
    assert [row["gold"] for row in figure.rows] == ["b", "a"]


def test_the_table_says_where_each_word_looked_most():
    rows = heatmap(["x", "y"], ["a", "b"], [[0.3, 0.7], [0.6, 0.4]]).rows
    assert rows == ({"written": "x", "read": "b", "value": 0.7}, {"written": "y", "read": "a", "value": 0.6})


def test_the_files_are_whole_and_escaped(tmp_path):
    figure = heatmap(["<b>&", "\n", ""], ['"quoted"', "]]>\x00"], grid(3, 2), "<i>title</i>", "a <note>")
    for name in ("h.svg", "h.html"):
        assert figure.save(tmp_path / name) == []
        text = (tmp_path / name).read_text()
        assert "<b>" not in text and "<i>" not in text and "<script" not in text and "&lt;b&gt;&amp;" in text
    told = "".join(ElementTree.fromstring(figure.svg()).itertext())
    assert "<b>&" in told and "<i>title</i>" in told and "a <note>" in told and "␣" in told
    page = sheet("report", [figure.piece(), heatmap(["x"], ["y"], [[0.5]]).piece()])
    assert page.count("<svg") == page.count("</svg>") == 2 and "overflow-x:auto" in page


def test_in_png_the_paper_shows_through_as_in_svg():
    def middle(strength):
        square = Area(((0, 0), (20, 0), (20, 20), (0, 20)), "group 1", "", strength)
        scene = Scene(20, 20, "", (square,))
        from firth.report.raster import to_png

        return np.array(Image.open(io.BytesIO(to_png(scene))).getpixel((20, 20))), to_svg(scene)

    full, half, none = (middle(strength) for strength in (1.0, 0.5, 0.0))
    paper, colour = ([int(THEMES["light"][role][n : n + 2], 16) for n in (1, 3, 5)] for role in ("paper", "group 1"))
    assert full[0].tolist() == colour and none[0].tolist() == paper
    assert np.abs(half[0] - (np.array(paper) + colour) / 2).max() <= 1
    assert "fill-opacity" not in full[1] and 'fill-opacity="0.5"' in half[1]


@pytest.mark.parametrize("align", ["start", "middle", "end"])
def test_in_png_turned_text_stands_where_a_turn_of_the_picture_puts_it(align):
    from firth.report.raster import to_png

    def ink(turn):
        scene = Scene(200, 200, "", (Text(100, 100, "Alignment", 16.0, align=align, turn=turn),))
        picture = np.array(Image.open(io.BytesIO(to_png(scene))).convert("L"))
        return picture < 128

    plain, turned = ink(0.0), ink(-90.0)
    assert plain.sum() > 100
    places, wanted = (np.argwhere(each).mean(0) for each in (turned, np.rot90(plain)))
    assert np.abs(places - wanted).max() < 3
    assert 0.8 < turned.sum() / plain.sum() < 1.2


def test_a_small_map_is_a_picture_in_every_format(tmp_path):
    figure = heatmap(["ja"], ["yes"], np.array([[1.0]], np.float32))
    for ending in ("svg", "html", "png"):
        figure.save(tmp_path / f"h.{ending}")
        assert (tmp_path / f"h.{ending}").stat().st_size > 500


@pytest.mark.parametrize(
    ("values", "gold", "said"),
    [
        ([[0.1, 0.2]], (), "values of 1 × 2 for 2 words written and 2 read"),
        ([[0.1, 0.2], [0.3, 1.5]], (), "a value that is not between 0 and 1"),
        ([[0.1, 0.2], [0.3, math.nan]], (), "a value that is not between 0 and 1"),
        ([[0.1, 0.2], [0.3, 0.4]], [Link(2, 0)], "the gold link 2-0 is outside; count words from 0"),
    ],
)
def test_bad_input(values, gold, said):
    with pytest.raises(FirthError) as caught:
        heatmap(["x", "y"], ["a", "b"], values, gold=gold)
    assert said in str(caught.value)
    with pytest.raises(FirthError, match="values of"):
        heatmap([], ["a"], np.empty((0, 1)))
