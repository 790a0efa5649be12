"""Vocabulary surgery: add tokens to a tokenizer and remove them, and initialise new embeddings from old ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from firth.errors import FirthError
from firth.tokenizers.components import CONTINUATION_PREFIX
from firth.tokenizers.sentencepiece import MODEL_KEY
from firth.tokenizers.special_tokens import SPECIAL_TOKENS
from firth.tokenizers.tokenizer import Tokenizer

_SCORE_MARGIN = 0.001  # times the squared length: by so much a new unigram piece beats its pieces, old or new
_WITH_SPACE = ("bpe", "byte-bpe", "unigram")  # kinds whose words include the space before them


@dataclass(frozen=True)
class EditedTokenizer:
    """A tokenizer with an edited vocabulary."""

    tokenizer: Tokenizer
    # For every new id the old ids whose embeddings are averaged; a single one is the same token.
    source_ids: tuple[tuple[int, ...], ...]
    added: tuple[str, ...]  # as in the vocabulary, with the intermediate tokens of merges
    removed: tuple[str, ...]
    unreachable: tuple[str, ...]  # remaining tokens that no text is encoded as any more


def edit_vocabulary(tokenizer: Tokenizer, add: Iterable[str] = (), remove: Iterable[str] = ()) -> EditedTokenizer:
    """The tokenizer with tokens removed and added; an added word by itself is encoded as one token."""
    file = json.loads(tokenizer.to_json())
    if MODEL_KEY in file["model"]:
        raise FirthError("a tokenizer imported from SentencePiece cannot be edited")
    removed = [_removable(tokenizer, token) for token in _distinct(remove, "remove")]
    new_words = {word: _new_tokens(tokenizer, word) for word in _distinct(add, "add")}
    old = _vocabulary(file["model"])
    edit_model = _EDITS[file["model"]["type"]]
    model = edit_model(tokenizer, file["model"], removed, [token for tokens in new_words.values() for token in tokens])
    edited = Tokenizer(json.dumps({**file, "model": model, "added_tokens": _renumber_added(file, model)}))
    _check(edited, new_words)
    added = tuple(token for token in _vocabulary(model) if token not in old)
    unreachable = _unreachable(file["model"], model) if removed else ()
    return EditedTokenizer(edited, _source_ids(tokenizer, edited), added, tuple(removed), unreachable)


def _distinct(words: Iterable[str], verb: str) -> list[str]:
    distinct = list(dict.fromkeys(words))
    if not all(distinct):
        raise FirthError(f"an empty word to {verb}", do="write --add 'one,two'")
    return distinct


# --- checks of the request --------------------------------------------------------------------------------


def _removable(tokenizer: Tokenizer, token: str) -> str:
    """The token as in the vocabulary; an error if it must not be removed."""
    entry = _vocabulary_entry(tokenizer, token)
    i = tokenizer.token_to_id(entry)
    if i is None:
        raise FirthError(f"no token {token!r} to remove", do="a space before a word is part of it: ' word'")
    if i in tokenizer.special.ids or entry in SPECIAL_TOKENS:
        raise FirthError(f"{token!r} is a special token and cannot be removed")
    if tokenizer.kind != "word" and _is_base(tokenizer, entry):
        kind = "byte" if tokenizer.kind in ("byte", "byte-bpe") else "character"
        raise FirthError(
            f"{token!r} is a {kind} by itself and cannot be removed", do="text with it could not be encoded"
        )
    return entry


def _is_base(tokenizer: Tokenizer, entry: str) -> bool:
    """Whether a vocabulary entry is a single byte or character."""
    inside = tokenizer.kind == "wordpiece" and entry.startswith(CONTINUATION_PREFIX)
    return len(entry.removeprefix(CONTINUATION_PREFIX) if inside else entry) <= 1


def _vocabulary_entry(tokenizer: Tokenizer, token: str) -> str:
    """The vocabulary entry of a token given as text; a token given as in the vocabulary is returned unchanged."""
    pretokens = tokenizer.pre_tokenize(token)
    is_entry = len(pretokens) == 1 and tokenizer.token_to_id(pretokens[0]) is not None
    return pretokens[0] if is_entry else token


def _new_tokens(tokenizer: Tokenizer, word: str) -> list[str]:
    """The vocabulary entries that a new word needs: by itself and, for subword kinds, after a space."""
    if tokenizer.kind == "wordpiece" and word.startswith(CONTINUATION_PREFIX) and len(word) > len(CONTINUATION_PREFIX):
        tokens = [word]
    else:
        tokens = tokenizer.pre_tokenize(word)
        if len(tokens) != 1:
            what = f"{word!r} is split into {len(tokens)} words by pre-tokenisation"
            raise FirthError(what, do="add its words one by one")
        spaced = tokenizer.kind in _WITH_SPACE and not word[0].isspace()
        after_space = tokenizer.pre_tokenize("a " + word) if spaced else []
        tokens += after_space[1:] if len(after_space) == 2 else []
    tokens = list(dict.fromkeys(tokens))
    if any(token in SPECIAL_TOKENS for token in tokens):
        raise FirthError(f"{word!r} is the name of a special token")
    new = [token for token in tokens if tokenizer.token_to_id(token) is None]
    if not new:
        raise FirthError(f"there is a token {word!r} already")
    return new


def _check(edited: Tokenizer, new_words: dict[str, list[str]]) -> None:
    """Check that every new token is produced."""
    for word, tokens in new_words.items():
        for token in tokens:
            i = edited.token_to_id(token)
            ids = [i] if token.startswith(CONTINUATION_PREFIX) else edited.encode_pretoken(token)
            if ids != [i] or i is None:
                raise FirthError(f"{word!r} cannot be made a token of this {edited.kind} tokenizer")


# --- the kinds of model -----------------------------------------------------------------------------------

Model = dict[str, Any]  # the "model" of a tokenizer.json


def _edit_words(tokenizer: Tokenizer, model: Model, removed: Sequence[str], new: Sequence[str]) -> Model:
    """Word and WordPiece: the longest match wins, so that being in the vocabulary is enough."""
    return {**model, "vocab": _renumber(model["vocab"], removed, new)}


def _edit_unigram(tokenizer: Tokenizer, model: Model, removed: Sequence[str], new: Sequence[str]) -> Model:
    """A new piece's score is just above the sum of its old pieces': it replaces them, and hardly any others."""
    score = dict(model["vocab"])
    min_score = min(score.values())
    unknown = model["vocab"][model["unk_id"]][0] if model["unk_id"] is not None else None
    gone = frozenset(removed)
    vocabulary = [[piece, value] for piece, value in model["vocab"] if piece not in gone]
    for token in sorted(new, key=len):
        pieces = [tokenizer.id_to_token(i) for i in tokenizer.encode_pretoken(token)]
        total = sum(score[piece] if piece != unknown else min_score - 10.0 for piece in pieces)
        vocabulary.append([token, round(max(total + _SCORE_MARGIN * len(token) ** 2, min_score), 6)])
    ids = {piece: i for i, (piece, _) in enumerate(vocabulary)}
    return {**model, "vocab": vocabulary, "unk_id": None if unknown is None else ids[unknown]}


def _edit_bpe(tokenizer: Tokenizer, model: Model, removed: Sequence[str], new: Sequence[str]) -> Model:
    """Merges that make or use a removed token are dropped; merges of new tokens come after all others."""
    gone = frozenset(removed)
    merges = [pair for pair in _merges(model) if not gone & {*pair, "".join(pair)}]
    if new and tokenizer.kind in ("char", "byte") and any(len(token) > 1 for token in new):
        raise FirthError(f"a {tokenizer.kind} tokenizer has tokens of one {tokenizer.kind} only", do="add characters")
    ranks = {pair: n for n, pair in enumerate(merges)}
    tokens = list(dict.fromkeys(c for token in new for c in token if c not in model["vocab"]))
    for token in new:
        while len(pieces := apply_merges(token, ranks)) > 1:
            ranks[pieces[0], pieces[1]] = len(ranks)
            tokens.append(pieces[0] + pieces[1])
    vocabulary = _renumber(model["vocab"], removed, tokens)
    return {**model, "vocab": vocabulary, "merges": [list(pair) for pair in ranks]}


def apply_merges(word: str, ranks: dict[tuple[str, str], int]) -> list[str]:
    """The BPE tokens of a word: merges are applied in the order of their ranks."""
    pieces = list(word)
    while True:
        pairs = {pair: ranks[pair] for pair in pairwise(pieces) if pair in ranks}
        if not pairs:
            return pieces
        best, merged, n = min(pairs, key=pairs.get), [], 0
        while n < len(pieces):
            is_best = tuple(pieces[n : n + 2]) == best
            merged.append("".join(best) if is_best else pieces[n])
            n += 2 if is_best else 1
        pieces = merged


_EDITS: dict[str, Callable[[Tokenizer, Model, Sequence[str], Sequence[str]], Model]] = {
    "WordLevel": _edit_words,
    "WordPiece": _edit_words,
    "Unigram": _edit_unigram,
    "BPE": _edit_bpe,
}


def _merges(model: Model) -> list[tuple[str, ...]]:
    """The merges as pairs; old files write each as one string."""
    return [tuple(pair.split(" ") if isinstance(pair, str) else pair) for pair in model["merges"]]


def _vocabulary(model: Model) -> dict[str, int]:
    vocabulary = model["vocab"]
    return vocabulary if isinstance(vocabulary, dict) else {piece: i for i, (piece, _) in enumerate(vocabulary)}


def _renumber(vocabulary: dict[str, int], removed: Sequence[str], new: Sequence[str]) -> dict[str, int]:
    """New ids: the remaining tokens in their order, then the new ones."""
    gone = frozenset(removed)
    order = [token for token in sorted(vocabulary, key=vocabulary.get) if token not in gone]
    return {token: i for i, token in enumerate(dict.fromkeys([*order, *new]))}


def _renumber_added(file: dict[str, Any], model: Model) -> list[dict[str, Any]]:
    """The added tokens of a foreign file; those outside the model's vocabulary come after it."""
    vocabulary, tokens = _vocabulary(model), []
    next_id = len(vocabulary)
    for token in sorted(file["added_tokens"], key=lambda token: token["id"]):
        i = vocabulary.get(token["content"])
        tokens.append({**token, "id": next_id if i is None else i})
        next_id += i is None
    return tokens


