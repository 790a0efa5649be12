"""How probable each token of a text is to a model: as lines on one scale, and as coloured text."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from firth.errors import FirthError
from firth.report.labels import shortened, text_width, wrapped
from firth.report.page import sheet
from firth.report.scene import Line, Role, Scene, Shape, Text, to_svg
from firth.report.svg import ticks
from firth.runs import files

KINDS: dict[str, Role] = {"human": "group 1", "greedy": "group 2", "beam": "group 3", "nucleus": "group 4"}
_WIDE, _MARGIN, _LEFT = 960.0, 20.0, 64.0
_HIGH, _LOW = 260.0, 96.0  # of the panel of means, of one text's
_SMOOTH = 5  # positions that a point of a mean's line is the mean of
_MOST = 12.0  # bits of surprise that have the full colour
_STYLE = """
body { max-width: 64rem; } th { text-align: left; font-weight: 600; padding: .25rem .75rem .25rem 0; }
td:first-child { color: var(--ink); } .number { text-align: right; } p { color: var(--soft); }
.tokens { line-height: 1.9; white-space: pre-wrap; overflow-wrap: anywhere; margin: .25rem 0 1rem; }
.tokens span { border-radius: 3px; padding: .1em 0; } .kind { font-weight: 600; margin: .75rem 0 0; }
.prompt { color: var(--soft); white-space: pre-wrap; border-left: 3px solid var(--line); padding-left: 1rem; }
"""


@dataclass(frozen=True)
class Strand:
    """A continuation of a prompt, token by token."""

    kind: str  # of KINDS
    tokens: tuple[str, ...]
    chances: tuple[float, ...]  # the model's probability of each


@dataclass(frozen=True)
class Passage:
    """A prompt and its continuations."""

    prompt: str
    strands: tuple[Strand, ...]


@dataclass(frozen=True)
class Study:
    """What a model finds of human text and of its own."""

    title: str
    note: str
    passages: tuple[Passage, ...]
    rows: tuple[dict[str, Any], ...]  # for each kind: its name and numbers, None where there is none

    def svg(self) -> str:
        """The figure as an SVG document."""
        return to_svg(_scene(self))

    def html(self) -> str:
        """A page with the figure, the numbers and the texts, without script and without anything from elsewhere."""
        texts = (_passage(number, passage) for number, passage in enumerate(self.passages, 1))
        body = [to_svg(_scene(self)), "<h2>Numbers</h2>", _table(self.rows), "<h2>Texts</h2>", _scale(), *texts]
        return sheet(self.title, body, _STYLE)

    def save(self, path: str | Path) -> None:
        """Write a file of the kind its ending says."""
        files.replace_file(Path(path), _ENDINGS[ending_of(path)](self).encode())


_ENDINGS: Mapping[str, Callable[[Study], str]] = {".svg": Study.svg, ".html": Study.html}


def ending_of(path: str | Path) -> str:
    """The ending of a file's name, which says its kind; another is an error."""
    ending = Path(path).suffix.lower()
    if ending not in _ENDINGS:
        do = f"name it {' or '.join(f'…{known}' for known in _ENDINGS)}"
        raise FirthError(f"no figure with the ending {ending!r}", where=path, do=do)
    return ending


# --- lines ------------------------------------------------------------------------------------------------------


