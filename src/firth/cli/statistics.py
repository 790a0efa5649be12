"""`firth text stats`: a text in numbers."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from firth.cli import company as words
from firth.cli import tokenfiles
from firth.cli.tables import show


def stats(
    text: words.TEXT = "python-docs",
    column: words.COLUMN = "",
    tokenizer: Annotated[
        Path | None, typer.Option(help="A tokenizer.json or a run folder: tokens a word, and what is unknown.")
    ] = None,
    where: words.WHERE = "",
    against: words.AGAINST = "",
    measure: Annotated[str, typer.Option(help="Of the comparison: log-likelihood, log-ratio or difference.")] = (
        "log-likelihood"
    ),
    min_count: Annotated[int, typer.Option(help="Rarer words are left out of the comparison.")] = 5,
    limit: Annotated[int, typer.Option(min=1, help="Words of the comparison.")] = 20,
    ignore_case: words.IGNORE_CASE = False,
    split: words.SPLIT = "words",
    document: words.DOCUMENT = "auto",
    encoding: words.ENCODING = "utf-8",
    errors: words.ERRORS = "strict",
    html: words.HTML = None,
    as_json: words.JSON = False,
) -> None:
    """Count tokens, types, sentence lengths; Zipf and Heaps curves; compare two texts."""
    from firth.counts import keyness, statistics
    from firth.counts.width import plain
    from firth.report.company import statistics_page, summary

    settings = {"column": column, "split": split, "ignore_case": ignore_case, "document": document, "errors": errors,
                "encoding": encoding}  # fmt: skip
    words.check_page(html)
    opened = tokenfiles.load(tokenizer) if tokenizer else None
    index = words.opened(text, where, settings)
    here, there = words.sides(index, against, settings) if against else (index, None)
    found = statistics(here, tokenizer=opened, told=words.teller("reading"))
    key = keyness(here, there, measure=measure, min_count=min_count, limit=limit) if there else None
    if html:
        words.write(html, statistics_page(found, key, there.text if there else ""))
    if as_json:
        _print_json(found, key)
        return
    for name, value in summary(found).items():
        print(f"{name:<18} {value}")
    print(f"{'commonest':<18} {'  '.join(f'{plain(word)} {count:,}' for word, count in found.common[:10])}")
    for title, rows in (("more here", key.here), ("more there", key.there)) if key else ():
        print(f"\n{title}")
        show(words.keywords(rows)) if rows else print("none")


def _print_json(found: Any, key: Any) -> None:
    values = asdict(found)
    if key:
        values |= {"here": [k._asdict() for k in key.here], "there": [k._asdict() for k in key.there]}
    print(json.dumps(values, ensure_ascii=False))
