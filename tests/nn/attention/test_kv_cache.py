"""A state with a KV cache is a value: a second step from it leaves the first one's result as it was."""

import torch

from firth.nn.attention.kv_cache import KVCache


def step(live, value):
    """The state after one more token, whose keys and values are all `value`; and what the layer attends to."""
    cache, new = KVCache(live, 1), torch.full((1, 2, 1, 3), float(value))
    keys, values = cache.extend(0, new, -new)
    return cache.live, keys[0, 0, :, 0].tolist(), values[0, 0, :, 0].tolist()


def test_two_steps_from_one_state_do_not_disturb_each_other():
    shared, _, _ = step(KVCache.start(1, 1, 2, 3, "cpu"), 1)
    first, keys, _ = step(shared, 2)
    second, other_keys, _ = step(shared, 3)
    assert (keys, other_keys) == ([1, 2], [1, 3])
    assert step(first, 4)[1:] == ([1, 2, 4], [-1, -2, -4])
    assert step(second, 5)[1:] == ([1, 3, 5], [-1, -3, -5])
