"""Charts: lines broken and clipped, marks at the edge, notes, ticks; from logs, the curves of a run."""

import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.report.axes import Axis, Panel, format_number, log_ticks, ticks
from firth.report.charts import Series, bar_chart, line_chart
from firth.report.curves import clip_line, clipping_note, draw_curve
from firth.report.drawing import Circle, Line, Polygon
from firth.report.label_layout import Box, text_width
from firth.report.legend import Entry, legend
from firth.report.limits import loss_limits
from firth.report.page import html_page
from firth.report.run_page import _curves
from firth.training.speed import training_speed, warm_steps
from page_checks import check_page

PANEL = Panel(Box(0, 0, 100, 100), Axis(0, 10, "x"), Axis(0, 2, "y"), "")
STYLE = ("group 1", "circle")


def test_a_line_is_clipped_at_both_limits_and_broken_outside():
    assert clip_line(PANEL, [(0, 4), (2, 0), (4, 4)]) == [[(10, 0), (20, 100), (30, 0)]]
    assert clip_line(PANEL, [(0, 3), (5, 3)]) == []
    assert clip_line(PANEL, [(0, 1), (2, 3), (4, 1)]) == [[(0, 50), (10, 0)], [(30, 0), (40, 50)]]
    assert clip_line(PANEL, [(0, 3), (4, -1)]) == [[(10, 0), (30, 100)]]


def test_a_line_is_broken_where_a_value_is_not_finite():
    points = [(0, 1), (1, 1), (2, math.nan), (3, 1), (4, math.inf), (5, 1), (6, 1)]
    assert clip_line(PANEL, points) == [[(0, 50), (10, 50)], [(50, 50), (60, 50)]]
    alone = [shape for shape in draw_curve(PANEL, points, STYLE) if isinstance(shape, Circle)]
    assert [(shape.x, shape.y) for shape in alone] == [(30, 50)]
    assert "2 values are not finite" in clipping_note(PANEL, {"a": points})


def test_each_clipped_part_has_a_mark_at_the_edge_where_it_is_farthest():
    points = [(0, 5), (1, 9), (2, 1), (3, -4), (4, 1), (5, 3)]
    marks = [shape for shape in draw_curve(PANEL, points, STYLE) if isinstance(shape, Polygon)]
    assert [mark.points[0] for mark in marks] == [(10, 0), (30, 100), (50, 0)]
    assert [mark.tooltip for mark in marks] == ["9 at 1", "-4 at 3", "3 at 5"]
    note = clipping_note(PANEL, {"a": points, "b": [(0, 1)]})
    assert "a up to 9" in note and "a down to -4" in note and "b" not in note.replace("above", "")
    assert clipping_note(PANEL, {"a": [(0, 1), (1, 2)]}) == ""


@given(st.lists(st.tuples(st.floats(0, 10), st.floats() | st.floats(-5, 5)), max_size=12))
def test_nothing_is_drawn_outside_the_panel(points):
    for shape in draw_curve(PANEL, points, STYLE, radius=2.0):
        where = [(shape.x, shape.y)] if isinstance(shape, Circle) else shape.points
        assert all(-1e-6 <= y <= 100 + 1e-6 for _, y in where)
        assert not isinstance(shape, Line) or len(shape.points) > 1


def test_a_logarithmic_axis_has_no_place_for_zero():
    panel = Panel(PANEL.box, PANEL.x, Axis(1, 100, "y", log_scale=True), "")
    assert clip_line(panel, [(0, 1), (5, 10), (6, 0), (7, 10), (8, 100)]) == [
        [(0, 100), (50, pytest.approx(50))], [(70, pytest.approx(50)), (80, pytest.approx(0))]]  # fmt: skip


@given(st.floats(1e-6, 1e9), st.floats(1.0001, 1e6))
def test_ticks_are_within_the_limits_round_and_distinct(low, ratio):
    high = low * ratio
    for values in (ticks(low, high), log_ticks(low, high)):
        assert all(low * (1 - 1e-6) - 1e-9 <= value <= high * (1 + 1e-6) + 1e-9 for value in values)
        assert all(a < b for a, b in pairwise(values))


