"""Training data of neural networks: plain text, task examples or source and target texts as tokens, or images. One
table from data configurations to readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from firth.config import schema
from firth.datasets import labelled_dataset
from firth.datasets.choice_dataset import read_choices
from firth.datasets.dialogue_dataset import read_dialogues
from firth.datasets.image_dataset import read_images
from firth.datasets.label_ids import balanced, encode_labels, example_targets, label_names
from firth.datasets.oov_characters import OovCharacters, find_oov_characters
from firth.datasets.question_dataset import read_questions
from firth.datasets.records import Pair
from firth.datasets.seq2seq_dataset import read_pairs
from firth.datasets.text_dataset import Part, make_tokenizer, read_text, report
from firth.datasets.token_cache import Split, tokenise_split
from firth.datasets.word_dataset import read_words
from firth.runs.progress import Progress
from firth.tokenizers.tokenizer import Tokenizer
from firth.types import Target

Say = Callable[[str], None]
_SHOWN_LABELS = 8


@dataclass(frozen=True, eq=False)
class ExampleSplit(Split):
    """Tokenised task examples: the documents are their texts, `texts_per_example` in sequence for each."""

    texts_per_example: int = 1
    oov_characters: OovCharacters | None = None  # for networks that encode or generate OOV words by characters
    labels: np.ndarray | None = None  # (examples,): label ids, or UNKNOWN_LABEL
    scores: np.ndarray | None = None  # (examples,)
    target: Target[np.ndarray] | None = None  # of all examples, for a head that predicts labels

    @property
    def metadata(self) -> dict[str, Any]:
        """The label names and the number of texts per example, which a run stores."""
        return {"labels": list(self.label_names), "parts": self.texts_per_example}

    def __len__(self) -> int:
        return (len(self.starts) - 1) // self.texts_per_example

    @property
    def lengths(self) -> np.ndarray:
        """The tokens of each text, [END] counted (examples, texts_per_example)."""
        return np.diff(self.starts).reshape(-1, self.texts_per_example)

    def texts(self, number: int) -> list[np.ndarray]:
        """The token ids of an example's texts, without [END]."""
        return [self.ids[first:last] for first, last in self._spans(number)]

    def characters(self, number: int) -> list[np.ndarray]:
        """The characters of the out-of-vocabulary words of an example's texts, (tokens, characters) each."""
        return [self.oov_characters.between(first, last) for first, last in self._spans(number)]

    def _spans(self, number: int) -> list[tuple[int, int]]:
        starts = self.starts[number * self.texts_per_example : (number + 1) * self.texts_per_example + 1].tolist()
        return [(first, last - 1) for first, last in pairwise(starts)]


@dataclass(frozen=True, eq=False)
class ParallelSplit(ExampleSplit):
    """Source and target texts with separate vocabularies: the token ids are those of the target texts."""

    source: ExampleSplit | None = None  # the source texts

    @property
    def lengths(self) -> np.ndarray:
        """The tokens of each source and target, [END] counted (examples, 2)."""
        return np.concatenate([self.source.lengths, super().lengths], 1)

    def texts(self, number: int) -> list[np.ndarray]:
        """The token ids of an example's source and target, without [END]."""
        return [*self.source.texts(number), *super().texts(number)]

    def characters(self, number: int) -> list[np.ndarray]:
        """The characters of the out-of-vocabulary words of an example's source and target."""
        return [*self.source.characters(number), *super().characters(number)]


Tokenizers = Mapping[str, Tokenizer]  # "text": of the text, or of the target; "source": of the source, if separate
TrainingData = tuple[Tokenizers, dict[str, Split]]


def read_training_data(config: schema.Neural, ready: Tokenizers, cache: Path, progress: Progress) -> TrainingData:
    """The tokenised splits of a configuration, by tokenizers that are ready or trained now."""
    return READERS[type(config.data)](config, ready, cache, progress)


def read_plain(config: schema.Neural, ready: Tokenizers, cache: Path, progress: Progress) -> TrainingData:
    """Plain text as tokenised splits."""
    tokenizer, splits = read_text(config, ready.get("text"), cache, progress)
    return {"text": tokenizer}, splits


def read_examples(config: schema.Neural, ready: Tokenizers, cache: Path, progress: Progress) -> TrainingData:
    """Task examples as tokenised splits."""
    say = progress.say
    progress.stage(f"reading {', '.join(config.data.text)}")
    parts = labelled_dataset.read(config.data, config.seed, say)
    progress.stage("tokenising the text")
    tokenizer = ready.get("text") or make_tokenizer(config.tokenizer, parts["train"].texts)
    say(f"tokenizer: {tokenizer.kind}, {tokenizer.vocab_size:,} tokens")
    problem = config.head.problem_type
    names = label_names(parts["train"], problem)
    splits = {name: tokenise(part, tokenizer, names, cache) for name, part in parts.items()}
    if names and config.batching.targets == "labels":
        targets = {name: example_targets(part, names, problem) for name, part in parts.items()}
        if config.objective.class_weights == "balanced" and problem == "single-label":
            targets["train"] = balanced(targets["train"], len(names))
        splits = {name: replace(split, target=targets[name]) for name, split in splits.items()}
    _report(parts, splits, config.data, say)
    if names:
        shown = ", ".join(names[:_SHOWN_LABELS]) + (", …" if len(names) > _SHOWN_LABELS else "")
        say(f"{len(names):,} label{'s' * (len(names) != 1)}: {shown}")
    if problem != "regression":
        _report_unknown(parts, names, say)
    return {"text": tokenizer}, splits


