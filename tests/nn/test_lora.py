"""Laws of LoRA: an adapted layer is the layer with B A added to its weight. Oracle: that product, written out."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from firth.config import core, schema
from firth.errors import FirthError
from firth.models.build import build
from firth.nn.linear import Linear, WeightCache
from firth.nn.lora import LoRA, adapted_layers, add_adapters, is_adapter, merge_adapters
from firth.presets import preset
from firth.training.parameter_groups import prepare_training
from firth.types import Batch, Sizes, Tokens

ALL = ("query", "key", "value", "out", "up", "gate", "down")
# norms before and after, a gate, cross attention, shared queries and keys, windows, relative positions
NETWORKS = ["bert:tiny", "transformer-lm:tiny", "modern-mt:tiny", "reformer:tiny", "longformer:tiny", "xlnet:tiny"]


def randomise(network):
    """Updates that matter; at first they are zero."""
    for name, parameter in network.named_parameters():
        if is_adapter(name):
            parameter.data.normal_(0.0, 0.1)


def adapted_layer(*parts):
    torch.manual_seed(1)
    layer = Linear(5, 6, parts=("query", "key", "value"))
    layer.adapter = LoRA(schema.LoRA(rank=2, alpha=3.0, projections=parts), layer.weight, layer.parts)
    randomise(layer)
    return layer


@pytest.mark.parametrize("parts", [("query",), ("query", "value"), ("key",), ALL[:3]])
def test_an_adapted_layer_has_the_product_added_to_the_rows_of_each_part(parts):
    layer = adapted_layer(*parts)
    weight = layer.weight.detach().clone()
    for number, part in enumerate(layer.parts):
        if part in parts:
            weight[2 * number : 2 * number + 2] += 3.0 / 2 * layer.adapter.b[part] @ layer.adapter.a[part]
    x = torch.randn(4, 7, 5)
    expected = F.linear(x, weight, layer.bias)
    torch.testing.assert_close(layer(x), expected)
    for first, last in ((0, 1), (1, 3), (2, 3), (0, 3)):
        rows = slice(2 * first, 2 * last)
        torch.testing.assert_close(layer.project(x, first, last), expected[..., rows])
        with torch.no_grad():
            torch.testing.assert_close(layer.project(x, first, last, WeightCache()), expected[..., rows])
    merge_adapters(layer)
    assert layer.adapter is None
    torch.testing.assert_close(layer.weight.detach(), weight)


def test_dropout_is_of_the_updates_input_and_in_training_only():
    layer, x = adapted_layer("query", "value"), torch.ones(1000, 5)
    plain = F.linear(x, layer.weight, layer.bias)
    layer.adapter.dropout = 0.5
    varying = layer(x)
    assert torch.equal(varying[:, 2:4], plain[:, 2:4])
    assert len(varying[:, :2].unique(dim=0)) >= 2**5  # each of five inputs is dropped or not
    layer.eval()
    torch.testing.assert_close(layer(x), layer(x)[:1].expand(1000, -1))


def network(name, **changed):
    config = core.override(preset(name), ["backbone.depth=2"] if "mt" not in name else [])
    torch.manual_seed(1)
    system = build(config, Sizes(40)).eval()
    return system, config


def states(system):
    ids = torch.randint(7, 40, (2, 9), generator=torch.Generator().manual_seed(3))
    mask = torch.arange(9) < torch.tensor([[9], [6]])
    batch = Batch({stream: Tokens(ids, mask) for stream in system.streams}, {})
    with torch.no_grad():
        return system.encode(batch).states[mask]


@pytest.mark.parametrize("name", NETWORKS)
def test_a_merged_network_computes_what_the_adapted_one_does(name):
    system, _ = network(name)
    before = states(system)
    add_adapters(system.backbone, schema.LoRA(rank=4, projections=ALL))
    assert torch.equal(states(system), before)  # the updates are zero at first
    randomise(system)
    adapted = states(system)
    assert float((adapted - before).abs().max()) > 0.05
    merge_adapters(system.backbone)
    assert not any(is_adapter(key) for key in system.state_dict())
    torch.testing.assert_close(states(system), adapted, atol=1e-5, rtol=1e-5)


def test_projections_name_the_layers_that_are_adapted():
    for projections, expected in (
        (("query", "value"), {"attention.sublayer.qkv_proj"}),
        (("out",), {"attention.sublayer.out_proj"}),
        (("up", "down"), {"feedforward.sublayer.up_proj", "feedforward.sublayer.down_proj"}),
    ):
        system, _ = network("bert:tiny")
        add_adapters(system.backbone, schema.LoRA(projections=projections))
        assert {name.split(".", 2)[2] for name in adapted_layers(system.backbone)} == expected
        assert all(set(layer.adapter.a) <= {*projections} for layer in adapted_layers(system).values())


def test_only_adapters_and_the_head_are_trained():
    system, config = network("bert-classifier:tiny")
    for frozen, head in (((), True), (("head",), False)):
        train = replace(config.train, adapter=schema.LoRA(), frozen=frozen)
        prepare_training(system, replace(config, train=train))
        trained = {name for name, parameter in system.named_parameters() if parameter.requires_grad}
        assert trained == {name for name, _ in system.named_parameters() if is_adapter(name) or (
            head and name.startswith(("head.", "objective."))
        )}  # fmt: skip


def test_lower_layers_may_be_frozen_with_their_adapters():
    system, config = network("bert-classifier:tiny")
    train = replace(config.train, adapter=schema.LoRA(), frozen_layers=1)
    prepare_training(system, replace(config, train=train))
    depths = {system.depth_of(name) for name, parameter in system.named_parameters() if parameter.requires_grad}
    assert depths == {2, 3}


def test_adapters_start_from_the_seed_alone():
    def start(seed):
        system, config = network("bert:tiny")
        torch.manual_seed(99)
        prepare_training(system, replace(config, seed=seed, train=replace(config.train, adapter=schema.LoRA())))
        return {name: tensor for name, tensor in system.state_dict().items() if is_adapter(name)}

    one, same, other = start(5), start(5), start(6)
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert any(not torch.equal(one[name], other[name]) for name in one)


def test_a_network_without_projections_is_refused():
    system, _ = network("lstm-lm:tiny")
    with pytest.raises(FirthError, match=r"train\.adapter: this network has no projections to query, value; adapt a"):
        add_adapters(system.backbone, schema.LoRA())
