"""Normalised text into pieces, as each kind of SentencePiece model does it."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Mapping
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from firth.text.pieces.model import BYTE, NORMAL, SPACE, UNKNOWN, UNUSED, USER, Model, any_of

_UNKNOWN_PENALTY = 10.0  # below the least score of all pieces
_USER_SCORE = -0.1  # above any other
_REMEMBERED = 1 << 18  # words


class Cut(NamedTuple):
    """A stretch of the normalised text and the piece it became."""

    id: int
    start: int
    end: int


class _Known:
    """The pieces by their spelling: those found in text, and those that are not."""

    def __init__(self, model: Model) -> None:
        found = [(piece.text, i) for i, piece in enumerate(model.pieces) if piece.type in (NORMAL, USER, UNUSED)]
        self.found, self.model = dict(found), model
        self.reserved = {p.text: i for i, p in enumerate(model.pieces) if p.type in (UNKNOWN, BYTE)}
        self.unknown = next((i for i, piece in enumerate(model.pieces) if piece.type == UNKNOWN), 0)

    def id(self, text: str) -> int:
        """The number of a piece; the unknown piece's if there is none, or one that no text may spell (control)."""
        return self.reserved.get(text, self.found.get(text, self.unknown))


class _Unigram:
    """The most probable pieces (Kudo 2018), summed in single precision from left to right as SentencePiece does."""

    def __init__(self, model: Model) -> None:
        self.known = _Known(model)
        normal = [piece.score for piece in model.pieces if piece.type == NORMAL]
        self.unknown_score = array("f", [min(normal, default=0.0) - _UNKNOWN_PENALTY])[0]
        self.tree: dict = {}
        for text, i in self.known.found.items():
            if model.pieces[i].type != UNUSED:
                node = self.tree
                for character in text:
                    node = node.setdefault(character, {})
                node[""] = i, _USER_SCORE if model.pieces[i].type == USER else model.pieces[i].score

    def __call__(self, text: str) -> list[Cut]:
        size, unknown = len(text), self.known.unknown
        best = array("f", bytes(4 * (size + 1)))  # assigning rounds to single precision
        came, which, rounded = [-1] * (size + 1), [0] * (size + 1), array("f", [0.0])
        for start in range(size):
            here, node, end, whole = best[start], self.tree, start, False
            while end < size and (node := node.get(text[end])) is not None:
                end += 1
                if "" in node:
                    i, score = node[""]
                    rounded[0] = score + here
                    score = rounded[0]
                    if came[end] < 0 or score > best[end]:
                        best[end], came[end], which[end] = score, start, i
                    whole = whole or end == start + 1
            if not whole:
                rounded[0], end = here + self.unknown_score, start + 1
                if came[end] < 0 or rounded[0] > best[end]:
                    best[end], came[end], which[end] = rounded[0], start, unknown
        cuts, end = [], size
        while end > 0:
            cuts.append(Cut(which[end], came[end], end))
            end = came[end]
        return cuts[::-1]


