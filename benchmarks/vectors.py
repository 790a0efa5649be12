"""Word vectors against gensim and fastText: words per second, scores on the standard sets, loading, peak memory.

python benchmarks/vectors.py speed --text ../shared/data/wiki-text/wiki.txt.xz
python benchmarks/vectors.py quality --text ... --sets ../shared/data/word-similarity ../shared/data/word-analogy
python benchmarks/vectors.py memory --text ...
python benchmarks/vectors.py loading [--quick]

All read the same plain file (lower case, letters only, a paragraph a line), with the same settings and two threads.
Speeds are of training alone, from runs that take turns; fastText cannot be asked for that, so its time for one epoch is
taken off that for three. fastText 0.9.3 fills its first values in ten parts, one per thread: with fewer threads some
stay at whatever was in memory, so for quality it gets ten.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from firth.config.schema import GloVe, WordToVec
from firth.counts.compiled import run_in_order, timed_compiling
from firth.counts.scanning import count_lines, encode_lines
from firth.vectors import glove, word2vec
from firth.vectors.asking import Asking
from firth.vectors.corpus import Corpus
from firth.vectors.evaluation import evaluate_folder
from firth.vectors.kernels import END
from firth.vectors.store import WordVectors

THREADS, LEAST = 2, 5
SAMPLE = {"sample": 1e-3, "window": 5, "negatives": 5}
SKIP_GRAM, CBOW = WordToVec(**SAMPLE), WordToVec(model="cbow", rate=0.05, **SAMPLE)
PARTS = WordToVec(rate=0.05, least_part=3, most_part=6, **SAMPLE)
PLAIN = WordToVec(rate=0.05, **SAMPLE)  # fastText's own rate, no parts
SETS = ("EN-WS-353-ALL", "EN-SIMLEX-999", "questions-words")


def wide(config: WordToVec, width: int) -> WordToVec:
    return WordToVec(**{**vars(config), "width": width})


# --- the text -----------------------------------------------------------------------------------------------------


def prepare(text: Path, plain: Path, most: int) -> None:
    """A plain copy: lower case, runs of letters, a paragraph a line, at most so many words."""
    left = most
    with (lzma.open if text.suffix == ".xz" else open)(text, "rt") as source, plain.open("w") as out:
        for line in source:
            words = re.findall("[a-z]+", line.lower())[:left]
            left -= len(words)
            if len(words) > 4:
                out.write(" ".join(words) + "\n")
            if left <= 0:
                break


def read(plain: Path) -> Corpus:
    """The corpus as the kernels take it."""

    def pieces() -> Iterator[bytes]:
        with plain.open("rb") as file:
            while block := file.read(1 << 20):
                yield block

    vocabulary = count_lines(pieces(), least=LEAST)
    ids, starts = encode_lines(pieces(), vocabulary, drop_unknown=True)
    words = len(vocabulary)
    tokens = np.insert(ids, starts[1:], words).astype(np.uint32)  # with an end after each document
    row_of = np.append(np.arange(words, dtype=np.int32), np.int32(END))
    return Corpus(tokens, starts + np.arange(len(starts)), row_of, list(vocabulary.words), vocabulary.counts)


# --- ours and theirs ----------------------------------------------------------------------------------------------


def ours(corpus: Corpus, config: WordToVec, epochs: int, seed: int) -> tuple[float, WordVectors]:
    """Seconds of training, and the vectors."""
    model = word2vec.Model(corpus, config, epochs, seed)
    began = time.perf_counter()
    for epoch in range(epochs):
        for _ in run_in_order(partial(model.work, epoch), list(range(model.pieces)), THREADS):
            pass
    return time.perf_counter() - began, model.store()


def gensim(plain: Path, config: WordToVec, epochs: int, seed: int) -> tuple[float, WordVectors]:
    """The same by gensim, from its quicker kind of input."""
    from gensim.models import Word2Vec

    model = Word2Vec(
        vector_size=config.width, window=config.window, min_count=LEAST, sg=int(config.model == "skip-gram"),
        negative=config.negatives, sample=config.sample, alpha=config.rate, workers=THREADS, seed=seed,
    )  # fmt: skip
    model.build_vocab(corpus_file=str(plain))
    # Each of its threads compares what it has done itself with this to lower the rate, so each is told its share;
    # told of the whole text, they would keep a rate that is higher than asked for.
    counts = {"total_words": model.corpus_total_words, "total_examples": model.corpus_count // THREADS}
    began = time.perf_counter()
    model.train(corpus_file=str(plain), epochs=epochs, **counts)
    seconds = time.perf_counter() - began
    found = [model.wv.get_vecattr(word, "count") for word in model.wv.index_to_key]
    return seconds, WordVectors(model.wv.index_to_key, model.wv.vectors, counts=np.array(found))


_FASTTEXT = """
import json, sys, time
import fasttext
began = time.perf_counter()
model = fasttext.train_unsupervised(sys.argv[1], model="skipgram", verbose=0, **json.loads(sys.argv[3]))
print(time.perf_counter() - began)
model.save_model(sys.argv[2])
"""


def fasttext(plain: Path, config: WordToVec, epochs: int, threads: int = THREADS) -> tuple[float, WordVectors]:
    """The same by fastText's C++, in a new process whose memory is clean; the time includes reading the dictionary."""
    options = {"dim": config.width, "ws": config.window, "epoch": epochs, "minCount": LEAST, "neg": config.negatives}
    options |= {"t": config.sample, "lr": config.rate, "minn": config.least_part, "maxn": config.most_part}
    options |= {"bucket": config.buckets if config.most_part else 0, "thread": threads}
    made = plain.with_name("theirs.bin")
    command = [sys.executable, "-c", _FASTTEXT, plain, made, json.dumps(options)]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(found.stdout), WordVectors.load(made)


