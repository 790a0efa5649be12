"""The blocks of a page that are commands, Python or recipes, with the output that the page shows for them.

A comment above a block, which readers do not see, says what to make of it:

- `<!-- not run: … -->` and why;
- `<!-- file: … -->`: the reader saves it under this name;
- `<!-- part of: … -->`: it belongs into this file of the repository;
- `<!-- words vary -->`: the output has words of a model or of the built-in text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", flags=re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!-- (.*?) -->\s*$")
NOT_RUN, FILE, PART, VARIES = "not run: ", "file: ", "part of: ", "words vary"
SHELL = ("sh", "bash", "console")


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    page: str
    line: int
    language: str
    code: str
    comment: str = ""
    shown: str = ""  # output, from the text block that directly follows

    @property
    def place(self) -> str:
        """For messages."""
        return f"{self.page}:{self.line}"

    @property
    def not_run(self) -> str:
        """Why it is not run; empty if it is."""
        return self.comment.removeprefix(NOT_RUN) if self.comment.startswith(NOT_RUN) else ""

    @property
    def file(self) -> str:
        """The name of the file that it is; empty if it is none."""
        return self.comment.removeprefix(FILE) if self.comment.startswith(FILE) else ""

    @property
    def part_of(self) -> str:
        """The file of the repository that it belongs into; empty if there is none."""
        return self.comment.removeprefix(PART) if self.comment.startswith(PART) else ""

    @property
    def words_vary(self) -> bool:
        """Whether only the shape of the output is compared."""
        return self.comment == VARIES

    def commands(self) -> Iterator[tuple[str, str]]:
        """Shell code and the output shown for it: of a console each command after a `$`, otherwise the whole block."""
        if not is_session(self.code):
            yield self.code, self.shown
            return
        for entry in re.split(r"^\$ ", self.code, flags=re.MULTILINE)[1:]:
            command = re.match(r"(?:.*\\\n)*.*\n", entry)[0]
            yield command, entry[len(command) :]


def read_blocks(path: Path) -> list[Block]:
    """All blocks of a page; output is with what prints it."""
    page = path.read_text(encoding="utf-8")
    found: list[Block] = []
    end = 0
    for match in FENCE.finditer(page):
        comment = COMMENT.search(page, end, match.start())
        between = page[end : comment.start() if comment else match.start()]
        code = re.sub(f"^{match[1]}", "", match[3], flags=re.MULTILINE)
        block = Block(path.name, page.count("\n", 0, match.start()) + 1, match[2], code, comment[1] if comment else "")
        if block.language == "text" and not is_session(code) and found and not between.strip():
            found[-1] = replace(found[-1], shown=code, comment=block.comment or found[-1].comment)
        else:
            found.append(replace(block, language="console") if is_session(code) else block)
        end = match.end()
    return found


def is_session(code: str) -> bool:
    """Whether code is commands after `$`, between their output."""
    return code.startswith("$ ")
