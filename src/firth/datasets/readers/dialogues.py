"""Dialogues as JSON lines: a list of messages with roles, or a prompt and its completion."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from firth.datasets.readers import fault_report
from firth.datasets.readers.json_objects import JsonObject, read_objects
from firth.datasets.readers.values import quote
from firth.datasets.records import Dialogue, Turn
from firth.errors import FirthError, unknown

SYSTEM, USER, ASSISTANT = ROLES = ("system", "user", "assistant")


@dataclass(frozen=True)
class Dialogues:
    """One conversation per line: `{"messages": [{"role": …, "content": …}, …]}` or `{"prompt": …, "completion": …}`."""

    messages: str = "messages"  # the keys
    role: str = "role"
    content: str = "content"
    prompt: str = "prompt"
    completion: str = "completion"
    roles: tuple[str, ...] = ROLES  # that may occur; none: any
    rename: tuple[str, ...] = ()  # roles of the file: human=user,gpt=assistant
    extra: Literal["refuse", "drop"] = "refuse"  # further keys: refuse the line, or leave them out
    layout: Literal["messages", "prompt"] = "messages"  # when writing; both are read

    extensions: ClassVar[tuple[str, ...]] = ()
    record_type: ClassVar[type] = Dialogue
    task: ClassVar[str] = "dialogue"

    def read(self, path: str | Path, report: fault_report.Report | None = None) -> Iterator[Dialogue]:
        """The dialogues; blank lines are skipped."""
        renamed = dict(self._renaming())
        return read_objects(path, lambda entry: self._dialogue(entry, renamed), report)

    def _dialogue(self, entry: JsonObject, renamed: dict[str, str]) -> Dialogue:
        if self.messages not in entry.values and self.prompt in entry.values:
            entry.only((self.prompt, self.completion), self.extra)
            texts = entry.get(self.prompt, str), entry.get(self.completion, str)
            return Dialogue((Turn(USER, texts[0]), Turn(ASSISTANT, texts[1])), entry.line)
        entry.only((self.messages,), self.extra)
        messages = entry.get(self.messages, list)
        turns = [self._turn(entry.item(each, f"{self.messages}[{n}]"), renamed) for n, each in enumerate(messages)]
        if not turns:
            raise entry.error(f"{self.messages} is empty", "give at least one message, or remove the line")
        return Dialogue(tuple(turns), entry.line)

    def _turn(self, message: JsonObject, renamed: dict[str, str]) -> Turn:
        message.only((self.role, self.content), self.extra)
        role = message.get(self.role, str)
        role = renamed.get(role, role)
        if self.roles and role not in self.roles:
            error = unknown("role", role, self.roles)
            raise message.error(error.what, f"{error.do.rstrip('?')}? Or set rename={role}=user, or roles=")
        return Turn(role, message.get(self.content, str))

    def _renaming(self) -> Iterator[tuple[str, str]]:
        for entry in self.rename:
            old, equals, new = entry.partition("=")
            if not (old and equals and new):
                raise FirthError(f"cannot read rename {quote(entry)}", do="write rename=human=user,gpt=assistant")
            yield old, new

    def rows(self, records: Iterable[Dialogue]) -> Iterator[str]:
        """The lines of a file with these dialogues."""
        build = {"messages": self._messages, "prompt": self._pair}[self.layout]
        return (json.dumps(build(dialogue), ensure_ascii=False) for dialogue in records)

    def _messages(self, dialogue: Dialogue) -> dict[str, Any]:
        return {self.messages: [{self.role: turn.role, self.content: turn.text} for turn in dialogue.turns]}

    def _pair(self, dialogue: Dialogue) -> dict[str, Any]:
        if [turn.role for turn in dialogue.turns] != [USER, ASSISTANT]:
            what = f"{len(dialogue.turns)} turns that are not a prompt and its completion"
            raise FirthError(what, where=f"line {dialogue.line}", do="write it with layout=messages")
        return {self.prompt: dialogue.turns[0].text, self.completion: dialogue.turns[1].text}
