"""Conversation: the assistant's reply to a dialogue, with the history that fits into the context; scores of replies."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from firth.config.core import bounded
from firth.datasets import dialogue_dataset, labelled_dataset
from firth.datasets.chat_format import DialogueEncoder, EncodedDialogue, History, fit_history
from firth.datasets.dialogue_dataset import Messages, as_turns
from firth.datasets.readers.dialogues import ASSISTANT, SYSTEM, USER
from firth.datasets.records import Dialogue, Labelled, Record, Row, Turn
from firth.datasets.tasks import COLUMN_NAMES
from firth.display import Table
from firth.errors import FirthError
from firth.generation.generate import GenerationConfig
from firth.metrics.perplexity import perplexity
from firth.metrics.score import Score
from firth.pipelines.chat_session import ChatSession
from firth.pipelines.file_inputs import read_cells, unfit
from firth.pipelines.label_predictions import run_examples
from firth.runs.trained_model import given_text, read_options, with_defaults

_REPORT_DIALOGUES = 3
_EXAMPLE = (Turn(USER, "Hello."),)


@dataclass(frozen=True)
class ChatOptions(GenerationConfig):
    """How replies are generated: greedily, unless a beam or a temperature is set."""

    max_length: int = bounded(100, least=1)  # tokens of a reply at most


class Reply(NamedTuple):
    """A reply with its log-probability, and how many of the oldest turns did not fit into the context."""

    text: str
    log_probability: float
    dropped: int = 0


class ReplyStatistics(NamedTuple):
    """Sums over replies, by teacher forcing: each after the turns before it as they are in the dialogue."""

    nll: float
    tokens: int
    exact: int  # replies of which every token is the most probable one, so that greedy decoding gives them
    replies: int


class ChatModel:
    """What a decoder and an encoder-decoder that were trained on dialogues share; each adds how it generates."""

    config: Any
    tokenizer: Any
    run: Any
    metric = "reply_perplexity"

    @abstractmethod
    def generate_reply(self, turns: EncodedDialogue, options: ChatOptions) -> Reply:
        """The reply to the turns of a dialogue."""

    @abstractmethod
    def reply_statistics(self, part: labelled_dataset.Split) -> ReplyStatistics:
        """The sums over the replies of dialogues."""

    # --- replies ----------------------------------------------------------------------------------------------

    def chat(self, messages: str | Messages, **options: Any) -> str:
        """The reply to a dialogue: a list of {"role": …, "content": …} (or of (role, text)) whose last turn is not the
        assistant's, or one text of the user. `options` are the fields of `ChatOptions`: `temperature=0.8`."""
        return self.reply(messages, **options).text

    def reply(self, messages: str | Messages, **options: Any) -> Reply:
        """The same with its log-probability, and the number of old turns that did not fit into the context."""
        turns = as_turns(messages)
        if not turns or turns[-1].role == ASSISTANT:
            do = 'end it with a turn of the user: {"role": "user", "content": "…"}'
            what = "nothing to reply to: the last turn is the assistant's" if turns else "an empty dialogue"
            raise FirthError(what, do=do)
        if not turns[-1].text.strip():
            raise FirthError("an empty turn to reply to", do="write something in it")
        (encoded,) = self.encoder.encode([Dialogue(turns)])
        return self.generate_reply(encoded, self._options(options))

    def session(self, system: str = "", **options: Any) -> ChatSession:
        """A conversation that keeps its history, after this system prompt (by default the run's template's)."""
        self._options(options)  # an error now rather than at the first turn
        return ChatSession(self, (Turn(SYSTEM, system),) if system else (), options)

    def _options(self, options: Mapping[str, object]) -> ChatOptions:
        return read_options(ChatOptions, with_defaults(self.generation_defaults, options, ChatOptions))

    @cached_property
    def encoder(self) -> DialogueEncoder:
        """Encodes dialogues by the run's template."""
        return DialogueEncoder(self.config.data.template, self.tokenizer)

    def fit(self, turns: EncodedDialogue, room: int) -> History:
        """The turns that fit into so many tokens (0: any number); refused if the last one does not."""
        history = fit_history(turns, room)
        size = sum(turn.size for turn in history.turns)
        if room and size > room:
            last, before = turns[-1].size, size - turns[-1].size
            beside = f" beside the {before:,} of the system prompt" if before else ""
            what = f"a turn of {last:,} tokens, and this model takes at most {room - before:,}{beside}"
            raise FirthError(what, do="shorten it")
        return history

    # --- evaluation -------------------------------------------------------------------------------------------

    def evaluate(
        self, text: str | Iterable[Any] | None = None, split: str = "test", cache: Path | None = None
    ) -> Table[Score]:
        """Perplexity of the replies' tokens, and exact match: the fraction of replies that greedy decoding gives token
        by token."""
        part = self.load_examples(text, split)
        sums = self.reply_statistics(part)
        signed = self.signed(**part.signed_fields, replies=sums.replies)
        scores = [Score(self.metric, perplexity(sums.nll, sums.tokens), signed)]
        return Table([*scores, Score("exact_match", sums.exact / sums.replies, signed)])

    def load_examples(self, text: Any, split: str) -> labelled_dataset.Split:
        """Dialogues to score."""
        if isinstance(text, labelled_dataset.Split):
            return text
        if text is None:
            return run_examples(self, split, dialogue_dataset.read)
        text, data = given_text(text), self.config.data
        if isinstance(text, str):
            reader = dialogue_dataset.DialogueReader(replace(data, text=(text,), test=()))
            return labelled_dataset.make_split("given", [*reader.held_out("test")] or reader.names((text,), "train"))
        return labelled_dataset.make_split("given", (Dialogue(as_turns(each)) for each in text))

    # --- samples during training ------------------------------------------------------------------------------

    def sample(self) -> str:
        """A reply to log after an evaluation."""
        return self._shown_reply(self.held_out[0][:-1], 40)

    def samples(self, seed: int) -> list[str]:
        """Held-out dialogues with the generated and the right reply, for the report."""
        return [
            f"{turns[-2].text} → {self._shown_reply(turns[:-1], 80)} (reference: {turns[-1].text})"
            for turns in self.held_out[:_REPORT_DIALOGUES]
        ]

    def _shown_reply(self, turns: Sequence[Turn], max_length: int) -> str:
        """A reply to show, or why there is none: training goes on where a held-out turn is too long to answer."""
        try:
            return self.reply(turns, max_length=max_length).text
        except FirthError as error:
            return f"({error.what})"

    @cached_property
    def held_out(self) -> list[tuple[Turn, ...]]:
        """Held-out dialogues up to a reply."""
        known = self.run.record.data["splits"]
        name = next((name for name in ("valid", "test") if name in known), "")
        examples = run_examples(self, name, dialogue_dataset.read).examples if name else []
        return [turns for each in examples[:_REPORT_DIALOGUES] if len(turns := _to_reply(each.turns)) > 1] or [
            (*_EXAMPLE, Turn(ASSISTANT, ""))
        ]

    # --- the command line -------------------------------------------------------------------------------------

    reads_lines = True  # `firth run` without an input reads lines

    @property
    def hint(self) -> str:
        """A first command to try."""
        return f"firth run {self.run.path} --chat"

    def answer(self, line: str, options: Mapping[str, object]) -> dict[str, Any]:
        """The answer of `firth run` to a line: the reply to a dialogue of this turn alone."""
        (answer,) = self.answer_inputs([as_turns(line)], options)
        return {"input": line, "reply": answer["reply"], "log_probability": answer["log_probability"]}

    def answer_inputs(self, inputs: Sequence[Any], options: Mapping[str, object]) -> list[dict[str, Any]]:
        """The reply to each dialogue."""
        answers = []
        for turns in inputs:
            reply = self.reply(turns, **options)
            messages = [{"role": turn.role, "content": turn.text} for turn in turns]
            answers.append(
                {"messages": messages, "reply": reply.text, "log_probability": reply.log_probability}
                | ({"dropped_turns": reply.dropped} if reply.dropped else {})
            )
        return answers

    def read_input(self, record: Record, columns: Mapping[str, str]) -> tuple[Turn, ...]:
        """A dialogue, from a record of a file; a reply at its end is what is asked for."""
        if isinstance(record, Dialogue):
            turns = record.turns
            return turns[:-1] if turns and turns[-1].role == ASSISTANT else turns
        if isinstance(record, Labelled):
            return as_turns(record.text)
        if isinstance(record, Row):
            return as_turns(_instruction(record, columns))
        raise unfit(record, "dialogues or instructions")

    def table_rows(self, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
        """A row for each dialogue."""
        return [{"turn": answer["messages"][-1]["content"], "reply": answer["reply"]}]

    def format_answer(self, answer: Mapping[str, Any]) -> str:
        """The answer as text."""
        return answer["reply"]


def _instruction(row: Row, columns: Mapping[str, str]) -> str:
    """The instruction of a row, with its input if there is one."""
    names = [name.lower() for name in row.names]
    has_input = "input" in columns or ("instruction" in names and any(name in names for name in COLUMN_NAMES["input"]))
    roles = ("prompt", "input") if has_input else ("prompt",)
    return "\n\n".join(cell for cell in read_cells(row, roles, columns) if cell.strip())


def _to_reply(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """The turns up to the last reply."""
    last = max((number for number, turn in enumerate(turns) if turn.role == ASSISTANT), default=-1)
    return tuple(turns[: last + 1])
