"""Learn a tokenizer's model from text. Memory grows with the number of distinct words, not with the text.

Each kind is counted here and put in a fixed order, so that the same text and settings always give the same file: the Rust
library's own WordPiece and Unigram training depends on the order of its hash tables, which changes from process to process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from firth.config.schema import Tokenizer as Config
from firth.errors import FirthError, unknown
from firth.text.normalise import normalise
from firth.text.pipeline import NO_CHARACTER, assemble, byte_alphabet, byte_spelling
from firth.text.special import NAMES, UNKNOWN
from firth.text.split import parts, whole

Counts = Mapping[str, int]
Merges = list[tuple[str, str]]

_INSIDE = "##"  # WordPiece's sign for a piece that goes on with a word
_LONGEST_WORD = 100  # characters; WordPiece takes a longer word for unknown
_FIRST_LABEL = 0x10000
_REPEATS = 1 << 16


def train(config: Config, documents: Iterable[str]) -> dict[str, Any]:
    """A whole tokenizer file, learnt from the documents."""
    if config.model not in _LEARN:
        raise unknown("tokenizer model", config.model, _LEARN)
    least = len(NAMES) + (256 if config.model in ("byte", "byte-bpe") else 1)
    if config.size < least:
        raise FirthError(f"a vocabulary of {config.size} is too small", do=f"{config.model} needs a size of {least} or more")
    counts = count(config, documents)
    if not counts:
        raise FirthError("no text to learn a tokenizer from", do="check that the training text is not empty")
    return assemble(config, _LEARN[config.model](config, counts))


def count(config: Config, documents: Iterable[str]) -> Counter[str]:
    """How often the text has each unit that the kind of model learns from: character, word, or stretch of text."""
    units: Callable[[str], Iterable[str]]
    if config.model in ("word", "wordpiece"):
        units = lambda text: whole(text, config.split)  # noqa: E731
    elif config.model in ("char", "byte"):
        units = iter
    else:
        units = lambda text: parts(text, config.split)  # noqa: E731
    counts: Counter[str] = Counter()
    for document in documents:
        counts.update(units(normalise(document, config.normal, config.lower)))
    return counts


# --- the kinds ----------------------------------------------------------------------------------------------------


def _byte(config: Config, counts: Counts) -> dict[str, Any]:
    return _bpe_model(byte_alphabet(), [], None)


def _char(config: Config, counts: Counts) -> dict[str, Any]:
    return _bpe_model(_most(counts, config), [], UNKNOWN)


def _word(config: Config, counts: Counts) -> dict[str, Any]:
    return {"type": "WordLevel", "vocab": _numbered(_most(_ordinary(counts), config)), "unk_token": UNKNOWN}


def _byte_bpe(config: Config, counts: Counts) -> dict[str, Any]:
    alphabet = byte_alphabet()
    spelled = {byte_spelling(word): n for word, n in counts.items()}
    return _bpe_model(alphabet, learn_merges(spelled, alphabet, config), None)


def _bpe(config: Config, counts: Counts) -> dict[str, Any]:
    alphabet = commonest(characters(counts), config.size - len(NAMES))
    return _bpe_model(alphabet, learn_merges(cut(counts, alphabet), alphabet, config), UNKNOWN)


def _wordpiece(config: Config, counts: Counts) -> dict[str, Any]:
    """Pair merging over letters that know whether they start a word; the merges themselves are then thrown away."""
    counts = {word: n for word, n in _ordinary(counts).items() if len(word) <= _LONGEST_WORD}
    letters: Counter[str] = Counter()
    for word, n in counts.items():
        for letter in _letters(word):
            letters[letter] += n
    alphabet = commonest(letters, config.size - len(NAMES))
    # The trainer wants one character per letter; in order of the alphabet, so that it breaks ties by frequency.
    label = {letter: chr(_FIRST_LABEL + i) for i, letter in enumerate(alphabet)}
    spelled = {"".join(label.get(letter, "\0") for letter in _letters(word)): n for word, n in counts.items()}
    merges = learn_merges(cut(spelled, label.values()), label.values(), config)
    written = {sign: letter for letter, sign in label.items()}
    pieces = [*alphabet, *(_piece(left + right, written) for left, right in merges)]
    vocabulary = _numbered(pieces)
    return {
        "type": "WordPiece",
        "unk_token": UNKNOWN,
        "continuing_subword_prefix": _INSIDE,
        "max_input_chars_per_word": _LONGEST_WORD,
        "vocab": vocabulary,
    }


def _unigram(config: Config, counts: Counts) -> dict[str, Any]:
    from firth.text.unigram import learn_pieces

    room = config.size - len(NAMES)
    alphabet = commonest(characters(counts), room)
    scored = learn_pieces(cut(counts, alphabet), room, max(2, config.min_count))
    scored = sorted(((piece, round(score, 6)) for piece, score in scored), key=lambda item: (-item[1], item[0]))
    # No text reaches the special tokens (the splitter cuts their names), so that their score is only a number.
    special = [(name, scored[-1][1]) for name in NAMES]
    return {"type": "Unigram", "unk_id": NAMES.index(UNKNOWN), "vocab": [*special, *scored], "byte_fallback": False}


_LEARN: dict[str, Callable[[Config, Counts], dict[str, Any]]] = {
    "char": _char,
    "byte": _byte,
    "word": _word,
    "bpe": _bpe,
    "byte-bpe": _byte_bpe,
    "wordpiece": _wordpiece,
    "unigram": _unigram,
}


# --- their common parts -------------------------------------------------------------------------------------------


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
    """The words without the characters outside the alphabet; what stood around one does not become neighbours."""
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
    """Which pairs of pieces to join, in order (Sennrich et al. 2016), by the Rust trainer on words with their counts."""
    import json

    from tokenizers import Tokenizer, models, trainers

    trainer = trainers.BpeTrainer(
        vocab_size=config.size - len(NAMES),
        min_frequency=config.min_count,
        show_progress=False,
        initial_alphabet=list(alphabet),
    )
    learner = Tokenizer(models.BPE())  # without a splitter: each string it is fed is one word
    learner.train_from_iterator(_repeated(counts), trainer)
    return [(left, right) for left, right in json.loads(learner.to_str())["model"]["merges"]]


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


def _bpe_model(alphabet: Iterable[str], merges: Merges, unk_token: str | None) -> dict[str, Any]:
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": unk_token,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
        "vocab": _numbered([*alphabet, *(left + right for left, right in merges)]),
        "merges": [list(pair) for pair in merges],
    }


def _numbered(pieces: Iterable[str]) -> dict[str, int]:
    """Special tokens first, then the pieces in their order; one that comes again keeps its first number."""
    return {piece: i for i, piece in enumerate(dict.fromkeys([*NAMES, *pieces]))}


def _letters(word: str) -> list[str]:
    return [word[0], *(_INSIDE + character for character in word[1:])]


def _piece(labels: str, written: Mapping[str, str]) -> str:
    """A piece of labels as WordPiece writes it."""
    first, *rest = (written[sign] for sign in labels)
    return first + "".join(letter.removeprefix(_INSIDE) for letter in rest)
