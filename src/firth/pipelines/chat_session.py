"""A conversation that keeps its history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from firth.datasets.readers.dialogues import ASSISTANT, USER
from firth.datasets.records import Turn

if TYPE_CHECKING:
    from firth.pipelines.chat_model import ChatModel, Reply


class ChatSession:
    """The turns so far, which grow by two with each reply; those that no longer fit into the context are kept here, but
    not read any more."""

    def __init__(self, model: ChatModel, turns: tuple[Turn, ...], options: Mapping[str, Any]) -> None:
        self.model, self.turns, self.options = model, turns, options
        self.dropped = 0  # of the oldest turns: not read any more

    def say(self, text: str) -> Reply:
        """The reply to the user's next turn; an error leaves the conversation as it was."""
        turns = (*self.turns, Turn(USER, text))
        reply = self.model.reply(turns, **self.options)
        self.turns = (*turns, Turn(ASSISTANT, reply.text))
        self.dropped = reply.dropped
        return reply

    @property
    def messages(self) -> list[dict[str, str]]:
        """The conversation so far, as messages."""
        return [{"role": turn.role, "content": turn.text} for turn in self.turns]
