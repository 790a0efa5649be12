"""`firth vectors align`: the vectors of two languages in one space, and the dictionary that comes of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from firth.cli import stores
from firth.errors import FirthError

if TYPE_CHECKING:
    from firth.data.records import Record
    from firth.vectors.alignment import Alignment
    from firth.vectors.asking import Result


def align(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="Vectors of the language to translate from.")],
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="Vectors of the language to translate to.")],
    seeds: Annotated[Path | None, typer.Option(help="Word pairs, two columns a line.")] = None,
    pairs: Annotated[str, typer.Option(metavar="SET|FILE", help="Translated sentences, to find word pairs in.")] = "",
    reverse: Annotated[bool, typer.Option("--reverse", help="The pairs have the target's words first.")] = False,
    most: Annotated[int, typer.Option(min=0, help="Only so many seed pairs, the first; 0: all.")] = 0,
    hold_out: Annotated[int, typer.Option(min=0, help="Test on so many of the pairs, which are then no seeds.")] = 0,
    test: Annotated[Path | None, typer.Option(help="Word pairs to test on; a word may stand in several.")] = None,
    rounds: Annotated[int, typer.Option(min=0, help="Of refinement; 0: the seeds alone.")] = 5,
    how: Annotated[str, typer.Option(help="csls or nearest.")] = "csls",
    translate: Annotated[
        str, typer.Option(metavar="WORDS", help="Words to translate, with commas; - to read them.")
    ] = "",
    count: stores.COUNT = 5,
    out: Annotated[Path | None, typer.Option(help="Write the source's words in the common space to this file.")] = None,
    data: stores.DATA = None,
    as_json: stores.JSON = False,
) -> None:
    """Rotate the vectors of one language onto another's; translate words, and test that on a dictionary."""
    from firth.errors import unknown
    from firth.runs import files
    from firth.vectors.alignment import Aligning
    from firth.vectors.alignment import align as rotate

    if how not in ("csls", "nearest"):
        raise unknown("way to translate", how, ("csls", "nearest"))
    if out:
        files.destination(out)
    links = _links(seeds, pairs, reverse, data)
    held = set(range(0, len(links), max(1, len(links) // hold_out))[:hold_out]) if hold_out else set()
    kept = [link for place, link in enumerate(links) if place not in held]
    left, right = stores.opened(source), stores.opened(target)
    found = rotate(left, right, kept[: most or None], Aligning(rounds=rounds, how=how))
    gold = [*(_turned(_columns(test), reverse) if test else []), *(links[place] for place in sorted(held))]
    result = _tested(found, gold) if gold else None
    if out:
        found.mapped().save(out)
    words = stores.lines() if translate == "-" else stores.commas(translate)
    _print(found, result, {word: found.translate([word], count)[0] for word in words}, out, as_json)


def _links(seeds: Path | None, pairs: str, reverse: bool, data: Path | None) -> list[tuple[str, str]]:
    """Word pairs, the source's word first."""
    from firth.cli import given
    from firth.data import tasks
    from firth.vectors.alignment import lexicon

    if bool(seeds) == bool(pairs):
        raise FirthError("no seeds" if not seeds else "two kinds of seeds", do="give --seeds or --pairs, one of them")
    if seeds:
        found = _columns(seeds)
    else:
        chosen = given.find(pairs, "", "", None, "", data)
        records = map(_unnamed, chosen.records())
        found = lexicon(tasks.examples(records, "translation", chosen.columns))
    return _turned(found, reverse)


def _unnamed(record: Record) -> Record:
    """A row of a table whose columns have no names, as a pair: the first two."""
    from firth.data.records import Pair, Row

    is_pair = isinstance(record, Row) and not record.names and len(record.values) > 1
    return Pair(record.values[0], record.values[1], line=record.line) if is_pair else record


def _turned(links: list[tuple[str, str]], reverse: bool) -> list[tuple[str, str]]:
    return [(right, left) for left, right in links] if reverse else links


def _columns(path: Path) -> list[tuple[str, str]]:
    """Two words a line, with a tab between or a blank."""
    from firth.data import lines

    found = []
    for number, line in lines.lines(path):
        cells = [cell.strip() for cell in (line.split("\t") if "\t" in line else line.split())]
        if not any(cells):
            continue
        if len(cells) != 2 or not all(cells):
            raise FirthError("not two words", where=lines.at(path, number), do="write a word, a tab, its translation")
        found.append((cells[0], cells[1]))
    if not found:
        raise FirthError("no word pairs in it", where=path, do="write a word, a tab, its translation")
    return found


def _tested(found: Alignment, gold: list[tuple[str, str]]) -> Result:
    from firth.vectors.alignment import evaluate_dictionary

    known: dict[str, list[str]] = {}
    for word, right in gold:
        known.setdefault(word, []).append(right)
    return evaluate_dictionary(found, known)


def _print(found: Alignment, result: Result | None, translated: dict, out: Path | None, as_json: bool) -> None:
    if as_json:
        about = {"pairs": list(found.pairs), "out": str(out) if out else None}
        scores = [score.to_dict() for score in result.scores] if result else []
        asked = {"asked": result.asked, "answered": result.answered} if result else {}
        words = {word: [one._asdict() for one in row] for word, row in translated.items()}
        stores.print_json({**about, "scores": scores, **asked, "translations": words})
        return
    later = f", {', '.join(f'{n:,}' for n in found.pairs[1:])} after each round" if len(found.pairs) > 1 else ""
    print(f"{found.pairs[0]:,} seed pairs{later}")
    if result:
        scores = ", ".join(f"{s.name} {'n/a' if s.value is None else format(s.value, '.4f')}" for s in result.scores)
        print(f"{scores} over {result.answered:,} of {result.asked:,} words")
    for word, row in translated.items():
        print(stores.plain(word))
        stores.list_scored(row)
    if out:
        print(f"{out}: {len(found.source):,} words in the common space")
