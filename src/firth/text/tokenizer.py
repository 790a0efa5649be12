"""Text to ids and back, over the Rust library `tokenizers` and its `tokenizer.json`.

The special tokens are the first words of the vocabulary and are *not* listed as added tokens, so that the
text "[END]" is text: here, and for anyone who opens the file with the library alone. A foreign file's
special tokens are kept out of plain text by a setting of the library (`encode_special_tokens`), which no
file can carry.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firth.config.schema import Tokenizer as Config
from firth.errors import FirthError
from firth.text import pieces, pipeline, special
from firth.text.direct import direct

if TYPE_CHECKING:
    import tokenizers


@dataclass(frozen=True)
class Encoding:
    """A text's tokens; the offsets are characters of the original text, before any normalisation."""

    ids: list[int]
    pieces: list[str]
    offsets: list[tuple[int, int]]


@dataclass(frozen=True)
class Accounting:
    """What a score per byte needs to know of a text's tokens."""

    ids: list[int]
    unknown: bytes  # the original spellings of all unknown tokens, one after the other
    unknown_count: int
    lossless: bool  # the ids and the unknown spellings together give back the text exactly


class Tokenizer:
    """A tokenizer file, opened. It never changes: same hash, same ids."""

    def __init__(self, content: str, where: object = "tokenizer") -> None:
        self._rust, file = _open(content, where)
        self._content = _compact(content, sort_keys=False)
        vocabulary = self.vocabulary()
        self.size: int = max(vocabulary.values(), default=-1) + 1
        self.kind: str = pipeline.kind(file)
        self.reversible: bool = pipeline.reversible(file)
        self.special = special.find(file, vocabulary)
        self.config = pipeline.config_of(file)  # None: a foreign file
        self._direct = direct(self.config, self._rust, self.special.unknown)
        self._hidden = self.special.ids | {t["id"] for t in file["added_tokens"] if t["special"]}

    # --- making and keeping ---

    @classmethod
    def train(cls, config: Config, documents: Iterable[str]) -> Tokenizer:
        """Learn from documents, or open `config.file` if there is one (the documents are then not read)."""
        from firth.text.train import train

        if config.file:
            return cls.load(config.file).with_sentinels(config.sentinels)
        learnt = replace(config, size=config.size - config.sentinels)
        return cls(json.dumps(train(learnt, documents))).with_sentinels(config.sentinels)

    @classmethod
    def load(cls, path: str | Path) -> Tokenizer:
        """Open a tokenizer file, ours or another's."""
        try:
            content = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise FirthError(f"cannot read: {error.strerror}", where=path) from None
        except UnicodeDecodeError:
            raise _not_a_tokenizer(path) from None
        return cls(content, path)

    @classmethod
    def from_json(cls, content: str) -> Tokenizer:
        """The tokenizer whose `to_json` this is, or any tokenizer file's content."""
        return cls(content)

    def to_json(self) -> str:
        """The content of the tokenizer file."""
        return self._content

    def save(self, path: str | Path) -> None:
        """Write the tokenizer file."""
        Path(path).write_text(self._content, encoding="utf-8", newline="\n")

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the file's content, whatever its layout."""
        return sha256(_compact(self._content, sort_keys=True).encode()).hexdigest()

    def with_specials(self) -> Tokenizer:
        """The same tokenizer with the special tokens it lacks added at the end, as foreign ones may need."""
        return self._with_added(special.missing(self.special))

    def with_sentinels(self, count: int) -> Tokenizer:
        """The same tokenizer with so many tokens that mark gaps; their numbers fall, as T5's do."""
        names = [f"<extra_id_{number}>" for number in reversed(range(count))]
        known = self.vocabulary()
        return self._with_added([name for name in names if name not in known])

    def _with_added(self, names: Sequence[str]) -> Tokenizer:
        from tokenizers import AddedToken

        if not names:
            return self
        rust, _ = _open(self._content, "tokenizer")
        rust.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in names])
        file = json.loads(rust.to_str())
        file["model"] = json.loads(self._content)["model"]  # with what the library does not know
        return Tokenizer(json.dumps(file))

    @cached_property
    def sentinels(self) -> tuple[int, ...]:
        """The tokens that mark gaps, the first gap's first; no text becomes one."""
        return special.sentinels(self.vocabulary())

    def __reduce__(self) -> tuple[Any, ...]:
        return Tokenizer, (self._content,)

    # --- text to ids ---

    def ids(self, text: str) -> list[int]:
        """The tokens of the text; no special tokens are added."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of each text; no special tokens are added."""
        if self._direct is None:
            return [encoding.ids for encoding in self._fast(texts)]
        try:
            found = [self._direct(text) for text in texts]
        except (TypeError, AttributeError, UnicodeEncodeError):
            raise _not_text(texts) from None
        left = [n for n, ids in enumerate(found) if ids is None]
        for n, encoding in zip(left, self._fast([texts[n] for n in left]), strict=True):
            found[n] = encoding.ids
        return found

    def encode_flat(self, texts: Sequence[str]) -> tuple[array[int], array[int]]:
        """The tokens of all texts in one array of unsigned 32-bit numbers, and how many each text has."""
        ids, lengths = array("I"), array("I")
        for found in self.encode_batch(texts):
            ids.extend(found)
            lengths.append(len(found))
        return ids, lengths

    def encode(self, text: str) -> Encoding:
        """The tokens of the text, their spellings in the vocabulary, and where in the text they stand."""
        found = self._slow([text])[0]
        ids = found.ids
        return Encoding(ids, [self.piece(i) for i in ids], self._offsets(text, found))

    def _fast(self, texts: Sequence[str]) -> list[tokenizers.Encoding]:
        try:
            return self._rust.encode_batch_fast(texts, add_special_tokens=False)
        except TypeError:
            raise _not_text(texts) from None

    def _slow(self, texts: Sequence[str]) -> list[tokenizers.Encoding]:
        """With offsets, which cost time."""
        try:
            return self._rust.encode_batch(texts, add_special_tokens=False)
        except TypeError:
            raise _not_text(texts) from None

    # --- ids to text ---

    def decode(self, ids: Sequence[int], *, show_special: bool = False) -> str:
        """The text of the tokens, special tokens left out unless they are asked for."""
        kept = ids if show_special else [i for i in ids if i not in self._hidden]
        return self._rust.decode(list(kept), skip_special_tokens=False)

    def piece(self, id: int) -> str:
        """How the vocabulary spells a token."""
        piece = self._rust.id_to_token(id)
        if piece is None:
            raise FirthError(f"no token has the number {id}", do=f"the vocabulary has {self.size}")
        return piece

    def id_of(self, piece: str) -> int | None:
        """The token with this spelling, if there is one."""
        return self._rust.token_to_id(piece)

    def cut(self, text: str) -> list[str]:
        """The stretches into which text is normalised and cut before the model, spelled as the vocabulary does."""
        rust = self._rust
        normal = text if rust.normalizer is None else rust.normalizer.normalize_str(text)
        if rust.pre_tokenizer is None:
            return [normal] if normal else []
        return [part for part, _ in rust.pre_tokenizer.pre_tokenize_str(normal)]

    def model_ids(self, piece: str) -> list[int]:
        """The tokens of a stretch spelled as the vocabulary spells it, which no border and no normalising cuts."""
        return [token.id for token in self._rust.model.tokenize(piece)]

    def vocabulary(self) -> dict[str, int]:
        """Every token's spelling and number, in the order of the numbers."""
        return dict(sorted(self._rust.get_vocab(with_added_tokens=True).items(), key=lambda item: item[1]))

    # --- accounting ---

    def unknown_spans(self, text: str) -> list[str]:
        """The stretches of the text that became the unknown token, one for each such token."""
        found = self._slow([text])[0]
        return [span for span in self._spans(text, found) if span is not None]

    def lossless(self, text: str) -> bool:
        """Whether the tokens, with the unknown stretches put back, give the text exactly."""
        return self.account(text).lossless

    def account(self, text: str) -> Accounting:
        """The tokens of the text and what they do not tell of it."""
        return self.account_batch([text])[0]

    def account_batch(self, texts: Sequence[str]) -> list[Accounting]:
        """The same for many texts at once."""
        if self.reversible:
            return [Accounting(ids, b"", 0, True) for ids in self.encode_batch(texts)]
        return [self._account(text, found) for text, found in zip(texts, self._slow(texts), strict=True)]

    def _account(self, text: str, found: tokenizers.Encoding) -> Accounting:
        ids, unknown = found.ids, self.special.unknown
        if unknown not in ids:
            return Accounting(ids, b"", 0, self._rust.decode(ids, skip_special_tokens=False) == text)
        spans = self._spans(text, found)
        pieces = [self.piece(i) if span is None else span for i, span in zip(ids, spans, strict=True)]
        decoder = self._rust.decoder
        back = " ".join(pieces) if decoder is None else decoder.decode(pieces)
        spelled = [span.encode() for span in spans if span is not None]
        return Accounting(ids, b"".join(spelled), len(spelled), back == text)

    def _spans(self, text: str, found: tokenizers.Encoding) -> list[str | None]:
        """For each token the stretch of text behind it if it is the unknown token, else None."""
        unknown, offsets = self.special.unknown, self._offsets(text, found)
        return [text[a:b] if i == unknown else None for i, (a, b) in zip(found.ids, offsets, strict=True)]

    def _offsets(self, text: str, found: tokenizers.Encoding) -> list[tuple[int, int]]:
        return found.offsets if self._rust.normalizer is None else _widened(text, found.offsets)


