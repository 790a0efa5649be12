"""The report of a run: one static page of SVG and escaped text, without script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from firth.config import to_dict
from firth.report.svg import Series, line_chart
from firth.runs import files
from firth.runs.folder import Run
from firth.runs.log import read
from firth.runs.summary import readable, summary

_POINTS = 400  # of a curve: more than the eye can tell apart at this width
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


def write_report(run: Run, samples: Sequence[str], title: str = "Samples", pictures: Sequence[str] = ()) -> None:
    """Write report.html into a run folder."""
    files.replace_file(run.path / "report.html", page(run, samples, title, pictures).encode())


def page(run: Run, samples: Sequence[str], title: str = "Samples", pictures: Sequence[str] = ()) -> str:
    """The report as HTML, with some texts of the run under their title, and pictures that are SVG."""
    about, lines = summary(run.path), list(read(run.path / "log.jsonl"))
    name = escape(run.path.name)
    shown = {key: value for key, value in readable(about).items() if key not in ("scores", "run")}
    body = [
        f"<h1>{name}</h1>",
        _scores(run),
        *_curves(lines),
        f"<h2>{escape(title)}</h2>",
        *(f"<pre>{escape(sample)}</pre>" for sample in samples),
        *pictures,
        "<h2>The run</h2>",
        _table(shown),
        "<h2>Configuration</h2>",
        _table(_flat(to_dict(run.record.config))),
    ]
    return sheet(run.path.name, body)


def sheet(title: str, body: Sequence[str], style: str = "") -> str:
    """A whole page of pieces that are HTML already, with some style of its own."""
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


# Further curves: title, key of the log's lines, label of the axis.
_CURVES = (
    ("Rate", "rate", "rate"),
    ("Gradient norm", "norm", "norm before clipping"),
    ("Speed", "tokens_per_second", "tokens/s"),
)


def _curves(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    steps = [line for line in lines if "tokens_per_second" in line]
    valid = [line for line in lines if line.get("split") == "valid"]
    if not steps:
        return []
    step = [line["step"] for line in valid]
    epochs = [line for line in lines if line.get("split") == "train"]  # where they are told, they say more than steps
    trained = Series("training", *(_thinned(epochs, "loss") if epochs else _thinned(steps, "loss")), dots=bool(epochs))
    held_out = Series("validation", step, [line["loss"] for line in valid], dots=True)
    charts = [line_chart("Loss", "step", "nats", [trained, held_out] if valid else [trained])]
    for title, key, label in _CURVES:
        if key in steps[0]:
            charts.append(line_chart(title, "step", label, [Series(label, *_thinned(steps, key))]))
    return ["<h2>Curves</h2>", *charts]


def _thinned(lines: Sequence[Mapping[str, Any]], key: str) -> tuple[list[float], list[float]]:
    """Means over equal stretches, so that a long run is still a light page."""
    width = max(1, -(-len(lines) // _POINTS))
    groups = [lines[start : start + width] for start in range(0, len(lines), width)]
    return [group[-1]["step"] for group in groups], [sum(line[key] for line in group) / len(group) for group in groups]


def _table(values: Mapping[str, Any]) -> str:
    rows = (
        f"<tr><td>{escape(str(key).replace('_', ' '))}</td><td>{escape(_shown(value))}</td></tr>"
        for key, value in values.items()
    )
    return f"<table>{''.join(rows)}</table>"


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _flat(values: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{path}.{key}" if path else key
        found.update(_flat(value, name) if isinstance(value, Mapping) else {name: value})
    return found
