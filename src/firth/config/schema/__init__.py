"""What can be configured, as frozen dataclasses: one field per question. No torch, no NumPy."""

# ruff: noqa: F401 - the names are used from here

from __future__ import annotations

from firth.config.schema.aims import (
    Causal,
    ClassHead,
    Contrastive,
    CopyingHead,
    Denoise,
    DetectionHead,
    Distil,
    Hiding,
    LanguageHead,
    Masked,
    Objective,
    Permuted,
    Prefix,
    Replaced,
    Supervised,
    VectorHead,
    Written,
)
from firth.config.schema.batching import (
    Apart,
    Batching,
    Bucketed,
    Contiguous,
    Framed,
    Joined,
    Packed,
    Pairs,
    Pictured,
    Rows,
    Windows,
)
from firth.config.schema.counted import (
    Aligner,
    AlignmentModel,
    Bag,
    BagClassifier,
    Counted,
    GloVe,
    Ngram,
    NgramModel,
    Passes,
    Phrases,
    Vectors,
    WordToVec,
)
from firth.config.schema.networks import (
    LSH,
    Axial,
    EncoderDecoder,
    Local,
    Looking,
    PatchInput,
    Recurrent,
    TokenInput,
    Transformer,
    Window,
)
from firth.config.schema.neural import Neural, Optimizer, Schedule, Train
from firth.config.schema.texts import Examples, NoTokenizer, Pictures, TaskExamples, TaskTexts, Text, Tokenizer

# the union of all families' configurations, told apart by `kind`
System = Neural | Vectors | BagClassifier | NgramModel | AlignmentModel
