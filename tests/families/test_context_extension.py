"""Context extension from short to long texts, and global attention of single tokens."""

import numpy as np
import pytest
import torch

import firth
from firth.config import schema
from firth.errors import FirthError
from firth.families.context_extension import extend_context
from firth.presets import PRESETS

DOCUMENTS = [" ".join(f"w{n * m % 23}" for m in range(30)) for n in range(40)]
SHORT = {
    "tokenizer.model": "word",
    "backbone.width": 16,
    "backbone.depth": 2,
    "backbone.heads": 2,
    "backbone.positions.kind": "learned",
    "batching.batch_size": 4,
    "batching.length": 16,
    "train.budget": "2 steps",
    "train.threads": 1,
}
LONG = {
    "batching.batch_size": 2,
    "batching.length": 40,
    "backbone.attention.window": 4,
    "train.budget": "1 steps",
    "train.optimizer.learning_rate": 1e-12,
    "train.threads": 1,
}


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    return firth.train("bert:tiny", text=DOCUMENTS, out=tmp_path_factory.mktemp("runs") / "short", settings=SHORT)


@pytest.fixture(scope="module")
def long(short, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "long"
    return firth.train("longformer:tiny", text=DOCUMENTS, out=out, init_from=str(short.run.path), settings=LONG)


def test_positions_are_repeated_and_projections_copied(short, long):
    """At a learning rate of nearly 0 the weights are the initial ones."""
    before, after = short.system.state_dict(), long.system.state_dict()
    assert after["backbone.positions.weight"].shape == (40, 16)
    expected = before["backbone.positions.weight"].repeat(3, 1)[:40]
    torch.testing.assert_close(after["backbone.positions.weight"], expected)
    layer = "backbone.blocks.1.attention.sublayer."
    for name in ("weight", "bias"):
        own, shared = after[f"{layer}global_projections.qkv_proj.{name}"], before[f"{layer}qkv_proj.{name}"]
        torch.testing.assert_close(own, shared)
    torch.testing.assert_close(after["head.bias"], before["head.bias"])


def test_a_text_within_the_window_is_encoded_as_before(short, long):
    text = ["w1 w2 w3"]
    np.testing.assert_allclose(long.embed(text), short.embed(text), atol=1e-5)
    far = [" ".join(f"w{n}" for n in range(12))]
    assert not np.allclose(long.embed(far), short.embed(far), atol=1e-5)


def test_tensors_that_are_not_positions_stay_as_they_are():
    source = {
        "a.positions.weight": torch.arange(6.0).view(3, 2),
        "b": torch.zeros(1),
        "c.positions.weight": torch.ones(3, 5),
    }
    target = {"a.positions.weight": torch.zeros(7, 2), "b": torch.zeros(9), "c.positions.weight": torch.ones(3, 5)}
    extended = extend_context(source, target)
    assert extended["a.positions.weight"][:, 0].tolist() == [0, 2, 4, 0, 2, 4, 0]
    assert extended["b"] is source["b"] and extended["c.positions.weight"] is source["c.positions.weight"]


def test_global_tokens_are_attended_to_from_afar(long):
    text = " ".join(["[MASK]"] + [f"w{n}" for n in range(25)])
    near, far = long.fill(text, 3)[0], long.fill(text, 3, global_tokens=[25])[0]
    assert [each.probability for each in near] != [each.probability for each in far]
    other = text.replace("w24", "w2")  # the global token: 0 is [CLS], 1 the mask
    assert [each.probability for each in long.fill(other, 3, global_tokens=[25])[0]] != [
        each.probability for each in far
    ]
    assert not np.allclose(long.embed([text]), long.embed([text], global_tokens=[25]), atol=1e-6)


@pytest.mark.parametrize("position", [7, 100, -1])
def test_global_tokens_outside_the_text_are_refused(long, position):
    with pytest.raises(FirthError, match=r"global_tokens: global attention at position -?\d+ of a text of 6 tokens"):
        long.fill("w1 [MASK] w2 w3", global_tokens=[0, position])


def test_a_text_longer_than_the_positions_is_refused(long):
    with pytest.raises(FirthError, match="takes at most 40 at once"):
        long.embed([" ".join(["w1"] * 50)])


@pytest.mark.parametrize("name", ["longformer", "longformer-lm"])
@pytest.mark.parametrize("size", ["tiny", "small", "base", "large"])
def test_sizes_are_the_papers_where_it_has_them(name, size):
    config = PRESETS[name].sizes[size]
    backbone, attention = config.backbone, config.backbone.attention
    assert isinstance(attention, schema.WindowAttention) and attention.kernel == "banded"
    expected = {
        ("longformer", "base"): (768, 12, 12, 4096, 256),
        ("longformer", "large"): (1024, 24, 16, 4096, 256),
        ("longformer-lm", "base"): (512, 12, 8, 16384, 512),
        ("longformer-lm", "large"): (512, 30, 8, 16384, 512),
    }.get((name, size))
    sizes = (backbone.width, backbone.depth, backbone.heads, config.batching.length, max(attention.window))
    assert expected in (None, sizes)
    assert len(attention.dilation) in (0, backbone.depth)
