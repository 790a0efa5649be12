"""Labels beside points: none covers another, a point or a line. Without room they stand farther off or are left out."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

HEIGHT = 1.2  # of a line of text, in font sizes
_BASELINE = 0.92  # of the baseline below the top of a line, in font sizes
_GAP = 2.0  # between a dot and its label, in pixels
_APART = 1.0  # between labels
_NEAR = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1))  # sides, the best first
_RINGS = (10.0, 16.0, 24.0, 34.0, 46.0, 60.0, 80.0, 105.0, 135.0)  # how far labels with a leader line stand off
_TURNS = 16  # directions in a ring
# Widths in font sizes, those of a wide font: what is narrower on the reader's screen covers nothing.
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
    """What a label belongs to: a dot, or with radius 0 a place that may be covered. Without text there is no label."""

    x: float
    y: float
    radius: float
    text: str


@dataclass(frozen=True)
class Label:
    """A text in its box, written from `x`, `y` (the baseline) as `align` says; a leader joins it to a far anchor."""

    text: str
    box: Box
    x: float
    y: float
    align: Literal["start", "middle", "end"]
    leader: Segment | None = None


def text_width(text: str, size: float) -> float:
    """About how wide a text is in pixels; rather too wide than too narrow."""
    return size * sum(_WIDTHS[kind] for kind in map(_kind, text) if kind)


def _kind(character: str) -> str:
    """The class of a character; none if it takes no room of its own."""
    category = unicodedata.category(character)
    if category in ("Mn", "Me", "Cf"):
        return ""
    if unicodedata.east_asian_width(character) in "WF":
        return "emoji" if category == "So" else "double"
    if character in _NARROW or character in _BROAD:
        return "narrow" if character in _NARROW else "broad"
    if character.isascii() and character.isdigit():
        return "digit"
    return "lower" if character.islower() else "upper"  # signs and scripts without cases are broad


def shortened(text: str, size: float, width: float) -> str:
    """The text, or as much of it as fits, with … behind."""
    if text_width(text, size) <= width:
        return text
    kept = text
    while kept and text_width(f"{kept}…", size) > width:
        kept = kept[:-1]
    return f"{kept}…"


def wrapped(text: str, size: float, width: float) -> list[str]:
    """The lines of a text, broken between words."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return [shortened(line, size, width) for line in lines]


def place(
    anchors: Sequence[Anchor], area: Box, size: float = 12.0, lines: Sequence[Segment] = ()
) -> list[Label | None]:
    """The label of each anchor, or None where there is no room. Earlier anchors choose first, all of them beside their
    dot; then those left over choose farther off. Boxes overlap neither each other nor a dot, a line or a leader."""
    room = _Room(anchors, area, lines)
    found: list[Label | None] = [None] * len(anchors)
    for choose in (_beside, _farther):
        for number, anchor in enumerate(anchors):
            if anchor.text and found[number] is None:
                found[number] = choose(room, anchor, size)
    return found


class _Room:
    """What is taken: by dots, labels, lines and leaders."""

    def __init__(self, anchors: Sequence[Anchor], area: Box, lines: Sequence[Segment]) -> None:
        self.area = area
        self.dots = np.array([(x - r, y - r, x + r, y + r) for x, y, r, _ in anchors if r]).reshape(-1, 4)
        self.labels = np.empty((0, 4))
        self.lines = np.array(lines, np.float64).reshape(-1, 4)

    def free(self, boxes: np.ndarray, leaders: np.ndarray | None = None) -> np.ndarray:
        """The places of those of the boxes (n, 4) that lie in the area and, with their leaders, meet nothing."""
        window = np.concatenate([boxes[:, :2].min(0), boxes[:, 2:].max(0)])[None]  # nothing outside need be looked at
        dots, labels = (taken[overlap(window, taken)[0]] for taken in (self.dots, self.labels))
        lines = self.lines[overlap(window, _bounds(self.lines))[0]]
        inside = (boxes[:, :2] >= self.area[:2]).all(1) & (boxes[:, 2:] <= self.area[2:]).all(1)
        taken = overlap(boxes, np.concatenate([dots, labels])).any(1) | crosses(lines, boxes).any(0)
        free = np.flatnonzero(inside & ~taken)
        if leaders is None:
            return free
        middle = ((window[:, :2] + window[:, 2:]) / 2)[0]  # candidates stand all around their anchor
        others = dots[~((dots[:, :2] <= middle) & (middle <= dots[:, 2:])).all(1)]  # not its own, nor those on it
        met = crosses(leaders[free], np.concatenate([others, labels])).any(1) | meet(leaders[free], lines).any(1)
        return free[~met]

    def take(self, box: np.ndarray, leader: np.ndarray | None = None) -> None:
        self.labels = np.concatenate([self.labels, box[None]])
        if leader is not None:
            self.lines = np.concatenate([self.lines, leader[None]])


