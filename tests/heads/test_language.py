"""Laws of the language head."""

import pytest
import torch

from firth.config.schema import LanguageHead as Config
from firth.heads.language import LanguageHead
from firth.types import Target

CASES = [Config(tied=tied, bias=bias) for tied in (True, False) for bias in (True, False)]


@pytest.mark.parametrize("table_width", [4, 3])
@pytest.mark.parametrize("config", CASES, ids=str)
def test_the_loss_is_the_weighted_sum_of_log_probabilities(config, table_width):
    head, states = LanguageHead(config, 9, 4, table_width), torch.randn(2, 5, 4)
    table = torch.randn(9, table_width)
    target = Target(torch.randint(9, (2, 5)), torch.rand(2, 5))
    logs = head.log_probabilities(states, table)
    torch.testing.assert_close(logs.exp().sum(-1), torch.ones(2, 5))
    picked = logs.gather(-1, target.values[..., None]).squeeze(-1)
    torch.testing.assert_close(head.loss(states, target, table), -(picked * target.weight).sum())


def test_tied_holds_no_matrix_and_gives_the_table_its_gradient():
    head, table = LanguageHead(Config(tied=True), 9, 4, 4), torch.randn(9, 4, requires_grad=True)
    assert [name for name, _ in head.named_parameters()] == ["bias"]
    target = Target(torch.randint(9, (2, 5)), torch.ones(2, 5))
    head.loss(torch.randn(2, 5, 4), target, table).backward()
    assert table.grad.abs().sum() > 0
    with pytest.raises(TypeError, match="table"):
        head.loss(torch.randn(2, 5, 4), target, None)


def test_untied_needs_no_table():
    head = LanguageHead(Config(tied=False), 9, 4, 3)
    assert {name: tuple(p.shape) for name, p in head.named_parameters()} == {"weight": (9, 4), "bias": (9,)}
    assert head.log_probabilities(torch.randn(4), None).shape == (9,)


def test_start_values():
    head = LanguageHead(Config(tied=False), 200, 50, 50)
    assert not head.bias.any()
    assert head.weight.abs().max() <= 0.1
    assert abs(head.weight.detach().std() - 0.1 / 3**0.5) < 1e-3


@pytest.mark.parametrize("states_type", [torch.float32, torch.bfloat16])
def test_log_probabilities_under_bf16_autocast_are_float32(states_type):
    head, states = LanguageHead(Config(tied=False), 9, 4, 4), torch.randn(3, 4)
    with torch.autocast("cpu", torch.bfloat16):
        found = head.log_probabilities(states.to(states_type), None)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, head.log_probabilities(states, None), atol=0.02, rtol=0.02)


def test_rivals_are_drawn_in_training_alone():
    torch.manual_seed(0)
    head, states = LanguageHead(Config(sampled=5), 40, 4, 4), torch.randn(2, 5, 4)
    target, table = Target(torch.randint(40, (2, 5)), torch.ones(2, 5)), torch.randn(40, 4)
    exact = LanguageHead(Config(), 40, 4, 4).loss(states, target, table)
    assert head.state_dict().keys() == {"bias"}
    assert len({head.loss(states, target, table).item() for _ in range(5)}) > 1
    torch.testing.assert_close(head.eval().loss(states, target, table), exact)
    torch.testing.assert_close(LanguageHead(Config(sampled=40), 40, 4, 4).loss(states, target, table), exact)
