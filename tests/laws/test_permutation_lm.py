"""Laws of permutation language modelling: no prediction depends on what comes later in the factorisation order."""

from dataclasses import replace

import pytest
import torch

from firth.config import schema
from firth.errors import FirthError
from firth.models.build import build
from firth.nn.attention.two_stream import QueryStream
from firth.pipelines.lm_stepper import NeuralStepper
from firth.pipelines.permutation_lm import LeftToRight
from firth.tokenizers.special_tokens import SpecialTokens
from firth.types import Batch, Target, Tokens
from transformer_options import transformer

TIME, ROWS, VOCABULARY = 12, 2, 30
POSITIONS = ["xl", "alibi", "t5", "none"]


def system(memory=0, mask="permutation", **change):
    options = {
        "width": 16,
        "depth": 2,
        "heads": 2,
        "init_std": 0.3,
        "positions": "xl",
        "norm_placement": "post",
        **change,
    }
    config = schema.Neural(
        batching=schema.Contiguous(length=TIME) if memory else schema.Windows(length=TIME),
        inputs=schema.Inputs(text=schema.TokenInput(init_range=1.0)),
        backbone=transformer(mask=mask, memory=memory, **options),
        objective=schema.PermutationLM() if mask == "permutation" else schema.CausalLM(),
    )
    torch.manual_seed(0)
    return build(config, VOCABULARY).eval()


def text(rank=None):
    ids = torch.randint(VOCABULARY, (ROWS, TIME))
    return Tokens(ids, torch.ones_like(ids, dtype=torch.bool), rank=rank)


def orders():
    return torch.stack([torch.randperm(TIME) for _ in range(ROWS)])


def every(rank):
    """A query for every position, none attending to its own token."""
    return QueryStream(torch.arange(TIME).expand_as(rank), rank - 1)


@torch.no_grad()
@pytest.mark.parametrize("memory", [0, 7])
@pytest.mark.parametrize("positions", POSITIONS)
def test_the_identity_order_is_causal(positions, memory):
    """The content stream is that of a causal model, segment after segment."""
    model, left = system(memory, positions=positions), system(memory, mask="causal", positions=positions)
    if positions == "t5":  # whose buckets differ in bidirectional models
        left.backbone.positions.bidirectional = True
    weights = {name: value for name, value in model.state_dict().items() if name != "backbone.query_embedding"}
    left.load_state_dict(weights)
    state = other = None
    for _ in range(3):
        tokens = text(torch.arange(TIME).expand(ROWS, -1))
        actual = model.encode(Batch({"text": tokens}, {}), state)
        expected = left.encode(Batch({"text": replace(tokens, rank=None)}, {}), other)
        torch.testing.assert_close(actual.states, expected.states, atol=1e-5, rtol=1e-5)
        state, other = actual.state, expected.state


@torch.no_grad()
@pytest.mark.parametrize("positions", POSITIONS)
def test_a_token_is_predicted_from_those_before_it_in_the_order_alone(positions):
    model, rank = system(positions=positions), orders()
    tokens = text(rank)
    before = model.backbone.forward_two_stream(model.embed("text", tokens), tokens, every(rank)).states
    for position in range(TIME):
        ids = tokens.ids.clone()
        ids[:, position] = (ids[:, position] + 1) % VOCABULARY
        changed = replace(tokens, ids=ids)
        after = model.backbone.forward_two_stream(model.embed("text", changed), changed, every(rank)).states
        moved = (after - before).abs().amax(-1) > 1e-6
        assert torch.equal(moved, rank > rank[:, position, None])


@torch.no_grad()
def test_tokens_of_one_rank_attend_to_each_other():
    model, rank = system(), torch.zeros(ROWS, TIME, dtype=torch.long)
    tokens = text(rank)
    actual = model.encode(Batch({"text": tokens}, {})).states
    torch.testing.assert_close(actual, model.encode(Batch({"text": replace(tokens, rank=None)}, {})).states)


