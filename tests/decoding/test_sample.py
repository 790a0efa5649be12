"""Sampling on tables that a reader can check by hand."""

import math

import pytest
import torch

from firth.decoding.sample import Sampling, distribution, generate
from firth.types import Batch, State, Tokens

LOGITS = torch.tensor([[2.0, 1.0, 0.0]])


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (Sampling(), [0.6652, 0.2447, 0.0900]),
        (Sampling(temperature=0.5), [0.8668, 0.1173, 0.0159]),
        (Sampling(top_p=0.9), [0.7311, 0.2689, 0.0]),
        (Sampling(top_k=2), [0.7311, 0.2689, 0.0]),
        (Sampling(top_k=1), [1.0, 0.0, 0.0]),
        (Sampling(top_p=0.01), [1.0, 0.0, 0.0]),
        (Sampling(temperature=0.0), [1.0, 0.0, 0.0]),
        (Sampling(temperature=1e-300), [1.0, 0.0, 0.0]),
        (Sampling(temperature=1e6), [1 / 3, 1 / 3, 1 / 3]),
        (Sampling(temperature=2.0, top_k=9, top_p=0.8), [0.6225, 0.3775, 0.0]),
        (Sampling(top_k=2, top_p=0.7), [1.0, 0.0, 0.0]),  # top-p looks at what top-k left: .7311 reaches .7 alone
    ],
)
def test_temperature_top_k_and_top_p(how, expected):
    assert distribution(LOGITS.log_softmax(-1), how)[0].tolist() == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize("spread", [0.0, 0.5, 3.0])  # all alike: of equal ones the first are kept
@pytest.mark.parametrize("share", [0.1, 0.9, 0.999])
def test_top_p_keeps_the_fewest_tokens_that_reach_it(spread, share):
    logs = (spread * torch.randn(3, 6000, generator=torch.Generator().manual_seed(1))).log_softmax(-1)
    for row, found in zip(logs.exp().double().tolist(), distribution(logs, Sampling(top_p=share)), strict=True):
        kept, total = set(), 0.0
        for token in sorted(range(len(row)), key=lambda token: -row[token]):
            if total >= share:
                break
            kept.add(token)
            total += row[token]
        assert len(kept ^ set(found.nonzero().squeeze(-1).tolist())) <= 1  # sums differ in their last places
        assert found.sum().item() == pytest.approx(1.0)


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


def test_greedy_takes_the_best_each_time_and_says_its_probability():
    (found,) = generate(TABLE, prompts(1), 2, Sampling(temperature=0.0), seed=0, end=END)
    assert found.ids == [A, B]
    assert found.log_probability == pytest.approx(math.log(0.55 * 0.5))
    assert not found.ended


def test_samples_follow_the_table():
    found = generate(TABLE, prompts(4000), 8, Sampling(), seed=1, end=END)
    share = sum(g.ids == [A] and g.ended for g in found) / len(found)
    assert share == pytest.approx(0.55 * 0.5, abs=0.03)


def test_the_same_seed_gives_the_same_text_and_leaves_the_global_state_alone():
    before = torch.get_rng_state()
    first, second, other = (generate(TABLE, prompts(50), 8, Sampling(), seed=s, end=END) for s in (1, 1, 2))
    assert first == second != other
    assert torch.equal(before, torch.get_rng_state())


def test_banned_tokens_do_not_come():
    found = generate(TABLE, prompts(200), 8, Sampling(), seed=3, end=END, banned=[B])
    assert all(g.ids == [A] and g.ended for g in found)
