"""Learn a tokenizer's model from text. Memory grows with the number of distinct words, not with the text.

Every kind is counted here and put in a fixed order, so that the same text and settings always give the same
file: the Rust library's own training of WordPiece and Unigram follows the order of its hash tables, which
changes from process to process.
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
from firth.text.normalise import normalise
from firth.text.pipeline import (
    INSIDE,
    LONGEST_WORD,
    MODELS,
    NO_CHARACTER,
    assemble,
    byte_alphabet,
    byte_spelling,
)
from firth.text.special import NAMES
from firth.text.split import parts, whole

Counts = Mapping[str, int]
Merges = list[tuple[str, str]]

_FIRST_LABEL = 0x10000  # beyond the surrogates there is room for a million letters
_REPEATS = 1 << 16  # of one word in a list: bounds memory
_MOST_WORDS = 1 << 18  # the Rust trainer takes a kilobyte for each
_MOST_OCCURRENCES = 1 << 25  # and a microsecond for each


def train(config: Config, documents: Iterable[str]) -> dict[str, Any]:
    """A whole tokenizer file, learnt from the documents."""
    if config.model not in _LEARN:
        raise unknown("tokenizer model", config.model, _LEARN)
    least = len(NAMES) + (256 if config.model in ("byte", "byte-bpe") else 1)
    if config.size < least:
        raise FirthError(f"size {config.size} is too small for {config.model}", do=f"give {least} or more")
    counts = count(config, documents)
    if not counts:
        raise FirthError("no text to learn a tokenizer from", do="check that the training text is not empty")
    return assemble(config, _LEARN[config.model](config, counts))


def count(config: Config, documents: Iterable[str]) -> Counter[str]:
    """How often the text has each unit that the model learns from: character, word, or stretch of text."""
    units: Callable[[str], Iterable[str]] = iter
    if config.model not in ("char", "byte"):
        units = partial(whole if config.model in ("word", "wordpiece") else parts, split=config.split)
    counts: Counter[str] = Counter()
    for number, document in enumerate(documents):
        try:
            document.encode()
        except UnicodeEncodeError:
            what = f"document {number} is not valid Unicode"
            raise FirthError(what, do="read it with errors='replace'") from None
        counts.update(units(normalise(document, config.normal, config.lower)))
    return counts


# --- the kinds ----------------------------------------------------------------------------------------


def _byte(config: Config, counts: Counts) -> dict[str, Any]:
    return _merging(config, byte_alphabet(), [])


def _char(config: Config, counts: Counts) -> dict[str, Any]:
    return _merging(config, _most(counts, config), [])


def _word(config: Config, counts: Counts) -> dict[str, Any]:
    return {**MODELS["word"], "vocab": _numbered(_most(_ordinary(counts), config))}


def _byte_bpe(config: Config, counts: Counts) -> dict[str, Any]:
    alphabet = byte_alphabet()
    spelled = {byte_spelling(word): n for word, n in counts.items()}
    return _merging(config, alphabet, learn_merges(spelled, alphabet, config))


def _bpe(config: Config, counts: Counts) -> dict[str, Any]:
    alphabet = commonest(characters(counts), config.size - len(NAMES))
    return _merging(config, alphabet, learn_merges(cut(counts, alphabet), alphabet, config))


def _wordpiece(config: Config, counts: Counts) -> dict[str, Any]:
    """Pair merging over letters that know whether they start a word; of the merges only the pieces stay."""
    counts = {word: n for word, n in _ordinary(counts).items() if len(word) <= LONGEST_WORD}
    letters: Counter[str] = Counter()
    for word, n in counts.items():
        for letter in _letters(word):
            letters[letter] += n
    alphabet = commonest(letters, config.size - len(NAMES))
    # The trainer wants one character per letter; in the alphabet's order, so that frequency breaks its ties.
    label = {letter: chr(_FIRST_LABEL + i) for i, letter in enumerate(alphabet)}
    spelled = {"".join(label.get(letter, "\0") for letter in _letters(word)): n for word, n in counts.items()}
    merges = learn_merges(cut(spelled, label.values()), label.values(), config)
    written = {sign: letter for letter, sign in label.items()}
    pieces = [*alphabet, *(_piece(left + right, written) for left, right in merges)]
    return {**MODELS["wordpiece"], "vocab": _numbered(pieces)}


def _unigram(config: Config, counts: Counts) -> dict[str, Any]:
    from firth.text.unigram import learn_pieces

    room = config.size - len(NAMES)
    alphabet = commonest(characters(counts), room)
    learnt = learn_pieces(cut(counts, alphabet), room, max(2, config.min_count))
    rounded = ((piece, round(score, 6)) for piece, score in learnt)
    scored = sorted(rounded, key=lambda item: (-item[1], item[0]))
    # No text reaches the special tokens (the splitter cuts their names): their score is only a number.
    vocabulary = [*((name, scored[-1][1]) for name in NAMES), *scored]
    return {**MODELS["unigram"], "vocab": vocabulary}


_LEARN: dict[str, Callable[[Config, Counts], dict[str, Any]]] = {
    "char": _char,
    "byte": _byte,
    "word": _word,
    "bpe": _bpe,
    "byte-bpe": _byte_bpe,
    "wordpiece": _wordpiece,
    "unigram": _unigram,
}


# --- their common parts -------------------------------------------------------------------------------


def commonest(counts: Counts, room: int) -> list[str]:
    """The units that find room, commonest first, equals in the order of their characters."""
    return sorted(counts, key=lambda unit: (-counts[unit], unit))[:room]


def characters(counts: Counts) -> Counter[str]:
    """How often each character stands in the words."""
    found: Counter[str] = Counter()
    for word, n in counts.items():
        for character in word:
            found[character] += n
    return found


def cut(counts: Counts, alphabet: Iterable[str]) -> Counts:
    """The words cut at the characters outside the alphabet, which are left out."""
    known = frozenset(alphabet)
    found: Counter[str] = Counter()
    for word, n in counts.items():
        if known.issuperset(word):
            found[word] += n
            continue
        for inside, run in groupby(word, known.__contains__):
            if inside:
                found["".join(run)] += n
    return found


def learn_merges(counts: Counts, alphabet: Iterable[str], config: Config) -> Merges:
    """Which pairs of pieces to join, in order (Sennrich et al. 2016), by the Rust trainer on our counts."""
    from tokenizers import Tokenizer, models, trainers

    trainer = trainers.BpeTrainer(
        vocab_size=config.size - len(NAMES),
        min_frequency=config.min_count,
        show_progress=False,
        initial_alphabet=list(alphabet),
    )
    learner = Tokenizer(models.BPE())  # without a splitter: each string it is fed is one word
    learner.train_from_iterator(_repeated(_enough(counts)), trainer)
    return [(left, right) for left, right in json.loads(learner.to_str())["model"]["merges"]]


def _enough(counts: Counts) -> Counts:
    """What merges are learnt from in bounded memory and time: the commonest words, their counts in proportion."""
    kept = {word: counts[word] for word in commonest(counts, _MOST_WORDS)}
    total = sum(kept.values())
    if total <= _MOST_OCCURRENCES:
        return kept
    return {word: max(1, n * _MOST_OCCURRENCES // total) for word, n in kept.items()}


def _repeated(counts: Counts) -> Iterator[list[str]]:
    """Each word as often as it was counted, in lists of bounded length."""
    for word in sorted(counts):
        times, rest = divmod(counts[word], _REPEATS)
        for _ in range(times):
            yield [word] * _REPEATS
        yield [word] * rest


def _most(counts: Counts, config: Config) -> list[str]:
    """The commonest units, if they are common enough."""
    kept = {unit: n for unit, n in counts.items() if n >= config.min_count}
    return commonest(kept, config.size - len(NAMES))


def _ordinary(counts: Counts) -> Counts:
    """The words without those that must stay unknown, because they are spelled like special tokens."""
    return {word: n for word, n in counts.items() if word not in NAMES and NO_CHARACTER not in word}


def _merging(config: Config, alphabet: Iterable[str], merges: Merges) -> dict[str, Any]:
    vocabulary = _numbered([*alphabet, *(left + right for left, right in merges)])
    return {**MODELS[config.model], "vocab": vocabulary, "merges": [list(pair) for pair in merges]}


def _numbered(pieces: Iterable[str]) -> dict[str, int]:
    """Special tokens first, then the pieces in their order; one that comes again keeps its first number."""
    return {piece: i for i, piece in enumerate(dict.fromkeys([*NAMES, *pieces]))}


def _letters(word: str) -> list[str]:
    return [word[0], *(INSIDE + character for character in word[1:])]


def _piece(labels: str, written: Mapping[str, str]) -> str:
    """A piece of labels as WordPiece writes it."""
    first, *rest = (written[sign] for sign in labels)
    return first + "".join(letter.removeprefix(INSIDE) for letter in rest)
