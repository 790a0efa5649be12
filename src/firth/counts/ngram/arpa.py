"""ARPA files, the format that other programs read and write n-gram models in: log10, one n-gram a line.

Written as KenLM reads it: exact headers, tabs around the words, no weight for the highest order. Read more freely:
packed files, blanks instead of tabs, n-grams whose contexts or endings were pruned away.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from firth.counts.ngram import kernels
from firth.counts.ngram.arpa_lines import END, START, UNKNOWN, Reader, Section
from firth.counts.ngram.counting import Marks
from firth.counts.ngram.model import Model, Parts, packed
from firth.counts.ngram.trie import grown
from firth.data.packed import replacing
from firth.errors import FirthError

NEVER = -99.0  # log10 of zero, by custom
_MISSING = -100.0  # what KenLM gives unknown words where a file does not
_LN10 = math.log(10.0)
_TOKEN = (1 << 32) - 1
_LINES = 1 << 16  # written at once
_BLANKS = re.compile(r"[\x00\t\n\v\f\r ]")


class Arpa(NamedTuple):
    """A model and the names of its tokens, by id."""

    model: Model
    names: list[str]


# --- writing --------------------------------------------------------------------------------------------------------


def write_arpa(model: Model, names: Sequence[str], path: str | Path) -> None:
    """Write the model; `names` has a word for each id. Tokens that can never come are left out."""
    shown = _shown(names, model.marks)
    if len(shown) != model.size:
        raise FirthError(f"{len(shown)} names for {model.size} tokens", do="give the names of the model's vocabulary")
    parts = model.parts()
    with replacing(Path(path)) as file:
        singles = _singles(parts, model.marks, shown)
        sizes = [len(singles), *model.sizes[1:]]
        head = [f"ngram {order}={size}" for order, size in enumerate(sizes, 1)]
        file.write("\n".join(["\\data\\", *head, "", "\\1-grams:", *singles, ""]).encode())
        for order in range(2, model.order + 1):
            file.write(f"\n\\{order}-grams:\n".encode())
            level = parts.trie.level(order)
            for low in range(level.start, level.stop, _LINES):
                file.writelines(_rows(parts, model.marks, shown, order, low, min(low + _LINES, level.stop)))
        file.write(b"\n\\end\\\n")


def _shown(names: Sequence[str], marks: Marks) -> list[str]:
    """Names without blanks, all different; the marks have those of the format."""
    shown = [_BLANKS.sub(_picture, name) or "▁" for name in names]
    taken = {START, END, UNKNOWN}
    for place, name in enumerate(shown):
        while name in taken:
            name = f"\\{name}"
        shown[place] = name
        taken.add(name)
    roles = {marks.unknown: UNKNOWN, marks.end: END, marks.start: START}  # one token may be start and end
    for token, name in roles.items():
        if 0 <= token < len(shown):
            shown[token] = name
    return shown


def _picture(blank: re.Match) -> str:
    """A sign to be seen: ▁ for a space, as SentencePiece has it, else Unicode's picture of the control character."""
    return "▁" if blank[0] == " " else chr(0x2400 + ord(blank[0]))


def _singles(parts: Parts, marks: Marks, shown: list[str]) -> list[str]:
    """The lines of order 1: the marks first, then all tokens that can come."""
    rows, size, order = [], len(shown), parts.trie.order
    logs = _tens(parts.logprobs[:size])
    backoffs = _tens(parts.backoffs[:size]) if order > 1 else [0.0] * size
    for token in dict.fromkeys((marks.unknown, marks.start, marks.end, *range(size))):
        if token < 0 or (logs[token] == NEVER and token not in marks):
            continue
        if token == marks.start and marks.start == marks.end:  # one token here, two there
            rows += [f"{NEVER:g}\t{START}\t{backoffs[token]:.9g}", f"{logs[token]:.9g}\t{END}\t0"]
        else:
            rows.append(f"{logs[token]:.9g}\t{shown[token]}\t{backoffs[token]:.9g}")
    return rows if order > 1 else [row.rpartition("\t")[0] for row in rows]


def _rows(parts: Parts, marks: Marks, shown: list[str], order: int, low: int, high: int) -> Iterator[bytes]:
    tokens, logs = parts.trie.tokens(order, low, high), _tens(parts.logprobs[low:high])
    last = [shown[token] for token in tokens[:, -1].tolist()]
    if marks.start == marks.end:
        last = [END if name == START else name for name in last]
    columns = [[shown[token] for token in column] for column in tokens[:, :-1].T.tolist()]
    words = map(" ".join, zip(*columns, last, strict=True))
    if order == parts.trie.order:
        return (f"{log:.9g}\t{text}\n".encode() for log, text in zip(logs, words, strict=True))
    backoffs = _tens(parts.backoffs[low:high])
    return (f"{log:.9g}\t{text}\t{b:.9g}\n".encode() for log, text, b in zip(logs, words, backoffs, strict=True))


def _tens(logs: np.ndarray) -> list[float]:
    """Logarithms to base ten; those of zero as the format has them."""
    found = logs.astype(np.float64) / _LN10
    return np.where(np.isneginf(found), NEVER, found).tolist()


# --- reading --------------------------------------------------------------------------------------------------------


