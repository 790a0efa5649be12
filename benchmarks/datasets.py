"""Data: readers against other libraries, the built-in world, public sets, concordance, cleaning.

Ours checks what it reads, the peers check nothing. A row with a limit instead of a peer shows it in the peer's column.
"""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks import texts
from benchmarks.datasets_corpus import concordance, filters, languages, near_duplicates
from benchmarks.harness import Options, Part, Row, Settings, interleave, is_installed, make_row, note, speed_row

if TYPE_CHECKING:
    from firth.datasets.sets import Dataset

CONLLU_TARGET = 3.0  # times the speed of `conllu`
SENTENCES = 20_000  # of the world per second, with all annotations
SETTINGS = Settings(1)
LARGE = 5_000_000  # bytes; --quick leaves public sets with larger files out


def drain(records: Iterator[Any]) -> int:
    """How many there are."""
    return sum(1 for _ in records)


# --- readers ---


def conllu(options: Options) -> Iterator[Row]:
    """MB per second of a treebank with all checks; the peer is the package `conllu`."""
    from firth.datasets.readers import FORMATS

    path = texts.decompress(options, "ud-english-ewt/en_ewt-ud-train.conllu.gz")
    if path is None:
        return
    ours = partial(_conllu_forms, path)
    works: dict[str, Callable[[], Any]] = {"ours": lambda: list(FORMATS["conllu"].read(path))}
    if is_installed("conllu"):
        works["conllu"] = partial(_package_forms, path)
        if ours() != works["conllu"]():
            note("CoNLL-U: the two readers do not find the same words")
    measured = interleave(works, SETTINGS, options.choose(2, 7))
    size = path.stat().st_size / 1e6
    yield speed_row("CoNLL-U: conllu", measured["ours"], measured.get("conllu"), size, "MB/s", CONLLU_TARGET)


def _conllu_forms(path: Path) -> list[list[str]]:
    from firth.datasets.readers import FORMATS

    return [[row[1] for row in sentence.rows] for sentence in FORMATS["conllu"].read(path)]


def _package_forms(path: Path) -> list[list[str]]:
    import conllu as package

    with path.open(encoding="utf-8") as file:
        return [[token["form"] for token in sentence] for sentence in package.parse_incr(file)]


# The standard library's way to read a format.


def table_rows(delimiter: str, path: Path) -> int:
    """Rows as lists."""
    with path.open(encoding="utf-8", newline="") as file:
        return drain(csv.reader(file, delimiter=delimiter, quoting=csv.QUOTE_NONE))


def json_lines(path: Path) -> int:
    """An object a line."""
    with path.open(encoding="utf-8") as file:
        return sum(1 for line in file if json.loads(line))


def json_object(path: Path) -> Any:
    """One object."""
    return json.loads(path.read_text(encoding="utf-8"))


def parallel_lines(*paths: Path) -> int:
    """Lines of several files side by side."""
    with ExitStack() as stack:
        return drain(zip(*(stack.enter_context(path.open(encoding="utf-8")) for path in paths), strict=True))


def series(path: Path) -> list[Any]:
    """Times and numbers."""
    import numpy as np

    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        next(rows)
        return [(np.datetime64(row[0]), [float(cell) for cell in row[1:]]) for row in rows]


def image_array(path: Path, _: Path) -> Any:
    """All images at once."""
    import numpy as np

    return np.load(path)["images"].copy()


class Read(NamedTuple):
    """Files to read, and the same by the standard library."""

    files: tuple[str, ...]
    peer: Callable[..., Any] | None = None
    changes: dict[str, Any] = {}  # noqa: RUF012 - of the format's options


READS = {
    "tsv": Read(("sst2/train.tsv",), partial(table_rows, "\t"), {"header": "no"}),
    "jsonl": Read(("aeslc-summarisation/dev.jsonl.gz",), json_lines),
    "columns": Read(("conll2003-ner/eng.train.gz",)),
    "trees": Read(("sst-trees/train.txt.gz",)),
    "squad": Read(("squad-like/squad2-dev-half.json.gz",), json_object),
    "parallel": Read(("multi30k/raw/train.en.gz", "multi30k/raw/train.de.gz"), parallel_lines),
    "similarity": Read(("word-similarity/EN-SimVerb-3500.txt",)),
    "analogy": Read(("word-analogy/questions-words.txt",)),
    "cranfield": Read(("cranfield/cran.all.1400.gz",)),
    "judgements": Read(("cranfield/QRelsCorrectedforTRECeval",)),
    "series": Read(("time-series/ETTh1.csv.gz",), series),
    "images": Read(("flickr8k/images32-dev.npz", "flickr8k/captions-dev.tsv.gz"), image_array),
    "idx": Read(("fashion-mnist/t10k-images-idx3-ubyte.gz",)),
    "text": Read(("wikitext-2/train.txt.gz",)),
}


def reading(options: Options) -> Iterator[Row]:
    """MB per second of every other format; the peer is a plain loop over the standard library."""
    from firth.datasets.readers import FORMATS

    for name, (files, peer, changes) in READS.items():
        paths = [texts.decompress(options, file) for file in files]
        if None in paths:
            continue
        present = [path for path in paths if path]
        chosen, given = replace(FORMATS[name], **changes), present if len(present) > 1 else present[0]
        works: dict[str, Callable[[], Any]] = {"ours": lambda chosen=chosen, given=given: drain(chosen.read(given))}
        if peer:
            works["peer"] = partial(peer, *present)
        measured = interleave(works, SETTINGS, options.choose(2, 7))
        size = sum(path.stat().st_size for path in present) / 1e6
        label = f"reading {name}: standard library" if peer else f"reading {name}"
        yield speed_row(label, measured["ours"], measured.get("peer"), size, "MB/s")


