"""`firth corpus stats | concordance | collocations | keyness`."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from firth.cli.console import print_json, print_table, progress_line, require_writable, sanitise
from firth.cli.options import COLUMN, DOCUMENT, ENCODING, ENCODING_ERRORS, JSON, SEED, TEXT, choice
from firth.corpus.association_measures import MEASURES
from firth.corpus.collocations import Side
from firth.corpus.concordance import Sort
from firth.corpus.keyness import MEASURES as KEYNESS_MEASURES
from firth.errors import FirthError

if TYPE_CHECKING:
    from firth.corpus import Collocate, Concordance, Index, Keyness, Keyword
    from firth.corpus.collocations import CollocateCounts

WORD = Annotated[str, typer.Argument(metavar="WORD", help='A word, a phrase in quotes, or with wildcards: "colo*r".')]
SPLIT = Annotated[choice(("words", "whitespace")), typer.Option(help="How text is split into words.")]
IGNORE_CASE = Annotated[bool, typer.Option("--ignore-case", help="Ignore case.")]
WHERE = Annotated[str, typer.Option(metavar="COLUMN=VALUE", help="Only these documents: author=Ann, file=a.txt.")]
REFERENCE = "Another text, or a part of this one: author=Ann compares Ann's documents with the others."
HTML = Annotated[Path | None, typer.Option(help="Also write an HTML page.")]
LIMIT = Annotated[int, typer.Option(help="Rows to print at most.")]
MIN_COUNT = Annotated[int, typer.Option(help="Leave out rarer words.")]


@dataclass(frozen=True)
class _Corpus:
    """How a text is read and indexed."""

    column: str
    split: str
    ignore_case: bool
    document: str
    encoding: str
    encoding_errors: str

    def open(self, text: str, where: str = "") -> Index:
        """The index of a text, built if it is not in the cache, restricted to the documents of a condition."""
        from firth.config import core, schema
        from firth.corpus import open_corpus, open_index

        names = ("document", "encoding", "encoding_errors")
        data = core.override(schema.Text(), [f"text={text}", *(f"{name}={getattr(self, name)}" for name in names)])
        corpus = open_corpus(data.text, data, column=self.column)
        index = open_index(corpus, split=self.split, on_progress=progress_line("indexing"))
        index = index.fold_case() if self.ignore_case else index
        return index.where(*_parse_condition(where, index)) if where else index

    def open_both(self, text: str, where: str, reference: str) -> tuple[Index, Index]:
        """The target and the reference corpus; for column=value the documents with that value, and the others."""
        index = self.open(text, where)
        if reference.partition("=")[0] in index.columns and not Path(reference).exists():
            condition = _parse_condition(reference, index)
            return index.where(*condition), index.where(*condition, negate=True)
        return index, self.open(reference)


def _parse_condition(text: str, index: Index) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        known = ", ".join(index.columns)
        raise FirthError(f"cannot read {text!r}", do=f"write column=value; the columns are {known}")
    return name, value


def _write_page(path: Path, page: str) -> None:
    from firth.runs import atomic_files

    atomic_files.replace_file(path, page.encode())


# --- stats ----------------------------------------------------------------------------------------------------------


def stats(
    text: TEXT = "python-docs",
    column: COLUMN = "",
    tokenizer: Annotated[
        Path | None, typer.Option(help="A tokenizer.json or a run folder: tokens per word, unknown tokens.")
    ] = None,
    where: WHERE = "",
    ignore_case: IGNORE_CASE = False,
    split: SPLIT = "words",
    document: DOCUMENT = "auto",
    encoding: ENCODING = "utf-8",
    encoding_errors: ENCODING_ERRORS = "strict",
    html: HTML = None,
    as_json: JSON = False,
) -> None:
    """Print tokens, types, type-token ratio, lengths, and the fits of Zipf's and Heaps' laws."""
    from firth.cli.tokenizer import load_tokenizer
    from firth.corpus import statistics
    from firth.report.corpus_pages import statistics_page, summary

    require_writable(html)
    loaded = load_tokenizer(tokenizer) if tokenizer else None
    corpus = _Corpus(column, split, ignore_case, document, encoding, encoding_errors)
    measured = statistics(corpus.open(text, where), tokenizer=loaded, on_progress=progress_line("reading"))
    if html:
        _write_page(html, statistics_page(measured))
    if as_json:
        print_json(asdict(measured))
        return
    for name, value in summary(measured).items():
        print(f"{name:<18} {value}")
    words = "  ".join(f"{sanitise(word)} {count:,}" for word, count in measured.most_common[:10])
    print(f"{'most common':<18} {words}")


# --- concordance ------------------------------------------------------------------------------------------------------


def concordance(
    word: WORD,
    text: TEXT = "python-docs",
    column: COLUMN = "",
    width: Annotated[int, typer.Option(help="Characters of context on each side.")] = 40,
    sort: Annotated[Sort, typer.Option(help="Sort by position, or by the words to the left or right.")] = "position",
    by: Annotated[str, typer.Option(help="Sort first by this column, such as author or file.")] = "",
    limit: LIMIT = 20,
    sample: Annotated[bool, typer.Option("--sample", help="A random sample of the hits instead of the first.")] = False,
    seed: SEED = 1,
    where: WHERE = "",
    ignore_case: IGNORE_CASE = False,
    split: SPLIT = "words",
    document: DOCUMENT = "auto",
    encoding: ENCODING = "utf-8",
    encoding_errors: ENCODING_ERRORS = "strict",
    html: HTML = None,
    as_json: JSON = False,
) -> None:
    """Print a concordance (KWIC): the hits of a word or phrase, each in its context."""
    from firth.corpus import concordance
    from firth.corpus.query import require_hits
    from firth.report.corpus_pages import concordance_page

    require_writable(html)
    index = _Corpus(column, split, ignore_case, document, encoding, encoding_errors).open(text, where)
    hits = require_hits(index, word)
    lines = concordance(index, hits, width=width, sort=sort, by=by, limit=limit, sample=sample, seed=seed)
    if html:
        _write_page(html, concordance_page(lines, index.source))
    if as_json:
        print_json(_concordance_json(lines))
        return
    print(f"{_title(lines, index)}\n\n{lines}")


def _title(concordance: Concordance, index: Index) -> str:
    shown, total = len(concordance.lines), concordance.total
    hits = f"{f'{shown:,} of ' if shown < total else ''}{total:,} hit{'s' * (total != 1)}"
    return f"{sanitise(concordance.query)}: {hits} in {sanitise(index.source)} ({index.size:,} words)"


def _concordance_json(concordance: Concordance) -> dict[str, object]:
    lines = [asdict(line) for line in concordance.lines]
    return {"query": concordance.query, "total": concordance.total, "lines": lines}


# --- collocations -----------------------------------------------------------------------------------------------------


def collocations(
    word: WORD,
    text: TEXT = "python-docs",
    column: COLUMN = "",
    measure: Annotated[
        choice([*MEASURES, "dispersion"]), typer.Option(help="Association measure to rank by.")
    ] = "log-likelihood",
    window: Annotated[int, typer.Option(help="Words on each side.")] = 5,
    side: Annotated[Side, typer.Option(help="Which side of the word.")] = "both",
    min_count: MIN_COUNT = 3,
    limit: LIMIT = 20,
    where: WHERE = "",
    reference: Annotated[str, typer.Option(help=f"Compare the collocates with those in it. {REFERENCE}")] = "",
    ignore_case: IGNORE_CASE = False,
    split: SPLIT = "words",
    document: DOCUMENT = "auto",
    encoding: ENCODING = "utf-8",
    encoding_errors: ENCODING_ERRORS = "strict",
    html: HTML = None,
    as_json: JSON = False,
) -> None:
    """Print the collocates of a word: words near it more often than expected."""
    from firth.corpus import concordance
    from firth.corpus.collocations import count_collocates, rank_collocates
    from firth.corpus.query import require_hits
    from firth.report.corpus_pages import collocations_page

    require_writable(html)
    corpus = _Corpus(column, split, ignore_case, document, encoding, encoding_errors)
    index, other = corpus.open_both(text, where, reference) if reference else (corpus.open(text, where), None)
    hits = require_hits(index, word)
    counts = count_collocates(index, hits, window=window, side=side)
    collocates = rank_collocates(index, counts, measure, min_count, limit)
    keyness = None
    if other:
        other_counts = count_collocates(other, word, window=window, side=side)
        keyness = _compare_collocates(index, counts, other, other_counts, min_count, limit)
    if html:
        lines = concordance(index, hits, limit=limit)
        page = collocations_page(lines, collocates, index.source, measure, keyness, other.source if other else "")
        _write_page(html, page)
    if as_json:
        values = {
            "query": word,
            "hits": counts.hits,
            "measure": measure,
            "collocates": [c._asdict() for c in collocates],
        }
        print_json(values | (_keyness_json(keyness) if keyness else {}))
    else:
        _print_collocates(collocates, measure)
        if keyness:
            _print_keyness(keyness)
    if other and keyness is None:
        note = f"note: {sanitise(word)!r} does not occur in {sanitise(other.source)}"
        print(note, file=sys.stderr if as_json else sys.stdout)


def _compare_collocates(
    index: Index, counts: CollocateCounts, other: Index, other_counts: CollocateCounts, min_count: int, limit: int
) -> Keyness | None:
    """The keyness of the collocates in two corpora; None if the word does not occur in the second."""
    from firth.corpus.keyness import collocate_keyness

    if not other_counts.hits:
        return None
    return collocate_keyness(index, counts, other, other_counts, min_count=min_count, limit=limit)


def _print_collocates(collocates: list[Collocate], measure: str) -> None:
    print_table([
        {"collocate": sanitise(c.word), "count": f"{c.count:,}", "total": f"{c.total:,}",
         "expected": f"{c.expected:,.1f}", measure: f"{c.score:z,.2f}", "dispersion": f"{c.dispersion:z.2f}"}
        for c in collocates
    ])  # fmt: skip
    if not collocates:
        print("no collocate is frequent enough; lower --min-count")


# --- keyness ----------------------------------------------------------------------------------------------------------


def keyness(
    reference: Annotated[str, typer.Argument(metavar="REFERENCE", help=REFERENCE)],
    text: TEXT = "python-docs",
    column: COLUMN = "",
    measure: Annotated[choice(KEYNESS_MEASURES), typer.Option(help="Keyness measure to rank by.")] = "log-likelihood",
    min_count: MIN_COUNT = 5,
    limit: Annotated[int, typer.Option(min=1, help="Rows to print at most.")] = 20,
    where: WHERE = "",
    ignore_case: IGNORE_CASE = False,
    split: SPLIT = "words",
    document: DOCUMENT = "auto",
    encoding: ENCODING = "utf-8",
    encoding_errors: ENCODING_ERRORS = "strict",
    html: HTML = None,
    as_json: JSON = False,
) -> None:
    """Print the keywords of a text against a reference corpus, and those of the reference."""
    from firth.corpus import keyness
    from firth.report.corpus_pages import keyness_page

    require_writable(html)
    corpus = _Corpus(column, split, ignore_case, document, encoding, encoding_errors)
    index, other = corpus.open_both(text, where, reference)
    keywords = keyness(index, other, measure=measure, min_count=min_count, limit=limit)
    if html:
        _write_page(html, keyness_page(keywords, index.source, other.source))
    if as_json:
        print_json(_keyness_json(keywords))
    else:
        _print_keyness(keywords)


def _keyness_json(keyness: Keyness) -> dict[str, object]:
    return {"target": [k._asdict() for k in keyness.target], "reference": [k._asdict() for k in keyness.reference]}


def _print_keyness(keyness: Keyness) -> None:
    for title, words in (("more in the text", keyness.target), ("more in the reference", keyness.reference)):
        print(f"\n{title}")
        print_table([_keyword_row(word) for word in words]) if words else print("none")


def _keyword_row(k: Keyword) -> dict[str, str]:
    return {"word": sanitise(k.word), "count": f"{k.count:,}", "other count": f"{k.other_count:,}",
            "log-likelihood": f"{k.log_likelihood:z,.1f}", "log ratio": f"{k.log_ratio:z.2f}",
            "%DIFF": f"{k.difference:z,.0f}", "dispersion": f"{k.dispersion:z.2f}"}  # fmt: skip
