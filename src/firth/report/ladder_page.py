"""The report of a ladder: recommendation, table, learning curves, samples, worst-predicted sentences; no script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import PurePath

from firth.report.drawing import to_svg
from firth.report.ladder_figures import cost_quality_plot, learning_curves
from firth.report.page import facts, figure, html_page, table
from firth.report.palette import heat
from firth.runs.base_ladder import Advice, ConfidenceInterval
from firth.runs.ladder_folder import Ladder, Result, Row, WorstPassage
from firth.training.speed import SPEED_NOTE

STYLE = """
body { max-width: 70rem; } h2 { margin-top: 2.6rem; } p { max-width: 48rem; } .scroll svg { min-width: 46rem; }
.advice { border: 1px solid var(--line); border-left: 5px solid var(--accent); border-radius: 6px;
          padding: .4rem 1.2rem .8rem; margin: 1.2rem 0 2rem; }
.advice p { margin: .45rem 0; color: var(--ink); } .advice .first { font-size: 1.15rem; }
.advice code { display: block; margin-top: .3rem; padding: .5rem .7rem; border-radius: 4px; color: var(--ink);
               background: color-mix(in srgb, var(--line) 50%, transparent); }
.chosen td { font-weight: 600; background: color-mix(in srgb, var(--accent) 12%, transparent); }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(19rem, 100%), 1fr)); gap: 1rem; }
.card { border: 1px solid var(--line); border-radius: 6px; padding: .6rem .9rem; min-width: 0; }
.card h3 { margin: 0 0 .3rem; font-size: .95rem; } .card h3 small { color: var(--soft); font-weight: 400; }
.card pre { font: .82rem/1.45 ui-monospace, monospace; margin: .5rem 0; max-height: 16rem; overflow: auto; }
.worst p { font: .86rem/1.9 ui-monospace, monospace; margin: .35rem 0; max-width: none; overflow-wrap: anywhere;
           color: var(--ink); unicode-bidi: plaintext; text-align: start; }
