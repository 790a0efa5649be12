"""The report of a ladder: complete, escaped, self-contained."""

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from firth.report.axes import format_number, spread_apart
from firth.report.drawing import Circle, Text, to_svg
from firth.report.label_layout import text_width
from firth.report.ladder_figures import cost_quality_plot, learning_curves, rung_styles
from firth.report.ladder_page import ladder_page
from firth.runs.base_ladder import Advice, ConfidenceInterval
from firth.runs.ladder_folder import Ladder, Point, Result, Row, UnitScores, WorstPassage
from page_checks import check_page

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
    return Ladder(Path("out"), about, "bits per byte", rows, advice, ("a note",), results, floors or {})


def test_the_page_is_self_contained_and_without_script():
    page = ladder_page(ladder())
    check_page(page)
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
    drawing, note = learning_curves(ladder())
    circles = [shape for shape in drawing.shapes if isinstance(shape, Circle) and shape.tooltip]
    panel_top = min(shape.y for shape in circles)
    scores = sorted(float(shape.tooltip.split()[1]) for shape in circles if "at" in shape.tooltip)
    assert scores[0] == 2.0 and len(circles) % 2 == 0  # against seconds and against tokens
    clipped = [base + 3 / n for base in (1.8, 1.7) for n in range(1, 11) if base + 3 / n > scores[-1] + 1e-3]
    assert 2 * (20 - len(clipped)) == len(circles) and panel_top > 0
    assert f"lstm-lm up to {1.8 + 3:.3g}" in note and f"transformer-lm up to {1.7 + 3:.3g}" in note
    assert len(clipped) <= 4  # only the beginning
    assert all(0 <= circle.x <= drawing.width and 0 <= circle.y <= drawing.height for circle in circles)


def test_a_rung_that_diverges_does_not_squash_the_others():
    good = ladder()
    bad = replace(good.results[2], rung="bad", curve=tuple(Point(n, 100 * n, 10.0 * n) for n in range(1, 11)))
    drawing, note = learning_curves(replace(good, results=(*good.results, bad)))
    before = learning_curves(good)[0]

    def heights(scene, rung):
        marks = [shape.y for shape in scene.shapes if isinstance(shape, Circle) and shape.tooltip.startswith(rung)]
        return max(marks) - min(marks)

    assert heights(drawing, "lstm-lm") > 0.7 * heights(before, "lstm-lm")
    assert "bad up to 100" in note


def test_sixteen_rungs_with_long_names_fit():
    names = [f"{'long-' * n}lm" for n in range(1, 15)] + ["1-gram", "2-gram"]
    many = ladder(tuple(names))
    many = replace(many, about={"text": "/a/" + "very-long-" * 40 + "name.txt"})
    elements = check_page(ladder_page(many))
    for tag, attrs, ancestors in elements:
        if tag == "table" and attrs.get("class") != "facts":
            assert "div" in ancestors
    drawing, _ = learning_curves(many)
    for shape in drawing.shapes:
        if isinstance(shape, Text) and shape.align == "start":
            assert shape.x + text_width(shape.text, shape.size) <= drawing.width
    styles = rung_styles(many)
    neural = [styles[name] for name in names[:14]]
    assert len(set(neural)) == 14  # a colour or a marker of its own


def test_the_table_has_no_samples_and_scrolls_in_its_own_box():
    page = ladder_page(ladder())
    table = page[page.index("<table") : page.index("</table>")]
    assert page[: page.index("<table")].endswith('<div class="scroll">') and "sample" not in table
    assert table.count("<th") == 8 and "perplexity (test)" in table and "class=chosen" in table
    assert "first steps" in page


def test_text_of_every_direction_and_length_is_in_the_page():
    odd = ladder(("1-gram", "lstm-lm"))
    texts = ("שלום עולם", "你好" * 200, "x" * 5000)
    results = tuple(replace(result, samples=texts) for result in odd.results)
    command = f"firth train lstm-lm --text {'a' * 3000}"
    page = ladder_page(replace(odd, results=results, advice=replace(odd.advice, command=command)))
    check_page(page)
    assert all(text in page for text in (*texts, command))
    assert "unicode-bidi: plaintext" in page and "overflow-wrap: anywhere" in page


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
