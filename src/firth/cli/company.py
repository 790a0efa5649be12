"""`firth company`: a word in its places, and the words it keeps company with."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from firth.cli.tables import show
from firth.errors import FirthError

if TYPE_CHECKING:
    from firth.counts import Collocate, Concordance, Index, Keyness, Keyword
    from firth.counts.collocations import Company

TEXT = Annotated[str, typer.Option(help="Files, folders, -, python-docs or world; several with commas.")]
COLUMN = Annotated[str, typer.Option(help="The text is a TSV, CSV or JSONL table, and this its column of text.")]
DOCUMENT = Annotated[str, typer.Option(help="What a document is: auto, file, paragraph or line.")]
ENCODING = Annotated[str, typer.Option(help="Of the text files.")]
ERRORS = Annotated[str, typer.Option(help="strict, or replace bytes that are not text.")]
SPLIT = Annotated[str, typer.Option(help="How words are split: words or whitespace.")]
IGNORE_CASE = Annotated[bool, typer.Option("--ignore-case", help="Upper and lower case are one.")]
WHERE = Annotated[str, typer.Option(help="Only documents with this value: author=Ann, file=a.txt.")]
AGAINST = Annotated[
    str, typer.Option(help="Compare with another text, or with a part of this one: author=Ann against all others.")
]
HTML = Annotated[Path | None, typer.Option(help="Also write a page.")]
JSON = Annotated[bool, typer.Option("--json", help="JSON for machines.")]


def company(
    word: Annotated[str, typer.Argument(metavar="WORD", help='A word, a phrase in quotes, or with stars: "colo*r".')],
    text: TEXT = "python-docs",
    column: COLUMN = "",
    width: Annotated[int, typer.Option(help="Columns of text on each side.")] = 40,
    sort: Annotated[str, typer.Option(help="Lines by position, left or right.")] = "position",
    by: Annotated[str, typer.Option(help="Lines by this column first, such as author or file.")] = "",
    limit: Annotated[int, typer.Option(help="Lines, and words of company.")] = 20,
    sample: Annotated[bool, typer.Option("--sample", help="Lines drawn at random instead of the first.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of the draw.")] = 1,
    measure: Annotated[
        str, typer.Option(help="log-likelihood, t-score, pmi, pmi2, pmi3, npmi, count or dispersion.")
    ] = "log-likelihood",
    window: Annotated[int, typer.Option(help="Words on each side that are company.")] = 5,
    side: Annotated[str, typer.Option(help="left, right or both.")] = "both",
    min_count: Annotated[int, typer.Option(help="Company that is rarer is left out.")] = 3,
    where: WHERE = "",
    against: AGAINST = "",
    ignore_case: IGNORE_CASE = False,
    split: SPLIT = "words",
    document: DOCUMENT = "auto",
    encoding: ENCODING = "utf-8",
    errors: ERRORS = "strict",
    html: HTML = None,
    as_json: JSON = False,
) -> None:
    """Show the company a word keeps: its places in the text, and the words near it."""
    from firth.counts import concordance
    from firth.counts.collocations import company as near_words
    from firth.counts.collocations import rank
    from firth.counts.query import require
    from firth.counts.width import plain
    from firth.report.company import company_page

    settings = {"column": column, "split": split, "ignore_case": ignore_case, "document": document, "errors": errors,
                "encoding": encoding}  # fmt: skip
    check_page(html)
    index = opened(text, where, settings)
    here, there = sides(index, against, settings) if against else (index, None)
    query = require(here, word)
    found = concordance(here, query, width=width, sort=sort, by=by, limit=limit, sample=sample, seed=seed)
    near = near_words(here, query, window=window, side=side)
    collocates = rank(here, near, measure, min_count, limit)
    key = _compared(here, near, there, word, {"window": window, "side": side}, min_count, limit) if there else None
    if html:
        write(html, company_page(found, collocates, here.text, measure, key, there.text if there else ""))
    if as_json:
        _print_json(found, collocates, key, measure)
    else:
        _print(found, collocates, here, measure, key)
    if there and key is None:
        note = f"{plain(word)!r} does not occur in {plain(there.text)}, so there is nothing to compare"
        print(note, file=sys.stderr if as_json else sys.stdout)


def _compared(
    here: Index, near: Company, there: Index, word: str, places: dict[str, Any], min_count: int, limit: int
) -> Keyness | None:
    """The company in two texts compared; None if the other text has no such word."""
    from firth.counts.collocations import company as near_words
    from firth.counts.keyness import company_keyness

    far = near_words(there, word, **places)
    return company_keyness(here, near, there, far, min_count=min_count, limit=limit) if far.hits else None


def opened(text: str, where: str, settings: dict[str, Any]) -> Index:
    """The index of a text, made if need be, and the part of it that is asked for."""
    from firth.config import core, schema
    from firth.counts import open_index, open_texts

    keys = ("document", "encoding", "errors")
    data = core.override(schema.Text(), [f"text={text}", *(f"{key}={settings[key]}" for key in keys)])
    texts = open_texts(data.text, data, column=settings["column"])
    index = open_index(texts, split=settings["split"], told=teller("indexing"))
    index = index.folding() if settings["ignore_case"] else index
    return index.where(*_condition(where, index)) if where else index


def sides(index: Index, against: str, settings: dict[str, Any]) -> tuple[Index, Index]:
    """The two texts of a comparison: with column=value the documents with that value, and the others."""
    if against.partition("=")[0] in index.columns and not Path(against).exists():
        pair = _condition(against, index)
        return index.where(*pair), index.where(*pair, other=True)
    return index, opened(against, "", settings)


def _condition(text: str, index: Index) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        known = ", ".join(index.columns)
        raise FirthError(f"cannot read {text!r}", do=f"write column=value; the columns are {known}")
    return name, value


def teller(what: str) -> Any:
    """Says how far a long thing is, on a terminal only."""
    if not sys.stderr.isatty():
        return lambda done: None
    said = [0]

    def tell(done: int) -> None:
        if done >= said[0] + (8 << 20):  # megabytes between two words
            said[0] = done
            print(f"\r{what} … {done >> 20} MB ", end="", file=sys.stderr, flush=True)

    return tell


def check_page(path: Path | None) -> None:
    """An error now, not after the counting, if the page could not be written."""
    from firth.runs import files

    if path:
        files.destination(path)


def write(path: Path, page: str) -> None:
    """The page in its file."""
    from firth.runs import files

    files.replace_file(path, page.encode())


def keywords(words: tuple[Keyword, ...]) -> list[dict[str, str]]:
    """Rows of a table of typical words."""
    from firth.counts.width import plain

    return [
        {"word": plain(k.word), "count": f"{k.count:,}", "other text": f"{k.other:,}",
         "log-likelihood": f"{k.log_likelihood:z,.1f}", "log ratio": f"{k.log_ratio:z.2f}",
         "%DIFF": f"{k.difference:z,.0f}", "dispersion": f"{k.dispersion:z.2f}"}
        for k in words
    ]  # fmt: skip


def _print(found: Concordance, collocates: list[Collocate], index: Index, measure: str, key: Keyness | None) -> None:
    from firth.counts.width import plain

    of = f"{len(found.lines):,} of {found.total:,}" if len(found.lines) < found.total else f"{found.total:,}"
    places = f"{of} place{'s' * (found.total != 1)}"
    print(f"{plain(found.query)}: {places} in {plain(index.text)} ({index.size:,} words)\n\n{found}\n")
    show([
        {"company": plain(c.word), "count": f"{c.count:,}", "in all": f"{c.total:,}", "by chance": f"{c.expected:,.1f}",
         measure: f"{c.score:z,.2f}", "dispersion": f"{c.dispersion:z.2f}"}
        for c in collocates
    ])  # fmt: skip
    if not collocates:
        print("no company that is frequent enough: lower --min-count")
    for title, words in (("more here", key.here), ("more there", key.there)) if key else ():
        print(f"\n{title}")
        show(keywords(words)) if words else print("none")


def _print_json(found: Concordance, collocates: list[Collocate], key: Keyness | None, measure: str) -> None:
    from dataclasses import asdict

    lines, rows = [asdict(line) for line in found.lines], [c._asdict() for c in collocates]
    values = {"query": found.query, "total": found.total, "measure": measure, "lines": lines, "company": rows}
    if key:
        values |= {"here": [k._asdict() for k in key.here], "there": [k._asdict() for k in key.there]}
    print(json.dumps(values, ensure_ascii=False))
