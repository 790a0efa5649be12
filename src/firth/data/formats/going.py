"""Reading that can go on after a fault, so that a check shows them all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from firth.errors import FirthError

Unit = TypeVar("Unit")
Record = TypeVar("Record")
Report = Callable[[FirthError], None]


def parsed(parse: Callable[[Unit], Record], units: Iterable[Unit], report: Report | None) -> Iterator[Record]:
    """The record of each unit; one that cannot be read is reported and left out, or raised if there is no `report`."""
    if report is None:
        yield from map(parse, units)
        return
    for unit in units:
        try:
            record = parse(unit)
        except FirthError as error:
            report(error)
        else:
            yield record


def paragraphs(blocks: Iterable[list[str]]) -> Iterator[tuple[int, list[str], int]]:
    """Lines between empty lines, with the number of the first and how many empty lines follow."""
    number, begun, held, gap = 0, 1, [], 0
    for block in blocks:
        for line in block:
            number += 1
            if not line:
                gap += 1
                continue
            if gap:
                if held:
                    yield begun, held, gap
                held, gap, begun = [], 0, number
            held.append(line)
    if held:
        yield begun, held, gap
