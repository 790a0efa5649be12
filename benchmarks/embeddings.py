"""Word embeddings against gensim and fastText: training speed, quality on standard sets, loading, memory.

All read the same plain file (lower case, letters only, a paragraph a line) with the same settings and threads. Speeds
are of training alone. fastText cannot be asked for that, so the time of one epoch is taken off that of three. fastText
0.9.3 initialises its vectors in ten parts, one per thread: with fewer threads some stay at whatever was in memory, so
it gets ten for quality.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks import texts
from benchmarks.embeddings_files import loading, memory
from benchmarks.harness import Options, Part, Row, Settings, make_row, speed_row
from benchmarks.processes import Program, Timed, compare

if TYPE_CHECKING:
    from firth.config.schema import Word2Vec
    from firth.embeddings.training_text import Corpus
    from firth.embeddings.word_vectors import WordVectors

MIN_COUNT = 5
TEST_SETS = {  # name: what it measures
    "EN-WS-353-ALL": "WordSim-353",
    "EN-SIMLEX-999": "SimLex-999",
    "questions-words": "analogies",
}
FOLDERS = ("word-similarity", "word-analogy")
STANFORD = 2.9  # cells per second of Stanford's GloVe for each word per second of gensim's skip-gram, at most


class Work(NamedTuple):
    """A model to train, the peers that have it, and how many times faster than the first of them ours should be."""

    config: dict[str, Any]
    peers: tuple[str, ...]
    target: float | None


WORKS = {
    "skip-gram 100": Work({}, ("gensim",), 3.0),
    "skip-gram 300": Work({"width": 300}, ("gensim",), 2.5),
    "CBOW 100": Work({"model": "cbow", "learning_rate": 0.05}, ("gensim",), 2.0),
    "CBOW 300": Work({"model": "cbow", "learning_rate": 0.05, "width": 300}, ("gensim",), None),
    "skip-gram 100, fastText's learning rate": Work({"learning_rate": 0.05}, ("fasttext",), 5.0),
    "skip-gram 100, subwords 3-6": Work({"learning_rate": 0.05, "min_n": 3, "max_n": 6}, ("fasttext", "gensim"), 3.0),
}


def make_config(config: dict[str, Any]) -> Word2Vec:
    """The settings of ours."""
    from firth.config.schema import Word2Vec

    return Word2Vec(subsample=1e-3, window=5, negatives=5, **config)


# --- programs: `train` trains so many epochs; seconds of training alone, and the vectors ---

Train = Callable[[int, int], tuple[float, "WordVectors"]]  # epochs, seed


def read_corpus(plain: str) -> Corpus:
    """The text as our kernels take it."""
    import numpy as np

    from firth.corpus.text_scanner import count_words_in_lines, encode_lines
    from firth.embeddings.training_text import Corpus
    from firth.embeddings.word2vec_kernels import END

    def blocks() -> Iterator[bytes]:
        with Path(plain).open("rb") as file:
            yield from iter(lambda: file.read(1 << 20), b"")

    vocabulary = count_words_in_lines(blocks(), min_count=MIN_COUNT)
    ids, starts = encode_lines(blocks(), vocabulary, drop_unknown=True)
    words = len(vocabulary)
    tokens = np.insert(ids, starts[1:], words).astype(np.uint32)  # with an end after each document
    row_of = np.append(np.arange(words, dtype=np.int32), np.int32(END))
    return Corpus(tokens, starts + np.arange(len(starts)), row_of, list(vocabulary.words), vocabulary.counts)


def ours(settings: Settings, plain: str, config: dict[str, Any]) -> Train:
    """Our word2vec and fastText."""
    from firth.embeddings import word2vec
    from firth.jit import run_in_order

    corpus, chosen = read_corpus(plain), make_config(config)

    def train(epochs: int, seed: int) -> tuple[float, WordVectors]:
        model = word2vec.Word2VecTrainer(corpus, chosen, epochs, seed)
        began = time.perf_counter()
        for epoch in range(epochs):
            tasks = list(range(model.chunks))
            for _ in run_in_order(partial(model.train_chunk, epoch), tasks, settings.threads):
                pass
        return time.perf_counter() - began, model.word_vectors()

    return train


def gensim(settings: Settings, plain: str, config: dict[str, Any]) -> Train:
    """gensim, from its faster kind of input (`corpus_file`)."""
    import numpy as np
    from gensim.models import FastText, Word2Vec

    from firth.embeddings.word_vectors import WordVectors

    chosen = make_config(config)
    subwords = {"min_n": chosen.min_n, "max_n": chosen.max_n, "bucket": chosen.buckets} if chosen.max_n else {}

    def train(epochs: int, seed: int) -> tuple[float, WordVectors]:
        model = (FastText if subwords else Word2Vec)(
            vector_size=chosen.width, window=chosen.window, min_count=MIN_COUNT, sg=int(chosen.model == "skip-gram"),
            negative=chosen.negatives, sample=chosen.subsample, alpha=chosen.learning_rate, workers=settings.threads,
            seed=seed, **subwords,
        )  # fmt: skip
        model.build_vocab(corpus_file=plain)
        # Each of its threads compares what it has done itself with this number to decay the learning rate, so each gets
        # its share; given the whole text, they would keep too high a learning rate.
        counts = {"total_words": model.corpus_total_words, "total_examples": model.corpus_count // settings.threads}
        began = time.perf_counter()
        model.train(corpus_file=plain, epochs=epochs, **counts)
        seconds = time.perf_counter() - began
        frequencies = [model.wv.get_vecattr(word, "count") for word in model.wv.index_to_key]
        return seconds, WordVectors(model.wv.index_to_key, model.wv.vectors, counts=np.array(frequencies))

    return train


def fasttext(settings: Settings, plain: str, config: dict[str, Any]) -> Train:
    """fastText's C++, each time in a new process whose memory is clean; its time includes reading the dictionary."""
    from firth.embeddings.word_vectors import WordVectors

    chosen, saved = make_config(config), Path(plain).with_name("fasttext.bin")
    options = {"dim": chosen.width, "ws": chosen.window, "minCount": MIN_COUNT, "neg": chosen.negatives}
    options |= {"t": chosen.subsample, "lr": chosen.learning_rate, "minn": chosen.min_n, "maxn": chosen.max_n}
    options |= {"bucket": chosen.buckets if chosen.max_n else 0, "thread": settings.threads, "verbose": 0}

    def train(epochs: int, seed: int) -> tuple[float, WordVectors]:
        given = json.dumps({**options, "epoch": epochs})
        command = [sys.executable, "-c", _FASTTEXT, plain, str(saved), given]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return float(done.stdout), WordVectors.load(saved)

    return train


