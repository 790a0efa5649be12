"""Questions about contexts as training data: tokens of both, and the tokens where answers begin and end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.config import schema
from firth.datasets import labelled_dataset
from firth.datasets.records import Question
from firth.datasets.text_dataset import Part, make_tokenizer, report
from firth.datasets.token_cache import Split, Tally
from firth.runs.progress import Progress
from firth.tokenizers.tokenizer import Tokenizer

NO_SPAN = (-1, -1)  # of a question without an answer


@dataclass(frozen=True)
class TokenisedContext:
    """The token ids of a context, and the characters of each (tokens, 2)."""

    ids: np.ndarray
    offsets: np.ndarray


@dataclass(frozen=True, eq=False)
class QuestionSplit(Split):
    """Questions, their contexts and, in tokens of the context, the first answer of each."""

    questions: Sequence[np.ndarray] = ()
    contexts: Sequence[TokenisedContext] = ()
    context_of: np.ndarray | None = None  # (questions,)
    spans: np.ndarray | None = None  # (questions, 2): the first and the last token, or -1

    @property
    def metadata(self) -> dict[str, Any]:
        """Whether there are questions without an answer, which a run stores."""
        assert self.spans is not None
        return {"unanswerable": bool((self.spans < 0).any())}

    def __len__(self) -> int:
        return len(self.questions)

    def context(self, number: int) -> TokenisedContext:
        """The context of a question."""
        assert self.context_of is not None
        return self.contexts[int(self.context_of[number])]


def read_questions(
    config: schema.Neural, ready: Mapping[str, Tokenizer], cache: Path, progress: Progress
) -> tuple[Mapping[str, Tokenizer], dict[str, Split]]:
    """The questions of each split, by a tokenizer that is ready or trained now."""
    progress.stage(f"reading {', '.join(config.data.text)}")
    parts = labelled_dataset.read(config.data, config.seed, progress.say)
    progress.stage("tokenising the text")
    tokenizer = ready.get("text") or make_tokenizer(config.tokenizer, parts["train"].texts)
    progress.say(f"tokenizer: {tokenizer.kind}, {tokenizer.vocab_size:,} tokens")
    splits = {name: make_split(part, tokenizer) for name, part in parts.items()}
    _report(parts, splits, config.data, progress.say)
    return {"text": tokenizer}, dict(splits)


def _report(
    parts: Mapping[str, labelled_dataset.Split],
    splits: Mapping[str, QuestionSplit],
    data: Any,
    say: Callable[[str], None],
) -> None:
    rows = []
    for name, part in parts.items():
        tally, example = splits[name].tally, labelled_dataset.describe(part.examples[0])
        rows.append(Part(name, len(part.examples), tally.tokens, tally.bytes, example, bool(getattr(data, name, ()))))
    report(rows, say, "questions")
    lost = sum(int(((split.spans < 0).all(1) & _answered(parts[name])).sum()) for name, split in splits.items())
    if lost:
        say(f"note: {lost:,} answers lie within no token; their questions count as unanswerable in training")


def _answered(part: labelled_dataset.Split) -> np.ndarray:
    return np.array([bool(example.answers) for example in part.examples], bool)


def make_split(part: labelled_dataset.Split, tokenizer: Tokenizer) -> QuestionSplit:
    """The questions as a split; each context is tokenised once."""
    examples: list[Question] = part.examples
    texts = {text: number for number, text in enumerate(dict.fromkeys(each.context for each in examples))}
    contexts = [tokenise_context(text, tokenizer) for text in texts]
    questions = [np.array(ids, np.int64) for ids in tokenizer.encode_batch([each.text for each in examples])]
    context_of = np.array([texts[each.context] for each in examples], np.int64)
    spans = [answer_span(each, contexts[n].offsets) for each, n in zip(examples, context_of, strict=True)]
    tokens = sum(map(len, questions)) + sum(len(context.ids) for context in contexts)
    size = sum(len(each.text.encode()) for each in examples) + sum(len(text.encode()) for text in texts)
    tally = Tally(len(examples), tokens, size, (0,) * 256)
    empty = Split(part.name, part.key, np.zeros(0, np.uint16), np.zeros(1, np.int64), tally, overlap=part.overlap)
    return QuestionSplit(
        **{name: getattr(empty, name) for name in ("name", "key", "ids", "starts", "tally", "overlap")},
        questions=questions,
        contexts=contexts,
        context_of=context_of,
        spans=np.array(spans, np.int64).reshape(-1, 2),
    )


def tokenise_context(text: str, tokenizer: Tokenizer) -> TokenisedContext:
    """A context's tokens with their characters."""
    encoding = tokenizer.encode_with_offsets(text)
    return TokenisedContext(np.array(encoding.ids, np.int64), np.array(encoding.offsets, np.int64).reshape(-1, 2))


def answer_span(question: Question, offsets: np.ndarray) -> tuple[int, int]:
    """The first and the last token that share a character with the first answer; NO_SPAN without one."""
    if not question.answers:
        return NO_SPAN
    answer = question.answers[0]
    inside = np.flatnonzero((offsets[:, 0] < answer.start + len(answer.text)) & (offsets[:, 1] > answer.start))
    return (int(inside[0]), int(inside[-1])) if len(inside) else NO_SPAN