def _beside(room: _Room, anchor: Anchor, size: float) -> Label | None:
    half = _half(anchor.text, size)
    sides = np.array(_NEAR, np.float64)
    off = anchor.radius + np.where(np.abs(sides).sum(1) == 2, 0.7, 1.0) * _GAP  # corners come closer: they are farther
    centres = (anchor.x, anchor.y) + sides * (off[:, None] + half)
    boxes = np.concatenate([centres - half, centres + half], 1)
    for first in room.free(boxes)[:1]:
        room.take(boxes[first])
        return _label(anchor.text, boxes[first], size, sides[first, 0])
    return None


def _farther(room: _Room, anchor: Anchor, size: float) -> Label | None:
    half, at = _half(anchor.text, size), np.array([anchor.x, anchor.y])
    angles = np.arange(_TURNS) * (2 * math.pi / _TURNS)
    towards = np.tile(np.stack([np.cos(angles), np.sin(angles)], 1), (len(_RINGS), 1))
    off = np.repeat(_RINGS, _TURNS)[:, None] + anchor.radius
    centres = at + towards * (off + half)
    boxes = np.concatenate([centres - half, centres + half], 1)
    ends = np.clip(at, boxes[:, :2], boxes[:, 2:])  # of each box, what is nearest
    leaders = np.concatenate([at + towards * max(anchor.radius, _GAP), ends], 1)
    for first in room.free(boxes, leaders)[:1]:
        room.take(boxes[first], leaders[first])
        return _label(anchor.text, boxes[first], size, towards[first, 0], tuple(map(float, leaders[first])))
    return None


def _half(text: str, size: float) -> np.ndarray:
    """Half the width and height of a text's box."""
    return np.array([text_width(text, size) + _APART, size * HEIGHT]) / 2


def _label(text: str, box: np.ndarray, size: float, side: float, leader: Segment | None = None) -> Label:
    """Texts begin, end or have their middle towards the anchor: estimated widths leave no gap there."""
    box = Box(*map(float, box))
    align = "start" if side > 0.1 else "end" if side < -0.1 else "middle"
    x = {"start": box.left, "end": box.right, "middle": (box.left + box.right) / 2}[align]
    return Label(text, box, x, box.top + _BASELINE * size, align, leader)


# --- geometry: of each of one list with each of the other ---


def overlap(boxes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(n, m): whether boxes (n, 4) and (m, 4) share more than an edge."""
    low = boxes[:, None, :2] < others[None, :, 2:]
    high = others[None, :, :2] < boxes[:, None, 2:]
    return (low & high).all(2)


def _bounds(segments: np.ndarray) -> np.ndarray:
    return np.concatenate(
        [np.minimum(segments[:, :2], segments[:, 2:]), np.maximum(segments[:, :2], segments[:, 2:])], 1
    )


def crosses(segments: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """(n, m): whether segments (n, 4) pass through boxes (m, 4), not only along an edge."""
    start, way = segments[:, None, :2], (segments[:, 2:] - segments[:, :2])[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        one, two = (boxes[None, :, :2] - start) / way, (boxes[None, :, 2:] - start) / way
    still = way == 0  # along an axis: inside throughout, or never
    inside = (boxes[None, :, :2] < start) & (start < boxes[None, :, 2:])
    enter = np.where(still, np.where(inside, -np.inf, np.inf), np.minimum(one, two)).max(2)
    leave = np.where(still, np.where(inside, np.inf, -np.inf), np.maximum(one, two)).min(2)
    return np.maximum(enter, 0.0) < np.minimum(leave, 1.0) - 1e-9


def meet(segments: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(n, m): whether segments (n, 4) and (m, 4) cross."""
    a, b, c, d = segments[:, None, :2], segments[:, None, 2:], others[None, :, :2], others[None, :, 2:]
    return (_turn(a, b, c) * _turn(a, b, d) < 0) & (_turn(c, d, a) * _turn(c, d, b) < 0)


def _turn(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Positive if a, b, c turn one way, negative if the other."""
    one, two = b - a, c - a
    return one[..., 0] * two[..., 1] - one[..., 1] * two[..., 0]
