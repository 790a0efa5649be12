"""Perplexity, bits per byte, and the cost of out-of-vocabulary text."""

import math

import pytest

from firth.metrics.perplexity import ByteModel, bits_per_byte, perplexity
from firth.metrics.score import signature


def test_a_uniform_model_over_four_tokens_has_perplexity_four():
    assert perplexity(100 * math.log(4), 100) == pytest.approx(4.0)


def test_a_uniform_model_over_bytes_needs_eight_bits_each():
    assert bits_per_byte(50 * math.log(256), 50) == pytest.approx(8.0)


def test_the_byte_model_is_a_distribution():
    """Over all strings up to an end mark: the probabilities of all bytes sum to one."""
    model = ByteModel([3] * 256)
    one = [[int(i == byte) for i in range(256)] for byte in range(256)]
    total = sum(math.exp(-model.nll(counts, 0)) for counts in one)
    assert total == pytest.approx(1.0)


def test_oov_text_costs_its_bytes_and_an_end_symbol():
    counts = [0] * 256
    counts[ord("a")], counts[ord(" ")] = 254, 254
    model = ByteModel(counts)  # p(a) = p(space) = 255/764
    unknown = [0] * 256
    unknown[ord("a")] = 3
    assert model.nll(unknown, 2) == pytest.approx(5 * -math.log(255 / 764))
    assert model.nll([], 0) == 0.0


def test_a_signature_ends_with_the_version():
    assert signature({"tok": "word/1a", "split": "test"}).startswith("tok:word/1a|split:test|firth:")
