"""Fault-tolerant parsing: faults are reported and skipped, so that a check shows them all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from firth.errors import FirthError

Unit = TypeVar("Unit")
Record = TypeVar("Record")
Report = Callable[[FirthError], None]


def parse_all(parse: Callable[[Unit], Record], units: Iterable[Unit], report: Report | None) -> Iterator[Record]:
    """The record of each unit; one that cannot be parsed is reported and skipped, or raised if there is no `report`."""
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
