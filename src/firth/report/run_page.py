"""The report of a run: one static HTML page with learning curves, scores, samples and configuration, without script."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from math import nan
from typing import Any

from firth.config import to_dict
from firth.report.charts import Series, line_chart
from firth.report.limits import finite, full_limits, is_logarithmic, loss_limits, robust_limits
from firth.report.page import facts, html_page
from firth.runs.run_folder import Run, read_log
from firth.runs.summary import format_summary, summary
from firth.training.speed import SPEED_NOTE, training_speed, warm_steps

_MAX_POINTS = 400  # per curve: as many as are visible at this width
Chart = Callable[..., str]  # `line_chart` over the steps of the run
_SPLITS = {"train": "training", "valid": "validation"}


def write_report(run: Run, samples: Sequence[str], title: str = "Samples", figures: Sequence[str] = ()) -> None:
    """Write report.html into a run folder."""
    run.write_report(run_page(run, samples, title, figures))


def run_page(run: Run, samples: Sequence[str], title: str = "Samples", figures: Sequence[str] = ()) -> str:
    """The report as HTML, with samples under their title, and figures as HTML."""
    about, lines = summary(run.path), list(read_log(run.path / "log.jsonl"))
    speed = training_speed(lines)
    values = {key: value for key, value in format_summary(about).items() if key not in ("scores", "run")}
    values |= {"speed": f"{speed:,.0f} tokens/s"} if speed else {}
    body = [
        f"<h1>{escape(run.path.name)}</h1>",
        _scores(run),
        *_curves(lines),
        f"<h2>{escape(title)}</h2>",
        *(f"<pre>{escape(sample)}</pre>" for sample in samples),
        *figures,
        "<h2>The run</h2>",
        _table(values),
        "<h2>Configuration</h2>",
        _table(_flatten(to_dict(run.record.config))),
    ]
    return html_page(run.path.name, body)


def _scores(run: Run) -> str:
    rows = []
    for score in run.scores():
        value = "n/a" if score["value"] is None else f"{score['value']:.4f}"
        rows.append((score["name"].replace("_", " "), f"<b>{value}</b><br><code>{escape(score['signature'])}</code>"))
    return facts(rows)


def _curves(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    """Curves of the loss, the metric of each split, the learning rate, the gradient norm and the speed."""
    steps = [line for line in lines if "tokens_per_second" in line]
    if not steps:
        return []
    chart = partial(line_chart, x_label="step", x_limits=full_limits([[line["step"] for line in lines]]))
    rate, speed = _series(steps, "learning_rate"), _series(warm_steps(steps), "tokens_per_second", "speed")
    norm = _series(steps, "grad_norm", "gradient norm")
    log_norm = bool(finite(norm.y)) and is_logarithmic(robust_limits([norm.y]))
    charts = [
        _loss_chart(chart, lines, steps),
        *_metric_charts(chart, lines),
        chart("Learning rate", y_label="learning rate", series=[rate]),
        chart("Gradient norm", y_label="norm before clipping", series=[norm], limits=robust_limits, log_y=log_norm),
        chart("Speed", y_label="tokens/s", series=[speed], limits=robust_limits, caption=SPEED_NOTE),
    ]
    return ["<h2>Curves</h2>", *charts]


def _loss_chart(chart: Chart, lines: Sequence[Mapping[str, Any]], steps: Sequence[Mapping[str, Any]]) -> str:
    epochs = _of_split(lines, "train")  # training losses by epoch are less noisy than by step
    trained = _series(epochs or steps, "loss", "training", markers=bool(epochs))
    held_out = _series(_of_split(lines, "valid"), "loss", "validation", markers=True)
    return chart("Loss", y_label="nats", series=[trained, held_out], limits=loss_limits)


def _metric_charts(chart: Chart, lines: Sequence[Mapping[str, Any]]) -> list[str]:
    """A chart for each metric of the evaluations, such as perplexity, with the names of the splits."""
    charts = []
    evaluations = [line for line in lines if "split" in line and line.get("metric", "loss") != "loss"]
    for metric in dict.fromkeys(line["metric"] for line in evaluations):
        of_metric = [line for line in evaluations if line["metric"] == metric]
        splits = {name: _of_split(of_metric, split) for split, name in _SPLITS.items()}
        series = [_series(points, "value", name, markers=True) for name, points in splits.items() if points]
        values = [line.y for line in series]
        log_y = any(finite(each) for each in values) and is_logarithmic(full_limits(values))
        label, names = metric.replace("_", " "), " and ".join(line.name for line in series)
        charts.append(chart(f"{label[0].upper()}{label[1:]} ({names})", y_label=label, series=series, log_y=log_y))
    return charts


def _of_split(lines: Sequence[Mapping[str, Any]], split: str) -> list[Mapping[str, Any]]:
    return [line for line in lines if line.get("split") == split]


def _series(lines: Sequence[Mapping[str, Any]], key: str, name: str = "", markers: bool = False) -> Series:
    """The values of a key, averaged over equal intervals, so that the page of a long run stays small."""
    lines = [line for line in lines if key in line]
    width = max(1, -(-len(lines) // _MAX_POINTS))
    groups = [lines[start : start + width] for start in range(0, len(lines), width)]
    means = [_mean([line[key] for line in group if line[key] is not None]) for group in groups]
    return Series(name or key, [group[-1]["step"] for group in groups], means, markers)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else nan


def _table(values: Mapping[str, Any]) -> str:
    return facts((str(key).replace("_", " "), escape(_format_value(value))) for key, value in values.items())


def _format_value(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _flatten(values: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    flattened: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{path}.{key}" if path else key
        flattened.update(_flatten(value, name) if isinstance(value, Mapping) else {name: value})
    return flattened
