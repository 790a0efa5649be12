"""Presets: the systems of the textbook as values. Nothing here computes, and nothing heavy is imported."""

from __future__ import annotations

from dataclasses import dataclass

from firth.config.schema import System
from firth.errors import unknown
from firth.presets import recurrent


@dataclass(frozen=True)
class Preset:
    """A named configuration, with what a person needs to choose it."""

    summary: str
    sizes: dict[str, System]  # the first is the default
    takes: str  # the data it wants
    paper: str


PRESETS: dict[str, Preset] = {
    "lstm-lm": Preset(
        "language model of stacked LSTM layers with a tied output",
        recurrent.LSTM_SIZES,
        "plain text",
        "Zaremba et al. 2014; Press and Wolf 2017",
    ),
}


def preset(name: str) -> System:
    """The configuration of `lstm-lm` (its default size) or `lstm-lm:medium`."""
    base, _, size = name.partition(":")
    if base not in PRESETS:
        raise unknown("preset", base, PRESETS)
    sizes = PRESETS[base].sizes
    size = size or next(iter(sizes))
    if size not in sizes:
        raise unknown(f"size of {base}", size, sizes)
    return sizes[size]
