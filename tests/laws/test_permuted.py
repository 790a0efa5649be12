"""Laws of orders: nothing is told by what comes later in the order, whatever its place."""

from dataclasses import replace

import pytest
import torch

from firth.build import build
from firth.config import schema
from firth.errors import FirthError
from firth.families.permuted import LeftToRight
from firth.families.stepper import NeuralStepper
from firth.nn.streams import Asked
from firth.text.special import Special
from firth.types import Batch, Target, Tokens

TIME, ROWS, VOCABULARY = 12, 2, 30
POSITIONS = ["xl", "alibi", "t5", "none"]


def system(memory=0, sees="permuted", **change):
    options = {"width": 16, "depth": 2, "heads": 2, "spread": 0.3, "positions": "xl", "norm_at": "post", **change}
    config = schema.Neural(
        batching=schema.Contiguous(length=TIME) if memory else schema.Windows(length=TIME),
        input=schema.TokenInput(spread=1.0),
        backbone=schema.Transformer(sees=sees, memory=memory, **options),
        objective=schema.Permuted() if sees == "permuted" else schema.Causal(),
    )
    torch.manual_seed(0)
    return build(config, VOCABULARY).eval()


def text(rank=None):
    ids = torch.randint(VOCABULARY, (ROWS, TIME))
    return Tokens(ids, torch.ones_like(ids, dtype=torch.bool), rank=rank)


def orders():
    return torch.stack([torch.randperm(TIME) for _ in range(ROWS)])


def every(rank):
    """All places asked, none seeing itself."""
    return Asked(torch.arange(TIME).expand_as(rank), rank - 1)


@torch.no_grad()
@pytest.mark.parametrize("memory", [0, 7])
@pytest.mark.parametrize("positions", POSITIONS)
def test_the_identity_order_is_causal(positions, memory):
    """The first stream is that of a model that looks left, segment after segment."""
    model, left = system(memory, positions=positions), system(memory, sees="left", positions=positions)
    if positions == "t5":  # of which one that looks both ways has other ranges
        left.backbone.positions.both = True
    weights = {name: value for name, value in model.state_dict().items() if name != "backbone.query"}
    left.load_state_dict(weights)
    state = other = None
    for _ in range(3):
        tokens = text(torch.arange(TIME).expand(ROWS, -1))
        found = model.encode(Batch({"text": tokens}, {}), state)
        wanted = left.encode(Batch({"text": replace(tokens, rank=None)}, {}), other)
        torch.testing.assert_close(found.states, wanted.states, atol=1e-5, rtol=1e-5)
        state, other = found.state, wanted.state


@torch.no_grad()
@pytest.mark.parametrize("positions", POSITIONS)
def test_a_token_is_told_by_those_before_it_in_the_order_and_by_no_other(positions):
    model, rank = system(positions=positions), orders()
    tokens = text(rank)
    before = model.backbone.ask(model.input(tokens), tokens, every(rank)).states
    for place in range(TIME):
        ids = tokens.ids.clone()
        ids[:, place] = (ids[:, place] + 1) % VOCABULARY
        changed = replace(tokens, ids=ids)
        after = model.backbone.ask(model.input(changed), changed, every(rank)).states
        moved = (after - before).abs().amax(-1) > 1e-6
        assert torch.equal(moved, rank > rank[:, place, None])


@torch.no_grad()
def test_tokens_of_one_rank_see_each_other():
    model, rank = system(), torch.zeros(ROWS, TIME, dtype=torch.long)
    tokens = text(rank)
    found = model.encode(Batch({"text": tokens}, {})).states
    torch.testing.assert_close(found, model.encode(Batch({"text": replace(tokens, rank=None)}, {})).states)


