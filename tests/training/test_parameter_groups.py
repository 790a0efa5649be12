"""Laws of frozen parts, layer-wise learning rates and gradual unfreezing; the slanted triangle by its formula."""

import math
from dataclasses import replace

import pytest
import torch
from training_tasks import CONFIG, SPECIAL, make_task, text, trained, weights

from firth.config import override, schema
from firth.config.streams import Streams
from firth.datasets.collators.batches import make_batches
from firth.errors import FirthError
from firth.models.build import build
from firth.presets import PRESETS, preset
from firth.runs import checkpoints
from firth.training import planner
from firth.training.checkpoint import read_tensors
from firth.training.device import training_environment
from firth.training.flops import estimate_timing, meta_system
from firth.training.loop import Trainer
from firth.training.optimizer import learning_rate_factor, timed_learning_rate_factor
from firth.training.parameter_groups import GradualUnfreezing, count_trained, freeze, learning_rate_factors
from firth.types import Cursor, Sizes
from word_samples import config as word_config

NEURAL = [name for name in PRESETS if isinstance(preset(name), schema.Neural)]


# --- depth --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NEURAL)
def test_every_parameter_of_every_preset_has_a_depth(name):
    """Each layer has parameters; input and head are below and above them."""
    system = meta_system(preset(name), 50)
    depths = {key: system.depth_of(key) for key, _ in system.named_parameters()}
    assert {depth for key, depth in depths.items() if key.startswith("backbone.")} >= {*range(1, system.depth)}
    assert all(0 <= depth <= system.depth for depth in depths.values())
    for key, depth in depths.items():
        assert (depth == system.depth) == key.startswith(("head.", "objective.")), key
        assert depth == 0 or "input" not in key.split(".")[0], key


def test_layers_are_numbered_in_the_order_in_which_they_compute():
    """What a layer computes depends on the layers below it, and not on those above."""
    config = override(CONFIG, ["backbone.width=8", "backbone.depth=3", "inputs.text.dropout=0"])
    system = build(config, 40).eval()
    batch = make_task_batch(config)

    def states(layer):
        system.backbone.layers.config = replace(config.backbone, depth=layer)
        return system.encode(batch).states

    with torch.no_grad():
        before = [states(layer) for layer in (1, 2, 3)]
        for name, parameter in system.named_parameters():
            changed = parameter.clone()
            parameter.add_(0.1)
            moved = [not torch.equal(states(layer), old) for layer, old in zip((1, 2, 3), before, strict=True)]
            parameter.copy_(changed)
            assert moved == [system.depth_of(name) <= layer for layer in (1, 2, 3)], name


def make_task_batch(config):
    return make_batches(config.batching, text(), SPECIAL, 1).batch(Cursor()).to("cpu")


@pytest.mark.parametrize("name", ["transformer-mt:tiny", "bart:tiny", "t5:tiny", "luong:tiny", "bahdanau:tiny"])
def test_a_decoder_lies_above_its_encoder(name):
    if name.partition(":")[0] not in PRESETS:
        pytest.fail(f"no preset {name}")
    system = meta_system(preset(name), Sizes(50, {"source": 50}))
    encoder = {system.depth_of(key) for key, _ in system.named_parameters() if key.startswith("backbone.encoder.")}
    decoder = {system.depth_of(key) for key, _ in system.named_parameters() if key.startswith("backbone.decoder.")}
    assert max(encoder) + 1 == min(decoder)


def test_an_encoder_within_the_input_lies_below_the_backbone():
    stack = schema.Transformer(width=8, depth=2, heads=2, mask="bidirectional", context=20)
    encoder = schema.SubwordEncoder(input=schema.TokenInput(table_size=30), backbone=stack, frozen=False, layers="mix")
    words = schema.WordInput(schema.WordVectors(width=8), schema.NoPart(), encoder=encoder)
    system = build(word_config(inputs=Streams(words=words), backbone=schema.Recurrent(width=6, depth=2)), Sizes(40))
    expected = {
        "inputs.words.encoder.embedding.weight": 0,
        "inputs.words.encoder.backbone.positions.weight": 0,
        "inputs.words.encoder.backbone.blocks.0.feedforward.sublayer.up_proj.weight": 1,
        "inputs.words.encoder.backbone.blocks.1.feedforward.sublayer.up_proj.weight": 2,
        "inputs.words.encoder.mix.weights": 2,
        "inputs.words.weight": 2,
        "backbone.layers.weight_ih_l0": 3,
        "backbone.layers.weight_ih_l1": 4,
    }
    names = {name for name, _ in system.named_parameters()}
    assert {name: system.depth_of(name) for name in expected if name in names} == expected
    assert {system.depth_of(name) for name in names if name.startswith("head.")} == {5} == {system.depth}


# --- learning rates --------------------------------------------------------------------------------------------------


def test_layer_decay_is_a_power_of_the_distance_to_the_head():
    system = build(override(CONFIG, ["backbone.depth=3"]), 40)
    factors = learning_rate_factors(system, schema.Optimizer(layer_decay=0.5))
    assert factors["head.bias"] == 1.0
    assert factors["backbone.layers.weight_ih_l2"] == 0.5
    assert factors["backbone.layers.bias_hh_l0"] == 0.125
    assert factors["inputs.text.weight"] == 0.0625
    assert learning_rate_factors(system, schema.Optimizer()) == {}


