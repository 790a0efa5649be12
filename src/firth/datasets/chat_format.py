"""Dialogues as tokens: each turn is the marker of its role, its text and [END]; a dialogue is its turns in sequence.

No text is encoded as [END], so nobody can write the marker of another role into a turn. The markers are plain text, so
every tokenizer has them, that of an imported run too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from firth.config.schema import ChatTemplate
from firth.datasets.readers.dialogues import ASSISTANT, ROLES, SYSTEM
from firth.datasets.records import Dialogue, Turn
from firth.errors import FirthError, unknown
from firth.tokenizers.tokenizer import Tokenizer


class EncodedTurn(NamedTuple):
    """The tokens of a turn, without [END]."""

    marker: tuple[int, ...]
    text: tuple[int, ...]
    role: str

    @property
    def size(self) -> int:
        """The number of tokens, [END] counted."""
        return len(self.marker) + len(self.text) + 1

    @property
    def is_reply(self) -> bool:
        """Whether it is the assistant's."""
        return self.role == ASSISTANT


EncodedDialogue = Sequence[EncodedTurn]


class DialogueEncoder:
    """Encodes dialogues by a template."""

    def __init__(self, template: ChatTemplate, tokenizer: Tokenizer) -> None:
        self.template, self.tokenizer = template, tokenizer
        self.markers = {role: tuple(tokenizer.encode(getattr(template, role))) for role in ROLES}
        if len({*self.markers.values()}) < len(ROLES):
            shown = ", ".join(getattr(template, role) for role in ROLES)
            do = f"choose others: --set data.template.{ASSISTANT}=TEXT"
            what = f"the tokenizer does not tell the roles' markers apart: {shown}"
            raise FirthError(what, where="data.template", do=do)

    def encode(self, dialogues: Iterable[Dialogue]) -> list[list[EncodedTurn]]:
        """The turns of each dialogue, with the template's system prompt where it has none of its own."""
        complete = [with_system_prompt(dialogue.turns, self.template.system_prompt) for dialogue in dialogues]
        distinct = list(dict.fromkeys(turn.text for turns in complete for turn in turns))
        # after a blank, so that the words of a reply have the tokens that they have within a text
        encoded = self.tokenizer.encode_batch([f" {text}" for text in distinct])
        ids = dict(zip(distinct, map(tuple, encoded), strict=True))
        return [
            [EncodedTurn(self._marker(turn.role), ids[turn.text], turn.role) for turn in turns] for turns in complete
        ]

    def _marker(self, role: str) -> tuple[int, ...]:
        if role not in self.markers:
            raise unknown("role", role, ROLES)
        return self.markers[role]


def with_system_prompt(turns: Sequence[Turn], prompt: str) -> tuple[Turn, ...]:
    """The turns, after this system prompt unless they begin with one or it is empty."""
    first = () if not prompt or (turns and turns[0].role == SYSTEM) else (Turn(SYSTEM, prompt),)
    return (*first, *turns)


def training_texts(dialogues: Iterable[Dialogue], template: ChatTemplate) -> Iterable[str]:
    """The texts that a tokenizer is trained on: markers and turns apart, as they are encoded."""
    markers = [getattr(template, role) for role in ROLES]
    texts = (f" {turn.text}" for each in dialogues for turn in with_system_prompt(each.turns, template.system_prompt))
    return chain(markers, texts)


# --- what fits into a context -------------------------------------------------------------------------------------


class History(NamedTuple):
    """The turns that fit into a context, and how many older ones do not."""

    turns: EncodedDialogue
    dropped: int


def fit_history(turns: EncodedDialogue, room: int) -> History:
    """The newest turns of at most `room` tokens in all (0: any number), after the system turn at the beginning, which
    stays; the last turn stays too, even if it does not fit."""
    opening = opening_turns(turns)
    first, size = opening, total_size(turns)
    while room and size > room and first < len(turns) - 1:
        size -= turns[first].size
        first += 1
    return History([*turns[:opening], *turns[first:]], first - opening)


def opening_turns(turns: EncodedDialogue) -> int:
    """1 if a system turn is the first, else 0."""
    return int(bool(turns) and turns[0].role == SYSTEM)


def total_size(turns: Iterable[EncodedTurn]) -> int:
    """The tokens of turns, [END] of each counted."""
    return sum(turn.size for turn in turns)
