"""Random number generators that are pure functions of a seed and a key, so that a resumed run samples what it would
have sampled."""

from __future__ import annotations

import hashlib

import numpy as np


def derive_seed(seed: int, *key: int | str) -> int:
    """A 63-bit seed that depends on the seed and the key alone."""
    digest = hashlib.sha256(repr((seed, *key)).encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


def generator(seed: int, *key: int | str) -> np.random.Generator:
    """A Philox generator of its own for a seed and a key."""
    return np.random.Generator(np.random.Philox(key=derive_seed(seed, *key)))
