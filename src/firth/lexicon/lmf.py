"""WN-LMF, the XML of the Global WordNet Association, read as a stream; XML that could do harm is refused.

Entities are not declared in it and nothing outside the file is read, so neither entity expansion nor access to other
files is possible; what is held of the file is bounded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

from firth.datasets import compression, numbered_lines
from firth.errors import FirthError
from firth.lexicon.synsets import HYPERNYMS, Relation, Synset, normalise_word

BLOCK = 1 << 16  # bytes parsed at once
MAX_SILENT = 1 << 22  # bytes without an element or text: one huge tag
MAX_DEPTH = 32
MAX_TEXT = 1 << 16  # characters of a definition or example
ROOT = "LexicalResource"
Attributes = Mapping[str, str]


class SenseEntry(NamedTuple):
    """A sense of a lexical entry."""

    id: str
    entry: str
    synset: str
    lemma: str
    pos: str
    order: int
    key: str
    line: int


@dataclass
class SynsetEntry:
    """A synset as it stands in the file."""

    pos: str
    members: list[str]
    definition: str = ""
    examples: list[str] = field(default_factory=list)
    relations: list[tuple[str, str]] = field(default_factory=list)  # (kind, target)


@dataclass
class LmfFile:
    """The content of a file."""

    names: list[str] = field(default_factory=list)  # id:version of its lexicons
    languages: list[str] = field(default_factory=list)
    senses: dict[str, SenseEntry] = field(default_factory=dict)
    synsets: dict[str, SynsetEntry] = field(default_factory=dict)
    sense_relations: dict[str, list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))
    forms: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))  # (form, pos) -> lemmas


def read_lmf(path: Path) -> LmfFile:
    """The content of a file, plain or compressed."""
    parser = _Parser(path)
    try:
        for block in compression.blocks(numbered_lines.single_file(path), str(path), BLOCK):
            parser.feed(block)
        parser.feed(b"", final=True)
    except expat.ExpatError as error:
        raise parser.error(f"not well-formed XML ({expat.ErrorString(error.code)})", error.lineno) from None
    return parser.content()


class _Parser:
    """The handlers of the elements, and what they have gathered."""

    def __init__(self, path: Path) -> None:
        self._path, self._file = path, LmfFile()
        self._open: list[str] = []
        self._text: list[str] = []
        self._silent = self._length = 0
        self._entry, self._lemma, self._pos, self._sense, self._synset = "", "", "", "", ""
        self._expat = expat.ParserCreate()
        self._expat.buffer_text = True
        self._expat.StartElementHandler, self._expat.EndElementHandler = self._start, self._end
        self._expat.CharacterDataHandler = self._characters
        self._expat.EntityDeclHandler = self._refuse_entity
        self._expat.ExternalEntityRefHandler = None  # the DTD that a file names is not read

    def feed(self, block: bytes, final: bool = False) -> None:
        """Parse the next bytes."""
        self._silent += len(block)
        self._expat.Parse(block, final)
        if self._silent > MAX_SILENT:
            raise self.error(f"a tag of more than {MAX_SILENT >> 20} MB")

    def content(self) -> LmfFile:
        """The content, once the file is read; an error if it is not a lexicon."""
        if not self._file.names:
            raise FirthError("no Lexicon in it", where=self._path, do="give a file in WN-LMF")
        for sense in self._file.senses.values():
            if sense.synset not in self._file.synsets:
                raise self.error(f"sense {sense.id!r} has a synset {sense.synset!r} that is not there", sense.line)
        return self._file

    def error(self, what: str, line: int = 0) -> FirthError:
        """An error at a line, by default the one that is parsed."""
        where = numbered_lines.at(self._path, line or self._expat.CurrentLineNumber)
        return FirthError(what, where=where, do="correct the file, or get it again")

    def _refuse_entity(self, name: str, *_: object) -> None:
        raise self.error(f"it declares an entity ({name!r}), which no lexicon needs")

    def _characters(self, text: str) -> None:
        self._silent = 0
        self._length += len(text)
        if self._length > MAX_TEXT:
            raise self.error(f"a text of more than {MAX_TEXT >> 10} k characters")
        self._text.append(text)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._silent = self._length = 0
        self._text.clear()
        if not self._open and name != ROOT:
            raise self.error(f"the first element is {name!r}, not {ROOT}")
        if len(self._open) >= MAX_DEPTH:
            raise self.error(f"elements nested more than {MAX_DEPTH} deep")
        self._open.append(name)
        if name in STARTS:
            STARTS[name](self, attributes)

    def _end(self, name: str) -> None:
        self._silent = 0
        self._open.pop()
        if name in ("Definition", "Example") and self._open[-1] == "Synset":
            self._add_gloss(name, " ".join("".join(self._text).split()))
        self._text.clear()
        self._length = 0

    def _add_gloss(self, name: str, text: str) -> None:
        synset = self._file.synsets[self._synset]
        if name == "Example":
            synset.examples.append(text)
        elif not synset.definition:
            synset.definition = text

    # --- elements ---------------------------------------------------------------------------------------------------

    def _need(self, attributes: Attributes, name: str) -> str:
        value = attributes.get(name, "").strip()
        if not value:
            raise self.error(f"{self._open[-1]} has no {name}")
        return value

    def _new_id(self, attributes: Attributes, known: Mapping[str, object]) -> str:
        name = self._need(attributes, "id")
        if name in known:
            raise self.error(f"id {name!r} occurs twice")
        if any(sign.isspace() for sign in name):
            raise self.error(f"id {name!r} has a blank in it")
        return name

    def lexicon(self, attributes: Attributes) -> None:
        """<Lexicon id="…" version="…" language="…">."""
        version = attributes.get("version", "")
        self._file.names.append(self._need(attributes, "id") + (f":{version}" if version else ""))
        self._file.languages.append(attributes.get("language", ""))

    def entry(self, attributes: Attributes) -> None:
        """<LexicalEntry id="…">."""
        self._entry, self._lemma = attributes.get("id", ""), ""

    def lemma(self, attributes: Attributes) -> None:
        """<Lemma writtenForm="…" partOfSpeech="…">."""
        self._lemma, self._pos = self._need(attributes, "writtenForm"), self._need(attributes, "partOfSpeech")

    def form(self, attributes: Attributes) -> None:
        """<Form writtenForm="…">: an inflected form of the entry."""
        form = normalise_word(self._need(attributes, "writtenForm"))
        self._file.forms[form, self._pos].append(normalise_word(self._lemma))

    def sense(self, attributes: Attributes) -> None:
        """<Sense id="…" synset="…">."""
        if not self._lemma:
            raise self.error("a sense before the lemma of its entry")
        self._sense = self._new_id(attributes, self._file.senses)
        number, key = attributes.get("n", ""), attributes.get("dc:identifier", "")
        order = int(number) if number.isascii() and number.isdigit() and len(number) < 7 else 0
        synset, line = self._need(attributes, "synset"), self._expat.CurrentLineNumber
        entry = SenseEntry(
            self._sense, self._entry, synset, self._lemma, self._pos, order, ("%" in key and key) or "", line
        )
        self._file.senses[self._sense] = entry

    def sense_relation(self, attributes: Attributes) -> None:
        """<SenseRelation relType="…" target="…">."""
        pair = self._need(attributes, "relType"), self._need(attributes, "target")
        self._file.sense_relations[self._sense].append(pair)

    def synset(self, attributes: Attributes) -> None:
        """<Synset id="…" partOfSpeech="…">."""
        self._synset = self._new_id(attributes, self._file.synsets)
        pos = attributes.get("partOfSpeech", "") or "x"
        self._file.synsets[self._synset] = SynsetEntry(pos, attributes.get("members", "").split())

    def synset_relation(self, attributes: Attributes) -> None:
        """<SynsetRelation relType="…" target="…">."""
        if not self._synset:
            raise self.error("a relation outside a synset")
        pair = self._need(attributes, "relType"), self._need(attributes, "target")
        self._file.synsets[self._synset].relations.append(pair)


STARTS: dict[str, Callable[[_Parser, Attributes], None]] = {
    "Lexicon": _Parser.lexicon, "LexicalEntry": _Parser.entry, "Lemma": _Parser.lemma, "Form": _Parser.form,
    "Sense": _Parser.sense, "SenseRelation": _Parser.sense_relation, "Synset": _Parser.synset,
    "SynsetRelation": _Parser.synset_relation,
}  # fmt: skip


def make_synsets(file: LmfFile) -> Iterator[Synset]:
    """The synsets with their words; relations to what is not in the file are left out."""
    members: dict[str, list[SenseEntry]] = defaultdict(list)
    for sense in file.senses.values():
        members[sense.synset].append(sense)
    for id_, senses in members.items():
        order = {name: n for n, name in enumerate(file.synsets[id_].members)}
        senses.sort(key=lambda s: order.get(s.id, order.get(s.entry, len(order))))
    numbers = {sense.id: n for senses in members.values() for n, sense in enumerate(senses, 1)}
    for id_, entry in file.synsets.items():
        senses = members[id_]
        relations = [Relation(kind, target) for kind, target in entry.relations if target in file.synsets]
        for sense in senses:
            targets = ((kind, file.senses.get(target)) for kind, target in file.sense_relations.get(sense.id, ()))
            relations += [
                Relation(kind, target.synset, numbers[sense.id], numbers[target.id])
                for kind, target in targets
                if target
            ]
        words = tuple(sense.lemma for sense in senses)
        keys = tuple(sense.key for sense in senses) if any(sense.key for sense in senses) else ()
        yield Synset(id_, entry.pos, words, entry.definition, tuple(entry.examples), tuple(relations), keys)


def hypernyms_of(synset: Synset) -> tuple[str, ...]:
    """The ids of the direct hypernyms."""
    return synset.related(HYPERNYMS)
