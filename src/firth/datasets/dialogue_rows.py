"""Rows of dialogues: tokens, of which only the assistant's are predicted. A dialogue that is longer than a row gives
several: each reply is predicted once, after the turns before it that fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from firth.datasets.chat_format import EncodedDialogue, EncodedTurn, opening_turns, total_size


class DialogueRow(NamedTuple):
    """The tokens of a row, [END] after each turn, and which of them are predicted: those of replies, with [END]."""

    ids: np.ndarray  # (tokens,)
    predicted: np.ndarray  # bool (tokens,)
    is_cut: bool  # a turn had to be truncated


def dialogue_rows(turns: EncodedDialogue, length: int, end: int) -> Iterator[DialogueRow]:
    """The rows of a dialogue, of at most `length` tokens each."""
    opening, done = opening_turns(turns), opening_turns(turns)
    while (reply := _next_reply(turns, done)) is not None:
        first = _first_turn(turns, opening, done, reply, length)
        head = [*turns[:opening], *turns[first:reply]]
        if total_size(head) + turns[reply].size > length:
            yield _cut_row(head, turns[reply], length, end)
            done = reply + 1
            continue
        stop, size = reply + 1, total_size(head) + turns[reply].size
        while stop < len(turns) and size + turns[stop].size <= length:
            size += turns[stop].size
            stop += 1
        predicted_from = opening + done - first if first < done else opening
        yield _row([*turns[:opening], *turns[first:stop]], predicted_from, end)
        done = stop


def _next_reply(turns: EncodedDialogue, start: int) -> int | None:
    return next((number for number in range(start, len(turns)) if turns[number].is_reply), None)


def _first_turn(turns: EncodedDialogue, opening: int, done: int, reply: int, length: int) -> int:
    """The first turn of a row whose first new reply is this one. A row that continues a dialogue has at most half of
    its tokens before the new turns, so that each turn is read about twice; one turn before the reply stays."""
    head, first = total_size(turns[:opening]), opening
    limit = length if done == opening else max(length // 2, head + total_size(turns[done : reply + 1]))
    while first < reply - 1 and head + total_size(turns[first : reply + 1]) > min(limit, length):
        first += 1
    return first


def _row(turns: Sequence[EncodedTurn], predicted_from: int, end: int) -> DialogueRow:
    """The row of whole turns; replies before `predicted_from` were predicted in another."""
    ids: list[int] = []
    predicted: list[bool] = []
    for number, turn in enumerate(turns):
        ids += [*turn.marker, *turn.text, end]
        is_target = turn.is_reply and number >= predicted_from
        predicted += [False] * len(turn.marker) + [is_target] * (len(turn.text) + 1)
    return DialogueRow(np.array(ids, np.int64), np.array(predicted, bool), False)


def _cut_row(head: Sequence[EncodedTurn], reply: EncodedTurn, length: int, end: int) -> DialogueRow:
    """A row of a reply that does not fit beside the turn before it: that is cut at its start, the reply at its end."""
    before, own = _row(head, len(head), end), _row([reply], 0, end)
    kept = min(len(before.ids), max(length // 2, length - len(own.ids)))
    parts = zip(before[:2], own[:2], strict=True)
    ids, predicted = (np.concatenate([one[len(one) - kept :], other])[:length] for one, other in parts)
    return DialogueRow(ids, predicted, True)
