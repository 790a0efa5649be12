"""Sampling on tables that a reader can check by hand."""

import math

import pytest
import torch

from firth.generation.sampling import SamplingConfig, distribution, sample
from firth.types import Batch, State, Tokens

LOGITS = torch.tensor([[2.0, 1.0, 0.0]])


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (SamplingConfig(), [0.6652, 0.2447, 0.0900]),
        (SamplingConfig(temperature=0.5), [0.8668, 0.1173, 0.0159]),
        (SamplingConfig(top_p=0.9), [0.7311, 0.2689, 0.0]),
        (SamplingConfig(top_k=2), [0.7311, 0.2689, 0.0]),
        (SamplingConfig(top_k=1), [1.0, 0.0, 0.0]),
        (SamplingConfig(top_p=0.01), [1.0, 0.0, 0.0]),
        (SamplingConfig(temperature=0.0), [1.0, 0.0, 0.0]),
        (SamplingConfig(temperature=1e-300), [1.0, 0.0, 0.0]),
        (SamplingConfig(temperature=1e6), [1 / 3, 1 / 3, 1 / 3]),
        (SamplingConfig(temperature=2.0, top_k=9, top_p=0.8), [0.6225, 0.3775, 0.0]),
        (
            SamplingConfig(top_k=2, top_p=0.7),
            [1.0, 0.0, 0.0],
        ),  # top-p applies to what top-k left: .7311 reaches .7 alone
    ],
)
def test_temperature_top_k_and_top_p(config, expected):
    assert distribution(LOGITS.log_softmax(-1), config)[0].tolist() == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize("scale", [0.0, 0.5, 3.0])  # all equal: of ties the first are kept
@pytest.mark.parametrize("top_p", [0.1, 0.9, 0.999])
def test_top_p_keeps_the_fewest_tokens_that_reach_it(scale, top_p):
    log_probs = (scale * torch.randn(3, 6000, generator=torch.Generator().manual_seed(1))).log_softmax(-1)
    for row, probabilities in zip(
        log_probs.exp().double().tolist(), distribution(log_probs, SamplingConfig(top_p=top_p)), strict=True
    ):
        kept, total = set(), 0.0
        for token in sorted(range(len(row)), key=lambda token: -row[token]):
            if total >= top_p:
                break
            kept.add(token)
            total += row[token]
        assert len(kept ^ set(probabilities.nonzero().squeeze(-1).tolist())) <= 1  # sums differ in their last digits
        assert probabilities.sum().item() == pytest.approx(1.0)


class Table:
    """A stepper over hand-set probabilities; its state counts the steps."""

    size = 4

    def __init__(self, rows):
        self.rows = {last: torch.tensor(p, dtype=torch.float64).log() for last, p in rows.items()}

    def start(self, batch):
        count = batch.streams["text"].ids.shape[0]
        return State({}, {"steps": torch.zeros(count)})

    def step(self, last, state):
        return torch.stack([self.rows[int(t)] for t in last]), State({}, {"steps": state.live["steps"] + 1})


START, A, B, END = range(4)
TABLE = Table({START: [0.0, 0.55, 0.45, 0.0], A: [0.0, 0.0, 0.5, 0.5], B: [0.0, 0.9, 0.0, 0.1]})


def prompts(count):
    ids = torch.full((count, 1), START)
    return Batch({"text": Tokens(ids, torch.ones_like(ids, dtype=torch.bool))}, {})


def test_greedy_decoding_takes_the_best_each_time_and_returns_its_probability():
    (sequence,) = sample(TABLE, prompts(1), 2, SamplingConfig(temperature=0.0), seed=0, end=END)
    assert sequence.ids == [A, B]
    assert sequence.log_probability == pytest.approx(math.log(0.55 * 0.5))
    assert not sequence.ended


def test_samples_follow_the_table():
    sequences = sample(TABLE, prompts(4000), 8, SamplingConfig(), seed=1, end=END)
    fraction = sum(g.ids == [A] and g.ended for g in sequences) / len(sequences)
    assert fraction == pytest.approx(0.55 * 0.5, abs=0.03)


def test_the_same_seed_gives_the_same_text_and_leaves_the_global_state_alone():
    before = torch.get_rng_state()
    first, second, other = (sample(TABLE, prompts(50), 8, SamplingConfig(), seed=s, end=END) for s in (1, 1, 2))
    assert first == second != other
    assert torch.equal(before, torch.get_rng_state())


def test_banned_tokens_do_not_come():
    sequences = sample(TABLE, prompts(200), 8, SamplingConfig(), seed=3, end=END, banned=[B])
    assert all(g.ids == [A] and g.ended for g in sequences)
