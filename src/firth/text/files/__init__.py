"""Tokenizer files of other programs: read by their content, whatever their names; written by format."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from firth.errors import FirthError, unknown
from firth.text.files.lines import Written, json_of
from firth.text.tokenizer import Tokenizer

# format -> the module that reads it, the one that writes it
FORMATS = {
    "sentencepiece": ("sentencepiece", "sentencepiece_writer"),
    "bert": ("bert", "bert"),
    "gpt2": ("gpt2", "gpt2"),
}
_INSIDE = ("tokenizer.json", "*.model", "vocab.json", "merges.txt", "vocab.txt")  # of a folder, the best first
_GIVE = "give a SentencePiece .model, a BERT vocab.txt, GPT-2's vocab.json and merges.txt, or a tokenizer.json"


def read(path: Path | str) -> Tokenizer:
    """Our tokenizer of a file or folder that another program wrote."""
    file = _chosen(Path(path))
    kind = format_of(file)
    if kind == "tokenizer.json":
        return Tokenizer.load(file)
    return _module(FORMATS[kind][0]).read(file)


def convert(tokenizer: Tokenizer, to: str) -> Written:
    """A tokenizer in a format: the content of each file, and what the other program will do otherwise."""
    if to not in FORMATS:
        raise unknown("format", to, FORMATS)
    return _module(FORMATS[to][1]).convert(tokenizer)


def format_of(path: Path) -> str:
    """The format of a file, from its content alone."""
    try:
        with path.open("rb") as file:
            start = file.read(1 << 16)
    except OSError as error:
        raise FirthError(f"cannot read: {error.strerror}", where=path, do=_GIVE) from None
    if not start:
        raise FirthError("the file is empty", where=path, do=_GIVE)
    if start[:1] in (b"\n", b"\x12", b"\x1a"):  # the key of a model's field; no line of a text file is empty
        return "sentencepiece"
    text = start.decode("utf-8-sig", "ignore")
    if b"\0" in start:
        raise FirthError("not a tokenizer file", where=path, do=_GIVE)
    if text.lstrip().startswith("{") and '"' in text[:200]:
        return _json_format(path)
    return "gpt2" if text.startswith("#version") or _all_pairs(text) else "bert"


def _json_format(path: Path) -> str:
    return "tokenizer.json" if isinstance(json_of(path).get("model"), dict) else "gpt2"


def _all_pairs(text: str) -> bool:
    """Whether the lines are pairs of tokens; the last one may be cut."""
    lines = text.split("\n")[:-1]
    return bool(lines) and all(line.count(" ") == 1 for line in lines)


def _chosen(path: Path) -> Path:
    if not path.is_dir():
        return path
    for pattern in _INSIDE:
        found = sorted(path.glob(pattern))
        if len(found) > 1:
            raise FirthError(f"{len(found)} files {pattern}", where=path, do="name the one to import")
        if found:
            return found[0]
    raise FirthError("no tokenizer file in this folder", where=path, do=_GIVE)


def _module(name: str):
    return import_module(f"{__name__}.{name}")
