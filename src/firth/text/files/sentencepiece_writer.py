"""Our tokenizers as SentencePiece models: which can be, and what then differs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from firth.config.schema import Tokenizer as Config
from firth.errors import FirthError
from firth.text import patterns
from firth.text.charsmap import make_charsmap
from firth.text.files.lines import Written
from firth.text.files.sentencepiece import model_bytes
from firth.text.normalise import normaliser
from firth.text.pieces.model import CONTROL, NORMAL, NOTE, SPACE, UNKNOWN, Model, Piece
from firth.text.pipeline import NO_CHARACTER
from firth.text.special import NAMES
from firth.text.special import UNKNOWN as UNKNOWN_NAME
from firth.text.split import parts
from firth.text.tokenizer import Tokenizer

KINDS = ("unigram", "bpe", "char", "word")
_CASED = 0x20000  # all letters that have a case lie in the first two planes of Unicode
# ▁ is the space there, so that a ▁ of the text needs another sign.
_SPELLING = str.maketrans({" ": SPACE, SPACE: NO_CHARACTER})


def convert(tokenizer: Tokenizer) -> Written:
    """The `.model`, and what SentencePiece will do otherwise, if anything."""
    model, notes = model_of(tokenizer)
    roles = {role: getattr(tokenizer.special, role) for role in ("unknown", "start", "end", "pad")}
    special = {role: i for role, i in roles.items() if i is not None and i < len(model.pieces)}
    return Written({"": model_bytes(model, special)}, notes)


def model_of(tokenizer: Tokenizer) -> tuple[Model, list[str]]:
    """The SentencePiece model that cuts text as the tokenizer does, and the exceptions."""
    inner = json.loads(tokenizer.to_json())["model"]
    if NOTE in inner:
        return Model.from_json(inner[NOTE], "tokenizer"), []
    config = _exportable(tokenizer)
    pieces = _PIECES[config.model](inner) if config.model in _PIECES else _plain(inner)
    if any(NO_CHARACTER in piece for piece, _ in pieces):
        raise FirthError("the vocabulary has the character U+FFFF", do="SentencePiece needs it for ▁: train without it")
    before = SPACE if config.model == "word" else ""
    spelled = [Piece(before + text.translate(_SPELLING), score) for text, score in pieces[len(NAMES) :]]
    special = [Piece(name, 0.0, UNKNOWN if name == UNKNOWN_NAME else CONTROL) for name in NAMES]
    words = config.model == "word"
    model = Model(config.model, (*special, *spelled), make_charsmap(_rules(config)), prefix=words, trim=words)
    return _without_dead(model, inner), _notes(tokenizer, config, [text for text, _ in pieces[len(NAMES) :]])


def _exportable(tokenizer: Tokenizer) -> Config:
    config = tokenizer.config
    if config is None:
        raise FirthError("only tokenizers trained by firth become SentencePiece models", do="train one with firth")
    if config.model not in KINDS or (config.model, config.split) == ("word", "words"):
        what = f"SentencePiece has nothing like a {config.model} tokenizer split by {config.split}"
        raise FirthError(what, do="it can take unigram, bpe and char, and word with split=whitespace")
    if config.normal != "none":
        what = f"a SentencePiece model cannot hold the normal form {config.normal}"
        raise FirthError(what, do="train with normal=none; lower=yes and lower=turkish can be written")
    return config


# --- pieces and scores ------------------------------------------------------------------------------------


def _plain(inner: dict[str, Any]) -> list[tuple[str, float]]:
    return [(piece, 0.0) for piece in sorted(inner["vocab"], key=inner["vocab"].get)]


def _merged(inner: dict[str, Any]) -> list[tuple[str, float]]:
    """The earlier a merge, the higher its score; characters come after all of them."""
    rank: dict[str, int] = {}
    for n, (left, right) in enumerate(inner["merges"]):
        rank.setdefault(left + right, n)
    return [(piece, -float(rank.get(piece, len(rank)))) for piece, _ in _plain(inner)]


_PIECES = {"unigram": lambda inner: [(piece, score) for piece, score in inner["vocab"]], "bpe": _merged}


def _without_dead(model: Model, inner: dict[str, Any]) -> Model:
    """SentencePiece joins whatever the vocabulary has; pieces that no merge makes must not be found."""
    if model.kind != "bpe":
        return model
    made = {(left + right).translate(_SPELLING) for left, right in inner["merges"]}
    dead = [p.type == NORMAL and len(p.text) > 1 and p.text not in made for p in model.pieces]
    pieces = (p._replace(type=CONTROL) if gone else p for p, gone in zip(model.pieces, dead, strict=True))
    return Model(**{**vars(model), "pieces": tuple(pieces)})


# --- normalisation ----------------------------------------------------------------------------------------


def _rules(config: Config) -> dict[str, str]:
    """What is put for which string: the case, the sign for ▁ and, for words, one kind of space."""
    rules = {SPACE: NO_CHARACTER, **_small_letters(config.lower)}
    return {**rules, **dict.fromkeys(_spaces(), " ")} if config.model == "word" else rules


def _small_letters(lower: str) -> dict[str, str]:
    """The library's lower case, character by character."""
    if lower == "no":
        return {}
    from tokenizers import Tokenizer as Rust
    from tokenizers import models

    every = [chr(code) for code in range(1, _CASED) if not 0xD800 <= code <= 0xDFFF and code != ord("\n")]
    steps = {"type": "Sequence", "normalizers": normaliser("none", lower)}
    rust = Rust.from_str(json.dumps({**json.loads(Rust(models.BPE()).to_str()), "normalizer": steps}))
    # a character to a line, so that none has another beside it
    changed = zip(every, rust.normalizer.normalize_str("\n".join(every)).split("\n"), strict=True)
    rules = {old: new for old, new in changed if old != new}
    dotted = {"I\u0307": "i", "i\u0307": "i", "İ\u0307": "i"} if lower == "turkish" else {}
    return {**rules, **dotted}


def _spaces() -> Iterator[str]:
    for first, last in re.findall("(.)(?:-(.))?", patterns.SPACE, re.DOTALL):
        yield from map(chr, range(ord(first), ord(last or first) + 1))


# --- what differs -----------------------------------------------------------------------------------------

_LEFT, _RIGHT = ("", "a", "1", ".", " ", "\n"), ("", "a", " ")


def _notes(tokenizer: Tokenizer, config: Config, pieces: Sequence[str]) -> list[str]:
    notes = []
    if config.model in ("unigram", "bpe"):
        crossing = [piece for piece in pieces if len(piece) > 1 and _crosses(piece, config.split)]
        if crossing:
            what = f"{len(crossing)} pieces, such as {crossing[0]!r}, may be used across a border of firth's words"
            notes.append(f"{what}, of which SentencePiece knows nothing")
    if config.model == "bpe":
        several = [piece for piece in pieces if len(piece) > 1 and not _is_whole(tokenizer, piece)]
        if several:
            notes.append(f"{len(several)} pieces, such as {several[0]!r}, are never made from their own text in firth")
    return notes


def _is_whole(tokenizer: Tokenizer, piece: str) -> bool:
    found = tokenizer.model_ids(piece)
    return found == [tokenizer.id_of(piece)]


def _crosses(piece: str, split: str) -> bool:
    """Whether there are texts in which a border of our words lies inside the piece."""
    for left in _LEFT:
        for right in _RIGHT:
            place = 0
            for part in parts(left + piece + right, split):
                place += len(part)
                if len(left) < place < len(left) + len(piece):
                    return True
    return False
