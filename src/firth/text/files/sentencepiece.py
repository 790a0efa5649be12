"""SentencePiece `.model` files, read and written."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from firth.errors import FirthError
from firth.text.charsmap import Charsmap
from firth.text.files.protobuf import content, fields, number, single, text, write
from firth.text.pieces.model import BYTE, CONTROL, NORMAL, NOTE, SPACE, UNKNOWN, USER, Model, Piece
from firth.text.tokenizer import Tokenizer

_KINDS = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}
_PIECES, _TRAINER, _NORMALIZER, _DENORMALIZER = 1, 2, 3, 5  # fields of the model
_MODEL_TYPE, _SIZE, _SUFFIX, _BYTES = 3, 4, 24, 35  # of the trainer's part
_CHARSMAP, _PREFIX, _TRIM, _ESCAPE = 2, 3, 4, 5  # of the normaliser's part
# Number and spelling of the special tokens, in the trainer's part.
_SPECIAL = {"unknown": (40, 45), "start": (41, 46), "end": (42, 47), "pad": (43, 48)}


def read(path: Path) -> Tokenizer:
    """Our tokenizer that cuts every text as SentencePiece does with this model."""
    return tokenizer_of(read_model(path.read_bytes(), path))


def read_model(data: bytes, where: object) -> Model:
    """The model of a file's bytes, checked."""
    pieces: list[Piece] = []
    found: dict[str, Any] = {"kind": "unigram"}
    parts = set()
    for field in fields(data, where):
        parts.add(field.number)
        if field.number == _PIECES:
            pieces.append(_piece(content(field.value, where), len(pieces), where))
        elif field.number == _TRAINER:
            found |= _trainer(content(field.value, where), where)
        elif field.number == _NORMALIZER:
            found |= _normaliser(content(field.value, where), where)
        elif field.number == _DENORMALIZER and _normaliser(content(field.value, where), where).get("charsmap"):
            raise FirthError("has a denormaliser, which firth does not know", where=where, do="train without one")
    _check(pieces, where)
    _check_whole(parts, len(pieces), found.pop("size", 0), where)
    return Model(pieces=tuple(pieces), **found)


def _piece(data: memoryview, place: int, where: object) -> Piece:
    spelling, score, kind = "", 0.0, NORMAL
    for field in fields(data, where):
        if field.number == 1:
            spelling = text(field.value, where)
        elif field.number == 2:
            score = single(field.value, where)
        elif field.number == 3:
            kind = number(field.value, where)
    if not spelling or not math.isfinite(score) or not NORMAL <= kind <= BYTE:
        raise FirthError(f"piece {place} is empty or malformed", where=where, do="fetch the file again")
    return Piece(spelling, score, kind)


def _trainer(data: memoryview, where: object) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in fields(data, where):
        if field.number == _MODEL_TYPE:
            kind = number(field.value, where)
            if kind not in _KINDS:
                raise FirthError(f"unknown kind of model {kind}", where=where, do="upgrade firth")
            found["kind"] = _KINDS[kind]
        elif field.number == _SIZE:
            found["size"] = number(field.value, where)
        elif field.number in (_SUFFIX, _BYTES):
            found["suffix" if field.number == _SUFFIX else "bytes"] = bool(number(field.value, where))
    return found


def _normaliser(data: memoryview, where: object) -> dict[str, Any]:
    found: dict[str, Any] = {}
    names = {_PREFIX: "prefix", _TRIM: "trim", _ESCAPE: "escape"}
    for field in fields(data, where):
        if field.number == _CHARSMAP:
            found["charsmap"] = bytes(content(field.value, where))
            if found["charsmap"]:
                Charsmap(found["charsmap"], where)
        elif field.number in names:
            found[names[field.number]] = bool(number(field.value, where))
    return found


def _check(pieces: Sequence[Piece], where: object) -> None:
    if not pieces:
        raise FirthError("a SentencePiece model without pieces, or none at all", where=where, do="fetch it again")
    seen: dict[str, int] = {}
    for i, piece in enumerate(pieces):
        if seen.setdefault(piece.text, i) != i:
            what = f"pieces {seen[piece.text]} and {i} are the same: {piece.text!r}"
            raise FirthError(what, where=where, do="fetch the file again")
    if sum(piece.type == UNKNOWN for piece in pieces) != 1:
        raise FirthError("the model must have one unknown piece", where=where, do="fetch the file again")


def _check_whole(parts: set[int], pieces: int, size: int, where: object) -> None:
    """A file cut between two fields is still a message: what must follow the pieces tells that all of it is there."""
    if not {_TRAINER, _NORMALIZER} <= parts:
        raise FirthError("not a whole SentencePiece model: it ends after its pieces", where=where, do="fetch it again")
    if pieces < size:  # programs that add pieces often leave the old number
        raise FirthError(f"{pieces:,} pieces, but it says {size:,}", where=where, do="fetch it again")


