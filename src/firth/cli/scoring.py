"""`firth score`: files of written texts against files of references, line by line."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from firth.cli import stores
from firth.cli.tables import show
from firth.errors import FirthError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from firth.metrics.bootstrap import Interval
    from firth.metrics.comparison import Against, Comparison, Outcome
    from firth.metrics.lengths import Bin
    from firth.metrics.translation import Manner

_FILE = "A text file, one text a line."


def score(
    hypotheses: Annotated[Path, typer.Argument(metavar="HYPOTHESES", help="What a system wrote, one text a line.")],
    reference: Annotated[list[Path], typer.Option(metavar="FILE", help="What is right; repeat for other versions.")],
    other: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="Another system's; repeat for more.")] = None,
    source: Annotated[Path | None, typer.Option(metavar="FILE", help="What was read: scores by its length.")] = None,
    metric: Annotated[str, typer.Option(help="bleu, chrf, rouge, exact; several with commas.")] = "bleu,chrf",
    tokenize: Annotated[
        str, typer.Option(help="Of BLEU: 13a, intl, char, zh, none, ja-mecab, ko-mecab; ROUGE too, if given.")
    ] = "",
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Upper and lower case are the same.")] = False,
    lengths: Annotated[str, typer.Option(help="With --source: 10,20,30 for bins that end there.")] = "",
    sentences: Annotated[bool, typer.Option("--sentences", help="BLEU of each line instead, one a line.")] = False,
    draws: Annotated[int, typer.Option(min=100, help="Of the tests: how often chance is tried.")] = 1000,
    encoding: Annotated[str, typer.Option(help="Of the files.")] = "utf-8",
    seed: stores.SEED = 0,
    as_json: stores.JSON = False,
) -> None:
    """Score texts against references: BLEU, chrF, ROUGE, exact match; and say whether two systems differ."""
    from firth.metrics.comparison import compare
    from firth.metrics.translation import Manner, looks_tokenized

    manner, names = Manner(tokenize, lowercase), stores.commas(metric)
    if not names:
        raise FirthError("no metric", do="give --metric bleu, or several with commas")
    paths = [hypotheses, *(other or []), *reference, *([source] if source else [])]
    read = dict(zip(paths, _aligned(paths, encoding), strict=True))
    systems = [(str(path), read[path]) for path in (hypotheses, *(other or []))]
    references = [read[path] for path in reference]
    if sentences:
        _print_sentences(systems, references, manner, as_json)
        return
    found = compare(systems, references, names, manner, sources=read[source] if source else (),
                    edges=_edges(lengths, source), seed=seed, draws=draws)  # fmt: skip
    if as_json:
        stores.print_json(found.to_dict())
        return
    _print(found, [str(path) for path in reference])
    if looks_tokenized(systems[0][1], manner):
        print("note: the texts seem to be cut into tokens already; --tokenize none counts them as they are")


def _aligned(paths: Sequence[Path], encoding: str) -> list[list[str]]:
    """The lines of each file; all must have as many."""
    from firth.data import lines

    found = [[line for _, line in lines.lines(lines.encoded(path, encoding))] for path in paths]
    for path, texts in zip(paths, found, strict=True):
        if len(texts) != len(found[0]):
            (fewer, short), (more, longer) = sorted([(len(found[0]), paths[0]), (len(texts), path)])
            what = f"{short} has no such line: it has {fewer:,}, this file {more:,}"
            raise FirthError(what, where=lines.at(longer, fewer + 1), do="give files that agree line by line")
    return found


def _edges(lengths: str, source: Path | None) -> list[int]:
    words = stores.commas(lengths)
    if words and not source:
        raise FirthError("--lengths is about the length of sources", do="give them with --source")
    if not all(word.isdecimal() and int(word) for word in words):
        raise FirthError(f"cannot read --lengths {lengths!r}", do="write it as 10,20,30")
    return [int(word) for word in words]


def _print_sentences(
    systems: Sequence[tuple[str, list[str]]], references: Sequence[list[str]], manner: Manner, as_json: bool
) -> None:
    """A line for each text: the BLEU of every system."""
    from firth.metrics.translation import count_bleu

    counted = [count_bleu(texts, references, manner, effective=True) for _, texts in systems]
    rows = [[each.of([number]) for each in counted] for number in range(len(systems[0][1]))]
    if as_json:
        names = [name for name, _ in systems]
        stores.print_json({"systems": names, "signature": counted[0].signature, "sentences": rows})
        return
    for row in rows:
        print("\t".join(f"{value:.2f}" for value in row))


# --- tables -------------------------------------------------------------------------------------------------------


def _print(found: Comparison, references: Sequence[str]) -> None:
    rows = [row for outcome in found.systems for row in _rows(outcome, len(found.systems) > 1)]
    blank = dict.fromkeys(rows[0], "")
    told = {"system": references[0], "metric": found.reference.name, "score": _number(found.reference.value)}
    show([*rows, {**blank, **told}], whole=True)
    if found.lengths:
        print(f"\n{found.systems[0].scores[0].score.name} by the tokens of the source")
        show([_bin(row, [outcome.name for outcome in found.systems]) for row in found.lengths], whole=True)
    print()
    signed: dict[str, list[str]] = {}
    for each in [*(each.score for each in found.systems[0].scores), *found.systems[0].habits]:
        signed.setdefault(each.signature, []).append(each.name)
    for told, names in signed.items():
        print(f"{', '.join(names)}  [{told}]")


def _rows(outcome: Outcome, several: bool) -> list[dict[str, str]]:
    """A row for each score and habit; with several systems, also how it stands against the first."""
    against = {each.metric: each for each in outcome.against}
    rows = []
    for signed, where in [*((each.score, each.interval) for each in outcome.scores),
                          *((habit, None) for habit in outcome.habits)]:  # fmt: skip
        row = {"system": stores.plain(outcome.name), "metric": signed.name, "score": _number(signed.value),
               "95 of 100": _range(where) if where else ""}  # fmt: skip
        rows.append(row | _test(against.get(signed.name)) if several else row)
    return rows


def _test(against: Against | None) -> dict[str, str]:
    if not against:
        return dict.fromkeys(("difference", "of it, 95 of 100", "wins", "p drawn", "p swapped"), "")
    drawn = against.paired
    return {
        "difference": f"{drawn.difference:+.2f}",
        "of it, 95 of 100": _range(drawn.interval),
        "wins": f"{drawn.wins:.1%}",
        "p drawn": f"{drawn.p:.4f}",
        "p swapped": f"{against.swapped.p:.4f}",
    }


def _bin(row: Bin, names: Sequence[str]) -> dict[str, str]:
    """Names may be equal, keys of a table may not."""
    keys = [stores.plain(name) + " " * names[:place].count(name) for place, name in enumerate(names)]
    length = str(row.low) if row.low == row.high else f"{row.low}–{row.high}"
    return {"tokens": length, "texts": f"{row.texts:,}", **dict(zip(keys, map(_number, row.scores), strict=True))}


def _number(value: float | None) -> str:
    return "n/a" if value is None or math.isnan(value) else f"{value:.2f}"


def _range(where: Interval) -> str:
    return f"{_number(where.low)} … {_number(where.high)}"
