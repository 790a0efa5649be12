"""The code of what a tokenizer loses: an arithmetic coder writes it, and a decoder reads the text back."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.metrics import edit_code
from firth.metrics.edit_code import CASE, DELETE, INSERT, KEEP, Edit, apply, edits
from firth.metrics.perplexity import ByteModel, adaptive_nll

BYTE_COUNTS = [3 if chr(byte).isascii() and chr(byte).isalpha() else 1 for byte in range(256)]
PAIRS = st.one_of(
    st.tuples(st.text(max_size=8), st.text(max_size=8)),
    st.text(alphabet=" \n.,'aAbBßİéÉ日", max_size=12).map(lambda text: (" ".join(text.lower().split()), text)),
)


class Contexts:
    """The contexts, one character after the other, as a decoder finds them."""

    def __init__(self, decoded: str) -> None:
        self.decoded, self.place, self.inserted, self.changed = decoded, 0, False, False

    def now(self) -> int:
        text, place = self.decoded, self.place
        kind = edit_code.OTHER
        if place == len(text):
            kind = edit_code.END
        elif edit_code.other_case(text[place]) != text[place]:
            before = [sign for sign in text[:place] if sign in ".!?…。！？\n" or not (
                sign.isspace() or sign in "\"'“”‘’«»()[]")]
            first = not before or before[-1] in ".!?…。！？\n"
            kind = edit_code.SENTENCE_START if first else edit_code.WORD_START
            if place and text[place - 1].isalnum():
                kind = edit_code.AFTER_CASE if self.changed else edit_code.IN_WORD
        elif text[place].isspace():
            kind = edit_code.SPACE
        return kind + 7 * self.inserted

    def go_on(self, operation: int) -> None:
        self.inserted = operation == INSERT
        if operation != INSERT:
            self.place, self.changed = self.place + 1, operation == CASE


class Interval:
    """Arithmetic coding in exact fractions: writes symbols by narrowing, or reads them from a number."""

    def __init__(self, code: Fraction | None = None) -> None:
        self.low, self.size, self.code = Fraction(0), Fraction(1), code
        self.seen = np.ones((edit_code.CONTEXTS, 4), int).tolist()

    def symbol(self, weights: list[int], wanted: int | None) -> int:
        total, below = sum(weights), 0
        for symbol, weight in enumerate(weights):
            end = self.low + self.size * Fraction(below + weight, total)
            if symbol == wanted or (wanted is None and self.code < end):
                self.low += self.size * Fraction(below, total)
                self.size *= Fraction(weight, total)
                return symbol
            below += weight
        raise AssertionError

    def operation(self, context: int, wanted: int | None = None) -> int:
        operation = self.symbol(self.seen[context], wanted)
        self.seen[context][operation] += 1
        return operation

    def character(self, wanted: str | None = None) -> str:
        known, weights = b"", [count + 1 for count in BYTE_COUNTS]
        while not known or not _is_whole(known):
            known += bytes([self.symbol(weights, None if wanted is None else wanted.encode()[len(known)])])
        return known.decode()


def _is_whole(known: bytes) -> bool:
    try:
        return bool(known.decode())
    except UnicodeDecodeError:
        return False


def write(decoded: str, original: str) -> Interval:
    """The interval of the script."""
    script, interval, contexts = edits(decoded, original), Interval(), Contexts(decoded)
    for place in range(len(decoded) + 1):
        here = [edit for edit in script if edit.place == place]
        for character in "".join(edit.text for edit in here):
            interval.operation(contexts.now(), INSERT)
            interval.character(character)
            contexts.go_on(INSERT)
        operation = next((edit.operation for edit in here if edit.operation != INSERT), KEEP)
        interval.operation(contexts.now(), operation)
        contexts.go_on(operation)
    return interval


def read(decoded: str, code: Fraction) -> str:
    """The original text, from the decoded one and a number."""
    interval, contexts, result = Interval(code), Contexts(decoded), ""
    while contexts.place <= len(decoded):
        place, operation = contexts.place, interval.operation(contexts.now())
        if operation == INSERT:
            result += interval.character()
        elif place < len(decoded) and operation != DELETE:
            result += edit_code.other_case(decoded[place]) if operation == CASE else decoded[place]
        contexts.go_on(operation)
    return result


@settings(max_examples=150, deadline=None)
@given(PAIRS)
def test_the_code_is_decoded_and_as_long_as_is_charged(pair):
    decoded, original = pair
    interval, counts = write(decoded, original), edit_code.count(decoded, edits(decoded, original))
    assert read(decoded, interval.low + interval.size / 2) == original
    length = edit_code.operations_nll(counts.operations.ravel()) + ByteModel(BYTE_COUNTS).nll(counts.inserted, 0)
    assert length == pytest.approx(math.log(interval.size.denominator) - math.log(interval.size.numerator), abs=1e-6)


@given(PAIRS)
def test_a_script_makes_the_original_text(pair):
    assert apply(pair[0], edits(*pair)) == pair[1]


@given(st.text(max_size=200), st.integers(0, 200), st.text(max_size=3), st.text(max_size=100))
def test_long_equal_parts_are_kept(before, at, change, after):
    text = before + after
    changed = text[:at] + change + text[at + 1 :]
    assert apply(text, edits(text, changed)) == changed


def test_scripts_by_hand():
    assert edits("the cat", "The cat") == [Edit(0, CASE)]
    assert edits("the cat", "the  cat\n") == [Edit(4, INSERT, " "), Edit(7, INSERT, "\n")]
    assert edits("cafe x", "café x") == [Edit(3, INSERT, "é"), Edit(3, DELETE)]
    assert edits("ab", "") == [Edit(0, DELETE), Edit(1, DELETE)] and edits("", "ab") == [Edit(0, INSERT, "ab")]


def test_laplace_by_hand():
    """a, a, b with add-one smoothing: 1/2 · 2/3 · 1/4."""
    assert adaptive_nll([2, 1]) == pytest.approx(-math.log(1 / 2 * 2 / 3 * 1 / 4))
    assert adaptive_nll([0, 0]) == 0.0


def test_regular_case_costs_little_and_chance_costs_a_bit():
    """Sentences that begin with a capital are learned; capitals at random in words are not."""

    def bits(decoded: str, original: str) -> float:
        counts = edit_code.count(decoded, edits(decoded, original))
        return edit_code.operations_nll(counts.operations.ravel()) / math.log(2)

    regular = "It rains here today. " * 500
    assert bits(regular.lower(), regular) < 200
    random = np.random.default_rng(0).integers(0, 2, 2000)
    chance = " ".join("A" if coin else "a" for coin in random)
    assert 1900 < bits(chance.lower(), chance) < 2100
