"""The data shared by all rungs: one tokenizer, one split, and the units of held-out text for the bootstrap."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np

from firth.config import schema
from firth.datasets.text_dataset import Documents, documents, make_tokenizer, tokenise_splits
from firth.datasets.token_cache import Split
from firth.datasets.world import default_world
from firth.errors import FirthError
from firth.ladder.passages import Passage, extract_passages
from firth.ladder.settings import Settings
from firth.metrics.perplexity import bits_per_byte
from firth.runs import json_files
from firth.runs.gate import Gate
from firth.runs.progress import Progress
from firth.tokenizers.tokenizer import Tokenizer

HELD_OUT = ("valid", "test")
TOKENIZER = "tokenizer.json"
MIN_DOCUMENTS = 20  # with fewer, blocks of tokens are resampled instead
_BLOCK_TOKENS = 50
_MAX_UNITS = 5000  # more documents are resampled in groups
_MAX_EXACT = 1000  # documents of the world whose exact probability is computed
# (bytes of training text, vocabulary size). Very little text is tokenised by character.
_VOCABULARY_SIZES = ((30_000_000, 8000), (4_000_000, 4000), (500_000, 2000), (0, 1000))
_MIN_SUBWORD_BYTES = 30_000


@dataclass(frozen=True)
class HeldOutUnits:
    """A held-out split divided into the units that the bootstrap resamples."""

    boundaries: np.ndarray  # (units + 1,) token offsets
    sizes: np.ndarray  # (units,) in bytes
    lost_nats: float  # what the tokenizer loses and the text under [UNK], the same for every rung

    @property
    def lost_bits_per_byte(self) -> float:
        """The part of every rung's bits per byte that is for lost text."""
        return bits_per_byte(self.lost_nats, float(self.sizes.sum()))

    def sum_by_unit(self, surprisals: np.ndarray) -> np.ndarray:
        """Sum token surprisals (nats) by unit, (units,), with each unit's part of the lost text."""
        totals = np.add.reduceat(surprisals.astype(np.float64), self.boundaries[:-1])
        return totals + self.lost_nats * self.sizes / self.sizes.sum()


@dataclass(frozen=True)
class SharedData:
    """The tokenizer and splits shared by every rung."""

    settings: Settings
    tokenizer: Tokenizer
    tokenizer_config: schema.Tokenizer  # as it was trained
    texts: Mapping[str, Sequence[str]]  # of the held-out splits
    splits: Mapping[str, Split]
    is_limited: bool = False  # the held-out text is less than its fraction, by `data.max_heldout`

    @property
    def settings_shown(self) -> Settings:
        """The settings for a command that the user reads: without a limit that makes no difference."""
        if self.is_limited:
            return self.settings
        return replace(self.settings, data=replace(self.settings.data, max_heldout=Settings().data.max_heldout))

    @cached_property
    def units(self) -> dict[str, HeldOutUnits]:
        """The units of the held-out splits."""
        return {name: self._split_units(name) for name in HELD_OUT}

    def _split_units(self, name: str) -> HeldOutUnits:
        split = self.splits[name]
        boundaries, counts = unit_boundaries(split.starts), self.splits["train"].tally.histogram
        lost_nats = split.tally.lost_nll(counts, self.settings.data.encoding_errors)
        lengths = np.fromiter((len(text.encode()) for text in self.texts[name]), np.int64)
        return HeldOutUnits(boundaries, _bytes_between(boundaries, split.starts, lengths), lost_nats)

    @cached_property
    def passages(self) -> list[Passage]:
        """Passages of the test text."""
        return list(extract_passages(self.texts["test"], self.tokenizer, self.splits["test"].starts))

    def true_entropy(self) -> dict[str, float]:
        """The entropy of held-out text from the built-in world in bits per byte: a lower bound for every model."""
        data = self.settings.data
        sources = {"valid": data.valid or data.text, "test": data.test or data.text}
        generated = [name for name in HELD_OUT if all(source.partition(":")[0] == "world" for source in sources[name])]
        return {name: _true_bits_per_byte(self.texts[name]) for name in generated}


