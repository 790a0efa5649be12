"""The report of a ladder: complete, escaped, self-contained."""

import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from firth.report.axes import Axis, Panel, format_number, spread_apart
from firth.report.drawing import Circle, to_svg
from firth.report.label_layout import Box
from firth.report.ladder_figures import cost_quality_plot, learning_curves
from firth.report.ladder_page import ladder_page
from firth.runs.ladder_folder import Advice, ConfidenceInterval, Ladder, Point, Result, Row, UnitScores, WorstPassage

SVG = "{http://www.w3.org/2000/svg}"
NAMES = ("1-gram", "5-gram", "lstm-lm", "transformer-lm")


def result(rung, bits):
    neural = "gram" not in rung
    curve = tuple(Point(n, 100 * n, bits + 3 / n, f"<i>{rung} {n}") for n in range(1, 11)) if neural else ()
    units = UnitScores(9.0, (bits * 6.931,) * 3, (10.0,) * 3)
    worst = (WorstPassage(5.0, ("<u>odd", " words"), (14.0, 1.0)),)
    return Result(rung, rung, 10**6, 9.0, 1000, units, units, curve, ("<b>sample</b>",), worst)


def ladder(names=NAMES, floors=None):
    results = tuple(result(name, 2.0 - 0.1 * n) for n, name in enumerate(names))
    rows = tuple(
        Row(r.rung, r.rung, r.parameters, r.seconds, 111.0, r.tokens, 9.0, ConfidenceInterval(r.test.bits, 1.5, 2.1),
            ConfidenceInterval(r.valid.bits, 1.5, 2.1), ConfidenceInterval(0.1 * n, 0.0, 0.2),
            ConfidenceInterval(0.1, 0.0, 0.2), "<b>sample</b>")
        for n, r in enumerate(results)
    )  # fmt: skip
    advice = Advice(names[-1], ("Use <it>.", "More & more."), "firth train transformer-lm --text 'a b'")
    about = {"text": "<my text>"}
    return Ladder(Path("out"), about, "bits per byte", rows, advice, floors or {}, ("a note",), results)


def test_the_page_is_self_contained_and_without_script():
    page = ladder_page(ladder())
    assert not re.search(r"<script|<link|<img|\bsrc=|\bhref=|\bon\w+=|url\(|@import", page)
    assert "http" not in page.replace('xmlns="http://www.w3.org/2000/svg"', "")


def test_everything_of_the_text_is_escaped():
    page = ladder_page(ladder())
    for text in ("<b>sample</b>", "<i>", "<u>", "<it>", "<my text>"):
        assert text not in page
    assert "&lt;i&gt;transformer-lm 10" in page and "&lt;u&gt;odd" in page and "More &amp; more." in page


def test_every_part_is_there():
    page = ladder_page(ladder(floors={"valid": 1.0, "test": 1.1}))
    titles = ["Learning curves", "Quality against cost", "Samples side by side", "Samples during training"]
    for title in (*titles, "The worst-predicted sentences of each rung", "Method", "a note", "true entropy"):
        assert title in page
    assert page.index("Use &lt;it&gt;") < page.index("<table")


def test_curves_have_a_marker_for_every_evaluation_that_is_not_clipped():
    drawing = learning_curves(ladder())
    circles = [shape for shape in drawing.shapes if isinstance(shape, Circle)]
    high = max(1.8 * 1.7, 1.1 * (1.8 + 0.3))  # the best level is 1.7, the worst end of a curve 2.1
    visible = sum(base + 3 / n <= high + 0.06 * (high - 1.7) for base in (1.8, 1.7) for n in range(1, 11))
    assert len(circles) == 2 * visible  # against seconds and against tokens
    assert all(0 <= circle.x <= drawing.width and 0 <= circle.y <= drawing.height for circle in circles)


def test_without_curves_there_is_no_figure_of_learning_curves():
    assert learning_curves(ladder(("1-gram", "5-gram"))) is None
    assert "Learning curves" not in ladder_page(ladder(("1-gram",)))


def test_every_rung_is_labelled_in_the_cost_figure_and_better_ones_are_lower():
    root = ElementTree.fromstring(to_svg(cost_quality_plot(ladder())))
    texts = ["".join(node.itertext()) for node in root.iter(f"{SVG}text")]
    for name in NAMES:
        assert texts.count(name) == 2
    heights = [float(node.attrib["cy"]) for node in root.iter(f"{SVG}circle")][:4]
    assert heights == sorted(heights)


@given(st.lists(st.floats(0, 300), max_size=12))
def test_labels_at_the_edge_are_a_gap_apart_and_keep_their_order(heights):
    shifted = spread_apart(heights, 14.0, 0.0, 300.0)
    order = sorted(range(len(heights)), key=lambda n: heights[n])
    for first, second in pairwise(order):
        assert shifted[second] - shifted[first] >= 14.0 - 1e-6
    assert all(-1e-9 <= y <= 300.0 for y in shifted)


def test_a_line_is_clipped_where_it_leaves_the_panel():
    panel = Panel(Box(0, 0, 100, 100), Axis(0, 10, "x"), Axis(0, 2, "y"), "")
    assert panel.clip_line([(0, 4), (2, 0), (4, 4)]) == [(10, 0), (20, 100), (30, 0)]
    assert panel.clip_line([(0, 3), (5, 3)]) == []


def test_formatted_numbers_round_up_to_the_next_unit():
    numbers = (0, 12.34, 999.4, 999.6, 1234, 999_400, 999_600, 2.5e6, 999.96e6)
    assert [format_number(value) for value in numbers] == [
        "0",
        "12.3",
        "999",
        "1k",
        "1.23k",
        "999k",
        "1M",
        "2.5M",
        "1G",
    ]
