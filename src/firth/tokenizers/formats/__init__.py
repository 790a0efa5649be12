"""Tokenizer formats of other programs (SentencePiece, BERT, GPT-2): detected by content and read; written by name."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from firth.arguments import read_file
from firth.errors import FirthError, unknown
from firth.tokenizers.formats.vocabulary_lines import ExportedFiles, read_json
from firth.tokenizers.tokenizer import Tokenizer

# format -> the module that reads it, the module that writes it
FORMATS = {
    "sentencepiece": ("sentencepiece", "sentencepiece_export"),
    "bert": ("bert", "bert"),
    "gpt2": ("gpt2", "gpt2"),
}
_FILE_NAMES = ("tokenizer.json", "*.model", "vocab.json", "merges.txt", "vocab.txt")  # in a folder, the preferred first
_GIVE = "give a SentencePiece .model, a BERT vocab.txt, GPT-2's vocab.json and merges.txt, or a tokenizer.json"


def read(path: Path | str) -> Tokenizer:
    """Read the tokenizer of a file or folder that another program wrote."""
    file = _find_file(Path(path))
    kind = detect_format(file)
    if kind == "tokenizer.json":
        return Tokenizer.load(file)
    return _module(FORMATS[kind][0]).read(file)


def convert(tokenizer: Tokenizer, to: str) -> ExportedFiles:
    """A tokenizer in another format: the content of each file, and warnings where the other program differs."""
    if to not in FORMATS:
        raise unknown("format", to, FORMATS)
    return _module(FORMATS[to][1]).convert(tokenizer)


def detect_format(path: Path) -> str:
    """The format of a file, from its content alone."""
    start = read_file(path, _GIVE)[: 1 << 16]
    if not start:
        raise FirthError("the file is empty", where=path, do=_GIVE)
    if start[:1] in (
        b"\n",
        b"\x12",
        b"\x1a",
    ):  # a protobuf key; no text format starts so
        return "sentencepiece"
    text = start.decode("utf-8-sig", "ignore")
    if b"\0" in start:
        raise FirthError("not a tokenizer file", where=path, do=_GIVE)
    if text.lstrip().startswith("{") and '"' in text[:200]:
        return _json_format(path)
    return "gpt2" if text.startswith("#version") or _all_pairs(text) else "bert"


def _json_format(path: Path) -> str:
    return "tokenizer.json" if isinstance(read_json(path).get("model"), dict) else "gpt2"


def _all_pairs(text: str) -> bool:
    """Whether the lines are pairs of tokens, as in merges.txt; the last line may be cut."""
    lines = text.split("\n")[:-1]
    return bool(lines) and all(line.count(" ") == 1 for line in lines)


def _find_file(path: Path) -> Path:
    if not path.is_dir():
        return path
    for pattern in _FILE_NAMES:
        files = sorted(path.glob(pattern))
        if len(files) > 1:
            raise FirthError(f"{len(files)} files {pattern}", where=path, do="name the one to import")
        if files:
            return files[0]
    raise FirthError("no tokenizer file in this folder", where=path, do=_GIVE)


def _module(name: str):
    return import_module(f"{__name__}.{name}")
