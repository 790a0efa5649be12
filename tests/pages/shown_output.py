"""Whether a command prints what its page shows. Numbers, hashes and quoted text vary; words are compared."""

from __future__ import annotations

import re

SIGNATURE = re.compile(r"\s*\[\w+:[^\]]*\]\s*$")  # of a score: printed or not
NUMBER = re.compile(r"[-+−±]?\b\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?:[kMGTms%]|ms)?(?![\w])")
HASH = re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b")
QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'|“[^”]*”")
VARIABLE = re.compile("|".join(part.pattern for part in (HASH, QUOTED, NUMBER)) + r"|\bn/a\b|\bnan\b|\binf\b")
SKIPPED = ("…", "...")


def missing_lines(shown: str, printed: str, words_vary: bool = False) -> list[str]:
    """The lines of a page that were not printed, in the order of the page."""
    lines = [_plain(line) for line in printed.splitlines()]
    missing, start = [], 0
    for line in filter(None, map(_plain, shown.splitlines())):
        if line in SKIPPED:
            continue
        pattern = re.compile(_pattern(line, words_vary))
        found = next((number for number in range(start, len(lines)) if pattern.fullmatch(lines[number])), None)
        if found is None:
            missing.append(line)
        else:
            start = found + 1
    return missing


def _plain(line: str) -> str:
    return " ".join(SIGNATURE.sub("", line).split())


def _pattern(line: str, words_vary: bool) -> str:
    """A regular expression for the printed line; `…` stands for anything."""
    return ".*".join(_part(part, words_vary) for part in re.split(r"\s*…\s*", line))


def _part(part: str, words_vary: bool) -> str:
    pieces, end = [], 0
    for match in VARIABLE.finditer(part):
        pieces += [_fixed(part[end : match.start()], words_vary), r"\S.*?" if match[0][0] in "\"'“" else r"\S+"]
        end = match.end()
    return "".join([*pieces, _fixed(part[end:], words_vary)])


def _fixed(text: str, words_vary: bool) -> str:
    return ".*" if words_vary and any(map(str.isalpha, text)) else re.escape(text)
