"""Tokenizer training: characters, bytes, words, byte-pair encoding (BPE), byte-level BPE, WordPiece, unigram.

Memory grows with the number of distinct words, not with the text. Counting and sorting are done here, so that the
same text and settings always give the same file: the Rust library's own WordPiece and Unigram trainers follow the
order of its hash tables, which changes from process to process.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import groupby
from typing import Any

from firth.config.schema import Tokenizer as Config
from firth.errors import FirthError, unknown
from firth.tokenizers import rust_library
from firth.tokenizers.components import (
    CONTINUATION_PREFIX,
    MAX_WORD_LENGTH,
    MODELS,
    NONCHARACTER,
    build_tokenizer_json,
    byte_alphabet,
    to_byte_characters,
)
from firth.tokenizers.special_tokens import SPECIAL_TOKENS
from firth.tokenizers.split import normalise, split_pretokens, split_words

Counts = Mapping[str, int]
Merges = list[tuple[str, str]]

_FIRST_LABEL = 0x10000  # beyond the surrogates there are a million code points for WordPiece's characters
_MAX_REPEATS = 1 << 16  # of one word in a list: bounds memory
_MAX_WORDS = 1 << 18  # the Rust trainer takes a kilobyte for each
_MAX_OCCURRENCES = 1 << 25  # and a microsecond for each


def train(config: Config, documents: Iterable[str]) -> dict[str, Any]:
    """The `tokenizer.json` of a tokenizer trained on the documents."""
    if config.model not in _TRAINERS:
        raise unknown("tokenizer model", config.model, _TRAINERS)
    min_size = len(SPECIAL_TOKENS) + (256 if config.model in ("byte", "byte-bpe") else 1)
    if config.vocabulary_size < min_size:
        what = f"tokenizer.vocabulary_size = {config.vocabulary_size} is too small for {config.model}"
        raise FirthError(what, do=f"give {min_size} or more")
    counts = count_units(config, documents)
    if not counts:
        raise FirthError("no text to train a tokenizer on", do="check that the training text is not empty")
    return build_tokenizer_json(config, _TRAINERS[config.model](config, counts))


def count_units(config: Config, documents: Iterable[str]) -> Counter[str]:
    """The frequency of each unit that the model is trained on: character, word, or pre-token."""
    units: Callable[[str], Iterable[str]] = iter
    if config.model not in ("char", "byte"):
        units = partial(split_words if config.model in ("word", "wordpiece") else split_pretokens, split=config.split)
    counts: Counter[str] = Counter()
    for number, document in enumerate(documents):
        try:
            document.encode()
        except UnicodeEncodeError:
            what = f"document {number} is not valid Unicode"
            raise FirthError(what, do="read it with errors='replace'") from None
        counts.update(units(normalise(document, config.unicode_form, config.lowercase)))
    return counts


# --- the kinds of model ----------------------------------------------------------------------------------------


def _byte(config: Config, counts: Counts) -> dict[str, Any]:
    return _bpe_model(config, byte_alphabet(), [])


def _char(config: Config, counts: Counts) -> dict[str, Any]:
    return _bpe_model(config, _frequent(counts, config), [])


def _word(config: Config, counts: Counts) -> dict[str, Any]:
    return {**MODELS["word"], "vocab": _numbered(_frequent(_without_special(counts), config))}


def _byte_bpe(config: Config, counts: Counts) -> dict[str, Any]:
    alphabet = byte_alphabet()
    byte_counts = {to_byte_characters(word): n for word, n in counts.items()}
    return _bpe_model(config, alphabet, learn_merges(byte_counts, alphabet, config))


def _bpe(config: Config, counts: Counts) -> dict[str, Any]:
    alphabet = most_frequent(count_characters(counts), config.vocabulary_size - len(SPECIAL_TOKENS))
    return _bpe_model(config, alphabet, learn_merges(split_at_unknown(counts, alphabet), alphabet, config))


def _wordpiece(config: Config, counts: Counts) -> dict[str, Any]:
    """BPE training over characters marked by whether they start a word; of the merges only the tokens are stored."""
    counts = {word: n for word, n in _without_special(counts).items() if len(word) <= MAX_WORD_LENGTH}
    frequency: Counter[str] = Counter()
    for word, n in counts.items():
        for character in _wordpiece_characters(word):
            frequency[character] += n
    alphabet = most_frequent(frequency, config.vocabulary_size - len(SPECIAL_TOKENS))
    # The trainer needs one code point per symbol; in the alphabet's order, so that frequency breaks ties.
    label = {symbol: chr(_FIRST_LABEL + i) for i, symbol in enumerate(alphabet)}
    labelled = {"".join(label.get(c, "\0") for c in _wordpiece_characters(word)): n for word, n in counts.items()}
    merges = learn_merges(split_at_unknown(labelled, label.values()), label.values(), config)
    symbols = {code_point: symbol for symbol, code_point in label.items()}
    tokens = [*alphabet, *(_wordpiece_token(left + right, symbols) for left, right in merges)]
    return {**MODELS["wordpiece"], "vocab": _numbered(tokens)}


def _unigram(config: Config, counts: Counts) -> dict[str, Any]:
    from firth.tokenizers.unigram import train_unigram

    size = config.vocabulary_size - len(SPECIAL_TOKENS)
    alphabet = most_frequent(count_characters(counts), size)
    pieces = train_unigram(split_at_unknown(counts, alphabet), size, max(2, config.min_count))
    rounded = ((piece, round(score, 6)) for piece, score in pieces)
    scored = sorted(rounded, key=lambda item: (-item[1], item[0]))
    # No text is encoded as a special token (pre-tokenisation cuts their names): their scores are never used.
    vocabulary = [*((name, scored[-1][1]) for name in SPECIAL_TOKENS), *scored]
    return {**MODELS["unigram"], "vocab": vocabulary}


_TRAINERS: dict[str, Callable[[Config, Counts], dict[str, Any]]] = {
    "char": _char,
    "byte": _byte,
    "word": _word,
    "bpe": _bpe,
    "byte-bpe": _byte_bpe,
    "wordpiece": _wordpiece,
    "unigram": _unigram,
}


# --- shared functions -------------------------------------------------------------------------------


def most_frequent(counts: Counts, size: int) -> list[str]:
    """The `size` most frequent units in descending order, ties in the order of their characters."""
    return sorted(counts, key=lambda unit: (-counts[unit], unit))[:size]


def count_characters(counts: Counts) -> Counter[str]:
    """The frequency of each character in the words."""
    frequency: Counter[str] = Counter()
    for word, n in counts.items():
        for character in word:
            frequency[character] += n
    return frequency


def split_at_unknown(counts: Counts, alphabet: Iterable[str]) -> Counts:
    """The words split at characters outside the alphabet, which are dropped."""
    known = frozenset(alphabet)
    parts: Counter[str] = Counter()
    for word, n in counts.items():
        if known.issuperset(word):
            parts[word] += n
            continue
        for is_known, run in groupby(word, known.__contains__):
            if is_known:
                parts["".join(run)] += n
    return parts


def learn_merges(counts: Counts, alphabet: Iterable[str], config: Config) -> Merges:
    """BPE merges in order (Sennrich et al. 2016), learned by the Rust trainer on our counts."""
    from tokenizers import Tokenizer, models, trainers

    trainer = trainers.BpeTrainer(
        vocab_size=config.vocabulary_size - len(SPECIAL_TOKENS),
        min_frequency=config.min_count,
        show_progress=False,
        initial_alphabet=list(alphabet),
    )
    bpe = Tokenizer(models.BPE())  # without a pre-tokenizer: each string of the iterator is one word
    try:
        bpe.train_from_iterator(_repeated(_bounded(counts)), trainer)
    except BaseException as error:
        raise rust_library.memory_error(error) or error from None
    return [(left, right) for left, right in json.loads(bpe.to_str())["model"]["merges"]]


def _bounded(counts: Counts) -> Counts:
    """The most frequent words, their counts scaled down, so that memory and time of learning merges are bounded."""
    frequent = {word: counts[word] for word in most_frequent(counts, _MAX_WORDS)}
    total = sum(frequent.values())
    if total <= _MAX_OCCURRENCES:
        return frequent
    return {word: max(1, n * _MAX_OCCURRENCES // total) for word, n in frequent.items()}


def _repeated(counts: Counts) -> Iterator[list[str]]:
    """Each word repeated by its count, in lists of bounded length."""
    for word in sorted(counts):
        times, rest = divmod(counts[word], _MAX_REPEATS)
        for _ in range(times):
            yield [word] * _MAX_REPEATS
        yield [word] * rest


def _frequent(counts: Counts, config: Config) -> list[str]:
    """The most frequent units with a count of at least `min_count`."""
    frequent = {unit: n for unit, n in counts.items() if n >= config.min_count}
    return most_frequent(frequent, config.vocabulary_size - len(SPECIAL_TOKENS))


def _without_special(counts: Counts) -> Counts:
    """The words without those spelled like special tokens, which must stay unknown."""
    return {word: n for word, n in counts.items() if word not in SPECIAL_TOKENS and NONCHARACTER not in word}


def _bpe_model(config: Config, alphabet: Iterable[str], merges: Merges) -> dict[str, Any]:
    vocabulary = _numbered([*alphabet, *(left + right for left, right in merges)])
    return {**MODELS[config.model], "vocab": vocabulary, "merges": [list(pair) for pair in merges]}


def _numbered(tokens: Iterable[str]) -> dict[str, int]:
    """Ids of the special tokens, then of the tokens in their order; a duplicate keeps its first id."""
    return {token: i for i, token in enumerate(dict.fromkeys([*SPECIAL_TOKENS, *tokens]))}


def _wordpiece_characters(word: str) -> list[str]:
    return [word[0], *(CONTINUATION_PREFIX + character for character in word[1:])]


def _wordpiece_token(labels: str, symbols: Mapping[str, str]) -> str:
    """A token of label code points as WordPiece writes it."""
    first, *rest = (symbols[code_point] for code_point in labels)
    return first + "".join(symbol.removeprefix(CONTINUATION_PREFIX) for symbol in rest)
