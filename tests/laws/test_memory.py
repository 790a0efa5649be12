"""Laws of what is remembered: how a text is cut makes no difference where the memory is long enough."""

import itertools

import pytest
import torch

from firth.backbones.transformer import TransformerBackbone
from firth.build import build
from firth.config import schema
from firth.errors import FirthError
from firth.families.stepper import NeuralStepper
from firth.nn.memory import CARRIED
from firth.types import Batch, Target, Tokens

TIME = 20
CUTS = {"halves": (0, 10, 20), "ragged": (0, 1, 8, 9, 20), "single": tuple(range(TIME + 1))}
CASES = list(itertools.product(["pre", "post", "sandwich"], CARRIED))


def system(memory, **change):
    options = {"width": 16, "depth": 2, "heads": 2, "spread": 0.3, "positions": "xl", "memory": memory, **change}
    config = schema.Neural(
        batching=schema.Contiguous(length=TIME),
        input=schema.TokenInput(spread=1.0),
        backbone=schema.Transformer(**options),
    )
    torch.manual_seed(0)
    return build(config, 30).eval()


def text(time=TIME, rows=3):
    ids = torch.randint(30, (rows, time))
    return Tokens(ids, torch.ones_like(ids, dtype=torch.bool))


def read(model, tokens, cut, state=None):
    """States of a text that is read piece by piece, and the state after it."""
    found = []
    for first, last in itertools.pairwise(cut):
        encoded = model.encode(Batch({"text": tokens}, {}).columns(first, last), state)
        found.append(encoded.states)
        state = encoded.state
    return torch.cat(found, 1), state


@torch.no_grad()
@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(("norm_at", "positions"), CASES)
def test_a_memory_as_long_as_the_text_is_the_whole_text(norm_at, positions, cut):
    model, tokens = system(TIME, norm_at=norm_at, positions=positions), text()
    whole, _ = read(model, tokens, (0, TIME))
    torch.testing.assert_close(read(model, tokens, CUTS[cut])[0], whole, atol=1e-5, rtol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(("norm_at", "positions"), CASES)
def test_cached_equals_uncached(norm_at, positions, cut):
    """Keys and values that are kept are those of the states that are remembered, also where some are forgotten."""
    model, tokens = system(4, norm_at=norm_at, positions=positions), text()
    wanted, _ = read(model, tokens, CUTS[cut])
    found, _ = read(model, tokens, CUTS[cut], model.backbone.start(3))
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-5)
    whole, _ = read(system(TIME, norm_at=norm_at, positions=positions), tokens, (0, TIME))
    assert not torch.allclose(wanted, whole)  # what is forgotten makes a difference


@torch.no_grad()
def test_scores_do_not_depend_on_the_cut_where_all_tokens_see_equally_far():
    """A window as long as the memory: each token sees as many before it, wherever a piece begins."""
    model, tokens = system(6, window=6), text()
    wanted, _ = read(model, tokens, (0, TIME))
    for cut in CUTS.values():
        torch.testing.assert_close(read(model, tokens, cut)[0], wanted, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_a_cache_holds_no_more_than_the_memory():
    """Over many steps: its buffers stop growing, and what it gives is what the memory gives."""
    model, tokens = system(5), text(100, rows=2)
    wanted, _ = read(model, tokens, range(101))
    found, state = read(model, tokens, range(101), model.backbone.start(2))
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-5)
    assert state.live["keys.0"].shape[2] <= 64


@torch.no_grad()
@pytest.mark.parametrize("positions", ["xl", "infused"])
def test_a_state_is_a_value(positions):
    stepper = NeuralStepper(system(4, positions=positions), 30)
    start = stepper.start(Batch({"text": text(9, rows=2)}, {}))
    first, after = stepper.step(torch.tensor([1, 2]), start)
    stepper.step(torch.tensor([3, 4]), start)
    torch.testing.assert_close(stepper.step(torch.tensor([1, 2]), start)[0], first)
    turned, after_turned = stepper.step(torch.tensor([2, 1, 2]), start.pick(torch.tensor([1, 0, 1])))
    torch.testing.assert_close(turned, first[[1, 0, 1]])
    wanted = stepper.step(torch.tensor([5, 6]), after)[0][[1, 0, 1]]
    torch.testing.assert_close(stepper.step(torch.tensor([6, 5, 6]), after_turned)[0], wanted)


def test_the_state_has_its_rows_first_and_no_gradient():
    model, tokens = system(6), text()
    state = None
    for first, last, held in ((0, 4, 4), (4, 9, 6), (9, 20, 6)):
        state = model.encode(Batch({"text": tokens}, {}).columns(first, last), state).state
        assert state.live["memory"].shape == (3, 2, held, 16)
        assert not state.live["memory"].requires_grad


def test_shorter_rows_remember_less_in_training():
    """In the early stages of training a row remembers as much as it is long itself, in proportion."""
    model, tokens = system(10).train(), text()
    state = model.encode(Batch({"text": tokens}, {}).columns(0, 10)).state
    assert state.live["memory"].shape[2] == 5
    assert model.eval().encode(Batch({"text": tokens}, {}).columns(0, 10)).state.live["memory"].shape[2] == 10


def test_products_in_bf16_are_carried_on_too():
    model, tokens = system(8).train(), text()
    with torch.autocast("cpu", torch.bfloat16):
        state = None
        for first, last in ((0, 10), (10, 20)):
            piece = Batch({"text": tokens}, {"text": Target(tokens.ids, torch.ones(tokens.ids.shape))})
            (term,), state = model(piece.columns(first, last), state)
    term.sum.backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters() if parameter.grad is not None)


@torch.no_grad()
def test_attention_can_be_looked_at():
    model, tokens = system(8), text()
    found = model.backbone.attention(model.input(tokens), tokens, 1)
    assert found.shape == (3, 2, TIME, TIME)
    torch.testing.assert_close(found.sum(-1), torch.ones(3, 2, TIME))
    assert not found.triu(1).any()


@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "rotary"])
def test_places_in_one_row_are_refused(positions):
    with pytest.raises(FirthError, match=r"are places in one row.*set backbone\.positions to one of xl"):
        TransformerBackbone(schema.Transformer(memory=4, positions=positions, context=8), 256)


def test_a_first_token_for_all_is_refused():
    with pytest.raises(FirthError, match="is forgotten in time"):
        system(4, central="first", window=2)


def test_rows_that_go_on_need_a_memory():
    with pytest.raises(FirthError, match=r"without memory carries nothing.*or backbone\.memory above 0"):
        system(0)
