"""Masking: exactly the configured fraction, the 80/10/10 rule, never a special token; dynamic and static masks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.config import schema
from firth.datasets.collators.batches import corrupt_batches, make_batches
from firth.datasets.collators.corruption.masking import Masking, select_positions
from firth.datasets.token_cache import Split, Tally
from firth.errors import FirthError
from firth.tokenizers.tokenizer import Tokenizer
from firth.types import Cursor

WORDS = [f"w{n}" for n in range(60)]
TOKENIZER = Tokenizer.train(schema.Tokenizer(model="word", vocabulary_size=80), [" ".join(WORDS)])
SPECIAL = TOKENIZER.special


def split_of(sizes, seed=0):
    draw = np.random.default_rng(seed)
    ids = np.concatenate([[*draw.integers(7, TOKENIZER.vocab_size, size), SPECIAL.end] for size in sizes]).astype(
        np.uint16
    )
    starts = np.cumsum([0, *(size + 1 for size in sizes)])
    return Split("train", "key", ids, starts, Tally(len(sizes), len(ids), 0, ()))


def masked_batches(split, objective, seed=1, **batching):
    whole = make_batches(schema.SegmentPairs(**{"batch_size": 4, "length": 32, **batching}), split, SPECIAL, 1)
    return whole, corrupt_batches(whole, objective, TOKENIZER, seed)


sizes = st.lists(st.integers(1, 60), min_size=2, max_size=12)


@settings(max_examples=30, deadline=None)
@given(sizes=sizes, fraction=st.floats(0.05, 0.9), epoch=st.integers(0, 3))
def test_exactly_the_fraction_of_each_row_is_predicted_and_never_a_special_token(sizes, fraction, epoch):
    whole, masked = masked_batches(split_of(sizes), schema.MaskedLM(mask_probability=fraction))
    for index in range(masked.count(epoch)):
        before, after = whole.batch(Cursor(epoch, index)), masked.batch(Cursor(epoch, index))
        selected, candidates = after.targets["text"].weight > 0, before.targets["text"].weight > 0
        assert not (selected & ~candidates).any()
        assert not np.isin(before.targets["text"].values[selected], sorted(SPECIAL.ids)).any()
        assert (selected.sum(1) == np.maximum(1, np.rint(fraction * candidates.sum(1)))).all()
        same = after.streams["text"].ids == before.streams["text"].ids
        assert (same | selected).all()  # what is not predicted stays as it is
        assert (after.targets["text"].values == before.streams["text"].ids).all()


def test_80_10_10_of_the_selected_are_masked_random_and_unchanged():
    _, masked = masked_batches(split_of([30] * 400), schema.MaskedLM(), batch_size=16)
    kinds = np.zeros(3)
    replaced = []
    for index in range(masked.count(0)):
        batch = masked.batch(Cursor(0, index))
        selected = batch.targets["text"].weight > 0
        inputs, true = batch.streams["text"].ids[selected], batch.targets["text"].values[selected]
        random_tokens = (inputs != SPECIAL.mask) & (inputs != true)
        kinds += [(inputs == SPECIAL.mask).sum(), random_tokens.sum(), (inputs == true).sum()]
        replaced += inputs[random_tokens].tolist()
    fractions = kinds / kinds.sum()
    # of the tenth with a random token, one in the vocabulary's size is unchanged; four standard deviations
    error = 4 * np.sqrt(0.8 * 0.2 / kinds.sum())
    assert fractions == pytest.approx([0.8, 0.1, 0.1], abs=error)
    assert not set(replaced) & set(SPECIAL.ids)
    assert len(set(replaced)) > 40  # any token, not a few


def test_dynamic_masks_differ_each_epoch_and_are_the_same_at_the_same_cursor():
    _, masked = masked_batches(split_of([30] * 20), schema.MaskedLM())
    one, again, later = (masked.batch(Cursor(epoch, 0)).streams["text"].ids for epoch in (0, 0, 1))
    assert (one == again).all()
    assert one.shape != later.shape or (one != later).any()


def documents_of(batch, split):
    """The inputs of each document and the weights of its targets, by the position of its last token."""
    documents = {}
    text, target = batch.streams["text"], batch.targets["text"]
    document_ids = text.mask.astype(int) if text.document is None else text.document
    for row in range(len(document_ids)):
        for document_id in range(1, document_ids[row].max() + 1):
            here = document_ids[row] == document_id
            last = target.positions[row][here].max()
            documents[int(last)] = (text.ids[row][here].tolist(), target.weight[row][here].tolist())
    return documents


@settings(max_examples=15, deadline=None)
@given(sizes=st.lists(st.integers(2, 40), min_size=3, max_size=12))
def test_static_masks_repeat_after_their_number_of_epochs_and_belong_to_the_document(sizes):
    split = split_of(sizes)
    _, masked = masked_batches(split, schema.MaskedLM(masking="in-turn", static_masks=3, mask_probability=0.5))

    def epoch(number):
        documents = {}
        for index in range(masked.count(number)):
            documents |= documents_of(masked.batch(Cursor(number, index)), split)
        return documents

    epochs = [epoch(number) for number in range(6)]
    assert epochs[:3] == epochs[3:]
    for first in epochs[0]:
        inputs, weights = epochs[0][first]
        assert sum(weights) == max(1, round(0.5 * (len(inputs) - 2)))
    if sum(sizes) > 30:
        assert len({str(sorted(each.items())) for each in epochs[:3]}) > 1


def test_a_single_static_mask_never_changes():
    split = split_of([20] * 9)
    _, masked = masked_batches(split, schema.MaskedLM(masking="in-turn", static_masks=1))
    assert documents_of(masked.batch(Cursor(0, 0)), split) == documents_of(masked.batch(Cursor(0, 0)), split)
    documents = {}
    for number in (0, 1):
        for index in range(masked.count(number)):
            for first, document in documents_of(masked.batch(Cursor(number, index)), split).items():
                assert documents.setdefault(first, document) == document


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.booleans(), min_size=6, max_size=6), min_size=1, max_size=4), st.floats(0.01, 0.95))
def test_the_lowest_uniform_numbers_are_selected(candidates, fraction):
    candidates = np.array(candidates)
    uniform = np.random.default_rng(len(candidates)).random(candidates.shape)
    selected = select_positions(candidates, uniform, fraction)
    for row, numbers, allowed in zip(selected, uniform, candidates, strict=True):
        count = max(1, round(fraction * allowed.sum())) if allowed.any() else 0
        order = [position for position in np.argsort(numbers) if allowed[position]]
        assert set(np.flatnonzero(row)) == set(order[:count])


def test_the_evaluation_masks_the_same_tokens_each_time():
    _, masked = masked_batches(split_of([30] * 6), schema.MaskedLM())
    first, second = ([batch.streams["text"].ids.tolist() for batch in masked.evaluation_batches()] for _ in range(2))
    assert first == second


def test_without_random_or_unchanged_tokens_all_selected_are_masked():
    masking = Masking(schema.MaskedLM(mask_token_fraction=1.0, random_token_fraction=0.0), TOKENIZER)
    whole, _ = masked_batches(split_of([30] * 6), schema.MaskedLM())
    batch = masking(whole.batch(Cursor()), 1, Cursor())
    selected = batch.targets["text"].weight > 0
    assert ((batch.streams["text"].ids == SPECIAL.mask) == selected).all()


def test_fractions_of_more_than_one_are_refused():
    Masking(schema.MaskedLM(mask_token_fraction=0.7, random_token_fraction=0.3), TOKENIZER)
    with pytest.raises(FirthError, match=r"= 1\.4, more than 1"):
        Masking(schema.MaskedLM(mask_token_fraction=0.9, random_token_fraction=0.5), TOKENIZER)
