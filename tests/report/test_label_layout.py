"""Label placement: no overlaps, checked by plain comparisons; estimated text widths are large enough."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import ImageFont

from firth.report.label_layout import (
    Anchor,
    Box,
    boxes_overlap,
    place_labels,
    segments_cross_boxes,
    segments_intersect,
    text_width,
    truncate_text,
    wrap_text,
)

AREA = Box(0, 0, 300, 200)
number = st.integers(0, 40)
anchors = st.lists(
    st.builds(
        lambda x, y, radius, text: Anchor(7.5 * x, 5.0 * y, radius, text),
        number,
        number,
        st.sampled_from([0.0, 3.0, 4.2]),
        st.sampled_from(["", "a", "word", "longer word", "日本", "a very long label for one point"]),
    ),
    max_size=40,
)
lines = st.lists(st.tuples(*[st.integers(0, 200).map(float)] * 4), max_size=4)


def have_common_area(one, two):
    """Whether two boxes overlap."""
    return min(one[2], two[2]) - max(one[0], two[0]) > 1e-6 and min(one[3], two[3]) - max(one[1], two[1]) > 1e-6


def is_inside(x, y, box):
    """Whether a point lies inside a box, clearly."""
    return box[0] + 1e-3 < x < box[2] - 1e-3 and box[1] + 1e-3 < y < box[3] - 1e-3


def points_on(line):
    """Many points on a line."""
    return [(line[0] + t * (line[2] - line[0]), line[1] + t * (line[3] - line[1])) for t in np.linspace(0, 1, 101)]


@settings(max_examples=60, deadline=None)
@given(anchors, lines)
def test_labels_overlap_nothing(anchors, lines):
    labels = place_labels(anchors, AREA, 12, lines)
    pairs = [(anchor, label) for anchor, label in zip(anchors, labels, strict=True) if label]
    boxes = [label.box for _, label in pairs]
    dots = [(a.x - a.radius, a.y - a.radius, a.x + a.radius, a.y + a.radius) for a in anchors if a.radius]
    leaders = [label.leader for _, label in pairs if label.leader]
    assert not any(have_common_area(one, two) for one, two in itertools.combinations(boxes, 2))
    assert not any(have_common_area(box, dot) for box in boxes for dot in dots)
    assert not any(is_inside(*point, box) for line in [*lines, *leaders] for point in points_on(line) for box in boxes)
    for anchor, label in pairs:
        assert label.text == anchor.text != ""
        assert AREA.left <= label.box.left and label.box.right <= AREA.right
        assert AREA.top <= label.box.top and label.box.bottom <= AREA.bottom
        assert label.box.left <= label.x <= label.box.right and label.box.top <= label.y <= label.box.bottom
        assert text_width(label.text, 12) <= label.box.right - label.box.left
        own = [dot for dot in dots if dot[0] <= anchor.x <= dot[2] and dot[1] <= anchor.y <= dot[3]]
        through = [
            dot for dot in dots if dot not in own for p in points_on(label.leader or (0,) * 4) if is_inside(*p, dot)
        ]
        assert not label.leader or not through


@settings(max_examples=60, deadline=None)
@given(anchors)
def test_a_label_is_near_its_point_or_has_a_leader_to_it(anchors):
    for anchor, label in zip(anchors, place_labels(anchors, AREA), strict=True):
        if label is None:
            continue
        nearest = np.clip([anchor.x, anchor.y], label.box[:2], label.box[2:])
        off = np.hypot(*(nearest - (anchor.x, anchor.y)))
        if label.leader is None:
            assert off <= 1.5 * anchor.radius + 4
        else:
            assert np.hypot(label.leader[0] - anchor.x, label.leader[1] - anchor.y) <= max(anchor.radius, 2) + 1e-6
            assert label.leader[2:] == pytest.approx(nearest)


def test_earlier_anchors_have_priority_and_labels_without_room_are_dropped():
    crowd = [Anchor(150, 100, 3, f"label {n}") for n in range(60)]
    labels = place_labels(crowd, AREA)
    assert labels[0].leader is None
    assert any(label and label.leader for label in labels)
    assert place_labels([Anchor(10, 10, 3, "too long for the area")], Box(0, 0, 60, 30)) == [None]


def test_a_single_label_is_right_of_its_marker_at_the_same_height():
    (label,) = place_labels([Anchor(100, 100, 3, "word")], AREA, 12)
    assert label.leader is None and label.align == "start"
    assert 103 < label.x < 107
    assert (label.box.top + label.box.bottom) / 2 == pytest.approx(100)


def test_sparse_labels_are_all_placed():
    spread = [Anchor(60.0 + 120 * x, 20.0 + 30 * y, 3, "word") for x in range(2) for y in range(6)]
    assert None not in place_labels(spread, AREA)


# --- geometry, against sampling ---


@settings(max_examples=200, deadline=None)
@given(st.tuples(*[st.integers(0, 12)] * 4), st.tuples(*[st.integers(0, 12)] * 4))
def test_a_segment_crosses_a_box_if_it_has_a_point_inside(line, box):
    box = (min(box[0], box[2]), min(box[1], box[3]), max(box[0], box[2]) + 1, max(box[1], box[3]) + 1)
    crosses = bool(segments_cross_boxes(np.array([line], float), np.array([box], float))[0, 0])
    inside = any(is_inside(*point, box) for point in points_on(line))
    assert crosses >= inside
    if crosses and line[:2] != line[2:]:
        wider = (box[0] - 0.2, box[1] - 0.2, box[2] + 0.2, box[3] + 0.2)
        assert any(is_inside(*point, wider) for point in points_on(line))


def test_only_crossing_segments_intersect():
    one = np.array([[0, 0, 10, 10]], float)
    others = np.array([[0, 10, 10, 0], [0, 1, 10, 11], [20, 0, 20, 9], [6, 0, 4, 3]], float)
    assert segments_intersect(one, others).tolist() == [[True, False, False, False]]


def test_boxes_that_touch_do_not_overlap():
    assert boxes_overlap(np.array([[0, 0, 1, 1.0]]), np.array([[1, 0, 2, 1], [0.5, 0.5, 3, 3.0]])).tolist() == [
        [False, True]
    ]


# --- widths of texts ---


@pytest.mark.parametrize(
    "word", ["illinois", "Mississippi", "GOVERNMENT", "committee", "1990s", "-0.33", "Łódź", "a/b@c", "JJJ"]
)
def test_a_text_fits_into_its_estimated_width(word):
    real = ImageFont.load_default(48).getlength(word) / 4  # a real font, at size 12
    assert real <= text_width(word, 12) <= 1.75 * real


def test_chinese_is_about_twice_as_wide_and_combining_marks_have_no_width():
    assert 1.5 < text_width("日本", 12) / text_width("ab", 12) < 2.2
    assert text_width("e\u0301", 12) == text_width("e", 12)
    assert text_width("", 12) == 0


@given(st.text(max_size=40), st.floats(20, 200))
def test_a_truncated_text_fits(text, width):
    truncated = truncate_text(text, 12, width)
    assert text_width(truncated, 12) <= width
    assert truncated == text or (truncated.endswith("…") and text.startswith(truncated[:-1]))


@given(st.lists(st.text("abc", min_size=1, max_size=9), max_size=20))
def test_wrapping_keeps_all_words(words):
    lines = wrap_text(" ".join(words), 12, 90)
    assert " ".join(lines).split() == words
    assert all(text_width(line, 12) <= 90 for line in lines)
