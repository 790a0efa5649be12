"""How examples are collated into the rows of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar, Literal

from firth.config.core import bounded

Layout = Literal["cls-first", "double-sep", "cls-last", "plain"]  # special tokens around one or two texts


@dataclass(frozen=True, kw_only=True)
class RowLayout:
    """What every kind of batching has."""

    targets: ClassVar[str] = "tokens"  # what is to be predicted
    # the streams that a network reads -> what they hold; of two towers, each is read as `text`
    streams: ClassVar[Mapping[str, str]] = MappingProxyType({"text": "tokens"})
    carries_state: ClassVar[bool] = False  # rows go on where those of the last batch stopped
    pairs = "none"  # without annotation, so that a field of this name keeps its place below
    layout = "cls-first"
    pair_encoding = "cross"
    # length curriculum (Shortformer): row lengths of the earlier stages of a run; the last has `length`. All stages
    # are equally long, and a batch has the same number of tokens in each
    length_curriculum: tuple[int, ...] = field(default=(), metadata={"least": 8})


@dataclass(frozen=True)
class Contiguous(RowLayout):
    """Parallel streams of text; row i continues where row i of the last batch stopped (truncated BPTT)."""

    kind: ClassVar[str] = "contiguous"
    carries_state: ClassVar[bool] = True
    batch_size: int = bounded(20, least=1)  # rows of a batch: parallel streams
    length: int = bounded(35, least=1)  # tokens of a row
    # batches from one that starts with the initial state to the next, so that the model learns to begin texts; 0: only
    # the first batch of an epoch does
    reset_every: int = bounded(0, least=0)


@dataclass(frozen=True)
class Bucketed(RowLayout):
    """One document per row, bucketed by length, under a budget of tokens per batch (padding counted)."""

    kind: ClassVar[str] = "bucketed"
    tokens_per_batch: int = bounded(4096, least=1)  # tokens of a batch at most, padding counted
    length: int = bounded(512, least=2)  # tokens of a row at most; longer documents are cut


@dataclass(frozen=True)
class Packed(RowLayout):
    """Sequence packing: whole documents side by side in rows of one length; the attention mask keeps them apart."""

    kind: ClassVar[str] = "packed"
    batch_size: int = bounded(8, least=1)  # rows of a batch
    length: int = bounded(512, least=2)  # tokens of a row


@dataclass(frozen=True)
class Windows(RowLayout):
    """Independent windows of the text at random offsets; evaluation uses overlapping sliding windows."""

    kind: ClassVar[str] = "windows"
    batch_size: int = bounded(16, least=1)  # rows of a batch
    length: int = bounded(256, least=2)  # tokens of a row
    stride: int = bounded(0, least=0)  # tokens from one evaluation window to the next; 0: half of `length`


@dataclass(frozen=True)
class SegmentPairs(RowLayout):
    """[CLS] segment [SEP], or [CLS] segment A [SEP] segment B [SEP], packed into rows of one length (BERT)."""

    kind: ClassVar[str] = "segment-pairs"
    batch_size: int = bounded(16, least=1)  # rows of a batch
    length: int = bounded(128, least=8)  # tokens of a row
    # next-sentence: segment B continues segment A or, half of the time, comes from another document
    pairs: Literal["none", "next-sentence"] = "none"


@dataclass(frozen=True)
class SentencePairs(RowLayout):
    """One example per row, its one or two texts between special tokens; bucketed by length."""

    kind: ClassVar[str] = "sentence-pairs"
    targets: ClassVar[str] = "labels"
    batch_size: int = bounded(32, least=1)  # rows of a batch
    length: int = bounded(128, least=8)  # tokens of a row at most; of two texts the longer is truncated first
    # cls-first: [CLS] text [SEP] text [SEP] (BERT); double-sep: [CLS] text [SEP] [SEP] text [SEP], all of one segment
    # (RoBERTa); cls-last: [START] text [SEP] text [CLS], for causal models (GPT-1's start, delimiter and extract
    # tokens); plain: no special tokens (GPT-2's in Hugging Face)
    layout: Layout = "cls-first"
    # cross: the two texts of a pair in one sequence (cross-encoder); siamese: a sequence each, read by the same network
    # (bi-encoder; Reimers and Gurevych 2019); both-orders: two sequences, A B and B A (GPT-1)
    pair_encoding: Literal["cross", "siamese", "both-orders"] = "cross"


@dataclass(frozen=True)
class QuestionContext(RowLayout):
    """A question and a window of its context per row; a long context gives several overlapping windows."""

    kind: ClassVar[str] = "question-context"
    targets: ClassVar[str] = "spans"
    batch_size: int = bounded(16, least=1)  # rows of a batch
    length: int = bounded(384, least=16)  # tokens of a row at most
    stride: int = bounded(128, least=1)  # tokens from the start of one window of a long context to that of the next
    question_length: int = bounded(64, least=1)  # tokens of a question at most
    layout: Layout = "cls-first"


@dataclass(frozen=True)
class ChoiceRows(RowLayout):
    """Multiple-choice questions: a sequence for each choice, after the context and with the question."""

    kind: ClassVar[str] = "choices"
    targets: ClassVar[str] = "choices"
    batch_size: int = bounded(16, least=1)  # questions of a batch
    length: int = bounded(128, least=8)  # tokens of a sequence at most; the longer of its two texts is truncated first
    layout: Layout = "cls-first"
    # the text that a question is in, if there is a context: the second, before the choice (BERT), or the first, after
    # the context (GPT-1)
    question_with: Literal["choice", "context"] = "choice"


@dataclass(frozen=True)
class TwoTowers(RowLayout):
    """The two texts of a pair in separate rows, left and right; a line of plain text is paired with itself."""

    kind: ClassVar[str] = "two-towers"
    targets: ClassVar[str] = "pairs"
    batch_size: int = bounded(64, least=2)  # pairs of a batch; all but one are negatives
    length: int = bounded(64, least=8)  # tokens of a row at most
    # cls-first, double-sep: [CLS] text [SEP]; cls-last: [START] text [CLS]; plain: text
    layout: Layout = "cls-first"
    min_score: float = 4.0  # pairs with scores: positive from this score on
    positive_labels: tuple[str, ...] = ()  # pairs with labels: positive with one of these


@dataclass(frozen=True)
class SourceTarget(RowLayout):
    """Source and target texts, bucketed by length, under a budget of tokens per batch."""

    kind: ClassVar[str] = "source-target"
    streams: ClassVar[Mapping[str, str]] = MappingProxyType({"source": "tokens", "target": "tokens"})
    tokens_per_batch: int = bounded(4096, least=1)  # tokens of the longer side at most, padding counted
    length: int = bounded(128, least=2)  # tokens of a text at most; longer ones are truncated


@dataclass(frozen=True)
class DialogueRows(RowLayout):
    """Dialogues, bucketed by length, under a budget of tokens per batch; only the assistant's turns are predicted."""

    kind: ClassVar[str] = "dialogues"
    tokens_per_batch: int = bounded(4096, least=1)  # tokens of a batch at most, padding counted
    # tokens of a row at most; a longer dialogue gives several rows, each with the turns before its first reply
    length: int = bounded(512, least=16)


