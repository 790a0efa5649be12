"""Benchmarks beside other libraries: `python -m benchmarks [AREA …] [--quick] [--json] [--data FOLDER]`."""

from __future__ import annotations

AREAS = (  # one module each
    "tokenizers",
    "datasets",
    "ngram",
    "embeddings",
    "alignment",
    "lm",
    "transformers",
    "seq2seq",
    "tasks",
    "ladder",
    "startup",
    "memory",
    "attacks",
    "kills",
    "faults",
    "fuzz",
)