def test_a_query_that_attends_to_nothing_gives_zeros():
    """Its attention output is zero, not a mean over masked keys, and no gradient is lost to it."""
    model, rank = system(), orders()
    tokens = text(rank)
    x, context = model.backbone.prepare(model.embed("text", tokens), tokens, None, every(rank))
    block = model.backbone.blocks[0]
    weights = block.attention.sublayer.weights(x, block.with_kv_states(x, context))[:, :, TIME:]
    blind = rank == 0
    assert torch.equal(weights.movedim(1, 2)[blind], torch.zeros(ROWS, 2, TIME))
    torch.testing.assert_close(weights.movedim(1, 2)[~blind].sum(-1), torch.ones(ROWS * (TIME - 1), 2))
    actual = block.attention.sublayer(x, block.with_kv_states(x, context))[:, TIME:]
    assert torch.equal(actual[blind], block.attention.sublayer.out_proj.bias.expand(ROWS, -1))
    model.backbone.forward_two_stream(model.embed("text", tokens), tokens, every(rank)).states.square().sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.backbone.parameters())


@torch.no_grad()
def test_packed_documents_are_independent():
    model, rank = system(), orders()
    documents = torch.tensor([[1] * 5 + [2] * 7] * ROWS)
    tokens = replace(text(rank), document=documents)
    together = model.backbone.forward_two_stream(
        model.embed("text", tokens), tokens, every(rank)._replace(document=documents)
    ).states
    piece = Tokens(tokens.ids[:, 5:], tokens.mask[:, 5:], rank=rank[:, 5:])
    query_stream = QueryStream(torch.arange(7).expand(ROWS, -1), rank[:, 5:] - 1)
    alone = model.backbone.forward_two_stream(model.embed("text", piece), piece, query_stream).states
    torch.testing.assert_close(together[:, 5:], alone, atol=1e-5, rtol=1e-5)


def special():
    return SpecialTokens(**{name: number for number, name in enumerate(SpecialTokens.__dataclass_fields__)})


@torch.no_grad()
@pytest.mark.parametrize("memory", [4, 40])
def test_from_left_to_right_steps_give_what_scoring_gives(memory):
    model = LeftToRight(system(memory), special())
    tokens = text()
    batch = Batch({"text": tokens}, {"text": Target(tokens.ids.roll(-1, 1), torch.ones(ROWS, TIME))})
    state, expected = None, []
    for position in range(TIME):
        encoded = model.encode(batch.slice_time(position, position + 1), state)
        expected.append(model.log_probabilities(encoded.states[:, -1]))
        state = encoded.state
    stepper = NeuralStepper(model, VOCABULARY)
    state = stepper.start(batch.slice_time(0, 1))
    for position in range(TIME):
        actual, state = stepper.step(tokens.ids[:, position], state)
        torch.testing.assert_close(actual, expected[position], atol=1e-5, rtol=1e-5)
    if memory > TIME:  # then single steps equal the whole text too
        nll, _ = model.nll(batch)
        at_once = torch.stack(expected, 1).gather(2, batch.targets["text"].values[..., None]).squeeze(-1)
        torch.testing.assert_close(-nll, at_once, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_the_next_token_does_not_change_its_own_prediction():
    model, tokens = LeftToRight(system(8), special()), text()
    before = model.encode(Batch({"text": tokens}, {})).states
    ids = tokens.ids.clone()
    ids[:, 6:] = (ids[:, 6:] + 1) % VOCABULARY
    after = model.encode(Batch({"text": replace(tokens, ids=ids)}, {})).states
    torch.testing.assert_close(before[:, :6], after[:, :6])
    assert not torch.allclose(before[:, 6], after[:, 6])


def test_every_weight_has_a_gradient_also_without_segments():
    """Training in several processes needs a gradient for each of them."""
    model, rank = system(8, relative_segments=True, attention_bias=False).train(), orders()
    tokens = text(rank)
    ((term,), _) = model(Batch({"text": tokens}, {"text": Target(tokens.ids, (rank > 8).float())}))
    term.sum.backward()
    assert [name for name, parameter in model.named_parameters() if parameter.grad is None] == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"positions": "learned"}, "supports neither segment recurrence nor two-stream"),
        ({"positions": "infused"}, "does not support two-stream attention"),
        (
            {"positions": "none", "relative_segments": True},
            "unknown key .positions.segments",
        ),
    ],
)
def test_positions_that_do_not_support_permutations_are_refused(change, message):
    with pytest.raises(FirthError, match=message):
        system(**change)


def test_permutation_lm_needs_a_permutation_mask():
    backbone = transformer(mask="causal", positions="xl")
    config = schema.Neural(batching=schema.Windows(), backbone=backbone, objective=schema.PermutationLM())
    with pytest.raises(FirthError, match=r"set backbone\.mask=permutation"):
        build(config, 20)
