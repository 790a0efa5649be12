"""What a network is trained on: plain text or examples of a task as tokens, or pictures. One table from settings to
readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from firth.config import schema
from firth.data import examples
from firth.data.cache import Split, tokenised
from firth.data.corpus import make_tokenizer, read_text
from firth.data.numbered import label_names, numbered
from firth.data.pictured import read_pictures
from firth.data.records import Pair
from firth.data.spelled import Spelled, spelled
from firth.data.written import pairs
from firth.text.tokenizer import Tokenizer

Say = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class ExampleSplit(Split):
    """Tokenised examples: the documents are their texts, `parts` to each, one after the other."""

    parts: int = 1
    spelled: Spelled | None = None  # where a network is to read or spell words that the vocabulary lacks
    labels: np.ndarray | None = None  # (examples,): numbers of names, or OTHER
    scores: np.ndarray | None = None  # (examples,)

    @property
    def notes(self) -> dict[str, Any]:
        """Its labels, and how many texts each example has."""
        return {"labels": list(self.names), "parts": self.parts}

    def __len__(self) -> int:
        return (len(self.starts) - 1) // self.parts

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each text, [END] counted (examples, parts)."""
        return np.diff(self.starts).reshape(-1, self.parts)

    def texts(self, number: int) -> list[np.ndarray]:
        """The tokens of an example's texts, without [END]."""
        return [self.ids[first:last] for first, last in self._spans(number)]

    def letters(self, number: int) -> list[np.ndarray]:
        """The letters of the tokens of an example's texts that the vocabulary lacks, (tokens, letters) each."""
        return [self.spelled.between(first, last) for first, last in self._spans(number)]

    def _spans(self, number: int) -> list[tuple[int, int]]:
        starts = self.starts[number * self.parts : (number + 1) * self.parts + 1].tolist()
        return [(first, last - 1) for first, last in pairwise(starts)]


@dataclass(frozen=True, eq=False)
class SidedSplit(ExampleSplit):
    """Pairs of texts whose sides have a vocabulary each: the tokens are those of the second texts."""

    source: ExampleSplit | None = None  # the first texts

    @property
    def lengths(self) -> np.ndarray:
        return np.concatenate([self.source.lengths, super().lengths], 1)

    def texts(self, number: int) -> list[np.ndarray]:
        return [*self.source.texts(number), *super().texts(number)]

    def letters(self, number: int) -> list[np.ndarray]:
        return [*self.source.letters(number), *super().letters(number)]


Tokenizers = Mapping[str, Tokenizer]  # "text": of the text, or of what is written; "source": of what is read
Material = tuple[Tokenizers, dict[str, Split]]


def read_material(config: schema.Neural, ready: Tokenizers, cache: Path, say: Say) -> Material:
    """The splits of a configuration as tokens, by tokenizers that are ready or trained now."""
    return READERS[type(config.data)](config, ready, cache, say)


def text_size(tokenizers: Tokenizers) -> int:
    """Tokens of the vocabulary, which pictures have none of."""
    return tokenizers["text"].size if "text" in tokenizers else 0


def source_size(tokenizers: Tokenizers) -> int:
    """Tokens of the vocabulary of what is read, if it has one of its own; else 0."""
    return tokenizers["source"].size if "source" in tokenizers else 0


def read_plain(config: schema.Neural, ready: Tokenizers, cache: Path, say: Say) -> Material:
    """Plain text as tokens."""
    tokenizer, splits = read_text(config, ready.get("text"), cache, say)
    return {"text": tokenizer}, splits


def read_examples(config: schema.Neural, ready: Tokenizers, cache: Path, say: Say) -> Material:
    """Examples of a task as tokens."""
    say(f"reading {', '.join(config.data.text)}")
    found = examples.read(config.data, config.seed)
    tokenizer = ready.get("text") or make_tokenizer(config.tokenizer, found["train"].texts)
    say(f"tokenizer: {tokenizer.kind}, {tokenizer.size:,} tokens")
    names = label_names(found["train"])
    splits = {name: tokenise(part, tokenizer, names, cache) for name, part in found.items()}
    told = ", ".join(f"{name} {len(part):,}" for name, part in splits.items())
    say(f"examples: {told}" + (f"; {len(names):,} labels" if names else ""))
    return {"text": tokenizer}, splits


