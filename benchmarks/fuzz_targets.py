"""What is fuzzed: for each target good inputs, made by hand or by firth itself, and the function that reads them."""

from __future__ import annotations

import gzip
import io
import json
import lzma
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import fuzz_folders
from benchmarks.fuzz_search import Target
from benchmarks.harness import ROOT, import_file
from firth.errors import FirthError

TEXT = "The red boat left at noon.\n\nIt came back – late, as “boats” do: 3.5 hours!\r\nNaïve café, 東京 and عربي.\n"
WORDS = [f"word{n}" for n in range(9)] + ["boat", "café", "東京", "noon"]


def exhaust(records: Iterable[Any]) -> None:
    """Read all there is."""
    for _ in records:
        pass


def put(folder: Path, name: str, content: bytes) -> Path:
    """The content as a file."""
    path = folder / name
    path.write_bytes(content)
    return path


# --- data -----------------------------------------------------------------------------------------------------------


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


# --- vectors, tokenizers, n-gram models -----------------------------------------------------------------------------


def make_vectors(subwords: bool = False) -> Any:
    """Some word vectors."""
    import numpy as np

    from firth.embeddings.subwords import Subwords
    from firth.embeddings.word_vectors import WordVectors

    rng = np.random.default_rng(1)
    rows = rng.normal(size=(len(WORDS), 4)).astype(np.float32)
    counts = np.arange(len(WORDS), 0, -1)
    if not subwords:
        return WordVectors(WORDS, rows, counts=counts)
    buckets = Subwords(rng.normal(size=(20, 4)).astype(np.float32), 3, 4, rows)
    return WordVectors(WORDS, rows, counts=counts, subwords=buckets)


def vectors(folder: Path) -> Target:
    """Word vectors in every format, plain and compressed, then asked for neighbours."""
    from firth.embeddings.loading import load_vectors

    seeds = {}
    for name in (
        "text.txt",
        "binary.bin",
        "ours.safetensors",
        "glove.txt",
        "glove.gz",
        "fasttext.bin",
        "subwords.safetensors",
    ):
        store = make_vectors("fasttext" in name or "subwords" in name)
        kind = {"glove": "glove", "fasttext": "fasttext", "text": "word2vec-text"}.get(name.partition(".")[0], "")
        store.save(folder / name, kind)
        seeds[name] = (folder / name).read_bytes()
    make_vectors().save(folder / "projector", "projector")
    projector = {path.name: path.read_bytes() for path in (folder / "projector").iterdir()}
    seeds |= {f"projector/{name}": content for name, content in projector.items()}

    def read(folder: Path, name: str, content: bytes) -> None:
        path = put(folder, name, content)
        try:
            found = load_vectors(path.parent if "/" in name else path)
            found.most_similar(found.words[len(found) - 1])
            found.vector("boat")
        finally:
            path.write_bytes(projector.get(path.name, b""))

    return Target(seeds, read, folder)


def tokenizers(folder: Path) -> Target:
    """Tokenizers of every kind and format, then used."""
    from firth.config.schema import Tokenizer as Config
    from firth.tokenizers import formats
    from firth.tokenizers.tokenizer import Tokenizer

    seeds, documents = {}, [TEXT, "red boats leave at noon " * 9]
    for kind in ("char", "byte", "word", "bpe", "byte-bpe", "wordpiece", "unigram"):
        config = replace(Config(), model=kind, vocabulary_size=300, min_count=1)
        tokenizer = Tokenizer.train(config, documents)
        seeds[f"{kind}/tokenizer.json"] = tokenizer.to_json().encode()
        to = {"byte-bpe": "gpt2", "wordpiece": "bert", "unigram": "sentencepiece", "bpe": "sentencepiece"}.get(kind)
        for name, content in formats.convert(tokenizer, to).contents.items() if to else ():
            seeds[f"{kind} {to}/{name or 'a.model'}"] = content
    regex = json.loads(seeds["bpe/tokenizer.json"])
    regex["pre_tokenizer"] = {"type": "Split", "pattern": {"Regex": r"\w+|\s"}, "behavior": "Isolated", "invert": False}
    seeds["regex/tokenizer.json"] = json.dumps(regex).encode()
    seeds["sentencepiece tokenizer/tokenizer.json"] = _import_sentencepiece(seeds["unigram sentencepiece/a.model"])
    for name, content in seeds.items():
        (folder / name).parent.mkdir(exist_ok=True)
        put(folder, name, content)

    def read(folder: Path, name: str, content: bytes) -> None:
        path = put(folder, name, content)
        try:
            tokenizer = formats.read(path if path.name != "tokenizer_config.json" else path.with_name("vocab.txt"))
            ids = tokenizer.encode("The red boat, aaaaaaaaaaaaaaaaaaaaaaaaaaaa! naïve 東京")
            tokenizer.decode(ids)
            tokenizer.encode_with_oov(TEXT)
            tokenizer.with_special_tokens().encode_with_offsets("a boat")
        finally:
            path.write_bytes(seeds[name])

    return Target(seeds, read, folder)


def _import_sentencepiece(model: bytes) -> bytes:
    from firth.tokenizers.formats.sentencepiece import read_model

    return read_model(model, "a.model").to_json().encode()


