"""Tokenizers trained once for all tests of this folder."""

from __future__ import annotations

from functools import cache

import pytest
from tokenizer_samples import CORPUS

from firth.config.schema import Tokenizer as Config
from firth.tokenizers import Tokenizer


@cache
def _trained(config: Config) -> Tokenizer:
    return Tokenizer.train(config, CORPUS)


@pytest.fixture(scope="session")
def trained():
    """A function from configuration to a tokenizer trained on the sample."""
    return _trained
