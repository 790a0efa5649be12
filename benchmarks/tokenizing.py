"""Encoding speed of the whole data path against plain `tokenizers` with the same tokenizer file.

Ours reads the file, cuts it into documents, encodes them and writes the memory-mapped cache. The peer finds the
documents already in a list and leaves their ids in memory, with and without offsets. Both must give the same ids.
"""

from __future__ import annotations

import argparse
import json
import lzma
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import tokenizers

from firth.config import schema
from firth.data.cache import Split, tokenised
from firth.data.corpus import Documents
from firth.data.python_docs import documents as python_docs
from firth.data.sources import open_source
from firth.text.tokenizer import Tokenizer

MODELS = ("byte-bpe", "bpe", "wordpiece", "unigram", "word")
SIZE = 16_000  # of the vocabulary
TARGET = 0.9
TOGETHER = 10_000  # documents the peer gets at once: more takes gigabytes, fewer is no faster


def text(folder: Path, size: int) -> str:
    """So many bytes of English: Wikipedia, else what comes with Python, over and over."""
    path = folder / "wiki-text" / "wiki.txt.xz"
    if path.exists():
        with lzma.open(path) as file:
            found = file.read(size)
    else:
        print("no wiki-text in the data folder: the text is python-docs, repeated")
        once = "\n\n".join(python_docs()).encode()
        found = (once * (size // len(once) + 1))[:size]
    return found.decode(errors="ignore")


def ours(path: Path, unit: str, tokenizer: Tokenizer, folder: Path) -> Split:
    """From the file to the cache, which must not be there yet."""
    source = open_source((str(path),), schema.Text(document=unit), folder)
    return tokenised(folder, "train", Documents(source).key, source, tokenizer, account=False)


def peer(method: str, content: str) -> Callable[[list[str]], list[list[int]]]:
    """Plain tokenizers on documents in memory."""
    encode = getattr(tokenizers.Tokenizer.from_str(content), method)
    return lambda documents: [found.ids for start in range(0, len(documents), TOGETHER)
                              for found in encode(documents[start : start + TOGETHER])]  # fmt: skip


def check(split: Split, found: list[list[int]], end: int) -> None:
    """Speed without the same result is none."""
    wanted = np.fromiter((i for ids in found for i in (*ids, end)), np.int64)
    if not np.array_equal(split.ids, wanted):
        raise SystemExit("benchmark: the two ways do not give the same ids")


def compare(model: str, path: Path, unit: str, rounds: int) -> list[dict]:
    """Rounds by turns, each with a cache and a tokenizer of its own; a row for each of the peer's ways."""
    documents = list(open_source((str(path),), schema.Text(document=unit), path.parent))
    content = Tokenizer.train(schema.Tokenizer(model=model, size=SIZE), documents[: len(documents) // 4]).to_json()
    methods = ["encode_batch_fast", "encode_batch"]
    times: dict[str, list[float]] = {"ours": [], **{method: [] for method in methods}}
    for _ in range(rounds):
        tokenizer = Tokenizer.from_json(content)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            began = time.perf_counter()
            split = ours(path, unit, tokenizer, Path(folder))
            times["ours"].append(time.perf_counter() - began)
            for method in methods:
                encode = peer(method, content)
                began = time.perf_counter()
                found = encode(documents)
                times[method].append(time.perf_counter() - began)
            check(split, found, tokenizer.special.end)
        methods.reverse()  # the second finds the memory that the first had to ask for
    size, mine = path.stat().st_size / 1e6, times.pop("ours")
    return [row(f"{model}, {unit}s: {method}", size, mine, theirs) for method, theirs in times.items()]


def row(name: str, size: float, mine: list[float], theirs: list[float]) -> dict:
    """A line of the table; a ratio over 1 means that ours is faster."""
    ratio = statistics.median(b / a for a, b in zip(mine, theirs, strict=True))
    fast, slow = (size / statistics.median(times) for times in (mine, theirs))
    print(f"{name:42} {fast:8.2f} {slow:8.2f} {ratio:8.3f}  (target {TARGET}) MB/s", flush=True)
    return {"name": name, "ours": fast, "peer": slow, "ratio": ratio, "target": TARGET, "unit": "MB/s"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under three minutes")
    parser.add_argument("--json", action="store_true", help="the last line is the table as JSON")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--model", choices=MODELS, help="only this one")
    options = parser.parse_args()
    size, rounds = (2_000_000, 4) if options.quick else (8_000_000, 6)
    print(f"{'':42} {'ours':>8} {'peer':>8} {'ratio':>8}")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "text.txt")
        path.write_text(text(options.data, size), encoding="utf-8")
        for model in [options.model] if options.model else MODELS:
            for unit in ("paragraph", "line"):
                rows += compare(model, path, unit, rounds)
    if options.json:
        print(json.dumps({"rows": rows}))


if __name__ == "__main__":
    main()
