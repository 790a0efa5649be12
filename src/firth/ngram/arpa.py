"""ARPA files, the exchange format of KenLM and SRILM for n-gram models: log10 probabilities, one n-gram per line.

Written as KenLM reads it: exact headers, tabs around the words, no backoff weight for the highest order. Read more
freely: compressed files, blanks instead of tabs, n-grams whose prefixes or suffixes were pruned away.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from firth.datasets.compression import open_atomic
from firth.errors import FirthError
from firth.ngram import trie_kernels
from firth.ngram.arpa_sections import END, START, UNKNOWN, Reader, Section
from firth.ngram.counts import SpecialIds
from firth.ngram.ngram_model import Model, UnpackedModel, pack
from firth.ngram.trie import build_trie

LOG10_ZERO = -99.0  # by convention
_MISSING_UNKNOWN = -100.0  # KenLM's log10 probability of <unk> where the file has none
_LN10 = math.log(10.0)
_TOKEN_MASK = (1 << 32) - 1
_LINES_PER_BLOCK = 1 << 16
_BLANKS = re.compile(r"[\x00\t\n\v\f\r ]")


class Arpa(NamedTuple):
    """A model and its vocabulary: the word of each id."""

    model: Model
    vocabulary: list[str]


# --- writing --------------------------------------------------------------------------------------------------------


def write_arpa(model: Model, vocabulary: Sequence[str], path: str | Path) -> None:
    """Write the model; `vocabulary` has a word for each id. Tokens of probability zero are left out."""
    words = _escape(vocabulary, model.special_ids)
    if len(words) != model.size:
        raise FirthError(f"{len(words)} words for {model.size} tokens", do="give the model's whole vocabulary")
    unpacked = model.unpack()
    with open_atomic(Path(path)) as file:
        unigrams = _unigram_lines(unpacked, model.special_ids, words)
        sizes = [len(unigrams), *model.sizes[1:]]
        head = [f"ngram {order}={size}" for order, size in enumerate(sizes, 1)]
        file.write("\n".join(["\\data\\", *head, "", "\\1-grams:", *unigrams, ""]).encode())
        for order in range(2, model.order + 1):
            file.write(f"\n\\{order}-grams:\n".encode())
            level = unpacked.trie.level(order)
            for low in range(level.start, level.stop, _LINES_PER_BLOCK):
                high = min(low + _LINES_PER_BLOCK, level.stop)
                file.writelines(_ngram_lines(unpacked, model.special_ids, words, order, low, high))
        file.write(b"\n\\end\\\n")


def _escape(vocabulary: Sequence[str], special_ids: SpecialIds) -> list[str]:
    """Escape words so that they have no whitespace and are distinct; special tokens get the names of the format."""
    words = [_BLANKS.sub(_control_picture, name) or "▁" for name in vocabulary]
    taken = {START, END, UNKNOWN}
    for index, name in enumerate(words):
        while name in taken:
            name = f"\\{name}"
        words[index] = name
        taken.add(name)
    # One token may be both start and end.
    roles = {special_ids.unknown: UNKNOWN, special_ids.end: END, special_ids.start: START}
    for token, name in roles.items():
        if 0 <= token < len(words):
            words[token] = name
    return words


def _control_picture(blank: re.Match) -> str:
    """Return a visible symbol: ▁ for a space, as in SentencePiece, else Unicode's picture of the control character."""
    return "▁" if blank[0] == " " else chr(0x2400 + ord(blank[0]))


def _unigram_lines(unpacked: UnpackedModel, special_ids: SpecialIds, words: list[str]) -> list[str]:
    """Format the unigram lines: special tokens first, then all tokens of nonzero probability."""
    lines, size, order = [], len(words), unpacked.trie.order
    logs = _to_log10(unpacked.logprobs[:size])
    backoffs = _to_log10(unpacked.backoffs[:size]) if order > 1 else [0.0] * size
    for token in dict.fromkeys((special_ids.unknown, special_ids.start, special_ids.end, *range(size))):
        if token < 0 or (logs[token] == LOG10_ZERO and token not in special_ids):
            continue
        if token == special_ids.start and special_ids.start == special_ids.end:  # two tokens in the file
            lines += [f"{LOG10_ZERO:g}\t{START}\t{backoffs[token]:.9g}", f"{logs[token]:.9g}\t{END}\t0"]
        else:
            lines.append(f"{logs[token]:.9g}\t{words[token]}\t{backoffs[token]:.9g}")
    return lines if order > 1 else [line.rpartition("\t")[0] for line in lines]


