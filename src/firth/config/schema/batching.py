"""How rows of a batch are made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from firth.config.core import bounded


@dataclass(frozen=True, kw_only=True)
class Rows:
    """What all kinds of rows have."""

    gives: ClassVar[str] = "tokens"  # the kind of input that reads them
    # shorter rows first: their lengths in equal parts of the run before the one with `length`; so many more at a time
    stages: tuple[int, ...] = field(default=(), metadata={"least": 8})


@dataclass(frozen=True)
class Contiguous(Rows):
    """Parallel streams through the whole text; row i of a batch goes on where it stopped (truncated BPTT)."""

    kind: ClassVar[str] = "contiguous"
    rows: int = bounded(20, least=1)
    length: int = bounded(35, least=1)


@dataclass(frozen=True)
class Bucketed(Rows):
    """One document per row, documents of similar length together, under a budget of tokens (padding counted)."""

    kind: ClassVar[str] = "bucketed"
    tokens: int = bounded(4096, least=1)
    length: int = bounded(512, least=2)  # longer documents are cut


@dataclass(frozen=True)
class Packed(Rows):
    """Whole documents side by side in rows of one length; marks tell them apart."""

    kind: ClassVar[str] = "packed"
    rows: int = bounded(8, least=1)
    length: int = bounded(512, least=2)


@dataclass(frozen=True)
class Windows(Rows):
    """Rows cut from the text anywhere, each on its own; where text is scored they overlap."""

    kind: ClassVar[str] = "windows"
    rows: int = bounded(16, least=1)
    length: int = bounded(256, least=2)
    stride: int = bounded(0, least=0)  # tokens from one to the next where text is scored; 0: half a length


@dataclass(frozen=True)
class Framed(Rows):
    """Pieces of documents, each between [CLS] and [SEP], side by side in rows of one length; marks tell them apart."""

    kind: ClassVar[str] = "framed"
    rows: int = bounded(16, least=1)
    length: int = bounded(128, least=8)
    # next: a piece is two segments, the second of which goes on from the first or, as often, comes from elsewhere
    pairs: Literal["none", "next"] = "none"


@dataclass(frozen=True)
class Joined(Rows):
    """An example per row, its one or two texts between marks; rows of similar length together."""

    kind: ClassVar[str] = "joined"
    rows: int = bounded(32, least=1)
    length: int = bounded(128, least=8)  # longer texts are cut, of two the longer one first
    # first: [CLS] text [SEP] text [SEP] (BERT); last: [START] text [SEP] text [CLS], where tokens see only those before
    # them (GPT-1's start, delimiter and extract)
    frame: Literal["first", "last"] = "first"


@dataclass(frozen=True)
class Apart(Rows):
    """Two texts that belong together in two rows, left and right; plain text belongs to itself."""

    kind: ClassVar[str] = "apart"
    rows: int = bounded(64, least=2)
    length: int = bounded(64, least=8)
    frame: Literal["first", "last"] = "first"
    least: float = 4.0  # pairs with scores: those with at least this belong together
    labels: tuple[str, ...] = ()  # pairs with labels: those with one of these


@dataclass(frozen=True)
class Pairs(Rows):
    """Pairs of texts, one read and one written, of similar length together, under a budget of tokens."""

    kind: ClassVar[str] = "pairs"
    tokens: int = bounded(4096, least=1)  # of the longer texts of a batch, padding counted
    length: int = bounded(128, least=2)  # longer texts are cut


@dataclass(frozen=True)
class Pictured(Rows):
    """A labelled picture per row."""

    kind: ClassVar[str] = "pictures"
    gives: ClassVar[str] = "patches"
    length: ClassVar[int] = 0  # the input says how many places a picture has
    rows: int = bounded(32, least=1)


Batching = Contiguous | Bucketed | Packed | Windows | Framed | Joined | Apart | Pairs | Pictured
