"""Our language model is the plain PyTorch one: the same outputs and gradients for the same weights."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from firth.config import schema
from firth.models.backbones.recurrent import RecurrentBackbone
from firth.models.heads.lm_head import LMHead
from firth.models.inputs.token_embedding import TokenEmbedding
from firth.nn.recurrent import RecurrentLayers
from firth.objectives.causal_lm import CausalLMObjective
from firth.types import Batch, Target, Tokens

VOCABULARY, ROWS, TIME = 50, 4, 7


@pytest.mark.parametrize(("depth", "width"), [(1, 6), (2, 6), (3, 4)])
def test_layers_take_the_weights_of_torchs_lstm_and_give_its_outputs_and_gradients(depth, width):
    peer = nn.LSTM(5, width, depth, batch_first=True)
    layers = RecurrentLayers(schema.Recurrent(width=width, depth=depth), 5)
    layers.load_state_dict(peer.state_dict())
    x, hidden, cell = torch.randn(3, 6, 5), torch.randn(depth, 3, width), torch.randn(depth, 3, width)
    expected, end = peer(x, (hidden, cell))
    states, live = layers(x, {"hidden": hidden.transpose(0, 1), "cell": cell.transpose(0, 1)})
    torch.testing.assert_close(states, expected)
    actual = live["hidden"], live["cell"]
    torch.testing.assert_close(actual, tuple(tensor.transpose(0, 1) for tensor in end))
    output_gradients = torch.randn_like(states)
    expected.backward(output_gradients)
    states.backward(output_gradients)
    for (name, ours), theirs in zip(layers.named_parameters(), peer.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad, msg=name)


def plain_gradients(model: nn.ModuleDict, ids, values, weight):
    """Loss and gradients of the model's own parameters, by torch's plain functions."""
    layers = model["backbone"].layers
    config = layers.config
    peer = nn.LSTM(layers.weight_ih_l0.shape[1], config.width, config.depth, batch_first=True)
    tensors = {name: p.detach().clone().requires_grad_() for name, p in model.named_parameters()}
    own = {name.removeprefix("backbone.layers."): t for name, t in tensors.items() if "layers" in name}
    states, _ = torch.func.functional_call(peer, own, F.embedding(ids, tensors["inputs.text.weight"]))
    if "head.projection.weight" in tensors:
        states = F.linear(states, tensors["head.projection.weight"])
    matrix = tensors.get("head.weight", tensors["inputs.text.weight"])
    logits = F.linear(states, matrix, tensors["head.bias"])
    losses = F.cross_entropy(logits.flatten(0, 1), values.flatten(), reduction="none")
    loss = (losses * weight.flatten()).sum() / weight.sum()
    loss.backward()
    return loss, {name: tensor.grad for name, tensor in tensors.items()}


@pytest.mark.parametrize(("tied", "table_width"), [(True, 6), (True, 4), (False, 6), (False, 4)])
def test_the_whole_model_has_the_loss_and_gradients_of_plain_torch(tied, table_width):
    embed = TokenEmbedding(schema.TokenInput(), VOCABULARY, table_width)
    backbone = RecurrentBackbone(schema.Recurrent(width=6), table_width)
    head = LMHead(schema.LMHead(tied=tied), VOCABULARY, 6, table_width)
    model = nn.ModuleDict({"inputs": nn.ModuleDict({"text": embed}), "backbone": backbone, "head": head})
    ids, values = torch.randint(VOCABULARY, (2, ROWS, TIME))
    weight = torch.randint(2, (ROWS, TIME)).float()
    batch = Batch({"text": Tokens(ids, torch.ones(ROWS, TIME))}, {"text": Target(values, weight)})
    encoded = backbone(embed(batch.streams["text"]), batch.streams["text"])
    system = SimpleNamespace(encode=lambda *_: encoded, lm_head=head, embedding_weight=embed.weight)
    (term,), _ = CausalLMObjective(schema.Neural(), 6).terms(system, batch, None)
    loss = term.sum / term.count
    loss.backward()
    expected, gradients = plain_gradients(model, ids, values, weight)
    torch.testing.assert_close(loss, expected)
    actual = {name: p.grad for name, p in model.named_parameters()}
    torch.testing.assert_close(actual, gradients)
