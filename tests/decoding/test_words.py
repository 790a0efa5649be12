"""Completion on a table a reader can check by hand, and against trying out every path."""

import itertools
from collections import defaultdict

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.decoding.words import complete
from firth.text.spelling import Spelling, Table, finished, in_word
from firth.types import State

START, END = 0, 1
PIECES = ["", "", "c", "a", "t", "ca", " ", " c"]  # of the tokens 0, 1, …
TABLE = Table(tuple(piece.encode() for piece in PIECES))
SPELLING = Spelling(TABLE, TABLE, False)


class Stepper:
    """The next token depends on the last one only."""

    size = len(PIECES)

    def __init__(self, rows):
        self.rows = torch.tensor(rows, dtype=torch.float64).log()

    def start(self, batch):
        return State({}, {"none": torch.zeros(len(batch.streams["text"].ids))})

    def step(self, last, state):
        assert len(last) == len(state.live["none"])
        return self.rows[last], state


def rows(**told):
    """Probabilities after each token by name; what is not told ends the text."""
    found = []
    for piece in ["start", "end", *PIECES[2:]]:
        chances = told.get(piece, {END: 1.0})
        found.append([chances.get(token, 0.0) for token in range(len(PIECES))])
    return found


def test_all_spellings_of_a_word_are_added_up():
    """`cat` is c·a·t or ca·t: .5 × .8 × .5 + .3 × 1 = .5; `c` and `ca` end where [END] follows."""
    table = rows(start={2: 0.5, 5: 0.3, 3: 0.2}, c={3: 0.8, END: 0.2}, a={4: 0.5, END: 0.5}, ca={4: 1.0})
    found = complete(Stepper(table), [START], "", 5, SPELLING, end=END)
    assert dict(found) == pytest.approx({"cat": 0.5, "ca": 0.2, "c": 0.1, "at": 0.1, "a": 0.1})
    given_c = complete(Stepper(table), [START], "c", 4, SPELLING, end=END)
    assert dict(given_c) == pytest.approx({"cat": 0.5 / 0.8, "ca": 0.2 / 0.8, "c": 0.1 / 0.8})
    assert [word for word, _ in given_c] == ["cat", "ca", "c"]


def test_the_space_before_a_word_belongs_to_it():
    table = rows(t={7: 0.6, 6: 0.4}, **{" ": {3: 1.0}, " c": {3: 1.0}})
    found = complete(Stepper(table), [START, 4], " ", 5, SPELLING, end=END)
    assert dict(found) == pytest.approx({"ca": 0.6, "a": 0.4})


def test_what_nothing_begins_with_is_told_by_nothing():
    assert complete(Stepper(rows(start={2: 1.0})), [START], "x", 5, SPELLING, end=END) == []


def brute(table, begun, longest):
    """Every path of tokens up to a length: the word it makes, if that is finished, or ended by [END]."""
    words, reaching = defaultdict(float), 0.0
    for count in range(1, longest + 1):
        for path in itertools.product(range(2, len(PIECES)), repeat=count):
            chance, text = 1.0, ""
            for a, b in itertools.pairwise([START, *path]):
                chance *= table[a][b]
            texts = ["".join(PIECES[token] for token in path[:n]) for n in range(count + 1)]
            text, before = texts[-1], texts[-2]
            if begun and text.startswith(begun) and not before.startswith(begun):
                reaching += chance
            if not text.startswith(begun):
                continue
            word = finished(begun, text)
            if word is not None and (finished(begun, before) is None or len(before) < len(begun)):
                words[word.lstrip()] += chance
            elif word is None and in_word(text):
                words[text.lstrip()] += chance * table[path[-1]][END]
    return {word: mass / (reaching if begun else 1.0) for word, mass in words.items()}


@settings(max_examples=8, deadline=None)
@given(
    st.lists(st.lists(st.floats(0.05, 1.0), min_size=8, max_size=8), min_size=8, max_size=8), st.sampled_from(["c", ""])
)
def test_nothing_is_counted_twice_and_little_is_lost(weights, begun):
    table = []
    for row in weights:
        row = [0.0, 4.0 + row[1], *row[2:]]  # most texts end soon, so that short paths hold nearly all
        table.append([weight / sum(row) for weight in row])
    wanted = brute(table, begun, 4)
    found = dict(complete(Stepper(table), [START], begun, 6, SPELLING, end=END))
    for word, chance in found.items():
        assert chance >= 0.9 * wanted.get(word, 0.0) - 1e-9
        assert chance <= wanted.get(word, 0.0) + 0.02