# --- as a tokenizer file ----------------------------------------------------------------------------------


def tokenizer_of(model: Model) -> Tokenizer:
    """A tokenizer file: near to the model for any program, and exactly it for firth, which finds it in a note."""
    unknown = next(piece.text for piece in model.pieces if piece.type == UNKNOWN)
    file = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_added(i, p) for i, p in enumerate(model.pieces) if p.type in (UNKNOWN, CONTROL, USER)],
        "normalizer": {"type": "Sequence", "normalizers": _steps(model)},
        "pre_tokenizer": _METASPACE if model.kind == "word" else None,
        "post_processor": None,
        "decoder": _decoder(model),
        "model": {**_inner(model, unknown), NOTE: model.to_json()},
    }
    return Tokenizer(json.dumps(file, ensure_ascii=False))


_METASPACE = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "never", "split": True}


def _added(i: int, piece: Piece) -> dict[str, Any]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": i, "content": piece.text, **flags, "special": piece.type != USER}


def _steps(model: Model) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = []
    if model.charsmap:
        letters = base64.b64encode(model.charsmap).decode()
        steps.append({"type": "Precompiled", "precompiled_charsmap": letters})
    if model.trim:
        steps.append({"type": "Strip", "strip_left": True, "strip_right": True})
        steps.append({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "})
    if model.prefix and not model.suffix:
        steps.append({"type": "Prepend", "prepend": " "})
    return [*steps, _replace(" ", SPACE)] if model.escape else steps


def _decoder(model: Model) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [_replace(SPACE, " ")] if model.escape else []
    steps += [{"type": "ByteFallback"}, {"type": "Fuse"}]
    if model.prefix:
        start, stop = (0, 1) if model.suffix else (1, 0)
        steps.append({"type": "Strip", "content": " ", "start": start, "stop": stop})
    return {"type": "Sequence", "decoders": steps}


def _replace(old: str, new: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"String": old}, "content": new}


def _inner(model: Model, unknown: str) -> dict[str, Any]:
    """The library's model."""
    vocabulary = {piece.text: i for i, piece in enumerate(model.pieces)}
    if model.kind == "word":
        return {"type": "WordLevel", "vocab": vocabulary, "unk_token": unknown}
    if model.kind == "unigram":
        pairs = [[piece.text, piece.score] for piece in model.pieces]
        return {"type": "Unigram", "unk_id": vocabulary[unknown], "vocab": pairs, "byte_fallback": model.bytes}
    merges = _merges(model, vocabulary) if model.kind == "bpe" else []
    plain = {"dropout": None, "continuing_subword_prefix": None, "end_of_word_suffix": None, "ignore_merges": False}
    kept = {"unk_token": unknown, "fuse_unk": True, "byte_fallback": model.bytes}
    return {"type": "BPE", **plain, **kept, "vocab": vocabulary, "merges": merges}


def _merges(model: Model, vocabulary: dict[str, int]) -> list[list[str]]:
    """Every way to join two pieces into a third, the best scores first."""
    order = sorted((piece for piece in model.pieces if piece.type == NORMAL), key=lambda piece: -piece.score)
    ways = ([piece.text[:n], piece.text[n:]] for piece in order for n in range(1, len(piece.text)))
    return [pair for pair in ways if pair[0] in vocabulary and pair[1] in vocabulary]


# --- writing ----------------------------------------------------------------------------------------------


def model_bytes(model: Model, special: dict[str, int]) -> bytes:
    """The file of a model; `special` says which numbers play which role."""
    kind = next(n for n, name in _KINDS.items() if name == model.kind)
    trainer = [write(_MODEL_TYPE, kind), write(_SIZE, len(model.pieces)), write(_SUFFIX, model.suffix)]
    trainer.append(write(_BYTES, model.bytes))
    for role, (place, spelling) in _SPECIAL.items():
        i = special.get(role, -1)
        trainer += [write(place, i), *([write(spelling, model.pieces[i].text)] if i >= 0 else [])]
    normaliser = [write(1, "firth"), write(_CHARSMAP, model.charsmap), write(_PREFIX, model.prefix)]
    normaliser += [write(_TRIM, model.trim), write(_ESCAPE, model.escape)]
    pieces = (write(1, p.text) + write(2, float(p.score)) + write(3, p.type) for p in model.pieces)
    parts = [write(_PIECES, piece) for piece in pieces]
    return b"".join([*parts, write(_TRAINER, b"".join(trainer)), write(_NORMALIZER, b"".join(normaliser))])
