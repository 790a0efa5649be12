"""SentencePiece models (Kudo and Richardson 2018), run by the library `sentencepiece` (extra `sentencepiece`).

The Rust library `tokenizers` holds such a model only approximately: it normalises by grapheme, sums scores in another
precision and matches control symbols in plain text. A `tokenizer.json` imported from SentencePiece therefore contains
the whole `.model` file, base64-encoded, as `model.sentencepiece`, which other programs ignore.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from firth.errors import FirthError
from firth.tokenizers.sentencepiece.model_proto import BYTE, CONTROL, UNKNOWN, ModelProto, Piece

if TYPE_CHECKING:
    import sentencepiece

    import tokenizers

MODEL_KEY = "sentencepiece"  # of the "model" in a tokenizer.json


def import_sentencepiece(where: object = None) -> ModuleType:
    """The library; an error that says how to install it if it is missing."""
    try:
        import sentencepiece
    except ImportError:
        what, do = "SentencePiece models need the package sentencepiece", 'pip install "firth[sentencepiece]"'
        raise FirthError(what, where=where, do=do) from None
    sentencepiece.SetMinLogLevel(2)  # errors only
    return sentencepiece


def load_processor(model: bytes, where: object) -> sentencepiece.SentencePieceProcessor:
    """The library's processor of a `.model` file's content."""
    processor = import_sentencepiece(where).SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(model)
    except (RuntimeError, ValueError) as error:
        reason = " ".join(str(error).partition(": ")[2].rstrip(".").split())
        what = "not a SentencePiece model, or damaged" + ("" if ".cc(" in reason else f" ({reason})")
        raise FirthError(what, where=where, do="fetch it again") from None
    return processor


def to_json(model: bytes) -> str:
    """A `.model` file's content as a `tokenizer.json` stores it."""
    return base64.b64encode(model).decode()


def from_json(value: str | Mapping[str, Any], where: object) -> bytes:
    """The `.model` file's content that a `tokenizer.json` stores; files of early versions have its fields instead."""
    try:
        return base64.b64decode(value, validate=True) if isinstance(value, str) else _from_fields(value)
    except (KeyError, TypeError, ValueError, binascii.Error):
        raise FirthError(f"damaged: its {MODEL_KEY} entry is incomplete", where=where, do="import it again") from None


def _from_fields(fields: Mapping[str, Any]) -> bytes:
    proto = ModelProto(
        model_type=fields["kind"],
        pieces=tuple(Piece(str(text), float(score), int(kind)) for text, score, kind in fields["pieces"]),
        precompiled_charsmap=base64.b64decode(fields["charsmap"]),
        add_dummy_prefix=fields["prefix"],
        remove_extra_whitespaces=fields["trim"],
        escape_whitespaces=fields["escape"],
        treat_whitespace_as_suffix=fields["suffix"],
        byte_fallback=fields["bytes"],
    )
    return proto.serialize()


class Encoding(NamedTuple):
    """The part of the Rust library's `Encoding` that `Tokenizer` uses."""

    ids: list[int]
    offsets: list[tuple[int, int]]


class SentencePieceBackend:
    """Replaces the Rust tokenizer: encodes and decodes with SentencePiece, delegates everything else to Rust."""

    normalizer = None  # offsets are those of the original text

    def __init__(self, rust: tokenizers.Tokenizer, model: bytes, where: object) -> None:
        self._rust = rust
        self._processor = load_processor(model, where)
        proto = ModelProto.parse(model, where)
        # SentencePiece decodes control symbols as nothing and the unknown piece as ⁇; added tokens it does not know.
        self._decodable = frozenset(i for i, p in enumerate(proto.pieces) if p.type not in (CONTROL, UNKNOWN))
        self._bytes = frozenset(i for i, p in enumerate(proto.pieces) if p.type == BYTE)
        self._has_dummy_suffix = proto.treat_whitespace_as_suffix and proto.add_dummy_prefix

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rust, name)

    def encode_batch(self, texts: Sequence[str], add_special_tokens: bool = False) -> list[Encoding]:
        """The token ids and character offsets of each text."""
        batch = self._encode(texts, "offset_mapping")
        return [Encoding(each["ids"], self._cover_characters(each["ids"], each["offsets"])) for each in batch]

    def encode_batch_fast(self, texts: Sequence[str], add_special_tokens: bool = False) -> list[Encoding]:
        """The token ids of each text, without offsets."""
        return [Encoding(ids, []) for ids in self._encode(texts, int)]

    def _encode(self, texts: Sequence[str], return_type: type | str) -> list[Any]:
        if not all(isinstance(text, str) for text in texts):  # the library takes bytes too
            raise TypeError("not text")
        try:
            if len(texts) == 1:  # a batch starts threads
                return [self._processor.encode(texts[0], return_type=return_type)]
            return self._processor.encode(list(texts), return_type=return_type)
        except RuntimeError:  # a lone surrogate
            raise TypeError("not text") from None

    def _cover_characters(self, ids: list[int], offsets: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Offsets in which every byte token covers its character; SentencePiece leaves it to the last byte."""
        if not self._bytes.isdisjoint(ids):
            for n in range(len(ids) - 2, -1, -1):
                start, end = offsets[n]
                if start == end == offsets[n + 1][0] and ids[n] in self._bytes and ids[n + 1] in self._bytes:
                    offsets[n] = offsets[n + 1]
        return offsets

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = False) -> str:
        """The text of token ids: by SentencePiece, or by Rust if special or added tokens are to be shown."""
        if not self._decodable.issuperset(ids):
            ids = [i for i in ids if self._rust.id_to_token(i) is not None]  # the library leaves the others out
        if not ids:
            return ""
        if not self._decodable.issuperset(ids):
            return self._rust.decode(ids, skip_special_tokens=skip_special_tokens)
        text = self._processor.decode(ids)
        return text.removesuffix(" ") if self._has_dummy_suffix else text
