"""Phrases: the same pairs and the same sentences as gensim's, and laws of what is left."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from gensim.models.phrases import Phrases as Gensim
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from firth.config import schema
from firth.embeddings.phrases import Phrases, learn
from firth.embeddings.training_text import Corpus
from firth.embeddings.word2vec_kernels import END, NONE
from firth.errors import FirthError

NAMES = ["new", "york", "city", "the", "old", "times", "of", "river"]


def corpus(sentences, names=NAMES):
    """Tokens are numbered backwards and with gaps; None is a word without a row."""
    number = {name: 2 * (len(names) - at) + 2 for at, name in enumerate(names)} | {None: 1}
    tokens = [token for row in sentences for token in (*(number[word] for word in row), 0)]
    starts = np.concatenate([[0], np.cumsum([len(row) + 1 for row in sentences])]).astype(np.int64)
    row_of = np.full(max(number.values()) + 1, NONE, np.int32)
    row_of[[number[name] for name in names]] = np.arange(len(names))
    row_of[0] = END
    counted = Counter(word for row in sentences for word in row)
    counts = np.array([counted[name] for name in names], np.int64)
    return Corpus(np.array(tokens, np.uint16), starts, row_of, list(names), counts)


def sentences(text):
    """What a corpus says, None for words without a row."""
    rows = text.row_of[text.tokens]
    said = [[None if row == NONE else text.words[row] for row in rows[a : b - 1]]
            for a, b in zip(text.starts[:-1], text.starts[1:], strict=True)]  # fmt: skip
    assert all(rows[stop - 1] == END for stop in text.starts[1:]) and (rows == END).sum() == len(said)
    return said


def made(count=400, seed=1):
    random = np.random.default_rng(seed)
    bits = [["new", "york"], ["new", "york", "times"], ["the", "old", "city"], ["river"], ["of"], ["the"], ["new"]]
    return [[word for bit in random.integers(0, len(bits), 5) for word in bits[bit]] for _ in range(count)]


@given(
    st.lists(st.lists(st.sampled_from(NAMES[:4]), max_size=9), min_size=1, max_size=25),
    st.integers(1, 3),
    st.sampled_from([1e-9, 0.1, 0.5, 1.0, 3.0]),
)
@settings(deadline=None, max_examples=150)
def test_pairs_and_sentences_are_gensims(text, min_count, threshold):
    assume(any(text))
    gensim = Gensim(text, min_count=min_count, threshold=threshold)
    found = learn(corpus(text), schema.Phrases(passes=1, min_count=min_count, threshold=threshold))
    pairs = found.passes[0] if found.passes else ()
    assert {"_".join(pair) for pair in pairs} == set(gensim.export_phrases())
    assert sentences(found.apply(corpus(text))) == [list(gensim[row]) for row in text]


def test_two_passes_are_gensims():
    text = made()
    first = Gensim(text, min_count=5, threshold=0.03)
    once = [list(first[row]) for row in text]
    second = Gensim(once, min_count=5, threshold=0.03)
    found = learn(corpus(text), schema.Phrases(passes=2, min_count=5, threshold=0.03))
    assert sentences(found.apply(corpus(text))) == [list(second[row]) for row in once]
    assert "new_york_times" in found.words and len(found.passes) == 2


def test_rows_are_sorted_by_count_and_words_that_are_gone_have_none():
    text, config = made(), schema.Phrases(passes=2, threshold=0.03)
    found = learn(corpus(text), config)
    joined = found.apply(corpus(text))
    said = Counter(word for row in sentences(joined) for word in row)
    assert joined.counts.tolist() == [said[word] for word in joined.words] == sorted(said.values(), reverse=True)
    assert "york" not in joined.words and None not in said and joined.size == said.total()
    rare = sorted(said.values())[len(said) // 2]
    fewer = learn(corpus(text), config, min_count=rare)
    assert fewer.passes == found.passes and set(fewer.words) == {word for word in said if said[word] >= rare}
    kept = [[word if word in fewer.words else None for word in row] for row in sentences(joined)]
    assert sentences(fewer.apply(corpus(text))) == kept


def test_other_text_is_joined_with_the_same_rows():
    found = learn(corpus(made()), schema.Phrases(passes=2, threshold=0.03))
    other = [["new", "york", None, "york"], [], ["river", "new", "york", "times"], [None], ["new", None, "york"]]
    joined = found.apply(corpus(other))
    gone = None  # york stands only in phrases where they were learned
    expected = [["new_york", None, gone], [], ["river", "new_york_times"], [None], ["new", None, gone]]
    assert sentences(joined) == expected and tuple(joined.words) == found.words
    assert joined.counts.tolist() == [sum(row.count(word) for row in expected) for word in found.words]
    fewer = corpus([["york", "new", "york"]], names=["york", "new"])  # another vocabulary, in another order
    assert sentences(found.apply(fewer)) == [[gone, "new_york"]]


def test_nothing_is_joined_over_the_end_of_a_document_or_a_word_without_a_row():
    text = [["new"], ["york"]] * 50 + [["new", None, "york", "river"]] * 50
    found = learn(corpus(text), schema.Phrases(passes=1, min_count=1, threshold=0.0))
    assert found.passes == ((("york", "river"),),)


def test_a_phrase_may_be_spelled_like_a_word():
    names = ["new", "york", "new_york"]
    text = [["new", "york"], ["new_york"]] * 20
    found = learn(corpus(text, names), schema.Phrases(passes=1, min_count=1, threshold=0.0))
    assert found.words == ("new_york",)
    assert found.apply(corpus(text, names)).counts.tolist() == [40]


def test_no_passes_change_nothing_and_the_corpus_is_not_modified():
    text = corpus(made())
    before = text.tokens.copy(), text.starts.copy(), text.row_of.copy()
    found = learn(text, schema.Phrases(passes=0))
    assert found.passes == () and sentences(found.apply(text)) == made()
    learn(text, schema.Phrases(passes=2, threshold=0.03)).apply(text)
    assert all(map(np.array_equal, before, (text.tokens, text.starts, text.row_of)))


def test_files_instead_of_memory(tmp_path):
    text, config = corpus(made()), schema.Phrases(passes=2, threshold=0.03)
    found = learn(text, config, folder=tmp_path)
    first = found.apply(text, tmp_path)
    found.apply(corpus(made(50, seed=2)), tmp_path)  # does not disturb the first
    assert found == learn(text, config) and sentences(first) == sentences(found.apply(text))


def test_json_values_and_back():
    found = learn(corpus(made()), schema.Phrases(passes=2, threshold=0.03))
    values = json.loads(json.dumps(found.to_json()))
    assert ["new", "york"] in values[0]
    assert Phrases.from_json(values, list(found.words)) == found


@pytest.mark.parametrize("values", [None, {}, "ab", [["new", "york"]], [[["new"]]], [[["new", 1]]], [{}], [["ab"]]])
def test_values_that_are_no_phrases(values):
    with pytest.raises(FirthError, match=r"config.json: not phrases"):
        Phrases.from_json(values, ["new"], where="config.json")


def test_no_word_is_left():
    with pytest.raises(FirthError, match="no word occurs 9 times"):
        learn(corpus([["new", "york"]] * 3), schema.Phrases(passes=1), min_count=9)
