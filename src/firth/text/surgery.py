"""Tokens added to a tokenizer and taken from it, and where the new tokens' weights come from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from firth.errors import FirthError
from firth.text.pieces.model import NOTE
from firth.text.pipeline import INSIDE
from firth.text.special import NAMES
from firth.text.tokenizer import Tokenizer

_AHEAD = 0.001  # times the square of its length: so much a new unigram piece beats its pieces, old or new
_TAKES_SPACE = ("bpe", "byte-bpe", "unigram")  # kinds whose words begin with the space before them


@dataclass(frozen=True)
class Edited:
    """A tokenizer with other tokens."""

    tokenizer: Tokenizer
    rows: tuple[tuple[int, ...], ...]  # for every new id the old ids whose rows are averaged; one: it is that token
    added: tuple[str, ...]  # as the vocabulary spells them, those needed on the way too
    removed: tuple[str, ...]
    stranded: tuple[str, ...]  # tokens that stay, but that no text becomes any more


def edit(tokenizer: Tokenizer, add: Iterable[str] = (), remove: Iterable[str] = ()) -> Edited:
    """The tokenizer without some tokens and with others; an added word is one token where it stands alone."""
    file = json.loads(tokenizer.to_json())
    if NOTE in file["model"]:
        raise FirthError("a tokenizer imported from SentencePiece cannot be edited")
    removed = [_to_remove(tokenizer, token) for token in _distinct(remove, "remove")]
    wanted = {word: _forms(tokenizer, word) for word in _distinct(add, "add")}
    old = _vocabulary(file["model"])
    change = _CHANGES[file["model"]["type"]]
    model = change(tokenizer, file["model"], removed, [form for forms in wanted.values() for form in forms])
    made = Tokenizer(json.dumps({**file, "model": model, "added_tokens": _renumbered(file, model)}))
    _check(made, wanted)
    added = tuple(piece for piece in _vocabulary(model) if piece not in old)
    stranded = _stranded(file["model"], model) if removed else ()
    return Edited(made, _rows(tokenizer, made), added, tuple(removed), stranded)


def _distinct(words: Iterable[str], verb: str) -> list[str]:
    found = list(dict.fromkeys(words))
    if not all(found):
        raise FirthError(f"an empty word to {verb}", do="write --add 'one,two'")
    return found


# --- what is asked ----------------------------------------------------------------------------------------


def _to_remove(tokenizer: Tokenizer, token: str) -> str:
    """The token as the vocabulary spells it, if it may go."""
    spelled = _spelled(tokenizer, token)
    i = tokenizer.id_of(spelled)
    if i is None:
        raise FirthError(f"no token {token!r} to remove", do="a space before a word is part of it: ' word'")
    if i in tokenizer.special.ids or spelled in NAMES:
        raise FirthError(f"{token!r} is a special token and cannot be removed")
    if tokenizer.kind != "word" and _is_base(tokenizer, spelled):
        kind = "byte" if tokenizer.kind in ("byte", "byte-bpe") else "character"
        raise FirthError(
            f"{token!r} is a {kind} by itself and cannot be removed", do="text with it could not be written"
        )
    return spelled


def _is_base(tokenizer: Tokenizer, spelled: str) -> bool:
    inside = tokenizer.kind == "wordpiece" and spelled.startswith(INSIDE)
    return len(spelled.removeprefix(INSIDE) if inside else spelled) <= 1


def _spelled(tokenizer: Tokenizer, token: str) -> str:
    """A token given as text, or else as the vocabulary spells it."""
    cut = tokenizer.cut(token)
    return cut[0] if len(cut) == 1 and tokenizer.id_of(cut[0]) is not None else token


def _forms(tokenizer: Tokenizer, word: str) -> list[str]:
    """How the vocabulary must spell a new word: by itself and, where words take a space along, behind one."""
    if tokenizer.kind == "wordpiece" and word.startswith(INSIDE) and len(word) > len(INSIDE):
        forms = [word]
    else:
        forms = tokenizer.cut(word)
        if len(forms) != 1:
            what = f"{word!r} is cut into {len(forms)} words before the tokenizer sees it"
            raise FirthError(what, do="add its words one by one")
        behind = tokenizer.cut("a " + word) if tokenizer.kind in _TAKES_SPACE and not word[0].isspace() else []
        forms += behind[1:] if len(behind) == 2 else []
    forms = list(dict.fromkeys(forms))
    if any(form in NAMES for form in forms):
        raise FirthError(f"{word!r} is the name of a special token")
    fresh = [form for form in forms if tokenizer.id_of(form) is None]
    if not fresh:
        raise FirthError(f"there is a token {word!r} already")
    return fresh


def _check(made: Tokenizer, wanted: dict[str, list[str]]) -> None:
    """Every new word must really be produced."""
    for word, forms in wanted.items():
        for form in forms:
            found = [made.id_of(form)] if form.startswith(INSIDE) else made.model_ids(form)
            if found != [made.id_of(form)] or found == [None]:
                raise FirthError(f"{word!r} cannot be made a token of this {made.kind} tokenizer")


# --- the kinds of model -----------------------------------------------------------------------------------

Inner = dict[str, Any]


def _words(tokenizer: Tokenizer, model: Inner, removed: Sequence[str], forms: Sequence[str]) -> Inner:
    """Word and WordPiece: a longer match is always taken, so that being there is enough."""
    return {**model, "vocab": _numbered(model["vocab"], removed, forms)}


def _unigram(tokenizer: Tokenizer, model: Inner, removed: Sequence[str], forms: Sequence[str]) -> Inner:
    """A new piece's score is just above its old pieces' together: used where they were, and hardly elsewhere."""
    score = dict(model["vocab"])
    least = min(score.values())
    unknown = model["vocab"][model["unk_id"]][0] if model["unk_id"] is not None else None
    gone = frozenset(removed)
    kept = [[piece, value] for piece, value in model["vocab"] if piece not in gone]
    for form in sorted(forms, key=len):
        pieces = [tokenizer.piece(i) for i in tokenizer.model_ids(form)]
        total = sum(score[piece] if piece != unknown else least - 10.0 for piece in pieces)
        kept.append([form, round(max(total + _AHEAD * len(form) ** 2, least), 6)])
    places = {piece: i for i, (piece, _) in enumerate(kept)}
    return {**model, "vocab": kept, "unk_id": None if unknown is None else places[unknown]}


def _merging(tokenizer: Tokenizer, model: Inner, removed: Sequence[str], forms: Sequence[str]) -> Inner:
    """Merges that make or use a removed token go; a new word's pieces are merged after all other merges."""
    gone = frozenset(removed)
    merges = [pair for pair in _pairs(model) if not gone & {*pair, "".join(pair)}]
    if forms and tokenizer.kind in ("char", "byte") and any(len(form) > 1 for form in forms):
        raise FirthError(f"a {tokenizer.kind} tokenizer has tokens of one {tokenizer.kind} only", do="add characters")
    ranks = {pair: n for n, pair in enumerate(merges)}
    new = list(dict.fromkeys(c for form in forms for c in form if c not in model["vocab"]))
    for form in forms:
        while len(pieces := merged(form, ranks)) > 1:
            ranks[pieces[0], pieces[1]] = len(ranks)
            new.append(pieces[0] + pieces[1])
    vocabulary = _numbered(model["vocab"], removed, new)
    return {**model, "vocab": vocabulary, "merges": [list(pair) for pair in ranks]}


