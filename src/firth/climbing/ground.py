"""The common ground of all rungs: one tokenizer, one split, and the held-out text cut into what is judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np

from firth.climbing.passages import Passage, passages
from firth.climbing.settings import Settings
from firth.config import schema
from firth.data.cache import Split
from firth.data.corpus import Documents, documents, make_tokenizer, tokenise
from firth.data.world import World
from firth.errors import FirthError
from firth.metrics.language import ByteModel, bits_per_byte
from firth.runs import files
from firth.text.tokenizer import Tokenizer

HELD_OUT = ("valid", "test")
FEW = 20  # documents: with fewer, blocks of tokens are drawn instead
_BLOCK = 50  # tokens
_MOST = 5000  # units: more documents are drawn in groups
_SAMPLE = 1000  # documents of the world whose exact probability is worked out
# The vocabulary by bytes of training text. Very little text is read by character.
_VOCABULARIES = ((30_000_000, 8000), (4_000_000, 4000), (500_000, 2000), (0, 1000))
_BY_CHARACTER = 30_000


@dataclass(frozen=True)
class Held:
    """A held-out split in units that are drawn anew to see how sure a score is."""

    edges: np.ndarray  # (units + 1,) of tokens
    sizes: np.ndarray  # (units,) in bytes, or in tokens where the tokenizer loses text
    extra: float  # nats for the text under [UNK], the same for every rung

    def totals(self, nats: np.ndarray) -> np.ndarray:
        """Nats of each unit (units,) from those of each token."""
        found = np.add.reduceat(nats.astype(np.float64), self.edges[:-1])
        return found + self.extra * self.sizes / self.sizes.sum()


@dataclass(frozen=True)
class Ground:
    """What every rung stands on."""

    settings: Settings
    tokenizer: Tokenizer
    config: schema.Tokenizer  # that gives this tokenizer again, by its file
    held_out: Mapping[str, Sequence[str]]  # the texts of these splits
    splits: Mapping[str, Split]

    @cached_property
    def in_bytes(self) -> bool:
        """Whether bits per byte can be told: no text is lost."""
        tallies = [self.splits[name].tally for name in HELD_OUT]
        replaced = self.settings.data.errors == "replace" and any(
            all(tally.histogram[byte] for byte in "\ufffd".encode()) for tally in tallies
        )
        return not replaced and all(tally.lossless for tally in tallies)

    @cached_property
    def held(self) -> dict[str, Held]:
        """The held-out splits in units."""
        return {name: self._held(name) for name in HELD_OUT}

    def _held(self, name: str) -> Held:
        split = self.splits[name]
        edges = unit_edges(split.starts)
        if not self.in_bytes:
            return Held(edges, np.diff(edges), 0.0)
        counts = self.splits["train"].tally.histogram
        extra = ByteModel(counts).nats(split.tally.unknown, split.tally.unknown_count)
        lengths = np.fromiter((len(text.encode()) for text in self.held_out[name]), np.int64)
        return Held(edges, _bytes_between(edges, split.starts, lengths), extra)

    @cached_property
    def passages(self) -> list[Passage]:
        """Sentences of the test text."""
        return list(passages(self.held_out["test"], self.tokenizer, self.splits["test"].starts))

    def repeated(self, name: str) -> int:
        """How many documents of a held-out split also stand in the training text."""
        held = Counter(_tokens(self.splits[name]))
        return sum(held[text] for text in held.keys() & set(_tokens(self.splits["train"])))

    def floors(self) -> dict[str, float]:
        """What held-out text costs whoever knows the truth, in bits per byte: of texts that come from our world."""
        data = self.settings.data
        sources = {"valid": data.valid or data.text, "test": data.test or data.text}
        made = [name for name in HELD_OUT if all(word.partition(":")[0] == "world" for word in sources[name])]
        return {name: _truth(self.held_out[name]) for name in made} if self.in_bytes else {}


def _tokens(split: Split) -> Iterator[int]:
    """The documents, each as a number that equal ones share."""
    return (hash(split.ids[first:last].tobytes()) for first, last in pairwise(split.starts.tolist()))


def _truth(texts: Sequence[str]) -> float:
    """Of these very documents, or if they are many, of what is expected of them."""
    world = World()
    if len(texts) > _SAMPLE:
        return world.bits_per_byte()
    return bits_per_byte(-sum(map(world.log_probability, texts)), sum(len(text.encode()) for text in texts))


def read_texts(settings: Settings, cache: Path) -> dict[str, Documents]:
    """The three splits as documents; an error if there are fewer."""
    texts = documents(settings.data, settings.seed, cache)
    for name in HELD_OUT:
        if name not in texts:
            raise FirthError(f"no {name} text", do=f"give --{name}: a ladder needs three splits")
    return texts


def prepare(
    settings: Settings, texts: Mapping[str, Documents], folder: Path, cache: Path, say: Callable[[str], None]
) -> Ground:
    """Train the tokenizer, or take the folder's, and cut everything into tokens."""
    place = folder.absolute() / "tokenizer.json"
    wanted = _wanted(settings, texts["train"])
    if not place.exists():
        files.replace_file(place, make_tokenizer(wanted, texts["train"]).to_json().encode())
    tokenizer = Tokenizer.load(place)
    say(f"tokenizer: {tokenizer.kind}, {tokenizer.size:,} tokens")
    splits = tokenise(texts, tokenizer, cache, say)
    kept = {name: list(texts[name]) for name in HELD_OUT}
    return Ground(settings, tokenizer, replace(wanted, file=str(place)), kept, splits)


def _wanted(settings: Settings, texts: Iterable[str]) -> schema.Tokenizer:
    model, vocabulary = settings.tokenizer, settings.vocabulary
    size = 0 if vocabulary and model != "auto" else sum(len(text.encode()) for text in texts)
    if model == "auto":
        model = "char" if size < _BY_CHARACTER else "byte-bpe"
    size = vocabulary or _fitting(model, size)
    return schema.Tokenizer(model=model, size=size, lower=settings.lower, split=settings.split)


def _fitting(model: str, size: int) -> int:
    """How many tokens so much text is enough for; words need many, and characters are as many as there are."""
    if model in ("char", "byte", "word"):
        return 10_000
    return next(vocabulary for least, vocabulary in _VOCABULARIES if size >= least)


def unit_edges(starts: np.ndarray) -> np.ndarray:
    """Where units begin and end, in tokens: documents, groups of them if they are many, blocks of tokens if few."""
    count = len(starts) - 1
    if count >= FEW:
        chosen = np.linspace(0, count, min(count, _MOST) + 1).round().astype(np.int64)
        return np.asarray(starts)[chosen]
    block = min(_BLOCK, max(1, int(starts[-1]) // FEW))
    return np.concatenate([*_blocks(starts, block), starts[-1:]])


def _blocks(starts: np.ndarray, block: int) -> Iterator[np.ndarray]:
    for start, stop in pairwise(starts):
        count = max(1, round(int(stop - start) / block))
        yield np.linspace(start, stop, count + 1).astype(np.int64)[:-1]


def _bytes_between(edges: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Bytes of each unit; within a document, each token has an equal part."""
    ends = np.concatenate([[0], np.cumsum(lengths)])
    return np.diff(np.interp(edges, starts, ends))
