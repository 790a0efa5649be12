"""Length curriculum (Shortformer; Press et al. 2021): training starts with short sequences, which cost less, and the
sequence length grows from stage to stage."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from firth.config.schema import Batching
from firth.datasets.collators.collator import Batches
from firth.errors import FirthError
from firth.types import Batch, Cursor


def stage_configs(config: Batching) -> tuple[Batching, ...]:
    """The batching configuration of each stage of a run; batches have as many tokens in all of them."""
    for before, after in zip(config.length_curriculum, (*config.length_curriculum, config.length)[1:], strict=True):
        if before >= after:
            lengths = ",".join(map(str, config.length_curriculum))
            what = f"batching.length_curriculum = {lengths}: lengths must increase, up to batching.length"
            raise FirthError(what, do=f"give lengths below {config.length}, the shortest first")
    shorter = (_with_length(config, length) for length in config.length_curriculum)
    return (*shorter, replace(config, length_curriculum=()))


def _with_length(config: Batching, length: int) -> Batching:
    """The configuration for shorter rows, with as many more rows per batch unless it has a token budget."""
    shorter = replace(config, length=length, length_curriculum=())
    if not hasattr(config, "batch_size"):
        return shorter
    return replace(shorter, batch_size=max(1, round(config.batch_size * config.length / length)))


@dataclass(frozen=True)
class LengthCurriculum:
    """The batches of one stage after the other; the cursor's epoch is the number of the stage."""

    stages: Sequence[Batches]
    batch_counts: Sequence[int]  # batches of each stage
    _ends: list[list[int]] = field(init=False, repr=False)  # of each stage: batches up to the end of each epoch in it

    def __post_init__(self) -> None:
        object.__setattr__(self, "_ends", [[] for _ in self.stages])

    def count(self, epoch: int) -> int:
        """The number of batches of a stage."""
        return self.batch_counts[min(epoch, len(self.batch_counts) - 1)]

    def batch(self, at: Cursor) -> Batch:
        """One training batch; after the last stage training goes on as in that stage."""
        last = len(self.stages) - 1
        stage, index = min(at.epoch, last), at.index + max(0, at.epoch - last) * self.batch_counts[last]
        return replace(self.stages[stage].batch(self._stage_cursor(stage, index)), cursor=at)

    def evaluation_batches(self) -> Iterator[Batch]:
        """One pass for evaluation, with the rows of the last stage."""
        return self.stages[-1].evaluation_batches()

    def _stage_cursor(self, stage: int, index: int) -> Cursor:
        """The cursor of a batch within the stage's own epochs."""
        ends = self._ends[stage]
        while not ends or ends[-1] <= index:
            ends.append((ends[-1] if ends else 0) + self.stages[stage].count(len(ends)))
        epoch = bisect_right(ends, index)
        return Cursor(epoch, index - (ends[epoch - 1] if epoch else 0))


def batches_per_stage(steps: int, stages: int, accumulate: int) -> tuple[int, ...]:
    """The number of batches of each stage, the run cut into equal stages that end where steps do."""
    ends = [steps * stage // stages for stage in range(stages + 1)]
    return tuple((end - start) * accumulate for start, end in pairwise(ends))
