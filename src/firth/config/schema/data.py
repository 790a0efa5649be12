"""Where texts, labelled examples and images are, and how text becomes tokens."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from firth.config.core import bounded


@dataclass(frozen=True)
class Tokenizer:
    """The tokenizer: its vocabulary, normalisation and pre-tokenisation."""

    # kind of tokenizer
    model: Literal["char", "byte", "word", "bpe", "byte-bpe", "wordpiece", "unigram"] = "byte-bpe"
    vocabulary_size: int = bounded(8000, least=16)  # number of tokens, special tokens included
    # rarer words or characters are unknown (word, char), rarer subwords are not made (bpe, wordpiece)
    min_count: int = bounded(1, least=1)
    unicode_form: Literal["none", "nfc", "nfkc"] = "none"  # Unicode normalisation, before anything else
    lowercase: Literal["no", "yes", "turkish"] = "no"  # turkish: I becomes ı, İ becomes i
    # pre-tokenisation. words: punctuation apart, Chinese and Japanese by character; tabs: items that may contain spaces
    split: Literal["words", "whitespace", "tabs"] = "words"
    sentinels: int = bounded(0, least=0, most=10_000)  # number of sentinel tokens, `<extra_id_0>` last (T5: 100)
    file: str = ""  # a `tokenizer.json` to use instead of training one


@dataclass(frozen=True)
class NoTokenizer:
    """No tokenizer: the input is images."""

    kind: ClassVar[str] = "none"


@dataclass(frozen=True)
class Text:
    """Plain text: where it is, and how it is cut into documents and splits."""

    vocabularies = "shared"
    text: tuple[str, ...] = ("python-docs",)  # built-in names, files, folders, or - for standard input
    valid: tuple[str, ...] = ()  # files of validation text; without them, a fraction of the text
    test: tuple[str, ...] = ()  # files of test text; without them, a fraction of the text
    valid_fraction: float = bounded(0.05, least=0.0, most=0.5)  # fraction of the text for validation
    test_fraction: float = bounded(0.05, least=0.0, most=0.5)  # fraction of the text for the test; 0: no test
    split_by: Literal["bytes", "documents"] = "bytes"  # what the fractions are of; bytes: large documents are cut
    # most bytes of validation and of test text if they are fractions of bytes; 0: no limit
    max_heldout: int = bounded(2_000_000, least=0)
    group_duplicates: bool = True  # documents with the same text are in one split
    # what a document is; auto: each file of a folder, each paragraph of a file
    document: Literal["auto", "file", "paragraph", "line"] = "auto"
    encoding: str = "utf-8"  # character encoding of the files
    encoding_errors: Literal["strict", "replace"] = "strict"  # what to do with bytes that are not valid in it
    long_lines: Literal["refuse", "split"] = "refuse"  # what to do with lines over 16 MB


@dataclass(frozen=True)
class LabelledExamples:
    """Labelled texts: where they are, and how they are split; a data set's own splits come before fractions."""

    tasks: ClassVar[tuple[str, ...]] = ("classification",)
    vocabularies = "shared"
    text: tuple[str, ...] = ("world-classification",)  # files, sets that `firth data` lists, or - for standard input
    valid: tuple[str, ...] = ()  # files or sets of validation examples; without them, a fraction
    test: tuple[str, ...] = ()  # files or sets of test examples; without them, a fraction
    valid_fraction: float = bounded(0.1, least=0.0, most=0.5)  # fraction of the examples for validation
    test_fraction: float = bounded(0.1, least=0.0, most=0.5)  # fraction of the examples for the test
    group_duplicates: bool = True  # examples with the same texts are in one split, whatever their labels
    # fraction of the training examples that is trained on, rare labels too; a smaller one is a part of a larger one
    train_fraction: float = bounded(1.0, above=0.0, most=1.0)
    train_subset: int = bounded(0, least=0)  # which of the fractions of this size: a number
    # calibration of a network's probabilities. temperature: every second validation example becomes a split of its own,
    # on which one temperature is fitted (Guo et al. 2017); what is most probable stays so
    calibration: Literal["none", "temperature"] = "none"
    format: str = ""  # format of the files: tsv, csv, jsonl, labels, …; empty: by name or content
    columns: tuple[str, ...] = ()  # columns of a table that have other names: text=body,label=class
    encoding: str = "utf-8"  # character encoding of the files


@dataclass(frozen=True)
class TaskExamples(LabelledExamples):
    """Labelled examples of a task, for neural models."""

    kind: ClassVar[str] = "examples"
    # tasks, as `firth data` lists them; the first that the examples fit counts
    tasks: tuple[str, ...] = ("classification", "pairs")  # type: ignore[misc] # a field here, a constant above