def merged(word: str, ranks: dict[tuple[str, str], int]) -> list[str]:
    """The pieces of a word by byte-pair merges, the earliest first."""
    pieces = list(word)
    while True:
        pairs = {pair: ranks[pair] for pair in pairwise(pieces) if pair in ranks}
        if not pairs:
            return pieces
        best, joined, n = min(pairs, key=pairs.get), [], 0
        while n < len(pieces):
            both = tuple(pieces[n : n + 2]) == best
            joined.append("".join(best) if both else pieces[n])
            n += 2 if both else 1
        pieces = joined


_CHANGES: dict[str, Callable[[Tokenizer, Inner, Sequence[str], Sequence[str]], Inner]] = {
    "WordLevel": _words,
    "WordPiece": _words,
    "Unigram": _unigram,
    "BPE": _merging,
}


def _pairs(model: Inner) -> list[tuple[str, ...]]:
    """The merges; old files write them as one string."""
    return [tuple(pair.split(" ") if isinstance(pair, str) else pair) for pair in model["merges"]]


def _vocabulary(model: Inner) -> dict[str, int]:
    vocabulary = model["vocab"]
    return vocabulary if isinstance(vocabulary, dict) else {piece: i for i, (piece, _) in enumerate(vocabulary)}


def _numbered(vocabulary: dict[str, int], removed: Sequence[str], new: Sequence[str]) -> dict[str, int]:
    """The old tokens in their order, then the new ones."""
    gone = frozenset(removed)
    order = [piece for piece in sorted(vocabulary, key=vocabulary.get) if piece not in gone]
    return {piece: i for i, piece in enumerate(dict.fromkeys([*order, *new]))}


def _renumbered(file: Inner, model: Inner) -> list[Inner]:
    """The added tokens of a foreign file: those outside the vocabulary come behind it."""
    vocabulary, tokens = _vocabulary(model), []
    following = len(vocabulary)
    for token in sorted(file["added_tokens"], key=lambda token: token["id"]):
        i = vocabulary.get(token["content"])
        tokens.append({**token, "id": following if i is None else i})
        following += i is None
    return tokens


def _stranded(old: Inner, new: Inner) -> tuple[str, ...]:
    """Tokens that their own characters were merged into, and are no more."""
    if old["type"] != "BPE":
        return ()
    before, after = ({pair: n for n, pair in enumerate(_pairs(model))} for model in (old, new))
    made = {"".join(pair) for pair in before}
    whole = (piece for piece in new["vocab"] if piece in made and len(merged(piece, after)) > 1)
    return tuple(piece for piece in whole if len(merged(piece, before)) == 1)


# --- rows -------------------------------------------------------------------------------------------------


def _rows(old: Tokenizer, new: Tokenizer) -> tuple[tuple[int, ...], ...]:
    """For each new token the old one of its spelling, else the old tokens of its text."""
    known = old.vocabulary()
    return tuple((known[piece],) if piece in known else _pieces(old, known, piece) for piece in new.vocabulary())


def _pieces(old: Tokenizer, known: dict[str, int], piece: str) -> tuple[int, ...]:
    found = _greedy(known, piece) if old.kind == "wordpiece" else old.model_ids(piece)
    spare = (old.special.unknown,) if old.special.unknown is not None else tuple(known.values())
    return tuple(found) or spare


def _greedy(known: dict[str, int], piece: str) -> list[int]:
    """WordPiece's cut, which may begin inside a word; nothing if a letter is unknown."""
    begin, rest = (INSIDE, piece.removeprefix(INSIDE)) if piece.startswith(INSIDE) else ("", piece)
    found: list[int] = []
    while rest:
        size = next((n for n in range(len(rest), 0, -1) if begin + rest[:n] in known), 0)
        if not size:
            return []
        found.append(known[begin + rest[:size]])
        begin, rest = INSIDE, rest[size:]
    return found
