"""Princeton's database files (wndb): index.noun, data.noun, noun.exc and the like, read where they are.

An index has a line per word with the byte offsets of its synsets in the data file; both are looked up in the mapped
files, so opening costs nothing. Files that are missing (exceptions, counts) take away only what they hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from itertools import takewhile
from pathlib import Path
from typing import TypeVar

from firth.errors import FirthError
from firth.lexicon.sorted_lines import SortedLines
from firth.lexicon.synsets import Relation, Synset, category

FILES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
POINTERS = {
    "!": "antonym", "@": "hypernym", "@i": "instance_hypernym", "~": "hyponym", "~i": "instance_hyponym",
    "#m": "holo_member", "#s": "holo_substance", "#p": "holo_part",
    "%m": "mero_member", "%s": "mero_substance", "%p": "mero_part", "=": "attribute", "+": "derivation",
    ";c": "domain_topic", "-c": "has_domain_topic", ";r": "domain_region", "-r": "has_domain_region",
    ";u": "exemplifies", "-u": "is_exemplified_by", "*": "entails", ">": "causes", "^": "also", "$": "verb_group",
    "&": "similar", "<": "participle", "\\": "pertainym",
}  # fmt: skip
SYNSET_TYPES = {"n": 1, "v": 2, "a": 3, "r": 4, "s": 5}  # in sense keys
SYNSET_LINE = re.compile(rb"^(\d{8}) \d\d [a-z] ([^|\n]*)", re.MULTILINE)
HYPERNYM = re.compile(rb" @i? (\d{8}) [a-z] 0000")
MARKER = re.compile(r"\((?:p|a|ip)\)$")  # where an adjective may stand
QUOTED = re.compile(r'"([^"]*)"')
DAMAGED = "get the files again; line ends must not be changed, and data and index files belong together"
CACHED = 1 << 14  # synsets
Value = TypeVar("Value")


class Princeton:
    """A reader of a folder with these files; ids are the offset and the part of speech: 02084071-n."""

    language = "en"

    def __init__(self, folder: Path, name: str = "") -> None:
        self._index, self._data = {}, {}
        for pos, file in FILES.items():
            index, data = folder / f"index.{file}", folder / f"data.{file}"
            if index.is_file() and data.is_file():
                self._index[pos], self._data[pos] = SortedLines(index, b" "), SortedLines(data, b" ")
        if not self._data:
            raise FirthError("no database files of WordNet", where=folder, do="give the folder with data.noun")
        self._folder, self.place = folder, str(folder)
        self.name = name or self._version
        self.synset: Callable[[str], Synset] = lru_cache(CACHED)(self._read)

    @cached_property
    def _version(self) -> str:
        """The name and number in the licence that opens the files."""
        (_, data), *_ = self._data.items()
        for line in takewhile(lambda line: line.startswith(b"  "), data.lines()):
            if number := re.search(rb"WordNet (\d[\d.]*\d)", line):
                return f"WordNet {number[1].decode()}"
        return self._folder.name

    # --- words ------------------------------------------------------------------------------------------------------

    def ids(self, word: str, pos: str) -> tuple[str, ...]:
        """The synsets of a word in the order of its senses."""
        line = self._index[pos].find(word.replace(" ", "_").encode()) if pos in self._index else None
        if line is None:
            return ()

        def parse(fields: list[str]) -> tuple[str, ...]:
            count, pointers = int(fields[2]), int(fields[3])
            offsets = fields[6 + pointers :]
            if len(offsets) != count or not all(len(offset) == 8 and offset.isdigit() for offset in offsets):
                raise ValueError("offsets")
            return tuple(f"{offset}-{pos}" for offset in offsets)

        return self._parse(parse, line, self._index[pos].path)

    def base_forms(self, form: str, pos: str) -> tuple[str, ...]:
        """The base forms in the list of exceptions."""
        exceptions = self._exceptions.get(pos)
        line = exceptions.find(form.replace(" ", "_").encode()) if exceptions else None
        return tuple(base.replace("_", " ") for base in _text(line).split()[1:]) if line else ()

    @cached_property
    def _exceptions(self) -> dict[str, SortedLines]:
        paths = {pos: self._folder / f"{file}.exc" for pos, file in FILES.items()}
        return {pos: SortedLines(path, b" ") for pos, path in paths.items() if path.is_file()}

    @property
    def has_exceptions(self) -> bool:
        """Whether there are lists of irregular forms."""
        return bool(self._exceptions)

    def count(self, key: str) -> int:
        """The count of a sense in the concordances that come with WordNet."""
        line = self._counts[0].find(key.encode()) if self._counts else None
        return self._parse(lambda fields: int(fields[self._counts[1]]), line, self._counts[0].path) if line else 0

    @cached_property
    def _counts(self) -> tuple[SortedLines, int] | None:
        """The file with counts by sense key, and their column."""
        for name, column in (("cntlist.rev", 2), ("index.sense", 3)):
            if (self._folder / name).is_file():
                return SortedLines(self._folder / name, b" "), column
        return None

    # --- synsets ----------------------------------------------------------------------------------------------------

    def taxonomy(self, pos: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The synsets in the order of the data file, with their hypernyms."""
        for match in self._data[pos].matches(SYNSET_LINE) if pos in self._data else ():
            hypernyms = [f"{target.decode()}-{pos}" for target in HYPERNYM.findall(match[2])]
            yield f"{match[1].decode()}-{pos}", tuple(dict.fromkeys(hypernyms))

    def _read(self, id_: str) -> Synset:
        offset, _, pos = id_.partition("-")
        data = self._data.get(category(pos))
        if data is None or not offset.isdigit():
            raise KeyError(id_)
        line = data.line_at(int(offset))
        if not line.startswith(offset.encode() + b" "):
            what = f"no synset at byte {int(offset)}"
            raise FirthError(what, where=data.path, do=DAMAGED)
        head, _, gloss = _text(line).partition("|")
        return self._parse(lambda fields: self._synset(id_, fields, gloss.strip()), head.encode(), data.path)

    def _synset(self, id_: str, fields: list[str], gloss: str) -> Synset:
        _, file, pos, size = fields[:4]
        count = int(size, 16)
        words, lex_ids = fields[4 : 4 + 2 * count : 2], fields[5 : 5 + 2 * count : 2]
        at = 4 + 2 * count
        pointers = [fields[n : n + 4] for n in range(at + 1, at + 1 + 4 * int(fields[at]), 4)]
        relations = tuple([_relation(*pointer) for pointer in pointers])
        plain = tuple([MARKER.sub("", word) for word in words])
        head = self._head(relations) if pos == "s" else ":"
        keys = [_key(word, pos, file, lex_id, head) for word, lex_id in zip(plain, lex_ids, strict=True)]
        definition, examples = _split_gloss(gloss)
        spaced = tuple([word.replace("_", " ") for word in plain])
        return Synset(f"{id_[:8]}-{category(pos)}", pos, spaced, definition, examples, relations, tuple(keys))

    def _head(self, relations: tuple[Relation, ...]) -> str:
        """The end of the sense key of a satellite: the first word of the adjective that it is similar to."""
        target = next((relation.target for relation in relations if relation.kind == "similar"), None)
        if target is None:
            return ":"
        fields = _text(self._data["a"].line_at(int(target[:8]))).split(" ", 6)
        return f"{MARKER.sub('', fields[4]).lower()}:{int(fields[5], 16):02d}"

    def _parse(self, parse: Callable[[list[str]], Value], line: bytes, path: Path) -> Value:
        try:
            return parse(_text(line).split())
        except (ValueError, IndexError, KeyError):
            shown = _text(line)[:40]
            raise FirthError(f"cannot read the line {shown!r}", where=path, do=DAMAGED) from None


def _relation(symbol: str, offset: str, pos: str, numbers: str) -> Relation:
    target = f"{int(offset):08d}-{category(pos)}"
    return Relation(POINTERS[symbol], target, int(numbers[:2], 16), int(numbers[2:], 16))


def _key(word: str, pos: str, file: str, lex_id: str, head: str) -> str:
    """The sense key: bank%1:17:01::."""
    return f"{word.lower()}%{SYNSET_TYPES[pos]}:{int(file):02d}:{int(lex_id, 16):02d}:{head}"


def _split_gloss(gloss: str) -> tuple[str, tuple[str, ...]]:
    """The definition and the examples, which are in quotation marks after it."""
    definition, semicolon, rest = gloss.partition('; "')
    return definition.strip(" ;"), tuple(QUOTED.findall(f'"{rest}')) if semicolon else ()


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace")
