"""MinHash against sets: signatures estimate the exact Jaccard similarity, and what is alike is found."""

from __future__ import annotations

import random
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.errors import FirthError
from firth.text import duplicates
from firth.text.duplicates import HASHES, Seen, Signer, banding, estimate

word = st.text("abcdefğü", min_size=1, max_size=4)


def runs(words, size=5):
    """The set of shingles, by definition."""
    return {tuple(words[at : at + size]) for at in range(max(1, len(words) - size + 1))}


def jaccard(first, second, size=5):
    one, two = runs(first, size), runs(second, size)
    return len(one & two) / len(one | two)


def changed(words, share, lot):
    """The words with some replaced by words that stand nowhere else."""
    return [f"new{lot.random()}" if lot.random() < share else word for word in words]


def test_estimates_are_the_exact_similarity_within_their_error():
    """Over many pairs: no bias, and the spread that counting equal places among 128 must have."""
    lot, signer, errors = random.Random(5), Signer(), []
    for _ in range(400):
        first = [str(lot.randrange(10**6)) for _ in range(lot.randint(40, 200))]
        second = changed(first, lot.uniform(0.005, 0.1), lot)
        true = jaccard(first, second)
        if 0 < true < 1:
            spread = (true * (1 - true) / HASHES) ** 0.5
            errors.append((estimate(signer.sign(first), signer.sign(second)) - true) / spread)
    assert len(errors) > 300
    assert abs(np.mean(errors)) < 4 / len(errors) ** 0.5
    assert 0.85 < np.std(errors) < 1.15


@given(st.lists(word, min_size=1, max_size=40), st.integers(1, 6))
def test_only_the_set_of_runs_counts(words, size):
    signer = Signer(size)
    again = words + words[: size - 1] if len(words) >= size else words  # a turn of the ring adds runs; none is lost
    assert set(signer.shingles(words)) <= set(signer.shingles(again))
    assert len(set(signer.shingles(words).tolist())) == len(runs(words, size))
    assert (signer.sign(words) == signer.sign(list(words))).all()


def test_long_texts_are_hashed_in_blocks_to_the_same_signature(monkeypatch):
    words, signer = [str(n) for n in range(1000)], Signer()
    whole = signer.sign(words)
    monkeypatch.setattr(duplicates, "BLOCK", 7)
    assert (signer.sign(words) == whole).all()


def mixed(number):
    """SplitMix64 in Python's own integers."""
    number = (number + 0x9E3779B97F4A7C15) % 2**64
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    number = (number ^ number >> 27) * 0x94D049BB133111EB % 2**64
    return number ^ number >> 31


def signed(words, size, seed, hashes=HASHES):
    """A signature by the definition, one number at a time."""
    numbers = [mixed((n + mixed(seed)) % 2**64) for n in range(size + 2 * hashes)]
    places, times, plus = numbers[:size], numbers[size : size + hashes], numbers[size + hashes :]
    shingles = [
        mixed((len(run) + sum(crc32(word.encode()) * (p | 1) for word, p in zip(run, places, strict=False))) % 2**64)
        for run in runs(words, size)
    ]
    return [min((s * (t | 1) + p) % 2**32 for s in shingles) % 2**16 for t, p in zip(times, plus, strict=True)]


@settings(max_examples=20, deadline=None)
@given(st.lists(word, min_size=1, max_size=12), st.integers(1, 4), st.integers(0, 99))
def test_signatures_are_those_of_plain_integers(words, size, seed):
    """So they do not depend on the machine or on NumPy's version."""
    assert Signer(size, seed=seed).sign(words).tolist() == signed(words, size, seed)


@pytest.mark.parametrize("newest", [1, duplicates.NEWEST])
@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from([0.5, 0.7, 0.9]))
def test_seen_finds_what_comparing_all_signatures_finds(newest, seed, threshold):
    """Never a document that no signature is near to; nearly always one that is, however the tables are made."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(duplicates, "NEWEST", newest)
        check_seen(seed, threshold)


def check_seen(seed, threshold):
    lot, signer = random.Random(seed), Signer(shingle=2)
    seen, kept, wrong, missed, near = Seen(threshold, signer), [], 0, 0, 0
    base = [[str(lot.randrange(300)) for _ in range(40)] for _ in range(5)]
    for _ in range(60):
        words = changed(lot.choice(base), lot.uniform(0, 0.3), lot)
        signature = signer.sign(words)
        is_near = any(estimate(signature, other) >= threshold - 1e-12 for other in kept)
        is_new = seen.add(words)
        wrong += not is_new and not is_near
        missed += is_new and is_near
        near += is_near
        if is_new:
            kept.append(signature)
    assert wrong == 0
    assert missed <= max(2, 0.1 * near)
    assert seen.count == len(kept)


def test_tables_grow_and_forget_nothing(monkeypatch):
    monkeypatch.setattr(duplicates, "FIRST", 4)
    monkeypatch.setattr(duplicates, "NEWEST", 4)
    seen, documents = Seen(0.8, Signer()), [[f"{n} {m}" for m in range(20)] for n in range(300)]
    assert all(seen.add(words) for words in documents)
    assert not any(seen.add(words) for words in documents)
    assert seen.count == 300


def test_documents_with_much_in_common_are_compared_once_each(monkeypatch):
    """All share bands but none is near: every document is looked at once by each later one, whatever its bands."""
    looked_at = []
    compare = Seen._any_near
    monkeypatch.setattr(
        Seen, "_any_near", lambda self, many, one: looked_at.append(len(many)) or compare(self, many, one)
    )
    seen, common = Seen(0.95, Signer()), [str(n) for n in range(170)]
    documents = [common + [f"{n} {m}" for m in range(30)] for n in range(300)]
    assert all(seen.add(words) for words in documents)
    assert sum(looked_at) <= 300 * 299 // 2


@given(st.floats(0.05, 1.0), st.sampled_from([16, 64, 128]))
def test_bands_fit_and_find(threshold, hashes):
    bands, rows = banding(threshold, hashes)
    assert bands * rows <= hashes and bands >= 1 and rows >= 1
    assert rows == 1 or 1 - (1 - threshold**rows) ** bands >= duplicates.FOUND


@pytest.mark.parametrize("threshold", [0, -0.5, 1.01, float("nan")])
def test_a_similarity_that_is_none_is_refused(threshold):
    with pytest.raises(FirthError, match=r"not in \(0, 1\]"):
        Seen(threshold, Signer())


def test_runs_of_no_words_are_refused():
    with pytest.raises(FirthError, match="at least one word"):
        Signer(shingle=0)
