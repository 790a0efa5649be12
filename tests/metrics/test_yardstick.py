"""The yardstick: perplexity, bits per byte, and the price of not knowing."""

import math

import pytest

from firth.metrics.language import ByteModel, bits_per_byte, perplexity
from firth.metrics.score import signature


def test_a_uniform_model_over_four_tokens_has_perplexity_four():
    assert perplexity(100 * math.log(4), 100) == pytest.approx(4.0)


def test_a_uniform_model_over_bytes_needs_eight_bits_each():
    assert bits_per_byte(50 * math.log(256), 50) == pytest.approx(8.0)


def test_the_byte_model_is_a_distribution():
    """Over all strings up to an end mark: the price of each byte, summed over bytes, leaves nothing out."""
    model = ByteModel([3] * 256)
    one = [[int(i == byte) for i in range(256)] for byte in range(256)]
    total = sum(math.exp(-model.nats(counts, 0)) for counts in one)
    assert total == pytest.approx(1.0)


def test_unknown_text_costs_by_its_spelling_and_its_end():
    counts = [0] * 256
    counts[ord("a")], counts[ord(" ")] = 254, 254
    model = ByteModel(counts)  # p(a) = p(space) = 255/764
    unknown = [0] * 256
    unknown[ord("a")] = 3
    assert model.nats(unknown, 2) == pytest.approx(5 * -math.log(255 / 764))
    assert model.nats([], 0) == 0.0


def test_a_signature_ends_with_the_version():
    assert signature({"tok": "word/1a", "split": "test"}).startswith("tok:word/1a|split:test|firth:")
