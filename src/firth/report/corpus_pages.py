"""HTML pages of corpus tools: concordance, collocations, keyness, statistics. Static, without script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from firth.corpus.collocations import Collocate
from firth.corpus.concordance import Concordance, ConcordanceLine
from firth.corpus.keyness import Keyness, Keyword
from firth.corpus.statistics import LengthDistribution, Statistics
from firth.report.charts import Series, bar_chart, line_chart
from firth.report.page import facts, html_page, table

_STYLE = """
body { max-width: 68rem; } .scroll svg { max-width: 50rem; }
.kwic { font-size: .85rem; }
.kwic td { white-space: nowrap; overflow: hidden; padding: .1rem .3rem; min-width: 0; overflow-wrap: normal; }
.kwic .left, .kwic .right { width: 50%; max-width: 0; } /* the words found take what they need, the sides the rest */
.kwic .left { text-align: right; direction: rtl; unicode-bidi: normal; }
.kwic .left bdi { direction: ltr; unicode-bidi: isolate; }
.kwic .by { color: var(--soft); text-overflow: ellipsis; max-width: 8rem; }
.kwic .word { font-weight: 600; text-align: center; max-width: 12rem; text-overflow: ellipsis; }
.two { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 2rem; }
@media (max-width: 60rem) { .kwic { font-size: .75rem; } .two { grid-template-columns: minmax(0, 1fr); gap: 0; } }
@media (max-width: 40rem) { .kwic .by { display: none; } .kwic .word { max-width: 6rem; } }
"""


def concordance_page(concordance: Concordance, corpus: str) -> str:
    """The page of `firth corpus concordance`."""
    return html_page(concordance.query, _concordance(concordance, corpus), _STYLE)


def collocations_page(
    concordance: Concordance,
    collocates: Sequence[Collocate],
    corpus: str,
    measure: str,
    keyness: Keyness | None = None,
    reference: str = "",
) -> str:
    """The page of `firth corpus collocations`: collocates, with the concordance, and compared with a reference."""
    names = ("word", "count", "total", "expected", measure, "dispersion")
    body = [
        *_concordance(concordance, corpus),
        "<h2>Collocates</h2>",
        _table([[c.word, c.count, c.total, c.expected, c.score, c.dispersion] for c in collocates], names),
        *_keyness_tables(keyness, f"near it in {corpus}", f"near it in {reference}"),
        f"<p>It does not occur in {escape(reference)}.</p>" if reference and keyness is None else "",
    ]
    return html_page(concordance.query, body, _STYLE)


def keyness_page(keyness: Keyness, corpus: str, reference: str) -> str:
    """The page of `firth corpus keyness`."""
    body = [f"<h1>{escape(corpus)}</h1>", *_keyness_tables(keyness, f"typical of {corpus}", f"typical of {reference}")]
    return html_page(corpus, body, _STYLE)


def _concordance(concordance: Concordance, corpus: str) -> list[str]:
    num_lines, total = len(concordance.lines), concordance.total
    hits = f"{f'{num_lines:,} of ' if num_lines < total else ''}{total:,} hit{'s' * (total != 1)}"
    return [f"<h1>{escape(concordance.query)}</h1><p>{hits} in {escape(corpus)}</p>", _kwic(concordance)]


def statistics_page(statistics: Statistics) -> str:
    """The page of `firth corpus stats`."""
    body = [
        f"<h1>{escape(statistics.source)}</h1>",
        facts((name, escape(value)) for name, value in summary(statistics).items()),
        "<h2>Curves</h2>",
        _zipf(statistics),
        _heaps(statistics),
        _bars("Sentence lengths", "words", statistics.sentence_lengths),
        _bars("Word lengths", "characters", statistics.word_lengths),
        "<h2>Most frequent words</h2>",
        _table(statistics.most_common, ("word", "count")),
    ]
    return html_page(statistics.source, body, _STYLE)


def summary(statistics: Statistics) -> dict[str, str]:
    """The statistics as text, for a page or a terminal."""
    zipf, heaps = statistics.zipf, statistics.heaps
    rows = {
        "documents": f"{statistics.documents:,}",
        "bytes": f"{statistics.bytes:,}",
        "tokens": f"{statistics.tokens:,} (words, numbers and punctuation)",
        "types": f"{statistics.types:,}, of which {statistics.hapaxes:,} hapax legomena",
        "type-token ratio": f"{statistics.type_token_ratio:.4f}; MATTR (500 words) {statistics.mattr:.4f}",
        "Zipf exponent": f"{zipf.regression.exponent:.3f} by regression, {zipf.mle_exponent:.3f} by likelihood",
        "Heaps' law": f"types = {heaps.fit.factor:.2f} · tokens^{heaps.fit.exponent:.3f}",
        "sentences": _describe_lengths(statistics.sentence_lengths, "words"),
        "word length": _describe_lengths(statistics.word_lengths, "characters"),
    }
    if statistics.coverage is not None:
        rows["tokenizer"] = (
            f"{statistics.coverage.tokens:,} tokens, {statistics.coverage.tokens_per_word:.3f} a word, "
            f"{statistics.coverage.unknown_fraction:.2%} unknown"
        )
    return rows


def _describe_lengths(lengths: LengthDistribution, unit: str) -> str:
    q = lengths.quantiles
    quartiles = f"quartiles {q['0.25']} and {q['0.75']}, 95th percentile {q['0.95']}"
    return f"{lengths.count:,}; mean {lengths.mean:.2f} {unit}, {quartiles}"


def _kwic(concordance: Concordance) -> str:
    return f'<table class="kwic">{"".join(_row(line, concordance.by) for line in concordance.lines)}</table>'


def _row(line: ConcordanceLine, by: str) -> str:
    label = f'<td class="by">{escape(line.values[by])}</td>' if by else ""
    return (
        f'<tr>{label}<td class="left"><bdi>{escape(line.left)}</bdi></td>'
        f'<td class="word">{escape(line.word)}</td><td class="right">{escape(line.right)}</td></tr>'
    )


def _table(rows: Iterable[Sequence[object]], names: Sequence[str]) -> str:
    return table(names, ([escape(_format_cell(value)) for value in row] for row in rows))


def _format_cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:z,.2f}" if isinstance(value, float) else str(value)


def _keyness_tables(key: Keyness | None, here: str, there: str) -> list[str]:
    if key is None:
        return []
    sides = [f"<div><h2>More {escape(name)}</h2>{_keywords(side)}</div>"
             for name, side in ((here, key.target), (there, key.reference))]  # fmt: skip
    return ['<div class="two">', *sides, "</div>"]


def _keywords(words: Sequence[Keyword]) -> str:
    rows = [[k.word, k.count, k.other_count, k.log_likelihood, k.log_ratio] for k in words]
    return _table(rows, ("word", "count", "other text", "log-likelihood", "log ratio"))


def _zipf(statistics: Statistics) -> str:
    zipf = statistics.zipf
    line = [zipf.regression.factor * rank**-zipf.regression.exponent for rank in zipf.ranks]
    series = [Series("count", zipf.ranks, zipf.counts, markers=True), Series("fit", zipf.ranks, line)]
    return line_chart("Zipf's law: count by rank", "rank", "count", series, log_x=True, log_y=True)


def _heaps(statistics: Statistics) -> str:
    heaps = statistics.heaps
    line = [heaps.fit.factor * words**heaps.fit.exponent for words in heaps.words]
    series = [Series("types", heaps.words, heaps.types, markers=True), Series("fit", heaps.words, line)]
    return line_chart("Heaps' law: types by tokens", "tokens", "types", series, log_x=True, log_y=True)


def _bars(title: str, unit: str, lengths: LengthDistribution) -> str:
    """The histogram of lengths up to twice the 95th percentile."""
    max_length = max(1, 2 * lengths.quantiles["0.95"])
    x = range(min(max_length, max(lengths.histogram, default=0)) + 1)
    return bar_chart(title, unit, "count", x, [lengths.histogram.get(n, 0) for n in x])
