"""The special tokens: their names, their ids, and where a foreign tokenizer keeps its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

SENTINEL = re.compile(r"<extra_id_(\d+)>")  # marks a gap; foreign files list theirs among the special tokens
NAMES = ("[PAD]", "[UNK]", "[START]", "[END]", "[MASK]", "[CLS]", "[SEP]")  # the first ids, in this order
UNKNOWN = NAMES[1]


@dataclass(frozen=True)
class Special:
    """The ids of the special tokens; None where a foreign tokenizer has no such token."""

    pad: int | None = None
    unknown: int | None = None
    start: int | None = None
    end: int | None = None
    mask: int | None = None
    cls: int | None = None
    sep: int | None = None

    @property
    def padding(self) -> int:
        """What fills rows up, where nobody looks: any token will do."""
        return next((i for i in (self.pad, self.end) if i is not None), 0)

    @property
    def opening(self) -> int:
        """What stands before the first token of a text: T5 has no token of its own for it."""
        return self.padding if self.start is None else self.start

    @property
    def ids(self) -> frozenset[int]:
        """Those that there are."""
        return frozenset(i for f in fields(self) if (i := getattr(self, f.name)) is not None)


# What each is called, ours first: the first name found wins.
_CALLED = {
    "pad": ("[PAD]", "<pad>", "<|pad|>"),
    "unknown": ("[UNK]", "<unk>", "<|unk|>"),
    "start": ("[START]", "<s>", "<bos>", "<|begin_of_text|>", "<|startoftext|>", "<|endoftext|>", "[CLS]"),
    "end": ("[END]", "</s>", "<eos>", "<|end_of_text|>", "<|endoftext|>", "[SEP]"),
    "mask": ("[MASK]", "<mask>", "<|mask|>"),
    "cls": ("[CLS]", "<cls>", "<s>"),
    "sep": ("[SEP]", "<sep>", "</s>"),
}
_OWN = dict(zip(_CALLED, NAMES, strict=True))


def every_name() -> list[str]:
    """All names under which a special token is recognised."""
    return sorted({name for names in _CALLED.values() for name in names})


def find(file: Mapping[str, Any], vocabulary: Mapping[str, int]) -> Special:
    """The special tokens of a file: those it marks; if it marks none, by their names in the vocabulary."""
    listed = (token for token in file["added_tokens"] if not SENTINEL.fullmatch(token["content"]))
    marked = {token["content"]: token["id"] for token in listed if token["special"]}
    known = marked or vocabulary
    found = {role: next((known[n] for n in names if n in known), None) for role, names in _CALLED.items()}
    return Special(**{**found, **_unknown(file["model"], vocabulary)})


def sentinels(vocabulary: Mapping[str, int]) -> tuple[int, ...]:
    """The tokens that mark gaps, the first gap's first."""
    found = {int(match[1]): i for name, i in vocabulary.items() if (match := SENTINEL.fullmatch(name))}
    return tuple(found[number] for number in sorted(found))


def missing(special: Special) -> list[str]:
    """Our names for the roles that nobody plays."""
    return [name for role, name in _OWN.items() if getattr(special, role) is None]


def _unknown(model: Mapping[str, Any], vocabulary: Mapping[str, int]) -> dict[str, int]:
    """The model says itself what it puts for the unknown, if it does."""
    if model.get("unk_id") is not None:
        return {"unknown": model["unk_id"]}
    named = vocabulary.get(model.get("unk_token") or "")
    return {} if named is None else {"unknown": named}
