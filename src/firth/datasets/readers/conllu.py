"""CoNLL-U (Universal Dependencies): sentences with dependency trees, kept verbatim; FEATS, DEPS and MISC are parsed on
demand.

https://universaldependencies.org/format.html
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from firth.datasets import numbered_lines
from firth.datasets.readers import fault_report
from firth.datasets.records import Sentence
from firth.errors import FirthError

WIDTH = 10
ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, RELATION, DEPS, MISC = range(WIDTH)
KNOWN = 512  # word numbers up to here are precomputed
IDS = tuple(map(str, range(1, KNOWN)))
NUMBERS = {str(number): number for number in range(KNOWN)}
NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")
RANGE = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")


@dataclass(frozen=True)
class Conllu:
    """CoNLL-U; `tree="keep"` does not check heads, for files without trees."""

    tree: Literal["check", "keep"] = "check"
    extensions: ClassVar[tuple[str, ...]] = ("conllu",)
    record_type: ClassVar[type] = Sentence

    def read(self, path: str | Path, report: fault_report.Report | None = None) -> Iterator[Sentence]:
        """The sentences, each one validated."""
        check = self.tree == "check"
        units = numbered_lines.paragraphs(numbered_lines.blocks(path))
        return fault_report.parse_all(lambda unit: _sentence(unit[1], unit[0], path, check), units, report)

    def rows(self, records: Iterable[Sentence]) -> Iterator[str]:
        """The lines of a file with these sentences, an empty line after each."""
        for sentence in records:
            yield from sentence.comments
            yield from map("\t".join, sentence.rows)
            yield ""


def _sentence(lines: list[str], first: int, path: str | Path, check: bool) -> Sentence:
    count = 0
    while count < len(lines) and lines[count].startswith("#"):
        count += 1
    rows = tuple([tuple(line.split("\t")) for line in lines[count:]])
    sentence = Sentence(tuple(lines[:count]), rows, first)
    if not rows:
        raise FirthError("comments without a word", where=numbered_lines.at(path, first), do="remove them")
    fault = _fault(rows, check)
    if fault:
        row, what, do = fault
        raise FirthError(what, where=numbered_lines.at(path, first + count + row), do=do)
    return sentence


# --- checks: each returns (row, what, do) or None -------------------------------------------------------------------

Fault = tuple[int, str, str]


def _fault(rows: Sequence[tuple[str, ...]], check: bool) -> Fault | None:
    if set(map(len, rows)) != {WIDTH}:
        return _width(rows)
    columns = list(zip(*rows, strict=True))
    if any("" in column for column in columns):
        return _blank(rows)
    positions: Sequence[int] = range(len(rows))
    if columns[ID] != IDS[: len(rows)]:
        fault, positions = _ids(columns[ID])
        if fault:
            return fault
    if not check:
        return None
    heads = [NUMBERS.get(columns[HEAD][position], -1) for position in positions]
    if -1 in heads or len(heads) >= KNOWN:
        heads = [_number(columns[HEAD][position]) for position in positions]
    return _tree(heads, [rows[position] for position in positions], positions) if not _is_tree(heads) else None


def _width(rows: Sequence[tuple[str, ...]]) -> Fault:
    for position, row in enumerate(rows):
        if len(row) != WIDTH:
            if row[0].startswith("#"):
                return position, "a comment inside a sentence", "put it before the sentence's first word"
            break
    return position, f"{len(row)} column{'s' * (len(row) > 1)}, expected {WIDTH}", "separate the columns with tabs"


def _blank(rows: Sequence[tuple[str, ...]]) -> Fault:
    position = next(position for position, row in enumerate(rows) if "" in row)
    return position, f"column {rows[position].index('') + 1} is empty", "write _ for nothing"


def _ids(ids: Sequence[str]) -> tuple[Fault | None, list[int]]:
    """Words are numbered from 1; a range precedes its first word; empty nodes 4.1, 4.2, … follow word 4."""
    positions: list[int] = []
    covered = empties = start = 0
    for position, name in enumerate(ids):
        word = len(positions)
        if name == str(word + 1):
            positions.append(position)
            empties = 0
        elif match := RANGE.fullmatch(name):
            first, last = int(match[1]), int(match[2])
            if first != word + 1 or last < first or first <= covered:
                return (position, f"range {name} is misplaced", f"put it before word {first}, without overlap"), []
            covered, start = last, position
        elif name == f"{word}.{empties + 1}":
            empties += 1
        else:
            return (position, f"id {name[:20]!r}, expected {word + 1}", "number the words 1, 2, 3, …"), []
    if not positions:
        return (0, "a sentence without words", "remove it"), []
    if covered > len(positions):
        return (start, f"range {ids[start]} exceeds the last word", "correct its end"), []
    return None, positions


def _number(text: str) -> int:
    return int(text) if NUMBER.fullmatch(text) else -1


def _is_tree(heads: Sequence[int]) -> bool:
    """Whether the heads (0: the root) form one tree; fast, without the reason."""
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
        if seen[here] == word:  # visited on this walk
            return False
        here = word
        while seen[here] == word:
            seen[here] = -1
            here = heads[here - 1]
    return True


def _tree(heads: Sequence[int], words: Sequence[tuple[str, ...]], positions: Sequence[int]) -> Fault:
    for word, head in enumerate(heads):
        if head < 0:
            what = f"head {words[word][HEAD][:20]!r} is not a number"
            return positions[word], what, "give every word a head, or read without trees (tree=keep)"
        if head > len(heads):
            return positions[word], f"head {head}, but the last word is {len(heads)}", "correct the head"
    roots = [word for word, head in enumerate(heads) if head == 0]
    if len(roots) > 1:
        first, second = roots[:2]
        return positions[second], f"a second root (the first is word {first + 1})", "give it a head other than 0"
    cycle = find_cycle(heads)
    return (
        positions[min(cycle) - 1],
        f"a cycle: {' > '.join(map(str, [*cycle, cycle[0]]))}",
        "correct one of these heads",
    )


def find_cycle(heads: Sequence[int]) -> list[int]:
    """The words of a cycle, each followed by its head; empty if there is none."""
    done = [False] * (len(heads) + 1)
    done[0] = True
    for word in range(1, len(heads) + 1):
        path, positions = [], {}
        while not done[word] and word not in positions:
            positions[word] = len(path)
            path.append(word)
            word = heads[word - 1]
        if word in positions:
            return path[positions[word] :]
        for visited in path:
            done[visited] = True
    return []


# --- for parsers ---------------------------------------------------------------------------------------------------


def heads(sentence: Sentence) -> list[int]:
    """The head of each word, 0 for the root."""
    numbers = [_number(row[HEAD]) for row in sentence.words]
    if -1 in numbers:
        raise FirthError("a sentence without heads", where=f"line {sentence.line}", do="give a file with trees")
    return numbers


def is_projective(heads: Sequence[int]) -> bool:
    """Whether the tree is projective (no cycle, no crossing arcs): every subtree is a contiguous span."""
    size = len(heads)
    first, last, count = list(range(size + 1)), list(range(size + 1)), [1] * (size + 1)
    waits = [0] * (size + 1)  # children not done yet
    for head in heads:
        waits[head] += 1
    ready = [word for word in range(1, size + 1) if not waits[word]]
    for word in ready:  # the list grows: a word follows its whole subtree, and words of a cycle never come
        if last[word] - first[word] + 1 != count[word]:
            return False
        head_word = heads[word - 1]
        first[head_word], last[head_word] = min(first[head_word], first[word]), max(last[head_word], last[word])
        count[head_word] += count[word]
        waits[head_word] -= 1
        if head_word and not waits[head_word]:
            ready.append(head_word)
    return len(ready) == size


def comment(sentence: Sentence, key: str) -> str | None:
    """The value of a comment such as `# sent_id = 7`."""
    for line in sentence.comments:
        name, equals, value = line[1:].partition("=")
        if equals and name.strip() == key:
            return value.strip()
    return None


def text(sentence: Sentence) -> str:
    """The raw text of a sentence: its comment `text`, or its tokens with blanks except where SpaceAfter=No."""
    value = comment(sentence, "text")
    return value if value is not None else "".join(_surface_tokens(sentence)).rstrip(" ")


def _surface_tokens(sentence: Sentence) -> Iterator[str]:
    covered = word = 0
    for row in sentence.rows:
        match = RANGE.fullmatch(row[ID])
        if not match and "." in row[ID]:
            continue
        word += not match
        if match:
            covered = int(match[2])
        elif word <= covered:
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
