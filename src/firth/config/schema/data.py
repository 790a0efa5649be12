"""Where texts, labelled examples and images are, and how text becomes tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from firth.config.core import bounded


@dataclass(frozen=True)
class Tokenizer:
    """How text becomes tokens."""

    model: Literal["char", "byte", "word", "bpe", "byte-bpe", "wordpiece", "unigram"] = "byte-bpe"
    vocabulary_size: int = bounded(8000, least=16)  # special tokens included
    min_count: int = bounded(1, least=1)  # rarer units are unknown (word, char) or not merged (bpe, wordpiece)
    unicode_form: Literal["none", "nfc", "nfkc"] = "none"  # Unicode normalisation before anything else
    lowercase: Literal["no", "yes", "turkish"] = "no"  # turkish: I becomes ı, İ becomes i
    # pre-tokenisation. words: punctuation apart, Chinese and Japanese by character; tabs: items that may have spaces
    split: Literal["words", "whitespace", "tabs"] = "words"
    sentinels: int = bounded(0, least=0, most=10_000)  # sentinel tokens, <extra_id_0> the very last (T5: 100)
    file: str = ""  # a ready tokenizer.json instead of training one


@dataclass(frozen=True)
class NoTokenizer:
    """No tokens: the input is images, not text."""

    kind: ClassVar[str] = "none"


@dataclass(frozen=True)
class Text:
    """Where the text is and how it is cut into documents and splits."""

    vocabularies = "shared"
    text: tuple[str, ...] = ("python-docs",)  # built-in names, files, folders, or - for standard input
    valid: tuple[str, ...] = ()  # own validation text; otherwise a fraction of the documents
    test: tuple[str, ...] = ()
    valid_fraction: float = bounded(0.05, least=0.0, most=0.5)  # of the documents, where there is no own text
    test_fraction: float = bounded(0.05, least=0.0, most=0.5)  # the same for the test split; 0: none
    document: Literal["auto", "file", "paragraph", "line"] = "auto"  # auto: a folder's files, a file's paragraphs
    encoding: str = "utf-8"
    encoding_errors: Literal["strict", "replace"] = "strict"  # what to do with bytes that are not in this encoding
    long_lines: Literal["refuse", "split"] = "refuse"  # lines over 16 MB


@dataclass(frozen=True)
class LabelledExamples:
    """Where labelled texts are and how they are split; a set's own splits come before fractions."""

    tasks: ClassVar[tuple[str, ...]] = ("classification",)
    vocabularies = "shared"
    text: tuple[str, ...] = ("world-classification",)  # files, sets that `firth data` lists, or - for standard input
    valid: tuple[str, ...] = ()  # own validation examples; otherwise a fraction
    test: tuple[str, ...] = ()
    valid_fraction: float = bounded(0.1, least=0.0, most=0.5)
    test_fraction: float = bounded(0.1, least=0.0, most=0.5)
    format: str = ""  # of files: tsv, csv, jsonl, labels, …; empty: by the name or the content
    columns: tuple[str, ...] = ()  # of tables, where their names do not say it: text=body,label=class
    encoding: str = "utf-8"


@dataclass(frozen=True)
class TaskExamples(LabelledExamples):
    """Where examples of a task are, for neural systems."""

    kind: ClassVar[str] = "examples"
    # as `firth data` names them: the first that the examples fit
    tasks: tuple[str, ...] = ("classification", "pairs")  # type: ignore[misc] # a field here, a constant above


@dataclass(frozen=True)
class TextToText(TaskExamples):
    """Where examples of tasks are that all become text to text, source and target (Raffel et al. 2020)."""

    kind: ClassVar[str] = "text-to-text"
    tasks: tuple[str, ...] = (  # type: ignore[misc] # a field here too
        "translation",
        "summarisation",
        "classification",
        "pairs",
        "similarity",
    )
    prefixes: tuple[str, ...] = ()  # task prefixes, put before the source texts of each file or set
    source: tuple[str, ...] = ()  # files of source texts, instead of `text`; line n of one belongs to …
    target: tuple[str, ...] = ()  # … line n of the file at the same place here
    valid_source: tuple[str, ...] = ()  # the same for validation …
    valid_target: tuple[str, ...] = ()
    test_source: tuple[str, ...] = ()  # … and for the test
    test_target: tuple[str, ...] = ()
    empty_pairs: Literal["refuse", "drop"] = "refuse"  # what to do with a pair of which one text is empty
    vocabularies: Literal["shared", "separate"] = "shared"  # one for source and target, or one for each

    def files(self, split: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The files of a split: of source texts and of target texts."""
        before = "" if split == "train" else f"{split}_"
        return getattr(self, f"{before}source"), getattr(self, f"{before}target")


@dataclass(frozen=True)
class LabelledImages(LabelledExamples):
    """Where labelled images are, for neural systems."""

    kind: ClassVar[str] = "images"
    tasks: ClassVar[tuple[str, ...]] = ("images",)
    text: tuple[str, ...] = ("world",)  # folders or files of images, or sets that `firth data` lists
