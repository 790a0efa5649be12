"""Batches: every token is predicted once from inputs before it; pure functions of the cursor."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.config.schema import Bucketed, Contiguous, Packed, Windows
from firth.datasets.collators.batches import evaluation_batching, make_batches, next_cursor, prefetch_batches
from firth.datasets.token_cache import Split, Tally
from firth.tokenizers.special_tokens import SpecialTokens
from firth.types import Cursor

SPECIAL = SpecialTokens(pad=0, unknown=1, start=2, end=3, mask=4, cls=5, sep=6)
KINDS = [Contiguous(batch_size=3, length=4), Bucketed(tokens_per_batch=24, length=6), Packed(batch_size=2, length=8)]
WINDOWS = [
    Windows(batch_size=2, length=6),
    Windows(batch_size=3, length=6, stride=2),
    Windows(batch_size=2, length=5, stride=5),
]


def split_of(documents):
    ids = np.array([token for document in documents for token in [*document, 3]], np.uint16)
    starts = np.cumsum([0, *(len(document) + 1 for document in documents)])
    return Split("train", "key", ids, starts, Tally(len(documents), len(ids), 0, ()))


corpora = st.lists(st.lists(st.integers(7, 50), max_size=12), min_size=2, max_size=20).map(split_of)


def predicted(batch):
    target = batch.targets["text"]
    return target.values[target.weight > 0].tolist()


@pytest.mark.parametrize("kind", [*KINDS, *WINDOWS, evaluation_batching(WINDOWS[0])])
@settings(max_examples=40, deadline=None)
@given(split=corpora)
def test_an_evaluation_predicts_every_token_once_and_knows_its_position(kind, split):
    counts = np.zeros(len(split.ids), int)
    for batch in make_batches(kind, split, SPECIAL, 1).evaluation_batches():
        target = batch.targets["text"]
        predicted = target.weight > 0
        np.add.at(counts, target.positions[predicted], 1)
        assert (split.ids[target.positions[predicted]] == target.values[predicted]).all()
    assert (counts == 1).all()


@settings(max_examples=40, deadline=None)
@given(split=corpora, length=st.integers(2, 9), stride=st.integers(1, 9))
def test_sliding_windows_give_each_token_the_configured_left_context(split, length, stride):
    for batch in make_batches(
        Windows(batch_size=2, length=length, stride=stride), split, SPECIAL, 1
    ).evaluation_batches():
        target = batch.targets["text"]
        for weight, positions in zip(target.weight, target.positions, strict=True):
            before = np.flatnonzero(weight)[0]  # inputs of the row before the first one that counts
            assert positions[0] == 0 or before >= length - stride


@settings(max_examples=40, deadline=None)
@given(split=corpora, epoch=st.integers(0, 3))
def test_windows_of_an_epoch_do_not_overlap(split, epoch):
    made = make_batches(Windows(batch_size=2, length=4), split, SPECIAL, 1)
    positions = [made.batch(Cursor(epoch, index)).targets["text"].positions for index in range(made.count(epoch))]
    all_positions = np.concatenate([part.ravel() for part in positions])
    assert len(set(all_positions.tolist())) == len(all_positions) >= len(split.ids) // 2


@pytest.mark.parametrize("kind", KINDS[1:])
@settings(max_examples=40, deadline=None)
@given(split=corpora, epoch=st.integers(0, 3))
def test_an_epoch_of_whole_documents_has_every_token_once(kind, split, epoch):
    made = make_batches(kind, split, SPECIAL, 1)
    tokens = [t for index in range(made.count(epoch)) for t in predicted(made.batch(Cursor(epoch, index)))]
    assert sorted(tokens) == sorted(split.ids.tolist())


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(split=corpora)
def test_start_is_never_a_target_and_end_never_an_input(kind, split):
    made = make_batches(kind, split, SPECIAL, 1)
    for batch in [*made.evaluation_batches(), made.batch(Cursor(0, 0))]:
        text, target = batch.streams["text"], batch.targets["text"]
        assert not (text.ids[text.mask] == SPECIAL.end).any()
        assert not (target.values[target.weight > 0] == SPECIAL.start).any()
        assert (target.weight > 0).tolist() == text.mask.tolist()
        padding_is_last = np.diff(text.mask.astype(int), axis=1) <= 0
        assert padding_is_last.all()


@settings(max_examples=40, deadline=None)
@given(split=corpora)
def test_a_contiguous_row_continues_the_row_of_the_batch_before(split):
    made = make_batches(KINDS[0], split, SPECIAL, 1)
    for index in range(1, made.count(0)):
        before, after = made.batch(Cursor(0, index - 1)), made.batch(Cursor(0, index))
        last = before.targets["text"].values[:, -1]
        assert after.streams["text"].ids[:, 0].tolist() == np.where(last == 3, 2, last).tolist()
        assert not after.reset_state


def test_the_state_is_reset_every_so_many_batches_and_the_text_goes_on():
    split = split_of([list(range(7, 47))] * 10)
    configs = [Contiguous(batch_size=2, length=5, reset_every=every) for every in (0, 3)]
    once, often = (make_batches(config, split, SPECIAL, 1) for config in configs)
    epochs = [[made.batch(Cursor(1, index)) for index in range(made.count(1))] for made in (once, often)]
    assert [batch.reset_state for batch in epochs[0]] == [True] + [False] * 40
    assert [index for index, batch in enumerate(epochs[1]) if batch.reset_state] == list(range(0, 41, 3))
    for one, other in zip(*epochs, strict=True):
        assert one.streams["text"].ids.tolist() == other.streams["text"].ids.tolist()
    evaluation = list(make_batches(configs[1], split, SPECIAL, 1).evaluation_batches())
    assert [batch.reset_state for batch in evaluation] == [True] + [False] * (len(evaluation) - 1)


def test_inputs_are_the_shifted_targets():
    split = split_of([[10, 11, 12], [20, 21]])
    (batch,) = make_batches(Packed(batch_size=1, length=7), split, SPECIAL, 1).evaluation_batches()
    assert batch.streams["text"].ids.tolist() == [[2, 10, 11, 12, 2, 20, 21]]
    assert batch.targets["text"].values.tolist() == [[10, 11, 12, 3, 20, 21, 3]]
    assert batch.streams["text"].document.tolist() == [[1, 1, 1, 1, 2, 2, 2]]


def test_a_long_document_is_cut_into_chunks():
    split = split_of([[10, 11, 12, 13, 14], [20]])
    rows = {
        tuple(row)
        for batch in make_batches(Bucketed(tokens_per_batch=100, length=4), split, SPECIAL, 1).evaluation_batches()
        for row in batch.streams["text"].ids.tolist()
    }
    assert rows == {(2, 10, 11, 12), (13, 14, 0, 0), (2, 20, 0, 0)}


@settings(max_examples=40, deadline=None)
@given(split=corpora, tokens=st.integers(6, 60))
def test_buckets_stay_within_their_budget(split, tokens):
    made = make_batches(Bucketed(tokens_per_batch=tokens, length=6), split, SPECIAL, 1)
    assert all(made.batch(Cursor(0, i)).streams["text"].ids.size <= tokens for i in range(made.count(0)))


def test_similar_lengths_share_a_bucket():
    random = np.random.default_rng(0)
    split = split_of([[9] * int(n) for n in random.integers(1, 60, 400)])
    made = list(make_batches(Bucketed(tokens_per_batch=600, length=64), split, SPECIAL, 1).evaluation_batches())
    padding = 1 - sum(b.token_count for b in made) / sum(b.streams["text"].ids.size for b in made)
    assert padding < 0.06


def test_packing_wastes_little():
    random = np.random.default_rng(0)
    split = split_of([[9] * int(n) for n in random.integers(1, 60, 400)])
    made = make_batches(Packed(batch_size=4, length=128), split, SPECIAL, 1)
    rows = sum(made.batch(Cursor(0, i)).size for i in range(made.count(0)))
    assert len(split.ids) / (rows * 128) > 0.95


@pytest.mark.parametrize("kind", KINDS)
def test_prefetching_from_any_cursor_gives_the_same_batches(kind):
    split = split_of([[7 + i, 8 + i, 9 + i] * (i % 4) for i in range(30)])
    from_start, made = prefetch_batches(make_batches(kind, split, SPECIAL, 5), Cursor()), []
    for batch, _ in zip(from_start, range(25), strict=False):
        made.append(batch)
    again = prefetch_batches(make_batches(kind, split, SPECIAL, 5), made[11].cursor)
    for batch in made[11:]:
        other = next(again)
        assert other.cursor == batch.cursor
        assert other.streams["text"].ids.tolist() == batch.streams["text"].ids.tolist()
    assert made[-1].cursor.epoch > 0
    assert next_cursor(make_batches(kind, split, SPECIAL, 5), made[3].cursor) == made[4].cursor


@pytest.mark.parametrize("kind", KINDS)
def test_epochs_and_seeds_differ(kind):
    split = split_of([[7 + i, 8 + i, 9 + i] for i in range(30)])
    first = make_batches(kind, split, SPECIAL, 1)
    texts = {
        str(made.batch(Cursor(epoch, 0)).streams["text"].ids.tolist())
        for made in (first, make_batches(kind, split, SPECIAL, 2))
        for epoch in (0, 1)
    }
    assert len(texts) == 4


def test_a_tiny_text_still_makes_batches():
    made = make_batches(Contiguous(batch_size=20, length=35), split_of([[9], [9]]), SPECIAL, 1)
    assert made.count(0) == 1
    assert predicted(made.batch(Cursor(0, 0)))
