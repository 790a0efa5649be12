"""Figure and page of a surprisal study: per-token probabilities as lines, and surprisal as coloured text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from firth.errors import FirthError
from firth.report.axes import format_tick, ticks
from firth.report.drawing import ColourName, Drawing, Line, Shape, Text, to_svg
from firth.report.label_layout import truncate_text, wrap_text
from firth.report.legend import Entry, legend
from firth.report.page import figure, format_cell, html_page, table
from firth.report.palette import heat
from firth.runs import atomic_files

KINDS: dict[str, ColourName] = {"human": "group 1", "greedy": "group 2", "beam": "group 3", "nucleus": "group 4"}
_WIDTH, _MARGIN, _LEFT = 960.0, 20.0, 64.0
_MEAN_HEIGHT, _PASSAGE_HEIGHT = 260.0, 96.0  # of the panel of means; of the panel of one text
_SMOOTHING = 5  # window of the moving average, in tokens
_MAX_BITS = 12.0  # surprisal with the full colour
_STYLE = """
body { max-width: 64rem; }
.tokens { line-height: 1.9; white-space: pre-wrap; overflow-wrap: anywhere; margin: .25rem 0 1rem;
          unicode-bidi: plaintext; text-align: start; }
.tokens mark { border-radius: 3px; padding: .1em 0; } .kind { font-weight: 600; margin: .75rem 0 0; }
"""


@dataclass(frozen=True)
class Continuation:
    """A continuation of a prompt, token by token."""

    kind: str  # of KINDS
    tokens: tuple[str, ...]
    probabilities: tuple[float, ...]  # the model's probability of each token


@dataclass(frozen=True)
class Passage:
    """A prompt and its continuations."""

    prompt: str
    continuations: tuple[Continuation, ...]


@dataclass(frozen=True)
class SurprisalStudy:
    """The surprisal of human text and of a model's own text."""

    title: str
    caption: str
    passages: tuple[Passage, ...]
    rows: tuple[dict[str, Any], ...]  # for each kind: its name and statistics; None: not defined

    def svg(self) -> str:
        """The figure as an SVG document."""
        return to_svg(_draw(self))

    def html(self) -> str:
        """A self-contained page with the figure, the statistics and the texts, without script."""
        texts = (_passage(number, passage) for number, passage in enumerate(self.passages, 1))
        body = [
            figure(to_svg(_draw(self))),
            "<h2>Statistics</h2>",
            _table(self.rows),
            "<h2>Texts</h2>",
            _colour_scale(),
            *texts,
        ]
        return html_page(self.title, body, _STYLE)

    def save(self, path: str | Path) -> None:
        """Write a file in the format of its extension."""
        atomic_files.replace_file(Path(path), _FORMATS[figure_format(path)](self).encode())


_FORMATS: Mapping[str, Callable[[SurprisalStudy], str]] = {".svg": SurprisalStudy.svg, ".html": SurprisalStudy.html}


def figure_format(path: str | Path) -> str:
    """The format of a figure file by its extension; an unknown one is an error."""
    extension = Path(path).suffix.lower()
    if extension not in _FORMATS:
        do = f"name it {' or '.join(f'…{known}' for known in _FORMATS)}"
        raise FirthError(f"unknown figure format {extension!r}", where=path, do=do)
    return extension


# --- lines ------------------------------------------------------------------------------------------------------


