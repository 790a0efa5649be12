"""A model of short texts made one of long texts, and tokens of a text that see all of it."""

import numpy as np
import pytest
import torch

import firth
from firth.config import schema
from firth.errors import FirthError
from firth.families.lengthening import lengthened
from firth.presets import PRESETS

DOCUMENTS = [" ".join(f"w{n * m % 23}" for m in range(30)) for n in range(40)]
SHORT = {
    "tokenizer.model": "word",
    "backbone.width": 16,
    "backbone.depth": 2,
    "backbone.heads": 2,
    "backbone.positions": "learned",
    "batching.rows": 4,
    "batching.length": 16,
    "train.budget": "2 steps",
    "train.threads": 1,
}
LONG = {
    "batching.rows": 2,
    "batching.length": 40,
    "backbone.window": 4,
    "train.budget": "1 steps",
    "train.optimizer.rate": 1e-12,
    "train.threads": 1,
}


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    return firth.train("bert:tiny", text=DOCUMENTS, out=tmp_path_factory.mktemp("runs") / "short", settings=SHORT)


@pytest.fixture(scope="module")
def long(short, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "long"
    return firth.train("longformer:tiny", text=DOCUMENTS, out=out, start=str(short.run.path), settings=LONG)


def test_places_are_repeated_and_projections_copied(short, long):
    """At a rate of nothing the weights are those that training began with."""
    before, after = short.system.state_dict(), long.system.state_dict()
    assert after["backbone.positions.weight"].shape == (40, 16)
    wanted = before["backbone.positions.weight"].repeat(3, 1)[:40]
    torch.testing.assert_close(after["backbone.positions.weight"], wanted)
    place = "backbone.blocks.1.attention.inner."
    for end in ("weight", "bias"):
        torch.testing.assert_close(after[f"{place}central.inputs.{end}"], before[f"{place}inputs.{end}"])
    torch.testing.assert_close(after["head.bias"], before["head.bias"])


def test_a_text_within_the_window_reads_as_before(short, long):
    text = ["w1 w2 w3"]
    np.testing.assert_allclose(long.embed(text), short.embed(text), atol=1e-5)
    far = [" ".join(f"w{n}" for n in range(12))]
    assert not np.allclose(long.embed(far), short.embed(far), atol=1e-5)


def test_tensors_that_are_not_places_stay_as_they_are():
    given = {
        "a.positions.weight": torch.arange(6.0).view(3, 2),
        "b": torch.zeros(1),
        "c.positions.weight": torch.ones(3, 5),
    }
    wanted = {"a.positions.weight": torch.zeros(7, 2), "b": torch.zeros(9), "c.positions.weight": torch.ones(3, 5)}
    found = lengthened(given, wanted)
    assert found["a.positions.weight"][:, 0].tolist() == [0, 2, 4, 0, 2, 4, 0]
    assert found["b"] is given["b"] and found["c.positions.weight"] is given["c.positions.weight"]


def test_central_tokens_are_seen_from_afar(long):
    text = " ".join(["[MASK]"] + [f"w{n}" for n in range(25)])
    near, far = long.fill(text, 3)[0], long.fill(text, 3, central=[25])[0]
    assert [each.probability for each in near] != [each.probability for each in far]
    other = text.replace("w24", "w2")  # the token that is central: 0 is [CLS], 1 the gap
    assert [each.probability for each in long.fill(other, 3, central=[25])[0]] != [each.probability for each in far]
    assert not np.allclose(long.embed([text]), long.embed([text], central=[25]), atol=1e-6)


@pytest.mark.parametrize("place", [7, 100, -1])
def test_tokens_outside_the_text_are_refused(long, place):
    with pytest.raises(FirthError, match=r"central: token -?\d+ is to see all of a text that has 6 tokens"):
        long.fill("w1 [MASK] w2 w3", central=[0, place])


def test_a_longer_text_than_there_are_places_is_refused(long):
    with pytest.raises(FirthError, match="reads at most 40 at once"):
        long.embed([" ".join(["w1"] * 50)])


@pytest.mark.parametrize("name", ["longformer", "longformer-lm"])
@pytest.mark.parametrize("size", ["tiny", "small", "base", "large"])
def test_sizes_are_the_papers_where_it_has_them(name, size):
    config = PRESETS[name].sizes[size]
    backbone = config.backbone
    assert isinstance(backbone, schema.Transformer) and backbone.kernel == "banded"
    wanted = {
        ("longformer", "base"): (768, 12, 12, 4096, 256),
        ("longformer", "large"): (1024, 24, 16, 4096, 256),
        ("longformer-lm", "base"): (512, 12, 8, 16384, 256),
        ("longformer-lm", "large"): (512, 30, 8, 16384, 256),
    }.get((name, size))
    found = (backbone.width, backbone.depth, backbone.heads, config.batching.length, backbone.window)
    assert wanted in (None, found)
    assert len(backbone.dilation) in (0, backbone.depth)
