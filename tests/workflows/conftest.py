"""n-gram models of the built-in world, which train in a moment."""

from __future__ import annotations

import pytest

import firth


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    """A subword model."""
    out = tmp_path_factory.mktemp("world") / "run"
    return firth.train(
        "ngram-lm", text="world:1500", out=out, settings={"tokenizer.vocabulary_size": 1000, "method.order": 4}
    )


@pytest.fixture(scope="session")
def words(tmp_path_factory):
    """A word-level model, with out-of-vocabulary words."""
    out = tmp_path_factory.mktemp("words") / "run"
    settings = {"tokenizer.model": "word", "tokenizer.min_count": 1, "method.order": 3}
    return firth.train("ngram-lm", text="world:600", out=out, settings=settings)