# --- the schedule -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ratio", [32, 4])
def test_the_slanted_triangle_is_that_of_the_paper(ratio):
    config = schema.Schedule(shape="slanted-triangular", min_ratio=1 / ratio, warmup_steps=7)
    total, cut_fraction = 200, 0.1
    cut = math.floor(total * cut_fraction)
    for step in range(total):
        p = step / cut if step < cut else 1 - (step - cut) / (cut * (1 / cut_fraction - 1))
        expected = (1 + p * (ratio - 1)) / ratio
        assert learning_rate_factor(config, step, total) == pytest.approx(expected)
        assert timed_learning_rate_factor(config, step, step / total) == pytest.approx(expected)


# --- training -----------------------------------------------------------------------------------------------------

LSTM = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
FROZEN = {
    "train.frozen=inputs": ("inputs.",),
    "train.frozen=backbone": ("backbone.",),
    "train.frozen=inputs,backbone": ("inputs.", "backbone."),
    "train.frozen_layers=1": ("inputs.", *(f"backbone.layers.{kind}_l0" for kind in LSTM)),
}


@pytest.mark.parametrize("setting", FROZEN)
def test_what_is_frozen_keeps_its_bytes_and_has_no_gradient_and_no_state(setting, tmp_path):
    settings = [setting, "head.tied=false", "train.ema_decay=0.9", "train.optimizer.weight_decay=0.1"]
    config = override(CONFIG, settings)
    system = build(config, 40)
    freeze(system, config.train)
    task, _ = trained(tmp_path / "run", *settings, system=system)
    initial, frozen = build(config, 40).state_dict(), FROZEN[setting]
    for name, tensor in weights(task).items():
        assert torch.equal(tensor, initial[name]) == name.startswith(frozen), name
    assert all((p.grad is None) == name.startswith(frozen) for name, p in system.named_parameters())
    state = read_tensors(checkpoints.newest_checkpoint(tmp_path / "run") / "training.safetensors")
    names = {name.partition(".")[2] for name in state if not name.startswith("carried.")} - {""}
    assert names == {name for name in initial if not name.startswith(frozen)}
    saved = read_tensors(task.folder / "model.safetensors")
    assert all(torch.equal(saved[name], initial[name]) for name in initial if name.startswith(frozen))


def test_layers_are_unfrozen_one_by_one_from_the_head_to_the_input(tmp_path):
    settings = ("head.tied=false", "train.unfreeze=0.8", "train.budget=10 steps")
    with training_environment(CONFIG.train):
        task = make_task(tmp_path / "run", *settings)
        trainer = Trainer(task)
        trainer.start()
        changed = []
        for _ in range(10):
            before = weights(task)
            trainer.step(0)
            moved = {task.system.depth_of(name) for name, now in weights(task).items() if not now.equal(before[name])}
            changed.append(moved)
        trainer.close()
    stages = [{3}, {3, 2}, {3, 2, 1}, {3, 2, 1, 0}]
    assert changed == [stages[0]] * 2 + [stages[1]] * 2 + [stages[2]] * 2 + [stages[3]] * 4


def test_unfreezing_is_a_function_of_the_fraction_alone():
    """The guard may take a run back to an earlier stage; what is frozen by configuration stays frozen."""
    config = override(CONFIG, ["head.tied=false", "train.frozen_layers=1"])
    system = build(config, 40)
    freeze(system, config.train)
    unfreezing = GradualUnfreezing(system, 1.0)

    def trained_depths():
        return {system.depth_of(name) for name, p in system.named_parameters() if p.requires_grad}

    found = []
    for fraction in (0.0, 0.49, 0.51, 1.0, 0.2):
        unfreezing.update(fraction)
        found.append(trained_depths())
    assert found == [{3}, {3}, {3, 2}, {3, 2}, {3}]
    assert not unfreezing.update(0.3)


# --- estimates, errors --------------------------------------------------------------------------------------------


def test_estimates_count_what_is_trained(tmp_path):
    config = override(CONFIG, ["head.tied=false", "train.frozen=inputs,backbone"])
    task = make_task(tmp_path / "run", "head.tied=false", "train.frozen=inputs,backbone")
    probe, whole = meta_system(config, 40), meta_system(config, 40)
    freeze(probe, config.train)
    timings = [estimate_timing(config, system, task.batches, task.batches) for system in (probe, whole)]
    assert timings[0].memory < 0.7 * timings[1].memory
    plans = [planner.make_plan(config, each, task.batches, timings[0], 0) for each in (probe, whole)]
    assert plans[0].trained == count_trained(probe) == sum(p.numel() for p in probe.head.parameters())
    assert plans[1].trained == sum(plans[1].parameters.values())
    assert plans[1].disk - plans[0].disk == 3 * 2 * 4 * (plans[1].trained - plans[0].trained)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["train.frozen_layers=3"], r"train\.frozen_layers = 3, and the network has 2 layers"),
        (["train.frozen=inputs,backbone", "head.bias=false"], "nothing is left to train"),
    ],
)
def test_what_cannot_be_frozen_is_refused(settings, message):
    config = override(CONFIG, settings)
    with pytest.raises(FirthError, match=message):
        freeze(build(config, 40), config.train)
    with pytest.raises(FirthError, match="not one of inputs, backbone, head"):
        override(CONFIG, ["train.frozen=layers"])
