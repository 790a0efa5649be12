"""Units and passages of held-out text."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.config import schema
from firth.ladder import shared_data
from firth.ladder.passages import Passage, extract_passages, worst_passages
from firth.ladder.shared_data import HeldOutUnits, unit_boundaries
from firth.tokenizers.tokenizer import Tokenizer

LENGTHS = st.lists(st.integers(1, 400), min_size=1, max_size=60)


def starts_of(lengths):
    return np.concatenate([[0], np.cumsum(lengths)])


@given(LENGTHS)
def test_units_cover_the_text_and_cross_no_document(lengths):
    starts = starts_of(lengths)
    boundaries = unit_boundaries(starts)
    assert boundaries[0] == 0 and boundaries[-1] == starts[-1] and (np.diff(boundaries) > 0).all()
    if len(lengths) >= shared_data.MIN_DOCUMENTS:
        assert (boundaries == starts).all()
    else:
        assert set(starts) <= set(boundaries) and np.diff(boundaries).max() <= 75


def test_very_many_documents_are_resampled_in_groups():
    starts = starts_of([3] * 12_345)
    boundaries = unit_boundaries(starts)
    assert len(boundaries) == 5001 and set(boundaries) <= set(starts) and set(np.diff(boundaries)) == {6, 9}


@given(LENGTHS, st.integers(0, 2**32))
def test_nothing_is_lost_in_units(lengths, seed):
    starts, rng = starts_of(lengths), np.random.default_rng(seed)
    boundaries, surprisals = unit_boundaries(starts), rng.random(starts[-1]).astype(np.float32)
    sizes = shared_data._bytes_between(boundaries, starts, rng.integers(1, 900, len(lengths)))
    units = HeldOutUnits(boundaries, sizes, lost_nats=7.0)
    assert (sizes > 0).all() and units.sum_by_unit(surprisals).sum() == pytest.approx(
        surprisals.sum(dtype=np.float64) + 7.0
    )


def test_where_units_are_documents_their_bytes_are_the_documents():
    starts, lengths = starts_of(range(1, 31)), np.arange(100, 130)
    assert shared_data._bytes_between(unit_boundaries(starts), starts, lengths) == pytest.approx(lengths)


TEXTS = [
    "Short one. This sentence is surely long enough to count.\nAnd here is another line with words, too!",
    "日本語の文章はここで終わります。そして次の文も十分に長いです。",
    "No end at all but many words in a single line of text",
]


@pytest.mark.parametrize("model, size", [("char", 200), ("byte", 300), ("byte-bpe", 300), ("word", 300)])
def test_passages_are_sentences_with_their_tokens(model, size):
    tokenizer = Tokenizer.train(schema.Tokenizer(model=model, vocabulary_size=size), TEXTS)
    token_ids = tokenizer.encode_batch(TEXTS)
    starts = starts_of([len(ids) + 1 for ids in token_ids])
    stream = [i for ids in token_ids for i in (*ids, -1)]
    extracted = list(extract_passages(TEXTS, tokenizer, starts))
    assert [p.text for p in extracted] == [
        "This sentence is surely long enough to count.",
        "And here is another line with words, too!",
        "日本語の文章はここで終わります。",
        "そして次の文も十分に長いです。",
        TEXTS[2],
    ]
    for passage in extracted:
        ids = stream[passage.start : passage.start + len(passage.tokens)]
        assert -1 not in ids
        assert "".join(tokenizer.decode(ids).split()) == "".join(passage.text.split())
        if model == "char":
            assert "".join(passage.tokens) == passage.text


def test_the_worst_passages_are_distinct_and_sorted():
    candidates = [
        Passage(text, start, ("x",) * 2) for start, text in ((0, "a" * 30), (2, "b" * 30), (4, "a" * 30), (6, "c" * 60))
    ]
    surprisals = np.array([1, 1, 3, 3, 2, 2, 5, 5], np.float32)
    worst = worst_passages(candidates, surprisals)
    assert [s.bits for s in worst] == pytest.approx([6 / np.log(2) / 30, 10 / np.log(2) / 60, 4 / np.log(2) / 30])
    assert [s.token_bits for s in worst] == [(4.33, 4.33), (7.21, 7.21), (2.89, 2.89)]
