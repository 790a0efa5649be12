"""Rows that grow while a model learns: short ones first, which cost less and teach sooner (Press et al. 2021)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from firth.config.schema import Batching
from firth.data.batches.common import Batches
from firth.errors import FirthError
from firth.types import Batch, Cursor


def stages(config: Batching) -> tuple[Batching, ...]:
    """How rows are made in each part of a run; a batch has as many tokens in all of them."""
    for before, after in zip(config.stages, (*config.stages, config.length)[1:], strict=True):
        if before >= after:
            what = (
                f"batching.stages = {','.join(map(str, config.stages))}: rows must grow, up to {config.length} tokens"
            )
            raise FirthError(what, do="give shorter lengths than batching.length, the shortest first")
    return (*(_shorter(config, length) for length in config.stages), replace(config, stages=()))


def _shorter(config: Batching, length: int) -> Batching:
    rows = {"rows": max(1, round(config.rows * config.length / length))} if hasattr(config, "rows") else {}
    return replace(config, length=length, stages=(), **rows)


@dataclass(frozen=True)
class Staged:
    """Batches of one part of a run after the other; the cursor's epoch is the part, so that it alone says the stage."""

    parts: Sequence[Batches]
    shares: Sequence[int]  # batches of each part
    _ends: list[list[int]] = field(init=False, repr=False)  # of each part: batches up to the end of each epoch in it

    def __post_init__(self) -> None:
        object.__setattr__(self, "_ends", [[] for _ in self.parts])

    def count(self, epoch: int) -> int:
        """How many batches a part has."""
        return self.shares[min(epoch, len(self.shares) - 1)]

    def batch(self, at: Cursor) -> Batch:
        """One training batch. After the last part it goes on like that part."""
        last = len(self.parts) - 1
        part, index = min(at.epoch, last), at.index + max(0, at.epoch - last) * self.shares[last]
        return replace(self.parts[part].batch(self._inside(part, index)), at=at)

    def once(self) -> Iterator[Batch]:
        """Every token once, as rows are in the end."""
        return self.parts[-1].once()

    def _inside(self, part: int, index: int) -> Cursor:
        """Where the batch stands among the part's own epochs."""
        ends = self._ends[part]
        while not ends or ends[-1] <= index:
            ends.append((ends[-1] if ends else 0) + self.parts[part].count(len(ends)))
        epoch = bisect_right(ends, index)
        return Cursor(epoch, index - (ends[epoch - 1] if epoch else 0))


def shares(steps: int, parts: int, accumulate: int) -> tuple[int, ...]:
    """Batches of each of so many equal parts of a run; parts end where steps do."""
    ends = [steps * part // parts for part in range(parts + 1)]
    return tuple((end - start) * accumulate for start, end in pairwise(ends))