class _Merging:
    """Neighbours are joined while the vocabulary knows them joined: the best score first, then the leftmost."""

    def __init__(self, model: Model) -> None:
        self.known, self.pieces = _Known(model), model.pieces
        self.user = any_of([piece.text for piece in model.pieces if piece.type == USER])
        inside = any(SPACE in text[1:] for text in self.known.found)
        self.words = None if inside or model.suffix or not model.escape else re.compile(f"{SPACE}?[^{SPACE}]+|{SPACE}")
        self.remembered: dict[str, list[Cut]] = {}

    def __call__(self, text: str) -> list[Cut]:
        if self.words is None:
            return self._merged(text)
        cuts: list[Cut] = []
        for match in self.words.finditer(text):  # no piece goes across the border of a word
            start = match.start()
            cuts += [Cut(i, a + start, b + start) for i, a, b in self._remember(match[0])]
        return cuts

    def _remember(self, word: str) -> list[Cut]:
        if word not in self.remembered:
            if len(self.remembered) >= _REMEMBERED:
                self.remembered.clear()
            self.remembered[word] = self._merged(word)
        return self.remembered[word]

    def _merged(self, text: str) -> list[Cut]:
        symbols, frozen = self._symbols(text)
        after = [*range(1, len(symbols)), -1]
        before = list(range(-1, len(symbols) - 1))
        made: dict[str, tuple[str, str]] = {}  # how an unused piece came about

        def pair(left: int, right: int) -> tuple[float, int, int, int] | None:
            if left < 0 or right < 0 or frozen[left] or frozen[right]:
                return None
            joined = symbols[left] + symbols[right]
            i = self.known.found.get(joined)
            if i is not None and self.pieces[i].type == UNUSED:
                made[joined] = symbols[left], symbols[right]
            return None if i is None else (-self.pieces[i].score, left, right, len(joined))

        agenda = [found for n in range(1, len(symbols)) if (found := pair(n - 1, n))]
        heapify(agenda)
        while agenda:
            _, left, right, size = heappop(agenda)
            if not symbols[left] or not symbols[right] or len(symbols[left]) + len(symbols[right]) != size:
                continue
            symbols[left], symbols[right] = symbols[left] + symbols[right], ""
            after[left] = after[right]
            if after[right] >= 0:
                before[after[right]] = left
            for found in (pair(before[left], left), pair(left, after[left])):
                if found:
                    heappush(agenda, found)
        return self._cuts(symbols, made)

    def _symbols(self, text: str) -> tuple[list[str], list[bool]]:
        """Characters and user-defined pieces; the latter are not joined with anything."""
        symbols, frozen, place = [], [], 0
        while place < len(text):
            match = self.user.match(text, place) if self.user else None
            symbols.append(match[0] if match else text[place])
            frozen.append(match is not None)
            place += len(symbols[-1])
        return symbols, frozen

    def _cuts(self, symbols: list[str], made: Mapping[str, tuple[str, str]]) -> list[Cut]:
        cuts, start = [], 0
        left = [symbol for symbol in reversed(symbols) if symbol]
        while left:
            symbol = left.pop()
            i = self.known.id(symbol)
            if self.pieces[i].type == UNUSED and symbol in made:
                left += reversed(made[symbol])
                continue
            cuts.append(Cut(i, start, start + len(symbol)))
            start += len(symbol)
        return cuts


class _Characters(_Merging):
    """One piece to a character; user-defined ones stay whole."""

    def __call__(self, text: str) -> list[Cut]:
        return self._cuts(self._symbols(text)[0], {})


class _Words(_Characters):
    """One piece to a word with the space before it: SentencePiece does so even where a model's pieces end with it."""

    def _symbols(self, text: str) -> tuple[list[str], list[bool]]:
        return re.findall(f"{SPACE}?[^{SPACE}]+|{SPACE}", text), []


CUT: dict[str, Callable[[Model], Callable[[str], list[Cut]]]] = {
    "unigram": _Unigram,
    "bpe": _Merging,
    "char": _Characters,
    "word": _Words,
}


class Finish:
    """Unknown stretches become bytes, or one unknown token for a whole run of them."""

    def __init__(self, model: Model) -> None:
        known = _Known(model)
        self.unknown, self.by_byte = known.unknown, model.bytes
        self.bytes = [known.id(f"<0x{byte:02X}>") for byte in range(256)]

    def __call__(self, text: str, cuts: list[Cut]) -> list[Cut]:
        if not any(cut.id == self.unknown for cut in cuts):
            return cuts
        found: list[Cut] = []
        for cut in cuts:
            if cut.id != self.unknown:
                found.append(cut)
            elif self.by_byte:
                spelled = text[cut.start : cut.end].encode()
                found += [Cut(self.bytes[byte], cut.start, cut.end) for byte in spelled]
            elif found and found[-1].id == self.unknown:
                found[-1] = Cut(self.unknown, found[-1].start, cut.end)
            else:
                found.append(cut)
        return found
