"""Segment pairs: every token once between [CLS] and [SEP]; for next sentence prediction half of the pairs continue."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.config.schema import SegmentPairs
from firth.datasets.collators.batches import make_batches
from firth.datasets.token_cache import Split, Tally
from firth.errors import FirthError
from firth.tokenizers.special_tokens import SpecialTokens
from firth.types import Cursor

SPECIAL = SpecialTokens(pad=0, unknown=1, start=2, end=3, mask=4, cls=5, sep=6)


def split_of(documents):
    ids = np.array([token for document in documents for token in [*document, 3]], np.uint16)
    starts = np.cumsum([0, *(len(document) + 1 for document in documents)])
    return Split("train", "key", ids, starts, Tally(len(documents), len(ids), 0, ()))


corpora = st.lists(st.lists(st.integers(7, 50), min_size=1, max_size=25), min_size=2, max_size=15).map(split_of)


def examples(batch):
    """The examples of a batch as (ids, segments, positions, weights, is_next, next_weight)."""
    text, target = batch.streams["text"], batch.targets["text"]
    documents = text.mask.astype(int) if text.document is None else text.document
    segment = np.zeros_like(documents) if text.segment is None else text.segment
    is_next = batch.targets.get("next")
    for row in range(len(documents)):
        for document in range(1, documents[row].max() + 1):
            here = documents[row] == document
            parts = [text.ids, segment, target.positions, target.weight]
            parts += [is_next.values, is_next.weight] if is_next else [documents, documents]
            yield [part[row][here] for part in parts]


@settings(max_examples=40, deadline=None)
@given(split=corpora, length=st.integers(8, 20))
def test_every_token_occurs_once_between_cls_and_sep(split, length):
    counts = np.zeros(len(split.ids), int)
    for batch in make_batches(SegmentPairs(batch_size=3, length=length), split, SPECIAL, 1).evaluation_batches():
        assert batch.streams["text"].ids.shape[1] <= length
        for ids, segment, positions, weights, _, _ in examples(batch):
            assert (ids[0], ids[-1]) == (SPECIAL.cls, SPECIAL.sep)
            assert weights.tolist() == [0.0, *[1.0] * (len(ids) - 2), 0.0]
            assert (split.ids[positions[1:-1]] == ids[1:-1]).all()
            assert (np.diff(positions[1:-1]) == 1).all()
            assert not segment.any()
            np.add.at(counts, positions[1:-1], 1)
    assert (counts[split.ids != SPECIAL.end] == 1).all()
    assert not counts[split.ids == SPECIAL.end].any()


@settings(max_examples=40, deadline=None)
@given(split=corpora.filter(lambda split: (np.diff(split.starts) > 2).sum() > 1), epoch=st.integers(0, 3))
def test_a_pair_is_two_segments_each_with_its_sep(split, epoch):
    made = make_batches(SegmentPairs(batch_size=3, length=16, pairs="next-sentence"), split, SPECIAL, 1)
    for index in range(made.count(epoch)):
        for ids, segment, positions, weights, is_next, next_weight in examples(made.batch(Cursor(epoch, index))):
            ends = np.flatnonzero(ids == SPECIAL.sep)
            assert len(ends) == 2 and ends[1] == len(ids) - 1 and ids[0] == SPECIAL.cls
            assert segment.tolist() == [0] * (ends[0] + 1) + [1] * (len(ids) - ends[0] - 1)
            assert next_weight.tolist() == [1.0] + [0.0] * (len(ids) - 1)  # at [CLS] alone
            text = np.isin(ids, [SPECIAL.cls, SPECIAL.sep], invert=True)
            assert (weights == text).all()
            assert (split.ids[positions[text]] == ids[text]).all()
            second = positions[ends[0] + 1 : -1]
            if len(second) and is_next[0]:
                assert second[0] == positions[ends[0] - 1] + 1


def test_half_of_the_pairs_are_next_and_the_others_from_another_document():
    split = split_of([list(range(7, 7 + 20))] * 300)
    made = make_batches(SegmentPairs(batch_size=16, length=24, pairs="next-sentence"), split, SPECIAL, 1)
    next_labels, other_document = [], []
    for index in range(made.count(0)):
        for ids, _, positions, _, is_next, _ in examples(made.batch(Cursor(0, index))):
            cut = int(np.flatnonzero(ids == SPECIAL.sep)[0])
            next_labels.append(int(is_next[0]))
            if not is_next[0]:
                other_document.append(positions[1] // 21 != positions[cut + 1] // 21)
    assert len(next_labels) == 300
    assert np.mean(next_labels) == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(300))
    assert all(other_document)


def test_pairs_are_cut_differently_each_epoch_and_the_same_at_the_same_cursor():
    split = split_of([list(range(7, 27))] * 30)
    made = make_batches(SegmentPairs(batch_size=8, length=24, pairs="next-sentence"), split, SPECIAL, 1)
    one, again, later = ([p[0].tolist() for p in examples(made.batch(Cursor(epoch, 0)))] for epoch in (0, 0, 1))
    assert one == again
    assert one != later


def test_segments_are_packed_with_document_ids():
    split = split_of([[7] * 5, [8] * 5, [9] * 5, [10] * 5])
    (batch,) = make_batches(SegmentPairs(batch_size=4, length=14), split, SPECIAL, 1).evaluation_batches()
    text = batch.streams["text"]
    assert text.document is not None
    assert text.ids.shape == (2, 14)
    assert all(len(set(ids[1:-1])) == 1 for ids, *_ in examples(batch))


def test_neither_the_first_nor_the_last_token_gives_the_next_sentence_away():
    """Documents go from 7 to 26: a second segment begins within one and ends with it, true or not."""
    split = split_of([list(range(7, 27))] * 60 + [[8]])
    made = make_batches(SegmentPairs(batch_size=16, length=24, pairs="next-sentence"), split, SPECIAL, 1)
    kinds = set()
    for index in range(made.count(0)):
        for ids, _, _, _, is_next, _ in examples(made.batch(Cursor(0, index))):
            second = ids[np.flatnonzero(ids == SPECIAL.sep)[0] + 1 : -1]
            kinds.add((second[0] == 7, second[-1] == 26, bool(is_next[0])))
    assert kinds == {(False, True, True), (False, True, False)}


def test_pairs_of_one_document_are_refused_before_the_first_batch():
    with pytest.raises(FirthError, match="at least two documents"):
        make_batches(SegmentPairs(length=12, pairs="next-sentence"), split_of([list(range(7, 47))]), SPECIAL, 1)
