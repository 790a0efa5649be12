"""Hidden tokens: exactly the share, in BERT's proportions, never a special token; masks that take turns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.config import schema
from firth.data.batching import batches
from firth.data.cache import Split, Tally
from firth.data.corrupt import corrupted
from firth.data.corrupt.masking import Masking, chosen
from firth.errors import FirthError
from firth.text.tokenizer import Tokenizer
from firth.types import Cursor

WORDS = [f"w{n}" for n in range(60)]
TOKENIZER = Tokenizer.train(schema.Tokenizer(model="word", size=80), [" ".join(WORDS)])
SPECIAL = TOKENIZER.special


def split_of(sizes, seed=0):
    draw = np.random.default_rng(seed)
    ids = np.concatenate([[*draw.integers(7, TOKENIZER.size, size), SPECIAL.end] for size in sizes]).astype(np.uint16)
    starts = np.cumsum([0, *(size + 1 for size in sizes)])
    return Split("train", "key", ids, starts, Tally(len(sizes), len(ids), 0, ()))


def masked(split, objective, seed=1, **framing):
    whole = batches(schema.Framed(**{"rows": 4, "length": 32, **framing}), split, SPECIAL, 1)
    return whole, corrupted(whole, objective, TOKENIZER, seed)


sizes = st.lists(st.integers(1, 60), min_size=2, max_size=12)


@settings(max_examples=30, deadline=None)
@given(sizes=sizes, share=st.floats(0.05, 0.9), epoch=st.integers(0, 3))
def test_exactly_the_share_of_each_row_is_asked_and_never_a_special_token(sizes, share, epoch):
    whole, hidden = masked(split_of(sizes), schema.Masked(share=share))
    for index in range(hidden.count(epoch)):
        before, after = whole.batch(Cursor(epoch, index)), hidden.batch(Cursor(epoch, index))
        told, may = after.targets["text"].weight > 0, before.targets["text"].weight > 0
        assert not (told & ~may).any()
        assert not np.isin(before.targets["text"].values[told], sorted(SPECIAL.ids)).any()
        assert (told.sum(1) == np.maximum(1, np.rint(share * may.sum(1)))).all()
        same = after.streams["text"].ids == before.streams["text"].ids
        assert (same | told).all()  # what is not asked is shown as it is
        assert (after.targets["text"].values == before.streams["text"].ids).all()


def test_of_the_chosen_most_are_hidden_some_are_any_token_and_some_themselves():
    _, hidden = masked(split_of([30] * 400), schema.Masked(), rows=16)
    kinds = np.zeros(3)
    replaced = []
    for index in range(hidden.count(0)):
        batch = hidden.batch(Cursor(0, index))
        told = batch.targets["text"].weight > 0
        shown, true = batch.streams["text"].ids[told], batch.targets["text"].values[told]
        other = (shown != SPECIAL.mask) & (shown != true)
        kinds += [(shown == SPECIAL.mask).sum(), other.sum(), (shown == true).sum()]
        replaced += shown[other].tolist()
    share = kinds / kinds.sum()
    # of the tenth that show any token, one in the vocabulary's size shows itself; four standard deviations
    error = 4 * np.sqrt(0.8 * 0.2 / kinds.sum())
    assert share == pytest.approx([0.8, 0.1, 0.1], abs=error)
    assert not set(replaced) & set(SPECIAL.ids)
    assert len(set(replaced)) > 40  # any token, not a few


def test_masks_are_drawn_anew_each_time_and_are_the_same_at_the_same_place():
    _, hidden = masked(split_of([30] * 20), schema.Masked())
    one, again, later = (hidden.batch(Cursor(epoch, 0)).streams["text"].ids for epoch in (0, 0, 1))
    assert (one == again).all()
    assert one.shape != later.shape or (one != later).any()


def pieces_of(batch, split):
    """What is asked of each piece, and what it shows, by the place of its first token."""
    found = {}
    text, target = batch.streams["text"], batch.targets["text"]
    marks = text.mask.astype(int) if text.document is None else text.document
    for row in range(len(marks)):
        for mark in range(1, marks[row].max() + 1):
            here = marks[row] == mark
            first = target.place[row][here].max()
            found[int(first)] = (text.ids[row][here].tolist(), target.weight[row][here].tolist())
    return found


@settings(max_examples=15, deadline=None)
@given(sizes=st.lists(st.integers(2, 40), min_size=3, max_size=12))
def test_masks_in_turn_come_again_after_their_number_of_epochs_and_belong_to_the_piece(sizes):
    split = split_of(sizes)
    _, hidden = masked(split, schema.Masked(redraw="in-turn", masks=3, share=0.5))

    def epoch(number):
        found = {}
        for index in range(hidden.count(number)):
            found |= pieces_of(hidden.batch(Cursor(number, index)), split)
        return found

    turns = [epoch(number) for number in range(6)]
    assert turns[:3] == turns[3:]
    for first in turns[0]:
        shown, told = turns[0][first]
        assert sum(told) == max(1, round(0.5 * (len(shown) - 2)))
    if sum(sizes) > 30:
        assert len({str(sorted(turn.items())) for turn in turns[:3]}) > 1


def test_a_static_mask_of_one_turn_never_changes():
    split = split_of([20] * 9)
    _, hidden = masked(split, schema.Masked(redraw="in-turn", masks=1))
    assert pieces_of(hidden.batch(Cursor(0, 0)), split) == pieces_of(hidden.batch(Cursor(0, 0)), split)
    found = {}
    for number in (0, 1):
        for index in range(hidden.count(number)):
            for first, shown in pieces_of(hidden.batch(Cursor(number, index)), split).items():
                assert found.setdefault(first, shown) == shown


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.booleans(), min_size=6, max_size=6), min_size=1, max_size=4), st.floats(0.01, 0.95))
def test_the_lowest_draws_are_chosen(may, share):
    may = np.array(may)
    draws = np.random.default_rng(len(may)).random(may.shape)
    told = chosen(may, draws, share)
    for row, draw, allowed in zip(told, draws, may, strict=True):
        wanted = max(1, round(share * allowed.sum())) if allowed.any() else 0
        order = [place for place in np.argsort(draw) if allowed[place]]
        assert set(np.flatnonzero(row)) == set(order[:wanted])


def test_the_evaluation_hides_the_same_tokens_each_time():
    _, hidden = masked(split_of([30] * 6), schema.Masked())
    first, second = ([batch.streams["text"].ids.tolist() for batch in hidden.once()] for _ in range(2))
    assert first == second


def test_a_mask_without_random_or_shown_tokens_hides_all_that_are_asked():
    change = Masking(schema.Masked(hidden=1.0, random=0.0), TOKENIZER)
    whole, _ = masked(split_of([30] * 6), schema.Masked())
    batch = change(whole.batch(Cursor()), 1, Cursor())
    told = batch.targets["text"].weight > 0
    assert ((batch.streams["text"].ids == SPECIAL.mask) == told).all()


def test_more_than_all_chosen_tokens_cannot_be_hidden_or_replaced():
    Masking(schema.Masked(hidden=0.7, random=0.3), TOKENIZER)
    with pytest.raises(FirthError, match="more than all chosen tokens"):
        Masking(schema.Masked(hidden=0.9, random=0.5), TOKENIZER)
