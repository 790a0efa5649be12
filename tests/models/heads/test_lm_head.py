"""Laws of the LM head."""

import pytest
import torch

from firth.config.schema import Contiguous, Neural, Recurrent
from firth.config.schema import LMHead as Config
from firth.models.build import build
from firth.models.heads.lm_head import LMHead
from firth.types import Batch, Target, Tokens

CASES = [Config(tied=tied, bias=bias) for tied in (True, False) for bias in (True, False)]


@pytest.mark.parametrize("embedding_width", [4, 3])
@pytest.mark.parametrize("config", CASES, ids=str)
def test_the_loss_is_the_weighted_sum_of_log_probabilities(config, embedding_width):
    head, states = LMHead(config, 9, 4, embedding_width), torch.randn(2, 5, 4)
    embeddings = torch.randn(9, embedding_width)
    target = Target(torch.randint(9, (2, 5)), torch.rand(2, 5))
    logs = head.log_probabilities(states, embeddings)
    torch.testing.assert_close(logs.exp().sum(-1), torch.ones(2, 5))
    picked = logs.gather(-1, target.values[..., None]).squeeze(-1)
    torch.testing.assert_close(head.loss(states, target, embeddings), -(picked * target.weight).sum())


def test_a_tied_head_has_no_weight_and_gives_the_embeddings_their_gradient():
    head, embeddings = LMHead(Config(tied=True), 9, 4, 4), torch.randn(9, 4, requires_grad=True)
    assert [name for name, _ in head.named_parameters()] == ["bias"]
    target = Target(torch.randint(9, (2, 5)), torch.ones(2, 5))
    head.loss(torch.randn(2, 5, 4), target, embeddings).backward()
    assert embeddings.grad.abs().sum() > 0
    with pytest.raises(TypeError, match="token embeddings"):
        head.loss(torch.randn(2, 5, 4), target, None)


def test_an_untied_head_needs_no_embeddings():
    head = LMHead(Config(tied=False), 9, 4, 3)
    assert {name: tuple(p.shape) for name, p in head.named_parameters()} == {"weight": (9, 4), "bias": (9,)}
    assert head.log_probabilities(torch.randn(4), None).shape == (9,)


def test_initial_weights():
    head = LMHead(Config(tied=False), 200, 50, 50)
    assert not head.bias.any()
    assert head.weight.abs().max() <= 0.1
    assert abs(head.weight.detach().std() - 0.1 / 3**0.5) < 1e-3


@pytest.mark.parametrize("states_type", [torch.float32, torch.bfloat16])
def test_log_probabilities_under_bf16_autocast_are_float32(states_type):
    head, states = LMHead(Config(tied=False), 9, 4, 4), torch.randn(3, 4)
    with torch.autocast("cpu", torch.bfloat16):
        actual = head.log_probabilities(states.to(states_type), None)
    assert actual.dtype == torch.float32
    torch.testing.assert_close(actual, head.log_probabilities(states, None), atol=0.02, rtol=0.02)


def test_negatives_are_sampled_in_training_alone():
    torch.manual_seed(0)
    head, states = LMHead(Config(sampled_softmax=5), 40, 4, 4), torch.randn(2, 5, 4)
    target, embeddings = Target(torch.randint(40, (2, 5)), torch.ones(2, 5)), torch.randn(40, 4)
    exact = LMHead(Config(), 40, 4, 4).loss(states, target, embeddings)
    assert head.state_dict().keys() == {"bias"}
    assert len({head.loss(states, target, embeddings).item() for _ in range(5)}) > 1
    torch.testing.assert_close(head.eval().loss(states, target, embeddings), exact)
    torch.testing.assert_close(LMHead(Config(sampled_softmax=40), 40, 4, 4).loss(states, target, embeddings), exact)


def test_a_tied_output_trains_the_embeddings_of_tokens_that_are_not_in_the_input():
    """An input embedding that is not read has no gradient from the input side: what it has comes through the output."""
    config = Neural(batching=Contiguous(batch_size=1, length=4), backbone=Recurrent(width=6, depth=1), head=Config())
    system, ids = build(config, 9), torch.tensor([[3, 4, 3, 4]])
    batch = Batch({"text": Tokens(ids, ids > 0)}, {"text": Target(ids.flip(1), torch.ones(1, 4))})
    (term,), _ = system(batch)
    term.sum.backward()
    assert (system.inputs["text"].weight.grad.abs().sum(1) > 0).all()