def _ngram_lines(
    unpacked: UnpackedModel, special_ids: SpecialIds, words: list[str], order: int, low: int, high: int
) -> Iterator[bytes]:
    """Format the lines of n-grams low..high of one order."""
    tokens, logs = unpacked.trie.tokens(order, low, high), _to_log10(unpacked.logprobs[low:high])
    last = [words[token] for token in tokens[:, -1].tolist()]
    if special_ids.start == special_ids.end:
        last = [END if name == START else name for name in last]
    columns = [[words[token] for token in column] for column in tokens[:, :-1].T.tolist()]
    ngrams = map(" ".join, zip(*columns, last, strict=True))
    if order == unpacked.trie.order:
        return (f"{log:.9g}\t{text}\n".encode() for log, text in zip(logs, ngrams, strict=True))
    backoffs = _to_log10(unpacked.backoffs[low:high])
    return (f"{log:.9g}\t{text}\t{b:.9g}\n".encode() for log, text, b in zip(logs, ngrams, backoffs, strict=True))


def _to_log10(logs: np.ndarray) -> list[float]:
    """Convert natural logarithms to base ten; log 0 is written as −99."""
    log10 = logs.astype(np.float64) / _LN10
    return np.where(np.isneginf(log10), LOG10_ZERO, log10).tolist()


# --- reading --------------------------------------------------------------------------------------------------------


def read_arpa(
    path: str | Path,
    reserved: Sequence[str | None] = (),
    say: Callable[[str], None] = lambda _: None,
    *,
    possible_unknown: bool = False,
) -> Arpa:
    """Read a model, plain or compressed, with word ids in file order; an error names the line of a malformed file.

    `reserved` words get the first ids instead, in this order; None leaves an id unused, with probability zero. `say`
    gets notes, and every two seconds how much is read. With `possible_unknown` an unknown word of log probability −99
    has just that, as in KenLM, instead of probability zero."""
    reader, index = Reader(path, say), {}
    sizes = reader.read_counts()
    sections = [reader.read_section(1, sizes[0], index, last=len(sizes) == 1)]
    vocabulary = list(index)
    sections[0] = _add_unknown(sections[0], vocabulary, index)
    special_ids = _find_special_ids(index, path)
    for order, size in enumerate(sizes[1:], 2):
        sections.append(reader.read_section(order, size, index, last=order == len(sizes)))
    reader.expect("\\end\\")
    if reserved:
        sections, vocabulary, special_ids = _reassign_ids(sections, vocabulary, special_ids, reserved)
    if possible_unknown and sections[0].logs[special_ids.unknown] == LOG10_ZERO:
        say(f"{UNKNOWN} has log probability {LOG10_ZERO:g}: unknown words have that, as in KenLM, not probability 0")
        sections[0].logs[special_ids.unknown] = np.nextafter(LOG10_ZERO, 0.0)
    return Arpa(_build_model(sections, special_ids, reader), vocabulary)


def _reassign_ids(
    sections: list[Section], vocabulary: list[str], special_ids: SpecialIds, reserved: Sequence[str | None]
) -> tuple[list[Section], list[str], SpecialIds]:
    """Reassign ids: reserved words first; an unused id has an empty word."""
    taken = {name for name in reserved if name is not None}
    ordered = [*reserved, *(name for name in vocabulary if name not in taken)]
    index = {name: number for number, name in enumerate(ordered)}
    ids = np.array([index[name] for name in vocabulary], np.int32)
    unigrams = Section(
        sections[0].line,
        np.arange(len(ordered), dtype=np.int32)[:, None],
        np.full(len(ordered), LOG10_ZERO),
        np.zeros(len(ordered)),
    )
    unigrams.logs[ids], unigrams.backoffs[ids] = sections[0].logs, sections[0].backoffs
    higher_orders = [section._replace(tokens=ids[section.tokens]) for section in sections[1:]]
    return [unigrams, *higher_orders], [name or "" for name in ordered], SpecialIds(*ids[list(special_ids)].tolist())


def _add_unknown(section: Section, vocabulary: list[str], index: dict[str, int]) -> Section:
    """Add a unigram for unknown words if the file has none."""
    if UNKNOWN in index:
        return section
    index[UNKNOWN] = len(vocabulary)
    vocabulary.append(UNKNOWN)
    tokens = np.concatenate([section.tokens, [[index[UNKNOWN]]]]).astype(np.int32)
    return Section(section.line, tokens, np.append(section.logs, _MISSING_UNKNOWN), np.append(section.backoffs, 0.0))