def mean_probabilities(passages: Sequence[Passage], kind: str) -> list[float]:
    """The mean probability at each position over the passages of that length, smoothed by a moving average."""
    rows = [
        continuation.probabilities
        for passage in passages
        for continuation in passage.continuations
        if continuation.kind == kind
    ]
    min_passages = max(1, len(rows) // 2)  # a mean over few texts is noisy: the line ends where most texts have ended
    columns = [
        [row[position] for row in rows if position < len(row)] for position in range(max(map(len, rows), default=0))
    ]
    raw = [sum(column) / len(column) for column in columns if len(column) >= min_passages]
    half_window = _SMOOTHING // 2
    windows = (raw[max(0, position - half_window) : position + half_window + 1] for position in range(len(raw)))
    return [sum(window) / len(window) for window in windows]


def _draw(study: SurprisalStudy) -> Drawing:
    inner = _WIDTH - 2 * _MARGIN
    shapes: list[Shape] = [
        Text(_MARGIN, 28.0, truncate_text(study.title, 16.0, inner), 16.0, weight="bold"),
        *legend([Entry(kind, colour) for kind, colour in KINDS.items()], _MARGIN, 50.0, _WIDTH)[0],
    ]
    lines = {kind: mean_probabilities(study.passages, kind) for kind in KINDS}
    longest = max(1, *map(len, lines.values()), *(len(s.probabilities) for s in study.passages[0].continuations))
    top = 66.0
    heading = f"mean of {len(study.passages)} passage{'s' * (len(study.passages) != 1)}"
    shapes += _panel(heading, top, longest, _highest(lines.values()), lines, is_main=True)
    top += _MEAN_HEIGHT + 12.0
    highest = _highest(continuation.probabilities for continuation in study.passages[0].continuations)
    for continuation in study.passages[0].continuations:
        line = {continuation.kind: continuation.probabilities}
        shapes += _panel(f"passage 1: {continuation.kind}", top, longest, highest, line)
        top += _PASSAGE_HEIGHT + 8.0
    shapes.append(Text(_WIDTH / 2, top + 14.0, "tokens after the prompt", 12.0, "soft", "middle"))
    notes = wrap_text(study.caption, 11.0, inner)
    shapes += [Text(_MARGIN, top + 38.0 + 15.0 * n, line, 11.0, "soft") for n, line in enumerate(notes)]
    return Drawing(_WIDTH, top + 38.0 + 15.0 * len(notes), study.title, tuple(shapes))


def _highest(lines: Iterable[Sequence[float]]) -> float:
    """The upper limit of probabilities, so that those of a weak model are not a level line."""
    return min(1.0, 1.08 * max((value for line in lines for value in line), default=0.0)) or 1.0


def _panel(
    title: str,
    top: float,
    longest: int,
    highest: float,
    lines: Mapping[str, Sequence[float]],
    is_main: bool = False,
) -> list[Shape]:
    """A panel of probability against position; all panels have the same x axis, those of passages also the y axis."""
    bottom, right = top + (_MEAN_HEIGHT if is_main else _PASSAGE_HEIGHT) - 16.0, _WIDTH - _MARGIN

    def to_pixels(position: int, value: float) -> tuple[float, float]:
        fraction = (position - 1) / max(1, longest - 1)
        return _LEFT + fraction * (right - _LEFT), bottom - value / highest * (bottom - top - 18.0)

    shapes: list[Shape] = [Text(_LEFT, top + 10.0, title, 12.0, "soft")]
    for value in ticks(0.0, highest, 5 if is_main else 2):
        y = to_pixels(1, value)[1]
        shapes += [
            Line(((_LEFT, y), (right, y)), "line", 0.7),
            Text(_LEFT - 8.0, y + 4.0, format_tick(value), 11.0, "soft", "end"),
        ]
    for kind, values in lines.items():
        points = tuple(to_pixels(position, value) for position, value in enumerate(values, 1))
        shapes += [Line(points, KINDS[kind], 2.0 if is_main else 1.2)] if len(points) > 1 else []
    for position in [value for value in ticks(1, longest, 10) if value >= 1] if is_main else []:
        shapes.append(Text(to_pixels(int(position), 0.0)[0], bottom + 14.0, f"{position:g}", 11.0, "soft", "middle"))
    return shapes


# --- text ---------------------------------------------------------------------------------------------------------


def _passage(number: int, passage: Passage) -> str:
    parts = [f"<h3>Passage {number}</h3>", f"<pre>{escape(passage.prompt)}</pre>"]
    for continuation in passage.continuations:
        tokens = "".join(map(_token, continuation.tokens, continuation.probabilities))
        parts.append(f'<div class="kind">{escape(continuation.kind)}</div><div class="tokens">{tokens}</div>')
    return "".join(parts)


def _token(text: str, probability: float) -> str:
    bits = -math.log2(probability) if probability > 0 else math.inf
    return f'<mark style="{_colour(bits)}" title="p = {probability:.3g}, {bits:.1f} bits">{escape(text)}</mark>'


def _colour(bits: float) -> str:
    return heat(70 * min(1.0, bits / _MAX_BITS))


def _colour_scale() -> str:
    steps = "".join(f'<mark style="{_colour(bits)}"> {bits:g} </mark>' for bits in (0, 2, 4, 6, 8, 10, 12))
    hint = "Point at a token to see its probability."
    return f'<p>Surprisal in bits: <span class="tokens">{steps}</span> or more. {hint}</p>'


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    return table(list(rows[0]), ([escape(format_cell(value)) for value in row.values()] for row in rows))
