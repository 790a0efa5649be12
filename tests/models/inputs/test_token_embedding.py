"""Laws of the inputs."""

import torch

from firth.config.schema import TokenInput
from firth.models.inputs.token_embedding import TokenEmbedding
from firth.types import Tokens

IDS = torch.tensor([[1, 4, 1], [0, 1, 4]])


def test_an_embedding_per_token_and_gradients_summed_over_its_positions():
    embed = TokenEmbedding(TokenInput(), 6, 3)
    output_gradients = torch.randn(2, 3, 3)
    vectors = embed(Tokens(IDS, IDS >= 0))
    assert torch.equal(vectors, embed.weight[IDS])
    vectors.backward(output_gradients)
    expected = torch.stack([(output_gradients * (token == IDS)[..., None]).sum((0, 1)) for token in range(6)])
    torch.testing.assert_close(embed.weight.grad, expected)


def test_initial_embeddings_are_uniform_within_the_range():
    weight = TokenEmbedding(TokenInput(init_range=0.3), 200, 30).weight.detach()
    assert weight.abs().max() <= 0.3
    assert abs(weight.std() - 0.3 / 3**0.5) < 0.01


def test_dropout_only_in_training():
    embed = TokenEmbedding(TokenInput(dropout=0.5), 6, 300)
    assert 0.4 < (embed(Tokens(IDS, IDS >= 0)) == 0).float().mean() < 0.6
    assert torch.equal(embed.eval()(Tokens(IDS, IDS >= 0)), embed.weight[IDS])
