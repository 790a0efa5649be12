"""Word states from token states, against a loop over the words."""

import pytest
import torch

from firth.nn.words import SUBWORD_POOLINGS, pool_words

WORD_OF = torch.tensor([[-1, 0, 0, 1, 2, 2, -1], [-1, 0, 1, 1, 1, -1, -1], [-1, -1, -1, -1, -1, -1, -1]])
DEFINITIONS = {"first": lambda part: part[0], "last": lambda part: part[-1], "mean": lambda part: part.mean(0)}


@pytest.mark.parametrize("name", SUBWORD_POOLINGS)
def test_a_word_is_pooled_from_its_own_tokens(name):
    states = torch.randn(3, 7, 5, requires_grad=True)
    words, mask = pool_words(states, WORD_OF, name)
    assert mask.tolist() == [[True] * 3, [True, True, False], [False] * 3]
    for row in range(3):
        for word in range(3):
            part = states[row][WORD_OF[row] == word]
            expected = DEFINITIONS[name](part) if len(part) else torch.zeros(5)
            torch.testing.assert_close(words[row, word], expected)
    words.sum().backward()
    assert not states.grad[WORD_OF < 0].any()
