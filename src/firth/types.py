"""The types that cross folder borders: batches, targets, decoding states, terms of the loss, steppers; and random
numbers as functions of a seed and a key.

Batches hold NumPy arrays until `Batch.to(device)`: a collator's is a `Batch[np.ndarray]`, a network's a
`Batch[Tensor]`, or `Batch` for short. No torch at import."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, Union

if TYPE_CHECKING:
    import numpy as np
    import torch
    from torch import Tensor
    from typing_extensions import TypeVar

    Array = TypeVar("Array", np.ndarray, Tensor, default=Tensor)
    NewArray = TypeVar("NewArray", np.ndarray, Tensor)
    Part = TypeVar("Part")
else:
    from typing import TypeVar

    Array = TypeVar("Array")


@dataclass(frozen=True)
class Cursor:
    """The position of a batch in the training data; shuffling and randomness are functions of it, resuming starts from
    it."""

    epoch: int = 0
    index: int = 0  # batches already taken from this epoch


def _map_arrays(value: Any, function: Callable[[Any], Any]) -> Any:
    """The same frozen dataclass with `function` applied to each of its arrays, and to those of streams in it."""
    if is_dataclass(value):
        mapped: Any = value
        return replace(mapped, **{f.name: _map_arrays(getattr(value, f.name), function) for f in fields(value)})
    return function(value) if hasattr(value, "shape") else value


@dataclass(frozen=True)
class Tokens(Generic[Array]):
    """A batch of token sequences, right-padded; each array is (batch, time), or (batch, sequences, time) where an
    example has several sequences: two texts apart, or the choices of a question."""

    ids: Array
    mask: Array  # True = real token, False = padding
    document: Array | None = None  # document id in packed sequences: tokens attend only within their document
    segment: Array | None = None  # token type id: 0 = first segment, 1 = second
    prefix: Array | None = None  # True = in the prefix of a prefix LM, visible to all positions
    # True = global attention: attends to all tokens and all attend to it (Longformer)
    global_attention: Array | None = None
    rank: Array | None = None  # from 0: in the factorisation order of a permutation LM (XLNet)
    characters: Array | None = None  # (batch, time, characters): of out-of-vocabulary words
    word_of: Array | None = None  # number of each token's word in its sentence; -1 = special token or padding
    sequences: Array | None = None  # (batch, sequences): True = the example has this sequence; of several each

    def flat(self) -> Tokens[Array]:
        """The sequences of all examples one by one (batch × sequences, time)."""
        if self.sequences is None:
            return self
        one_by_one = _map_arrays(replace(self, sequences=None), lambda array: array.reshape(-1, array.shape[-1]))
        assert isinstance(one_by_one, Tokens)
        return one_by_one

    @property
    def batch_size(self) -> int:
        """The number of sequences."""
        return len(self.ids)

    @property
    def count(self) -> int:
        """The number of tokens without padding."""
        return int(self.mask.sum())


@dataclass(frozen=True)
class Words(Generic[Array]):
    """A batch of sentences as words, right-padded; each array is (batch, words)."""

    ids: Array
    mask: Array  # True = word, False = padding
    # (batch, words, bytes): the bytes of every word, as `tokenizers/characters.py` codes them; as many as the longest
    characters: Array | None = None
    shape: Array | None = None  # casing class
    # words that are spelled alike have one number, so that a network computes the characters of each once; padding: -1
    spelling: Array | None = None
    subwords: Tokens[Array] | None = None  # of the same sentences, for an input that reads them

    @property
    def batch_size(self) -> int:
        """The number of sentences."""
        return len(self.ids)

    @property
    def count(self) -> int:
        """The number of words without padding."""
        return int(self.mask.sum())


@dataclass(frozen=True)
class Pixels(Generic[Array]):
    """A batch of images."""

    values: Array  # (batch, channels, y, x), 0 to 1

    @property
    def batch_size(self) -> int:
        """The number of images."""
        return len(self.values)

    @property
    def count(self) -> int:
        """The number of images, by which throughput is measured."""
        return self.batch_size


Stream = Union[Tokens[Array], Words[Array], Pixels[Array]]  # noqa: UP007 (generic: evaluated at run time)


@dataclass(frozen=True)
class Target(Generic[Array]):
    """What is predicted, with weights that are known before the forward pass; so are the counts of the loss."""

    values: Array
    weight: Array  # 0 = not predicted
    positions: Array | None = None  # of each value in its split


@dataclass(frozen=True)
class Batch(Generic[Array]):
    """Input streams by name, targets by name, and the position in the data."""

    streams: Mapping[str, Stream[Array]]
    targets: Mapping[str, Target[Array]]
    cursor: Cursor = Cursor()
    reset_state: bool = True  # False: sequence i continues sequence i of the previous batch (truncated BPTT)

    def tokens(self, name: str) -> Tokens[Array]:
        """The stream of this name, which is of tokens."""
        stream = self.streams[name]
        assert isinstance(stream, Tokens)
        return stream

    def words(self, name: str) -> Words[Array]:
        """The stream of this name, which is of words."""
        stream = self.streams[name]
        assert isinstance(stream, Words)
        return stream

    def map(self, function: Callable[[Array], NewArray]) -> Batch[NewArray]:
        """The same batch with `function` applied to every array."""
        streams = {name: _map_arrays(stream, function) for name, stream in self.streams.items()}
        targets = {name: _map_arrays(target, function) for name, target in self.targets.items()}
        return Batch(streams, targets, self.cursor, self.reset_state)

    def to(self, device: torch.device | str = "cpu") -> Batch[Tensor]:
        """The same batch as torch tensors."""
        import torch

        return self.map(lambda array: torch.as_tensor(array).to(device))

    def slice_batch(self, start: int, stop: int) -> Batch[Array]:
        """The sequences `start` to `stop`: a micro-batch, or one rank's part."""
        return self.map(lambda array: array[start:stop])

    def slice_time(self, start: int, stop: int) -> Batch[Array]:
        """The time steps `start` to `stop`."""
        return self.map(lambda array: array[:, start:stop])

    @property
    def size(self) -> int:
        """The batch size."""
        return next(iter(self.streams.values())).batch_size

    @property
    def token_count(self) -> int:
        """The number of tokens and words without padding, or of images."""
        return sum(stream.count for stream in self.streams.values())


