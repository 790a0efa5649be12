"""The report of a ladder: recommendation, table, learning curves, samples, worst-predicted sentences; no script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from firth.report.drawing import Drawing, to_svg
from firth.report.ladder_figures import cost_quality_plot, learning_curves
from firth.report.run_page import html_page
from firth.runs.ladder_folder import ConfidenceInterval, Ladder, Result, Row, WorstPassage

_STYLE = """
body { max-width: 70rem; } h2 { margin-top: 2.6rem; } p { max-width: 48rem; } .soft { color: var(--soft); }
.advice { border: 1px solid var(--line); border-left: 5px solid #2f855a; border-radius: 6px;
          padding: .4rem 1.2rem .8rem; margin: 1.2rem 0 2rem; }
.advice p { margin: .45rem 0; } .advice .first { font-size: 1.15rem; }
.advice code { display: block; margin-top: .3rem; padding: .5rem .7rem; border-radius: 4px; background: var(--line);
               color: var(--ink); overflow-wrap: anywhere; }
.figure, .scroll { overflow-x: auto; } .figure svg { min-width: 46rem; }
th { text-align: left; font-weight: 600; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line);
     vertical-align: bottom; }
td:first-child { color: var(--ink); } td small { color: var(--soft); font-weight: 400; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
tr.chosen td { font-weight: 600; background: color-mix(in srgb, #2f855a 12%, transparent); }
.sample { width: 30%; max-width: 0; min-width: 8rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(19rem, 1fr)); gap: 1rem; }
.card { border: 1px solid var(--line); border-radius: 6px; padding: .6rem .9rem; min-width: 0; }
.card h3 { margin: 0 0 .3rem; font-size: .95rem; } .card h3 small { color: var(--soft); font-weight: 400; }
.card pre { font: .82rem/1.45 ui-monospace, monospace; margin: .5rem 0; max-height: 16rem; overflow: auto; }
.worst p { font: .86rem/1.9 ui-monospace, monospace; margin: .35rem 0; max-width: none; overflow-wrap: anywhere; }
.worst .bits { color: var(--soft); }
.worst mark { color: inherit; border-radius: 3px; padding: .08em 0; white-space: pre-wrap; }
details { margin: .5rem 0; } summary { cursor: pointer; } details pre { font-size: .82rem; margin: .2rem 0; }
"""
_LEVELS = ((12.0, 70), (9.0, 52), (6.0, 34), (3.0, 17))  # from so many bits on, this opacity in percent


def ladder_page(ladder: Ladder) -> str:
    """Render the whole report."""
    body = [
        f"<h1>Which language model for {escape(ladder.describe()['text'])}?</h1>",
        _advice(ladder),
        _table(ladder),
        *_figure("Learning curves", learning_curves(ladder), _CURVES),
        *_figure("Quality against cost", cost_quality_plot(ladder), _COST),
        *_samples(ladder),
        *_training_samples(ladder.results),
        *_worst(ladder),
        *_setup(ladder),
    ]
    return html_page(f"ladder: {ladder.describe()['text']}", body, _STYLE)


_CURVES = (
    "Scores on the validation text during training; lower is better. n-gram models are level lines. "
    "Scores much worse than the best are clipped."
)
_COST = "The lower and the farther left, the better. Error bars are 95% confidence intervals."


def _advice(ladder: Ladder) -> str:
    first, *rest = ladder.advice.sentences
    lines = [f'<p class="first">{escape(first)}</p>', *(f"<p>{escape(text)}</p>" for text in rest)]
    lines.append(f'<p class="soft">To train it alone:</p><code>{escape(ladder.advice.command)}</code>')
    return f'<div class="advice">{"".join(lines)}</div>'


_COLUMNS = (
    "rung",
    "parameters",
    "seconds",
    "tokens/s",
    "tokens",
    "perplexity",
    "{}",
    "difference from the best",
    "sample",
)


def _table(ladder: Ladder) -> str:
    heads = [name.format(ladder.metric) for name in _COLUMNS]
    cells = "".join(f"<th{' class=number' * (0 < n < 8)}>{escape(name)}</th>" for n, name in enumerate(heads))
    rows = "".join(_row(row, ladder) for row in ladder.rows)
    entropy = ladder.floors.get("test")
    note = f"<p>The true entropy of this text is {entropy:.3f} {ladder.metric}.</p>" if entropy else ""
    return f'<div class="scroll"><table><tr>{cells}</tr>{rows}</table></div>{note}'


def _row(row: Row, ladder: Ladder) -> str:
    numbers = (
        f"{row.parameters:,}",
        f"{row.seconds:,.1f}",
        f"{row.tokens_per_second:,.0f}",
        f"{row.tokens:,}",
        f"{row.perplexity:,.1f}",
        _format_interval(row.bits),
        _format_difference(row.behind),
    )
    chosen = ' class="chosen"' if row.rung == ladder.advice.rung else ""
    size = row.preset.partition(":")[2]
    name = escape(row.rung) + (f" <small>{escape(size)}</small>" if size and ":" not in row.rung else "")
    sample = escape(" ".join(row.sample.split()))
    middle = "".join(f'<td class="number">{text}</td>' for text in numbers)
    return f'<tr{chosen}><td>{name}</td>{middle}<td class="sample" title="{sample}"><small>{sample}</small></td></tr>'


def _format_interval(interval: ConfidenceInterval) -> str:
    return f"{interval.value:.3f} <small>± {(interval.high - interval.low) / 2:.3f}</small>"


def _format_difference(interval: ConfidenceInterval) -> str:
    return (
        f"+{interval.value:.3f} <small>{interval.low:.3f} to {interval.high:.3f}</small>"
        if interval.value > 0
        else "best"
    )


def _figure(title: str, scene: Drawing | None, note: str) -> list[str]:
    if scene is None:
        return []
    return [f'<h2>{title}</h2><div class="figure">{to_svg(scene)}</div><p class="soft">{escape(note)}</p>']


def _samples(ladder: Ladder) -> list[str]:
    cards = (
        _card(row, ladder.metric, (f"<pre>{escape(text)}</pre>" for text in result.samples))
        for row, result in zip(ladder.rows, ladder.results, strict=True)
    )
    return ["<h2>Samples side by side</h2>", f'<div class="cards">{"".join(cards)}</div>']


def _card(row: Row, unit: str, inside: Iterable[str]) -> str:
    title = f"<h3>{escape(row.rung)} <small>{row.bits.value:.3f} {unit}</small></h3>"
    return f'<div class="card">{title}{"".join(inside)}</div>'


def _training_samples(results: Sequence[Result]) -> list[str]:
    """Samples during training, where the runs logged some."""
    with_samples = [result for result in results if any(point.sample for point in result.curve)]
    parts = []
    for result in with_samples:
        rows = "".join(
            f'<tr><td class="number">{point.seconds:,.0f} s</td><td class="number">{point.bits:.3f}</td>'
            f"<td><pre>{escape(point.sample)}</pre></td></tr>"
            for point in result.curve
            if point.sample
        )
        parts.append(f"<details><summary>{escape(result.rung)}</summary><table>{rows}</table></details>")
    return ["<h2>Samples during training</h2>", *parts] if parts else []


def _worst(ladder: Ladder) -> list[str]:
    parts = [
        f'<details class="worst"{" open" if result.rung == ladder.advice.rung else ""}>'
        f"<summary>{escape(result.rung)}</summary>{''.join(map(_passage, result.worst))}</details>"
        for result in ladder.results
        if result.worst
    ]
    note = '<p class="soft">Of the test text, by bits per byte. The darker a token, the higher its surprisal.</p>'
    return ["<h2>The worst-predicted sentences of each rung</h2>", note, *parts] if parts else []


def _passage(passage: WorstPassage) -> str:
    tokens = "".join(_token(token, bits) for token, bits in zip(passage.tokens, passage.token_bits, strict=True))
    return f'<p><span class="bits">{passage.bits:.2f}</span> {tokens}</p>'


def _token(token: str, bits: float) -> str:
    opacity = next((percent for min_bits, percent in _LEVELS if bits >= min_bits), 0)
    background = f"color-mix(in srgb, #dd6b20 {opacity}%, transparent)"
    return f'<mark style="background: {background}" title="{bits:.1f} bits">{escape(token)}</mark>'


def _setup(ladder: Ladder) -> list[str]:
    rows = "".join(f"<tr><td>{escape(k)}</td><td>{escape(v)}</td></tr>" for k, v in ladder.describe().items())
    notes = "".join(f"<p>{escape(note)}</p>" for note in ladder.notes)
    return [f"<h2>Method</h2><p>{_METHOD}</p>{notes}<table>{rows}</table>"]


_METHOD = (
    "All rungs have the same tokenizer, the same training text, the same seed and, if neural, the same budget. The "
    "recommended rung is chosen on the validation text: the simplest of all rungs that are not significantly worse "
    "than the best there, and at most 2% worse. The test text is only reported. Confidence intervals are from a paired "
    "bootstrap over held-out documents (1,000 resamples)."
)
