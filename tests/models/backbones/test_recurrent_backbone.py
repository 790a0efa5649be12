"""Laws of the recurrent backbone."""

import torch

from firth.config.schema import Recurrent
from firth.models.backbones.recurrent import RecurrentBackbone
from firth.types import State, Tokens


def tokens(mask):
    return Tokens(mask.long(), mask)


def test_states_of_real_positions_do_not_depend_on_padding():
    backbone = RecurrentBackbone(Recurrent(width=6), 5)
    vectors, lengths = torch.randn(3, 7, 5), [7, 4, 1]
    mask = torch.arange(7) < torch.tensor(lengths)[:, None]
    other = vectors.where(mask[..., None], torch.tensor(99.0))
    actual, same = backbone(vectors, tokens(mask)), backbone(other, tokens(mask))
    torch.testing.assert_close(actual.states[mask], same.states[mask])
    for row, length in enumerate(lengths):
        alone = backbone(vectors[row : row + 1, :length], tokens(mask[row : row + 1, :length]))
        torch.testing.assert_close(alone.states[0], actual.states[row, :length])


def test_no_state_is_the_initial_state():
    backbone = RecurrentBackbone(Recurrent(width=6, depth=3), 5)
    vectors, mask = torch.randn(2, 4, 5), torch.ones(2, 4, dtype=torch.bool)
    start = backbone.start(2)
    assert backbone.width == 6
    assert {name: t.shape for name, t in start.live.items()} == {"hidden": (2, 3, 6), "cell": (2, 3, 6)}
    assert torch.equal(backbone(vectors, tokens(mask)).states, backbone(vectors, tokens(mask), start).states)


def test_the_state_carries_on_and_is_reordered():
    backbone = RecurrentBackbone(Recurrent(width=6), 5)
    vectors, mask = torch.randn(3, 6, 5), torch.ones(3, 6, dtype=torch.bool)
    whole = backbone(vectors, tokens(mask))
    state = backbone(vectors[:, :4], tokens(mask[:, :4])).state
    parents = torch.tensor([2, 2, 0])
    later = backbone(vectors[parents, 4:], tokens(mask[:, 4:]), state.reorder(parents))
    torch.testing.assert_close(later.states, whole.states[parents, 4:])


def test_what_belongs_to_the_source_is_passed_on():
    backbone = RecurrentBackbone(Recurrent(width=6), 5)
    start = State(source={"memory": torch.ones(2, 3)}, live=backbone.start(2).live)
    assert backbone(torch.randn(2, 4, 5), tokens(torch.ones(2, 4) > 0), start).state.source is start.source
