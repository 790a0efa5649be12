"""Vocabularies against Counter, and compiled counting and encoding of plain text against str.split."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.corpus import text_scanner
from firth.corpus.text_scanner import count_words_in_lines, encode_lines
from firth.corpus.vocabulary import count_words
from firth.errors import FirthError

# Every kind of white space that str.split knows, characters whose bytes look like its, and words that share beginnings.
BLANKS = [chr(code) for code in range(0x3001) if chr(code).isspace() and chr(code) != "\n"]
CHARACTERS = st.sampled_from([*BLANKS, *"\n\n  abcé", "\u2070", "\u3001", "\u200b", "\xbf", "À", "\0", "\U0001f600"])
TEXTS = st.lists(CHARACTERS, max_size=60).map("".join)
WORDS = st.text("abc ", min_size=0, max_size=3)
DOCUMENTS = st.lists(st.lists(WORDS, max_size=8), max_size=8)


def expected(documents, min_count=1, max_words=None):
    counts = Counter(word for document in documents for word in document)
    return sorted(((-n, w) for w, n in counts.items() if n >= min_count))[:max_words]


def lines(text):
    return [words for line in text.split("\n") if (words := line.split())]


def same(vocabulary, pairs):
    assert vocabulary.words == tuple(word for _, word in pairs)
    assert vocabulary.counts.tolist() == [-count for count, _ in pairs]
    assert vocabulary.counts.dtype == np.int64


@given(DOCUMENTS, st.integers(1, 3), st.none() | st.integers(1, 4), st.integers(0, 5))
@settings(deadline=None, max_examples=60)
def test_words_are_those_of_a_counter_whatever_is_put_on_disk(documents, min_count, max_words, max_types):
    pairs = expected(documents, min_count, max_words)
    if not pairs:
        with pytest.raises(FirthError, match=r"no word"):
            count_words(documents, min_count=min_count, max_words=max_words, max_types=max_types)
        return
    same(count_words(iter(documents), min_count=min_count, max_words=max_words, max_types=max_types), pairs)


@given(TEXTS, st.integers(1, 5), st.integers(0, 3), st.data())
@settings(deadline=None, max_examples=150)
def test_compiled_reading_is_splitting(text, block, max_types, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    pieces = [text[low:high] for low, high in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    documents = lines(text)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(text_scanner, "_BLOCK", block)
        if not documents:
            with pytest.raises(FirthError, match="no words in the text"):
                count_words_in_lines(pieces)
            return
        vocabulary = count_words_in_lines(pieces, max_types=max_types)
        same(vocabulary, expected(documents))
        for drop in (False, True):
            few = count_words(documents, max_words=2)
            ids, starts = encode_lines(pieces, few, drop_unknown=drop)
            found, there = few.encode(documents, drop_unknown=drop)
            assert ids.tolist() == found.tolist()
            assert starts.tolist() == there.tolist()


@given(DOCUMENTS.filter(lambda documents: any(documents)), st.booleans())
@settings(deadline=None, max_examples=60)
def test_encoding_gives_every_place_its_word(documents, drop):
    vocabulary = count_words(documents, max_words=3)
    ids, starts = vocabulary.encode(iter(documents), drop_unknown=drop)
    assert (ids.dtype, starts.dtype) == (np.int32, np.int64)
    assert len(starts) == len(documents) + 1
    for document, low, high in zip(documents, starts, starts[1:], strict=False):
        found = [vocabulary.words[i] if i >= 0 else None for i in ids[low:high]]
        known = [word if word in vocabulary else None for word in document]
        assert found == ([word for word in known if word is not None] if drop else known)


def test_a_table_that_grows_and_long_words():
    rng = np.random.default_rng(0)
    words = [str(n) for n in rng.zipf(1.2, 60_000) % 20_000] + ["x" * 100_000, "x" * 100_001]
    text = " ".join(words)
    same(count_words_in_lines(text), expected([words]))
    assert len(count_words_in_lines(text, max_types=1000)) == len(set(words))


def test_numbers_in_a_file_are_those_in_memory(tmp_path):
    text = "a b a\n\nc a\nb"
    vocabulary = count_words_in_lines([text], min_count=2)
    ids, starts = encode_lines([text], vocabulary, path=tmp_path / "ids.bin")
    assert isinstance(ids, np.memmap)
    assert ids.tolist() == [0, 1, 0, -1, 0, 1]
    assert starts.tolist() == [0, 3, 5, 6]
    none, at = encode_lines(["z"], vocabulary, drop_unknown=True, path=tmp_path / "none.bin")
    assert (none.tolist(), at.tolist()) == ([], [0, 0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: count_words([]), "no words in the text"),
        (lambda: count_words([["a", "a", "b"]], min_count=5), r"none occurs 5 times \(the most frequent, 'a', 2\)"),
        (lambda: count_words_in_lines(["a a b"], min_count=5), r"none occurs 5 times \(the most frequent, 'a', 2\)"),
        (lambda: count_words("a b"), "lists of words are expected"),
        (lambda: count_words([["a"], "b c"]), "document 1 is one string"),
        (lambda: count_words([["a", 7]]), "a word is int, not str: 7"),
        (lambda: count_words_in_lines([b"a \xff"]), "not valid UTF-8"),
        (lambda: count_words([["a"]]).encode(["b"]), "document 0 is one string"),
    ],
)
def test_bad_input_is_one_clear_line(call, message):
    with pytest.raises(FirthError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