def read_pairs(config: schema.Neural, ready: Tokenizers, cache: Path, say: Say) -> Material:
    """Texts that are read and texts that are written for them, as tokens."""
    data = config.data
    say(f"reading {', '.join((*data.source, *data.target) or data.text)}")
    found = pairs(data, config.seed)
    tokenizers = dict(ready) or _pair_tokenizers(config, found["train"])
    told = "; ".join(f"{kind.kind}, {kind.size:,} tokens" for kind in reversed(tokenizers.values()))
    say(f"tokenizer: {told}" if len(tokenizers) == 1 else f"tokenizers of what is read and written: {told}")
    say("pairs of texts: " + ", ".join(f"{name} {len(part.examples):,}" for name, part in found.items()))
    letters = bool(config.input.letters or config.head.letters)
    splits = {name: tokenise_pairs(part, tokenizers, cache, letters) for name, part in found.items()}
    if cut := int((splits["train"].lengths > config.batching.length).any(1).sum()):
        say(f"{cut:,} of the pairs to learn from are cut: a text of more than {config.batching.length} tokens")
    return tokenizers, splits


def _pair_tokenizers(config: schema.Neural, train: examples.Split) -> dict[str, Tokenizer]:
    """One for both sides, or one for each."""
    if config.data.vocabularies == "shared":
        return {"text": make_tokenizer(config.tokenizer, train.texts)}
    made = {"text": make_tokenizer(config.tokenizer, [pair.right for pair in train.examples])}
    return {**made, "source": make_tokenizer(config.tokenizer, [pair.left for pair in train.examples])}


def tokenise_pairs(part: examples.Split, tokenizers: Tokenizers, cache: Path, letters: bool = False) -> ExampleSplit:
    """A split of pairs as tokens, each side by its own tokenizer where it has one, if asked with letters."""
    if "source" not in tokenizers:
        found, tokenizer = tokenise(part, tokenizers["text"], (), cache), tokenizers["text"]
        return replace(found, spelled=spelled(found, part.texts, tokenizer)) if letters else found
    sides = []
    for name, texts in (("source", [p.left for p in part.examples]), ("text", [p.right for p in part.examples])):
        plain = tokenised(cache, part.name, f"{part.key} {name}", iter(texts), tokenizers[name], account=False)
        values = {field.name: getattr(plain, field.name) for field in fields(Split)} | {"key": part.key}
        sides.append(values | {"spelled": spelled(plain, texts, tokenizers[name]) if letters else None})
    return SidedSplit(**sides[1], parts=1, source=ExampleSplit(**sides[0]))


READERS = {
    schema.Text: read_plain,
    schema.TaskExamples: read_examples,
    schema.TaskTexts: read_pairs,
    schema.Pictures: read_pictures,
}


def tokenise(part: examples.Split, tokenizer: Tokenizer, names: tuple[str, ...], cache: Path) -> ExampleSplit:
    """A split as tokens, from the cache where it has them."""
    plain = tokenised(cache, part.name, part.key, iter(part.texts), tokenizer, account=False)
    values = {field.name: getattr(plain, field.name) for field in fields(Split)} | {"names": names}
    labels = numbered(part.labels, names)
    count = len(examples.sides(part.examples[0]))
    return ExampleSplit(**values, parts=count, labels=labels if names else None, scores=_scores(part))


def _scores(part: examples.Split) -> np.ndarray | None:
    found = list(_each_score(part))
    return None if any(score is None for score in found) else np.array(found, np.float64)


def _each_score(part: examples.Split) -> Iterator[float | None]:
    return (example.score if isinstance(example, Pair) else None for example in part.examples)
