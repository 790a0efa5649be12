"""Laws of the pointer-generator head."""

import torch

from firth.config.schema import PointerGeneratorHead as Config
from firth.models.heads.lm_head import CopyDistribution
from firth.models.heads.pointer_generator import PointerGeneratorHead
from firth.types import Target


def test_the_loss_is_that_of_the_mixture_which_sums_to_one():
    torch.manual_seed(0)
    head, states = PointerGeneratorHead(Config(tied=False), 9, 4, 4), torch.randn(2, 5, 4)
    copying = CopyDistribution(torch.rand(2, 5, 3), torch.tensor([[1, 8, 1], [2, 3, 4]]))
    target = Target(torch.tensor([[1, 8, 0, 5, 1], [2, 2, 7, 4, 3]]), torch.rand(2, 5))
    logs = head.log_probabilities(states, None, copying)
    torch.testing.assert_close(logs.exp().sum(-1), torch.ones(2, 5))
    picked = logs.gather(-1, target.values[..., None]).squeeze(-1)
    torch.testing.assert_close(head.loss(states, target, None, copying), -(picked * target.weight).sum())
    gate = head.gate(states[0, 1]).sigmoid().squeeze()  # token 8 is in the source once, in the middle
    generated = torch.nn.functional.linear(states[0, 1], head.weight, head.bias).softmax(-1)[8]
    copied = copying.weights[0, 1, 1] / copying.weights[0, 1].sum()
    torch.testing.assert_close(logs[0, 1, 8].exp(), gate * generated + (1 - gate) * copied)
