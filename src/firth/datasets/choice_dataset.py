"""Multiple-choice questions as training data: the two texts of each choice, and the position of the correct one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from firth.config import schema
from firth.datasets import labelled_dataset
from firth.datasets.records import Choices
from firth.datasets.text_dataset import Part, make_tokenizer, report
from firth.datasets.token_cache import Split, Tally
from firth.errors import FirthError
from firth.runs.progress import Progress
from firth.tokenizers.tokenizer import Tokenizer
from firth.types import Target


@dataclass(frozen=True, eq=False)
class ChoiceSplit(Split):
    """The token ids of the two texts of every choice of every question, and the correct choices."""

    choices: Sequence[Sequence[tuple[list[int], list[int]]]] = ()
    target: Target[np.ndarray] | None = None  # of all questions; one without a known answer weighs 0

    @property
    def metadata(self) -> dict[str, Any]:
        """The largest number of choices, which a run stores."""
        return {"choices": max(map(len, self.choices))}

    def __len__(self) -> int:
        return len(self.choices)


def read_choices(
    config: schema.Neural, ready: Mapping[str, Tokenizer], cache: Path, progress: Progress
) -> tuple[Mapping[str, Tokenizer], dict[str, Split]]:
    """The questions of each split, by a tokenizer that is ready or trained now."""
    progress.stage(f"reading {', '.join(config.data.text)}")
    parts = labelled_dataset.read(config.data, config.seed, progress.say)
    progress.stage("tokenising the text")
    tokenizer = ready.get("text") or make_tokenizer(config.tokenizer, parts["train"].texts)
    progress.say(f"tokenizer: {tokenizer.kind}, {tokenizer.vocab_size:,} tokens")
    splits = {name: make_split(part, tokenizer, config.batching) for name, part in parts.items()}
    rows = [
        Part(name, len(split), split.tally.tokens, split.tally.bytes, " / ".join(parts[name].texts[:2]), False)
        for name, split in splits.items()
    ]
    report(rows, progress.say, "questions")
    target = splits["train"].target
    if target is None or not target.weight.any():
        raise FirthError("no question has an answer", where=parts["train"].name, do="say which choice is correct")
    return {"text": tokenizer}, dict(splits)


def make_split(part: labelled_dataset.Split, tokenizer: Tokenizer, batching: schema.Batching) -> ChoiceSplit:
    """The questions as a split."""
    choices = encode_choices(part.examples, tokenizer, batching)
    tokens = sum(len(one) + len(other) for question in choices for one, other in question)
    tally = Tally(len(choices), tokens, sum(len(text.encode()) for text in part.texts), (0,) * 256)
    answers = [-1 if each.answer is None else each.answer for each in part.examples]
    known = np.array(answers) >= 0
    return ChoiceSplit(
        part.name,
        part.key,
        np.zeros(0, np.uint16),
        np.zeros(1, np.int64),
        tally,
        overlap=part.overlap,
        choices=choices,
        target=Target(np.where(known, answers, 0), known.astype(np.float32)),
    )


def encode_choices(
    questions: Sequence[Choices], tokenizer: Tokenizer, batching: schema.Batching
) -> list[list[tuple[list[int], list[int]]]]:
    """The tokens of the two texts of every choice: the context, and the question with the choice (or the question with
    the context, and the choice); without a context the question, and the choice."""
    in_first = isinstance(batching, schema.ChoiceRows) and batching.question_with == "context"
    texts = [texts_of_choice(question, choice, in_first) for question in questions for choice in question.choices]
    distinct = list(dict.fromkeys(text for pair in texts for text in pair))
    known = dict(zip(distinct, tokenizer.encode_batch(distinct), strict=True))
    pairs = iter(texts)
    return [[(known[one], known[other]) for one, other in islice(pairs, len(each.choices))] for each in questions]


def texts_of_choice(question: Choices, choice: str, question_in_first: bool = False) -> tuple[str, str]:
    """The two texts of a choice."""
    if question_in_first and question.context:
        return f"{question.context} {question.question}".strip(), choice
    if not question.context:
        return question.question, choice
    return question.context, f"{question.question} {choice}".strip()
