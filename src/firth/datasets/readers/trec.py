"""TREC documents and topics (information retrieval): `<DOC> … </DOC>` and `<top> … </top>`, almost SGML."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from firth.datasets import numbered_lines
from firth.datasets.readers import fault_report
from firth.datasets.readers.relevance import check_unique_ids
from firth.datasets.readers.values import quote
from firth.datasets.records import Passage
from firth.errors import FirthError

RECORDS = {"<doc>": "</doc>", "<top>": "</top>"}
IDS, TITLES, TEXTS = ("docno", "num"), ("title", "headline"), ("text", "desc")
OPEN = re.compile(r"(?:^|(?<=>))[ \t]*<([A-Za-z][A-Za-z0-9]*)>", re.MULTILINE)
CLOSE = re.compile(r"</([A-Za-z][A-Za-z0-9]*)>")
LABELS = {"num": "Number", "title": "Topic", "desc": "Description", "narr": "Narrative"}  # topics repeat the name
TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9]*>")


@dataclass(frozen=True)
class Trec:
    """TREC documents and topics; tags other than id, title and text become fields."""

    extensions: ClassVar[tuple[str, ...]] = ("trec", "sgml")
    record_type: ClassVar[type] = Passage

    def read(self, path: str | Path, report: fault_report.Report | None = None) -> Iterator[Passage]:
        """The passages in the order of the file, without surrounding white space."""
        passages = fault_report.parse_all(lambda unit: _passage(*unit, path), _blocks(path), report)
        return check_unique_ids(passages, path, report)

    def rows(self, records: Iterable[Passage]) -> Iterator[str]:
        """The lines of a file with these documents."""
        for p in records:
            fields = {name: text for name, text in p.fields if name not in (*IDS, *TITLES, *TEXTS)}
            for name in fields:
                if not TAG.fullmatch(f"<{name}>") or f"<{name.lower()}>" in RECORDS:
                    raise FirthError(f"{quote(name)} cannot be a TREC tag", do="write another format")
            for text in (p.id, p.title, p.text, *fields.values()):
                if tag := TAG.search(text):
                    raise FirthError(f"document {quote(p.id)} contains the tag {tag[0]}", do="write another format")
            yield "<DOC>"
            yield f"<DOCNO>{p.id}</DOCNO>"
            for name, text in {**({"title": p.title} if p.title else {}), **fields}.items():
                yield from f"<{name.upper()}>{text}</{name.upper()}>".split("\n")
            yield from f"<TEXT>\n{p.text}\n</TEXT>\n</DOC>".split("\n")


def _blocks(path: str | Path) -> Iterator[tuple[int, str, str, bool]]:
    """The content of each record, with its first line, what is wrong with it, and whether it is a topic."""
    first, end, lines = 0, "", []
    for number, line in numbered_lines.lines(path):
        start = line.strip()[:5].lower()
        if start in RECORDS:
            if lines:
                yield first, "\n".join(lines), f"not closed before the next {start}", False
            first, end, lines = number, RECORDS[start], []
            line = line.strip()[5:]
        elif not end:
            if line.strip():
                yield number, "", f"{quote(line)} is outside of <DOC> and <top>", False
            continue
        lines.append(line)
        if line.rstrip()[-6:].lower() == end:
            yield first, "\n".join(lines).rstrip()[:-6], "", end == RECORDS["<top>"]
            end, lines = "", []
    if end:
        yield first, "\n".join(lines), f"not closed: no {end} before the end of the file", False


def _passage(line: int, block: str, wrong: str, topic: bool, path: str | Path) -> Passage:
    parts = {} if wrong else _parts(block, LABELS if topic else {})
    names = [parts.pop(name) for name in IDS if name in parts]
    if wrong or not names or not names[0]:
        do = "write <DOC> <DOCNO>1</DOCNO> <TEXT> … </TEXT> </DOC>"
        raise FirthError(wrong or "a text without <DOCNO> or <num>", where=numbered_lines.at(path, line), do=do)
    titles = [parts.pop(name) for name in TITLES if name in parts]
    texts = [parts.pop(name) for name in TEXTS if name in parts]
    return Passage(names[0], _joined(texts), _joined(titles), tuple(parts.items()), line)


def _parts(block: str, labels: Mapping[str, str]) -> dict[str, str]:
    """The content of each tag without its label; an unclosed one ends where the next begins, as in topics."""
    closings: dict[str, list[int]] = defaultdict(list)
    for tag in CLOSE.finditer(block):
        closings[tag[1].lower()].append(tag.start())
    parts: dict[str, str] = {}
    tag = OPEN.search(block)
    while tag:
        name, start = tag[1].lower(), tag.end()
        positions = closings[name]
        index = bisect_left(positions, start)
        end = positions[index] if index < len(positions) else None
        tag = OPEN.search(block, start if end is None else end + len(name) + 3)
        if end is None:
            end = tag.start() if tag else len(block)
        text, label = block[start:end].strip(), f"{labels.get(name, '')}:"
        if len(label) > 1 and text[: len(label)].lower() == label.lower():
            text = text[len(label) :].lstrip()
        parts[name] = _joined([parts.get(name, ""), text])
    return parts


def _joined(texts: Iterable[str]) -> str:
    return "\n".join(filter(None, texts))
