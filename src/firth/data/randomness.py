"""Random draws that are pure functions of a seed and a place, so that a resumed run draws what it would have drawn."""

from __future__ import annotations

import hashlib

import numpy as np


def number(seed: int, *place: int | str) -> int:
    """A 63-bit number that depends on the seed and the place alone."""
    key = hashlib.sha256(repr((seed, *place)).encode()).digest()
    return int.from_bytes(key[:8], "little") >> 1


def generator(seed: int, *place: int | str) -> np.random.Generator:
    """A private Philox stream for a seed and a place."""
    return np.random.Generator(np.random.Philox(key=number(seed, *place)))
