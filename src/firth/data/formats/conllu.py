"""CoNLL-U: sentences with dependency trees, kept exactly as they are; the columns' inner parts are read on demand.

https://universaldependencies.org/format.html
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from firth.data import lines
from firth.data.formats import going
from firth.data.records import Sentence
from firth.errors import FirthError

WIDTH = 10
ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, RELATION, DEPS, MISC = range(WIDTH)
KNOWN = 512  # words; the numbers up to here are looked up
IDS = tuple(map(str, range(1, KNOWN)))
NUMBERS = {str(number): number for number in range(KNOWN)}
NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")
RANGE = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")


@dataclass(frozen=True)
class Conllu:
    """CoNLL-U; `tree="keep"` leaves heads unchecked, for files without trees."""

    tree: Literal["check", "keep"] = "check"
    endings: ClassVar[tuple[str, ...]] = ("conllu",)
    holds: ClassVar[type] = Sentence

    def read(self, path: str | Path, report: going.Report | None = None) -> Iterator[Sentence]:
        """The sentences, each one checked."""
        check = self.tree == "check"
        units = going.paragraphs(lines.blocks(path))
        return going.parsed(lambda unit: _sentence(unit[1], unit[0], path, check), units, report)

    def rows(self, records: Iterable[Sentence]) -> Iterator[str]:
        """The lines of a file with these sentences; an empty one follows each."""
        for sentence in records:
            yield from sentence.comments
            yield from map("\t".join, sentence.rows)
            yield ""


def _sentence(held: list[str], begun: int, path: str | Path, check: bool) -> Sentence:
    count = 0
    while count < len(held) and held[count].startswith("#"):
        count += 1
    rows = tuple([tuple(line.split("\t")) for line in held[count:]])
    sentence = Sentence(tuple(held[:count]), rows, begun)
    if not rows:
        raise FirthError("comments without a word", where=lines.at(path, begun), do="remove them")
    fault = _fault(rows, check)
    if fault:
        row, what, do = fault
        raise FirthError(what, where=lines.at(path, begun + count + row), do=do)
    return sentence


# --- checks: each gives (row, what, do) or nothing ------------------------------------------------------------------

Fault = tuple[int, str, str]


def _fault(rows: Sequence[tuple[str, ...]], check: bool) -> Fault | None:
    if set(map(len, rows)) != {WIDTH}:
        return _width(rows)
    columns = list(zip(*rows, strict=True))
    if any("" in column for column in columns):
        return _blank(rows)
    places: Sequence[int] = range(len(rows))
    if columns[ID] != IDS[: len(rows)]:
        fault, places = _ids(columns[ID])
        if fault:
            return fault
    if not check:
        return None
    heads = [NUMBERS.get(columns[HEAD][place], -1) for place in places]
    if -1 in heads or len(heads) >= KNOWN:
        heads = [_number(columns[HEAD][place]) for place in places]
    return _tree(heads, [rows[place] for place in places], places) if not _is_tree(heads) else None


def _width(rows: Sequence[tuple[str, ...]]) -> Fault:
    for place, row in enumerate(rows):
        if len(row) != WIDTH:
            if row[0].startswith("#"):
                return place, "a comment inside a sentence", "put it before the sentence's first word"
            break
    return place, f"{len(row)} column{'s' * (len(row) > 1)}, expected {WIDTH}", "separate the columns with tabs"


def _blank(rows: Sequence[tuple[str, ...]]) -> Fault:
    place = next(place for place, row in enumerate(rows) if "" in row)
    return place, f"column {rows[place].index('') + 1} is empty", "write _ for nothing"


def _ids(ids: Sequence[str]) -> tuple[Fault | None, list[int]]:
    """Words count from 1; a range stands before its first word; empty nodes 4.1, 4.2, … follow word 4."""
    places: list[int] = []
    covered = empties = start = 0
    for place, name in enumerate(ids):
        word = len(places)
        if name == str(word + 1):
            places.append(place)
            empties = 0
        elif found := RANGE.fullmatch(name):
            first, last = int(found[1]), int(found[2])
            if first != word + 1 or last < first or first <= covered:
                return (place, f"range {name} out of place", f"it belongs before word {first}, apart from others"), []
            covered, start = last, place
        elif name == f"{word}.{empties + 1}":
            empties += 1
        else:
            return (place, f"id {name[:20]!r}, expected {word + 1}", "number the words 1, 2, 3, …"), []
    if not places:
        return (0, "a sentence without words", "remove it"), []
    if covered > len(places):
        return (start, f"range {ids[start]} reaches beyond the last word", "mend its end"), []
    return None, places


def _number(text: str) -> int:
    return int(text) if NUMBER.fullmatch(text) else -1


def _is_tree(heads: Sequence[int]) -> bool:
    """Whether the heads (0: the root) make one tree; quick, and silent about the reason."""
    size = len(heads)
    if heads.count(0) != 1 or min(heads) < 0 or max(heads) > size:
        return False
    seen = [0] * (size + 1)
    seen[0] = -1
    for word in range(1, size + 1):
        here = word
        while not seen[here]:
            seen[here] = word
            here = heads[here - 1]
        if seen[here] == word:  # met on this very walk
            return False
        here = word
        while seen[here] == word:
            seen[here] = -1
            here = heads[here - 1]
    return True


def _tree(heads: Sequence[int], words: Sequence[tuple[str, ...]], places: Sequence[int]) -> Fault:
    for word, head in enumerate(heads):
        if head < 0:
            what = f"head {words[word][HEAD][:20]!r} is not a number"
            return places[word], what, "give every word a head, or read without trees (tree=keep)"
        if head > len(heads):
            return places[word], f"head {head}, but the last word is {len(heads)}", "mend the head"
    roots = [word for word, head in enumerate(heads) if head == 0]
    if len(roots) > 1:
        first, second = roots[:2]
        return places[second], f"a second root (the first is word {first + 1})", "give it a head other than 0"
    circle = find_cycle(heads)
    return places[min(circle) - 1], f"a cycle: {' > '.join(map(str, [*circle, circle[0]]))}", "mend one of these heads"


def find_cycle(heads: Sequence[int]) -> list[int]:
    """The words of a cycle, each followed by its head; empty if there is none."""
    done = [False] * (len(heads) + 1)
    done[0] = True
    for word in range(1, len(heads) + 1):
        path, place = [], {}
        while not done[word] and word not in place:
            place[word] = len(path)
            path.append(word)
            word = heads[word - 1]
        if word in place:
            return path[place[word] :]
        for passed in path:
            done[passed] = True
    return []


# --- what parsers ask ----------------------------------------------------------------------------------------------


def heads(sentence: Sentence) -> list[int]:
    """The head of each word, 0 for the root."""
    found = [_number(row[HEAD]) for row in sentence.words]
    if -1 in found:
        raise FirthError("a sentence without heads", where=f"line {sentence.line}", do="give a file with trees")
    return found


def is_projective(heads: Sequence[int]) -> bool:
    """Whether there is no cycle and no two arcs cross: every word with all below it stands in one piece."""
    size = len(heads)
    first, last, count = list(range(size + 1)), list(range(size + 1)), [1] * (size + 1)
    waits = [0] * (size + 1)  # for so many words below
    for head in heads:
        waits[head] += 1
    ready = [word for word in range(1, size + 1) if not waits[word]]
    for word in ready:  # it grows: each word comes after all below it, and those of a cycle never come
        if last[word] - first[word] + 1 != count[word]:
            return False
        above = heads[word - 1]
        first[above], last[above] = min(first[above], first[word]), max(last[above], last[word])
        count[above] += count[word]
        waits[above] -= 1
        if above and not waits[above]:
            ready.append(above)
    return len(ready) == size


def comment(sentence: Sentence, key: str) -> str | None:
    """The value of a comment such as `# sent_id = 7`."""
    for line in sentence.comments:
        name, equals, value = line[1:].partition("=")
        if equals and name.strip() == key:
            return value.strip()
    return None


def text(sentence: Sentence) -> str:
    """The sentence as it was written: its comment `text`, or its tokens with blanks but where SpaceAfter=No."""
    told = comment(sentence, "text")
    return told if told is not None else "".join(_pieces(sentence)).rstrip(" ")


def _pieces(sentence: Sentence) -> Iterator[str]:
    inside = word = 0
    for row in sentence.rows:
        found = RANGE.fullmatch(row[ID])
        if not found and "." in row[ID]:
            continue
        word += not found
        if found:
            inside = int(found[2])
        elif word <= inside:
            continue
        yield row[FORM] + " " * ("SpaceAfter=No" not in row[MISC].split("|"))


def features(cell: str) -> dict[str, str]:
    """FEATS or MISC as a dictionary; a key without value has the value \"\"."""
    if cell == "_":
        return {}
    return {key: value for key, _, value in (part.partition("=") for part in cell.split("|"))}


def deps(cell: str) -> list[tuple[str, str]]:
    """DEPS as pairs of head (such as 4 or 4.1) and relation."""
    if cell == "_":
        return []
    return [(head, relation) for head, _, relation in (part.partition(":") for part in cell.split("|"))]
