"""An n-gram model: a log-probability for each n-gram and a weight for each context, and the file they are kept in.

The file is safetensors, memory-mapped: opening it reads only what has to be checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from firth.counts.ngram import walking
from firth.counts.ngram.counting import Marks
from firth.counts.ngram.trie import Trie
from firth.data import mapped

KIND = "ngram"
# The arrays in the order of the file, those of wide numbers first, with their types and columns.
_ARRAYS = {"levels": "<i8", "slots": "<i8", "words": "<i4", "nodes": "<i4", "leaves": "<i4"}
_COLUMNS = {"nodes": (4,), "leaves": (2,)}


class Parts(NamedTuple):
    """A model as separate arrays: what is easy to work on."""

    trie: Trie
    logprobs: np.ndarray  # (nodes,) natural logarithms
    backoffs: np.ndarray  # (nodes below the highest order,) logarithms of the weights


@dataclass(frozen=True, eq=False)
class Model:
    """The probability of a token after a context is its n-gram's, or else the context's weight times what the shorter
    context says (Katz 1987). A context that has no n-gram of its own has weight one."""

    levels: np.ndarray  # (order + 1,) int64: where the nodes of each order begin, and where they end
    words: np.ndarray  # (nodes,) int32: the last token of each n-gram; those of order 1 are all tokens
    nodes: np.ndarray  # (nodes below the highest order + 1, 4) int32: first child, link, weight and log-probability
    leaves: (
        np.ndarray
    )  # (nodes of the highest order, 2) int32: link and log-probability, a float32 as it lies in memory
    slots: np.ndarray  # int64: a hash table of the n-grams whose context has many
    marks: Marks
    smoothing: str  # the method that made it; empty: read from elsewhere
    normalised: bool  # False: scores that do not add up to one (stupid backoff)

    @property
    def order(self) -> int:
        """Tokens of the longest n-grams."""
        return len(self.levels) - 1

    @property
    def size(self) -> int:
        """Tokens of the vocabulary."""
        return int(self.levels[1])

    @property
    def sizes(self) -> list[int]:
        """How many n-grams there are of each order."""
        return np.diff(self.levels).tolist()

    @property
    def bytes(self) -> int:
        """What its arrays take."""
        return sum(getattr(self, name).nbytes for name in _ARRAYS)

    @property
    def begin(self) -> int:
        """The state at the start of a document."""
        return self.marks.start if self.order > 1 else -1

    def parts(self) -> Parts:
        """The model as separate arrays, copied."""
        numbers, leaf_numbers = self.nodes[:-1].view(np.float32), self.leaves.view(np.float32)
        first = self.nodes[:, walking.FIRST].copy()
        links = np.concatenate([self.nodes[:-1, walking.LINK], self.leaves[:, walking.LEAF_LINK]])
        logs = np.concatenate([numbers[:, walking.LOGPROB], leaf_numbers[:, walking.LEAF_LOGPROB]])
        return Parts(Trie(self.levels, self.words, first, links), logs, numbers[:, walking.BACKOFF].copy())


def packed(parts: Parts, marks: Marks, smoothing: str = "", *, normalised: bool = True) -> Model:
    """The model with all about a node in one place; no probability is above one by rounding."""
    trie, inner, logprobs = parts.trie, parts.trie.inner, np.minimum(parts.logprobs, 0)
    nodes, leaves = np.zeros((inner + 1, 4), np.int32), np.zeros((len(trie.words) - inner, 2), np.int32)
    nodes[:, walking.FIRST] = trie.first
    nodes[:-1, walking.LINK], leaves[:, walking.LEAF_LINK] = trie.links[:inner], trie.links[inner:]
    numbers, leaf_numbers = nodes.view(np.float32), leaves.view(np.float32)
    numbers[:-1, walking.BACKOFF], numbers[:-1, walking.LOGPROB] = parts.backoffs, logprobs[:inner]
    leaf_numbers[:, walking.LEAF_LOGPROB] = logprobs[inner:]
    slots = np.full(2 * walking.hashed(nodes) + 1, -1, np.int64)
    walking.put(trie.words, nodes, slots)
    return Model(trie.levels, trie.words, nodes, leaves, slots, marks, smoothing, normalised)


def save(model: Model, path: str | Path, note: Mapping[str, Any] | None = None) -> None:
    """Everything, with a note of the caller's (JSON values)."""
    about = {"kind": KIND, "marks": list(model.marks), "note": dict(note or {}), "smoothing": model.smoothing}
    about |= {"normalised": model.normalised, "parameters": len(model.words)}
    mapped.write(Path(path), {name: getattr(model, name) for name in _ARRAYS}, about)


def load(path: str | Path) -> Model:
    """The model of a file; its arrays are read when they are used."""
    arrays, about = _open(Path(path))
    return Model(**arrays, marks=Marks(*about["marks"]), smoothing=about["smoothing"], normalised=about["normalised"])


def read_note(path: str | Path) -> dict[str, Any]:
    """The note that `save` was given."""
    return _open(Path(path))[1]["note"]


def _open(path: Path) -> tuple[mapped.Arrays, mapped.About]:
    """A damaged file is found before a loop can run astray."""
    arrays, about = mapped.read(path, "an n-gram model", _check, "c")
    return {name: array.view(np.ndarray) for name, array in arrays.items()}, about


def _check(arrays: mapped.Arrays, about: mapped.About) -> None:
    """The arrays and marks fit each other; ValueError or the like if not."""
    if set(arrays) != set(_ARRAYS) or any(arrays[name].dtype != kind for name, kind in _ARRAYS.items()):
        raise ValueError
    if any(array.ndim < 1 or array.shape[1:] != _COLUMNS.get(name, ()) for name, array in arrays.items()):
        raise ValueError
    levels, nodes, marks = arrays["levels"], len(arrays["words"]), about["marks"]
    if not 2 <= len(levels) <= 64 or levels[0] != 0 or levels[-1] != nodes or (np.diff(levels) < 0).any():
        raise ValueError
    if len(arrays["nodes"]) != levels[-2] + 1 or len(arrays["leaves"]) != nodes - levels[-2]:
        raise ValueError
    if not all(isinstance(mark, int) and mark < levels[1] for mark in marks) or min(*marks[:2], marks[2] + 1) < 0:
        raise ValueError
    told = isinstance(about["smoothing"], str) and isinstance(about["normalised"], bool)
    if about["kind"] != KIND or not told or not isinstance(about["note"], dict):
        raise ValueError
    if not walking.sound(*(arrays[name].view(np.ndarray) for name in ("levels", "words", "nodes", "leaves", "slots"))):
        raise ValueError