def means(passages: Sequence[Passage], kind: str) -> list[float]:
    """The mean probability at each position over the passages that are so long, smoothed over neighbours."""
    rows = [strand.chances for passage in passages for strand in passage.strands if strand.kind == kind]
    least = max(1, len(rows) // 2)  # a mean over few texts jumps: where most have ended, the line ends
    columns = [[row[at] for row in rows if at < len(row)] for at in range(max(map(len, rows), default=0))]
    raw = [sum(column) / len(column) for column in columns if len(column) >= least]
    reach = _SMOOTH // 2
    windows = (raw[max(0, at - reach) : at + reach + 1] for at in range(len(raw)))
    return [sum(window) / len(window) for window in windows]


def _scene(study: Study) -> Scene:
    inner = _WIDE - 2 * _MARGIN
    shapes: list[Shape] = [Text(_MARGIN, 28.0, shortened(study.title, 16.0, inner), 16.0, weight="bold"), *_legend()]
    lines = {kind: means(study.passages, kind) for kind in KINDS}
    longest = max(1, *map(len, lines.values()), *(len(s.chances) for s in study.passages[0].strands))
    top = 66.0
    heading = f"mean of {len(study.passages)} passage{'s' * (len(study.passages) != 1)}"
    shapes += _panel(heading, top, _HIGH, longest, lines, dots=True)
    top += _HIGH + 12.0
    for strand in study.passages[0].strands:
        shapes += _panel(f"passage 1: {strand.kind}", top, _LOW, longest, {strand.kind: strand.chances})
        top += _LOW + 8.0
    shapes.append(Text(_WIDE / 2, top + 14.0, "tokens after the prompt", 12.0, "soft", "middle"))
    notes = wrapped(study.note, 11.0, inner)
    shapes += [Text(_MARGIN, top + 38.0 + 15.0 * n, line, 11.0, "soft") for n, line in enumerate(notes)]
    return Scene(_WIDE, top + 38.0 + 15.0 * len(notes), study.title, tuple(shapes))


def _legend() -> list[Shape]:
    shapes, x = [], _MARGIN
    for kind, colour in KINDS.items():
        shapes += [Line(((x, 46.0), (x + 18.0, 46.0)), colour, 2.5), Text(x + 24.0, 50.0, kind)]
        x += 24.0 + text_width(kind, 12.0) + 18.0
    return shapes


def _panel(
    title: str, top: float, high: float, longest: int, lines: Mapping[str, Sequence[float]], dots: bool = False
) -> list[Shape]:
    """Probability from 0 to 1 against the position; the same scale in every panel."""
    bottom, right = top + high - 16.0, _WIDE - _MARGIN

    def place(at: int, value: float) -> tuple[float, float]:
        across = (at - 1) / max(1, longest - 1)
        return _LEFT + across * (right - _LEFT), bottom - value * (bottom - top - 18.0)

    shapes: list[Shape] = [Text(_LEFT, top + 10.0, title, 12.0, "soft")]
    for value in ticks(0.0, 1.0, 5 if dots else 2):
        y = place(1, value)[1]
        shapes += [
            Line(((_LEFT, y), (right, y)), "line", 0.7),
            Text(_LEFT - 8.0, y + 4.0, f"{value:g}", 11.0, "soft", "end"),
        ]
    for kind, values in lines.items():
        points = tuple(place(at, value) for at, value in enumerate(values, 1))
        shapes += [Line(points, KINDS[kind], 2.0 if dots else 1.2)] if len(points) > 1 else []
    for at in [value for value in ticks(1, longest, 10) if value >= 1] if dots else []:
        shapes.append(Text(place(int(at), 0.0)[0], bottom + 14.0, f"{at:g}", 11.0, "soft", "middle"))
    return shapes


# --- text ---------------------------------------------------------------------------------------------------------


def _passage(number: int, passage: Passage) -> str:
    parts = [f"<h3>Passage {number}</h3>", f'<div class="prompt">{escape(passage.prompt)}</div>']
    for strand in passage.strands:
        tokens = "".join(map(_token, strand.tokens, strand.chances))
        parts.append(f'<div class="kind">{escape(strand.kind)}</div><div class="tokens">{tokens}</div>')
    return "".join(parts)


def _token(text: str, chance: float) -> str:
    bits = -math.log2(chance) if chance > 0 else math.inf
    return f'<span style="{_colour(bits)}" title="p = {chance:.3g}, {bits:.1f} bits">{escape(text)}</span>'


def _colour(bits: float) -> str:
    return f"background:rgba(221,107,32,{0.75 * min(1.0, bits / _MOST):.2f})"


def _scale() -> str:
    steps = "".join(f'<span style="{_colour(bits)}"> {bits:g} </span>' for bits in (0, 2, 4, 6, 8, 10, 12))
    hint = "Point at a token to see its probability."
    return f'<p>Bits of surprise: <span class="tokens">{steps}</span> or more. {hint}</p>'


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    head = "".join(f'<th class="{"" if at == 0 else "number"}">{escape(key)}</th>' for at, key in enumerate(rows[0]))
    lines = ("".join(_cell(at, value) for at, value in enumerate(row.values())) for row in rows)
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _cell(at: int, value: Any) -> str:
    return f'<td class="{"" if at == 0 else "number"}">{escape(shown(value))}</td>'


def shown(value: Any) -> str:
    """A cell of the table."""
    return "n/a" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)
