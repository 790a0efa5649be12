"""MinHash LSH against sets: signatures estimate the exact Jaccard similarity, and near-duplicates are found."""

from __future__ import annotations

import random
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.datasets import near_duplicates
from firth.datasets.near_duplicates import HASHES, MinHasher, MinHashLSH, choose_bands, estimate_jaccard
from firth.errors import FirthError

word = st.text("abcdefğü", min_size=1, max_size=4)


def shingle_set(words, size=5):
    """The set of shingles, by definition."""
    return {tuple(words[at : at + size]) for at in range(max(1, len(words) - size + 1))}


def jaccard(first, second, size=5):
    one, two = shingle_set(first, size), shingle_set(second, size)
    return len(one & two) / len(one | two)


def replace_words(words, fraction, rng):
    """The words with a fraction of them replaced by words that occur nowhere else."""
    return [f"new{rng.random()}" if rng.random() < fraction else word for word in words]


def test_estimates_are_the_exact_similarity_within_their_error():
    """Over many pairs: no bias, and the binomial standard deviation of 128 hashes."""
    rng, hasher, errors = random.Random(5), MinHasher(), []
    for _ in range(400):
        first = [str(rng.randrange(10**6)) for _ in range(rng.randint(40, 200))]
        second = replace_words(first, rng.uniform(0.005, 0.1), rng)
        true = jaccard(first, second)
        if 0 < true < 1:
            spread = (true * (1 - true) / HASHES) ** 0.5
            errors.append((estimate_jaccard(hasher.signature(first), hasher.signature(second)) - true) / spread)
    assert len(errors) > 300
    assert abs(np.mean(errors)) < 4 / len(errors) ** 0.5
    assert 0.85 < np.std(errors) < 1.15


@given(st.lists(word, min_size=1, max_size=40), st.integers(1, 6))
def test_only_the_set_of_shingles_counts(words, size):
    hasher = MinHasher(size)
    again = words + words[: size - 1] if len(words) >= size else words  # adds shingles; none is lost
    assert set(hasher.shingles(words)) <= set(hasher.shingles(again))
    assert len(set(hasher.shingles(words).tolist())) == len(shingle_set(words, size))
    assert (hasher.signature(words) == hasher.signature(list(words))).all()


def test_long_texts_are_hashed_in_blocks_to_the_same_signature(monkeypatch):
    words, hasher = [str(n) for n in range(1000)], MinHasher()
    whole = hasher.signature(words)
    monkeypatch.setattr(near_duplicates, "BLOCK", 7)
    assert (hasher.signature(words) == whole).all()


def splitmix64(number):
    """SplitMix64 in Python's own integers."""
    number = (number + 0x9E3779B97F4A7C15) % 2**64
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    number = (number ^ number >> 27) * 0x94D049BB133111EB % 2**64
    return number ^ number >> 31


def reference_signature(words, size, seed, hashes=HASHES):
    """A signature by the definition, one number at a time."""
    numbers = [splitmix64((n + splitmix64(seed)) % 2**64) for n in range(size + 2 * hashes)]
    weights, multipliers, increments = numbers[:size], numbers[size : size + hashes], numbers[size + hashes :]
    shingles = [
        splitmix64(
            (len(shingle) + sum(crc32(word.encode()) * (p | 1) for word, p in zip(shingle, weights, strict=False)))
            % 2**64
        )
        for shingle in shingle_set(words, size)
    ]
    return [
        min((s * (t | 1) + p) % 2**32 for s in shingles) % 2**16 for t, p in zip(multipliers, increments, strict=True)
    ]


@settings(max_examples=20, deadline=None)
@given(st.lists(word, min_size=1, max_size=12), st.integers(1, 4), st.integers(0, 99))
def test_signatures_are_those_of_plain_integers(words, size, seed):
    """So they do not depend on the machine or on NumPy's version."""
    assert MinHasher(size, seed=seed).signature(words).tolist() == reference_signature(words, size, seed)


@pytest.mark.parametrize("buffer", [1, near_duplicates.BUFFER])
@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from([0.5, 0.7, 0.9]))
def test_lsh_finds_what_comparing_all_signatures_finds(buffer, seed, threshold):
    """No false positives against exhaustive comparison of signatures; few misses, whatever the buffer size."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(near_duplicates, "BUFFER", buffer)
        check_lsh(seed, threshold)


def check_lsh(seed, threshold):
    rng, hasher = random.Random(seed), MinHasher(shingle_size=2)
    lsh, kept, wrong, missed, near = MinHashLSH(threshold, hasher), [], 0, 0, 0
    base = [[str(rng.randrange(300)) for _ in range(40)] for _ in range(5)]
    for _ in range(60):
        words = replace_words(rng.choice(base), rng.uniform(0, 0.3), rng)
        signature = hasher.signature(words)
        is_near = any(estimate_jaccard(signature, other) >= threshold - 1e-12 for other in kept)
        is_new = lsh.add(words)
        wrong += not is_new and not is_near
        missed += is_new and is_near
        near += is_near
        if is_new:
            kept.append(signature)
    assert wrong == 0
    assert missed <= max(2, 0.1 * near)
    assert lsh.count == len(kept)


def test_tables_grow_and_forget_nothing(monkeypatch):
    monkeypatch.setattr(near_duplicates, "INITIAL_CAPACITY", 4)
    monkeypatch.setattr(near_duplicates, "BUFFER", 4)
    lsh, documents = MinHashLSH(0.8, MinHasher()), [[f"{n} {m}" for m in range(20)] for n in range(300)]
    assert all(lsh.add(words) for words in documents)
    assert not any(lsh.add(words) for words in documents)
    assert lsh.count == 300


def test_documents_with_much_in_common_are_compared_once_each(monkeypatch):
    """All share bands but none is near: every document is compared once with each later one, whatever its bands."""
    compared = []
    compare = MinHashLSH._any_similar
    monkeypatch.setattr(
        MinHashLSH, "_any_similar", lambda self, many, one: compared.append(len(many)) or compare(self, many, one)
    )
    lsh, common = MinHashLSH(0.95, MinHasher()), [str(n) for n in range(170)]
    documents = [common + [f"{n} {m}" for m in range(30)] for n in range(300)]
    assert all(lsh.add(words) for words in documents)
    assert sum(compared) <= 300 * 299 // 2


@given(st.floats(0.05, 1.0), st.sampled_from([16, 64, 128]))
def test_bands_fit_and_find(threshold, hashes):
    bands, rows = choose_bands(threshold, hashes)
    assert bands * rows <= hashes and bands >= 1 and rows >= 1
    assert rows == 1 or 1 - (1 - threshold**rows) ** bands >= near_duplicates.CANDIDATE_PROBABILITY


@pytest.mark.parametrize("threshold", [0, -0.5, 1.01, float("nan")])
def test_a_similarity_that_is_none_is_refused(threshold):
    with pytest.raises(FirthError, match=r"not in \(0, 1\]"):
        MinHashLSH(threshold, MinHasher())


def test_shingles_of_no_words_are_refused():
    with pytest.raises(FirthError, match="at least one word"):
        MinHasher(shingle_size=0)
