"""Labelled data sets: task examples (texts, text pairs, images) from files of any format or data sets by name, and
their train, validation and test splits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from firth.config.schema import LabelledExamples
from firth.datasets import leakage
from firth.datasets.example_reader import SPLIT_ALIASES, SPLITS, WORLD, ExampleReader
from firth.datasets.examples import Example, TaggedSentence, describe, describe_with_label, labels_of, texts_of
from firth.datasets.records import Choices, Dialogue, Image, Pair, Question
from firth.datasets.table_columns import silent
from firth.datasets.text_dataset import assign_splits
from firth.errors import FirthError
from firth.types import generator

__all__ = ["SPLIT_ALIASES", "WORLD", "describe", "describe_with_label"]  # and what is defined here
MIN_CALIBRATION = 20  # validation examples, below which probabilities are not calibrated


@dataclass(frozen=True, eq=False)
class Split:
    """The examples of one split, in memory."""

    name: str
    key: str  # a digest of texts and labels: the same content gives the same key, on every machine
    examples: list[Example]
    overlap: leakage.Overlap | None = None  # with the training examples; None: not a held-out split of them

    @property
    def signed_fields(self) -> dict[str, str]:
        """What the signature of a score says of the split."""
        return {"split": self.name, "data": self.key[:8], **(self.overlap.signed if self.overlap else {})}

    @property
    def texts(self) -> list[str]:
        """All texts, the two of a pair in sequence."""
        return list(chain.from_iterable(map(texts_of, self.examples)))

    @property
    def labels(self) -> list[tuple[str, ...]]:
        """The gold labels of each example."""
        return [labels_of(example) for example in self.examples]


def read(
    config: LabelledExamples,
    seed: int,
    say: Callable[[str], None] = silent,
    reader: ExampleReader | None = None,
) -> dict[str, Split]:
    """The splits: from files of their own or the data set's own splits if there are any, else fractions of the
    examples."""
    if not config.tasks:
        raise FirthError("no task is named", where="data.tasks", do="name one: classification, pairs, similarity, …")
    if not config.text:
        raise FirthError("no examples are named", where="data.text", do="name a file or a set that firth data lists")
    splits = (reader or ExampleReader(config, say)).splits()
    return audited(split_examples(splits, config, seed, ", ".join(config.text)), say)


def audited(splits: dict[str, Split], say: Callable[[str], None] = silent) -> dict[str, Split]:
    """The splits with what each held-out one shares with the training examples, which is said too."""
    if "train" not in splits or len(splits) < 2:
        return splits
    texts = {name: ["\n".join(_identifying(example)) for example in split.examples] for name, split in splits.items()}
    overlaps = leakage.audit(texts.pop("train"), texts)
    leakage.report(overlaps, say, "examples")
    return {name: replace(split, overlap=overlaps.get(name)) for name, split in splits.items()}


def _identifying(example: Example) -> tuple[str, ...]:
    """What makes two examples the same, whatever their labels: the texts, or a digest of the pixels."""
    return (hashlib.sha256(_pixels(example)).hexdigest(),) if isinstance(example, Image) else texts_of(example)


def split_examples(
    splits: Mapping[str, list[Example]], config: LabelledExamples, seed: int, where: str
) -> dict[str, Split]:
    """The examples of each split; a split without any gets a fraction of the training examples."""
    train = splits["train"]
    if not train:
        raise FirthError("no examples in it", where=where, do="give a file with examples")
    fractions = [0.0 if splits["valid"] else config.valid_fraction, 0.0 if splits["test"] else config.test_fraction]
    if any(fractions) and len(train) < 3:
        what = f"{len(train)} example{'s' * (len(train) != 1)}, too few to split three ways"
        raise FirthError(what, where=where, do="give more, or --valid and --test")
    groups = _groups(train, config.group_duplicates)
    numbers = assign_splits(0, len({*groups}), len({*groups}), *fractions, seed)
    sampled = {name: _select(train, (numbers[n] == index for n in groups)) for index, name in enumerate(SPLITS)}
    sampled |= {name: splits[name] for name in SPLITS[1:] if splits[name]}
    if config.train_fraction < 1:
        sampled["train"] = train_part(sampled["train"], config.train_fraction, config.train_subset)
    if config.calibration != "none" and len(sampled.get("valid", ())) >= MIN_CALIBRATION:
        held_out = sampled.pop("valid")
        sampled |= {"valid": held_out[::2], "calibration": held_out[1::2]}
    return {name: make_split(name, examples) for name, examples in sampled.items() if examples}


def train_part(examples: list[Example], fraction: float, subset: int) -> list[Example]:
    """A fraction of the examples, in their order, one at least. Each label has about this fraction too, and the smaller
    fractions of a subset are parts of the larger ones."""
    random, groups = generator(subset, "train fraction"), dict[tuple[str, ...], list[int]]()
    for number, example in enumerate(examples):
        groups.setdefault(labels_of(example), []).append(number)
    place = np.empty(len(examples))  # where in the order an example comes, from 0 to 1
    for numbers in groups.values():
        place[random.permutation(numbers)] = (np.arange(len(numbers)) + random.random(len(numbers))) / len(numbers)
    count = max(1, round(fraction * len(examples)))
    return [examples[number] for number in sorted(np.argsort(place, kind="stable")[:count].tolist())]


def _groups(examples: list[Example], group_duplicates: bool) -> list[int]:
    """Group ids of examples that stay in one split, against leakage: examples with the same texts, several translations
    of one source."""
    seen: dict[object, int] = {}
    plain = all(isinstance(example, Pair) and example.label is None and example.score is None for example in examples)
    if plain or group_duplicates:
        keys = ((_identifying(example)[:1] if plain else _identifying(example)) for example in examples)
        if group_duplicates:
            keys = (tuple(map(leakage.normalise, key)) for key in keys)
        groups = [seen.setdefault(key, len(seen)) for key in keys]
    return groups if len(seen) >= 3 else list(range(len(examples)))


def make_split(name: str, examples: Iterable[Example]) -> Split:
    """A split of these examples."""
    examples, digest = list(examples), hashlib.sha256()
    for example in examples:
        digest.update(_content(example) + b"\n")
    if len({len(texts_of(example)) for example in examples}) > 1:
        raise FirthError("some examples are single texts and some are pairs", do="give one kind, or set data.tasks")
    return Split(name, digest.hexdigest(), examples)


def _content(example: Example) -> bytes:
    """The content of an example, for the digest of its split."""
    if isinstance(example, Image):
        return json.dumps([*example.pixels.shape, example.label]).encode() + example.pixels.tobytes()
    if isinstance(example, TaggedSentence):
        return json.dumps([example.words, example.tags]).encode()
    if isinstance(example, Choices):
        content = [example.context, example.question, *example.choices, example.answer]
        return json.dumps({"choices": content}, ensure_ascii=False).encode()
    if isinstance(example, Dialogue):
        return json.dumps({"dialogue": example.turns}, ensure_ascii=False).encode()
    if isinstance(example, Question):
        content = [example.text, example.context, *map(tuple, example.answers)]
        return json.dumps({"question": content}, ensure_ascii=False).encode()
    values = {"pair": example[:4]} if isinstance(example, Pair) else [example.text, *example.labels]
    return json.dumps(values).encode()


def _pixels(image: Image) -> bytes:
    return json.dumps(image.pixels.shape).encode() + image.pixels.tobytes()


def read_named(name: str, config: LabelledExamples) -> Iterator[Example]:
    """The examples of a file or of a data set; of a data set its test split, if it has one."""
    reader = ExampleReader(replace(config, text=(name,), test=()))
    examples = list(reader.held_out("test"))
    return iter(examples or reader.names((name,), "train"))


def _select(examples: list[Example], selected: Iterable[bool]) -> list[Example]:
    return [example for example, is_selected in zip(examples, selected, strict=True) if is_selected]
