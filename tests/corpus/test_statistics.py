"""Corpus statistics against plain Python."""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.config.schema import Tokenizer as Config
from firth.corpus import index_documents, statistics
from firth.corpus.statistics import WINDOW, heaps, lengths, zipf, zipf_exponent
from firth.datasets.world import World
from firth.tokenizers import split
from firth.tokenizers.tokenizer import Tokenizer

TEXTS = list(World().documents(100))
WORDS = [word for text in TEXTS for word in split.split_words(text)]


@pytest.fixture(scope="module")
def found():
    return statistics(index_documents(TEXTS))


def test_counts_are_those_of_plain_python(found):
    counts = Counter(WORDS)
    assert (found.documents, found.tokens, found.types) == (100, len(WORDS), len(counts))
    assert found.bytes == sum(len(text.encode()) for text in TEXTS)
    assert found.hapaxes == sum(count == 1 for count in counts.values())
    assert found.type_token_ratio == len(counts) / len(WORDS)
    assert found.most_common[0] == counts.most_common(1)[0] and dict(found.most_common).items() <= counts.items()
    assert found.word_lengths.histogram == dict(sorted(Counter(map(len, WORDS)).items()))
    assert found.word_lengths.mean == pytest.approx(np.mean([len(word) for word in WORDS]))
    sizes = [len(split.split_words(sentence)) for text in TEXTS for sentence in split.split_sentences(text)]
    assert found.sentence_lengths.histogram == dict(
        sorted(Counter(sizes).items())
    ) and found.sentence_lengths.count == len(sizes)
    ordered = sorted(sizes)
    assert found.sentence_lengths.quantiles["0.5"] == ordered[(len(ordered) + 1) // 2 - 1]


def moving(words, window):
    window = min(window, len(words))
    starts = range(len(words) - window + 1)
    return sum(len(set(words[at : at + window])) for at in starts) / (len(starts) * window)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.sampled_from("aAbcdefgh"), min_size=1, max_size=80),
    st.integers(1, 30),
    st.integers(1, 20),
    st.booleans(),
)
def test_mattr_is_the_mean_over_all_windows(words, window, chunk, fold):
    index = index_documents([" ".join(words)])
    index = index.fold_case() if fold else index
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys.modules["firth.corpus.statistics"], "WINDOW", window)  # the name is also a function's
        patched.setattr(sys.modules["firth.corpus.corpus_index"], "CHUNK", chunk)
        found = statistics(index)
    words = [word.casefold() for word in words] if fold else words
    assert found.mattr == pytest.approx(moving(words, window))
    assert found.heaps.types == tuple(len(set(words[:n])) for n in found.heaps.words)
    assert found.heaps.words[-1] == len(words) and found.zipf.ranks[-1] == found.types == len(set(words))


def test_mattr_of_a_long_text(found):
    assert found.mattr == pytest.approx(moving(WORDS, WINDOW)) and len(WORDS) > 2 * WINDOW


def test_a_part_of_a_text_is_counted_alone(tmp_path):
    from firth.corpus import index

    path = tmp_path / "table.tsv"
    path.write_text("text\tby\n" + "".join(f"{text}\t{n % 3}\n" for n, text in enumerate(TEXTS)))
    part = statistics(index(str(path), column="text").where("by", "1"))
    alone = statistics(index_documents(TEXTS[1::3]))
    for name in (
        "documents",
        "tokens",
        "types",
        "hapaxes",
        "mattr",
        "zipf",
        "heaps",
        "word_lengths",
        "sentence_lengths",
        "most_common",
    ):
        assert getattr(part, name) == getattr(alone, name), name
    assert part.bytes == alone.bytes


@pytest.mark.parametrize("exponent", [0.7, 1.0, 1.3])
def test_the_exponent_of_a_power_law_is_found(exponent):
    counts = np.round(1e9 * np.arange(1, 2001.0) ** -exponent).astype(np.int64)
    found = zipf(np.random.default_rng(1).permutation(counts))
    assert found.regression.exponent == pytest.approx(exponent, abs=1e-3)
    assert found.regression.factor == pytest.approx(1e9, rel=1e-2)
    assert found.mle_exponent == pytest.approx(exponent, abs=1e-4)


@given(st.lists(st.integers(1, 1000), min_size=2, max_size=40))
def test_no_other_exponent_is_more_likely(counts):
    ordered = -np.sort(-np.array(counts))
    logs = np.log(np.arange(1, len(ordered) + 1))

    def likelihood(s):
        return -(s * (ordered * logs).sum()) - ordered.sum() * np.log(np.exp(-s * logs).sum())

    best = zipf_exponent(ordered)
    assert best >= 0 and all(likelihood(best) >= likelihood(max(best + d, 0)) - 1e-6 for d in (-0.1, -0.01, 0.01, 0.1))


def test_the_growth_of_a_vocabulary_is_found():
    """New words at places where 5·n^0.6 passes a whole number."""
    size = 200_000
    types = np.minimum(np.floor(5 * np.arange(1, size + 1) ** 0.6), np.arange(1, size + 1)).astype(int)
    first = np.flatnonzero(np.diff(np.concatenate([[0], types])) > 0)
    found = heaps(np.repeat(first, np.diff(np.concatenate([[0], types]))[first]), size)
    assert found.fit.exponent == pytest.approx(0.6, abs=0.01) and found.fit.factor == pytest.approx(5, rel=0.1)


def test_lengths_of_a_histogram():
    found = lengths(np.array([0, 3, 0, 1]))
    assert (found.count, found.mean, found.histogram) == (4, 1.5, {1: 3, 3: 1})
    assert found.quantiles == {"0.05": 1, "0.25": 1, "0.5": 1, "0.75": 1, "0.95": 3}


def test_what_a_tokenizer_makes_of_the_text():
    tokenizer = Tokenizer.train(Config(model="char", vocabulary_size=300), ["abc de"])
    text = "abc axe deb"
    found = statistics(index_documents([text, text]), tokenizer=tokenizer).coverage
    ids = [i for i in tokenizer.encode(text)] * 2
    assert found.tokens == len(ids) and found.tokens_per_word == len(ids) / 6
    assert found.unknown_fraction == ids.count(tokenizer.special.unknown) / len(ids) > 0


def test_a_text_of_one_word():
    found = statistics(index_documents(["word"]))
    assert (found.tokens, found.types, found.mattr, found.zipf.mle_exponent) == (1, 1, 1.0, 0.0)
