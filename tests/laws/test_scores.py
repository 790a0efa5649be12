"""Laws of every family of language models: its tiny preset gives the same bytes for the same seed, others for another,
and the score of a text depends on nothing but the text."""

from __future__ import annotations

import numpy as np
import pytest

import firth

FAMILIES = [
    "ngram-lm", "window-lm", "rnn-lm", "gru-lm", "lstm-lm", "transformer-lm", "transformer-xl", "prefix-lm", "xlnet",
]  # fmt: skip
TEXT = [f"number {n} comes before {n + 1} and after {n - 1}" for n in range(80)]
OTHERS = ["number 3", "7 comes before 8 and after 6 and so on", "x", "number number 12 and after"]


def trained(family, out, seed=1):
    settings = {"tokenizer.model": "char", "seed": seed}
    if family != "ngram-lm":
        settings |= {"train.budget": "2 steps", "batching.length": 16, "train.threads": 1}
    return firth.train(f"{family}:tiny", text=TEXT, out=out, settings=settings)


@pytest.fixture(scope="module", params=FAMILIES)
def models(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("laws")
    return {name: trained(request.param, folder / name, seed) for name, seed in {"a": 1, "same": 1, "other": 2}.items()}


def test_the_same_seed_gives_the_same_bytes_and_another_others(models):
    weights = {name: model.run.weights.read_bytes() for name, model in models.items()}
    record = {name: model.run.scores() for name, model in models.items()}
    assert record["a"] == record["same"]
    assert _tensors(weights["a"]) == _tensors(weights["same"]) != _tensors(weights["other"])


def _tensors(content: bytes) -> bytes:
    """The file without its header, which has a digest of the configuration."""
    return content[8 + int.from_bytes(content[:8], "little") :]


def test_a_score_depends_on_the_text_alone(models):
    model = models["a"]
    alone = [model.token_scores([text])[0] for text in OTHERS]
    for texts in (OTHERS, OTHERS[::-1], [*OTHERS, *TEXT[:9]]):
        together = dict(zip(texts, model.token_scores(texts), strict=True))
        for text, scores in zip(OTHERS, alone, strict=True):
            np.testing.assert_allclose(together[text], scores, rtol=1e-4, atol=1e-5)
