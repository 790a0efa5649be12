"""Special tokens: their names, their ids, and how those of foreign tokenizers are recognised.

Roles in the words of other libraries: start is BOS, end is EOS, unknown is UNK.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from firth.config.schema import Layout

SENTINEL = re.compile(r"<extra_id_(\d+)>")  # T5's sentinel tokens; foreign files list theirs as special tokens
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[START]", "[END]", "[MASK]", "[CLS]", "[SEP]")  # the first ids, in this order
UNK = SPECIAL_TOKENS[1]


@dataclass(frozen=True)
class SpecialTokens:
    """The ids of the special tokens; None where a foreign tokenizer has no such token."""

    pad: int | None = None
    unknown: int | None = None
    start: int | None = None
    end: int | None = None
    mask: int | None = None
    cls: int | None = None
    sep: int | None = None

    @property
    def pad_id(self) -> int:
        """The id that pads batches: pad, else end, else 0. Padding is masked, so that any token will do."""
        return next((i for i in (self.pad, self.end) if i is not None), 0)

    @property
    def bos_id(self) -> int:
        """The id before the first token of a text: start, else the padding id, as in T5."""
        return self.pad_id if self.start is None else self.start

    @property
    def ids(self) -> frozenset[int]:
        """The ids of all special tokens that exist."""
        return frozenset(i for f in fields(self) if (i := getattr(self, f.name)) is not None)


def special_tokens_around(layout: Layout, special: SpecialTokens) -> tuple[list[int], list[int], list[int]]:
    """The special tokens before the first text, between two texts, and at the end."""
    if layout == "plain":
        return [], [], []
    if layout == "cls-last":
        return [special.start], [special.sep], [special.cls]
    return [special.cls], [special.sep] * (2 if layout == "double-sep" else 1), [special.sep]


# The names of each role, ours first: the first one in the vocabulary wins.
_NAMES = {
    "pad": ("[PAD]", "<pad>", "<|pad|>"),
    "unknown": ("[UNK]", "<unk>", "<|unk|>"),
    "start": ("[START]", "<s>", "<bos>", "<|begin_of_text|>", "<|startoftext|>", "<|endoftext|>", "[CLS]"),
    "end": ("[END]", "</s>", "<eos>", "<|end_of_text|>", "<|endoftext|>", "[SEP]"),
    "mask": ("[MASK]", "<mask>", "<|mask|>"),
    "cls": ("[CLS]", "<cls>", "<s>"),
    "sep": ("[SEP]", "<sep>", "</s>"),
}
_OUR_NAMES = dict(zip(_NAMES, SPECIAL_TOKENS, strict=True))


def all_names() -> list[str]:
    """All names by which a special token is recognised."""
    return sorted({name for names in _NAMES.values() for name in names})


def find_special_tokens(file: Mapping[str, Any], vocabulary: Mapping[str, int]) -> SpecialTokens:
    """The special tokens of a `tokenizer.json`: those it marks as special; if none, by name in the vocabulary."""
    added = (token for token in file["added_tokens"] if not SENTINEL.fullmatch(token["content"]))
    marked = {token["content"]: token["id"] for token in added if token["special"]}
    known = marked or vocabulary
    roles = {role: next((known[name] for name in names if name in known), None) for role, names in _NAMES.items()}
    return SpecialTokens(**{**roles, **_unknown(file["model"], vocabulary)})


def sentinel_ids(vocabulary: Mapping[str, int]) -> tuple[int, ...]:
    """The ids of the sentinel tokens <extra_id_0>, <extra_id_1>, …"""
    sentinels = {int(match[1]): i for name, i in vocabulary.items() if (match := SENTINEL.fullmatch(name))}
    return tuple(sentinels[number] for number in sorted(sentinels))


def missing_special_tokens(special: SpecialTokens) -> list[str]:
    """Our names for the roles without a token."""
    return [name for role, name in _OUR_NAMES.items() if getattr(special, role) is None]


def _unknown(model: Mapping[str, Any], vocabulary: Mapping[str, int]) -> dict[str, int]:
    """The unknown token that the model itself declares, if it does."""
    if model.get("unk_id") is not None:
        return {"unknown": model["unk_id"]}
    i = vocabulary.get(model.get("unk_token") or "")
    return {} if i is None else {"unknown": i}
