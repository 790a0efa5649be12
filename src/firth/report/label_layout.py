"""Label placement beside points: a label overlaps no other, no point and no line; without room it is dropped."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

LINE_HEIGHT = 1.2  # line height, in font sizes
_BASELINE = 0.92  # distance of the baseline from the top of a line, in font sizes
_GAP = 2.0  # between a marker and its label, in pixels
_LABEL_GAP = 1.0  # between labels
_SIDES = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1))  # sides, the best first
_RINGS = (10.0, 16.0, 24.0, 34.0, 46.0, 60.0, 80.0, 105.0, 135.0)  # distances of labels with a leader line
_DIRECTIONS = 16  # directions in a ring
# Character widths in font sizes, of a wide font: a narrower one on the reader's screen overlaps nothing.
_WIDTHS = {"narrow": 0.42, "lower": 0.66, "upper": 0.80, "broad": 1.02, "digit": 0.65, "double": 1.05, "emoji": 1.4}
_NARROW, _BROAD = frozenset("fijlrtI.,:;'!|()[] `-·"), frozenset("mwMWœŒæÆ@%+=<>#~—…шщжюмШЩЖЮМФ")


Segment = tuple[float, float, float, float]  # from x, y to x, y


class Box(NamedTuple):
    """A rectangle in pixels; y grows downwards."""

    left: float
    top: float
    right: float
    bottom: float


class Anchor(NamedTuple):
    """The point that a label belongs to: a marker, or with radius 0 a point that may be covered; no text, no label."""

    x: float
    y: float
    radius: float
    text: str


@dataclass(frozen=True)
class Label:
    """A placed text: its box, the baseline position `x`, `y` with its alignment, and a leader line to a far anchor."""

    text: str
    box: Box
    x: float
    y: float
    align: Literal["start", "middle", "end"]
    leader: Segment | None = None


def text_width(text: str, size: float) -> float:
    """Estimate the width of a text in pixels; rather too wide than too narrow."""
    return size * sum(_WIDTHS[kind] for kind in map(_width_class, text) if kind)


def _width_class(character: str) -> str:
    """The width class of a character; empty if it has no width of its own."""
    category = unicodedata.category(character)
    if category in ("Mn", "Me", "Cf"):
        return ""
    if unicodedata.east_asian_width(character) in "WF":
        return "emoji" if category == "So" else "double"
    if character in _NARROW or character in _BROAD:
        return "narrow" if character in _NARROW else "broad"
    if character.isascii() and character.isdigit():
        return "digit"
    return "lower" if character.islower() else "upper"  # symbols and scripts without case are broad


def truncate_text(text: str, size: float, width: float) -> str:
    """Truncate a text to a width, with … at its end."""
    if text_width(text, size) <= width:
        return text
    truncated = text
    while truncated and text_width(f"{truncated}…", size) > width:
        truncated = truncated[:-1]
    return f"{truncated}…"


def wrap_text(text: str, size: float, width: float) -> list[str]:
    """Wrap a text to lines of a width, broken between words."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return [truncate_text(line, size, width) for line in lines]


def place_labels(
    anchors: Sequence[Anchor], area: Box, size: float = 12.0, lines: Sequence[Segment] = ()
) -> list[Label | None]:
    """Place the label of each anchor, or None where there is no room. Earlier anchors have priority; first all are
    placed beside their marker, then the rest farther off with a leader line. Boxes overlap neither each other nor a
    marker, a line or a leader."""
    occupied = _Occupied(anchors, area, lines)
    labels: list[Label | None] = [None] * len(anchors)
    for choose in (_place_beside, _place_with_leader):
        for number, anchor in enumerate(anchors):
            if anchor.text and labels[number] is None:
                labels[number] = choose(occupied, anchor, size)
    return labels


class _Occupied:
    """The occupied space: markers, labels, lines and leaders."""

    def __init__(self, anchors: Sequence[Anchor], area: Box, lines: Sequence[Segment]) -> None:
        self.area = area
        self.dots = np.array([(x - r, y - r, x + r, y + r) for x, y, r, _ in anchors if r]).reshape(-1, 4)
        self.labels = np.empty((0, 4))
        self.lines = np.array(lines, np.float64).reshape(-1, 4)

    def free(self, boxes: np.ndarray, leaders: np.ndarray | None = None) -> np.ndarray:
        """Indices of the boxes (n, 4) that lie in the area and, with their leaders, overlap nothing."""
        window = np.concatenate([boxes[:, :2].min(0), boxes[:, 2:].max(0)])[None]  # only what is inside matters
        dots, labels = (taken[boxes_overlap(window, taken)[0]] for taken in (self.dots, self.labels))
        lines = self.lines[boxes_overlap(window, _bounds(self.lines))[0]]
        inside = (boxes[:, :2] >= self.area[:2]).all(1) & (boxes[:, 2:] <= self.area[2:]).all(1)
        taken = boxes_overlap(boxes, np.concatenate([dots, labels])).any(1) | segments_cross_boxes(lines, boxes).any(0)
        free = np.flatnonzero(inside & ~taken)
        if leaders is None:
            return free
        middle = ((window[:, :2] + window[:, 2:]) / 2)[0]  # candidates surround their anchor
        others = dots[
            ~((dots[:, :2] <= middle) & (middle <= dots[:, 2:])).all(1)
        ]  # not its own marker, nor those on it
        blocked = segments_cross_boxes(leaders[free], np.concatenate([others, labels])).any(1) | segments_intersect(
            leaders[free], lines
        ).any(1)
        return free[~blocked]

    def add(self, box: np.ndarray, leader: np.ndarray | None = None) -> None:
        """Mark the space of a label and its leader as occupied."""
        self.labels = np.concatenate([self.labels, box[None]])
        if leader is not None:
            self.lines = np.concatenate([self.lines, leader[None]])