_FASTTEXT = """
import json, sys, time
import fasttext
began = time.perf_counter()
model = fasttext.train_unsupervised(sys.argv[1], model="skipgram", **json.loads(sys.argv[3]))
print(time.perf_counter() - began)
model.save_model(sys.argv[2])
"""
TRAINERS: dict[str, Callable[..., Train]] = {"": ours, "gensim": gensim, "fasttext": fasttext}


# --- speed ---


def training(settings: Settings, package: str, plain: str, config: dict[str, Any]) -> Callable[[], Timed]:
    """Seconds of one epoch."""
    train = TRAINERS[package](settings, plain, config)
    if package == "fasttext":
        return lambda: Timed((train(3, 1)[0] - train(1, 1)[0]) / 2)
    return lambda: Timed(train(1, 1)[0])


def our_training(settings: Settings, **arguments: Any) -> Callable[[], Timed]:
    """Of ours."""
    return training(settings, "", **arguments)


def gensim_training(settings: Settings, **arguments: Any) -> Callable[[], Timed]:
    """Of gensim."""
    return training(settings, "gensim", **arguments)


def fasttext_training(settings: Settings, **arguments: Any) -> Callable[[], Timed]:
    """Of fastText."""
    return training(settings, "fasttext", **arguments)


def speed(options: Options) -> Iterator[Row]:
    """Words per second of training."""
    plain, settings = str(texts.write_words(options, options.choose(300_000, 2_000_000))), Settings(options.threads)
    size = read_corpus(plain).size
    peers = {"gensim": gensim_training, "fasttext": fasttext_training}
    for name, work in WORKS.items():
        programs = {"ours": Program(our_training, settings)}
        programs |= {peer: Program(peers[peer], settings, peer) for peer in work.peers}
        measured = compare(programs, options.choose(2, 3), plain=plain, config=work.config)
        for peer in work.peers:
            target = work.target if peer == work.peers[0] else None
            yield speed_row(f"{name}: {peer}", measured["ours"], measured.get(peer), size, "words/s", target)


