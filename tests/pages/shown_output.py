"""Whether a command prints what its page shows. Numbers, hashes and quoted text vary; words are compared."""

from __future__ import annotations

import re

SIGNATURE = re.compile(r"\s*\[\w+:[^\]]*\]\s*$")  # of a score: printed or not
NUMBER = re.compile(r"[-+−±]?\b\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?:[kMGTms%]|ms)?(?![\w])")
HASH = re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b")
QUOTED = re.compile(r'".*"|“.*”|\'[^\']*\'')
LEFT_OUT = re.compile(r"\s*…\s*")
VARIABLE = re.compile("|".join(part.pattern for part in (QUOTED, LEFT_OUT, HASH, NUMBER)))
SKIPPED = ("…", "...")


def missing_lines(shown: str, printed: str, words_vary: bool = False) -> list[str]:
    """The lines of a page that were not printed. They come in the order of the page; where words vary, a line with at
    least as many numbers will do, and the same one for several, since there may be fewer of a kind."""
    lines = [_plain(line) for line in printed.splitlines()]
    missing, start = [], 0
    for line in filter(None, map(_plain, shown.splitlines())):
        if line in SKIPPED:
            continue
        pattern = re.compile(_pattern(line))
        found = next((number for number in range(start, len(lines)) if pattern.fullmatch(lines[number])), None)
        if found is not None:
            start = 0 if words_vary else found + 1
        elif not words_vary or not any(_numbers(other) >= _numbers(line) for other in filter(None, lines)):
            missing.append(line)
    return missing


def _plain(line: str) -> str:
    return " ".join(SIGNATURE.sub("", line).split())


def _numbers(line: str) -> int:
    """How many words of a line are numbers."""
    return sum(bool(NUMBER.fullmatch(word.strip("(),:;.")) or word == "n/a") for word in line.split())


def _pattern(line: str) -> str:
    """A regular expression for the printed line."""
    pieces, end = [], 0
    for match in VARIABLE.finditer(line):
        pieces += [re.escape(line[end : match.start()]), r"\S+" if NUMBER.match(match[0]) else ".*"]
        end = match.end()
    return "".join([*pieces, re.escape(line[end:])])
