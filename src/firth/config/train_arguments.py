"""The settings that `firth.train` takes by short name; made by `tools/train_arguments.py`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypedDict


class TrainArguments(TypedDict, total=False):
    """The settings of `firth.train` by short name; the table is in `firth.config.short_names`."""

    # Data
    valid: str | Sequence[str] | Path
    """Validation text; without it, a fraction of the documents."""
    test: str | Sequence[str] | Path
    """Test text; without it, a fraction of the documents."""
    source: str | Sequence[str] | Path
    """Source texts, one a line (sequence to sequence)."""
    target: str | Sequence[str] | Path
    """Target texts: line n belongs to line n of --source."""
    valid_source: str | Sequence[str] | Path
    """Source texts of the validation split."""
    valid_target: str | Sequence[str] | Path
    """Target texts of the validation split."""
    test_source: str | Sequence[str] | Path
    """Source texts of the test split."""
    test_target: str | Sequence[str] | Path
    """Target texts of the test split."""
    document: Literal["auto", "file", "paragraph", "line"]
    """What a document is; auto: each file of a folder, each paragraph of a file."""
    encoding: str
    """Character encoding of the text."""
    encoding_errors: Literal["strict", "replace"]
    """What to do with undecodable bytes."""
    # Tokenizer
    tokenizer: Literal["char", "byte", "word", "bpe", "byte-bpe", "wordpiece", "unigram"]
    """Kind of tokenizer."""
    vocab_size: int
    """Vocabulary size, special tokens included."""
    lowercase: Literal["no", "yes", "turkish"]
    """Lowercase the text; turkish: I becomes ı, and İ becomes i."""
    min_count: int
    """Words or characters that are rarer are out of vocabulary."""
    # Model
    width: int
    """Hidden size; of word vectors, their dimension."""
    depth: int
    """Number of layers."""
    dropout: float
    """Dropout after each layer."""
    order: int
    """Order of an n-gram model."""
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
    """Smoothing of counts (n-gram models, word alignment)."""
    window: int
    """Context words on each side (word vectors)."""
    negatives: int
    """Negative samples for each context word (negative sampling)."""
    phrases: int
    """Passes that join frequent word pairs into phrases; 0: none."""
    word_ngrams: int
    """Longest word n-gram of fastText classifiers and linear models."""
    label_smoothing: float
    """Label smoothing: probability given to all other tokens."""
    noise: str | Sequence[str]
    """Denoising corruptions (BART, T5), in this order."""
    init_from: str | Path
    """A pre-trained run to fine-tune: its tokenizer and weights."""
    lora: int
    """LoRA: train adapters of this rank instead of the pre-trained network."""
    teacher: str | Path
    """The masked language model to distil: a run folder."""
    pretrained_vectors: str | Path
    """Word vectors that initialise the embeddings: a file or a run."""
    # Training
    budget: str
    """How long to train: 90s, 2m, 1.5h, "500 steps" or "13 epochs"."""
    epochs: int
    """Passes over the data (word vectors, fastText, alignment)."""
    batch_size: int
    """Rows of a batch."""
    max_length: int
    """Tokens of a row; of labelled texts, at most."""
    learning_rate: float
    """Peak learning rate."""
    layer_decay: float
    """Layer-wise learning-rate decay: each layer's, as a fraction of that of the layer above it."""
    freeze: str | Sequence[str]
    """Parts that are not trained: inputs, backbone, head. inputs,backbone: linear probing."""
    patience: int
    """Early stopping: evaluations in a row without improvement; 0: never."""
    precision: Literal["float32", "bf16"]
    """bf16: mixed precision."""
    threads: int
    """Number of threads; 0: all cores."""
    deterministic: bool
    """Update word vectors in one thread: the same seed gives the same bytes."""
    seed: int
    """Random seed: splits, initialisation, order, dropout."""
