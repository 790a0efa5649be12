"""Units and passages of held-out text."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.climbing import ground
from firth.climbing.ground import Held, unit_edges
from firth.climbing.passages import Passage, passages, worst
from firth.config import schema
from firth.text.tokenizer import Tokenizer

LENGTHS = st.lists(st.integers(1, 400), min_size=1, max_size=60)


def starts_of(lengths):
    return np.concatenate([[0], np.cumsum(lengths)])


@given(LENGTHS)
def test_units_cover_the_text_and_cross_no_document(lengths):
    starts = starts_of(lengths)
    edges = unit_edges(starts)
    assert edges[0] == 0 and edges[-1] == starts[-1] and (np.diff(edges) > 0).all()
    if len(lengths) >= ground.FEW:
        assert (edges == starts).all()
    else:
        assert set(starts) <= set(edges) and np.diff(edges).max() <= 75


def test_very_many_documents_are_drawn_in_groups():
    starts = starts_of([3] * 12_345)
    edges = unit_edges(starts)
    assert len(edges) == 5001 and set(edges) <= set(starts) and set(np.diff(edges)) == {6, 9}


@given(LENGTHS, st.integers(0, 2**32))
def test_nothing_is_lost_in_units(lengths, seed):
    starts, draw = starts_of(lengths), np.random.default_rng(seed)
    edges, nats = unit_edges(starts), draw.random(starts[-1]).astype(np.float32)
    sizes = ground._bytes_between(edges, starts, draw.integers(1, 900, len(lengths)))
    held = Held(edges, sizes, extra=7.0)
    assert (sizes > 0).all() and held.totals(nats).sum() == pytest.approx(nats.sum(dtype=np.float64) + 7.0)


def test_where_units_are_documents_their_bytes_are_the_documents():
    starts, lengths = starts_of(range(1, 31)), np.arange(100, 130)
    assert ground._bytes_between(unit_edges(starts), starts, lengths) == pytest.approx(lengths)


TEXTS = [
    "Short one. This sentence is surely long enough to count.\nAnd here is another line with words, too!",
    "日本語の文章はここで終わります。そして次の文も十分に長いです。",
    "No end at all but many words in a single line of text",
]


@pytest.mark.parametrize("model, size", [("char", 200), ("byte", 300), ("byte-bpe", 300), ("word", 300)])
def test_passages_are_sentences_with_the_tokens_they_are_made_of(model, size):
    tokenizer = Tokenizer.train(schema.Tokenizer(model=model, size=size), TEXTS)
    rows = tokenizer.encode_batch(TEXTS)
    starts = starts_of([len(ids) + 1 for ids in rows])
    stream = [i for ids in rows for i in (*ids, -1)]
    found = list(passages(TEXTS, tokenizer, starts))
    assert [p.text for p in found] == [
        "This sentence is surely long enough to count.",
        "And here is another line with words, too!",
        "日本語の文章はここで終わります。",
        "そして次の文も十分に長いです。",
        TEXTS[2],
    ]
    for passage in found:
        ids = stream[passage.start : passage.start + len(passage.pieces)]
        assert -1 not in ids
        assert "".join(tokenizer.decode(ids).split()) == "".join(passage.text.split())
        if model == "char":
            assert "".join(passage.pieces) == passage.text


def test_the_worst_passages_come_first_and_none_twice():
    found = [
        Passage(text, start, ("x",) * 2) for start, text in ((0, "a" * 30), (2, "b" * 30), (4, "a" * 30), (6, "c" * 60))
    ]
    nats = np.array([1, 1, 3, 3, 2, 2, 5, 5], np.float32)
    shown = worst(found, nats)
    assert [s.bits for s in shown] == pytest.approx([6 / np.log(2) / 30, 10 / np.log(2) / 60, 4 / np.log(2) / 30])
    assert [s.each for s in shown] == [(4.33, 4.33), (7.21, 7.21), (2.89, 2.89)]
