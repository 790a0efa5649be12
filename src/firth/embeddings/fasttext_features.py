"""Features of fastText's classifier: words, subwords (character n-grams) and word n-grams, hashed into buckets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from firth.embeddings import fasttext_kernels
from firth.embeddings.fasttext_kernels import LineFeatures
from firth.embeddings.subwords import EOS, subword_table
from firth.embeddings.word_table import WordTable
from firth.errors import FirthError
from firth.tokenizers.split import normalise, split_words
from firth.tokenizers.tokenizer import Tokenizer

WordSplitter = Callable[[Sequence[str]], Iterable[list[str]]]  # texts to their words
BLOCK = 1000  # texts tokenised at once


class FeatureOptions(NamedTuple):
    """Which n-grams are features, as in fastText."""

    word_ngrams: int = 1  # maximum length of word n-grams
    min_n: int = 0  # length of character n-grams
    max_n: int = 0
    buckets: int = 0  # hash buckets shared by word and character n-grams

    @property
    def bucket_count(self) -> int:
        """The number of buckets, 0 without n-grams."""
        return self.buckets if self.word_ngrams > 1 or self.max_n else 0


class EncodedLines(NamedTuple):
    """Texts as word ids; out-of-vocabulary words have ids after those of the vocabulary."""

    words: np.ndarray  # int32, each line with its end-of-line word
    starts: np.ndarray  # (lines + 1,) int64
    oov_words: list[str]


class Features:
    """The input rows: one for each word of the vocabulary, then one for each used bucket."""

    def __init__(self, words: WordTable, options: FeatureOptions, used_buckets: np.ndarray | None = None) -> None:
        """`used_buckets`: the ids of the buckets that have a row, ascending; by default all."""
        self.words, self.options = words, options
        self.used_buckets = np.arange(options.bucket_count) if used_buckets is None else np.asarray(used_buckets)
        self.row_of = np.full(options.bucket_count, -1, np.int32)
        self.row_of[self.used_buckets] = len(words) + np.arange(len(self.used_buckets), dtype=np.int32)
        entries = _WordEntries.of(words, options)
        rows = np.insert(self.row_of[entries.buckets], entries.first[:-1], np.arange(len(words))).astype(np.int32)
        self._vocabulary = entries.first + np.arange(len(words) + 1), rows, entries.hashes
        self._word_ids = {word: index for index, word in reversed(list(enumerate(words)))}

    def __len__(self) -> int:
        """The number of input rows."""
        return len(self.words) + len(self.used_buckets)

    def encode(self, texts: Iterable[Sequence[str]]) -> EncodedLines:
        """Split texts as word ids."""
        return encode_words(texts, self._word_ids)

    def line_features(self, lines: EncodedLines) -> LineFeatures:
        """What the kernels need to know about lines."""
        offsets, rows, hashes = self._vocabulary
        if lines.oov_words:
            oov = _WordEntries.of(WordTable.of(lines.oov_words), self.options)
            offsets = np.concatenate([offsets, offsets[-1] + oov.first[1:]])
            rows = np.concatenate([rows, self.row_of[oov.buckets]])
            hashes = np.concatenate([hashes, oov.hashes])
        ngrams = self.options.word_ngrams if self.options.bucket_count else 1
        longest = int(fasttext_kernels.max_line_features(lines.words, lines.starts, offsets, ngrams))
        return LineFeatures(lines.words, lines.starts, offsets, rows, hashes, ngrams, self.row_of, max(1, longest))


class _WordEntries(NamedTuple):
    """Unique words: the buckets of their character n-grams, and their hashes."""

    first: np.ndarray
    buckets: np.ndarray
    hashes: np.ndarray

    @classmethod
    def of(cls, words: WordTable, options: FeatureOptions) -> _WordEntries:
        if not len(words):
            return cls(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32))
        first, buckets = subword_table(words, options.min_n, options.max_n, options.buckets if options.max_n else 0)
        hashes = np.empty(len(words), np.int32)
        fasttext_kernels.hash_words(np.frombuffer(words.blob, np.uint8), words.ends, hashes)
        return cls(first, buckets, hashes)


def encode_words(texts: Iterable[Sequence[str]], known: dict[str, int]) -> EncodedLines:
    """Texts as word ids, OOV words numbered after the known ones by first occurrence; each line ends with EOS."""
    oov: dict[str, int] = {}
    words, lengths = [], []
    for text in texts:
        ids = [known.get(word, -1) for word in (*text, EOS)]
        if -1 in ids:
            for position, word_id in enumerate(ids):
                if word_id < 0:
                    word = text[position] if position < len(text) else EOS
                    ids[position] = oov.setdefault(word, len(known) + len(oov))
        words.append(np.array(ids, np.int32))
        lengths.append(len(ids))
    flat = np.concatenate(words) if words else np.zeros(0, np.int32)
    return EncodedLines(flat, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), list(oov))


def build_vocabulary(
    texts: Iterable[Sequence[str]], known: Iterable[str]
) -> tuple[WordTable, np.ndarray, EncodedLines]:
    """The known words that occur, and EOS, by descending frequency; their counts; and the encoded lines."""
    names = list(dict.fromkeys([EOS, *known]))
    lines = encode_words(texts, {name: index for index, name in enumerate(names)})
    counts = np.bincount(lines.words, minlength=len(names))
    order = np.argsort(-counts[: len(names)], kind="stable")
    order = order[counts[order] > 0]
    new_id = np.zeros(len(names) + len(lines.oov_words), np.int32)
    new_id[order] = np.arange(len(order))
    new_id[len(names) :] = len(order) + np.arange(len(lines.oov_words))
    words = WordTable.of(names[index] for index in order)
    return words, counts[order].astype(np.int64), lines._replace(words=new_id[lines.words])


def build_features(words: WordTable, lines: EncodedLines, options: FeatureOptions) -> Features:
    """Input rows for the words, and for the buckets that these lines use."""
    _check(options)
    used, hashes = np.zeros(options.bucket_count, np.bool_), []
    for table in (words, WordTable.of(lines.oov_words)):
        entries = _WordEntries.of(table, options)
        used[entries.buckets] = True
        hashes.append(entries.hashes)
    if options.word_ngrams > 1:
        fasttext_kernels.mark_ngrams(lines.words, lines.starts, np.concatenate(hashes), options.word_ngrams, used)
    return Features(words, options, np.flatnonzero(used))


def _check(options: FeatureOptions) -> None:
    if not min(1, options.max_n) <= options.min_n <= options.max_n:
        what = f"character n-grams of {options.min_n} to {options.max_n} characters"
        raise FirthError(what, where="method.min_n, method.max_n", do="choose 3 and 6, or 0 and 0 for no subwords")


# --- texts to words -------------------------------------------------------------------------------------------------


def word_splitter(tokenizer: Tokenizer) -> WordSplitter:
    """A function from texts to their tokens as strings; OOV words keep their spelling instead of the unknown token."""
    names, unknown = list(tokenizer.vocabulary()), tokenizer.special.unknown
    by_word = tokenizer.kind == "word" and tokenizer.config is not None

    def split(texts: Sequence[str]) -> Iterable[list[str]]:
        for start in range(0, len(texts), BLOCK):
            block = texts[start : start + BLOCK]
            ascii_only = [by_word and text.isascii() for text in block]  # all Unicode versions agree: split directly
            others = [text for text, fast in zip(block, ascii_only, strict=True) if not fast]
            encoded = iter(tokenizer.encode_batch(others))
            for text, fast in zip(block, ascii_only, strict=True):
                if fast:
                    yield _split(tokenizer, text)
                    continue
                ids = next(encoded)
                oov = _oov_words(tokenizer, text, len(ids)) if by_word and unknown in ids else [""] * len(ids)
                words = [names[token] if token != unknown else oov[position] for position, token in enumerate(ids)]
                yield [word for word in words if word]

    return split


def _split(tokenizer: Tokenizer, text: str) -> list[str]:
    config = tokenizer.config
    return split_words(normalise(text, config.unicode_form, config.lowercase), config.split)


def _oov_words(tokenizer: Tokenizer, text: str, count: int) -> list[str]:
    """The words of a text as spelled, one for each token; empty strings where words and tokens do not match."""
    words = _split(tokenizer, text)
    if len(words) != count:  # a character that two versions of Unicode classify differently
        words = tokenizer.pre_tokenize(text)
    return words if len(words) == count else [""] * count
