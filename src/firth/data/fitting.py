"""Pictures of any size and number of channels as a network reads them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from firth.errors import FirthError

GREY = (0.299, 0.587, 0.114)  # how bright red, green and blue are to the eye (ITU-R BT.601)


def fit(pixels: np.ndarray, size: int, channels: int) -> np.ndarray:
    """Bytes (y, x, channels) as brightness 0 to 1 (channels, size, size); other shapes are stretched to a square."""
    height, width, _ = pixels.shape
    found = _coloured(pixels.astype(np.float32) / 255, channels).transpose(2, 0, 1)
    if (height, width) == (size, size):
        return np.ascontiguousarray(found)
    return np.clip(_weights(height, size) @ found @ _weights(width, size).T, 0.0, 1.0)


def _coloured(pixels: np.ndarray, channels: int) -> np.ndarray:
    """(y, x, any) -> (y, x, channels)."""
    given = pixels.shape[2]
    if given == channels:
        return pixels
    if given == 1:
        return np.repeat(pixels, channels, 2)
    if given == 3 and channels == 1:
        return pixels @ np.array(GREY, np.float32)[:, None]
    what = f"a picture of {given} channels, where {channels} are read"
    raise FirthError(what, do="save it in colours or in grey, or set input.channels")


@lru_cache(maxsize=64)
def _weights(old: int, new: int) -> np.ndarray:
    """What each new pixel takes of the old ones (new, old): of those within a pixel's reach, the nearer the more; where
    pictures shrink, a new pixel reaches over all that it stands for."""
    scale = old / new
    reach = max(scale, 1.0)
    middle = (np.arange(new) + 0.5) * scale
    apart = abs(np.arange(old) + 0.5 - middle[:, None]) / reach
    taken = np.maximum(0.0, 1.0 - apart)
    return (taken / taken.sum(1, keepdims=True)).astype(np.float32)
