"""The page of a probing: accuracy by layer beside the control task and the baselines, and the table."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

from firth.report.charts import Series, line_chart
from firth.report.page import facts, html_page, table

if TYPE_CHECKING:
    from firth.inspect.probing import LayerProbe, Probing

_CAPTION = (
    "Bands are 95% intervals over test sentences. Layer 0 is the embeddings. In the control task every word type has a "
    "random tag, so that its accuracy is what a probe can memorise of words; the gap is the selectivity."
)


def probe_page(result: Probing) -> str:
    """Render the page."""
    about = result.about
    title = f"What the layers of {about['preset']} know: {about['task']}"
    names = ("layer", "width", "accuracy", "95% interval", "control task", "selectivity", "95% interval")
    body = [
        f"<h1>{escape(title)}</h1>",
        facts(_facts(result)),
        probe_chart(result),
        table(names, (_cells(layer) for layer in result.layers)),
        _mix(result),
    ]
    return html_page(title, body)


def probe_chart(result: Probing) -> str:
    """Accuracy by layer: of the task, of the control task, of the scalar mix, and of the words alone."""
    layers = [layer for layer in result.layers if layer.layer in ("embeddings", *map(str, range(1, 1000)))]
    x = [*range(len(layers))]
    low, high = zip(*(layer.accuracy_interval for layer in layers), strict=True)
    shown = [percent(layer.accuracy for layer in layers), percent(layer.control_accuracy for layer in layers)]
    lines = [
        Series(str(result.about["task"]), x, shown[0], markers=True, low=percent(low), high=percent(high)),
        Series("control task", x, shown[1], markers=True),
        Series("most frequent tag of each word", x, percent([result.word_type] * len(x))),
    ]
    mix = next((layer for layer in result.layers if layer not in layers), None)
    if mix is not None:
        lines.append(Series("scalar mix", x, percent([mix.accuracy] * len(x))))
    return line_chart("Accuracy of a linear probe", "layer", "accuracy (%)", lines, caption=_CAPTION)


def percent(values: Iterable[float]) -> list[float]:
    """Shares as percentages."""
    return [100 * value for value in values]


def _facts(result: Probing) -> list[tuple[str, str]]:
    about = result.about
    rows = {
        "run": about["run"],
        "sentences": ", ".join(about["text"]),
        "words": f"{about['train_words']:,} to train on, {about['test_words']:,} to test on; {about['tags']} tags",
        "a word's state": f"{about['pooling']} of its subwords'",
        "most frequent tag": f"{result.majority:.1%}",
        "most frequent tag of each word": f"{result.word_type:.1%}",
    }
    return [(name, escape(str(value))) for name, value in rows.items()]


def _cells(layer: LayerProbe) -> tuple[str, ...]:
    low, high = layer.accuracy_interval
    least, most = layer.selectivity_interval
    return (
        escape(layer.layer), f"{layer.width:,}", f"{layer.accuracy:.1%}", f"{low:.1%} to {high:.1%}",
        f"{layer.control_accuracy:.1%}", f"{100 * layer.selectivity:.1f}", f"{100 * least:.1f} to {100 * most:.1f}",
    )  # fmt: skip


def _mix(result: Probing) -> str:
    if not result.mix_weights:
        return ""
    weights = ", ".join(f"{escape(name)} {share:.2f}" for name, share in result.mix_weights.items())
    return f'<p class="soft">Weights of the scalar mix: {weights}.</p>'
