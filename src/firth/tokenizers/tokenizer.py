"""The tokenizer: text to token ids and back, over the Rust library `tokenizers` and its `tokenizer.json`.

The special tokens are the first entries of the vocabulary and are *not* listed as added tokens, so that the text
"[END]" is encoded as plain text: here, and by anyone who opens the file with the library alone. Special tokens of a
foreign file are kept out of plain text by a setting of the library (`encode_special_tokens`) that no file stores.
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

from firth.arguments import as_path, as_text, as_texts, read_file
from firth.config.schema import Tokenizer as Config
from firth.display import html_facts
from firth.errors import FirthError
from firth.tokenizers import components, rust_library, sentencepiece, special_tokens
from firth.tokenizers.word_encoding import WordEncoder, WordTokens

if TYPE_CHECKING:
    import tokenizers
    from firth.tokenizers.fast_encoder import FastEncoder


@dataclass(frozen=True)
class Encoding:
    """The tokens of a text: ids, vocabulary entries, and character offsets in the original text (not normalised)."""

    ids: list[int]
    tokens: list[str]
    offsets: list[tuple[int, int]]


@dataclass(frozen=True)
class OovEncoding:
    """The token ids of a text and its out-of-vocabulary (OOV) spans, as bits per byte needs them."""

    ids: list[int]
    oov_bytes: bytes  # the original text of all unknown tokens, concatenated
    oov_count: int
    decoded: str  # the text of the ids, with the OOV spans put back
    lossless: bool  # it is the original text exactly


class Tokenizer:
    """A tokenizer, immutable: same hash, same ids."""

    def __repr__(self) -> str:
        return f"Tokenizer({self.kind}, {self.vocab_size:,} tokens)"

    def _repr_html_(self) -> str:
        facts = {"kind": self.kind, "tokens": self.vocab_size, "lossless": self.reversible, "hash": self.hash[:8]}
        special = [self.id_to_token(token) for token in sorted(self.special.ids)]
        return html_facts("Tokenizer", {**facts, "special tokens": special})

    def __len__(self) -> int:
        return self.vocab_size

    def __call__(self, text: str | Iterable[str]) -> Any:
        """The token ids of a text; of a list of texts, a list of token ids for each."""
        return self.encode(text) if isinstance(text, str) else self.encode_batch(as_texts(text))

    def __init__(self, content: str, where: object = "tokenizer") -> None:
        self._rust, file = _open(content, where)
        self._content = _compact(content, sort_keys=False)
        vocabulary = self.vocabulary()
        self.vocab_size: int = max(vocabulary.values(), default=-1) + 1
        self.kind: str = components.model_kind(file)
        self.reversible: bool = components.is_reversible(file)
        self.special = special_tokens.find_special_tokens(file, vocabulary)
        self.config = components.infer_config(file)  # None: not a file of ours
        self._special_ids = self.special.ids | {t["id"] for t in file["added_tokens"] if t["special"]}

    @cached_property
    def _fast_encoder(self) -> FastEncoder | None:
        """Encodes faster than the library, where the kind of tokenizer allows it."""
        from firth.tokenizers.fast_encoder import build_fast_encoder

        return build_fast_encoder(self.config, self._rust, self.special.unknown)

    # --- training, loading, saving ---

    @classmethod
    def train(cls, config: Config, documents: Iterable[str]) -> Tokenizer:
        """Train on documents, or load `config.file` if it is set (the documents are then not read)."""
        from firth.tokenizers.trainer import train

        if config.file:
            return cls.load(config.file).with_sentinels(config.sentinels)
        without = replace(config, vocabulary_size=config.vocabulary_size - config.sentinels)
        return cls(json.dumps(train(without, documents))).with_sentinels(config.sentinels)

    @classmethod
    def load(cls, path: str | Path) -> Tokenizer:
        """Load a `tokenizer.json`, ours or any other program's."""
        path = as_path(path)
        try:
            content = read_file(path, "give a tokenizer.json").decode()
        except UnicodeDecodeError:
            raise rust_library.not_a_tokenizer(path) from None
        return cls(content, path)

    @classmethod
    def from_json(cls, content: str) -> Tokenizer:
        """The tokenizer of a `tokenizer.json`'s content; the inverse of `to_json`."""
        return cls(content)

    def to_json(self) -> str:
        """The content of its `tokenizer.json`."""
        return self._content

    def save(self, path: str | Path) -> None:
        """Write its `tokenizer.json`."""
        path = as_path(path)
        try:
            path.write_text(self._content, encoding="utf-8", newline="\n")
        except OSError as error:
            do = "name a file in an existing folder"
            raise FirthError(f"cannot write: {error.strerror}", where=path, do=do) from None

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the file's content, independent of white space and key order."""
        return sha256(_compact(self._content, sort_keys=True).encode()).hexdigest()

    def with_special_tokens(self) -> Tokenizer:
        """The same tokenizer with the special tokens it lacks added at the end of the vocabulary."""
        return self._with_added(special_tokens.missing_special_tokens(self.special))

    def with_sentinels(self, count: int) -> Tokenizer:
        """The same tokenizer with this many sentinel tokens, <extra_id_0> the last, as in T5."""
        names = [f"<extra_id_{number}>" for number in reversed(range(count))]
        vocabulary = self.vocabulary()
        return self._with_added([name for name in names if name not in vocabulary])

    def _with_added(self, names: Sequence[str]) -> Tokenizer:
        from tokenizers import AddedToken

        if not names:
            return self
        rust, _ = _open(self._content, "tokenizer")
        rust.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in names])
        file = json.loads(rust.to_str())
        file["model"] = json.loads(self._content)["model"]  # with the entries that the library drops
        return Tokenizer(json.dumps(file))

    @cached_property
    def sentinels(self) -> tuple[int, ...]:
        """The ids of the sentinel tokens <extra_id_0>, <extra_id_1>, …; no text is encoded as one."""
        return special_tokens.sentinel_ids(self.vocabulary())

    def __reduce__(self) -> tuple[Any, ...]:
        return Tokenizer, (self._content,)

    # --- text to ids ---

    def encode(self, text: str) -> list[int]:
        """The token ids of the text; no special tokens are added."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The token ids of each text; no special tokens are added."""
        if self._fast_encoder is None:
            return [encoding.ids for encoding in self._encode_ids(texts)]
        try:
            batch = [self._fast_encoder(text) for text in texts]
        except (TypeError, AttributeError, UnicodeEncodeError):
            raise rust_library.not_text(texts) from None
        remaining = [n for n, ids in enumerate(batch) if ids is None]
        for n, encoding in zip(remaining, self._encode_ids([texts[n] for n in remaining]), strict=True):
            batch[n] = encoding.ids
        return batch

    def encode_flat(self, texts: Sequence[str]) -> tuple[array[int], array[int]]:
        """The token ids of all texts in one array of unsigned 32-bit integers, and the length of each text."""
        flat, lengths = array("I"), array("I")
        for ids in self.encode_batch(texts):
            flat.extend(ids)
            lengths.append(len(ids))
        return flat, lengths

    def encode_with_offsets(self, text: str) -> Encoding:
        """The tokens of the text with their vocabulary entries and character offsets."""
        encoding = self._encode_offsets([text])[0]
        ids = encoding.ids
        return Encoding(ids, [self.id_to_token(i) for i in ids], self._offsets(text, encoding))

    def encode_words(self, sentences: Sequence[Sequence[str]]) -> list[WordTokens]:
        """The tokens of sentences split into words: each word has at least one, and they depend on it alone."""
        return self._word_encoder(sentences)

    @cached_property
    def _word_encoder(self) -> WordEncoder:
        def encode(texts: Sequence[str]) -> list[tuple[list[int], list[tuple[int, int]]]]:
            encoded = zip(texts, self._encode_offsets(texts), strict=True)
            return [(encoding.ids, self._offsets(text, encoding)) for text, encoding in encoded]

        unknown = self.special.unknown
        return WordEncoder(encode, self.special.pad_id if unknown is None else unknown)

    def _encode_ids(self, texts: Sequence[str]) -> list[tokenizers.Encoding]:
        try:
            return self._rust.encode_batch_fast(texts, add_special_tokens=False)
        except BaseException as error:
            raise rust_library.encoding_error(error, texts) from None

    def _encode_offsets(self, texts: Sequence[str]) -> list[tokenizers.Encoding]:
        """With offsets, which cost time."""
        try:
            return self._rust.encode_batch(texts, add_special_tokens=False)
        except BaseException as error:
            raise rust_library.encoding_error(error, texts) from None

    # --- ids to text ---

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = True) -> str:
        """The text of the token ids; of a list of lists, a list of texts."""
        try:
            shown = [i for i in ids if i not in self._special_ids] if skip_special_tokens else list(ids)
            return self._rust.decode(shown, skip_special_tokens=False)
        except (TypeError, OverflowError):
            return self._decode_batch(ids, skip_special_tokens)
        except BaseException as error:
            raise rust_library.use_error(error) from None

    def _decode_batch(self, sequences: Any, skip_special_tokens: bool) -> Any:
        """The texts of several lists of token ids; what holds no token ids is refused."""
        sequences = list(sequences) if isinstance(sequences, Iterable) and not isinstance(sequences, str) else [0]
        if any(isinstance(each, (str, bytes)) or not isinstance(each, Iterable) for each in sequences):
            raise FirthError("not token ids", do="give a list of whole numbers, such as tokenizer.encode(text)")
        return [self.decode(each, skip_special_tokens=skip_special_tokens) for each in sequences]

    def id_to_token(self, id: int) -> str:
        """The vocabulary entry with this id."""
        token = self._token_by_id.get(id)
        if token is None:
            raise FirthError(f"no token has the id {id}", do=f"the vocabulary size is {self.vocab_size}")
        return token

    @cached_property
    def _token_by_id(self) -> dict[int, str]:
        return {i: token for token, i in self.vocabulary().items()}

    def token_to_id(self, token: str) -> int | None:
        """The id of a vocabulary entry; None if there is none."""
        return self._rust.token_to_id(as_text(token, "token"))

    def pre_tokenize(self, text: str) -> list[str]:
        """The pre-tokens of a text after normalisation, which no token crosses, spelled as in the vocabulary."""
        rust = self._rust
        try:
            normalised = text if rust.normalizer is None else rust.normalizer.normalize_str(text)
            if rust.pre_tokenizer is None:
                return [normalised] if normalised else []
            return [pretoken for pretoken, _ in rust.pre_tokenizer.pre_tokenize_str(normalised)]
        except BaseException as error:
            raise rust_library.use_error(error) from None

    def encode_pretoken(self, pretoken: str) -> list[int]:
        """The token ids of one pre-token, spelled as in the vocabulary: without normalisation and pre-tokenisation."""
        try:
            return [token.id for token in self._rust.model.tokenize(pretoken)]
        except BaseException as error:
            raise rust_library.use_error(error) from None

    def vocabulary(self) -> dict[str, int]:
        """All tokens and their ids, in the order of the ids."""
        return dict(sorted(self._rust.get_vocab(with_added_tokens=True).items(), key=lambda item: item[1]))

    # --- out-of-vocabulary text ---

    def oov_spans(self, text: str) -> list[str]:
        """The out-of-vocabulary spans of the text, one for each unknown token."""
        encoding = self._encode_offsets([text])[0]
        return [span for span in self._unknown_text(text, encoding) if span is not None]

    def lossless(self, text: str) -> bool:
        """Whether decoding, with the out-of-vocabulary spans put back, gives the text exactly."""
        return self.encode_with_oov(text).lossless

    def encode_with_oov(self, text: str) -> OovEncoding:
        """The token ids of the text and its out-of-vocabulary spans."""
        return self.encode_batch_with_oov([text])[0]

    def encode_batch_with_oov(self, texts: Sequence[str]) -> list[OovEncoding]:
        """The token ids and the out-of-vocabulary spans of each text."""
        if self.reversible:
            encoded = self.encode_batch(texts)
            return [OovEncoding(ids, b"", 0, text, True) for ids, text in zip(encoded, texts, strict=True)]
        return [self._with_oov(*pair) for pair in zip(texts, self._encode_offsets(texts), strict=True)]

    def _with_oov(self, text: str, encoding: tokenizers.Encoding) -> OovEncoding:
        ids, unknown = encoding.ids, self.special.unknown
        if unknown not in ids:
            decoded = self.decode(ids, skip_special_tokens=False)
            return OovEncoding(ids, b"", 0, decoded, decoded == text)
        spans = self._unknown_text(text, encoding)
        tokens = [self.id_to_token(i) if span is None else span for i, span in zip(ids, spans, strict=True)]
        decoder = self._rust.decoder
        decoded = " ".join(tokens) if decoder is None else rust_library.decode(decoder, tokens)
        oov = [span.encode() for span in spans if span is not None]
        return OovEncoding(ids, b"".join(oov), len(oov), decoded, decoded == text)

    def _unknown_text(self, text: str, encoding: tokenizers.Encoding) -> list[str | None]:
        """For each token the text it covers if it is the unknown token, else None."""
        unknown, offsets = self.special.unknown, self._offsets(text, encoding)
        return [text[a:b] if i == unknown else None for i, (a, b) in zip(encoding.ids, offsets, strict=True)]

    def _offsets(self, text: str, encoding: tokenizers.Encoding) -> list[tuple[int, int]]:
        return encoding.offsets if self._rust.normalizer is None else _extend_offsets(text, encoding.offsets)


