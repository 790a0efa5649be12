"""The running mean of the weights: what it is, that it stands in for them, and that a resumed run has it too."""

import signal

import pytest
import torch
from torch import nn

import firth
from firth.runs.progress import Quiet
from firth.training.averaging import Average
from firth.training.guard import Interrupted

SETTINGS = {
    "tokenizer.size": 300,
    "train.budget": "12 steps",
    "train.evaluate": 6,
    "train.save": 3,
    "train.threads": 1,
    "train.average": 0.7,
}
TEXT = [f"{a} and {b} are friends of {c}" for a in "abcdefgh" for b in "ijklmn" for c in "opqr"]


def test_it_is_the_mean_with_weights_that_fall_by_the_decay():
    system = nn.Linear(2, 1, bias=False)
    average, mean = Average(system, 0.9), system.weight.detach().clone()
    for step in range(1, 200):
        system.weight.data.normal_()
        average.update(step)
        decay = min(0.9, (1 + step) / (10 + step))
        mean = decay * mean + (1 - decay) * system.weight.detach()
    torch.testing.assert_close(average.mean["weight"], mean)


def test_it_stands_in_for_the_weights_and_gives_them_back():
    system = nn.Linear(3, 2)
    average, own = Average(system, 0.5), {name: p.detach().clone() for name, p in system.named_parameters()}
    system.weight.data += 1
    moved = system.weight.detach().clone()
    with average.standing_in():
        torch.testing.assert_close(system.weight.detach(), own["weight"])
    torch.testing.assert_close(system.weight.detach(), moved)
    again = Average(system, 0.5)
    again.load_state_dict(average.state_dict())
    torch.testing.assert_close(again.mean, own)


class Stopping(Quiet):
    """Interrupts the run after some steps."""

    def __init__(self, after):
        self.after = after

    def step(self, entry):
        if entry["step"] == self.after:
            signal.raise_signal(signal.SIGINT)


def test_a_stopped_run_ends_with_the_same_mean(tmp_path):
    whole = firth.train("gpt:tiny", text=TEXT, out=tmp_path / "whole", settings=SETTINGS)
    with pytest.raises(Interrupted):
        firth.train("gpt:tiny", text=TEXT, out=tmp_path / "two", settings=SETTINGS, progress=Stopping(8))
    two = firth.train("gpt:tiny", text=TEXT, out=tmp_path / "two", settings=SETTINGS)
    assert two.run.weights.read_bytes() == whole.run.weights.read_bytes()
    plain = firth.train("gpt:tiny", text=TEXT, out=tmp_path / "plain", settings={**SETTINGS, "train.average": 0.0})
    assert plain.run.weights.read_bytes() != whole.run.weights.read_bytes()
