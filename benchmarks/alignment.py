"""Word alignment by EM: words per second beside nltk and fast_align on the same pairs, and alignment error rates.

nltk trains one direction, ours both: the words of a pass are counted for each direction. nltk has no HMM, and gets a
part of the pairs. fast_align is a command; it has one direction and one thread.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import texts
from benchmarks.harness import Measurement, Options, Part, Row, Settings, make_row, memory_row, speed_row
from benchmarks.processes import Program, compare

if TYPE_CHECKING:
    from firth.alignment import BidirectionalModel

EPOCHS = 5
TARGET = 20.0  # times nltk's speed
MODELS = {"uniform": "IBM Model 1", "table": "IBM Model 2", "diagonal": "fast_align", "hmm": "HMM"}
PASSES = {"uniform": 1, "table": 3, "diagonal": 1, "hmm": 3}  # epochs of all models in training, over EPOCHS
Pair = tuple[str, str]
Links = list[tuple[int, int]]


def world_pairs(count: int) -> tuple[list[Pair], list[Links]]:
    """Sentences of the built-in world with their translations, and the gold alignment."""
    from firth.datasets.world import World

    sentences = [sentence for story in World().annotated_documents(count, 0) for sentence in story.sentences]
    pairs = [(" ".join(sentence.words).lower(), " ".join(sentence.translation).lower()) for sentence in sentences]
    return pairs, [sorted(sentence.alignment) for sentence in sentences]


def read_pairs(options: Options) -> list[Pair]:
    """English and German of Multi30k, split into words; else the built-in world."""
    paths = [texts.find(options, f"multi30k/tok/train.lc.norm.tok.{language}.gz") for language in ("en", "de")]
    if None in paths:
        return world_pairs(2500)[0]
    return list(zip(*(texts.read(path).splitlines() for path in paths if path), strict=True))


def write_pairs(options: Options, name: str, pairs: list[Pair]) -> str:
    """A file of pairs as fast_align reads them."""
    path = options.folder / f"{name}.txt"
    path.write_text("".join(f"{source} ||| {target}\n" for source, target in pairs), encoding="utf-8")
    return str(path)


def load_pairs(path: str) -> list[Pair]:
    """The inverse of `write_pairs`."""
    lines = (line.split(" ||| ") for line in Path(path).read_text(encoding="utf-8").splitlines())
    return [(source, target) for source, target in lines]


def count_words(pairs: list[Pair]) -> int:
    """Of both sides."""
    return sum(len(source.split()) + len(target.split()) for source, target in pairs)


# --- programs ---


def make_aligner(pairs: list[Pair], distortion: str, threads: int, **config: Any) -> Callable[[], tuple[Any, Any]]:
    """A training of ours, of pairs as numbers in memory; returns the models of both directions and the pairs."""
    from firth import alignment
    from firth.config.schema import Aligner, Tokenizer
    from firth.datasets.text_dataset import make_tokenizer

    words = Tokenizer(model="word", split="whitespace", vocabulary_size=1_000_000)
    tokenizer = make_tokenizer(words, [text for pair in pairs for text in pair])
    bitext, method = alignment.encode(pairs, tokenizer), Aligner(distortion=distortion, **config)
    return lambda: (alignment.fit(bitext, tokenizer.vocab_size, method, EPOCHS, threads), bitext)


def our_training(settings: Settings, path: str, distortion: str) -> Callable[[], None]:
    """EM without smoothing, as nltk has it."""
    epochs = 2 * EPOCHS if distortion in ("table", "hmm") else 0  # of Model 1 before, as nltk's Model 2 has them
    plain = {"smoothing": "none", "agreement": False, "identical_bonus": 1.0, "model1_epochs": epochs}
    train = make_aligner(load_pairs(path), distortion, settings.threads, **plain)
    return lambda: train() and None


def nltk_training(settings: Settings, path: str, distortion: str) -> Callable[[], None]:
    """The same by nltk."""
    from nltk.translate import AlignedSent, IBMModel1, IBMModel2

    pairs = [AlignedSent(target.split(), source.split()) for source, target in load_pairs(path)]
    model = {"uniform": IBMModel1, "table": IBMModel2}[distortion]
    return lambda: model(pairs, EPOCHS) and None


def fast_align(settings: Settings, path: str, distortion: str) -> Callable[[], None]:
    """The command, with the settings that its authors recommend."""
    command = ["fast_align", "-i", path, "-d", "-o", "-v", "-I", str(EPOCHS)]
    return lambda: subprocess.run(command, check=True, capture_output=True) and None


# --- parts ---


def speed(options: Options) -> Iterator[Row]:
    """Words per second on a part of the pairs that nltk can take, and beside fast_align on all."""
    pairs, one, every = read_pairs(options), Settings(1), Settings(options.threads)
    for distortion, count in (("uniform", 2000), ("table", 600)):
        part = pairs[: options.choose(count // 2, count)]
        programs = {
            "ours": Program(our_training, one),
            "all": Program(our_training, every),
            "peer": Program(nltk_training, one, "nltk"),
        }
        path = write_pairs(options, f"part-{distortion}", part)
        measured = compare(programs, options.choose(3, 5), path=path, distortion=distortion)
        words, peer = PASSES[distortion] * EPOCHS * count_words(part), measured.get("peer")
        name = f"{MODELS[distortion]}, {len(part):,} pairs: nltk"
        yield _direction_row(name, measured["ours"], peer, words, TARGET)
        if options.threads > 1:
            yield _direction_row(name, measured["all"], peer, words, TARGET, f"{options.threads} threads")
        yield memory_row(name, measured["ours"], peer)
    programs = {"ours": Program(our_training, one), "peer": Program(fast_align, one, "fast_align")}
    measured = compare(programs, options.choose(2, 5), path=write_pairs(options, "all", pairs), distortion="diagonal")
    name = f"{MODELS['diagonal']}, {len(pairs):,} pairs: fast_align"
    yield _direction_row(name, measured["ours"], measured.get("peer"), EPOCHS * count_words(pairs), 1.0)
    yield memory_row(name, measured["ours"], measured.get("peer"))


def _direction_row(
    name: str, ours: Measurement, peer: Measurement | None, words: int, target: float, mode: str = ""
) -> Row:
    """Words of one direction per second; ours trains two in a round, the peer one."""
    row = speed_row(name, ours, peer, words, "words/s", target, mode)
    assert row.ours is not None
    return Row(row.name, 2 * row.ours, row.peer, row.ratio and 2 * row.ratio, row.target, row.unit)


def whole(options: Options) -> Iterator[Row]:
    """Words per second on all pairs; ours alone."""
    pairs = read_pairs(options)
    path, settings = write_pairs(options, "all", pairs), Settings(options.threads)
    for distortion in ("uniform", "table", "hmm"):
        program = {"ours": Program(our_training, settings)}
        measured = compare(program, options.choose(1, 3), path=path, distortion=distortion)["ours"]
        name, words = f"{MODELS[distortion]}, {len(pairs):,} pairs", PASSES[distortion] * EPOCHS * count_words(pairs)
        yield speed_row(name, measured, None, 2 * words, "words/s")
        yield memory_row(name, measured, None)


def quality(options: Options) -> Iterator[Row]:
    """Alignment error rates on the built-in world, of ours as its presets are; beside the diagonal or a limit."""
    from firth.metrics.alignment_error_rate import alignment_error_rate, diagonal_alignment

    pairs, gold = world_pairs(options.choose(600, 2500))
    sizes = [(len(source.split()), len(target.split())) for source, target in pairs]
    diagonal = alignment_error_rate([diagonal_alignment(*size) for size in sizes], gold)
    for distortion in ("uniform", "table", "hmm"):
        model, bitext = make_aligner(pairs, distortion, options.threads)()
        both: BidirectionalModel = model
        error = alignment_error_rate(both.align(bitext, "grow-diag-final-and"), gold)
        label, peer = ("the limit", 0.05) if distortion == "hmm" else ("the diagonal", diagonal)
        name = f"{MODELS[distortion]}, alignment error rate on world: {label}"
        yield make_row(name, error, peer, "", 1.0, lower_is_better=True, quality=True)


PARTS: dict[str, Part] = {"speed": speed, "whole": whole, "quality": quality}