# --- speed --------------------------------------------------------------------------------------------------------

WORK = {  # name: configuration, the peer, target
    "skip-gram 100": (SKIP_GRAM, "gensim", 3.0),
    "skip-gram 300": (wide(SKIP_GRAM, 300), "gensim", 2.5),
    "CBOW 100": (CBOW, "gensim", 2.0),
    "CBOW 300": (wide(CBOW, 300), "gensim", None),
    "skip-gram 100, no parts": (PLAIN, "fastText", 5.0),
    "skip-gram 100, parts 3-6": (PARTS, "fastText", 3.0),
}
PEERS: dict[str, Callable] = {
    "gensim": lambda plain, config: gensim(plain, config, 1, 1)[0],
    "fastText": lambda plain, config: (fasttext(plain, config, 3)[0] - fasttext(plain, config, 1)[0]) / 2,
}


def speed(plain: Path, rounds: int, only: str) -> list[dict]:
    """Words per second of all kinds of work, ours and the peer's in turn."""
    corpus = read(plain)
    print(f"{corpus.size:,} words, {len(corpus.words):,} different ones; {THREADS} threads")
    rows = []
    for name, (config, peer, target) in WORK.items():
        if only not in name:
            continue
        with timed_compiling() as compiling:
            word2vec.Model(corpus, config, 1, 1).work(0, 0)
        taken = [(ours(corpus, config, 1, 1)[0], PEERS[peer](plain, config)) for _ in range(rounds)]
        ratios = [theirs / mine for mine, theirs in taken]
        mine, theirs = (corpus.size / statistics.median(times) for times in zip(*taken, strict=True))
        row = {"work": name, "peer": peer, "ours": round(mine), "theirs": round(theirs), "target": target}
        row |= {"ratio": round(statistics.median(ratios), 2), "least": round(min(ratios), 2), "most": max(ratios)}
        row["compiling"] = round(compiling.seconds, 1)
        rows.append(row)
        print(
            f"{name:26} ours {mine / 1e3:6.0f} k words/s, {peer} {theirs / 1e3:6.0f} k: {row['ratio']:.2f}x "
            f"({row['least']:.2f} to {row['most']:.2f}), target {target or '-'}; compiling {row['compiling']} s",
            flush=True,
        )
    return rows + ([glove_speed(plain, corpus, rounds)] if only in "GloVe" else [])


