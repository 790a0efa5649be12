"""The error page of a labelled task: examples ranked by loss, filtered by links, their spans drawn. No script."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import pairwise

from firth.metrics.error_analysis import AnalysedExample, ErrorAnalysis, Mark
from firth.report.page import facts, format_cell, html_page, table

MAX_EXAMPLES, MAX_FILTERS, MAX_CHARACTERS, MAX_NAME = 500, 12, 4000, 60
_SIDES = {"gold": "only gold", "predicted": "only predicted", "both": "gold and predicted"}
_STYLE = """
.card { border: 1px solid var(--line); border-radius: .4rem; padding: .6rem .9rem; margin: .7rem 0; }
.card p { margin: .3rem 0; color: var(--ink); unicode-bidi: plaintext; }
.card .head { display: flex; flex-wrap: wrap; gap: .2rem 1rem; color: var(--soft); font-size: .85rem; }
.card .head b { color: var(--ink); } .head b.wrong { color: var(--group-2); }
mark { background: none; border-bottom: 2px solid; border-radius: 2px; padding: 0 .1em; }
mark.gold { border-color: var(--group-1); border-bottom-style: dashed; }
mark.predicted { border-color: var(--group-2); border-bottom-style: dotted; }
mark.both { border-color: var(--group-3); }
mark sub { font-size: .7em; color: var(--soft); margin-inline-start: .2em; }
.bars { font-size: .85rem; color: var(--soft); margin: .4rem 0 0; display: grid; gap: .1rem .6rem;
        grid-template-columns: minmax(4rem, max-content) 8rem max-content; align-items: center; }
.bars i { display: block; height: .5rem; background: var(--line); }
.bars i i { background: var(--group-1); }
.filters { display: flex; flex-wrap: wrap; gap: .3rem; margin: .6rem 0; padding: 0; border: 0; }
.filters label { border: 1px solid var(--line); border-radius: 1rem; padding: .1rem .7rem; cursor: pointer;
                 font-size: .85rem; }
