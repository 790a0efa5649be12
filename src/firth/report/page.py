"""A page: its style in light, dark and print, and the parts of pages: tables, figures with captions. No script."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from html import escape
from typing import Any

from firth.report.palette import css_variables

_STYLE = f"""
{css_variables(":root")}
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 50rem;
       margin: 2rem auto; padding: 0 1rem; overflow-wrap: break-word; }}
h1 {{ font-size: 1.5rem; overflow-wrap: anywhere; }} h2 {{ font-size: 1.1rem; margin-top: 2rem; }}
p, figcaption, .soft {{ color: var(--soft); }} figcaption {{ font-size: .85rem; }}
.scroll {{ overflow-x: auto; }} figure {{ margin: 1rem 0; }}
table {{ border-collapse: collapse; width: 100%; }}
th, td {{ padding: .25rem .75rem .25rem 0; vertical-align: top; text-align: start;
         border-bottom: 1px solid var(--line); }}
td {{ unicode-bidi: plaintext; overflow-wrap: anywhere; min-width: 3rem; }}
td:first-child {{ min-width: 7rem; }} td.number {{ min-width: 0; }}
.number {{ text-align: right; white-space: nowrap; min-width: 0; overflow-wrap: normal;
          font-variant-numeric: tabular-nums; }}
th, th.number {{ font-weight: 600; vertical-align: bottom; white-space: normal; }}
td small {{ color: var(--soft); }}
.facts td:first-child {{ color: var(--soft); width: 34%; min-width: 7rem; }}
pre {{ white-space: pre-wrap; border-inline-start: 3px solid var(--line); padding-inline-start: 1rem;
      overflow-wrap: anywhere; unicode-bidi: plaintext; text-align: start; }}
svg {{ width: 100%; height: auto; }} .scroll svg {{ min-width: 36rem; }}
code {{ font-size: .85em; color: var(--soft); overflow-wrap: anywhere; }}
summary {{ cursor: pointer; }} mark {{ color: var(--ink); }}
@media (max-width: 40rem) {{ th, td {{ padding-inline-end: .5rem; }} table {{ font-size: .85rem; }} }}
"""
# After the style of the page: white paper, nothing clipped, details open (as far as the program can), figures whole.
_PRINT = """
@media print {
:root { color-scheme: light; } body { max-width: none; margin: 0; font-size: 11pt; }
* { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.scroll, pre { overflow: visible !important; max-height: none !important; }
figure, svg, tr, .card { break-inside: avoid; } h1, h2, h3, summary { break-after: avoid; }
svg { min-width: 0 !important; max-width: 100% !important; max-height: 22cm; } table { font-size: 8pt; }
details::details-content { content-visibility: visible; block-size: auto; }
}
"""


def html_page(title: str, body: Sequence[str], style: str = "") -> str:
    """Assemble an HTML page from fragments of HTML, with additional CSS."""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}{style}{_PRINT}</style></head>'
        f"<body>{''.join(body)}</body></html>\n"
    )


def figure(svg: str, caption: str = "") -> str:
    """A figure, which scrolls in its own box where the page is too narrow, over its caption."""
    text = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f'<figure><div class="scroll">{svg}</div>{text}</figure>'


def table(
    names: Sequence[str], rows: Iterable[Sequence[str]], *, texts: Collection[int] = (0,), chosen: int | None = None
) -> str:
    """A table of cells of HTML, which scrolls in its own box; columns other than `texts` are numbers."""
    number = ["" if column in texts else ' class="number"' for column in range(len(names))]
    head = "".join(f"<th{kind}>{escape(name)}</th>" for kind, name in zip(number, names, strict=True))
    lines = []
    for index, row in enumerate(rows):
        cells = "".join(f"<td{kind}>{cell}</td>" for kind, cell in zip(number, row, strict=True))
        lines.append(f"<tr{' class=chosen' * (index == chosen)}>{cells}</tr>")
    return f'<div class="scroll"><table><tr>{head}</tr>{"".join(lines)}</table></div>'


def facts(values: Iterable[tuple[str, str]]) -> str:
    """A table of names and values, which are HTML; nothing without any."""
    rows = "".join(f"<tr><td>{escape(name)}</td><td>{value}</td></tr>" for name, value in values)
    return f'<table class="facts">{rows}</table>' if rows else ""


def format_cell(value: Any) -> str:
    """Format a value of a table of data."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "n/a"}[value]
    return f"{value:.3f}" if isinstance(value, float) else str(value)