def glove_speed(plain: Path, corpus: Corpus, rounds: int) -> dict:
    """Cells per second beside gensim's words per second."""
    cells, words, counting = [], [], []
    for _ in range(rounds):
        began = time.perf_counter()
        model = glove.Model(corpus, GloVe(), 1, THREADS)
        counting.append(time.perf_counter() - began)
        model.work(0, 0)  # compiled now, if not before
        began = time.perf_counter()
        for _ in run_in_order(partial(model.work, 0), list(range(model.pieces)), THREADS):
            pass
        cells.append(model.size / (time.perf_counter() - began))
        words.append(corpus.size / gensim(plain, SKIP_GRAM, 1, 1)[0])
    relation = statistics.median(c / w for c, w in zip(cells, words, strict=True))
    found = statistics.median(cells), statistics.median(words), min(counting)
    print(
        f"GloVe 100: counting {found[2]:.1f} s, {found[0] / 1e6:.2f} M cells/s; gensim's skip-gram "
        f"{found[1] / 1e6:.2f} M words/s: {relation:.1f} cells a word (Stanford's program: 1.8 to 2.9; aim twice that)"
    )
    return {"work": "GloVe 100", "cells": found[0], "words": found[1], "counting": found[2], "relation": relation}


# --- quality ------------------------------------------------------------------------------------------------------


def quality(plain: Path, sets: list[Path], epochs: int, seeds: int, only: str) -> list[dict]:
    """Scores of ours and the peer's, averaged over seeds."""
    corpus, rows = read(plain), []
    print(f"{corpus.size:,} words, {epochs} epochs, {seeds} seeds; scores in points")
    for name, (config, peer, _) in WORK.items():
        if only not in name:
            continue
        found: dict[str, list[list[float]]] = {"ours": [], peer: []}
        for seed in range(1, seeds + 1):
            found["ours"].append(scores(ours(corpus, config, epochs, seed)[1], sets))
            theirs = gensim(plain, config, epochs, seed) if peer == "gensim" else fasttext(plain, config, epochs, 10)
            found[peer].append(scores(theirs[1], sets))
        for who, values in found.items():
            mean, spread = np.mean(values, axis=0), np.std(values, axis=0)
            shown = "  ".join(f"{s} {m:5.1f} ± {d:.1f}" for s, m, d in zip(SETS, mean, spread, strict=True))
            print(f"{name:26} {who:9} {shown}", flush=True)
            rows.append({"work": name, "who": who, **dict(zip(SETS, mean.tolist(), strict=True))})
    return rows


def scores(store: WordVectors, sets: list[Path]) -> list[float]:
    """Spearman's rho and the share of right analogies among the 30,000 most frequent words, times 100."""
    files = [path for folder in sets for path in Path(folder).iterdir() if path.stem in SETS]
    table = evaluate_folder(store, files, Asking(restrict=30_000))
    found = {result.name: 100 * (result.value or 0.0) for result in table.results}
    return [found[name] for name in SETS]


# --- loading ------------------------------------------------------------------------------------------------------

_LOAD = """
import resource, sys, time
began = time.perf_counter()
if sys.argv[2] == "ours":
    from firth.vectors.store import WordVectors
    near = WordVectors.load(sys.argv[1]).most_similar("w77")
else:
    from gensim.models import KeyedVectors
    kind = {"binary": True} if sys.argv[1].endswith(".bin") else {}
    near = KeyedVectors.load_word2vec_format(sys.argv[1], **kind).most_similar("w77")
print(time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, near[0][0])
"""


