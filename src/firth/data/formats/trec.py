"""Documents and topics of TREC: `<DOC> … </DOC>` and `<top> … </top>`, marked up like SGML but not quite."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from firth.data import lines
from firth.data.formats import going
from firth.data.formats.relevance import once
from firth.data.formats.values import shown
from firth.data.records import Passage
from firth.errors import FirthError

RECORDS = {"<doc>": "</doc>", "<top>": "</top>"}
IDS, TITLES, TEXTS = ("docno", "num"), ("title", "headline"), ("text", "desc")
OPEN = re.compile(r"(?:^|(?<=>))[ \t]*<([A-Za-z][A-Za-z0-9]*)>", re.MULTILINE)
CLOSE = re.compile(r"</([A-Za-z][A-Za-z0-9]*)>")
LABELS = {"num": "Number", "title": "Topic", "desc": "Description", "narr": "Narrative"}  # topics say it twice
MARKED = re.compile(r"</?[A-Za-z][A-Za-z0-9]*>")


@dataclass(frozen=True)
class Trec:
    """Documents and topics; what is neither id, title nor text goes to the fields, under the name of its tag."""

    endings: ClassVar[tuple[str, ...]] = ("trec", "sgml")
    holds: ClassVar[type] = Passage

    def read(self, path: str | Path, report: going.Report | None = None) -> Iterator[Passage]:
        """The texts in the order of the file, without the blanks around them."""
        found = going.parsed(lambda unit: _passage(*unit, path), _blocks(path), report)
        return once(found, path, report)

    def rows(self, records: Iterable[Passage]) -> Iterator[str]:
        """The lines of a file with these documents."""
        for p in records:
            fields = {name: text for name, text in p.fields if name not in (*IDS, *TITLES, *TEXTS)}
            for name in fields:
                if not MARKED.fullmatch(f"<{name}>") or f"<{name.lower()}>" in RECORDS:
                    raise FirthError(f"{shown(name)} cannot be a mark of TREC", do="write another format")
            for text in (p.id, p.title, p.text, *fields.values()):
                if mark := MARKED.search(text):
                    raise FirthError(f"document {shown(p.id)} has the mark {mark[0]} in it", do="write another format")
            yield "<DOC>"
            yield f"<DOCNO>{p.id}</DOCNO>"
            for name, text in {**({"title": p.title} if p.title else {}), **fields}.items():
                yield from f"<{name.upper()}>{text}</{name.upper()}>".split("\n")
            yield from f"<TEXT>\n{p.text}\n</TEXT>\n</DOC>".split("\n")


def _blocks(path: str | Path) -> Iterator[tuple[int, str, str, bool]]:
    """What is between the marks of each record, with the line it begins at, what is wrong, and if it is a topic."""
    begun, end, held = 0, "", []
    for number, line in lines.lines(path):
        start = line.strip()[:5].lower()
        if start in RECORDS:
            if held:
                yield begun, "\n".join(held), f"it is not closed before the next {start}", False
            begun, end, held = number, RECORDS[start], []
            line = line.strip()[5:]
        elif not end:
            if line.strip():
                yield number, "", f"{shown(line)} is outside of <DOC> and <top>", False
            continue
        held.append(line)
        if line.rstrip()[-6:].lower() == end:
            yield begun, "\n".join(held).rstrip()[:-6], "", end == RECORDS["<top>"]
            end, held = "", []
    if end:
        yield begun, "\n".join(held), f"it is not closed: no {end} before the end of the file", False


def _passage(line: int, block: str, wrong: str, topic: bool, path: str | Path) -> Passage:
    parts = {} if wrong else _parts(block, LABELS if topic else {})
    names = [parts.pop(name) for name in IDS if name in parts]
    if wrong or not names or not names[0]:
        do = "write <DOC> <DOCNO>1</DOCNO> <TEXT> … </TEXT> </DOC>"
        raise FirthError(wrong or "a text without <DOCNO> or <num>", where=lines.at(path, line), do=do)
    titles = [parts.pop(name) for name in TITLES if name in parts]
    texts = [parts.pop(name) for name in TEXTS if name in parts]
    return Passage(names[0], _joined(texts), _joined(titles), tuple(parts.items()), line)


def _parts(block: str, labels: Mapping[str, str]) -> dict[str, str]:
    """The content of each tag without its label; one that is never closed ends where the next begins, as in topics."""
    closings: dict[str, list[int]] = defaultdict(list)
    for mark in CLOSE.finditer(block):
        closings[mark[1].lower()].append(mark.start())
    parts: dict[str, str] = {}
    mark = OPEN.search(block)
    while mark:
        name, start = mark[1].lower(), mark.end()
        places = closings[name]
        place = bisect_left(places, start)
        end = places[place] if place < len(places) else None
        mark = OPEN.search(block, start if end is None else end + len(name) + 3)
        if end is None:
            end = mark.start() if mark else len(block)
        text, label = block[start:end].strip(), f"{labels.get(name, '')}:"
        if len(label) > 1 and text[: len(label)].lower() == label.lower():
            text = text[len(label) :].lstrip()
        parts[name] = _joined([parts.get(name, ""), text])
    return parts


def _joined(texts: Iterable[str]) -> str:
    return "\n".join(filter(None, texts))
