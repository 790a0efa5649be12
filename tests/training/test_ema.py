"""The exponential moving average of the weights: its definition, swapping it in, and exact resume."""

import signal

import pytest
import torch
from torch import nn

import firth
from firth.runs.checkpoints import Interrupted
from firth.runs.progress import Quiet
from firth.training.ema import ExponentialMovingAverage

SETTINGS = {
    "tokenizer.vocabulary_size": 300,
    "train.budget": "12 steps",
    "train.evaluate_every": 6,
    "train.checkpoint_every": 3,
    "train.threads": 1,
    "train.ema_decay": 0.7,
}
TEXT = [f"{a} and {b} are friends of {c}" for a in "abcdefgh" for b in "ijklmn" for c in "opqr"]


def test_it_is_the_exponential_moving_average():
    system = nn.Linear(2, 1, bias=False)
    ema, expected = ExponentialMovingAverage(system, 0.9), system.weight.detach().clone()
    for step in range(1, 200):
        system.weight.data.normal_()
        ema.update(step)
        decay = min(0.9, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * system.weight.detach()
        torch.testing.assert_close(ema.average["weight"], expected)  # at each step: the last ones forget the warm-up


def test_the_average_is_swapped_in_and_out():
    system = nn.Linear(3, 2)
    ema = ExponentialMovingAverage(system, 0.5)
    initial = {name: p.detach().clone() for name, p in system.named_parameters()}
    system.weight.data += 1
    changed = system.weight.detach().clone()
    with ema.averaged_weights():
        torch.testing.assert_close(system.weight.detach(), initial["weight"])
    torch.testing.assert_close(system.weight.detach(), changed)
    restored = ExponentialMovingAverage(system, 0.5)
    restored.load_state_dict(ema.state_dict())
    torch.testing.assert_close(restored.average, initial)


class Stopping(Quiet):
    """Interrupts the run after some steps."""

    def __init__(self, after):
        self.after = after

    def step(self, entry):
        if entry["step"] == self.after:
            signal.raise_signal(signal.SIGINT)


def test_an_interrupted_run_ends_with_the_same_average(tmp_path):
    whole = firth.train("transformer-lm:tiny", text=TEXT, out=tmp_path / "whole", settings=SETTINGS)
    with pytest.raises(Interrupted):
        firth.train("transformer-lm:tiny", text=TEXT, out=tmp_path / "resumed", settings=SETTINGS, progress=Stopping(8))
    resumed = firth.train("transformer-lm:tiny", text=TEXT, out=tmp_path / "resumed", settings=SETTINGS)
    assert resumed.run.weights.read_bytes() == whole.run.weights.read_bytes()
    plain = firth.train(
        "transformer-lm:tiny", text=TEXT, out=tmp_path / "plain", settings={**SETTINGS, "train.ema_decay": 0.0}
    )
    assert plain.run.weights.read_bytes() != whole.run.weights.read_bytes()
