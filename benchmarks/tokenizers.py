"""Tokenizers: encoding a file into the token cache against `tokenizers`, tiktoken and SentencePiece; training.

Ours reads the file, splits it into documents, encodes them and writes the memory-mapped cache. The peers find the
documents already in a list and leave their ids in memory. All but SentencePiece, whose model is its own, must give the
same ids.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import texts
from benchmarks.harness import Measurement, Options, Part, Row, Settings, load_row, memory_row, note, speed_row
from benchmarks.processes import Comparison, Program, compare

if TYPE_CHECKING:
    import numpy as np

MODELS = ("byte-bpe", "bpe", "wordpiece", "unigram", "word")
UNITS = ("paragraph", "line")  # documents
VOCABULARY = 16_000
TARGET = 0.9
TOGETHER = 10_000  # documents that a peer gets at once: more takes gigabytes, fewer is no faster
Work = Callable[..., str | None]


def documents(path: str, unit: str) -> list[str]:
    """The documents of a file."""
    from firth.config import schema
    from firth.datasets.sources import open_source

    return list(open_source((path,), schema.Text(document=unit), Path(path).parent))


def digest(ids: np.ndarray) -> str:
    """Of token ids."""
    import numpy as np

    return hashlib.sha256(np.asarray(ids, np.int64).tobytes()).hexdigest()


# --- encoding: each round has a tokenizer of its own, whose caches are empty ---


def ours(settings: Settings, path: str, unit: str, tokenizer: str) -> Work:
    """From the file to the token cache."""
    from firth.config import schema
    from firth.datasets.sources import open_source
    from firth.datasets.text_dataset import Documents
    from firth.datasets.token_cache import tokenise_split
    from firth.tokenizers.tokenizer import Tokenizer

    def run(check: bool = False) -> str | None:
        with tempfile.TemporaryDirectory(dir=Path(path).parent) as folder:
            source = open_source((path,), schema.Text(document=unit), Path(folder))
            loaded = Tokenizer.load(tokenizer)
            split = tokenise_split(Path(folder), "train", Documents(source).key, source, loaded, account=False)
            return digest(split.ids) if check else None

    return run


def _library(encode: Callable[[], Callable[[list[str]], list[Any]]], path: str, unit: str, end: int) -> Work:
    """A peer's rounds: `encode` makes a new encoder, which gives the ids of a list of documents."""
    import numpy as np

    given = documents(path, unit)

    def run(check: bool = False) -> str | None:
        encoder = encode()
        ids = [each for start in range(0, len(given), TOGETHER) for each in encoder(given[start : start + TOGETHER])]
        if not check:
            return None
        return digest(np.fromiter((number for document in ids for number in (*document, end)), np.int64))

    return run


def encode_batch(settings: Settings, path: str, unit: str, tokenizer: str) -> Work:
    """`tokenizers`, with offsets."""
    import tokenizers

    def encode() -> Callable[[list[str]], list[Any]]:
        library = tokenizers.Tokenizer.from_file(tokenizer)
        return lambda batch: [each.ids for each in library.encode_batch(batch)]

    return _library(encode, path, unit, tokenizers.Tokenizer.from_file(tokenizer).token_to_id("[END]"))


def encode_batch_fast(settings: Settings, path: str, unit: str, tokenizer: str) -> Work:
    """`tokenizers`, without offsets."""
    import tokenizers

    def encode() -> Callable[[list[str]], list[Any]]:
        library = tokenizers.Tokenizer.from_file(tokenizer)
        return lambda batch: [each.ids for each in library.encode_batch_fast(batch)]

    return _library(encode, path, unit, tokenizers.Tokenizer.from_file(tokenizer).token_to_id("[END]"))


def with_tiktoken(settings: Settings, path: str, unit: str, tokenizer: str) -> Work:
    """tiktoken with the same byte-level BPE and the same pre-tokenisation."""
    import tiktoken

    from firth.tokenizers.components import byte_alphabet
    from firth.tokenizers.special_tokens import SPECIAL_TOKENS

    file = json.loads(Path(tokenizer).read_text())
    byte_of = {character: number for number, character in enumerate(byte_alphabet())}
    pattern = next(each for each in file["pre_tokenizer"]["pretokenizers"] if each["type"] == "Split")
    ranks = {
        bytes(byte_of[character] for character in token): number
        for token, number in file["model"]["vocab"].items()
        if token not in SPECIAL_TOKENS
    }

    def encode() -> Callable[[list[str]], list[Any]]:
        encoding = tiktoken.Encoding(
            "ours", pat_str=pattern["pattern"]["Regex"], mergeable_ranks=ranks, special_tokens={}
        )
        return lambda batch: encoding.encode_ordinary_batch(batch, num_threads=settings.threads)

    return _library(encode, path, unit, file["model"]["vocab"]["[END]"])