def _unreachable(old: Model, new: Model) -> tuple[str, ...]:
    """BPE tokens that the old merges make of their characters, but the new merges do not."""
    if old["type"] != "BPE":
        return ()
    before, after = ({pair: n for n, pair in enumerate(_merges(model))} for model in (old, new))
    merged = {"".join(pair) for pair in before}
    broken = (token for token in new["vocab"] if token in merged and len(apply_merges(token, after)) > 1)
    return tuple(token for token in broken if len(apply_merges(token, before)) == 1)


# --- sources of the new embeddings ------------------------------------------------------------------------


def _source_ids(old: Tokenizer, new: Tokenizer) -> tuple[tuple[int, ...], ...]:
    """For each new id the old id of the same token, else the old ids of its text."""
    known = old.vocabulary()
    return tuple((known[token],) if token in known else _old_ids(old, known, token) for token in new.vocabulary())


def _old_ids(old: Tokenizer, known: dict[str, int], token: str) -> tuple[int, ...]:
    ids = _longest_matches(known, token) if old.kind == "wordpiece" else old.encode_pretoken(token)
    fallback = (old.special.unknown,) if old.special.unknown is not None else tuple(known.values())
    return tuple(ids) or fallback


def _longest_matches(known: dict[str, int], token: str) -> list[int]:
    """WordPiece's greedy longest-match-first ids of a token, also inside a word; empty if a character is unknown."""
    inside = token.startswith(CONTINUATION_PREFIX)
    prefix, rest = (CONTINUATION_PREFIX, token.removeprefix(CONTINUATION_PREFIX)) if inside else ("", token)
    ids: list[int] = []
    while rest:
        size = next((n for n in range(len(rest), 0, -1) if prefix + rest[:n] in known), 0)
        if not size:
            return []
        ids.append(known[prefix + rest[:size]])
        prefix, rest = CONTINUATION_PREFIX, rest[size:]
    return ids
