"""Export of tokenizers as SentencePiece `.model` files: which can be exported, and where SentencePiece then differs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from firth.config.schema import Tokenizer as Config
from firth.errors import FirthError
from firth.tokenizers import regexes
from firth.tokenizers.components import NONCHARACTER
from firth.tokenizers.formats.vocabulary_lines import ExportedFiles
from firth.tokenizers.sentencepiece import MODEL_KEY, from_json, import_sentencepiece
from firth.tokenizers.sentencepiece.model_proto import (
    CONTROL,
    NORMAL,
    UNKNOWN,
    WHITESPACE,
    ModelProto,
    Piece,
    parse_normalizer_spec,
)
from firth.tokenizers.special_tokens import SPECIAL_TOKENS, UNK
from firth.tokenizers.split import normaliser_steps, split_pretokens
from firth.tokenizers.tokenizer import Tokenizer

KINDS = ("unigram", "bpe", "char", "word")
_CASED = 0x20000  # all characters with a case lie in the first two planes of Unicode
# ▁ is the space in a SentencePiece model, so that a ▁ of the text needs another character.
_PIECE_CHARACTERS = str.maketrans({" ": WHITESPACE, WHITESPACE: NONCHARACTER})


def convert(tokenizer: Tokenizer) -> ExportedFiles:
    """The `.model` file, and warnings where SentencePiece differs. An imported model is the original file."""
    model = json.loads(tokenizer.to_json())["model"]
    if MODEL_KEY in model:
        return ExportedFiles({"": from_json(model[MODEL_KEY], "tokenizer")}, [])
    proto, warnings = build_model(tokenizer, model)
    roles = {role: getattr(tokenizer.special, role) for role in ("unknown", "start", "end", "pad")}
    return ExportedFiles({"": proto.serialize(roles)}, warnings)


def build_model(tokenizer: Tokenizer, model: dict[str, Any]) -> tuple[ModelProto, list[str]]:
    """The SentencePiece model that encodes as the tokenizer does, and warnings about the exceptions."""
    config = _exportable(tokenizer)
    pieces = _PIECES[config.model](model) if config.model in _PIECES else _without_scores(model)
    if any(NONCHARACTER in piece for piece, _ in pieces):
        raise FirthError("the vocabulary has the character U+FFFF", do="SentencePiece needs it for ▁: train without it")
    words = config.model == "word"
    prefix = WHITESPACE if words else ""
    ordinary = pieces[len(SPECIAL_TOKENS) :]
    special = [Piece(name, 0.0, UNKNOWN if name == UNK else CONTROL) for name in SPECIAL_TOKENS]
    proto = ModelProto(
        model_type=config.model,
        pieces=(*special, *(Piece(prefix + text.translate(_PIECE_CHARACTERS), score) for text, score in ordinary)),
        precompiled_charsmap=compile_charsmap(_rules(config)),
        add_dummy_prefix=words,
        remove_extra_whitespaces=words,
    )
    return _disable_unmerged(proto, model), _warnings(tokenizer, config, [text for text, _ in ordinary])


def _exportable(tokenizer: Tokenizer) -> Config:
    config = tokenizer.config
    if config is None:
        raise FirthError("only tokenizers trained by firth become SentencePiece models", do="train one with firth")
    if config.model not in KINDS or (config.model, config.split) == ("word", "words"):
        what = f"SentencePiece has no counterpart of a {config.model} tokenizer with split={config.split}"
        raise FirthError(what, do="export a unigram, bpe or char tokenizer, or word with split=whitespace")
    if config.unicode_form != "none":
        what = f"a SentencePiece model cannot be exported with unicode_form={config.unicode_form}"
        raise FirthError(what, do="train with unicode_form=none; lowercase=yes and lowercase=turkish can be exported")
    return config


# --- pieces and scores ------------------------------------------------------------------------------------


def _without_scores(model: dict[str, Any]) -> list[tuple[str, float]]:
    return [(piece, 0.0) for piece in sorted(model["vocab"], key=model["vocab"].get)]


def _scores_of_merges(model: dict[str, Any]) -> list[tuple[str, float]]:
    """The score of a BPE piece is minus the rank of its merge; characters come after all merges."""
    rank: dict[str, int] = {}
    for n, (left, right) in enumerate(model["merges"]):
        rank.setdefault(left + right, n)
    return [(piece, -float(rank.get(piece, len(rank)))) for piece, _ in _without_scores(model)]


_PIECES = {
    "unigram": lambda model: [(piece, score) for piece, score in model["vocab"]],
    "bpe": _scores_of_merges,
}


def _disable_unmerged(proto: ModelProto, model: dict[str, Any]) -> ModelProto:
    """SentencePiece merges to whatever is in the vocabulary: BPE pieces that no merge makes must not match."""
    if proto.model_type != "bpe":
        return proto
    merged = {(left + right).translate(_PIECE_CHARACTERS) for left, right in model["merges"]}
    unmerged = [p.type == NORMAL and len(p.text) > 1 and p.text not in merged for p in proto.pieces]
    pieces = (p._replace(type=CONTROL) if dead else p for p, dead in zip(proto.pieces, unmerged, strict=True))
    return replace(proto, pieces=tuple(pieces))


# --- normalisation ----------------------------------------------------------------------------------------


def compile_charsmap(rules: Mapping[str, str]) -> bytes:
    """SentencePiece's precompiled table of replacements; the longest match wins."""
    norm_map = [(old, new) for old, new in sorted(rules.items()) if old != new]
    normalizer = import_sentencepiece().SentencePieceNormalizer(norm_map=norm_map)
    return parse_normalizer_spec(normalizer.serialized_normalizer_spec())["precompiled_charsmap"]