def _true_bits_per_byte(texts: Sequence[str]) -> float:
    """Bits per byte under the world's true distribution: of these documents, or if they are many, in expectation."""
    world = default_world()
    if len(texts) > _MAX_EXACT:
        return world.bits_per_byte()
    return bits_per_byte(-sum(map(world.log_probability, texts)), sum(len(text.encode()) for text in texts))


def read_texts(settings: Settings, cache: Path) -> dict[str, Documents]:
    """Read the three splits as documents; an error if one is missing."""
    texts = documents(settings.data, settings.seed, cache)
    for name in HELD_OUT:
        if name not in texts:
            raise FirthError(f"no {name} text", do=f"give --{name}: a ladder needs three splits")
    return texts


def prepare(
    settings: Settings, texts: Mapping[str, Documents], folder: Path, cache: Path, progress: Progress
) -> SharedData:
    """Train the shared tokenizer, or load the folder's, and tokenise all splits."""
    gate, config = Gate(folder), _tokenizer_config(settings, texts["train"])
    if not gate.exists(TOKENIZER):
        progress.stage("training the tokenizer")
        gate.replace(TOKENIZER, make_tokenizer(config, texts["train"]).to_json().encode())
    try:
        tokenizer = Tokenizer(gate.read(TOKENIZER, json_files.MAX_BYTES).decode(), folder / TOKENIZER)
    except (ValueError, RecursionError):
        raise FirthError("not a tokenizer file", where=folder / TOKENIZER, do="delete it") from None
    progress.say(f"tokenizer: {tokenizer.kind}, {tokenizer.vocab_size:,} tokens")
    progress.stage("tokenising the text")
    splits = tokenise_splits(texts, tokenizer, cache, progress.say)
    held_out = {name: list(texts[name]) for name in HELD_OUT}
    is_limited = any(texts[name].is_limited for name in HELD_OUT)
    return SharedData(settings, tokenizer, config, held_out, splits, is_limited)


def _tokenizer_config(settings: Settings, texts: Iterable[str]) -> schema.Tokenizer:
    model, vocabulary = settings.tokenizer, settings.vocabulary_size
    size = 0 if vocabulary and model != "auto" else sum(len(text.encode()) for text in texts)
    if model == "auto":
        model = "char" if size < _MIN_SUBWORD_BYTES else "byte-bpe"
    size = vocabulary or _choose_vocabulary_size(model, size)
    return schema.Tokenizer(model=model, vocabulary_size=size, lowercase=settings.lowercase, split=settings.split)


def _choose_vocabulary_size(model: str, size: int) -> int:
    """The vocabulary size for so many bytes of text; for words, and as an upper limit for characters, 10,000."""
    if model in ("char", "byte", "word"):
        return 10_000
    return next(vocabulary_size for min_bytes, vocabulary_size in _VOCABULARY_SIZES if size >= min_bytes)


def unit_boundaries(starts: np.ndarray) -> np.ndarray:
    """The token offsets of units: documents, groups of documents if they are many, blocks of tokens if few."""
    count = len(starts) - 1
    if count >= MIN_DOCUMENTS:
        selected = np.linspace(0, count, min(count, _MAX_UNITS) + 1).round().astype(np.int64)
        return np.asarray(starts)[selected]
    block = min(_BLOCK_TOKENS, max(1, int(starts[-1]) // MIN_DOCUMENTS))
    return np.concatenate([*_block_boundaries(starts, block), starts[-1:]])


def _block_boundaries(starts: np.ndarray, block: int) -> Iterator[np.ndarray]:
    for start, stop in pairwise(starts):
        count = max(1, round(int(stop - start) / block))
        yield np.linspace(start, stop, count + 1).astype(np.int64)[:-1]


def _bytes_between(boundaries: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The bytes of each unit; within a document, they are divided equally among tokens."""
    ends = np.concatenate([[0], np.cumsum(lengths)])
    return np.diff(np.interp(boundaries, starts, ends))
