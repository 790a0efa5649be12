"""A back-off n-gram model: a log-probability for each n-gram and a backoff weight for each context, in a trie.

The file is safetensors, memory-mapped: opening it reads only what has to be validated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from firth.datasets import memory_map
from firth.ngram import scoring_kernels
from firth.ngram.counts import SpecialIds
from firth.ngram.trie import Trie
from firth.runs.weights import not_finite

KIND = "ngram"
# The arrays in the order of the file, widest data types first, with their types and columns.
_ARRAYS = {"levels": "<i8", "slots": "<i8", "words": "<i4", "nodes": "<i4", "leaves": "<i4"}
_COLUMNS = {"nodes": (4,), "leaves": (2,)}


class UnpackedModel(NamedTuple):
    """A model as separate arrays, before or after packing; pruning and ARPA files work on these."""

    trie: Trie
    logprobs: np.ndarray  # (nodes,) natural logarithms
    backoffs: np.ndarray  # (nodes below the highest order,) log backoff weights


@dataclass(frozen=True, eq=False)
class Model:
    """A packed back-off model (Katz 1987): the probability of a token is that of its n-gram if there is one, else the
    context's backoff weight times the probability after the shorter context. An unknown context has weight one."""

    levels: np.ndarray  # (order + 1,) int64: where the nodes of each order begin, and where they end
    words: np.ndarray  # (nodes,) int32: the last token of each n-gram; those of order 1 are all tokens
    # (nodes below the highest order + 1, 4) int32: first child, suffix link, backoff weight, log-probability; the last
    # two are the bits of a float32
    nodes: np.ndarray
    leaves: np.ndarray  # (nodes of the highest order, 2) int32: suffix link, log-probability (the bits of a float32)
    slots: np.ndarray  # int64: a hash table of the n-grams whose context has many continuations
    special_ids: SpecialIds
    smoothing: str  # the smoothing method it was estimated with; empty: imported
    normalised: bool  # False: scores that do not add up to one (stupid backoff)

    @property
    def order(self) -> int:
        """The order n: the number of tokens in the longest n-grams."""
        return len(self.levels) - 1

    @property
    def size(self) -> int:
        """The vocabulary size."""
        return int(self.levels[1])

    @property
    def sizes(self) -> list[int]:
        """The number of n-grams of each order."""
        return np.diff(self.levels).tolist()

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(getattr(self, name).nbytes for name in _ARRAYS)

    @property
    def initial_state(self) -> int:
        """The context state at the start of a document."""
        return self.special_ids.start if self.order > 1 else -1

    def unpack(self) -> UnpackedModel:
        """The model as separate arrays, copied."""
        numbers, leaf_numbers = self.nodes[:-1].view(np.float32), self.leaves.view(np.float32)
        first = self.nodes[:, scoring_kernels.FIRST].copy()
        links = np.concatenate([self.nodes[:-1, scoring_kernels.LINK], self.leaves[:, scoring_kernels.LEAF_LINK]])
        logs = np.concatenate([numbers[:, scoring_kernels.LOGPROB], leaf_numbers[:, scoring_kernels.LEAF_LOGPROB]])
        return UnpackedModel(
            Trie(self.levels, self.words, first, links), logs, numbers[:, scoring_kernels.BACKOFF].copy()
        )


def pack(unpacked: UnpackedModel, special_ids: SpecialIds, smoothing: str = "", *, normalised: bool = True) -> Model:
    """Pack the arrays so that the fields of a node are adjacent in memory; clips probabilities above one (rounding)."""
    trie, inner, logprobs = unpacked.trie, unpacked.trie.inner, np.minimum(unpacked.logprobs, 0)
    nodes, leaves = np.zeros((inner + 1, 4), np.int32), np.zeros((len(trie.words) - inner, 2), np.int32)
    nodes[:, scoring_kernels.FIRST] = trie.first
    nodes[:-1, scoring_kernels.LINK], leaves[:, scoring_kernels.LEAF_LINK] = trie.links[:inner], trie.links[inner:]
    numbers, leaf_numbers = nodes.view(np.float32), leaves.view(np.float32)
    numbers[:-1, scoring_kernels.BACKOFF], numbers[:-1, scoring_kernels.LOGPROB] = unpacked.backoffs, logprobs[:inner]
    leaf_numbers[:, scoring_kernels.LEAF_LOGPROB] = logprobs[inner:]
    slots = np.full(2 * scoring_kernels.hash_table_size(nodes) + 1, -1, np.int64)
    scoring_kernels.fill_hash_table(trie.words, nodes, slots)
    return Model(trie.levels, trie.words, nodes, leaves, slots, special_ids, smoothing, normalised)