def _widened(text: str, offsets: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Offsets that also cover what normalisation joined to the character before; the library omits it."""
    found: list[tuple[int, int]] = []
    before, following = (-1, -1), len(text)
    for a, b in reversed(offsets):
        if (a, b) == before:  # several tokens of one character
            found.append(found[-1])
            continue
        before, end = (a, b), b
        while end < following and not text[end].isspace():
            end += 1
        found.append((a, end))
        following = a
    return found[::-1]


def _open(content: str, where: object) -> tuple[tokenizers.Tokenizer, dict[str, Any]]:
    """The library's tokenizer, and its file as the library writes it: whatever its age, with all fields."""
    from tokenizers import Tokenizer as Rust

    try:
        rust = Rust.from_str(content)
    except Exception:  # the library raises nothing narrower
        raise _not_a_tokenizer(where) from None
    rust.no_truncation()
    rust.no_padding()
    rust.encode_special_tokens = True  # plain text never becomes a special token, not even a foreign one
    file, kept = json.loads(rust.to_str()), json.loads(content)["model"].get(pieces.NOTE)
    return rust if kept is None else pieces.Exact(rust, pieces.Model.from_json(kept, where)), file


def _compact(content: str, *, sort_keys: bool) -> str:
    return json.dumps(json.loads(content), ensure_ascii=False, separators=(",", ":"), sort_keys=sort_keys)


def _not_a_tokenizer(where: object) -> FirthError:
    return FirthError("not a tokenizer file", where=where, do="give a tokenizer.json")


def _not_text(texts: Sequence[str]) -> FirthError:
    """Python can hold half of a surrogate pair in a string; no file in UTF-8 can, nor can the library."""
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            return FirthError(f"text {number} is a {type(text).__name__}, not a string")
        if any("\ud800" <= character <= "\udfff" for character in text):
            return FirthError(f"text {number} is not valid Unicode", do="read it with errors='replace'")
    return FirthError("the texts must be a list of strings")
