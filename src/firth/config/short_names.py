"""Short names of common settings: flags of the command line (`--batch-size`) and arguments of `firth.train`
(`batch_size=`).

Where families name a setting differently, the first name that a configuration has is used; names joined by + are set
together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class ShortName:
    """A setting's line in the help, its full names, what the help calls its value if not by its type, its name as an
    argument of Python if that is not the flag's, and the group of settings that it is in, if that must be chosen."""

    help: str
    names: tuple[str, ...]
    metavar: str = ""
    argument: str = ""
    group: str = ""  # such as train.adapter=lora


def _short(help_text: str, *names: str, metavar: str = "") -> ShortName:
    return ShortName(help_text, names, metavar)


def _stack(help_text: str, field: str, *others: str) -> ShortName:
    """A field of the backbone; of an encoder-decoder, of both sides."""
    both = f"backbone.encoder.{field}+backbone.decoder.{field}"
    return ShortName(help_text, (f"backbone.{field}", *others, both))


# title of a section of the help -> short names
SECTIONS: Mapping[str, Mapping[str, ShortName]] = {
    "Data": {
        "text": _short("Training text: files, folders, built-in names, or - for standard input.", "data.text"),
        "valid": _short("Validation text; without it, a fraction of the documents.", "data.valid"),
        "test": _short("Test text; without it, a fraction of the documents.", "data.test"),
        "source": _short("Source texts, one a line (sequence to sequence).", "data.source"),
        "target": _short("Target texts: line n belongs to line n of --source.", "data.target"),
        "valid-source": _short("Source texts of the validation split.", "data.valid_source"),
        "valid-target": _short("Target texts of the validation split.", "data.valid_target"),
        "test-source": _short("Source texts of the test split.", "data.test_source"),
        "test-target": _short("Target texts of the test split.", "data.test_target"),
        "document": _short(
            "What a document is; auto: each file of a folder, each paragraph of a file.", "data.document"
        ),
        "encoding": _short("Character encoding of the text.", "data.encoding", metavar="NAME"),
        "encoding-errors": _short("What to do with undecodable bytes.", "data.encoding_errors"),
    },
    "Tokenizer": {
        "tokenizer": _short("Kind of tokenizer.", "tokenizer.model"),
        "vocab-size": _short("Vocabulary size, special tokens included.", "tokenizer.vocabulary_size"),
        "lowercase": _short(
            "Lowercase the text; turkish: I becomes ı, and İ becomes i.",
            "inputs.words.vectors.lowercase",
            "tokenizer.lowercase",
        ),
        "min-count": _short(
            "Words or characters that are rarer are out of vocabulary.",
            "inputs.words.vectors.min_count",
            "tokenizer.min_count",
        ),
    },
    "Model": {
        "width": _stack("Hidden size; of word vectors, their dimension.", "width", "method.width"),
        "depth": _stack("Number of layers.", "depth"),
        "dropout": _stack("Dropout after each layer.", "dropout"),
        "order": _short("Order of an n-gram model.", "method.order"),
        "smoothing": _short("Smoothing of counts (n-gram models, word alignment).", "method.smoothing"),
        "window": _short("Context words on each side (word vectors).", "method.window"),
        "negatives": _short("Negative samples for each context word (negative sampling).", "method.negatives"),
        "phrases": _short("Passes that join frequent word pairs into phrases; 0: none.", "phrases.passes"),
        "word-ngrams": _short(
            "Longest word n-gram of fastText classifiers and linear models.",
            "method.word_ngrams",
            "features.word_ngrams",
        ),
        "label-smoothing": _short(
            "Label smoothing: probability given to all other tokens.", "objective.label_smoothing"
        ),
        "noise": _short("Denoising corruptions (BART, T5), in this order.", "objective.noise"),
        "init-from": _short("A pre-trained run to fine-tune: its tokenizer and weights.", "init_from", metavar="RUN"),
        "lora": ShortName(
            "LoRA: train adapters of this rank instead of the pre-trained network.",
            ("train.adapter.rank",),
            metavar="RANK",
            group="train.adapter=lora",
        ),
        "teacher": _short("The masked language model to distil: a run folder.", "objective.teacher", metavar="RUN"),
        "pretrained-vectors": _short(
            "Word vectors that initialise the embeddings: a file or a run.",
            "inputs.words.pretrained_vectors",
            "inputs.text.pretrained_vectors",
            metavar="FILE|RUN",
        ),
    },
    "Training": {
        "budget": _short(
            'How long to train: 90s, 2m, 1.5h, "500 steps" or "13 epochs".', "train.budget", metavar="TIME"
        ),
        "epochs": _short("Passes over the data (word vectors, fastText, alignment).", "train.epochs"),
        "batch-size": _short("Rows of a batch.", "batching.batch_size"),
        "max-length": _short("Tokens of a row; of labelled texts, at most.", "batching.length"),
        "lr": ShortName(
            "Peak learning rate.",
            ("train.optimizer.learning_rate", "method.learning_rate"),
            argument="learning_rate",
        ),
        "layer-decay": _short(
            "Layer-wise learning-rate decay: each layer's, as a fraction of that of the layer above it.",
            "train.optimizer.layer_decay",
        ),
        "freeze": _short(
            "Parts that are not trained: inputs, backbone, head. inputs,backbone: linear probing.",
            "train.frozen",
            metavar="PARTS",
        ),
        "patience": _short("Early stopping: evaluations in a row without improvement; 0: never.", "train.patience"),
        "precision": _short("bf16: mixed precision.", "train.precision"),
        "threads": _short("Number of threads; 0: all cores.", "train.threads", "method.threads"),
        "deterministic": _short(
            "Update word vectors in one thread: the same seed gives the same bytes.", "train.deterministic"
        ),
        "seed": _short("Random seed: splits, initialisation, order, dropout.", "seed"),
    },
}
# What other programs call a setting -> its short name here.
SYNONYMS: Mapping[str, str] = {
    "learning-rate": "lr",
    "eta": "lr",
    "alpha": "lr",
    "bs": "batch-size",
    "batch": "batch-size",
    "per-device-train-batch-size": "batch-size",
    "train-batch-size": "batch-size",
    "rows": "batch-size",
    "hidden-size": "width",
    "hidden-dim": "width",
    "d-model": "width",
    "n-embd": "width",
    "embedding-dim": "width",
    "vector-size": "width",
    "dim": "width",
    "size": "width",
    "layers": "depth",
    "n-layer": "depth",
    "num-layers": "depth",
    "num-hidden-layers": "depth",
    "vocab": "vocab-size",
    "vocabulary": "vocab-size",
    "vocabulary-size": "vocab-size",
    "lower": "lowercase",
    "do-lower-case": "lowercase",
    "seq-len": "max-length",
    "sequence-length": "max-length",
    "block-size": "max-length",
    "context-length": "max-length",
    "max-seq-length": "max-length",
    "ws": "window",
    "neg": "negatives",
    "negative": "negatives",
    "ngram": "order",
    "n": "order",
    "steps": "budget",
    "max-steps": "budget",
    "time": "budget",
    "epoch": "epochs",
    "iter": "epochs",
    "num-epochs": "epochs",
    "num-train-epochs": "epochs",
    "workers": "threads",
    "num-threads": "threads",
    "thread": "threads",
    "cores": "threads",
    "early-stopping": "patience",
    "dtype": "precision",
    "bf16": "precision",
    "fp16": "precision",
    "train": "text",
    "input": "text",
    "train-file": "text",
    "corpus": "text",
    "data": "text",
    "validation": "valid",
    "dev": "valid",
    "validation-file": "valid",
    "src": "source",
    "tgt": "target",
    "pretrained": "init-from",
    "checkpoint": "init-from",
    "model-name-or-path": "init-from",
    "random-seed": "seed",
    "peak-lr": "lr",
    "learning-rate-init": "lr",
    "embedding-size": "width",
    "emb-dim": "width",
    "n-hidden": "width",
    "hidden": "width",
    "model-dim": "width",
    "num-hidden": "width",
    "nhid": "width",
    "emsize": "width",
    "hidden-units": "width",
    "n-layers": "depth",
    "nlayers": "depth",
    "batchsize": "batch-size",
    "minibatch": "batch-size",
    "max-seq-len": "max-length",
    "seq-length": "max-length",
    "context-size": "max-length",
    "bptt": "max-length",
    "max-tokens": "max-length",
    "n-ctx": "max-length",
    "context-window": "window",
    "window-size": "window",
    "num-negatives": "negatives",
    "n-gram": "order",
    "ngram-order": "order",
    "max-time": "budget",
    "duration": "budget",
    "train-steps": "budget",
    "n-epochs": "epochs",
    "max-epochs": "epochs",
    "iterations": "budget",
    "n-jobs": "threads",
    "num-workers": "threads",
    "jobs": "threads",
    "amp": "precision",
    "mixed-precision": "precision",
    "train-data": "text",
    "training-data": "text",
    "file": "text",
    "valid-file": "valid",
    "val": "valid",
    "eval-data": "valid",
    "test-file": "test",
    "source-file": "source",
    "target-file": "target",
    "from-pretrained": "init-from",
    "init": "init-from",
    "load": "init-from",
    "from": "init-from",
    "random-state": "seed",
    "out-dir": "out",
    "save": "out",
    "run-dir": "out",
    "dropout-rate": "dropout",
    "drop": "dropout",
    "p-dropout": "dropout",
    "uncased": "lowercase",
    "min-freq": "min-count",
    "min-frequency": "min-count",
    "tokenizer-type": "tokenizer",
    "tokeniser": "tokenizer",
    "vectors": "pretrained-vectors",
    "embeddings": "pretrained-vectors",
    "word-vectors": "pretrained-vectors",
    "teacher-model": "teacher",
    "label-smoothing-factor": "label-smoothing",
    "early-stopping-patience": "patience",
    "set-seed": "seed",
    "frozen": "freeze",
    "lora-rank": "lora",
    "lora-r": "lora",
    "adapter": "lora",
    "peft": "lora",
    "llrd": "layer-decay",
    "layerwise-lr-decay": "layer-decay",
    "lr-layer-decay": "layer-decay",
    "output": "out",
    "output-dir": "out",
    "save-dir": "out",
}

SHORT_NAMES: Mapping[str, ShortName] = {name: entry for section in SECTIONS.values() for name, entry in section.items()}


def argument(flag: str) -> str:
    """The name in Python of a flag."""
    return (flag in SHORT_NAMES and SHORT_NAMES[flag].argument) or flag.replace("-", "_")


# argument of `firth.train` -> flag
ARGUMENTS: Mapping[str, str] = {argument(flag): flag for flag in SHORT_NAMES}