def _rules(config: Config) -> dict[str, str]:
    """Replacements: lowercasing, the character for ▁ and, for words, one kind of white space."""
    rules = {WHITESPACE: NONCHARACTER, **_lowercase_rules(config.lowercase)}
    return {**rules, **dict.fromkeys(_whitespace(), " ")} if config.model == "word" else rules


def _lowercase_rules(lowercase: str) -> dict[str, str]:
    """The Rust library's lowercasing, character by character."""
    if lowercase == "no":
        return {}
    from tokenizers import Tokenizer as Rust
    from tokenizers import models

    characters = [chr(code) for code in range(1, _CASED) if not 0xD800 <= code <= 0xDFFF and code != ord("\n")]
    steps = {"type": "Sequence", "normalizers": normaliser_steps("none", lowercase)}
    rust = Rust.from_str(json.dumps({**json.loads(Rust(models.BPE()).to_str()), "normalizer": steps}))
    # one character per line, so that none is lowercased by its neighbours
    lowered = zip(characters, rust.normalizer.normalize_str("\n".join(characters)).split("\n"), strict=True)
    rules = {old: new for old, new in lowered if old != new}
    dotted = {"I\u0307": "i", "i\u0307": "i", "İ\u0307": "i"} if lowercase == "turkish" else {}
    return {**rules, **dotted}


def _whitespace() -> Iterator[str]:
    for first, last in re.findall("(.)(?:-(.))?", regexes.SPACE, re.DOTALL):
        yield from map(chr, range(ord(first), ord(last or first) + 1))


# --- warnings ---------------------------------------------------------------------------------------------

_LEFT, _RIGHT = ("", "a", "1", ".", " ", "\n"), ("", "a", " ")  # contexts of a piece


def _warnings(tokenizer: Tokenizer, config: Config, pieces: Sequence[str]) -> list[str]:
    warnings = []
    if config.model in ("unigram", "bpe"):
        crossing = [piece for piece in pieces if len(piece) > 1 and _crosses_boundary(piece, config.split)]
        if crossing:
            what = f"{len(crossing)} pieces, such as {crossing[0]!r}, may be used across a boundary of pre-tokens"
            warnings.append(f"{what}, since SentencePiece has no pre-tokenisation")
    if config.model == "bpe":
        split = [piece for piece in pieces if len(piece) > 1 and not _is_one_token(tokenizer, piece)]
        if split:
            warnings.append(f"{len(split)} pieces, such as {split[0]!r}, are never made from their own text in firth")
    return warnings


def _is_one_token(tokenizer: Tokenizer, piece: str) -> bool:
    return tokenizer.encode_pretoken(piece) == [tokenizer.token_to_id(piece)]


def _crosses_boundary(piece: str, split: str) -> bool:
    """Whether there are texts in which a boundary of our pre-tokens lies inside the piece."""
    for left in _LEFT:
        for right in _RIGHT:
            end = 0
            for pretoken in split_pretokens(left + piece + right, split):
                end += len(pretoken)
                if len(left) < end < len(left) + len(piece):
                    return True
    return False
