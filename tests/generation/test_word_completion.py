"""Word completion on a table a reader can check by hand, and against brute force over token sequences."""

import itertools
from collections import defaultdict

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.generation.word_completion import complete_word
from firth.tokenizers.word_boundaries import TokenBytes, TokenSpelling, completed_word, ends_in_word
from firth.types import State

START, END = 0, 1
PIECES = ["", "", "c", "a", "t", "ca", " ", " c"]  # of the tokens 0, 1, …
TABLE = TokenBytes(tuple(piece.encode() for piece in PIECES))
SPELLING = TokenSpelling(TABLE, TABLE, False)


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


def rows(**after):
    """Probabilities after each token by name; by default the text ends."""
    table = []
    for piece in ["start", "end", *PIECES[2:]]:
        probabilities = after.get(piece, {END: 1.0})
        table.append([probabilities.get(token, 0.0) for token in range(len(PIECES))])
    return table


def test_all_segmentations_of_a_word_are_summed():
    """`cat` is c·a·t or ca·t: .5 × .8 × .5 + .3 × 1 = .5; `c` and `ca` end where [END] follows."""
    table = rows(start={2: 0.5, 5: 0.3, 3: 0.2}, c={3: 0.8, END: 0.2}, a={4: 0.5, END: 0.5}, ca={4: 1.0})
    completions = complete_word(Stepper(table), [START], "", 5, SPELLING, end=END)
    assert dict(completions) == pytest.approx({"cat": 0.5, "ca": 0.2, "c": 0.1, "at": 0.1, "a": 0.1})
    given_c = complete_word(Stepper(table), [START], "c", 4, SPELLING, end=END)
    assert dict(given_c) == pytest.approx({"cat": 0.5 / 0.8, "ca": 0.2 / 0.8, "c": 0.1 / 0.8})
    assert [word for word, _ in given_c] == ["cat", "ca", "c"]


def test_the_space_before_a_word_belongs_to_it():
    table = rows(t={7: 0.6, 6: 0.4}, **{" ": {3: 1.0}, " c": {3: 1.0}})
    completions = complete_word(Stepper(table), [START, 4], " ", 5, SPELLING, end=END)
    assert dict(completions) == pytest.approx({"ca": 0.6, "a": 0.4})


def test_no_completions_where_no_word_begins_so():
    assert complete_word(Stepper(rows(start={2: 1.0})), [START], "x", 5, SPELLING, end=END) == []


def brute_force(table, partial_word, max_tokens):
    """Every token sequence up to a length: the word it spells, if that is finished, or ended by [END]."""
    words, reaching = defaultdict(float), 0.0
    for count in range(1, max_tokens + 1):
        for path in itertools.product(range(2, len(PIECES)), repeat=count):
            probability, text = 1.0, ""
            for a, b in itertools.pairwise([START, *path]):
                probability *= table[a][b]
            texts = ["".join(PIECES[token] for token in path[:n]) for n in range(count + 1)]
            text, before = texts[-1], texts[-2]
            if partial_word and text.startswith(partial_word) and not before.startswith(partial_word):
                reaching += probability
            if not text.startswith(partial_word):
                continue
            word = completed_word(partial_word, text)
            if word is not None and (completed_word(partial_word, before) is None or len(before) < len(partial_word)):
                words[word.lstrip()] += probability
            elif word is None and ends_in_word(text):
                words[text.lstrip()] += probability * table[path[-1]][END]
    return {word: mass / (reaching if partial_word else 1.0) for word, mass in words.items()}


@settings(max_examples=8, deadline=None)
@given(
    st.lists(st.lists(st.floats(0.05, 1.0), min_size=8, max_size=8), min_size=8, max_size=8), st.sampled_from(["c", ""])
)
def test_nothing_is_counted_twice_and_little_is_lost(weights, partial_word):
    table = []
    for row in weights:
        row = [0.0, 4.0 + row[1], *row[2:]]  # most texts end soon, so that short paths hold nearly all
        table.append([weight / sum(row) for weight in row])
    expected = brute_force(table, partial_word, 4)
    completions = dict(complete_word(Stepper(table), [START], partial_word, 6, SPELLING, end=END))
    for word, probability in completions.items():
        assert probability >= 0.9 * expected.get(word, 0.0) - 1e-9
        assert probability <= expected.get(word, 0.0) + 0.02
