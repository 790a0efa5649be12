"""What is fuzzed: for each target good inputs, made by hand or by firth itself, and the function that reads them."""

from __future__ import annotations

import gzip
import io
import lzma
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmarks import fuzz_folders, fuzz_models, fuzz_typed
from benchmarks.fuzz_models import make_vectors
from benchmarks.fuzz_search import TEXT, Target, exhaust, put
from benchmarks.harness import ROOT, import_file
from firth.errors import FirthError


def formats(folder: Path) -> Target:
    """Every format of labelled data; each file is read to its end, then once more with faults reported."""
    cases = import_file(ROOT / "tests" / "datasets" / "readers" / "samples.py").CASES

    def read(folder: Path, name: str, content: bytes) -> None:
        case = cases[name]
        paths = case.lay(folder, content)
        if len(content) % 2:
            exhaust(case.format.read(paths, lambda error: str(error)))
        exhaust(case.format.read(paths))

    return Target({name: case.good for name, case in cases.items()}, read)


def images(folder: Path) -> Target:
    """Image files of class folders: PNG, JPEG, PPM, PGM."""
    from PIL import Image

    from firth.datasets.readers import FORMATS

    seeds = {"a.ppm": b"P6\n2 1\n255\n" + bytes(range(6)), "a.pgm": b"P5 # x\n2 1 255\n" + bytes(2)}
    for name, mode in (
        ("rgb.png", "RGB"),
        ("grey.png", "L"),
        ("palette.png", "P"),
        ("rgb.jpg", "RGB"),
        ("a.png", "RGBA"),
    ):
        content = io.BytesIO()
        Image.new(mode, (9, 5), 3).save(content, "PNG" if name.endswith("png") else "JPEG")
        seeds[name] = content.getvalue()

    def read(folder: Path, name: str, content: bytes) -> None:
        (folder / "classes" / "square").mkdir(parents=True, exist_ok=True)
        path = put(folder / "classes" / "square", name, content)
        try:
            exhaust(FORMATS["class-folders"].read(folder / "classes"))
        finally:
            path.unlink()

    return Target(seeds, read)


def texts(folder: Path) -> Target:
    """Plain text in many encodings, and compressed files, changed inside and outside."""
    from firth.config.schema import Text
    from firth.datasets.sources import open_source

    encodings = [
        "utf-8",
        "utf-8-sig",
        "utf-16",
        "utf-16-be",
        "utf-32",
        "latin-1",
        "cp1252",
        "shift-jis",
        "gb18030",
        "euc-kr",
    ]
    encodings += ["iso2022-jp", "big5", "koi8-r", "hz", "cp037", "mac-roman"]
    seeds = {name: TEXT.encode(name, "replace") for name in encodings}
    seeds |= {f"inside {kind}": TEXT.encode() * 9 for kind in COMPRESS}
    seeds |= {f"outside {kind}": compress(TEXT.encode() * 9) for kind, compress in COMPRESS.items()}
    units = ("auto", "file", "paragraph", "line")

    def read(folder: Path, name: str, content: bytes) -> None:
        how, _, kind = name.partition(" ")
        path = put(folder, "text", COMPRESS[kind](content) if how == "inside" else content)
        config = Text(
            encoding="utf-8" if kind else name,
            document=units[len(content) % 4],
            encoding_errors=("strict", "replace")[len(content) // 4 % 2],
            long_lines=("refuse", "split")[len(content) // 8 % 2],
        )
        source = open_source([str(path)], config, folder / "own")
        source.fingerprint()
        exhaust(source)

    return Target(seeds, read)


def _zstd(content: bytes) -> bytes:
    from backports import zstd

    return zstd.compress(content)


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gz": partial(gzip.compress, mtime=0, compresslevel=1),
    "xz": partial(lzma.compress, preset=0),
    "zst": _zstd,
}


def tables(folder: Path) -> Target:
    """Files of any format for training: the format and the columns are guessed."""
    from firth.config.schema import TaskExamples
    from firth.datasets import checks, labelled_dataset, readers
    from firth.datasets.table_columns import guess_table
    from firth.datasets.tasks import TASKS

    samples = import_file(ROOT / "tests" / "datasets" / "readers" / "samples.py").PLAIN
    rows = [f"{n},{n % 2},The boat number {n} left at noon,{n / 2}" for n in range(9)]
    seeds = {f"{name}.{name}": content for name, content in samples.items() if name not in ("images", "idx")}
    seeds |= {"unknown": samples["tsv"], "header.csv": "\n".join(["no,kind,body,stars", *rows]).encode()}
    seeds |= {"plain.csv": "\n".join(rows).encode(), "semicolon.csv": "\n".join(rows).replace(",", ";").encode()}
    seeds |= {
        "wide.tsv": "\n".join(rows).replace(",", "\t").encode(),
        "split.tsv": b"text\tlabel\tsplit\na b\tx\ttrain\n" * 3,
    }
    tasks = sorted(TASKS)

    def read(folder: Path, name: str, content: bytes) -> None:
        path = put(folder, name, content)
        task = tasks[len(content) % len(tasks)]
        try:
            format_, _ = guess_table(readers.guess(path), path, task)
            checks.check(path, task, format_)
            labelled_dataset.read(TaskExamples(text=(str(path),), tasks=(task,)), seed=1)
        finally:
            path.unlink()

    return Target(seeds, read)


def questions(folder: Path) -> Target:
    """Test sets of word vectors, whose format is detected, and gold alignments."""
    from firth.datasets.gold_alignments import read_links
    from firth.datasets.records import Pair
    from firth.embeddings.evaluation import evaluate_folder

    vectors = make_vectors()
    samples = import_file(ROOT / "tests" / "datasets" / "readers" / "samples.py").PLAIN
    names = ("similarity", "contexts", "analogy", "bats", "categories", "labels")
    seeds = {name: samples[name].replace(b"ship", b"noon") for name in names}
    seeds |= {"choices": b"boat | noon | word1 | word2 | word3\n", "wic": b"boat\tN\t0-1\ta boat\tthe boat\n"}
    seeds["links"] = b"0-0 1-1\n1-0\n"

    def read(folder: Path, name: str, content: bytes) -> None:
        (folder / "sets").mkdir(exist_ok=True)
        path = put(folder / "sets", "questions", content)
        if name == "links":
            read_links(str(path), [Pair("a b", "c d"), Pair("a b", "c")])
        else:
            evaluate_folder(vectors, path.parent)

    return Target(seeds, read)


TARGETS: dict[str, Callable[[Path], Target]] = {
    "formats": formats,
    "images": images,
    "texts": texts,
    "tables": tables,
    "questions": questions,
    **fuzz_models.TARGETS,
    **fuzz_typed.TARGETS,
    **fuzz_folders.TARGETS,
}
_loaded: dict[str, Target] = {}


def load(name: str, folder: Path) -> Target:
    """The target of this name, made once; its files are in a folder of its own."""
    if name not in TARGETS:
        raise SystemExit(f"no target {name!r}; there are {', '.join(TARGETS)}")
    if name not in _loaded:
        own = folder / name
        own.mkdir()
        target = TARGETS[name](own)
        for key, content in target.seeds.items():  # good files are read, and the functions for them compiled
            with suppress(FirthError):
                target.read(own, key, content)
        _loaded[name] = replace(target, read=lambda _, key, content: target.read(own, key, content))
    return _loaded[name]
