"""Pages about words: a concordance with collocations, texts compared, and a text in numbers. Static, without script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from firth.counts.collocations import Collocate
from firth.counts.concordance import Concordance, Line
from firth.counts.keyness import Keyness, Keyword
from firth.counts.statistics import Lengths, Statistics
from firth.report.page import sheet
from firth.report.svg import Series, bar_chart, line_chart

_STYLE = """
body { max-width: 68rem; }
th { text-align: left; font-weight: 600; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line); }
td:first-child { color: var(--ink); } .number, .kwic td:first-child.left { text-align: right; }
td.number { white-space: nowrap; }
.kwic { font-size: .85rem; }
.kwic td { white-space: nowrap; overflow: hidden; padding: .1rem .3rem; }
.kwic .left, .kwic .right { width: 50%; max-width: 0; } /* the words found take what they need, the sides the rest */
.kwic .left { text-align: right; direction: rtl; } .kwic .left bdi { direction: ltr; unicode-bidi: isolate; }
.kwic .by { color: var(--soft); text-overflow: ellipsis; max-width: 8rem; }
.kwic .word { font-weight: 600; text-align: center; }
.two { display: grid; grid-template-columns: 1fr 1fr; gap: 2rem; } p { color: var(--soft); }
@media (max-width: 60rem) {
  body { font-size: .85rem; } .kwic { font-size: .75rem; } .two { grid-template-columns: 1fr; gap: 0; }
  th, td { padding-right: .4rem; }
}
"""


def company_page(
    found: Concordance,
    collocates: Sequence[Collocate],
    text: str,
    measure: str,
    key: Keyness | None = None,
    other: str = "",
) -> str:
    """The page of `firth company`."""
    of = f"{len(found.lines):,} of " if len(found.lines) < found.total else ""
    shown = f"{of}{found.total:,} place{'s' * (found.total != 1)}"
    body = [
        f"<h1>{escape(found.query)}</h1><p>{shown} in {escape(text)}</p>",
        _kwic(found),
        "<h2>Company</h2>",
        _table([[c.word, c.count, c.total, c.expected, c.score, c.dispersion] for c in collocates],
               ("word", "count", "in all", "by chance", measure, "dispersion")),
        *_keys(key, f"near it in {text}", f"near it in {other}"),
        f"<p>It does not occur in {escape(other)}.</p>" if other and key is None else "",
    ]  # fmt: skip
    return sheet(found.query, body, _STYLE)


def statistics_page(found: Statistics, key: Keyness | None = None, other: str = "") -> str:
    """The page of `firth text stats`."""
    body = [
        f"<h1>{escape(found.text)}</h1>",
        _facts(summary(found)),
        "<h2>Curves</h2>",
        _zipf(found),
        _heaps(found),
        _bars("Sentence lengths", "words", found.sentences),
        _bars("Word lengths", "characters", found.words),
        "<h2>Commonest</h2>",
        _table(found.common, ("word", "count")),
        *_keys(key, f"typical of {found.text}", f"typical of {other}"),
    ]
    return sheet(found.text, body, _STYLE)


def summary(found: Statistics) -> dict[str, str]:
    """The figures in words, for a page or a terminal."""
    zipf, heaps = found.zipf, found.heaps
    rows = {
        "documents": f"{found.documents:,}",
        "bytes": f"{found.bytes:,}",
        "tokens": f"{found.tokens:,} (words, numbers and marks)",
        "types": f"{found.types:,}, of which {found.hapaxes:,} once",
        "type-token ratio": f"{found.type_token_ratio:.4f}; {found.moving_ratio:.4f} in stretches of 500 words",
        "Zipf exponent": f"{zipf.regression.exponent:.3f} by regression, {zipf.likelihood:.3f} by likelihood",
        "Heaps": f"types = {heaps.fit.factor:.2f} · tokens^{heaps.fit.exponent:.3f}",
        "sentences": _spread(found.sentences, "words"),
        "word length": _spread(found.words, "characters"),
    }
    if found.coverage is not None:
        rows["tokenizer"] = (
            f"{found.coverage.tokens:,} tokens, {found.coverage.tokens_per_word:.3f} a word, "
            f"{found.coverage.unknown_share:.2%} unknown"
        )
    return rows


def _spread(found: Lengths, unit: str) -> str:
    q = found.quantiles
    return (
        f"{found.count:,}; mean {found.mean:.2f} {unit}, half of them {q['0.25']} to {q['0.75']}, 95% up to {q['0.95']}"
    )


def _kwic(found: Concordance) -> str:
    return f'<table class="kwic">{"".join(_row(line, found.by) for line in found.lines)}</table>'


def _row(line: Line, by: str) -> str:
    label = f'<td class="by">{escape(line.values[by])}</td>' if by else ""
    return (
        f'<tr>{label}<td class="left"><bdi>{escape(line.left)}</bdi></td>'
        f'<td class="word">{escape(line.word)}</td><td class="right">{escape(line.right)}</td></tr>'
    )


def _table(rows: Iterable[Sequence[object]], names: Sequence[str]) -> str:
    head = "".join(f"<th{_number(place)}>{escape(name)}</th>" for place, name in enumerate(names))
    lines = "".join(
        f"<tr>{''.join(f'<td{_number(place)}>{escape(_shown(value))}</td>' for place, value in enumerate(row))}</tr>"
        for row in rows
    )
    return f"<table><tr>{head}</tr>{lines}</table>"


def _number(place: int) -> str:
    return ' class="number"' if place else ""


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:z,.2f}" if isinstance(value, float) else str(value)


def _facts(rows: dict[str, str]) -> str:
    lines = "".join(f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>" for name, value in rows.items())
    return f"<table>{lines}</table>"


def _keys(key: Keyness | None, here: str, there: str) -> list[str]:
    if key is None:
        return []
    sides = [f"<div><h2>More {escape(name)}</h2>{_keywords(side)}</div>"
             for name, side in ((here, key.here), (there, key.there))]  # fmt: skip
    return ['<div class="two">', *sides, "</div>"]


def _keywords(words: Sequence[Keyword]) -> str:
    rows = [[k.word, k.count, k.other, k.log_likelihood, k.log_ratio] for k in words]
    return _table(rows, ("word", "count", "other text", "log-likelihood", "log ratio"))


def _zipf(found: Statistics) -> str:
    zipf = found.zipf
    line = [zipf.regression.factor * rank**-zipf.regression.exponent for rank in zipf.ranks]
    series = [Series("count", zipf.ranks, zipf.counts, dots=True), Series("fit", zipf.ranks, line)]
    return line_chart("Zipf: counts by rank", "rank", "count", series, log=True)


def _heaps(found: Statistics) -> str:
    heaps = found.heaps
    line = [heaps.fit.factor * words**heaps.fit.exponent for words in heaps.words]
    series = [Series("types", heaps.words, heaps.types, dots=True), Series("fit", heaps.words, line)]
    return line_chart("Heaps: different words by words read", "words", "different words", series, log=True)


def _bars(title: str, unit: str, found: Lengths) -> str:
    """The histogram up to a little over the 95th percentile: what is longer is rare."""
    most = max(1, 2 * found.quantiles["0.95"])
    x = range(min(most, max(found.histogram, default=0)) + 1)
    return bar_chart(title, unit, "how many", x, [found.histogram.get(n, 0) for n in x])