.filters label:has(input:checked) { background: var(--ink); color: var(--paper); }
.filters label:has(input:focus-visible) { outline: 2px solid var(--group-1); }
.filters input { position: absolute; opacity: 0; width: 0; }
"""


def error_page(title: str, analysis: ErrorAnalysis, scores: Sequence[str] = (), count: int = MAX_EXAMPLES) -> str:
    """The page: scores, filters, the examples with the highest loss, and the tables of the analysis."""
    shown = analysis.examples[:count]
    groups = _groups(shown)
    body = [
        f"<h1>Errors of {escape(title)}</h1>",
        *(f"<p>{escape(line)}</p>" for line in scores),
        f"<p>{_introduction(analysis, shown)}</p>",
        *_filters(shown, groups),
        *(_card(number, each, groups) for number, each in enumerate(shown, 1)),
        "<h2>Tables</h2>",
        *_tables(analysis),
    ]
    return html_page(f"Errors of {title}", body, _STYLE + _filter_style(len(groups)))


def _introduction(analysis: ErrorAnalysis, shown: Sequence[AnalysedExample]) -> str:
    total, wrong = len(analysis.examples), sum(not each.correct for each in analysis.examples)
    which = f"the {len(shown):,} of the highest loss are shown" if len(shown) < total else "all are shown"
    legend = " ".join(f'<mark class="{side}">{name}</mark>' for side, name in _SIDES.items())
    drawn = f" Spans: {legend}." if any(each.marks for each in shown) else ""
    named = f"{total:,} examples, {wrong:,} of them wrong" if wrong < total or analysis.loss[0] == "n" else f"{total:,}"
    return f"{named}; {which}, ranked by their loss ({escape(analysis.loss)}).{drawn}"


# --- filters: radio buttons that hide cards by CSS ----------------------------------------------------------------


def _groups(examples: Sequence[AnalysedExample]) -> dict[str, int]:
    """The most frequent kinds of error, numbered; a kind is a gold and a predicted label."""
    kinds = Counter(_kind(each) for each in examples if not each.correct)
    frequent = [kind for kind, count in kinds.most_common(MAX_FILTERS) if count > 1]
    return {kind: number for number, kind in enumerate(frequent)}


def _kind(example: AnalysedExample) -> str:
    """The kind of error: of spans the labels of those that are not right, else gold and predicted label."""
    if example.marks:
        labels = {f"{mark.side} {mark.label}" for mark in example.marks if mark.side != "both"}
        return ", ".join(sorted(labels)) or "other"
    return f"{_cut(example.gold)} → {_cut(example.predicted)}"


def _filters(examples: Sequence[AnalysedExample], groups: dict[str, int]) -> Iterator[str]:
    counts = Counter(_kind(each) for each in examples if not each.correct)
    wrong = sum(not each.correct for each in examples)
    choices = [("all", f"all {len(examples):,}"), ("wrong", f"wrong {wrong:,}"),
               ("right", f"right {len(examples) - wrong:,}")]  # fmt: skip
    choices += [(f"kind-{number}", f"{kind} {counts[kind]:,}") for kind, number in groups.items()]
    yield '<fieldset class="filters" aria-label="Show">'
    for name, text in choices:
        checked = " checked" if name == "all" else ""
        yield f'<label><input type="radio" name="show" id="show-{name}"{checked}>{escape(text)}</label>'
    yield "</fieldset>"


def _filter_style(groups: int) -> str:
    names = ["wrong", "right", *(f"kind-{number}" for number in range(groups))]
    return "".join(f"body:has(#show-{name}:checked) .card:not(.is-{name}) {{ display: none; }}\n" for name in names)


# --- examples -----------------------------------------------------------------------------------------------------


def _card(number: int, example: AnalysedExample, groups: dict[str, int]) -> str:
    state = "right" if example.correct else "wrong"
    kind = groups.get(_kind(example)) if not example.correct else None
    classes = f"card is-{state}" + (f" is-kind-{kind}" if kind is not None else "")
    *before, last = example.texts or ("",)
    texts = [*(escape(_cut(text, MAX_CHARACTERS)) for text in before), _drawn(last, example.marks)]
    where = f"<span>{escape(example.where)}</span>" if example.where else ""
    head = (
        f'<div class="head"><span>{number}</span><span>loss {format_cell(float(example.loss))}</span>'
        f'<span>gold <b>{escape(_cut(example.gold, 200))}</b></span>'
        f'<span>predicted <b class="{state}">{escape(_cut(example.predicted, 200))}</b></span>{where}</div>'
    )
    paragraphs = "".join(f"<p>{text}</p>" for text in texts)
    return f'<article class="{classes}">{head}{paragraphs}{_bars(example.probabilities)}</article>'


def _bars(probabilities: Iterable[tuple[str, float]]) -> str:
    rows = "".join(
        f"<span>{escape(_cut(label))}</span><i><i style=\"width:{100 * probability:.1f}%\"></i></i>"
        f"<span>{probability:.3g}</span>"
        for label, probability in probabilities
    )
    return f'<div class="bars">{rows}</div>' if rows else ""


def _drawn(text: str, marks: Sequence[Mark]) -> str:
    """The text with its marks; where marks overlap each piece has all of them."""
    text = text[:MAX_CHARACTERS] + "…" * (len(text) > MAX_CHARACTERS)
    edges = sorted({0, len(text), *(min(edge, len(text)) for mark in marks for edge in (mark.start, mark.end))})
    parts = []
    for start, end in pairwise(edges):
        piece = escape(text[start:end])
        for mark in marks:
            if mark.start <= start and end <= mark.end:
                label = f"<sub>{escape(mark.label)}</sub>" if end == min(mark.end, len(text)) else ""
                piece = f'<mark class="{mark.side}" title="{_SIDES[mark.side]}">{piece}{label}</mark>'
        parts.append(piece)
    return "".join(parts)


def _tables(analysis: ErrorAnalysis) -> Iterator[str]:
    for name, rows in analysis.tables.items():
        if rows:
            names = list(rows[0])
            texts = [at for at, key in enumerate(names) if isinstance(rows[0][key], str)]
            cells = ([escape(format_cell(row.get(key))) for key in names] for row in rows)
            yield f"<details><summary>{escape(name)}</summary>{table(names, cells, texts=texts)}</details>"
    yield facts([("split", escape(analysis.split))])


def _cut(text: str, most: int = MAX_NAME) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