.worst .bits { color: var(--soft); unicode-bidi: isolate; }
.worst mark { border-radius: 3px; padding: .08em 0; white-space: pre-wrap; }
@media screen and (min-width: 60rem) { td:first-child { white-space: nowrap; } }
details { margin: .5rem 0; } details pre { font-size: .82rem; margin: .2rem 0; }
"""
_LEVELS = ((12.0, 70), (9.0, 52), (6.0, 34), (3.0, 17))  # from so many bits on, this percentage of the heat colour


def ladder_page(ladder: Ladder) -> str:
    """Render the whole report."""
    body = [
        f"<h1>Which language model for {escape(_names(ladder))}?</h1>",
        advice_box(ladder.advice),
        _table(ladder),
        *_curves(ladder),
        "<h2>Quality against cost</h2>",
        figure(to_svg(cost_quality_plot(ladder)), _COST),
        *_samples(ladder),
        *_training_samples(ladder.results),
        *_worst(ladder),
        *_setup(ladder),
    ]
    return html_page(f"ladder: {_names(ladder)}", body, STYLE)


def _names(ladder: Ladder) -> str:
    """The texts without their folders."""
    return ", ".join(PurePath(text).name or text for text in ladder.about["text"])


_CURVES = "Scores on the validation text during training; lower is better. Rungs without a curve are level lines."
_WORST = "Of the test text, by bits per byte. The stronger the colour of a token, the higher its surprisal."
_COST = "The lower and the farther left, the better. Error bars are 95% confidence intervals."


def advice_box(advice: Advice) -> str:
    """The recommendation and the command that trains it."""
    first, *rest = advice.sentences
    lines = [f'<p class="first">{escape(first)}</p>', *(f"<p>{escape(text)}</p>" for text in rest)]
    next_rung = escape(advice.next_rung or advice.rung)
    lines.append(f'<p class="soft">To train {next_rung} alone:</p><code>{escape(advice.command)}</code>')
    return f'<div class="advice">{"".join(lines)}</div>'


def _table(ladder: Ladder) -> str:
    names = ("rung", "parameters", "seconds", "tokens/s", "tokens", "perplexity (test)", f"{ladder.metric} (test)",
             "difference from the best")  # fmt: skip
    chosen = next((index for index, row in enumerate(ladder.rows) if row.rung == ladder.advice.rung), None)
    entropy = ladder.floors.get("test")
    note = f"<p>The true entropy of this text is {entropy:.3f} {escape(ladder.metric)}.</p>" if entropy else ""
    return f'{table(names, map(_cells, ladder.rows), chosen=chosen)}{note}<p class="soft">{SPEED_NOTE}</p>'


def _cells(row: Row) -> tuple[str, ...]:
    size = row.preset.partition(":")[2]
    return (
        escape(row.rung) + (f" <small>{escape(size)}</small>" if size and ":" not in row.rung else ""),
        f"{row.parameters:,}",
        f"{row.seconds:,.1f}",
        f"{row.tokens_per_second:,.0f}",
        f"{row.tokens:,}",
        f"{row.perplexity:,.1f}",
        _format_interval(row.bits),
        _format_difference(row.behind),
    )


def _format_interval(interval: ConfidenceInterval) -> str:
    return f"{interval.value:.3f} <small>± {(interval.high - interval.low) / 2:.3f}</small>"


def _format_difference(interval: ConfidenceInterval) -> str:
    return (
        f"+{interval.value:.3f} <small>{interval.low:.3f} to {interval.high:.3f}</small>"
        if interval.value > 0
        else "best"
    )


def _curves(ladder: Ladder) -> list[str]:
    curves = learning_curves(ladder)
    if curves is None:
        return []
    drawing, note = curves
    return ["<h2>Learning curves</h2>", figure(to_svg(drawing), f"{_CURVES} {note}".strip())]


def _samples(ladder: Ladder) -> list[str]:
    cards = (
        _card(row, ladder.metric, (f"<pre>{escape(text)}</pre>" for text in result.samples))
        for row, result in zip(ladder.rows, ladder.results, strict=True)
    )
    return ["<h2>Samples side by side</h2>", f'<div class="cards">{"".join(cards)}</div>']


def _card(row: Row, unit: str, inside: Iterable[str]) -> str:
    title = f"<h3>{escape(row.rung)} <small>{row.bits.value:.3f} {escape(unit)}, test text</small></h3>"
    return f'<div class="card">{title}{"".join(inside)}</div>'


def _training_samples(results: Sequence[Result]) -> list[str]:
    """Samples during training, where the runs logged some."""
    with_samples = [result for result in results if any(point.sample for point in result.curve)]
    parts = []
    for result in with_samples:
        rows = (
            (f"{point.seconds:,.0f} s", f"{point.bits:.3f}", f"<pre>{escape(point.sample)}</pre>")
            for point in result.curve
            if point.sample
        )
        samples = table(("time", "validation score", "sample"), rows, texts=(2,))
        parts.append(f"<details><summary>{escape(result.rung)}</summary>{samples}</details>")
    return ["<h2>Samples during training</h2>", *parts] if parts else []


def _worst(ladder: Ladder) -> list[str]:
    parts = [
        f'<details class="worst"{" open" if result.rung == ladder.advice.rung else ""}>'
        f"<summary>{escape(result.rung)}</summary>{''.join(map(_passage, result.worst))}</details>"
        for result in ladder.results
        if result.worst
    ]
    note = f'<p class="soft">{_WORST}</p>'
    return ["<h2>The worst-predicted sentences of each rung</h2>", note, *parts] if parts else []


def _passage(passage: WorstPassage) -> str:
    tokens = "".join(_token(token, bits) for token, bits in zip(passage.tokens, passage.token_bits, strict=True))
    return f'<p><span class="bits">{passage.bits:.2f}</span> {tokens}</p>'


def _token(token: str, bits: float) -> str:
    percent = next((level for min_bits, level in _LEVELS if bits >= min_bits), 0)
    return f'<mark style="{heat(percent)}" title="{bits:.1f} bits">{escape(token)}</mark>'


def _setup(ladder: Ladder) -> list[str]:
    about = facts((name, escape(value)) for name, value in ladder.describe().items())
    notes = "".join(f"<p>{escape(note)}</p>" for note in ladder.notes)
    return [f"<h2>Method</h2><p>{_METHOD}</p>{notes}{about}"]


_METHOD = (
    "All rungs have the same tokenizer, the same training text, the same seed and, if neural, the same budget. The "
    "recommended rung is chosen on the validation text: the simplest of all rungs that are not significantly worse "
    "than the best there, and at most 2% worse. The test text is only reported. Confidence intervals are from a paired "
    "bootstrap over held-out documents (1,000 resamples)."
)