@dataclass(frozen=True)
class TextToText(TaskExamples):
    """Source and target texts; examples of several tasks become such pairs (Raffel et al. 2020)."""

    kind: ClassVar[str] = "text-to-text"
    # tasks whose examples are accepted
    tasks: tuple[str, ...] = (  # type: ignore[misc] # a field here too
        "translation",
        "summarisation",
        "classification",
        "pairs",
        "similarity",
        "question-answering",
    )
    prefixes: tuple[str, ...] = ()  # task prefixes, put before the source texts of each file or set
    source: tuple[str, ...] = ()  # files of source texts, instead of `text`
    target: tuple[str, ...] = ()  # files of target texts, in the same order; line n belongs to line n of the source
    valid_source: tuple[str, ...] = ()  # source texts of the validation split
    valid_target: tuple[str, ...] = ()  # target texts of the validation split
    test_source: tuple[str, ...] = ()  # source texts of the test split
    test_target: tuple[str, ...] = ()  # target texts of the test split
    # question answering. with: the source is the question and its context (open book); without: the question alone
    # (closed book; Roberts et al. 2020)
    context: Literal["with", "without"] = "with"
    empty_pairs: Literal["refuse", "drop"] = "refuse"  # what to do with a pair of which one text is empty
    vocabularies: Literal["shared", "separate"] = "shared"  # one vocabulary for source and target, or one for each

    def files(self, split: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The files of a split: of source texts and of target texts."""
        before = "" if split == "train" else f"{split}_"
        return getattr(self, f"{before}source"), getattr(self, f"{before}target")


@dataclass(frozen=True)
class Questions(LabelledExamples):
    """Questions about contexts, whose answers are spans of them."""

    kind: ClassVar[str] = "questions"
    tasks: ClassVar[tuple[str, ...]] = ("question-answering",)
    text: tuple[str, ...] = ("world",)  # files of SQuAD's format, or sets that `firth data` lists


@dataclass(frozen=True)
class ChoiceQuestions(LabelledExamples):
    """Multiple-choice questions, with a context or without."""

    kind: ClassVar[str] = "choices"
    tasks: ClassVar[tuple[str, ...]] = ("multiple-choice",)
    text: tuple[str, ...] = ("world",)  # files of choices, or sets that `firth data` lists


@dataclass(frozen=True)
class ChatTemplate:
    """How a dialogue becomes text: each turn is the marker of its role, its text and [END]."""

    system: str = "System:"  # the marker of a system turn
    user: str = "User:"  # the marker of a user turn
    assistant: str = "Assistant:"  # the marker of an assistant turn: a reply
    system_prompt: str = ""  # the system turn of dialogues without one; empty: none


@dataclass(frozen=True)
class Dialogues(LabelledExamples):
    """Dialogues: turns with roles, of which the assistant's are to be learned; an instruction with its reply is one."""

    kind: ClassVar[str] = "dialogues"
    tasks: ClassVar[tuple[str, ...]] = ("dialogue",)
    text: tuple[str, ...] = ("world",)  # files of messages or of instructions, or sets that `firth data` lists
    template: ChatTemplate = field(default_factory=ChatTemplate)  # stored with the run, which chats by it


@dataclass(frozen=True)
class LabelledImages(LabelledExamples):
    """Labelled images."""

    kind: ClassVar[str] = "images"
    tasks: ClassVar[tuple[str, ...]] = ("images",)
    text: tuple[str, ...] = ("world",)  # folders or files of images, or sets that `firth data` lists


@dataclass(frozen=True)
class TaggedWords(LabelledExamples):
    """Sentences whose words have tags: parts of speech, chunks, named entities."""

    kind: ClassVar[str] = "words"
    # tagging (parts of speech), chunking or ner: which layer of tags is predicted if none is named
    tasks: tuple[str, ...] = ("tagging",)  # type: ignore[misc] # a field here, a constant above
    text: tuple[str, ...] = ("world",)  # files in columns or CoNLL-U, sets that `firth data` lists, or world
    columns: tuple[str, ...] = ()  # numbers of a file's columns: word=1,pos=2,entity=4; empty: the usual order
    layers: tuple[str, ...] = ()  # layers of tags to predict: upos, xpos, feats, entity, …; empty: that of the task
    # the tagging scheme of spans to train with; the spans themselves stay the same. keep: that of the files
    scheme: Literal["keep", "iob2", "bioes"] = "keep"
    # what to do with training tags that break their scheme, such as I-PER after O. mend: spans as conlleval reads them
    broken_tags: Literal["mend", "refuse"] = "mend"
