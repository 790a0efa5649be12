"""Laws of segment recurrence: segment boundaries make no difference if the memory is long enough."""

import itertools

import pytest
import torch

from firth.config import schema
from firth.errors import FirthError
from firth.models.backbones.transformer import TransformerBackbone
from firth.models.build import build
from firth.nn.positions import POSITION_ENCODINGS
from firth.pipelines.lm_stepper import NeuralStepper
from firth.types import Batch, Target, Tokens
from transformer_options import transformer

TIME = 20
CUTS = {"halves": (0, 10, 20), "ragged": (0, 1, 8, 9, 20), "single": tuple(range(TIME + 1))}
CASES = list(
    itertools.product(
        ["pre", "post", "sandwich"],
        [kind.kind for kind, encoding in POSITION_ENCODINGS.items() if encoding.reusable_states],
    )
)


def system(memory, **change):
    options = {"width": 16, "depth": 2, "heads": 2, "init_std": 0.3, "positions": "xl", "memory": memory, **change}
    config = schema.Neural(
        batching=schema.Contiguous(length=TIME),
        inputs=schema.Inputs(text=schema.TokenInput(init_range=1.0)),
        backbone=transformer(**options),
    )
    torch.manual_seed(0)
    return build(config, 30).eval()


def text(time=TIME, batch_size=3):
    ids = torch.randint(30, (batch_size, time))
    return Tokens(ids, torch.ones_like(ids, dtype=torch.bool))


def encode(model, tokens, cut, state=None):
    """Hidden states of a text encoded segment by segment, and the state after it."""
    actual = []
    for first, last in itertools.pairwise(cut):
        encoded = model.encode(Batch({"text": tokens}, {}).slice_time(first, last), state)
        actual.append(encoded.states)
        state = encoded.state
    return torch.cat(actual, 1), state


@torch.no_grad()
@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(("norm_placement", "positions"), CASES)
def test_a_memory_as_long_as_the_text_is_the_whole_text(norm_placement, positions, cut):
    model, tokens = system(TIME, norm_placement=norm_placement, positions=positions), text()
    whole, _ = encode(model, tokens, (0, TIME))
    torch.testing.assert_close(encode(model, tokens, CUTS[cut])[0], whole, atol=1e-5, rtol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(("norm_placement", "positions"), CASES)
def test_cached_equals_uncached(norm_placement, positions, cut):
    """The KV cache holds the keys and values of the memory, also where the memory drops states."""
    model, tokens = system(4, norm_placement=norm_placement, positions=positions), text()
    expected, _ = encode(model, tokens, CUTS[cut])
    actual, _ = encode(model, tokens, CUTS[cut], model.backbone.start(3))
    torch.testing.assert_close(actual, expected, atol=1e-5, rtol=1e-5)
    whole, _ = encode(system(TIME, norm_placement=norm_placement, positions=positions), tokens, (0, TIME))
    assert not torch.allclose(expected, whole)  # dropped states make a difference


@torch.no_grad()
def test_scores_do_not_depend_on_segments_if_all_tokens_attend_equally_far():
    """A window as long as the memory: each token attends to as many before it, wherever a segment begins."""
    model, tokens = system(6, window=6), text()
    expected, _ = encode(model, tokens, (0, TIME))
    for cut in CUTS.values():
        torch.testing.assert_close(encode(model, tokens, cut)[0], expected, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_a_cache_holds_no_more_than_the_memory():
    """Over many steps: its buffers stop growing, and what it gives is what the memory gives."""
    model, tokens = system(5), text(100, batch_size=2)
    expected, _ = encode(model, tokens, range(101))
    actual, state = encode(model, tokens, range(101), model.backbone.start(2))
    torch.testing.assert_close(actual, expected, atol=1e-5, rtol=1e-5)
    assert state.live["keys.0"].shape[2] <= 64


@torch.no_grad()
@pytest.mark.parametrize("positions", ["xl", "infused"])
def test_a_state_is_a_value(positions):
    stepper = NeuralStepper(system(4, positions=positions), 30)
    start = stepper.start(Batch({"text": text(9, batch_size=2)}, {}))
    first, after = stepper.step(torch.tensor([1, 2]), start)
    stepper.step(torch.tensor([3, 4]), start)
    torch.testing.assert_close(stepper.step(torch.tensor([1, 2]), start)[0], first)
    turned, after_turned = stepper.step(torch.tensor([2, 1, 2]), start.reorder(torch.tensor([1, 0, 1])))
    torch.testing.assert_close(turned, first[[1, 0, 1]])
    expected = stepper.step(torch.tensor([5, 6]), after)[0][[1, 0, 1]]
    torch.testing.assert_close(stepper.step(torch.tensor([6, 5, 6]), after_turned)[0], expected)


def test_the_state_is_batch_first_and_has_no_gradient():
    model, tokens = system(6), text()
    state = None
    for first, last, held in ((0, 4, 4), (4, 9, 6), (9, 20, 6)):
        state = model.encode(Batch({"text": tokens}, {}).slice_time(first, last), state).state
        assert state.live["memory"].shape == (3, 2, held, 16)
        assert not state.live["memory"].requires_grad


def test_shorter_sequences_have_a_shorter_memory_in_training():
    """In the early stages of a length curriculum the memory is proportional to the sequence length."""
    model, tokens = system(10).train(), text()
    state = model.encode(Batch({"text": tokens}, {}).slice_time(0, 10)).state
    assert state.live["memory"].shape[2] == 5
    assert model.eval().encode(Batch({"text": tokens}, {}).slice_time(0, 10)).state.live["memory"].shape[2] == 10


def test_the_memory_works_under_bf16_autocast():
    model, tokens = system(8).train(), text()
    with torch.autocast("cpu", torch.bfloat16):
        state = None
        for first, last in ((0, 10), (10, 20)):
            piece = Batch({"text": tokens}, {"text": Target(tokens.ids, torch.ones(tokens.ids.shape))})
            (term,), state = model(piece.slice_time(first, last), state)
    term.sum.backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters() if parameter.grad is not None)


@torch.no_grad()
def test_attention_weights():
    model, tokens = system(8), text()
    actual = model.backbone.attention_weights(model.embed("text", tokens), tokens, 1)
    assert actual.shape == (3, 2, TIME, TIME)
    torch.testing.assert_close(actual.sum(-1), torch.ones(3, 2, TIME))
    assert not actual.triu(1).any()


@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "rotary"])
def test_absolute_positions_are_refused(positions):
    with pytest.raises(
        FirthError, match=r"supports neither segment recurrence.*one of alibi, none, position-infused, relative, t5"
    ):
        TransformerBackbone(transformer(memory=4, positions=positions, context=8), 256)


def test_global_attention_of_the_first_token_is_refused():
    with pytest.raises(FirthError, match="drops the first token"):
        system(4, global_tokens="first", window=2)


def test_contiguous_batches_need_a_memory():
    with pytest.raises(FirthError, match=r"need segment recurrence.*or backbone\.memory\.kind=segment-recurrence"):
        system(0)
