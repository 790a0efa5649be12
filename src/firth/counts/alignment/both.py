"""Both directions of a model: links between the words of texts, and the file they are kept in (safetensors, mapped)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from firth.config.schema import Aligner
from firth.counts.alignment.bitext import Bitext
from firth.counts.alignment.joining import Links, join
from firth.counts.alignment.lexicon import Lexicon
from firth.counts.alignment.model import Direction, Loss
from firth.counts.alignment.placing import PLACINGS
from firth.data import mapped

KIND = "alignment"
NAMES = ("forward", "backward")
_LEXICON = {"starts": "<i8", "targets": "<i4", "chances": "<f4", "rests": "<f4"}


class Both(NamedTuple):
    """P(right | left) and P(left | right)."""

    forward: Direction
    backward: Direction

    def align(self, bitext: Bitext, how: str, threads: int = 1) -> list[list[tuple[int, int]]]:
        """The links of each pair, in words between blanks, sorted; a pair with an empty side has none."""
        kept = bitext.usable()
        chosen = bitext.chosen(kept)
        ways = zip(self, (chosen, chosen.turned), strict=True)
        sources = [model.best(model.texts(texts), threads) for model, texts in ways]
        found = iter(_in_words(join(*sources, chosen.left.lengths, chosen.right.lengths, how), chosen).lists())
        return [next(found) if there else [] for there in kept]

    def losses(self, bitext: Bitext, threads: int = 1) -> tuple[Loss, Loss]:
        """Of the right texts given the left ones, and the other way round; pairs with an empty side are passed over."""
        chosen = bitext.chosen(bitext.usable())
        ways = zip(self, (chosen, chosen.turned), strict=True)
        return tuple(model.loss(model.texts(texts), threads) for model, texts in ways)


def _in_words(links: Links, bitext: Bitext) -> Links:
    """Links between tokens as links between the words that they are parts of."""
    pair = np.repeat(np.arange(len(bitext)), np.diff(links.starts))
    left, right = bitext.left, bitext.right
    words = [side.words[side.starts[pair] + ends] for side, ends in zip((left, right), links.ends.T, strict=True)]
    found = np.unique(np.stack([pair, *words], 1), axis=0)
    starts = np.searchsorted(found[:, 0], np.arange(len(bitext) + 1))
    return Links(found[:, 1:].astype(np.int32), starts)


# --- the file -----------------------------------------------------------------------------------------------------


def save(both: Both, path: str | Path, note: Mapping[str, Any] | None = None) -> None:
    """Everything, with a note of the caller's (JSON values)."""
    arrays = {}
    for name, model in zip(NAMES, both, strict=True):
        own = {key: getattr(model.lexicon, key) for key in _LEXICON} | model.placing.arrays
        arrays |= {f"{name}.{key}": value for key, value in own.items()}
    about = {"kind": KIND, "sizes": [model.lexicon.size for model in both], "note": dict(note or {})}
    about["parameters"] = sum(len(model.lexicon.targets) for model in both)
    wide_first = dict(sorted(arrays.items(), key=lambda item: -item[1].dtype.itemsize))
    mapped.write(Path(path), wide_first, about)


def load(path: str | Path, config: Aligner) -> Both:
    """The model of a file, as this configuration has it."""
    arrays, about = _open(Path(path))
    return Both(*(_direction(arrays, name, size, config) for name, size in zip(NAMES, about["sizes"], strict=True)))


def read_note(path: str | Path) -> dict[str, Any]:
    """The note that `save` was given."""
    return _open(Path(path))[1]["note"]


def _direction(arrays: mapped.Arrays, name: str, size: int, config: Aligner) -> Direction:
    own = {key.removeprefix(f"{name}."): array for key, array in arrays.items() if key.startswith(f"{name}.")}
    lexicon = Lexicon(*(own.pop(key) for key in _LEXICON), size)
    placing = PLACINGS[config.places](config)
    placing.arrays |= own
    return Direction(lexicon, placing)


def _open(path: Path) -> tuple[mapped.Arrays, mapped.About]:
    arrays, about = mapped.read(path, "a model of alignment", _check, "c")
    return {name: array.view(np.ndarray) for name, array in arrays.items()}, about


def _check(arrays: mapped.Arrays, about: mapped.About) -> None:
    """A damaged file is found before a loop can run astray; ValueError or the like."""
    if about["kind"] != KIND or not isinstance(about["note"], dict):
        raise ValueError
    for name, size in zip(NAMES, about["sizes"], strict=True):
        starts, targets, chances, rests = (arrays[f"{name}.{key}"] for key in _LEXICON)
        if any(arrays[f"{name}.{key}"].dtype != kind for key, kind in _LEXICON.items()) or size < 1:
            raise ValueError
        if (
            len(starts) != len(rests) + 1
            or starts[0] != 0
            or starts[-1] != len(targets)
            or len(chances) != len(targets)
        ):
            raise ValueError
        if (np.diff(starts) < 0).any() or targets.min(initial=0) < 0 or targets.max(initial=0) >= len(rests) - 1:
            raise ValueError