def save(model: Model, path: str | Path, metadata: Mapping[str, Any] | None = None) -> None:
    """Write the model and the caller's metadata (JSON values) to one file."""
    about = {"kind": KIND, "marks": list(model.special_ids), "note": dict(metadata or {})}
    about["smoothing"] = model.smoothing
    about |= {"normalised": model.normalised, "parameters": len(model.words)}
    memory_map.write(Path(path), {name: getattr(model, name) for name in _ARRAYS}, about)


def load(path: str | Path) -> Model:
    """Open a saved model, memory-mapped: array pages are read from disk when they are used."""
    arrays, about = _open(Path(path))
    memory_map.verify(Path(path))
    _require_numbers(arrays, Path(path))
    return Model(
        **arrays, special_ids=SpecialIds(*about["marks"]), smoothing=about["smoothing"], normalised=about["normalised"]
    )


def _require_numbers(arrays: memory_map.Arrays, path: Path) -> None:
    """Refuse log-probabilities and back-off weights that are NaN or +infinity; the logarithm of 0 is allowed."""
    nodes, leaves = arrays["nodes"].view(np.float32), arrays["leaves"].view(np.float32)
    columns = [(nodes[:-1, number], "nodes") for number in (scoring_kernels.LOGPROB, scoring_kernels.BACKOFF)]
    for column, name in (*columns, (leaves[:, scoring_kernels.LEAF_LOGPROB], "leaves")):
        if not column.max(initial=-np.inf) < np.inf:  # the maximum of numbers with NaN is NaN
            raise not_finite(name, path)


def read_metadata(path: str | Path) -> dict[str, Any]:
    """Read the metadata that was passed to `save`."""
    return _open(Path(path))[1]["note"]


def _open(path: Path) -> tuple[memory_map.Arrays, memory_map.Metadata]:
    """Map and validate the file, so that no kernel reads outside its arrays."""
    arrays, about = memory_map.read(path, "an n-gram model", _validate, "c")
    return {name: array.view(np.ndarray) for name, array in arrays.items()}, about


def _validate(arrays: memory_map.Arrays, about: memory_map.Metadata) -> None:
    """Raise ValueError (or KeyError, TypeError) unless shapes, types and metadata are consistent."""
    if set(arrays) != set(_ARRAYS) or any(arrays[name].dtype != kind for name, kind in _ARRAYS.items()):
        raise ValueError
    if any(array.ndim < 1 or array.shape[1:] != _COLUMNS.get(name, ()) for name, array in arrays.items()):
        raise ValueError
    levels, nodes, special_ids = arrays["levels"], len(arrays["words"]), about["marks"]
    if not 2 <= len(levels) <= 64 or levels[0] != 0 or levels[-1] != nodes or (np.diff(levels) < 0).any():
        raise ValueError
    if len(arrays["nodes"]) != levels[-2] + 1 or len(arrays["leaves"]) != nodes - levels[-2]:
        raise ValueError
    if len(special_ids) != len(SpecialIds._fields):
        raise ValueError
    if not all(isinstance(token, int) and token < levels[1] for token in special_ids):
        raise ValueError
    if min(*special_ids[:2], special_ids[2] + 1) < 0:
        raise ValueError
    has_settings = isinstance(about["smoothing"], str) and isinstance(about["normalised"], bool)
    if about["kind"] != KIND or not has_settings or not isinstance(about["note"], dict):
        raise ValueError
    if not scoring_kernels.is_valid(
        *(arrays[name].view(np.ndarray) for name in ("levels", "words", "nodes", "leaves", "slots"))
    ):
        raise ValueError