def loading(words: int, folder: Path, rounds: int) -> list[dict]:
    """Seconds from nothing to the first neighbours, and the memory for it, imports included."""
    from firth.vectors import files

    random = np.random.default_rng(1)
    store = WordVectors([f"w{n}" for n in range(words)], random.standard_normal((words, 300), dtype=np.float32))
    rows = []
    for ending in (".bin", ".txt", ".safetensors"):
        path = folder / f"vectors{ending}"
        files.write(store, path)
        mine, theirs = [], []
        for _ in range(rounds):
            mine.append(_load(path, "ours"))
            theirs.append(_load(path if ending != ".safetensors" else folder / "vectors.bin", "gensim"))
        (took, used), (peer, held) = (tuple(map(statistics.median, zip(*t, strict=True))) for t in (mine, theirs))
        size = path.stat().st_size
        print(
            f"{words:,} x 300 {ending:12} {size / 1e6:.0f} MB: ours {took:.2f} s, {used / 1e6:.0f} MB; "
            f"gensim {peer:.2f} s, {held / 1e6:.0f} MB: {peer / took:.1f}x",
            flush=True,
        )
        rows.append({"file": ending, "bytes": size, "ours": took, "theirs": peer, "memory": used, "peer memory": held})
    return rows


def _load(path: Path, who: str) -> tuple[float, float]:
    found = subprocess.run([sys.executable, "-c", _LOAD, path, who], check=True, capture_output=True, text=True)
    took, used, _ = found.stdout.split()
    return float(took), float(used)


# --- memory -------------------------------------------------------------------------------------------------------

_MEMORY = """
import resource, sys
if sys.argv[2] == "ours":
    import firth
    settings = {"data.valid_share": 0, "data.document": "line", "tokenizer.split": "whitespace"}
    firth.train(sys.argv[3], text=sys.argv[1], out=sys.argv[4], epochs=1, threads=2, settings=settings)
elif sys.argv[3] == "fasttext":
    import fasttext
    fasttext.train_unsupervised(sys.argv[1], dim=100, epoch=1, thread=2, verbose=0).save_model(sys.argv[4])
else:
    from gensim.models import Word2Vec
    model = Word2Vec(corpus_file=sys.argv[1], vector_size=100, sg=int(sys.argv[3] == "skipgram"), epochs=1, workers=2)
    model.save(sys.argv[4])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def memory(plain: Path) -> list[dict]:
    """Peak memory of a whole training of one epoch, reading and saving included, each in its own process."""
    rows = []
    for preset, peer in (("skipgram", "gensim"), ("cbow", "gensim"), ("fasttext", "fastText")):
        peaks = []
        for who in ("ours", peer):
            out = plain.with_name(f"{preset}-{who}")
            command = [sys.executable, "-c", _MEMORY, plain, who, preset, out]
            found = subprocess.run(command, check=True, capture_output=True, text=True)
            peaks.append(int(found.stdout.split()[-1]))
        print(f"{preset:10} ours {peaks[0] / 1e6:.0f} MB, {peer} {peaks[1] / 1e6:.0f} MB", flush=True)
        rows.append({"work": preset, "ours": peaks[0], "peer": peer, "theirs": peaks[1]})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["speed", "quality", "loading", "memory"])
    parser.add_argument("--text", type=Path)
    parser.add_argument("--sets", type=Path, nargs="*", default=[])
    parser.add_argument("--words", type=int, default=10**9, help="of the text, at most")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="a part of the work's name")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path, help="write the rows there")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "plain.txt"
        if asked.part == "loading":
            rows = loading(100_000 if asked.quick else 1_000_000, Path(folder), asked.rounds)
        else:
            prepare(asked.text, plain, min(asked.words, 1_000_000) if asked.quick else asked.words)
            if asked.part == "speed":
                rows = speed(plain, asked.rounds, asked.only)
            elif asked.part == "memory":
                rows = memory(plain)
            else:
                rows = quality(plain, asked.sets, asked.epochs, asked.seeds, asked.only)
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
