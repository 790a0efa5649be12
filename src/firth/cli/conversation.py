"""`firth run RUN --chat`: a conversation in the terminal, or of the lines of standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from firth.cli.busy_line import stop_line
from firth.cli.console import print_json, sanitise, stdin_lines
from firth.errors import FirthError

_PROMPT = "> "


def run_chat(model: Any, text: str, system: str, options: Mapping[str, object], as_json: bool) -> None:
    """Reply to each turn: the one that is given, or those that are typed or piped in."""
    if not hasattr(model, "session"):
        do = "train one that does: firth train chat-lm --text dialogues.jsonl"
        raise FirthError("this model does not chat", where=model.run.path, do=do)
    session = model.session(system, **options)
    if text in ("", "-") and sys.stdin.isatty():
        print("Type a turn and press Enter; Ctrl-D ends the conversation.", file=sys.stderr)
    for turn in [text] if text not in ("", "-") else _turns():
        _answer(session, turn, as_json)


def _turns() -> Iterator[str]:
    """The turns that are typed at a terminal, after a prompt, or the lines of standard input."""
    if not sys.stdin.isatty():
        yield from stdin_lines()
        return
    stop_line()
    while True:
        try:
            turn = input(_PROMPT).strip()
        except EOFError:
            print(file=sys.stderr)
            return
        if turn:
            yield turn


def _answer(session: Any, turn: str, as_json: bool) -> None:
    """Print the reply; a turn that is too long is an error that, at a terminal, does not end the conversation."""
    before = session.dropped
    try:
        reply = session.say(turn)
    except FirthError as error:
        if not sys.stdin.isatty():
            raise
        print(f"firth: {error}", file=sys.stderr)
        return
    if session.dropped > before:
        print(f"note: {_dropped(session.dropped)} not fit into the context any more", file=sys.stderr)
    if as_json:
        print_json({"input": turn, "reply": reply.text, "log_probability": reply.log_probability,
                    "dropped_turns": reply.dropped})  # fmt: skip
    else:
        print("\n".join(map(sanitise, reply.text.split("\n"))), flush=True)


def _dropped(count: int) -> str:
    return "the oldest turn does" if count == 1 else f"the {count:,} oldest turns do"
