"""The one kind of error a user is meant to see: what is wrong, where, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from types import MappingProxyType


class FirthError(Exception):
    """A problem the user can mend. Prints as one line: `where: what; do`, which are its attributes."""

    def __init__(self, what: str, *, where: object = "", do: str = "") -> None:
        self.what, self.where, self.do = what, str(where), do
        super().__init__(what)

    def __str__(self) -> str:
        line = f"{self.where}: {self.what}" if self.where else self.what
        line = f"{line}; {self.do}" if self.do else line
        return printable(" ".join(line.split()))


def printable(line: str) -> str:
    """The line; characters that could steer a terminal, or hide or reorder text, are escapes (not joiners of words)."""
    if line.isprintable():
        return line
    return "".join(sign if sign.isprintable() or sign in "\u200c\u200d" else repr(sign)[1:-1] for sign in line)


class MissingMethodError(FirthError, AttributeError):
    """A method that a model does not have; an AttributeError too, so that `hasattr` works."""


def unknown(
    kind: str,
    name: object,
    known: Iterable[str],
    *,
    where: object = "",
    synonyms: Mapping[str, str] = MappingProxyType({}),
) -> FirthError:
    """The error for a name that no table has: it offers the one that means the same or the nearest, else lists all."""
    known = sorted(known)
    lower = str(name).lower()
    meant, lowercase = synonyms.get(lower), {word.lower(): word for word in known}
    near = [meant] if meant in known else get_close_matches(lower, lowercase, n=1, cutoff=0.5)
    near = [lowercase.get(word, word) for word in near]
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
    return FirthError(f"unknown {kind} {name!r}", where=where, do=hint)
