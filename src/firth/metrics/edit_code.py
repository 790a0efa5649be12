"""A code for what a tokenizer loses: the original text as an edit script of the text that its tokens decode to.

Before each character of the decoded text, and at its end, stands one operation after the other: INSERT a character, any
number of times, then KEEP the decoded one, change its CASE or DELETE it; at the end, KEEP ends the text. An operation's
context is the kind of the decoded character (white space, first letter of a sentence, of a word, …), whether the letter
before changed its case, and whether the operation before was INSERT. Its probability is add-one smoothed from all
operations coded so far in the same context (Laplace's rule of succession), so the length of the whole code depends only
on how often each operation occurs in each context. The bytes of inserted characters follow the byte model of the
training text. A decoder that has the tokens knows every context before it reads the operation: the code can be decoded,
and its length is an upper bound of the information that is lost. The script is found greedily, so it may be longer than
the shortest one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import log
from typing import NamedTuple

import numpy as np

from firth.metrics.perplexity import adaptive_nll

KEEP, CASE, DELETE, INSERT = OPERATIONS = range(4)
SPACE, OTHER, SENTENCE_START, WORD_START, AFTER_CASE, IN_WORD, END = KINDS = range(7)
CONTEXTS = 2 * len(KINDS)  # the second half: after an insertion
SHAPE = (CONTEXTS, len(OPERATIONS))
REPLACED_NLL = log(4) + 4 * log(256)  # of U+FFFD: a length of one to four, and so many bytes of the file
_STEP = 32  # equal characters passed at once
_REACH = 8  # characters deleted and inserted to reach the next match
_MATCH = 2  # characters that make a match
_STOPS, _NEUTRAL = frozenset(".!?…。！？\n"), frozenset("\"'“”‘’«»()[]")


class Edit(NamedTuple):
    """At a place of the decoded text: CASE or DELETE its character, or INSERT text before it."""

    place: int
    operation: int
    text: str = ""


class EditCounts(NamedTuple):
    """How often each operation occurs in each context, and each byte in inserted text."""

    operations: np.ndarray  # SHAPE
    inserted: np.ndarray  # (256,)


def operations_nll(operations: Sequence[int]) -> float:
    """The length in nats of all operations, from their counts by context."""
    return sum(map(adaptive_nll, np.reshape(operations, SHAPE).tolist()))


def other_case(character: str) -> str:
    """The upper case of a character, or of an upper-case one the lower case."""
    return upper if (upper := character.upper()) != character else character.lower()


def edits(decoded: str, original: str) -> list[Edit]:
    """A script that makes the original text of the decoded one, in order of place."""
    script, at, place = [], 0, 0  # in the decoded text and in the original
    while at < len(decoded) and place < len(original):
        if decoded[at : at + _STEP] == original[place : place + _STEP] and len(original) - place >= _STEP:
            at, place = at + _STEP, place + _STEP
            continue
        if decoded[at] != original[place]:
            if other_case(decoded[at]) != original[place]:
                skipped, added = _next_match(decoded, original, at, place)
                script += _replace(at, skipped, original[place : place + added])
                at, place = at + skipped, place + added
                continue
            script.append(Edit(at, CASE))
        at, place = at + 1, place + 1
    return [*script, *_replace(at, len(decoded) - at, original[place:])]


def _replace(at: int, skipped: int, text: str) -> Iterator[Edit]:
    if text:
        yield Edit(at, INSERT, text)
    yield from (Edit(each, DELETE) for each in range(at, at + skipped))


def _next_match(decoded: str, original: str, at: int, place: int) -> tuple[int, int]:
    """How many characters to delete and to insert until the texts agree again; one each if that is far."""
    for total in range(1, _REACH):
        for skipped in range(total + 1):
            first = decoded[at + skipped : at + skipped + _MATCH]
            second = original[place + total - skipped : place + total - skipped + _MATCH]
            if first and first.lower() == second.lower():
                return skipped, total - skipped
    return 1, 1


def apply(decoded: str, script: Iterable[Edit]) -> str:
    """The original text: the inverse of `edits`."""
    pieces, at = [], 0
    for place, operation, text in script:
        pieces.append(decoded[at:place])
        at = place
        if operation == INSERT:
            pieces.append(text)
        else:
            pieces.append(other_case(decoded[at]) if operation == CASE else "")
            at += 1
    return "".join([*pieces, decoded[at:]])


def count(decoded: str, script: Sequence[Edit]) -> EditCounts:
    """The operations of a script by context, those that keep a character too."""
    operations = np.full(len(decoded) + 1, KEEP, np.int64)
    insertions = np.zeros(len(decoded) + 1, np.int64)  # before each place
    for place, operation, text in script:
        if operation == INSERT:
            insertions[place] += len(text)
        else:
            operations[place] = operation
    kinds = character_kinds(decoded)
    kinds[1:][(kinds[1:] == IN_WORD) & (operations[:-1] == CASE)] = AFTER_CASE
    inserts = insertions > 0
    counts = np.bincount((kinds + len(KINDS) * inserts) * len(OPERATIONS) + operations, minlength=np.prod(SHAPE))
    counts = counts.reshape(SHAPE)
    counts[: len(KINDS), INSERT] += np.bincount(kinds[inserts], minlength=len(KINDS))
    more = np.bincount(kinds[inserts], insertions[inserts] - 1, len(KINDS)).astype(np.int64)
    counts[len(KINDS) :, INSERT] += more
    inserted = "".join(edit.text for edit in script).encode()
    return EditCounts(counts, np.bincount(np.frombuffer(inserted, np.uint8), minlength=256))


def character_kinds(text: str) -> np.ndarray:
    """The kind of each character and of the end (characters + 1,); a letter after a changed one is not told apart."""
    points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    distinct, inverse = np.unique(points, return_inverse=True)
    classes = np.array([_class(chr(point)) for point in distinct], np.uint8)[inverse]
    is_cased, is_word, is_stop, is_skipped = ((classes & bit) > 0 for bit in (1, 2, 4, 8))
    before = np.concatenate([[False], is_word[:-1]]) if len(points) else np.zeros(0, bool)
    marks = np.concatenate([[-1], np.where(is_skipped, -1, np.arange(len(points)))[:-1]])[: len(points)]
    last = np.maximum.accumulate(marks)  # the last character before that is neither white space nor a quote
    starts = (last < 0) | is_stop[last]
    first = np.where(starts, SENTENCE_START, WORD_START)
    kinds = np.where(is_cased, np.where(before, IN_WORD, first), np.where((classes & 16) > 0, SPACE, OTHER))
    return np.append(kinds, END).astype(np.int64)


def _class(character: str) -> int:
    """Bits: has another case (1), belongs to a word (2), ends a sentence (4), is passed over (8), is blank (16)."""
    is_stop, is_space = character in _STOPS, character.isspace()
    is_passed = not is_stop and (is_space or character in _NEUTRAL)
    is_cased = other_case(character) != character
    return is_cased + 2 * character.isalnum() + 4 * is_stop + 8 * is_passed + 16 * is_space