def read_arpa(path: str | Path, places: Sequence[str | None] = ()) -> Arpa:
    """The model of a file, plain or packed, with the words in its order; one line says what is wrong with a bad one.

    `places` are words that have the first ids instead, in this order; None keeps an id free, and it never comes."""
    reader, index = Reader(path), {}
    sizes = reader.sizes()
    sections = [reader.section(1, sizes[0], index, last=len(sizes) == 1)]
    names = list(index)
    sections[0] = _with_unknown(sections[0], names, index)
    marks = _marks(index, path)
    for order, size in enumerate(sizes[1:], 2):
        sections.append(reader.section(order, size, index, last=order == len(sizes)))
    reader.expect("\\end\\")
    if places:
        sections, names, marks = _placed(sections, names, marks, places)
    return Arpa(_model(sections, marks, reader), names)


def _placed(
    sections: list[Section], names: list[str], marks: Marks, places: Sequence[str | None]
) -> tuple[list[Section], list[str], Marks]:
    """The same with other ids; a free id has no name."""
    taken = {name for name in places if name is not None}
    ordered = [*places, *(name for name in names if name not in taken)]
    index = {name: number for number, name in enumerate(ordered)}
    ids = np.array([index[name] for name in names], np.int32)
    first = Section(
        sections[0].line,
        np.arange(len(ordered), dtype=np.int32)[:, None],
        np.full(len(ordered), NEVER),
        np.zeros(len(ordered)),
    )
    first.logs[ids], first.backoffs[ids] = sections[0].logs, sections[0].backoffs
    moved = [section._replace(tokens=ids[section.tokens]) for section in sections[1:]]
    return [first, *moved], [name or "" for name in ordered], Marks(*ids[list(marks)].tolist())


def _with_unknown(section: Section, names: list[str], index: dict[str, int]) -> Section:
    """The 1-grams with one for unknown words, where the file has none."""
    if UNKNOWN in index:
        return section
    index[UNKNOWN] = len(names)
    names.append(UNKNOWN)
    tokens = np.concatenate([section.tokens, [[index[UNKNOWN]]]]).astype(np.int32)
    return Section(section.line, tokens, np.append(section.logs, _MISSING), np.append(section.backoffs, 0.0))


def _marks(index: dict[str, int], path: str | Path) -> Marks:
    for name in (START, END):
        if name not in index:
            raise FirthError(f"no {name} among the 1-grams", where=path, do="make the model of marked sentences")
    return Marks(index[START], index[END], index[UNKNOWN])


# --- from lines to a trie -------------------------------------------------------------------------------------------


def _model(sections: list[Section], marks: Marks, reader: Reader) -> Model:
    """The model; contexts that the file lacks are added, with what backing off gives them."""
    while len(sections) > 1 and not len(sections[-1].logs):
        sections.pop()
    keys, orders = _sorted(sections, reader)
    sizes = [len(key) for key in keys]
    words = np.concatenate([keys[0], *(key & _TOKEN for key in keys[1:])]).astype(np.int32)
    inner = [np.bincount(key >> 32, minlength=size) for key, size in zip(keys[1:], sizes[:-1], strict=True)]
    trie = grown(sizes, words, np.concatenate([np.zeros(0, np.int64), *inner]))
    logs = np.concatenate([section.logs[order] for section, order in zip(sections, orders, strict=True)])
    weights = [section.backoffs[order] for section, order in zip(sections[:-1], orders[:-1], strict=True)]
    logs, weights = _natural(logs), _natural(np.concatenate([np.zeros(0), *weights]))
    logs[marks.start] = -np.inf  # programs write what they like there: it is never predicted
    for order in range(1, trie.order):
        level = trie.level(order)
        kernels.fill(trie.words, trie.first, trie.links, logs, weights, level.start, level.stop)
    return packed(Parts(trie, logs, weights), marks)


def _natural(logs: np.ndarray) -> np.ndarray:
    return np.where(logs == NEVER, -np.inf, logs * _LN10).astype(np.float32)


def _sorted(sections: list[Section], reader: Reader) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """For each order the n-grams as context << 32 | token, sorted, and which line each was; contexts are numbers in
    the order below. Where one is missing, it is put into its section, and the sorting goes on from there."""
    keys, orders = [np.arange(len(sections[0].logs))], [np.arange(len(sections[0].logs))]
    while len(keys) < len(sections):
        section = sections[len(keys)]
        contexts, known = _contexts(section.tokens, keys)
        if known < section.tokens.shape[1] - 1:
            wanted = np.unique(section.tokens[contexts < 0, : known + 1], axis=0)
            sections[known] = _extended(sections[known], wanted)
            del keys[known:], orders[known:]
            continue
        key = contexts << 32 | section.tokens[:, -1]
        order = np.argsort(key, kind="stable")
        keys.append(key[order])
        orders.append(order)
        twice = np.flatnonzero(np.diff(keys[-1]) == 0)
        if len(twice):
            raise reader.wrong("this n-gram stands there twice", section.line + int(order[twice[0] + 1]))
    return keys, orders


def _contexts(tokens: np.ndarray, keys: list[np.ndarray]) -> tuple[np.ndarray, int]:
    """The number of each n-gram's context, and the order up to which all were found; −1: not found."""
    found = tokens[:, 0].astype(np.int64)
    for depth in range(1, tokens.shape[1] - 1):
        key, sought = keys[depth], found << 32 | tokens[:, depth]
        found = np.searchsorted(key, sought)
        there = found < len(key)
        there[there] = key[found[there]] == sought[there]
        if not there.all():
            return np.where(there, found, -1), depth
    return found, tokens.shape[1] - 1


def _extended(section: Section, tokens: np.ndarray) -> Section:
    """The section with n-grams whose probability is to be filled in, and whose weight is one."""
    unknown, one = np.full(len(tokens), np.nan), np.zeros(len(tokens))
    both = np.concatenate([section.tokens, tokens])
    return Section(section.line, both, np.append(section.logs, unknown), np.append(section.backoffs, one))