def test_labels_of_neighbouring_ticks_differ():
    for low, high in ((1000.0, 1003.0), (0.0, 2500.0), (0.0001, 0.0005), (12_000.0, 12_600.0)):
        axis = Axis(low, high, "")
        labels = [format_number(value, 6) for value in axis.rows(200)]
        assert len(set(labels)) == len(labels) >= 2


def test_a_chart_says_under_it_what_is_clipped_and_shows_the_rest():
    losses = [7.6, 5.0, *(3.0 + 1 / n for n in range(1, 60))]
    chart = line_chart("Loss", "step", "nats", [Series("training", range(61), losses)], limits=loss_limits)
    caption = re.search("<figcaption>(.*?)</figcaption>", chart)[1]
    assert "training up to 7.6" in caption and "<polygon" in chart
    assert "<figcaption>" not in line_chart("t", "x", "y", [Series("a", [1, 2], [1, 2])])


@pytest.mark.parametrize("values", [[3.0], [2.0, 2.0, 2.0], [math.nan, 1.0, math.inf], [0.0], [1e9, -1e9], [5e-324]])
def test_charts_of_few_constant_or_odd_values(values):
    chart = line_chart("t", "x", "y", [Series("a", range(len(values)), values)])
    check_page(html_page("t", [chart]))
    assert "nan" not in chart and "inf" not in chart
    svg = ElementTree.fromstring(re.search("<svg.*</svg>", chart)[0])
    assert any(node.tag.endswith(("circle", "polyline")) and "group-1" in node.attrib["class"] for node in svg.iter())


def test_charts_without_values_are_empty():
    assert line_chart("t", "x", "y", []) == line_chart("t", "x", "y", [Series("a", [1], [math.nan])]) == ""
    assert bar_chart("t", "x", "y", [], []) == ""


def test_a_legend_of_many_long_names_stays_within_its_margins():
    entries = [Entry(f"{'x' * (7 * n)}-lm", "group 1", "circle", line=True) for n in range(1, 20)]
    shapes, last = legend(entries, 20.0, 30.0, 500.0)
    texts = [shape for shape in shapes if hasattr(shape, "text")]
    assert len(texts) == 19 and last > 30.0
    assert all(text.x >= 20.0 and text.x + text_width(text.text, 12.0) <= 500.0 for text in texts)


# --- a run's curves ----------------------------------------------------------------------------------------------


def step(number, speed, loss=3.0, **more):
    return {"step": number, "loss": loss, "tokens": 100, "tokens_per_second": speed, "learning_rate": 0.1,
            "grad_norm": 1.0, "seconds": 1.0 * number, **more}  # fmt: skip


def evaluation(number, loss, value):
    return {"step": number, "split": "valid", "loss": loss, "metric": "perplexity", "value": value, "seconds": 9.0}


def test_compilation_and_pauses_are_not_counted_as_speed():
    lines = [step(1, 2.0), step(2, 30.0), *(step(n, 1000.0) for n in range(3, 13)), evaluation(12, 1.0, 3.0)]
    assert [line["step"] for line in warm_steps(lines)] == list(range(3, 13))
    assert training_speed(lines) == pytest.approx(1000.0)  # by the clock, with pauses, it would be 133


def test_a_slow_step_later_counts():
    lines = [*(step(n, 1000.0) for n in range(1, 10)), step(10, 100.0)]
    assert training_speed(lines) == pytest.approx(1000 / (0.9 + 1.0))


def test_without_steps_there_is_no_speed():
    assert training_speed([]) is None and training_speed([evaluation(1, 1.0, 3.0)]) is None
    assert training_speed([step(1, 0.0)]) is None
    assert training_speed([step(1, 50.0)]) == pytest.approx(50.0)


def test_perplexity_is_shown_with_the_name_of_its_split():
    lines = [step(1, 9.0), step(2, 10.0), evaluation(2, 1.2, 3.3), step(3, 10.0), evaluation(3, math.nan, math.nan)]
    page = "".join(_curves(lines))
    check_page(html_page("t", [page]))
    assert 'aria-label="Perplexity (validation)"' in page
    for title in ("Loss", "Learning rate", "Gradient norm", "Speed"):
        assert f'aria-label="{title}"' in page
    assert "1 value is not finite" in page and "warm-up" in page


def test_a_log_without_steps_has_no_curves():
    assert _curves([evaluation(1, 1.0, 2.0)]) == []