def _extend_offsets(text: str, offsets: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Offsets that also cover characters which normalisation merged into the one before; the library omits them."""
    extended: list[tuple[int, int]] = []
    previous, next_start = (-1, -1), len(text)
    for a, b in reversed(offsets):
        if (a, b) == previous:  # several tokens of one character
            extended.append(extended[-1])
            continue
        previous, end = (a, b), b
        while end < next_start and not text[end].isspace():
            end += 1
        extended.append((a, end))
        next_start = a
    return extended[::-1]


def _open(content: str, where: object) -> tuple[tokenizers.Tokenizer, dict[str, Any]]:
    """The library's tokenizer, and the file as the library rewrites it: all fields, whatever version wrote it."""
    rust, original = rust_library.open_file(content, where)
    rust.no_truncation()
    rust.no_padding()
    rust.encode_special_tokens = True  # plain text is never encoded as a special token, not even a foreign one
    file, model = json.loads(rust.to_str()), original["model"].get(sentencepiece.MODEL_KEY)
    if model is None:
        return rust, file
    return sentencepiece.SentencePieceBackend(rust, sentencepiece.from_json(model, where), where), file


def _compact(content: str, *, sort_keys: bool) -> str:
    return json.dumps(json.loads(content), ensure_ascii=False, separators=(",", ":"), sort_keys=sort_keys)
