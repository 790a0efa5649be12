"""Ensembles: of one, of copies of one model, and of two that a reader can average."""

import math

import pytest
import torch
from small_steppers import END, START, A, B, Table, prompts

from firth.errors import FirthError
from firth.generation.beam_search import BeamConfig, beam_search
from firth.generation.ensemble import Ensemble
from firth.types import ALIGNMENT

MEANS = ["probabilities", "log-probabilities"]


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("weights", [[1.0], [3.0], [1.0, 1.0], [1.0, 2.0, 0.5]])
@pytest.mark.parametrize("seed", range(5))
def test_one_model_or_copies_of_it_predict_what_each_predicts(mean, weights, seed):
    """Probabilities are random, so that none are equal: rounding would decide between them."""
    values = torch.rand(4, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    rows = dict(enumerate((values / values.sum(1, keepdim=True)).tolist()))
    batch, config = prompts(START, A, sources=[[1, 2], [3]]), BeamConfig(3, count=2, coverage_penalty=0.1)
    together = beam_search(Ensemble([Table(rows) for _ in weights], weights, mean), batch, 4, config, end=END)
    for mine, alone in zip(together, beam_search(Table(rows), batch, 4, config, end=END), strict=True):
        assert [each.score for each in mine] == pytest.approx([each.score for each in alone])
        assert [each.ids for each in mine] == [each.ids for each in alone]
        assert all(one.alignment == pytest.approx(other.alignment) for one, other in zip(mine, alone, strict=True))


@pytest.mark.parametrize(
    ("mean", "first", "second"),
    [
        ("probabilities", 0.25 * 0.8 + 0.75 * 0.4, 0.25 * 0.2 + 0.75 * 0.6),
        ("log-probabilities", 0.8**0.25 * 0.4**0.75, 0.2**0.25 * 0.6**0.75),
    ],
)
def test_the_means_of_two(mean, first, second):
    members = [Table({n: [0.0, p, 1 - p, 0.0] for n in range(4)}) for p in (0.8, 0.4)]
    ensemble, batch = Ensemble(members, [1.0, 3.0], mean), prompts(START)
    rows, _ = ensemble.step(torch.tensor([START]), ensemble.start(batch))
    probabilities = rows.exp()[0].tolist()
    assert probabilities == pytest.approx([0.0, first / (first + second), second / (first + second), 0.0])
    assert sum(probabilities) == pytest.approx(1.0)


def test_states_have_names_of_their_own_and_are_reordered_together():
    ensemble = Ensemble([Table({n: [0.25] * 4 for n in range(4)})] * 2)
    state = ensemble.start(prompts(START, A, sources=[[1], [2]]))
    _, state = ensemble.step(torch.tensor([START, A]), state)
    assert {*state.live} == {"0.ids", "1.ids", f"0.{ALIGNMENT}", f"1.{ALIGNMENT}", ALIGNMENT}
    state = state.reorder(torch.tensor([1])).select_inputs(torch.tensor([1]))
    _, state = ensemble.step(torch.tensor([B]), state)
    assert state.live["0.ids"].tolist() == state.live["1.ids"].tolist() == [[A, B]]


def test_what_one_member_excludes_is_excluded_by_the_mean_of_log_probabilities_only():
    members = [Table({n: row for n in range(4)}) for row in ([0.0, 1.0, 0.0, 0.0], [0.0, 0.5, 0.5, 0.0])]
    for mean, probability in zip(MEANS, (0.25, 0.0), strict=True):
        ensemble = Ensemble(members, mean=mean)
        rows, _ = ensemble.step(torch.tensor([START]), ensemble.start(prompts(START)))
        assert math.exp(rows[0, B]) == pytest.approx(probability)


@pytest.mark.parametrize(
    ("sizes", "weights", "mean", "message"),
    [
        ([], None, "probabilities", "an ensemble of no models; name at least one"),
        ([4, 5], None, "probabilities", r"models of different vocabularies \(4, 5 tokens\); train them with one"),
        ([4, 4], [1.0], "probabilities", "1 weights for 2 models, the smallest 1.0; give each model a weight above 0"),
        ([4, 4], [1.0, 0.0], "probabilities", "2 weights for 2 models, the smallest 0.0"),
        ([4], None, "logits", "unknown mean 'logits'"),
    ],
)
def test_what_makes_no_ensemble_is_refused(sizes, weights, mean, message):
    steppers = [Table({n: [1 / size] * size for n in range(size)}) for size in sizes]
    with pytest.raises(FirthError, match=message):
        Ensemble(steppers, weights, mean)
