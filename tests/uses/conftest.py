"""Models of the built-in world: counted ones, which learn it in a moment."""

from __future__ import annotations

import pytest

import firth


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    """A model over words and parts of words."""
    out = tmp_path_factory.mktemp("world") / "run"
    return firth.train("ngram-lm", text="world:1500", out=out, settings={"tokenizer.size": 1000, "method.order": 4})


@pytest.fixture(scope="session")
def words(tmp_path_factory):
    """A model over whole words, to which others are unknown."""
    out = tmp_path_factory.mktemp("words") / "run"
    settings = {"tokenizer.model": "word", "tokenizer.min_count": 1, "method.order": 3}
    return firth.train("ngram-lm", text="world:600", out=out, settings=settings)
