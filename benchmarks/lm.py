"""Language models against their peers, by turns, at the same settings: one part or several (default: all).

ngram: per-token scores of a text file against `kenlm.Model.score` and `full_scores` called for each line, both with the
model that firth estimated and wrote as ARPA; estimation against nltk, in words a second and in memory.
training: recurrent networks against plain PyTorch, a small GPT against Hugging Face's GPT-2, in the same precision.
generation: the small GPT with its cache against `transformers.generate`.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import neural
from sides import row, timed

ORDER = 5
THREADS = 2
FULL_SCORES, SCORE = 3.0, 1.0  # times the peer's speed
TRAINED = (("lstm", "PyTorch", 1.1), ("gru", "PyTorch", 1.1), ("tanh", "PyTorch", 1.1), ("gpt", "GPT-2", 1.25))
PTB = 142.0  # perplexity of the test text that a modified Kneser–Ney model of order 5 has at most


class Asked(NamedTuple):
    """How much to do, and where the data and room for files are."""

    data: Path
    folder: Path
    quick: bool

    @property
    def rounds(self) -> int:
        return 3 if self.quick else 7


# --- the rows ---


def lines_of(path: Path) -> list[str]:
    """The lines of a file, plain or packed, that have words."""
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    return [line for line in text.decode().split("\n") if line.split()]


# --- n-gram models ---


def estimated(path: Path, order: int = ORDER, threads: int = THREADS) -> tuple[Any, list[str]]:
    """A model of the lines of a file, from text to probabilities, and the words by their numbers."""
    from firth.config.schema import Ngram
    from firth.counts.ngram import fit
    from firth.counts.scanning import count_lines, encode_lines
    from firth.text.special import Special

    def read() -> Any:
        with path.open("rb") as file:
            yield from iter(lambda: file.read(1 << 20), b"")

    words = count_lines(read())
    ids, starts = encode_lines(read(), words)
    marks = ["<s>", "</s>", "<unk>"]
    names = [*marks, *(word for word in words.words if word not in marks)]
    index = {name: number for number, name in enumerate(names)}
    numbers = np.array([index[word] for word in words.words], np.uint32)
    ended = np.insert(numbers[ids], starts[1:], index["</s>"])
    special = Special(start=0, end=1, unknown=2)
    model = fit(ended, starts + np.arange(len(starts)), len(names), special, Ngram(order=order), threads=threads)
    return model.model, names


def counted_by_nltk(path: Path, order: int = ORDER) -> Any:
    """The same counts by nltk, which smooths when it is asked."""
    from nltk.lm import KneserNeyInterpolated
    from nltk.lm.preprocessing import padded_everygram_pipeline

    grams, words = padded_everygram_pipeline(order, [line.split() for line in lines_of(path)])
    model = KneserNeyInterpolated(order)
    model.fit(grams, words)
    return model


ESTIMATORS = {"ours": estimated, "nltk": counted_by_nltk}


def peak(which: str, path: Path) -> float:
    """Megabytes that a process of its own takes at most to estimate a model."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import lm; from pathlib import Path\n"
        "lm.ESTIMATORS[sys.argv[2]](Path(sys.argv[3]))\n"
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    words = [sys.executable, "-c", code, str(Path(__file__).parent), which, str(path)]
    return float(subprocess.run(words, check=True, capture_output=True, text=True).stdout) / 1024


def ngram_scoring(asked: Asked, train: Path, test: Path) -> list[dict]:
    """From a text file to the scores of all its words; KenLM is handed line after line, as its users do."""
    import kenlm

    from firth.counts.ngram import document_sums, write_arpa
    from firth.counts.ngram.scoring import score_lines

    model, names = estimated(train)
    write_arpa(model, names, asked.folder / "model.arpa")
    theirs = kenlm.Model(str(asked.folder / "model.arpa"))

    def ours() -> Any:
        with test.open("rb") as file:
            return score_lines(model, names, iter(lambda: file.read(1 << 20), b""), threads=THREADS)

    def whole() -> list[float]:
        with test.open(encoding="utf-8") as file:
            return [theirs.score(line) for line in file if line.split()]

    def each() -> list[list]:
        with test.open(encoding="utf-8") as file:
            return [list(theirs.full_scores(line)) for line in file if line.split()]

    found = ours()
    mine, other = document_sums(found.logprobs, found.starts) / math.log(10), np.array(whole())
    if np.abs(mine - other).max() > 1e-3:  # of sums of float32 over long lines
        raise SystemExit("benchmark: the two do not give the same scores")
    words, tokens = len(found.logprobs) - len(mine), len(found.logprobs)
    fast, slow, slower = timed(ours, whole, each, rounds=asked.rounds)
    chances = [10 ** (-sums.sum() / tokens) for sums in (mine, other)]
    return [
        row("n-gram scoring: kenlm full_scores", words / fast, words / slower, FULL_SCORES, "words/s"),
        row("n-gram scoring: kenlm score", words / fast, words / slow, SCORE, "words/s"),
        row("n-gram perplexity: the same in kenlm", chances[0], chances[1], None, "", faster=False),
    ]


