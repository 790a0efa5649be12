"""The report of a run: one static HTML page with learning curves, scores, samples and configuration, without script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from firth.config import to_dict
from firth.report.charts import Series, line_chart
from firth.runs.run_folder import Run, read_log
from firth.runs.summary import format_summary, summary

_MAX_POINTS = 400  # per curve: as many as are visible at this width
_STYLE = """
:root { color-scheme: light dark; --ink: #1a202c; --soft: #718096; --line: #e2e8f0; --paper: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e2e8f0; --soft: #a0aec0; --line: #2d3748; --paper: #171923; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 50rem;
       margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; } td { padding: .25rem .75rem .25rem 0; vertical-align: top;
       border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
td:first-child { color: var(--soft); white-space: nowrap; }
pre { white-space: pre-wrap; border-left: 3px solid var(--line); padding-left: 1rem; overflow-wrap: anywhere; }
svg { width: 100%; height: auto; } svg text { font: 12px system-ui, sans-serif; fill: var(--soft); }
svg .title { font-size: 14px; font-weight: 600; fill: var(--ink); } svg .grid { stroke: var(--line); }
code { font-size: .85em; color: var(--soft); }
"""


def write_report(run: Run, samples: Sequence[str], title: str = "Samples", figures: Sequence[str] = ()) -> None:
    """Write report.html into a run folder."""
    run.write_report(run_page(run, samples, title, figures))


def run_page(run: Run, samples: Sequence[str], title: str = "Samples", figures: Sequence[str] = ()) -> str:
    """The report as HTML, with samples under their title, and figures as SVG."""
    about, lines = summary(run.path), list(read_log(run.path / "log.jsonl"))
    name = escape(run.path.name)
    facts = {key: value for key, value in format_summary(about).items() if key not in ("scores", "run")}
    body = [
        f"<h1>{name}</h1>",
        _scores(run),
        *_curves(lines),
        f"<h2>{escape(title)}</h2>",
        *(f"<pre>{escape(sample)}</pre>" for sample in samples),
        *figures,
        "<h2>The run</h2>",
        _table(facts),
        "<h2>Configuration</h2>",
        _table(_flatten(to_dict(run.record.config))),
    ]
    return html_page(run.path.name, body)


def html_page(title: str, body: Sequence[str], style: str = "") -> str:
    """Assemble an HTML page from fragments of HTML, with additional CSS."""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}{style}</style></head>'
        f"<body>{''.join(body)}</body></html>\n"
    )


def _scores(run: Run) -> str:
    rows = []
    for score in run.scores():
        value = "n/a" if score["value"] is None else f"{score['value']:.4f}"
        label = escape(score["name"].replace("_", " "))
        rows.append(f"<tr><td>{label}</td><td><b>{value}</b><br><code>{escape(score['signature'])}</code></td></tr>")
    return f"<table>{''.join(rows)}</table>" if rows else ""


# Further curves: title, key in log.jsonl, axis label.
_CURVES = (
    ("Learning rate", "learning_rate", "learning rate"),
    ("Gradient norm", "grad_norm", "norm before clipping"),
    ("Speed", "tokens_per_second", "tokens/s"),
)


def _curves(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    steps = [line for line in lines if "tokens_per_second" in line]
    valid = [line for line in lines if line.get("split") == "valid"]
    if not steps:
        return []
    step = [line["step"] for line in valid]
    epochs = [
        line for line in lines if line.get("split") == "train"
    ]  # training losses by epoch are less noisy than by step
    trained = Series(
        "training", *(_downsample(epochs, "loss") if epochs else _downsample(steps, "loss")), markers=bool(epochs)
    )
    held_out = Series("validation", step, [line["loss"] for line in valid], markers=True)
    charts = [line_chart("Loss", "step", "nats", [trained, held_out] if valid else [trained])]
    for title, key, label in _CURVES:
        if key in steps[0]:
            charts.append(line_chart(title, "step", label, [Series(label, *_downsample(steps, key))]))
    return ["<h2>Curves</h2>", *charts]


def _downsample(lines: Sequence[Mapping[str, Any]], key: str) -> tuple[list[float], list[float]]:
    """Average over equal intervals, so that the page of a long run stays small."""
    width = max(1, -(-len(lines) // _MAX_POINTS))
    groups = [lines[start : start + width] for start in range(0, len(lines), width)]
    return [group[-1]["step"] for group in groups], [sum(line[key] for line in group) / len(group) for group in groups]


def _table(values: Mapping[str, Any]) -> str:
    rows = (
        f"<tr><td>{escape(str(key).replace('_', ' '))}</td><td>{escape(_format_value(value))}</td></tr>"
        for key, value in values.items()
    )
    return f"<table>{''.join(rows)}</table>"


def _format_value(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _flatten(values: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    flattened: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{path}.{key}" if path else key
        flattened.update(_flatten(value, name) if isinstance(value, Mapping) else {name: value})
    return flattened