def test_a_place_that_sees_nothing_takes_nothing_and_hurts_nothing():
    """Its attention is zero, not a mean over what it must not see, and no gradient is lost to it."""
    model, rank = system(), orders()
    tokens = text(rank)
    x, scene = model.backbone.enter(model.input(tokens), tokens, None, every(rank))
    block = model.backbone.blocks[0]
    weights = block.attention.inner.weights(x, block.given(x, scene))[:, :, TIME:]
    blind = rank == 0
    assert torch.equal(weights.movedim(1, 2)[blind], torch.zeros(ROWS, 2, TIME))
    torch.testing.assert_close(weights.movedim(1, 2)[~blind].sum(-1), torch.ones(ROWS * (TIME - 1), 2))
    found = block.attention.inner(x, block.given(x, scene))[:, TIME:]
    assert torch.equal(found[blind], block.attention.inner.output.bias.expand(ROWS, -1))
    model.backbone.ask(model.input(tokens), tokens, every(rank)).states.square().sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.backbone.parameters())


@torch.no_grad()
def test_documents_of_a_row_stand_alone():
    model, rank = system(), orders()
    marks = torch.tensor([[1] * 5 + [2] * 7] * ROWS)
    tokens = replace(text(rank), document=marks)
    together = model.backbone.ask(model.input(tokens), tokens, every(rank)._replace(document=marks)).states
    piece = Tokens(tokens.ids[:, 5:], tokens.mask[:, 5:], rank=rank[:, 5:])
    asked = Asked(torch.arange(7).expand(ROWS, -1), rank[:, 5:] - 1)
    alone = model.backbone.ask(model.input(piece), piece, asked).states
    torch.testing.assert_close(together[:, 5:], alone, atol=1e-5, rtol=1e-5)


def special():
    return Special(**{name: number for number, name in enumerate(Special.__dataclass_fields__)})


@torch.no_grad()
@pytest.mark.parametrize("memory", [4, 40])
def test_from_left_to_right_steps_give_what_scoring_gives(memory):
    model = LeftToRight(system(memory), special())
    tokens = text()
    batch = Batch({"text": tokens}, {"text": Target(tokens.ids.roll(-1, 1), torch.ones(ROWS, TIME))})
    state, wanted = None, []
    for place in range(TIME):
        encoded = model.encode(batch.columns(place, place + 1), state)
        wanted.append(model.log_probabilities(encoded.states[:, -1]))
        state = encoded.state
    stepper = NeuralStepper(model, VOCABULARY)
    state = stepper.start(batch.columns(0, 1))
    for place in range(TIME):
        found, state = stepper.step(tokens.ids[:, place], state)
        torch.testing.assert_close(found, wanted[place], atol=1e-5, rtol=1e-5)
    if memory > TIME:  # then it does not matter either that the text was read bit by bit
        surprises, _ = model.surprises(batch)
        at_once = torch.stack(wanted, 1).gather(2, batch.targets["text"].values[..., None]).squeeze(-1)
        torch.testing.assert_close(-surprises, at_once, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_what_comes_next_is_not_known_before_it_is_read():
    model, tokens = LeftToRight(system(8), special()), text()
    before = model.encode(Batch({"text": tokens}, {})).states
    ids = tokens.ids.clone()
    ids[:, 6:] = (ids[:, 6:] + 1) % VOCABULARY
    after = model.encode(Batch({"text": replace(tokens, ids=ids)}, {})).states
    torch.testing.assert_close(before[:, :6], after[:, :6])
    assert not torch.allclose(before[:, 6], after[:, 6])


def test_every_weight_learns_also_from_text_without_segments():
    """Training in several processes needs a gradient for each of them."""
    model, rank = system(8, relative_segments=True, attention_bias=False).train(), orders()
    tokens = text(rank)
    ((term,), _) = model(Batch({"text": tokens}, {"text": Target(tokens.ids, (rank > 8).float())}))
    term.sum.backward()
    assert [name for name, parameter in model.named_parameters() if parameter.grad is None] == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"positions": "learned"}, "are places in one row"),
        ({"positions": "infused"}, "infused places know no token"),
        ({"positions": "none", "relative_segments": True}, "as relative segments do"),
    ],
)
def test_places_that_an_order_contradicts_are_refused(change, message):
    with pytest.raises(FirthError, match=message):
        system(**change)


def test_an_order_needs_a_network_that_sees_by_it():
    backbone = schema.Transformer(sees="left", positions="xl")
    config = schema.Neural(batching=schema.Windows(), backbone=backbone, objective=schema.Permuted())
    with pytest.raises(FirthError, match=r"set backbone\.sees=permuted"):
        build(config, 20)