def glove_training(settings: Settings, plain: str, config: dict[str, Any]) -> Callable[[], Timed]:
    """Seconds of an epoch over all cells; with how many cells there are, and the seconds of counting."""
    from firth.config.schema import GloVe
    from firth.embeddings import glove
    from firth.jit import run_in_order

    corpus = read_corpus(plain)

    def run() -> Timed:
        began = time.perf_counter()
        model = glove.GloVeTrainer(corpus, GloVe(), 1, settings.threads)
        counted = time.perf_counter()
        for _ in run_in_order(partial(model.train_chunk, 0), list(range(model.chunks)), settings.threads):
            pass
        return Timed(time.perf_counter() - counted, {"cells": model.size, "counting": counted - began})

    return run


def glove(options: Options) -> Iterator[Row]:
    """Cells per second, and for each word per second of gensim's skip-gram; Stanford's program has up to 2.9."""
    plain, settings = str(texts.write_words(options, options.choose(300_000, 2_000_000))), Settings(options.threads)
    programs = {"ours": Program(glove_training, settings), "gensim": Program(gensim_training, settings, "gensim")}
    measured = compare(programs, options.choose(2, 3), plain=plain, config={})
    own, peer = measured["ours"], measured.get("gensim")
    yield speed_row("GloVe 100", own, None, own.result["cells"], "cells/s")
    yield make_row("GloVe 100, counting co-occurrences", own.result["counting"], None, "s", lower_is_better=True)
    name = "GloVe 100, cells per word of gensim's skip-gram: Stanford's program"
    if peer is None:
        return
    words = read_corpus(plain).size
    relation = statistics.median(
        (own.result["cells"] / mine) / (words / other) for mine, other in zip(own.rounds, peer.rounds, strict=True)
    )
    yield make_row(name, relation, STANFORD, "cells/word", 2.0)


# --- quality ---


def evaluate(
    settings: Settings, package: str, plain: str, config: dict[str, Any], epochs: int, seed: int, sets: list[str]
) -> Callable[[], list[float]]:
    """Spearman's rho, or accuracy of analogies among the 30,000 most frequent words, of each set; times 100."""
    from firth.embeddings.evaluation import evaluate_folder
    from firth.embeddings.lookup import EvaluationOptions

    def run() -> list[float]:
        _, vectors = TRAINERS[package](settings, plain, config)(epochs, seed)
        results = evaluate_folder(vectors, sets, EvaluationOptions(restrict_vocab=30_000)).results
        by_name = {result.name: 100 * (result.value or 0.0) for result in results}
        return [by_name[name] for name in TEST_SETS]

    return run


def quality(options: Options) -> Iterator[Row]:
    """Scores on standard sets, means over seeds, each training in a new process."""
    folders = [texts.find(options, name) for name in FOLDERS]
    if None in folders:
        return
    sets = [str(path) for folder in folders if folder for path in sorted(folder.iterdir()) if path.stem in TEST_SETS]
    plain = str(texts.write_words(options, options.choose(1_000_000, 5_000_000)))
    for name, work in WORKS.items():
        if options.quick and name not in ("skip-gram 100", "skip-gram 100, subwords 3-6"):
            continue
        peer, scores = work.peers[0], dict[str, list[list[float]]]()
        for seed in range(1, options.choose(1, 3) + 1):
            settings = Settings(options.threads)
            programs = {
                "": Program(evaluate, settings),
                peer: Program(evaluate, Settings(10) if peer == "fasttext" else settings, peer),
            }
            for package, program in programs.items():
                arguments = {"package": package, "config": work.config, "epochs": options.choose(2, 3)}
                found = compare({"one": program}, 0, plain=plain, seed=seed, sets=sets, **arguments)
                if "one" in found:
                    scores.setdefault(package, []).append(found["one"].result)
        for number, label in enumerate(TEST_SETS.values()):
            means = [_mean(scores.get(package, []), number) for package in ("", peer)]
            yield make_row(f"{name}, {label}: {peer}", means[0], means[1], "points", 1.0, quality=True)


def _mean(scores: list[list[float]], number: int) -> float | None:
    return statistics.fmean(each[number] for each in scores) if scores else None


PARTS: dict[str, Part] = {"speed": speed, "glove": glove, "quality": quality, "loading": loading, "memory": memory}
