"""The data house: CoNLL-U against the `conllu` package, every format in MB/s, the world's sentences, a concordance.

Ours and the peer read the same unpacked file by turns. Where a row has a limit instead of a peer (the concordance), the
peer's column shows the limit, and the ratio is limit / ours. Rows without either have no ratio.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import lzma
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from firth.data.formats import FORMATS
from sides import row, timed

CONLLU = 3.0  # times the peer's speed
SENTENCES = 20_000  # a second, with all layers
FIRST_LINES = 1.0  # seconds to the first lines of a concordance
UNPACK = {".gz": gzip.decompress, ".xz": lzma.decompress}


class Read(NamedTuple):
    """A file (or several) to read, with which format, and how anyone would read it with the standard library."""

    files: tuple[str, ...]
    format: Any
    peer: Callable[..., Any] | None = None


# --- the peers ---


def table(mark: str) -> Callable[[Path], int]:
    """Rows as lists."""

    def read(path: Path) -> int:
        with path.open(encoding="utf-8", newline="") as file:
            return sum(1 for _ in csv.reader(file, delimiter=mark, quoting=csv.QUOTE_NONE))

    return read


def objects(path: Path) -> int:
    with path.open(encoding="utf-8") as file:
        return sum(1 for line in file if json.loads(line))


def one_object(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def side_by_side(*paths: Path) -> int:
    files = [path.open(encoding="utf-8") for path in paths]
    count = sum(1 for _ in zip(*files, strict=True))
    for file in files:
        file.close()
    return count


def numbers(path: Path) -> list:
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        next(rows)
        return [(np.datetime64(row[0]), [float(cell) for cell in row[1:]]) for row in rows]


def array(path: Path, _: Path) -> np.ndarray:
    return np.load(path)["images"].copy()


READS = {
    "tsv": Read(("sst2/train.tsv",), replace(FORMATS["tsv"], header="no"), table("\t")),
    "jsonl": Read(("aeslc-summarisation/dev.jsonl.gz",), FORMATS["jsonl"], objects),
    "columns": Read(("conll2003-ner/eng.train.gz",), FORMATS["columns"]),
    "trees": Read(("sst-trees/train.txt.gz",), FORMATS["trees"]),
    "squad": Read(("squad-like/squad2-dev-half.json.gz",), FORMATS["squad"], one_object),
    "parallel": Read(("multi30k/raw/train.en.gz", "multi30k/raw/train.de.gz"), FORMATS["parallel"], side_by_side),
    "similarity": Read(("word-similarity/EN-SimVerb-3500.txt",), FORMATS["similarity"]),
    "analogy": Read(("word-analogy/questions-words.txt",), FORMATS["analogy"]),
    "cranfield": Read(("cranfield/cran.all.1400.gz",), FORMATS["cranfield"]),
    "judgements": Read(("cranfield/QRelsCorrectedforTRECeval",), FORMATS["judgements"]),
    "series": Read(("time-series/ETTh1.csv.gz",), FORMATS["series"], numbers),
    "images": Read(("flickr8k/images32-dev.npz", "flickr8k/captions-dev.tsv.gz"), FORMATS["images"], array),
    "idx": Read(("fashion-mnist/t10k-images-idx3-ubyte.gz",), FORMATS["idx"]),
    "text": Read(("wikitext-2/train.txt.gz",), FORMATS["text"]),
}

# --- the rows ---


def drain(records: Iterator[Any]) -> int:
    return sum(1 for _ in records)


def unpacked(data: Path, name: str, folder: Path) -> Path | None:
    """The file without its packing, or nothing if the data folder has none."""
    path = data / name
    if not path.exists():
        return None
    found = folder / name.replace("/", "-").removesuffix(".gz").removesuffix(".xz")
    found.write_bytes(UNPACK.get(path.suffix, bytes)(path.read_bytes()))
    return found


def conllu(data: Path, folder: Path, rounds: int) -> list[dict]:
    """Reading and checking a treebank; the peer checks nothing."""
    import conllu as package

    path = unpacked(data, "ud-english-ewt/en_ewt-ud-train.conllu.gz", folder)
    if path is None:
        return []

    def theirs() -> list[list[str]]:
        with path.open(encoding="utf-8") as file:
            return [[token["form"] for token in sentence] for sentence in package.parse_incr(file)]

    mine = [[row[1] for row in sentence.rows] for sentence in FORMATS["conllu"].read(path)]
    if mine != theirs():
        raise SystemExit("benchmark: the two readers do not find the same words")
    fast, slow = timed(lambda: list(FORMATS["conllu"].read(path)), theirs, rounds=rounds)
    size = path.stat().st_size / 1e6
    return [row("CoNLL-U: conllu", size / fast, size / slow, CONLLU, "MB/s")]


def reading(data: Path, folder: Path, rounds: int) -> list[dict]:
    """Every format, unpacked; the peer is a plain loop over the standard library that checks nothing."""
    rows = []
    for name, (files, form, peer) in READS.items():
        paths = [unpacked(data, file, folder) for file in files]
        if None in paths:
            continue
        given = paths if len(paths) > 1 else paths[0]
        works = [lambda form=form, given=given: drain(form.read(given))]
        works += [lambda peer=peer, paths=paths: peer(*paths)] if peer else []
        times = timed(*works, rounds=rounds)
        size = sum(path.stat().st_size for path in paths) / 1e6
        rows.append(row(f"reading {name}", size / times[0], size / times[1] if peer else None, None, "MB/s"))
    return rows


def world(count: int, rounds: int) -> list[dict]:
    """Sentences a second with every layer, and as text alone, of a world that is warm."""
    from firth.data.world import World

    made = World()
    sentences = sum(len(story.sentences) for story in made.annotated(count))
    layers, text = timed(lambda: drain(made.annotated(count)), lambda: drain(made.documents(count)), rounds=rounds)
    return [
        row("world, all layers (target)", sentences / layers, SENTENCES, 1.0, "sentences/s"),
        row("world, text alone", sentences / text, None, None, "sentences/s"),
    ]


def running_text(data: Path, size: int) -> Iterator[bytes]:
    """So many bytes of the longest texts there are, over and over."""
    names = ("wiki-text/wiki.txt.xz", "novels/novels.txt.xz", "tinyshakespeare/input.txt")
    paths = [data / name for name in names if (data / name).exists()]
    while paths:
        for path in paths:
            with lzma.open(path) if path.suffix == ".xz" else path.open("rb") as file:
                while block := file.read(1 << 20):
                    yield block[:size]
                    size -= len(block)
                    if size <= 0:
                        return


def concordance(data: Path, folder: Path, size: int, rounds: int) -> list[dict]:
    """The first lines of a frequent and of a rare word, in order and sorted, once the text is indexed."""
    from firth.counts import concordance, index

    path = folder / "long.txt"
    with path.open("wb") as file:
        for block in running_text(data, size):
            file.write(block)
    if not path.stat().st_size:
        return []
    began = time.perf_counter()
    found = index(str(path))
    megabytes = path.stat().st_size / 1e6
    rows = [row(f"index, {megabytes:.0f} MB", megabytes / (time.perf_counter() - began), None, None, "MB/s")]
    for word, sort in (("house", "position"), ("house", "right"), ("the", "position"), ("the", "right")):
        (seconds,) = timed(lambda word=word, sort=sort: concordance(found, word, sort=sort), rounds=rounds)
        rows.append(row(f"concordance, {word}, by {sort} (limit)", seconds, FIRST_LINES, 1.0, "s", faster=False))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under three minutes")
    parser.add_argument("--json", action="store_true", help="the last line is the table as JSON")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--only", choices=("conllu", "reading", "world", "concordance"))
    options = parser.parse_args()
    rounds, size, stories = (3, 50_000_000, 500) if options.quick else (7, 500_000_000, 5000)
    print(f"{'':34} {'ours':>12} {'peer':>12}")
    with tempfile.TemporaryDirectory() as name:
        folder, data = Path(name), options.data
        os.environ["FIRTH_CACHE"] = str(folder / "cache")
        parts = {
            "conllu": lambda: conllu(data, folder, rounds),
            "reading": lambda: reading(data, folder, rounds),
            "world": lambda: world(stories, rounds),
            "concordance": lambda: concordance(data, folder, size, rounds),
        }
        rows = [found for part, make in parts.items() if options.only in (None, part) for found in make()]
    if options.json:
        print(json.dumps({"rows": rows}))


if __name__ == "__main__":
    main()
