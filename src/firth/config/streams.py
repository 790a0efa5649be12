"""Groups of settings by stream: an immutable mapping."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

Part = TypeVar("Part")
Other = TypeVar("Other")


class Streams(Mapping[str, Part]):
    """Stream -> its part of a configuration, in alphabetical order; immutable and hashable."""

    __slots__ = ("_parts",)

    def __init__(self, parts: Mapping[str, Part] | None = None, /, **named: Part) -> None:
        given = {**(parts or {}), **named}
        self._parts = {stream: given[stream] for stream in sorted(given)}

    def __getitem__(self, stream: str) -> Part:
        return self._parts[stream]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __hash__(self) -> int:
        return hash(tuple(self._parts.items()))

    def __repr__(self) -> str:
        return f"Streams({', '.join(f'{stream}={part!r}' for stream, part in self._parts.items())})"

    def map(self, function: Callable[[Part], Other]) -> Streams[Other]:
        """The same streams, each part changed by a function."""
        return Streams({stream: function(part) for stream, part in self._parts.items()})

    def replace(self, stream: str, **fields: Any) -> Streams[Part]:
        """The same with fields of one stream's part changed."""
        part: Any = self._parts[stream]
        return Streams({**self._parts, stream: replace(part, **fields)})