def _find_special_ids(index: dict[str, int], path: str | Path) -> SpecialIds:
    for name in (START, END):
        if name not in index:
            raise FirthError(f"no {name} among the 1-grams", where=path, do="estimate the model with <s> and </s>")
    return SpecialIds(index[START], index[END], index[UNKNOWN])


# --- from lines to a trie -------------------------------------------------------------------------------------------


def _build_model(sections: list[Section], special_ids: SpecialIds, reader: Reader) -> Model:
    """Build the model; prefixes that the file lacks are added with the probability that backing off gives."""
    while len(sections) > 1 and not len(sections[-1].logs):
        sections.pop()
    keys, orders = _sort_ngrams(sections, reader)
    sizes = [len(key) for key in keys]
    words = np.concatenate([keys[0], *(key & _TOKEN_MASK for key in keys[1:])]).astype(np.int32)
    children = [np.bincount(key >> 32, minlength=size) for key, size in zip(keys[1:], sizes[:-1], strict=True)]
    trie = build_trie(sizes, words, np.concatenate([np.zeros(0, np.int64), *children]))
    logs = np.concatenate([section.logs[order] for section, order in zip(sections, orders, strict=True)])
    backoffs = [section.backoffs[order] for section, order in zip(sections[:-1], orders[:-1], strict=True)]
    logs, backoffs = _from_log10(logs), _from_log10(np.concatenate([np.zeros(0), *backoffs]))
    logs[special_ids.start] = -np.inf  # programs write any value here: <s> is never predicted
    for order in range(1, trie.order):
        level = trie.level(order)
        trie_kernels.fill_missing_logprobs(trie.words, trie.first, trie.links, logs, backoffs, level.start, level.stop)
    return pack(UnpackedModel(trie, logs, backoffs), special_ids)


def _from_log10(logs: np.ndarray) -> np.ndarray:
    return np.where(logs == LOG10_ZERO, -np.inf, logs * _LN10).astype(np.float32)


def _sort_ngrams(sections: list[Section], reader: Reader) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Sort the n-grams of each order by key, context << 32 | token, and return the keys with the sorting permutations;
    contexts are indices into the order below. A missing context is added to its section, and sorting resumes there."""
    keys, orders = [np.arange(len(sections[0].logs))], [np.arange(len(sections[0].logs))]
    while len(keys) < len(sections):
        section = sections[len(keys)]
        contexts, known = _find_contexts(section.tokens, keys)
        if known < section.tokens.shape[1] - 1:
            missing = np.unique(section.tokens[contexts < 0, : known + 1], axis=0)
            sections[known] = _add_missing(sections[known], missing)
            del keys[known:], orders[known:]
            continue
        key = contexts << 32 | section.tokens[:, -1]
        order = np.argsort(key, kind="stable")
        keys.append(key[order])
        orders.append(order)
        duplicates = np.flatnonzero(np.diff(keys[-1]) == 0)
        if len(duplicates):
            raise reader.error("this n-gram occurs twice", section.line + int(order[duplicates[0] + 1]))
    return keys, orders


def _find_contexts(tokens: np.ndarray, keys: list[np.ndarray]) -> tuple[np.ndarray, int]:
    """Return the index of each n-gram's context (−1: missing) and the order up to which all prefixes are known."""
    contexts = tokens[:, 0].astype(np.int64)
    for depth in range(1, tokens.shape[1] - 1):
        key, wanted = keys[depth], contexts << 32 | tokens[:, depth]
        contexts = np.searchsorted(key, wanted)
        is_known = contexts < len(key)
        is_known[is_known] = key[contexts[is_known]] == wanted[is_known]
        if not is_known.all():
            return np.where(is_known, contexts, -1), depth
    return contexts, tokens.shape[1] - 1


def _add_missing(section: Section, tokens: np.ndarray) -> Section:
    """Add n-grams whose probability is to be filled in (NaN) and whose backoff weight is one."""
    missing, one = np.full(len(tokens), np.nan), np.zeros(len(tokens))
    all_tokens = np.concatenate([section.tokens, tokens])
    return Section(section.line, all_tokens, np.append(section.logs, missing), np.append(section.backoffs, one))
