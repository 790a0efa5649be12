"""Image transforms: images of any size and number of channels resized and converted to a network's input."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from firth.errors import FirthError

GREY = (0.299, 0.587, 0.114)  # how bright red, green and blue are to the eye (ITU-R BT.601)


def resize(pixels: np.ndarray, size: int, channels: int) -> np.ndarray:
    """Bytes (y, x, channels) as values 0 to 1 (channels, size, size); other aspect ratios are stretched to a square."""
    height, width, _ = pixels.shape
    image = _convert_channels(pixels.astype(np.float32) / 255, channels).transpose(2, 0, 1)
    if (height, width) == (size, size):
        return np.ascontiguousarray(image)
    return np.clip(_interpolation_weights(height, size) @ image @ _interpolation_weights(width, size).T, 0.0, 1.0)


def _convert_channels(pixels: np.ndarray, channels: int) -> np.ndarray:
    """(y, x, any) -> (y, x, channels)."""
    count = pixels.shape[2]
    if count == channels:
        return pixels
    if count == 1:
        return np.repeat(pixels, channels, 2)
    if count == 3 and channels == 1:
        return pixels @ np.array(GREY, np.float32)[:, None]
    what = f"an image of {count} channels, where inputs.image.channels = {channels}"
    raise FirthError(what, do="save it in colour or in grey, or set inputs.image.channels")


@lru_cache(maxsize=64)
def _interpolation_weights(old: int, new: int) -> np.ndarray:
    """The weights of bilinear interpolation along one side (new, old); when shrinking, the triangle filter is as much
    wider, against aliasing."""
    scale = old / new
    support = max(scale, 1.0)
    centre = (np.arange(new) + 0.5) * scale
    distance = abs(np.arange(old) + 0.5 - centre[:, None]) / support
    weights = np.maximum(0.0, 1.0 - distance)
    return (weights / weights.sum(1, keepdims=True)).astype(np.float32)