def _report_unknown(parts: Mapping[str, labelled_dataset.Split], names: tuple[str, ...], say: Say) -> None:
    """Name the labels of each held-out split that no training example has, and the first line with one."""
    for name, part in parts.items():
        unseen = [(label, example) for example, labels in zip(part.examples, part.labels, strict=True)
                  for label in labels if names and label not in names]  # fmt: skip
        if unseen:
            kinds, line = dict.fromkeys(label for label, _ in unseen), getattr(unseen[0][1], "line", 0)
            shown = ", ".join(map(repr, [*kinds][:_SHOWN_LABELS])) + ", …" * (len(kinds) > _SHOWN_LABELS)
            where = f" (line {line})" if line else ""
            say(f"note: no training example has the label {shown}; {len(unseen):,} in {name}{where} cannot be right")


def _report(
    parts: Mapping[str, labelled_dataset.Split], splits: Mapping[str, ExampleSplit], data: Any, say: Say
) -> None:
    """Say the size of each split, and one of its examples."""
    rows = []
    for name, part in parts.items():
        tallies = [side.tally for side in (splits[name], getattr(splits[name], "source", None)) if side is not None]
        tokens, size = (sum(getattr(tally, field) for tally in tallies) for field in ("tokens", "bytes"))
        example, own = labelled_dataset.describe_with_label(part.examples[0]), bool(getattr(data, name, ()))
        rows.append(Part(name, len(part.examples), tokens, size, example, own))
    report(rows, say, "examples")


def read_seq2seq(config: schema.Neural, ready: Tokenizers, cache: Path, progress: Progress) -> TrainingData:
    """Source and target texts as tokenised splits."""
    data = config.data
    say = progress.say
    progress.stage(f"reading {', '.join((*data.source, *data.target) or data.text)}")
    parts = read_pairs(data, config.seed, say)
    progress.stage("tokenising the text")
    tokenizers = dict(ready) or _pair_tokenizers(config, parts["train"])
    vocabularies = "; ".join(f"{kind.kind}, {kind.vocab_size:,} tokens" for kind in reversed(tokenizers.values()))
    say(f"tokenizer: {vocabularies}" if len(tokenizers) == 1 else f"tokenizers of source and target: {vocabularies}")
    with_characters = bool(config.input_of("source").character_width or config.head.character_width)
    splits = {name: tokenise_pairs(part, tokenizers, cache, with_characters) for name, part in parts.items()}
    _report(parts, splits, data, say)
    if truncated := int((splits["train"].lengths > config.batching.length).any(1).sum()):
        say(f"{truncated:,} training pairs are truncated: a text of more than {config.batching.length} tokens")
    return tokenizers, splits


def _pair_tokenizers(config: schema.Neural, train: labelled_dataset.Split) -> dict[str, Tokenizer]:
    """A shared tokenizer, or one each for source and target."""
    if config.data.vocabularies == "shared":
        return {"text": make_tokenizer(config.tokenizer, train.texts)}
    target = {"text": make_tokenizer(config.tokenizer, [pair.right for pair in train.examples])}
    return {**target, "source": make_tokenizer(config.tokenizer, [pair.left for pair in train.examples])}


def tokenise_pairs(
    part: labelled_dataset.Split, tokenizers: Tokenizers, cache: Path, with_characters: bool = False
) -> ExampleSplit:
    """Source and target texts as a tokenised split, by a shared tokenizer or one each."""
    if "source" not in tokenizers:
        tokenised, tokenizer = tokenise(part, tokenizers["text"], (), cache), tokenizers["text"]
        if not with_characters:
            return tokenised
        return replace(tokenised, oov_characters=find_oov_characters(tokenised, part.texts, tokenizer))
    sides = []
    for name, texts in (("source", [p.left for p in part.examples]), ("text", [p.right for p in part.examples])):
        plain = tokenise_split(cache, part.name, f"{part.key} {name}", iter(texts), tokenizers[name], account=False)
        values = {field.name: getattr(plain, field.name) for field in fields(Split)}
        values |= {"key": part.key, "overlap": part.overlap}
        characters = find_oov_characters(plain, texts, tokenizers[name]) if with_characters else None
        sides.append(values | {"oov_characters": characters})
    return ParallelSplit(**sides[1], texts_per_example=1, source=ExampleSplit(**sides[0]))


READERS = {
    schema.Text: read_plain,
    schema.TaskExamples: read_examples,
    schema.TextToText: read_seq2seq,
    schema.Questions: read_questions,
    schema.ChoiceQuestions: read_choices,
    schema.Dialogues: read_dialogues,
    schema.LabelledImages: read_images,
    schema.TaggedWords: read_words,
}


def tokenise(part: labelled_dataset.Split, tokenizer: Tokenizer, names: tuple[str, ...], cache: Path) -> ExampleSplit:
    """Task examples as a tokenised split, from the cache if it is there."""
    plain = tokenise_split(cache, part.name, part.key, iter(part.texts), tokenizer, account=False)
    values = {field.name: getattr(plain, field.name) for field in fields(Split)} | {"label_names": names}
    values["overlap"] = part.overlap
    labels = encode_labels(part.labels, names)
    count = len(labelled_dataset.texts_of(part.examples[0]))
    return ExampleSplit(**values, texts_per_example=count, labels=labels if names else None, scores=_scores(part))


def _scores(part: labelled_dataset.Split) -> np.ndarray | None:
    scores = list(_each_score(part))
    return None if any(score is None for score in scores) else np.array(scores, np.float64)


def _each_score(part: labelled_dataset.Split) -> Iterator[float | None]:
    return (example.score if isinstance(example, Pair) else None for example in part.examples)
