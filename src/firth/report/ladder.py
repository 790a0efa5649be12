"""The page of a ladder: what to use, the table, curves, samples, and where each rung is worst. Static, no script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from firth.report.climb import cost, learning
from firth.report.page import sheet
from firth.report.scene import Scene, to_svg
from firth.runs.ladder import Ladder, Result, Row, Spread, Surprise

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
_LEVELS = ((12.0, 70), (9.0, 52), (6.0, 34), (3.0, 17))  # from so many bits on, so much colour in a hundred


def ladder_page(found: Ladder) -> str:
    """The whole report."""
    body = [
        f"<h1>Which language model for {escape(found.about['text'])}?</h1>",
        _advice(found),
        _table(found),
        *_figure("Learning curves", learning(found), _CURVES),
        *_figure("Cost against quality", cost(found), _COST),
        *_samples(found),
        *_on_the_way(found.results),
        *_worst(found),
        *_about(found),
    ]
    return sheet(f"ladder: {found.about['text']}", body, _STYLE)


_CURVES = (
    "The validation text, looked at while training; lower is better. Models that only count are level lines. "
    "What is much worse than the best stands above the picture."
)
_COST = "The lower and the farther left, the better. Upright lines are 95% intervals."


def _advice(found: Ladder) -> str:
    first, *rest = found.advice.sentences
    lines = [f'<p class="first">{escape(first)}</p>', *(f"<p>{escape(text)}</p>" for text in rest)]
    lines.append(f'<p class="soft">By itself:</p><code>{escape(found.advice.command)}</code>')
    return f'<div class="advice">{"".join(lines)}</div>'


_HEADS = ("rung", "parameters", "seconds", "tokens/s", "tokens read", "perplexity", "{}", "behind the best", "sample")


def _table(found: Ladder) -> str:
    heads = [name.format(found.yardstick) for name in _HEADS]
    cells = "".join(f"<th{' class=number' * (0 < n < 8)}>{escape(name)}</th>" for n, name in enumerate(heads))
    rows = "".join(_row(row, found) for row in found.rows)
    floor = found.floors.get("test")
    truth = f"<p>The truth about this text costs {floor:.3f} {found.yardstick}.</p>" if floor else ""
    return f'<div class="scroll"><table><tr>{cells}</tr>{rows}</table></div>{truth}'


def _row(row: Row, found: Ladder) -> str:
    numbers = (
        f"{row.parameters:,}",
        f"{row.seconds:,.1f}",
        f"{row.tokens_per_second:,.0f}",
        f"{row.tokens:,}",
        f"{row.perplexity:,.1f}",
        _spread(row.bits),
        _behind(row.behind),
    )
    chosen = ' class="chosen"' if row.rung == found.advice.rung else ""
    size = row.preset.partition(":")[2]
    name = escape(row.rung) + (f" <small>{escape(size)}</small>" if size and ":" not in row.rung else "")
    sample = escape(" ".join(row.sample.split()))
    middle = "".join(f'<td class="number">{text}</td>' for text in numbers)
    return f'<tr{chosen}><td>{name}</td>{middle}<td class="sample" title="{sample}"><small>{sample}</small></td></tr>'


def _spread(found: Spread) -> str:
    return f"{found.value:.3f} <small>± {(found.high - found.low) / 2:.3f}</small>"


def _behind(found: Spread) -> str:
    return f"+{found.value:.3f} <small>{found.low:.3f} to {found.high:.3f}</small>" if found.value > 0 else "best"


def _figure(title: str, scene: Scene | None, note: str) -> list[str]:
    if scene is None:
        return []
    return [f'<h2>{title}</h2><div class="figure">{to_svg(scene)}</div><p class="soft">{escape(note)}</p>']


def _samples(found: Ladder) -> list[str]:
    cards = (
        _card(row, found.yardstick, (f"<pre>{escape(text)}</pre>" for text in result.samples))
        for row, result in zip(found.rows, found.results, strict=True)
    )
    return ["<h2>Samples side by side</h2>", f'<div class="cards">{"".join(cards)}</div>']


def _card(row: Row, unit: str, inside: Iterable[str]) -> str:
    title = f"<h3>{escape(row.rung)} <small>{row.bits.value:.3f} {unit}</small></h3>"
    return f'<div class="card">{title}{"".join(inside)}</div>'


def _on_the_way(results: Sequence[Result]) -> list[str]:
    """Samples while training, where the runs kept some."""
    told = [result for result in results if any(point.sample for point in result.curve)]
    parts = []
    for result in told:
        rows = "".join(
            f'<tr><td class="number">{point.seconds:,.0f} s</td><td class="number">{point.bits:.3f}</td>'
            f"<td><pre>{escape(point.sample)}</pre></td></tr>"
            for point in result.curve
            if point.sample
        )
        parts.append(f"<details><summary>{escape(result.rung)}</summary><table>{rows}</table></details>")
    return ["<h2>Samples as training proceeds</h2>", *parts] if parts else []


def _worst(found: Ladder) -> list[str]:
    parts = [
        f'<details class="worst"{" open" if result.rung == found.advice.rung else ""}>'
        f"<summary>{escape(result.rung)}</summary>{''.join(map(_passage, result.worst))}</details>"
        for result in found.results
        if result.worst
    ]
    note = '<p class="soft">Of the test text, by bits per byte. The darker a token, the less it was expected.</p>'
    return ["<h2>The worst-predicted sentences of each rung</h2>", note, *parts] if parts else []


def _passage(found: Surprise) -> str:
    marks = "".join(_marked(piece, bits) for piece, bits in zip(found.pieces, found.each, strict=True))
    return f'<p><span class="bits">{found.bits:.2f}</span> {marks}</p>'


def _marked(piece: str, bits: float) -> str:
    strength = next((share for least, share in _LEVELS if bits >= least), 0)
    ground = f"color-mix(in srgb, #dd6b20 {strength}%, transparent)"
    return f'<mark style="background: {ground}" title="{bits:.1f} bits">{escape(piece)}</mark>'


def _about(found: Ladder) -> list[str]:
    rows = "".join(f"<tr><td>{escape(k)}</td><td>{escape(v)}</td></tr>" for k, v in found.about.items())
    notes = "".join(f"<p>{escape(note)}</p>" for note in found.notes)
    return [f"<h2>How this was found</h2><p>{_METHOD}</p>{notes}<table>{rows}</table>"]


_METHOD = (
    "All rungs have the same tokenizer, the same training text, the same seed and, if they are trained step by step, "
    "the same time. The choice is made on the validation text: of all rungs that cannot be told from the best there "
    "and are at most 2% worse, the simplest. The test text is only reported. Intervals come from drawing the held-out "
    "documents anew a thousand times, the same for all rungs."
)