# --- the built-in world ---


def world(options: Options) -> Iterator[Row]:
    """Sentences per second with every annotation, and as text alone."""
    from firth.datasets.world import World

    made, count = World(), options.choose(500, 5000)
    sentences = sum(len(story.sentences) for story in made.annotated_documents(count))
    works: dict[str, Callable[[], Any]] = {
        "annotated": lambda: drain(made.annotated_documents(count)),
        "text": lambda: drain(made.documents(count)),
    }
    measured = interleave(works, SETTINGS, options.choose(2, 7))
    speed = sentences / measured["annotated"].seconds
    yield make_row("world, all annotations (target)", speed, SENTENCES, "sentences/s", 1.0)
    yield speed_row("world, text alone", measured["text"], None, sentences, "sentences/s")


# --- public sets: counts as published, and files written back ---


def count_words(record: object) -> int:
    """How many words (or time steps) the published counts would count in a record."""
    from firth.datasets.records import Labelled, Sentence, Series, Tagged

    if isinstance(record, (Tagged, Sentence)):
        return len(record.words)
    if isinstance(record, Series):
        return len(record.values)
    return len(record.text.split()) if isinstance(record, Labelled) else 0


def content(path: Path) -> bytes:
    """The decompressed bytes of a file."""
    from firth.datasets import compression

    return b"".join(compression.blocks(path, str(path), 1 << 20))


def round_trip(dataset: Dataset, split: str, records: list[Any], folder: Path) -> str:
    """Whether written records give the files back: `bytes`, or at least the same `records`; else `differs` or `n/a`."""
    from firth.datasets import numbered_lines
    from firth.datasets.readers.parallel import Parallel

    format_: Any
    format_, paths = dataset.format_of(split), dataset.paths(split)
    if getattr(format_, "windows", ""):  # labels that stand in another file
        format_ = replace(format_, windows="")
        records = list(format_.read(paths[0]))
    if isinstance(format_, Parallel) and len(paths) > 1:
        groups = format_.sides(records)
    elif hasattr(format_, "rows") and len(paths) == 1:
        groups = [format_.rows(records)]
    else:
        return "n/a"
    same = True
    for path, rows in zip(paths, groups, strict=True):
        copy = folder / path.relative_to(dataset.folder).with_name(path.name.removesuffix(".gz").removesuffix(".xz"))
        copy.parent.mkdir(exist_ok=True, parents=True)
        numbered_lines.save_lines(copy, rows, numbered_lines.detect_line_format(path))
        same = same and content(path) == copy.read_bytes()
    if same:
        return "bytes"
    return "records" if len(paths) == 1 and equal_records(records, list(format_.read(copy))) else "differs"


def equal_records(old: list[Any], new: list[Any]) -> bool:
    """Whether records are the same, apart from their line numbers."""
    import numpy as np

    return len(old) == len(new) and all(
        np.array_equal(one, two, equal_nan=getattr(one, "dtype", np.dtype("O")).kind == "f")
        for first, second in zip(old, new, strict=True)
        for key, one, two in zip(first._fields, first, second, strict=True)
        if key != "line"
    )


def sets(options: Options) -> Iterator[Row]:
    """MB per second of every split of every public set there is, its counts, and whether it is written back."""
    from firth.datasets import sets as public

    if not options.data.is_dir():
        return
    counts_same, outcomes = 0, list[str]()
    for dataset in (each for each in public.all_sets(options.data).values() if each.folder and each.is_present()):
        for split in dataset.splits:
            if options.quick and sum(path.stat().st_size for path in dataset.paths(split)) > LARGE:
                continue
            published, began = dataset.split(split), time.perf_counter()
            records = list(dataset.records(split))
            seconds = time.perf_counter() - began
            words = sum(map(count_words, records)) if published.words else None
            same = published.records in (None, len(records)) and published.words in (None, words)
            outcome = round_trip(dataset, split, records, options.folder / "sets")
            if not same or outcome == "differs":
                note(f"{dataset.name} {split}: {'other counts than published' if not same else 'not written back'}")
            counts_same, outcomes = counts_same + same, [*outcomes, outcome]
            size = sum(len(content(path)) for path in dataset.paths(split)) / 1e6
            yield make_row(f"{dataset.name} {split}, {len(records):,} records", size / seconds, None, "MB/s")
    writable = len(outcomes) - outcomes.count("n/a")
    exact = outcomes.count("bytes")
    for name, value, total, target in (
        ("with the published counts", counts_same, len(outcomes), 1.0),
        ("written back", exact + outcomes.count("records"), writable, 1.0),
        ("written back byte for byte", exact, writable, None),
    ):
        yield make_row(f"public sets, splits {name}: all", value, total, "splits", target, quality=True)


PARTS: dict[str, Part] = {
    "conllu": conllu,
    "reading": reading,
    "world": world,
    "sets": sets,
    "concordance": concordance,
    "languages": languages,
    "near-duplicates": near_duplicates,
    "filters": filters,
}