def arpa(folder: Path) -> Target:
    """ARPA files, plain and compressed."""
    from firth.ngram.arpa import read_arpa

    good = (
        b"\\data\\\nngram 1=5\nngram 2=4\nngram 3=2\n\n\\1-grams:\n-1.0\t<unk>\n-99\t<s>\t-0.3\n-0.7\t</s>\n"
        b"-0.5\ta\t-0.2\n-0.9\tboat\t-0.1\n\n"
        b"\\2-grams:\n-0.3\t<s> a\t-0.1\n-0.2\ta boat\t-0.4\n-0.4\tboat </s>\n-0.6\ta a\n\n"
        b"\\3-grams:\n-0.1\t<s> a boat\n-0.2\ta boat </s>\n\n\\end\\\n"
    )

    def read(folder: Path, name: str, content: bytes) -> None:
        read_arpa(put(folder, name, content), ("a", None) if len(content) % 2 else ())

    return Target({"a.arpa": good, "blanks.arpa": good.replace(b"\t", b" "), "a.arpa.gz": gzip.compress(good)}, read)


# --- what users type --------------------------------------------------------------------------------------------------


def recipes(folder: Path) -> Target:
    """Recipes in TOML, resolved."""
    from firth import resolve_config

    seeds = {path.name: path.read_bytes() for path in sorted((ROOT / "recipes").glob("*.toml"))}

    def read(folder: Path, name: str, content: bytes) -> None:
        resolve_config(put(folder, name, content))

    return Target(seeds, read)


def settings(folder: Path) -> Target:
    """`--set` overrides, budgets and columns of every preset."""
    from firth import resolve_config
    from firth.config.core import to_dict
    from firth.presets import PRESETS
    from firth.runs.progress import parse_budget

    def flat(values: dict[str, Any], prefix: str = "") -> Iterable[str]:
        for key, value in values.items():
            if isinstance(value, dict):
                yield from flat(value, f"{prefix}{key}.")
            else:
                text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
                yield f"{prefix}{key}={text.lower() if isinstance(value, bool) else text}"

    seeds = {}
    for name in PRESETS:
        lines = list(flat(to_dict(resolve_config(name).config)))
        seeds[name] = "\n".join(
            [line for line in lines if not line.endswith("=")][:: max(1, len(lines) // 12)]
        ).encode()
    seeds |= {"budget": b"90s\n1.5h\n500 steps\n13 epochs", "columns": b"text=body,label=class\nleft=1"}

    def read(folder: Path, name: str, content: bytes) -> None:
        lines = content.decode("utf-8", "surrogateescape").split("\n")
        if name == "budget":
            for line in lines:
                parse_budget(line)
        elif name == "columns":
            resolve_config("classifier", [f"data.columns={line}" for line in lines])
        else:
            resolve_config(name, lines)

    return Target(seeds, read)


def queries(folder: Path) -> Target:
    """Queries with wildcards to the index of a corpus, and data.columns of a table."""
    from firth.corpus import corpus_index
    from firth.corpus.concordance import concordance
    from firth.corpus.query import require_hits

    documents = [TEXT, "the boat and the boats, aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab " * 3, "a*b literal"]
    index = corpus_index.index_documents(documents)
    folded = index.fold_case()

    def read(folder: Path, name: str, content: bytes) -> None:
        text = content.decode("utf-8", "surrogateescape")
        about = folded if len(content) % 2 else index
        require_hits(about, text)
        str(concordance(about, text, sort=("position", "left", "right")[len(content) % 3]))

    seeds = {
        "word": b"boat",
        "phrase": b"the boat",
        "prefix": b"boat*",
        "middle": b"b*t",
        "any": b"the * and",
        "star": b"a\\*b",
    }
    return Target(seeds, read)


def table_columns(folder: Path) -> Target:
    """Options of formats and columns of tables, as they are typed."""
    from firth.config.schema import TaskExamples
    from firth.datasets import labelled_dataset, readers
    from firth.datasets.tasks import TASKS, get_task

    def typed(roles: Sequence[str]) -> bytes:
        return ",".join(
            f"{role}={name}" for role, name in zip(roles, ("text", "label", "other"), strict=False)
        ).encode()

    path = put(folder, "typed.tsv", b"text\tlabel\tother\nred boat\ta\t1\nblue boat\tb\t2\ngreen\ta\t3\n")
    seeds = {
        "tsv": b"columns=text,label,other\nheader=yes",
        "csv": b"separator=tab\nextra=keep",
        "series": b"separator=tab",
    }
    seeds["jsonl"] = b"extra=keep\nmissing=null"
    seeds |= {f"task {task}": typed(get_task(task).columns) for task in TASKS if get_task(task).columns}

    def read(folder: Path, name: str, content: bytes) -> None:
        lines = content.decode("utf-8", "surrogateescape").split("\n")
        if name.startswith("task "):
            config = TaskExamples(text=(str(path),), tasks=(name[5:],), columns=tuple(lines[0].split(",")))
            labelled_dataset.read(config, seed=1)
        else:
            exhaust(readers.get_format(name, lines).read(path))

    return Target(seeds, read)


TARGETS: dict[str, Callable[[Path], Target]] = {
    "formats": formats,
    "images": images,
    "texts": texts,
    "tables": tables,
    "columns": table_columns,
    "questions": questions,
    "vectors": vectors,
    "tokenizers": tokenizers,
    "arpa": arpa,
    "recipes": recipes,
    "settings": settings,
    "queries": queries,
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
