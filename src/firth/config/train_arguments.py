"""The settings that `firth.train` takes by short name; made by `tools/train_arguments.py`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypedDict


class TrainArguments(TypedDict, total=False):
    """The settings of `firth.train` by short name; the table is in `firth.config.short_names`."""

    # Data
    valid: str | Sequence[str] | Path
    test: str | Sequence[str] | Path
    source: str | Sequence[str] | Path
    target: str | Sequence[str] | Path
    valid_source: str | Sequence[str] | Path
    valid_target: str | Sequence[str] | Path
    test_source: str | Sequence[str] | Path
    test_target: str | Sequence[str] | Path
    document: Literal["auto", "file", "paragraph", "line"]
    encoding: str
    encoding_errors: Literal["strict", "replace"]
    # Tokenizer
    tokenizer: Literal["char", "byte", "word", "bpe", "byte-bpe", "wordpiece", "unigram"]
    vocab_size: int
    lowercase: Literal["no", "yes", "turkish"]
    min_count: int
    # Model
    width: int
    depth: int
    dropout: float
    order: int
    smoothing: Literal[
        "mle",
        "add-k",
        "katz",
        "stupid-backoff",
        "kneser-ney",
        "modified-kneser-ney",
        "none",
        "additive",
        "variational",
    ]
    window: int
    negatives: int
    phrases: int
    word_ngrams: int
    label_smoothing: float
    noise: str | Sequence[str]
    init_from: str | Path
    teacher: str | Path
    pretrained_vectors: str | Path
    # Training
    budget: str
    epochs: int
    batch_size: int
    max_length: int
    learning_rate: float
    patience: int
    precision: Literal["float32", "bf16"]
    threads: int
    deterministic: bool
    seed: int