def ngram_estimation(asked: Asked, train: Path, lines: int) -> list[dict]:
    """From a text file to a model; nltk only counts, and is given a part of the text."""
    part = asked.folder / "part.txt"
    with train.open() as source, part.open("w") as file:
        file.writelines(itertools.islice(source, lines))
    words = {path: sum(len(line.split()) for line in lines_of(path)) for path in (train, part)}
    estimated(part)  # compiled
    (whole,) = timed(lambda: estimated(train), rounds=asked.rounds)
    mine, theirs = timed(lambda: estimated(part), lambda: counted_by_nltk(part), rounds=2 if asked.quick else 3)
    size = words[part]
    return [
        row(f"n-gram estimation: {words[train]:,} words", words[train] / whole, None, None, "words/s"),
        row(f"n-gram estimation: nltk, {size:,} words", size / mine, size / theirs, None, "words/s"),
        row(f"n-gram memory: {words[train]:,} words", peak("ours", train), None, None, "MB"),
        row("n-gram memory: nltk, the part", peak("ours", part), peak("nltk", part), None, "MB", faster=False),
    ]


def ngram_quality(asked: Asked) -> list[dict]:
    """Penn Treebank, words as they are, a sentence a document."""
    from firth.counts.ngram.scoring import score_lines

    place = asked.data / "ptb-lm"
    train = unpacked(place / "ptb.train.txt.gz", asked.folder)
    if train is None:
        return []
    model, names = estimated(train)
    found = score_lines(model, names, (place / "ptb.test.txt").read_text())
    perplexity = math.exp(-found.logprobs.mean(dtype=np.float64))
    return [row("n-gram perplexity: PTB test (limit)", perplexity, PTB, 1.0, "", faster=False)]


def unpacked(path: Path, folder: Path, times: int = 1) -> Path | None:
    """The lines of a file, so many times over; nothing if the data folder has none."""
    if not path.exists():
        return None
    found = folder / f"{path.parent.name}-{path.name.removesuffix('.gz')}"
    found.write_text("\n".join(lines_of(path) * times) + "\n")
    return found


def ngram(asked: Asked) -> list[dict]:
    """Scoring, estimation, quality."""
    place = asked.data / "wikitext-2"
    train = unpacked(place / "train.txt.gz", asked.folder)
    test = unpacked(place / "test.txt", asked.folder, times=1 if asked.quick else 4)
    if train is None or test is None:
        raise SystemExit(f"benchmark: no wikitext-2 in {asked.data}; name the data folder with --data")
    rows = ngram_scoring(asked, train, test)
    return rows + ngram_estimation(asked, train, 1500 if asked.quick else 6000) + ngram_quality(asked)


# --- neural models: neural.py has the models ---


def training(asked: Asked) -> list[dict]:
    """Steps of recurrent networks and of a small GPT, in float32 and, where the CPU has it, bf16; memory beside it."""
    from firth.training.devices import has_bf16

    rows = []
    for kind, peer, target in TRAINED:
        for bf16 in (0, 1) if has_bf16() else (0,):
            shape = neural.SHAPES[kind]
            tokens = neural.STEPS * shape.rows * shape.length
            (mine, theirs), memory = neural.compare("training", kind, bf16, asked.rounds)
            name = f"{kind} {shape.depth} x {shape.width}, {'bf16' if bf16 else 'float32'}: {peer}"
            rows.append(row(f"training {name}", tokens / mine, tokens / theirs, target, "tokens/s"))
            rows.append(row(f"memory {name}", *memory, 1.0, "MB", faster=False))
    return rows


def generation(asked: Asked) -> list[dict]:
    """Tokens of a small GPT with its cache, one row and eight, with our weights in each form beside float32."""
    rows = []
    for count, weights in itertools.product((1, 8), ("float32", "half", "int8")):
        (mine, theirs), _ = neural.compare("generation", weights, count, asked.rounds)
        name, tokens = f"generation, {count} at a time, {weights}", count * neural.NEW
        rows.append(row(name, tokens / mine, tokens / theirs, 2.0, "tokens/s"))
    return rows


# --- all of it ---

PARTS: dict[str, Callable[[Asked], list[dict]]] = {"ngram": ngram, "training": training, "generation": generation}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="under three minutes")
    parser.add_argument("--json", action="store_true", help="the last line is the table as JSON")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    options = parser.parse_args()
    if wrong := set(options.parts) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(wrong))}; there are {', '.join(PARTS)}")
    print(f"{'':40} {'ours':>14} {'peer':>14}")
    with tempfile.TemporaryDirectory() as name:
        os.environ.setdefault("FIRTH_CACHE", str(Path(name) / "cache"))
        asked = Asked(options.data, Path(name), options.quick)
        rows = [found for part in options.parts or PARTS for found in PARTS[part](asked)]
    if options.json:
        print(json.dumps({"rows": rows}))


if __name__ == "__main__":
    main()
