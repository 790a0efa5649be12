"""Framed pieces: every token once between [CLS] and [SEP]; pairs of segments, half of which go on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.config.schema import Framed
from firth.data.batching import batches
from firth.data.cache import Split, Tally
from firth.errors import FirthError
from firth.text.special import Special
from firth.types import Cursor

SPECIAL = Special(pad=0, unknown=1, start=2, end=3, mask=4, cls=5, sep=6)


def split_of(documents):
    ids = np.array([token for document in documents for token in [*document, 3]], np.uint16)
    starts = np.cumsum([0, *(len(document) + 1 for document in documents)])
    return Split("train", "key", ids, starts, Tally(len(documents), len(ids), 0, ()))


corpora = st.lists(st.lists(st.integers(7, 50), min_size=1, max_size=25), min_size=2, max_size=15).map(split_of)


def pieces(batch):
    """The pieces of a batch as (ids, segments, places, told, next, asked)."""
    text, target = batch.streams["text"], batch.targets["text"]
    marks = text.mask.astype(int) if text.document is None else text.document
    segment = np.zeros_like(marks) if text.segment is None else text.segment
    follows = batch.targets.get("next")
    for row in range(len(marks)):
        for mark in range(1, marks[row].max() + 1):
            here = marks[row] == mark
            parts = [text.ids, segment, target.place, target.weight]
            parts += [follows.values, follows.weight] if follows else [marks, marks]
            yield [part[row][here] for part in parts]


@settings(max_examples=40, deadline=None)
@given(split=corpora, length=st.integers(8, 20))
def test_every_token_stands_once_between_cls_and_sep(split, length):
    found = np.zeros(len(split.ids), int)
    for batch in batches(Framed(rows=3, length=length), split, SPECIAL, 1).once():
        assert batch.streams["text"].ids.shape[1] <= length
        for ids, segment, places, told, _, _ in pieces(batch):
            assert (ids[0], ids[-1]) == (SPECIAL.cls, SPECIAL.sep)
            assert told.tolist() == [0.0, *[1.0] * (len(ids) - 2), 0.0]
            assert (split.ids[places[1:-1]] == ids[1:-1]).all()
            assert (np.diff(places[1:-1]) == 1).all()
            assert not segment.any()
            np.add.at(found, places[1:-1], 1)
    assert (found[split.ids != SPECIAL.end] == 1).all()
    assert not found[split.ids == SPECIAL.end].any()


@settings(max_examples=40, deadline=None)
@given(split=corpora.filter(lambda split: (np.diff(split.starts) > 2).sum() > 1), epoch=st.integers(0, 3))
def test_a_pair_is_two_segments_each_with_its_sep(split, epoch):
    made = batches(Framed(rows=3, length=16, pairs="next"), split, SPECIAL, 1)
    for index in range(made.count(epoch)):
        for ids, segment, places, told, goes_on, asked in pieces(made.batch(Cursor(epoch, index))):
            ends = np.flatnonzero(ids == SPECIAL.sep)
            assert len(ends) == 2 and ends[1] == len(ids) - 1 and ids[0] == SPECIAL.cls
            assert segment.tolist() == [0] * (ends[0] + 1) + [1] * (len(ids) - ends[0] - 1)
            assert asked.tolist() == [1.0] + [0.0] * (len(ids) - 1)  # at [CLS] alone
            text = np.isin(ids, [SPECIAL.cls, SPECIAL.sep], invert=True)
            assert (told == text).all()
            assert (split.ids[places[text]] == ids[text]).all()
            second = places[ends[0] + 1 : -1]
            if len(second) and goes_on[0]:
                assert second[0] == places[ends[0] - 1] + 1


def test_half_of_the_pairs_go_on_and_the_others_come_from_elsewhere():
    split = split_of([list(range(7, 7 + 20))] * 300)
    made = batches(Framed(rows=16, length=24, pairs="next"), split, SPECIAL, 1)
    follows, elsewhere = [], []
    for index in range(made.count(0)):
        for ids, _, places, _, goes_on, _ in pieces(made.batch(Cursor(0, index))):
            cut = int(np.flatnonzero(ids == SPECIAL.sep)[0])
            follows.append(int(goes_on[0]))
            if not goes_on[0]:
                elsewhere.append(places[1] // 21 != places[cut + 1] // 21)
    assert len(follows) == 300
    assert np.mean(follows) == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(300))
    assert all(elsewhere)


def test_pairs_are_cut_elsewhere_each_epoch_and_the_same_at_the_same_place():
    split = split_of([list(range(7, 27))] * 30)
    made = batches(Framed(rows=8, length=24, pairs="next"), split, SPECIAL, 1)
    one, again, later = ([p[0].tolist() for p in pieces(made.batch(Cursor(epoch, 0)))] for epoch in (0, 0, 1))
    assert one == again
    assert one != later


def test_a_piece_is_packed_beside_others_and_marks_tell_them_apart():
    split = split_of([[7] * 5, [8] * 5, [9] * 5, [10] * 5])
    (batch,) = batches(Framed(rows=4, length=14), split, SPECIAL, 1).once()
    text = batch.streams["text"]
    assert text.document is not None
    assert text.ids.shape == (2, 14)
    assert all(len(set(ids[1:-1])) == 1 for ids, *_ in pieces(batch))


def test_neither_the_first_nor_the_last_token_gives_away_what_goes_on():
    """Documents go from 7 to 26: a second segment begins within one and ends with it, true or not."""
    split = split_of([list(range(7, 27))] * 60 + [[8]])
    made = batches(Framed(rows=16, length=24, pairs="next"), split, SPECIAL, 1)
    kinds = set()
    for index in range(made.count(0)):
        for ids, _, _, _, goes_on, _ in pieces(made.batch(Cursor(0, index))):
            second = ids[np.flatnonzero(ids == SPECIAL.sep)[0] + 1 : -1]
            kinds.add((second[0] == 7, second[-1] == 26, bool(goes_on[0])))
    assert kinds == {(False, True, True), (False, True, False)}


def test_pairs_of_one_document_are_refused():
    with pytest.raises(FirthError, match="at least two documents"):
        batches(Framed(length=12, pairs="next"), split_of([list(range(7, 47))]), SPECIAL, 1).count(0)
