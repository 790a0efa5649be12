"""The values that cross borders between folders. NumPy arrays until `Batch.to(device)`; no torch at import."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    import torch
    from torch import Tensor

    Array = np.ndarray | Tensor


@dataclass(frozen=True)
class Cursor:
    """Where in the data a batch stands. Order and randomness are functions of it, and resume starts from it."""

    epoch: int = 0
    index: int = 0  # batches already taken from this epoch


def _over_arrays(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same frozen dataclass with `change` applied to each array in it."""
    arrays = {f.name: getattr(value, f.name) for f in fields(value)}
    return replace(value, **{k: change(v) for k, v in arrays.items() if hasattr(v, "shape")})


@dataclass(frozen=True)
class Tokens:
    """One text stream, padded at the end; each array is (batch, time)."""

    ids: Array
    mask: Array  # True = real
    document: Array | None = None  # packing: tokens see only tokens of the same number
    segment: Array | None = None  # 0, 1: first or second sentence
    prefix: Array | None = None  # True = in the part of the row that all of it may see
    central: Array | None = None  # True = sees all and is seen by all, whatever the window
    rank: Array | None = None  # from 0: in the order in which tokens see each other (XLNet)
    letters: Array | None = None  # (batch, time, letters): how words are spelled that the vocabulary lacks

    @property
    def rows(self) -> int:
        """How many texts there are."""
        return self.ids.shape[0]

    @property
    def count(self) -> int:
        """How many real tokens there are."""
        return int(self.mask.sum())


@dataclass(frozen=True)
class Pixels:
    """Pictures."""

    values: Array  # (batch, channels, y, x), 0 to 1

    @property
    def rows(self) -> int:
        """How many pictures there are."""
        return self.values.shape[0]

    @property
    def count(self) -> int:
        """How many pictures there are: what speed is told in."""
        return self.rows


@dataclass(frozen=True)
class Target:
    """What is to be predicted. Weights are known before the forward pass, and so are the counts."""

    values: Array
    weight: Array  # 0 = not predicted
    place: Array | None = None  # where in its split each value stands


@dataclass(frozen=True)
class Batch:
    """Streams in, targets out, and where in the data this is."""

    streams: Mapping[str, Tokens | Pixels]
    targets: Mapping[str, Target]
    at: Cursor = Cursor()
    fresh: bool = True  # False: row i goes on where row i of the batch before stopped (truncated BPTT)

    def over(self, change: Callable[[Any], Any]) -> Batch:
        """The same batch with `change` applied to every array."""
        streams = {name: _over_arrays(stream, change) for name, stream in self.streams.items()}
        targets = {name: _over_arrays(target, change) for name, target in self.targets.items()}
        return replace(self, streams=streams, targets=targets)

    def to(self, device: torch.device | str = "cpu") -> Batch:
        """The same batch as torch tensors."""
        import torch

        return self.over(lambda array: torch.as_tensor(array).to(device))

    def rows(self, start: int, stop: int) -> Batch:
        """Some rows of the batch: one rank's share, or a micro-batch."""
        return self.over(lambda array: array[start:stop])

    def columns(self, start: int, stop: int) -> Batch:
        """A stretch of time."""
        return self.over(lambda array: array[:, start:stop])

    @property
    def size(self) -> int:
        """How many rows there are."""
        return next(iter(self.streams.values())).rows

    @property
    def tokens(self) -> int:
        """How many real tokens there are, or pictures."""
        return sum(stream.count for stream in self.streams.values())


@dataclass(frozen=True)
class State:
    """What a model carries from one segment or step to the next. Every tensor has its rows first."""

    source: Mapping[str, Tensor]  # a row per input: encoder memory
    live: Mapping[str, Tensor]  # a row per hypothesis: recurrent states, caches, coverage

    def pick(self, parents: Tensor) -> State:
        """The hypotheses that go on, in their new order."""
        rows = len(next(iter(self.live.values()), parents))
        if len(parents) == rows and parents.tolist() == list(range(rows)):
            return self  # all of them as they were: caches are large
        return replace(self, live={k: v.index_select(0, parents) for k, v in self.live.items()})

    def keep(self, inputs: Tensor) -> State:
        """The inputs that are not finished."""
        return replace(self, source={k: v.index_select(0, inputs) for k, v in self.source.items()})

    def detach(self) -> State:
        """The same values, cut from the graph that made them (truncated BPTT)."""
        return self.over(lambda tensor: tensor.detach())

    def over(self, change: Callable[[Tensor], Tensor]) -> State:
        """The same state with `change` applied to every tensor."""
        return State(*({k: change(v) for k, v in part.items()} for part in (self.source, self.live)))


ALIGNMENT = "alignment"  # in a state's `live`, where its stepper looks at a source: (rows, source length)


class Encoded(NamedTuple):
    """What a backbone returns."""

    states: Tensor  # (batch, time, width)
    mask: Tensor  # (batch, time)
    layers: tuple[Tensor, ...] = ()  # on request
    state: State | None = None  # carried to the next segment or step
    alignment: Tensor | None = None  # (batch, time, source): how much each token of a source was looked at


class Term(NamedTuple):
    """A term of the loss, sum and count apart, so that micro-batches and ranks divide once, rightly."""

    name: str
    sum: Tensor
    count: float
    weight: float = 1.0


class Stepper(Protocol):
    """All that step-wise decoding knows of a model. Log-probabilities, since n-grams and ensembles have no logits."""

    size: int  # of a row of log-probabilities

    def start(self, batch: Batch) -> State:
        """The state after the prompts (all of one length) but for their last token."""

    def step(self, last: Tensor, state: State) -> tuple[Tensor, State]:
        """Read one token per row; return log-probabilities of the next (rows, size) and the new state."""
