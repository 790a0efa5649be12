"""What a network is trained on, as tokens: plain text, or examples of a task. One table from settings to readers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from firth.config import schema
from firth.data import examples
from firth.data.cache import Split, tokenised
from firth.data.corpus import make_tokenizer, read_text
from firth.data.records import Pair
from firth.data.written import pairs
from firth.errors import FirthError
from firth.text.tokenizer import Tokenizer

Say = Callable[[str], None]
OTHER = -1  # the number of a label that the training examples do not have


@dataclass(frozen=True, eq=False)
class ExampleSplit(Split):
    """Tokenised examples: the documents are their texts, `parts` to each, one after the other."""

    parts: int = 1
    labels: np.ndarray | None = None  # (examples,): numbers of names, or OTHER
    scores: np.ndarray | None = None  # (examples,)

    @property
    def notes(self) -> dict[str, Any]:
        """Its labels, and how many texts each example has."""
        return {"labels": list(self.names), "parts": self.parts}

    def __len__(self) -> int:
        return (len(self.starts) - 1) // self.parts

    def texts(self, number: int) -> list[np.ndarray]:
        """The tokens of an example's texts, without [END]."""
        first = number * self.parts
        places = range(first, first + self.parts)
        return [self.ids[self.starts[place] : self.starts[place + 1] - 1] for place in places]


def read_material(
    config: schema.Neural, ready: Tokenizer | None, cache: Path, say: Say
) -> tuple[Tokenizer, dict[str, Split]]:
    """The splits of a configuration as tokens, by a tokenizer that is ready or trained now."""
    return READERS[type(config.data)](config, ready, cache, say)


def read_examples(
    config: schema.Neural, ready: Tokenizer | None, cache: Path, say: Say
) -> tuple[Tokenizer, dict[str, Split]]:
    """Examples of a task as tokens."""
    say(f"reading {', '.join(config.data.text)}")
    found = examples.read(config.data, config.seed)
    tokenizer = ready or make_tokenizer(config.tokenizer, found["train"].texts)
    say(f"tokenizer: {tokenizer.kind}, {tokenizer.size:,} tokens")
    names = label_names(found["train"])
    splits = {name: tokenise(part, tokenizer, names, cache) for name, part in found.items()}
    told = ", ".join(f"{name} {len(part):,}" for name, part in splits.items())
    say(f"examples: {told}" + (f"; {len(names):,} labels" if names else ""))
    return tokenizer, splits


def read_pairs(
    config: schema.Neural, ready: Tokenizer | None, cache: Path, say: Say
) -> tuple[Tokenizer, dict[str, Split]]:
    """Texts that are read and texts that are written for them, as tokens."""
    say(f"reading {', '.join(config.data.text)}")
    found = pairs(config.data, config.seed)
    tokenizer = ready or make_tokenizer(config.tokenizer, found["train"].texts)
    say(f"tokenizer: {tokenizer.kind}, {tokenizer.size:,} tokens")
    say("pairs of texts: " + ", ".join(f"{name} {len(part.examples):,}" for name, part in found.items()))
    return tokenizer, {name: tokenise(part, tokenizer, (), cache) for name, part in found.items()}


READERS = {schema.Text: read_text, schema.TaskExamples: read_examples, schema.TaskTexts: read_pairs}


def label_names(train: examples.Split) -> tuple[str, ...]:
    """The labels of the training examples, from frequent to rare; each example has at most one."""
    several = next((found for found in train.labels if len(found) > 1), None)
    if several:
        what = f"a text with {len(several)} labels ({', '.join(several)}), and the network tells one"
        raise FirthError(what, where=train.name, do="give one label each, or train fasttext-classifier")
    counted = Counter(label for found in train.labels for label in found)
    return tuple(sorted(counted, key=lambda label: (-counted[label], label)))


def tokenise(part: examples.Split, tokenizer: Tokenizer, names: tuple[str, ...], cache: Path) -> ExampleSplit:
    """A split as tokens, from the cache where it has them."""
    plain = tokenised(cache, part.name, part.key, iter(part.texts), tokenizer, account=False)
    values = {field.name: getattr(plain, field.name) for field in fields(Split)} | {"names": names}
    numbers = {name: number for number, name in enumerate(names)}
    labels = np.array([numbers.get("".join(found[:1]), OTHER) for found in part.labels], np.int64)
    count = len(examples.sides(part.examples[0]))
    return ExampleSplit(**values, parts=count, labels=labels if names else None, scores=_scores(part))


def _scores(part: examples.Split) -> np.ndarray | None:
    found = list(_each_score(part))
    return None if any(score is None for score in found) else np.array(found, np.float64)


def _each_score(part: examples.Split) -> Iterator[float | None]:
    return (example.score if isinstance(example, Pair) else None for example in part.examples)
