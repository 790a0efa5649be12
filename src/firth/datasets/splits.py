"""Random train, validation and test splits by document: a pure function of seed, index and total."""

from __future__ import annotations

import numpy as np

from firth.errors import FirthError

TRAIN, VALID, TEST = 0, 1, 2
BLOCK = 1000  # documents permuted together, so that a part of the text costs no more than itself
STREAM = 0x5917  # keeps these random numbers apart from other uses of the same seed


def assign_splits(
    start: int, stop: int, total: int, valid_fraction: float, test_fraction: float, seed: int
) -> np.ndarray:
    """The split (0 train, 1 valid, 2 test) of documents start … stop−1 out of total, as uint8."""
    if not 0 <= start <= stop <= total:
        raise FirthError(f"documents {start} to {stop} are not within the {total} there are")
    valid, test = split_counts(total, valid_fraction, test_fraction)
    first = start // BLOCK
    blocks = [_block(b, total, valid, test, seed) for b in range(first, -(-stop // BLOCK))]
    joined = np.concatenate([np.zeros(0, np.uint8), *blocks])
    return joined[start - first * BLOCK : stop - first * BLOCK]


def split_of(index: int, total: int, valid_fraction: float, test_fraction: float, seed: int) -> int:
    """The split of one document."""
    return int(assign_splits(index, index + 1, total, valid_fraction, test_fraction, seed)[0])


def split_counts(total: int, valid_fraction: float, test_fraction: float) -> tuple[int, int]:
    """The documents of validation and test: rounded fractions, but at least one each (if > 0) of three or more."""
    if not (valid_fraction >= 0 and test_fraction >= 0 and valid_fraction + test_fraction < 1):
        what = f"fractions {valid_fraction} for validation and {test_fraction} for test leave nothing to train on"
        raise FirthError(what, where="data.valid_fraction, data.test_fraction", do="make their sum less than 1")
    minimum = 1 if total >= 3 else 0
    valid, test = (
        max(int(total * fraction + 0.5), minimum if fraction else 0) for fraction in (valid_fraction, test_fraction)
    )
    while valid + test >= total and valid + test:  # training keeps one; rounding oversteps by two at most
        valid, test = (valid - 1, test) if valid >= test else (valid, test - 1)
    return valid, test


def _block(block: int, total: int, valid: int, test: int, seed: int) -> np.ndarray:
    """The splits of one block: its part of the counts, in an order sampled from its own Philox stream."""
    start, stop = block * BLOCK, min((block + 1) * BLOCK, total)
    counts = [(valid + test) * n // total for n in (start, stop)]
    first = [valid * n // max(valid + test, 1) for n in counts]
    held_out, to_valid = counts[1] - counts[0], first[1] - first[0]
    splits = np.zeros(stop - start, np.uint8)
    splits[:held_out] = TEST
    splits[:to_valid] = VALID
    # Raw words and a stable sort, not `permutation`: NumPy does not promise that one stays the same.
    stream = np.random.Philox(key=np.array([seed % 2**64, block], np.uint64), counter=[0, 0, 0, STREAM])
    return splits[np.argsort(stream.random_raw(stop - start), kind="stable")]