@dataclass(frozen=True)
class State:
    """What a model carries from one segment or decoding step to the next; tensors have the batch as first dimension."""

    source: Mapping[str, Tensor]  # one entry per input: encoder outputs
    live: Mapping[str, Tensor]  # one entry per hypothesis: recurrent states, KV cache, coverage

    def reorder(self, parents: Tensor) -> State:
        """The hypotheses of these parents, in this order, after a step of beam search."""
        count = len(next(iter(self.live.values()), parents))
        if len(parents) == count and parents.tolist() == list(range(count)):
            return self  # unchanged: do not copy large caches
        return replace(self, live={k: v.index_select(0, parents) for k, v in self.live.items()})

    def select_inputs(self, inputs: Tensor) -> State:
        """These inputs alone, when others are finished."""
        return replace(self, source={k: v.index_select(0, inputs) for k, v in self.source.items()})

    def detach(self) -> State:
        """The same values, detached from the autograd graph (truncated BPTT)."""
        return self.map(lambda tensor: tensor.detach())

    def map(self, function: Callable[[Tensor], Tensor]) -> State:
        """The same state with `function` applied to every tensor."""
        return State(*({k: function(v) for k, v in part.items()} for part in (self.source, self.live)))


CHARACTERS = "characters"  # in `Batch.targets`: the characters of out-of-vocabulary target words
ALIGNMENT = "alignment"  # attention weights over the source in `State.live`, if the stepper has any: (batch, source)


class Encoded(NamedTuple):
    """The output of a backbone."""

    states: Tensor  # hidden states (batch, time, width)
    mask: Tensor  # (batch, time)
    # on request: the embeddings (batch, time, width), then the hidden states of each layer; the last are `states`
    layers: tuple[Tensor, ...] = ()
    state: State | None = None  # carried to the next segment or step
    alignment: Tensor | None = None  # attention weights over the source (batch, time, source)
    directions: int = 1  # 2: the second half of a state is that of a backward network
    tokens: Tokens | None = None  # the sequences that were encoded, for heads
    sequences: Tensor | None = None  # (examples, sequences): which there are, where an example has several


@dataclass(frozen=True)
class Term:
    """A term of the loss with separate sum and count, so that the mean over micro-batches and ranks is exact."""

    name: str
    sum: Tensor
    count: float
    weight: float = 1.0


LABEL = "label"  # the target of examples with one label each
TEXT = "text"


class HasVocabulary(Protocol):
    """What a size needs of a tokenizer."""

    @property
    def vocab_size(self) -> int:
        """The number of tokens."""


@dataclass(frozen=True)
class Sizes:
    """The vocabulary of the text, those of streams that do not share it, and the outputs for each target."""

    vocabulary: int = 0
    own: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, int] = field(default_factory=lambda: {LABEL: 2})

    @classmethod
    def of(
        cls, tokenizers: Mapping[str, HasVocabulary], labels: Sequence[str] | Mapping[str, Sequence[str]] = ()
    ) -> Sizes:
        """Those of a run's tokenizers, and of its labels: their names, or the names for each target."""
        named: Mapping[str, Sequence[str]] = labels if isinstance(labels, Mapping) else {LABEL: labels}
        own = {stream: tokenizer.vocab_size for stream, tokenizer in tokenizers.items() if stream != TEXT}
        vocabulary = tokenizers[TEXT].vocab_size if TEXT in tokenizers else 0
        return cls(vocabulary, own, {target: len(names) or 2 for target, names in named.items()})

    @classmethod
    def of_run(cls, tokenizers: Mapping[str, HasVocabulary], data: Mapping[str, Any]) -> Sizes:
        """Those of a run's tokenizers and of what its record says of the data."""
        return cls.of(tokenizers, data.get("labels", ()))


class Stepper(Protocol):
    """The interface of step-wise decoding; log-probabilities, since n-gram models and ensembles have no logits."""

    size: int  # of the distribution: the vocabulary, or more with copying

    def start(self, batch: Batch) -> State:
        """The state after the prompts (all of one length) without their last token."""

    def step(self, last: Tensor, state: State) -> tuple[Tensor, State]:
        """Feed one token per hypothesis; return log-probabilities of the next token (batch, size) and the new state."""


# --- type narrowing -----------------------------------------------------------------------------------------------


def expect(value: object, kind: type[Part]) -> Part:
    """The value, which a check before this one found to be of that kind."""
    if not isinstance(value, kind):
        raise TypeError(f"expected {kind.__name__}, found {type(value).__name__}")
    return value


# --- randomness: a function of a seed and a key, such as a cursor -------------------------------------------------


def derive_seed(seed: int, *key: int | str) -> int:
    """A 63-bit seed that depends on the seed and the key alone."""
    digest = hashlib.sha256(repr((seed, *key)).encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


def generator(seed: int, *key: int | str) -> np.random.Generator:
    """A Philox generator of its own for a seed and a key, so that a resumed run samples what it would have sampled."""
    import numpy as np

    return np.random.Generator(np.random.Philox(key=derive_seed(seed, *key)))
