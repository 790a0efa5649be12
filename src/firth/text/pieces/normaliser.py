"""SentencePiece's normalisation: strings put for others, spaces counted out, every character traced back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from firth.text.charsmap import Charsmap
from firth.text.pieces.model import SPACE, USER, Model, any_of


class Normaliser:
    """Puts strings for others, counts out the spaces, and remembers where every character came from."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._map = Charsmap(model.charsmap) if model.charsmap else None
        self._user = any_of([piece.text for piece in model.pieces if piece.type == USER])
        self._space = SPACE if model.escape else " "
        self._quiet = self._stretches([piece.text[0] for piece in model.pieces if piece.type == USER])

    def _stretches(self, firsts: Sequence[str]) -> re.Pattern[str]:
        """What certainly stays as it is, without spaces: most of the text, and so found by one expression."""
        if self._map is None:
            return re.compile(f"[^{re.escape(''.join([' ', *firsts]))}]+")
        signs = [chr(code) for code in range(0x21, 0x7F)]
        quiet = [a for a in signs if a not in firsts and not any(self._map.longest(a + b, 0) for b in (" ", *signs))]
        inside = re.escape("".join(quiet)) or "\0"
        return re.compile(f"[{inside}]+(?![^{inside} ])")  # what follows might belong to the last character

    def __call__(self, text: str) -> tuple[str, list[int]]:
        """The normalised text, and for each of its characters, and for its end, a place in the text."""
        parts, origin, model = [], [], self._model
        chunks = self._without_leading(self._chunks(text))
        before, begun = model.trim, False  # whether a space stands before; whether there is any text
        for start, new, quiet in chunks:
            if not begun and model.prefix and not model.suffix:
                parts.append(self._space)
                origin.append(start)
            begun = True
            if before and new[:1] == " ":
                new = new.lstrip(" ")
            if new:
                parts.append(new.replace(" ", self._space) if " " in new else new)
                origin += range(start, start + len(new)) if quiet else [start] * len(new)
                before = model.trim and new[-1] == " "
        return self._ended("".join(parts), origin, len(text)) if begun else ("", [len(text)])

    def _ended(self, normal: str, origin: list[int], end: int) -> tuple[str, list[int]]:
        origin.append(end)
        if self._model.trim:
            normal = normal.rstrip(self._space)
            del origin[len(normal) + 1 :]
        if self._model.suffix and self._model.prefix:
            normal += self._space
            origin.append(origin[-1])
        return normal, origin

    def _without_leading(self, chunks: Iterator[tuple[int, str, bool]]) -> Iterator[tuple[int, str, bool]]:
        if self._model.trim:
            for chunk in chunks:
                if chunk[1] != " ":
                    yield chunk
                    break
        yield from chunks

    def _chunks(self, text: str) -> Iterator[tuple[int, str, bool]]:
        """What is put for the text, piece by piece: where each stands, the new string, and whether it is the old."""
        place, size = 0, len(text)
        user, longest = self._user, self._map.longest if self._map else (lambda text, place: None)
        while place < size:
            start = place
            if (match := self._quiet.match(text, place)) or (user and (match := user.match(text, place))):
                place = match.end()
                yield start, match[0], match.re is self._quiet
            elif found := longest(text, place):
                new, place = found
                yield start, new, False
            else:
                place += 1
                yield start, text[start], True
