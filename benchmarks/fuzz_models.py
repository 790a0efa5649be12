"""Files of models that are fuzzed: word vectors, tokenizers, n-gram models."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.fuzz_search import TEXT, Target, put

WORDS = [f"word{n}" for n in range(9)] + ["boat", "café", "東京", "noon"]


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


TARGETS: dict[str, Callable[[Path], Target]] = {"vectors": vectors, "tokenizers": tokenizers, "arpa": arpa}
