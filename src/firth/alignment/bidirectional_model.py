"""Alignment models of both directions: symmetrised links between words, and their file (safetensors, memory-mapped)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from firth.alignment.bitext import Bitext
from firth.alignment.distortion import DISTORTIONS
from firth.alignment.ibm_models import AlignmentModel, Loss
from firth.alignment.symmetrisation import Links, symmetrise
from firth.alignment.translation_table import TranslationTable
from firth.config import migrations
from firth.config.schema import Aligner
from firth.datasets import memory_map
from firth.errors import FirthError
from firth.runs.weights import require_finite

KIND = "alignment"
NAMES = ("forward", "backward")
# fields in order, with types
_TABLE_ARRAYS = {"starts": "<i8", "targets": "<i4", "probabilities": "<f4", "unseen": "<f4"}


class BidirectionalModel(NamedTuple):
    """P(target | source) and P(source | target)."""

    forward: AlignmentModel
    backward: AlignmentModel

    def align(self, bitext: Bitext, heuristic: str, threads: int = 1) -> list[list[tuple[int, int]]]:
        """Align each pair: sorted links between whitespace-separated words; a pair with an empty side has none."""
        usable = bitext.usable()
        pairs = bitext.select(usable)
        directions = zip(self, (pairs, pairs.reversed), strict=True)
        alignments = [model.viterbi(model.index(texts), threads) for model, texts in directions]
        links = iter(
            _to_words(symmetrise(*alignments, pairs.source.lengths, pairs.target.lengths, heuristic), pairs).lists()
        )
        return [next(links) if is_usable else [] for is_usable in usable]

    def losses(self, bitext: Bitext, threads: int = 1) -> tuple[Loss, Loss]:
        """The losses of target given source and of source given target; pairs with an empty side are skipped."""
        pairs = bitext.select(bitext.usable())
        directions = zip(self, (pairs, pairs.reversed), strict=True)
        return tuple(model.loss(model.index(texts), threads) for model, texts in directions)


def _to_words(links: Links, bitext: Bitext) -> Links:
    """Map links between tokens (subwords) to links between the words they belong to."""
    pair = np.repeat(np.arange(len(bitext)), np.diff(links.starts))
    source, target = bitext.source, bitext.target
    words = [
        side.words[side.starts[pair] + positions]
        for side, positions in zip((source, target), links.positions.T, strict=True)
    ]
    word_links = np.unique(np.stack([pair, *words], 1), axis=0)
    starts = np.searchsorted(word_links[:, 0], np.arange(len(bitext) + 1))
    return Links(word_links[:, 1:].astype(np.int32), starts)


# --- the file -----------------------------------------------------------------------------------------------------


def save(model: BidirectionalModel, path: str | Path, metadata: Mapping[str, Any] | None = None) -> None:
    """Write the model and the caller's metadata (JSON values) to one file."""
    arrays = {}
    for name, direction in zip(NAMES, model, strict=True):
        table = direction.table
        fields = table.starts, table.targets, table.probabilities, table.unseen
        own = dict(zip(_TABLE_ARRAYS, fields, strict=True)) | direction.distortion.arrays
        arrays |= {f"{name}.{key}": value for key, value in own.items()}
    about = {"kind": KIND, "sizes": [one.table.num_targets for one in model], "metadata": dict(metadata or {})}
    about["parameters"] = sum(len(one.table.targets) for one in model)
    wide_first = dict(sorted(arrays.items(), key=lambda item: -item[1].dtype.itemsize))
    memory_map.write(Path(path), wide_first, about)


def load(path: str | Path, config: Aligner) -> BidirectionalModel:
    """Open a saved model, memory-mapped; the configuration chooses the distortion model."""
    arrays, about = _open(Path(path))
    memory_map.verify(Path(path))
    require_finite(arrays, Path(path))
    try:
        sizes = zip(NAMES, about["sizes"], strict=True)
        return BidirectionalModel(*(_load_direction(arrays, name, size, config) for name, size in sizes))
    except (KeyError, ValueError, TypeError):
        raise FirthError("damaged: its arrays do not fit", where=path, do=memory_map.REWRITE) from None


def read_metadata(path: str | Path) -> dict[str, Any]:
    """Read the metadata that was passed to `save`."""
    return _open(Path(path))[1]["metadata"]


def _load_direction(arrays: memory_map.Arrays, name: str, size: int, config: Aligner) -> AlignmentModel:
    own = {key.removeprefix(f"{name}."): array for key, array in arrays.items() if key.startswith(f"{name}.")}
    table = TranslationTable(*(own.pop(key) for key in _TABLE_ARRAYS), size)
    distortion = DISTORTIONS[config.distortion](config)
    if not distortion.fits(own):
        raise ValueError
    distortion.arrays |= own
    return AlignmentModel(table, distortion)


def _open(path: Path) -> tuple[memory_map.Arrays, memory_map.Metadata]:
    parts = memory_map.read(path, "a word alignment model", _validate, "c")
    arrays, about = (migrations.rename(part, migrations.ALIGNMENT) for part in parts)
    return {name: array.view(np.ndarray) for name, array in arrays.items()}, about


def _validate(arrays: memory_map.Arrays, about: memory_map.Metadata) -> None:
    """Raise ValueError (or KeyError, TypeError) unless shapes, types and metadata are consistent."""
    arrays, about = (migrations.rename(part, migrations.ALIGNMENT) for part in (arrays, about))
    if about["kind"] != KIND or not isinstance(about["metadata"], dict):
        raise ValueError
    for name, size in zip(NAMES, about["sizes"], strict=True):
        starts, targets, probabilities, unseen = (arrays[f"{name}.{key}"] for key in _TABLE_ARRAYS)
        if any(arrays[f"{name}.{key}"].dtype != dtype for key, dtype in _TABLE_ARRAYS.items()) or size < 1:
            raise ValueError
        if (
            len(starts) != len(unseen) + 1
            or starts[0] != 0
            or starts[-1] != len(targets)
            or len(probabilities) != len(targets)
        ):
            raise ValueError
        if (np.diff(starts) < 0).any() or targets.min(initial=0) < 0 or targets.max(initial=0) >= len(unseen) - 1:
            raise ValueError
