"""Where texts and examples are, and how they are cut into tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from firth.config.core import bounded


@dataclass(frozen=True)
class Tokenizer:
    """How text becomes tokens."""

    model: Literal["char", "byte", "word", "bpe", "byte-bpe", "wordpiece", "unigram"] = "byte-bpe"
    size: int = bounded(8000, least=16)  # of the vocabulary, special tokens included
    min_count: int = bounded(1, least=1)  # rarer units are unknown (word, char) or not merged (bpe, wordpiece)
    normal: Literal["none", "nfc", "nfkc"] = "none"  # a Unicode normal form before anything else
    lower: Literal["no", "yes", "turkish"] = "no"  # turkish: I becomes ı, İ becomes i
    # words: punctuation apart, Chinese and Japanese by character; tabs: items that may have blanks in them
    split: Literal["words", "whitespace", "tabs"] = "words"
    sentinels: int = bounded(0, least=0, most=10_000)  # tokens that mark gaps, <extra_id_0> the very last (T5: 100)
    file: str = ""  # a ready tokenizer.json instead of training one


@dataclass(frozen=True)
class NoTokenizer:
    """No tokens: pictures are read, not text."""

    kind: ClassVar[str] = "none"


@dataclass(frozen=True)
class Text:
    """Where the text is and how it is cut into documents and splits."""

    text: tuple[str, ...] = ("python-docs",)  # built-in names, files, folders, or - for standard input
    valid: tuple[str, ...] = ()  # own validation text; otherwise a share of the documents
    test: tuple[str, ...] = ()
    valid_share: float = bounded(0.05, least=0.0, most=0.5)  # of the documents, where there is no own text
    test_share: float = bounded(0.05, least=0.0, most=0.5)  # the same for the test; 0: none
    document: Literal["auto", "file", "paragraph", "line"] = "auto"  # auto: a folder's files, a file's paragraphs
    encoding: str = "utf-8"
    errors: Literal["strict", "replace"] = "strict"  # what to do with bytes that are not text in this encoding
    long_lines: Literal["refuse", "split"] = "refuse"  # lines over 16 MB


@dataclass(frozen=True)
class Examples:
    """Where labelled texts are and how they are split; a set's own parts come before shares."""

    tasks: ClassVar[tuple[str, ...]] = ("classification",)
    text: tuple[str, ...] = ("world-classification",)  # files, sets that `firth data` lists, or - for standard input
    valid: tuple[str, ...] = ()  # own validation examples; otherwise a share
    test: tuple[str, ...] = ()
    valid_share: float = bounded(0.1, least=0.0, most=0.5)
    test_share: float = bounded(0.1, least=0.0, most=0.5)
    format: str = ""  # of files: tsv, csv, jsonl, labels, …; empty: by the name or the content
    columns: tuple[str, ...] = ()  # of tables, where their names do not tell: text=body,label=class
    encoding: str = "utf-8"


@dataclass(frozen=True)
class TaskExamples(Examples):
    """Where examples of a task are, for networks."""

    kind: ClassVar[str] = "examples"
    tasks: tuple[str, ...] = ("classification", "pairs")  # as `firth data` names them: the first that they fit


@dataclass(frozen=True)
class TaskTexts(TaskExamples):
    """Where examples of tasks are that are all solved by writing a text for a text (Raffel et al. 2020)."""

    kind: ClassVar[str] = "text-to-text"
    tasks: tuple[str, ...] = ("translation", "summarisation", "classification", "pairs", "similarity")
    prefixes: tuple[str, ...] = ()  # what stands before the texts of each file or set, so that tasks are told apart
    source: tuple[str, ...] = ()  # files of texts that are read, instead of `text`; what is written for line n of one …
    target: tuple[str, ...] = ()  # … is line n of the file that stands here in the same place
    valid_source: tuple[str, ...] = ()  # the same for validation …
    valid_target: tuple[str, ...] = ()
    test_source: tuple[str, ...] = ()  # … and for the test
    test_target: tuple[str, ...] = ()
    empty: Literal["refuse", "drop"] = "refuse"  # what to do with a pair of which one text is empty
    vocabularies: Literal["shared", "separate"] = "shared"  # one for both sides, or one for each

    def files(self, split: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The files of a split, of texts that are read and of texts that are written."""
        before = "" if split == "train" else f"{split}_"
        return getattr(self, f"{before}source"), getattr(self, f"{before}target")


@dataclass(frozen=True)
class Pictures(Examples):
    """Where labelled pictures are, for networks."""

    kind: ClassVar[str] = "pictures"
    tasks: ClassVar[tuple[str, ...]] = ("images",)
    text: tuple[str, ...] = ("world",)  # folders or files of pictures, or sets that `firth data` lists