def with_sentencepiece(settings: Settings, path: str, unit: str, tokenizer: str) -> Work:
    """SentencePiece with a unigram model of its own, of the same size and text."""
    import sentencepiece

    given, prefix = documents(path, unit), Path(path).with_name("sentencepiece")
    model = prefix.with_suffix(".model")
    if not model.exists():
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(given[: len(given) // 4]), model_prefix=str(prefix), vocab_size=VOCABULARY,
            num_threads=settings.threads, minloglevel=2, hard_vocab_limit=False, max_sentence_length=100_000,
        )  # fmt: skip

    def encode() -> Callable[[list[str]], list[Any]]:
        processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
        return lambda batch: processor.encode(batch, num_threads=settings.threads)

    return _library(encode, path, unit, 0)


PEERS = {  # package, and the models that it has
    encode_batch: ("tokenizers", MODELS),
    encode_batch_fast: ("tokenizers", MODELS),
    with_tiktoken: ("tiktoken", ("byte-bpe",)),
    with_sentencepiece: ("sentencepiece", ("unigram",)),
}


def train_tokenizer(options: Options, path: Path, model: str) -> Path:
    """A tokenizer trained on a quarter of the paragraphs."""
    from firth.config import schema
    from firth.tokenizers.tokenizer import Tokenizer

    given = documents(str(path), "paragraph")
    config = schema.Tokenizer(model=model, vocabulary_size=VOCABULARY)
    trained = options.folder / f"{model}.json"
    Tokenizer.train(config, given[: len(given) // 4]).save(trained)
    return trained


def encoding(options: Options) -> Iterator[Row]:
    """MB per second of each kind of tokenizer, by paragraphs and by lines."""
    path, settings = texts.write_english(options, options.choose(3_000_000, 8_000_000)), Settings(options.threads)
    for model in MODELS:
        tokenizer = train_tokenizer(options, path, model)
        for unit in UNITS:
            peers = {peer.__name__: package for peer, (package, models) in PEERS.items() if model in models}
            programs = {peer.__name__: Program(peer, settings, package) for peer, (package, _) in PEERS.items()}
            chosen = {"ours": Program(ours, settings), **{name: programs[name] for name in peers}}
            with Comparison(chosen, path=str(path), unit=unit, tokenizer=str(tokenizer)) as comparison:
                measured = comparison.measure(options.choose(3, 6))
                _check(comparison.measure(0, check=True), model)
            for name in peers:
                yield from _rows(f"{model}, {unit}s: {name}", measured, name, path, unit)


def _rows(label: str, measured: dict[str, Measurement], peer: str, path: Path, unit: str) -> Iterator[Row]:
    pair = measured["ours"], measured.get(peer)
    yield speed_row(f"encoding, {label}", *pair, path.stat().st_size / 1e6, "MB/s", TARGET)
    if unit == "paragraph":
        yield memory_row(f"encoding, {label}", *pair)
        yield load_row(f"encoding, {label}", *pair)


def _check(checked: dict[str, Measurement], model: str) -> None:
    """Speed without the same result is none."""
    for name, measurement in checked.items():
        if measurement.result != checked["ours"].result and name != with_sentencepiece.__name__:
            note(f"{model}: {name} does not give the same ids as ours")


# --- training ---


def our_training(settings: Settings, path: str, model: str) -> Callable[[], None]:
    """From documents in memory to a tokenizer."""
    from firth.config import schema
    from firth.tokenizers.tokenizer import Tokenizer

    given, config = documents(path, "paragraph"), schema.Tokenizer(model=model, vocabulary_size=VOCABULARY)
    return lambda: Tokenizer.train(config, given).vocab_size and None


def library_training(settings: Settings, path: str, model: str) -> Callable[[], None]:
    """`tokenizers` with its usual pre-tokenisation."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    given = documents(path, "paragraph")

    def run() -> None:
        if model == "byte-bpe":
            library, alphabet = Tokenizer(models.BPE()), pre_tokenizers.ByteLevel.alphabet()
            library.pre_tokenizer, library.decoder = pre_tokenizers.ByteLevel(), decoders.ByteLevel()
            trainer = trainers.BpeTrainer(vocab_size=VOCABULARY, initial_alphabet=alphabet, show_progress=False)
        else:
            library = Tokenizer(models.Unigram())
            library.pre_tokenizer = pre_tokenizers.Metaspace()
            trainer = trainers.UnigramTrainer(vocab_size=VOCABULARY, show_progress=False)
        library.train_from_iterator(given, trainer)

    return run


def training(options: Options) -> Iterator[Row]:
    """MB per second of training, and memory."""
    path = texts.write_english(options, options.choose(1_000_000, 8_000_000))
    settings = Settings(options.threads)
    programs = {"ours": Program(our_training, settings), "peer": Program(library_training, settings, "tokenizers")}
    for model in ("byte-bpe", "unigram"):
        measured = compare(programs, options.choose(2, 5), path=str(path), model=model)
        pair = measured["ours"], measured.get("peer")
        yield speed_row(f"training, {model}: tokenizers", *pair, path.stat().st_size / 1e6, "MB/s")
        yield memory_row(f"training, {model}: tokenizers", *pair)


PARTS: dict[str, Part] = {"encoding": encoding, "training": training}
