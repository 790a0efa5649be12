"""Dialogues as training data: for a decoder the encoded turns; for an encoder-decoder a pair for each reply, of the
turns before it (the source) and the reply (the target)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from firth.config import schema
from firth.datasets import labelled_dataset
from firth.datasets.chat_format import DialogueEncoder, EncodedDialogue, fit_history, training_texts
from firth.datasets.dialogue_rows import dialogue_rows
from firth.datasets.example_reader import FROM_PYTHON, ExampleReader, spooled
from firth.datasets.readers.dialogues import ASSISTANT, USER
from firth.datasets.records import Dialogue, Turn
from firth.datasets.table_columns import silent
from firth.datasets.tasks import Converter
from firth.datasets.text_dataset import Part, make_tokenizer, report
from firth.datasets.token_cache import Split, Tally, byte_histogram
from firth.errors import FirthError
from firth.runs.progress import Progress
from firth.tokenizers.tokenizer import Tokenizer

Messages = Iterable[Any]  # of a dialogue from Python: turns, (role, text) or {"role": …, "content": …}
Parts = Mapping[str, labelled_dataset.Split]


@dataclass(frozen=True, eq=False)
class DialogueSplit(Split):
    """The encoded turns of every dialogue."""

    dialogues: Sequence[EncodedDialogue] = ()

    def __len__(self) -> int:
        return len(self.dialogues)


@dataclass(frozen=True, eq=False)
class ReplySplit(Split):
    """The tokens of a source and its target for every reply."""

    pairs: Sequence[tuple[np.ndarray, np.ndarray]] = ()
    oov_characters: None = None  # what a split of source and target texts may have

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def lengths(self) -> np.ndarray:
        """The tokens of each source and target, [END] counted (replies, 2)."""
        return np.array([[len(source) + 1, len(target) + 1] for source, target in self.pairs]).reshape(-1, 2)

    def texts(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """The token ids of a source and its target, without [END]."""
        return self.pairs[number]


# --- reading ------------------------------------------------------------------------------------------------------


class DialogueReader(ExampleReader):
    """Reads dialogues of files, data sets, the world and Python."""

    def python(self, path: Path) -> Iterator[labelled_dataset.Example]:
        """Dialogues from Python, spooled as a line of JSON each."""
        records = (Dialogue(tuple(Turn(*turn) for turn in json.loads(text)), n) for n, text in spooled(path))
        return self.convert_all(records, [Converter(self.config.tasks[0])], FROM_PYTHON)


def read(config: schema.Dialogues, seed: int, say: Callable[[str], None] = silent) -> dict[str, labelled_dataset.Split]:
    """The dialogues of each split."""
    return labelled_dataset.read(config, seed, say, DialogueReader(config, say))


def as_turns(messages: str | Messages) -> tuple[Turn, ...]:
    """The turns of a dialogue from Python: a text (a user's turn), or turns as (role, text) or {"role": …, "content":
    …}."""
    if isinstance(messages, str):
        return (Turn(USER, messages),)
    if isinstance(messages, Dialogue):
        return messages.turns
    return tuple(_as_turn(number, message) for number, message in enumerate(messages, 1))


def _as_turn(number: int, message: Any) -> Turn:
    values = (message.get("role"), message.get("content")) if isinstance(message, Mapping) else message
    if isinstance(values, str) or not isinstance(values, Sequence) or [type(each) for each in values] != [str, str]:
        do = 'write {"role": "user", "content": "…"}'
        raise FirthError(f"message {number} is not a role with its text", do=do)
    return Turn(*values)


def as_documents(dialogues: Iterable[str | Messages]) -> Iterator[str]:
    """Dialogues from Python as lines of JSON."""
    return (json.dumps(as_turns(dialogue), ensure_ascii=False) for dialogue in dialogues)


def read_dialogues(
    config: schema.Neural, ready: Mapping[str, Tokenizer], cache: Path, progress: Progress
) -> tuple[Mapping[str, Tokenizer], dict[str, Split]]:
    """The dialogues of each split, by a tokenizer that is ready or trained now."""
    progress.stage(f"reading {', '.join(config.data.text)}")
    _check(config)
    data, parts = config.data, read(config.data, config.seed, progress.say)
    progress.stage("tokenising the text")
    texts = training_texts(parts["train"].examples, data.template)
    tokenizer = ready.get("text") or make_tokenizer(config.tokenizer, texts)
    progress.say(f"tokenizer: {tokenizer.kind}, {tokenizer.vocab_size:,} tokens")
    splits = {name: make_split(part, config, tokenizer) for name, part in parts.items()}
    _report(parts, splits, config, tokenizer, progress.say)
    return {"text": tokenizer}, splits


def _check(config: schema.Neural) -> None:
    """Refuse batches and objectives that cannot predict replies alone."""
    expected = {schema.DialogueRows: schema.CausalLM, schema.SourceTarget: schema.Seq2Seq}
    objective = expected.get(type(config.batching))
    if objective is None:
        what = f"batching.kind = {config.batching.kind} does not predict replies"
        do = "set batching.kind=dialogues (decoders) or source-target (encoder-decoders)"
        raise FirthError(what, where="batching.kind", do=do)
    if type(config.objective) is not objective:
        what = (
            f"batching.kind = {config.batching.kind} of dialogues does not fit objective.kind = {config.objective.kind}"
        )
        raise FirthError(what, where="objective.kind", do=f"set objective.kind={objective.kind}")


def make_split(part: labelled_dataset.Split, config: schema.Neural, tokenizer: Tokenizer) -> Split:
    """Dialogues as a tokenised split: of turns, or of a pair for each reply."""
    dialogues = DialogueEncoder(config.data.template, tokenizer).encode(part.examples)
    tokens, texts = sum(turn.size for turns in dialogues for turn in turns), part.texts
    histogram = byte_histogram(text.encode() for text in texts)
    tally = Tally(len(dialogues), tokens, int(histogram.sum()), tuple(map(int, histogram)))
    shared = part.name, part.key, np.zeros(0, np.uint16), np.zeros(1, np.int64), tally
    if isinstance(config.batching, schema.SourceTarget):
        pairs = [pair for each in dialogues for pair in reply_pairs(each, config.batching.length, tokenizer)]
        return ReplySplit(*shared, overlap=part.overlap, pairs=pairs)
    return DialogueSplit(*shared, overlap=part.overlap, dialogues=dialogues)


def reply_pairs(turns: EncodedDialogue, length: int, tokenizer: Tokenizer) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """A source and a target for each reply of a dialogue: the turns before it that fit, and its text."""
    for number, turn in enumerate(turns):
        if turn.is_reply:
            yield source_of(turns[:number], length, tokenizer), np.array(turn.text, np.int64)


def source_of(turns: EncodedDialogue, length: int, tokenizer: Tokenizer) -> np.ndarray:
    """The turns before a reply as a source: the newest that fit, [END] between them; a longer one is cut at its
    start."""
    kept, end = fit_history(turns, length + 1).turns, tokenizer.special.end  # the last [END] is not in it
    ids = list(chain.from_iterable((*turn.marker, *turn.text, end) for turn in kept))[:-1]
    return np.array(ids[-length:], np.int64)


def _report(
    parts: Parts, splits: Mapping[str, Split], config: schema.Neural, tokenizer: Tokenizer, say: Callable[[str], None]
) -> None:
    rows = []
    for name, part in parts.items():
        tally, example = splits[name].tally, labelled_dataset.describe(part.examples[0]).replace("\n", " / ")
        rows.append(
            Part(name, tally.documents, tally.tokens, tally.bytes, example, bool(getattr(config.data, name, ())))
        )
    report(rows, say, "dialogues")
    replies = sum(turn.role == ASSISTANT for each in parts["train"].examples for turn in each.turns)
    say(f"{replies:,} replies to learn; {_count_cut(splits['train'], config, tokenizer)}")


def _count_cut(train: Split, config: schema.Neural, tokenizer: Tokenizer) -> str:
    """How many replies lose a part of themselves or of the turn before them."""
    length = config.batching.length
    if isinstance(train, DialogueSplit):
        rows = chain.from_iterable(dialogue_rows(each, length, tokenizer.special.end) for each in train.dialogues)
        cut = sum(row.is_cut for row in rows)
    else:
        assert isinstance(train, ReplySplit)
        cut = int((train.lengths[:, 1] - 1 > length).sum())
    return f"{cut:,} of them are cut to {length} tokens" if cut else f"all fit into {length} tokens"