def _place_beside(occupied: _Occupied, anchor: Anchor, size: float) -> Label | None:
    half_size = _half_size(anchor.text, size)
    sides = np.array(_SIDES, np.float64)
    distance = (
        anchor.radius + np.where(np.abs(sides).sum(1) == 2, 0.7, 1.0) * _GAP
    )  # corners are farther away, so they come closer
    centres = (anchor.x, anchor.y) + sides * (distance[:, None] + half_size)
    boxes = np.concatenate([centres - half_size, centres + half_size], 1)
    for first in occupied.free(boxes)[:1]:
        occupied.add(boxes[first])
        return _label(anchor.text, boxes[first], size, sides[first, 0])
    return None


def _place_with_leader(occupied: _Occupied, anchor: Anchor, size: float) -> Label | None:
    half_size, point = _half_size(anchor.text, size), np.array([anchor.x, anchor.y])
    angles = np.arange(_DIRECTIONS) * (2 * math.pi / _DIRECTIONS)
    directions = np.tile(np.stack([np.cos(angles), np.sin(angles)], 1), (len(_RINGS), 1))
    distance = np.repeat(_RINGS, _DIRECTIONS)[:, None] + anchor.radius
    centres = point + directions * (distance + half_size)
    boxes = np.concatenate([centres - half_size, centres + half_size], 1)
    ends = np.clip(point, boxes[:, :2], boxes[:, 2:])  # the nearest point of each box
    leaders = np.concatenate([point + directions * max(anchor.radius, _GAP), ends], 1)
    for first in occupied.free(boxes, leaders)[:1]:
        occupied.add(boxes[first], leaders[first])
        return _label(anchor.text, boxes[first], size, directions[first, 0], tuple(map(float, leaders[first])))
    return None


def _half_size(text: str, size: float) -> np.ndarray:
    """Half the width and half the height of a text's box."""
    return np.array([text_width(text, size) + _LABEL_GAP, size * LINE_HEIGHT]) / 2


def _label(text: str, box: np.ndarray, size: float, side: float, leader: Segment | None = None) -> Label:
    """Build a label aligned towards its anchor, so that an overestimated width leaves no gap there."""
    box = Box(*map(float, box))
    align = "start" if side > 0.1 else "end" if side < -0.1 else "middle"
    x = {"start": box.left, "end": box.right, "middle": (box.left + box.right) / 2}[align]
    return Label(text, box, x, box.top + _BASELINE * size, align, leader)


# --- pairwise geometry ---


def boxes_overlap(boxes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(n, m): whether boxes (n, 4) and (m, 4) overlap by more than an edge."""
    low = boxes[:, None, :2] < others[None, :, 2:]
    high = others[None, :, :2] < boxes[:, None, 2:]
    return (low & high).all(2)


def _bounds(segments: np.ndarray) -> np.ndarray:
    return np.concatenate(
        [np.minimum(segments[:, :2], segments[:, 2:]), np.maximum(segments[:, :2], segments[:, 2:])], 1
    )


def segments_cross_boxes(segments: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """(n, m): whether segments (n, 4) pass through boxes (m, 4), not only along an edge."""
    start, direction = segments[:, None, :2], (segments[:, 2:] - segments[:, :2])[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = (boxes[None, :, :2] - start) / direction, (boxes[None, :, 2:] - start) / direction
    is_parallel = direction == 0  # parallel to an axis: inside throughout, or never
    inside = (boxes[None, :, :2] < start) & (start < boxes[None, :, 2:])
    enter = np.where(is_parallel, np.where(inside, -np.inf, np.inf), np.minimum(first, second)).max(2)
    leave = np.where(is_parallel, np.where(inside, np.inf, -np.inf), np.maximum(first, second)).min(2)
    return np.maximum(enter, 0.0) < np.minimum(leave, 1.0) - 1e-9


def segments_intersect(segments: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(n, m): whether segments (n, 4) and (m, 4) intersect."""
    a, b, c, d = segments[:, None, :2], segments[:, None, 2:], others[None, :, :2], others[None, :, 2:]
    return (_orientation(a, b, c) * _orientation(a, b, d) < 0) & (_orientation(c, d, a) * _orientation(c, d, b) < 0)


def _orientation(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The orientation of a, b, c: positive if they turn one way, negative if the other."""
    one, two = b - a, c - a
    return one[..., 0] * two[..., 1] - one[..., 1] * two[..., 0]