@dataclass(frozen=True)
class WordRows(RowLayout):
    """Sentences as words, one per row, bucketed by length; predictions are for words."""

    kind: ClassVar[str] = "words"
    streams: ClassVar[Mapping[str, str]] = MappingProxyType({"words": "words"})
    targets: ClassVar[str] = "tags"
    tokens_per_batch: int = bounded(1024, least=1)  # words (or subwords, if there are any) at most, padding counted
    batch_size: int = bounded(0, least=0)  # rows of a batch at most; 0: as many as fit
    length: int = bounded(256, least=8)  # words of a row at most; longer sentences are cut between words


@dataclass(frozen=True)
class SubwordRows(WordRows):
    """Sentences as the subword tokens of their words, one per row, bucketed by length; predictions are for words."""

    kind: ClassVar[str] = "subwords"
    streams: ClassVar[Mapping[str, str]] = MappingProxyType({"text": "tokens"})
    # tokens of a row at most, special tokens included; longer sentences are cut between words
    length: int = bounded(256, least=8)
    # special tokens around a sentence. cls-first, double-sep: [CLS] words [SEP] (BERT); cls-last: [START] words [CLS];
    # plain: none (GPT-2)
    layout: Layout = "cls-first"


@dataclass(frozen=True)
class ImageRows(RowLayout):
    """One labelled image per row."""

    kind: ClassVar[str] = "images"
    targets: ClassVar[str] = "labels"
    streams: ClassVar[Mapping[str, str]] = MappingProxyType({"image": "pixels"})
    length: ClassVar[int] = 0  # the input says how many positions an image has
    batch_size: int = bounded(32, least=1)  # images of a batch


Batching = (
    Contiguous
    | Bucketed
    | Packed
    | Windows
    | SegmentPairs
    | SentencePairs
    | QuestionContext
    | ChoiceRows
    | TwoTowers
    | SourceTarget
    | DialogueRows
    | WordRows
    | SubwordRows
    | ImageRows
)
