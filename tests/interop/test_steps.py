"""The steps between other programs' tensors and ours: each can be undone."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.interop.steps import Blank, Copies, Drop, Flip, Shape, Stack, Step, Turn, bring, give, joined, layer, same

sizes = st.integers(1, 5)


def tensors(*shapes):
    return [torch.randn(shape) for shape in shapes]


def assert_undone(changes, theirs):
    """Bringing in and giving out gives back every tensor exactly."""
    names = tuple(f"t{number}" for number in range(len(theirs)))
    step = Step("ours", names, changes)
    given_ones = dict(zip(names, theirs, strict=True))
    ours = step.bring(given_ones)
    back = step.give({"ours": ours})
    assert back.keys() == given_ones.keys()
    assert all(torch.equal(back[name], tensor) for name, tensor in given_ones.items())
    assert torch.equal(step.bring(back), ours)
    return ours


@settings(max_examples=20, deadline=None)
@given(rows=sizes, columns=sizes, heads=sizes, parts=sizes)
def test_every_change_can_be_undone(rows, columns, heads, parts):
    matrix = tensors((rows, columns))
    assert torch.equal(assert_undone((), matrix), matrix[0])
    assert torch.equal(assert_undone((Turn(),), matrix), matrix[0].T)
    assert torch.equal(assert_undone((Flip(),), matrix), matrix[0].flip(0))
    several = tensors(*[(rows, columns)] * parts)
    assert torch.equal(assert_undone((Stack(parts),), several), torch.cat(several))
    cube = tensors((rows, heads, columns))
    flat = Shape((rows, heads, columns), (rows, heads * columns))
    assert torch.equal(assert_undone((flat,), cube), cube[0].flatten(1))
    many = tensors(*[(rows, heads, columns)] * 3)
    stacked = assert_undone((flat, Turn(), Stack(3)), many)  # XLNet's queries, keys and values
    assert torch.equal(stacked, torch.cat([each.flatten(1).T for each in many]))


def test_rows_that_nothing_reads_come_back_as_zeros():
    table = torch.cat([torch.zeros(2, 3), torch.randn(4, 3)])
    assert torch.equal(assert_undone((Drop(2),), [table]), table[2:])


def test_a_tensor_of_several_names_is_read_from_the_first():
    first, second = tensors((3,), (3,))
    step = Step("ours", ("a", "b"), (Copies(2),))
    assert torch.equal(step.bring({"a": first, "b": second}), first)
    back = step.give({"ours": first})
    assert torch.equal(back["a"], first) and torch.equal(back["b"], first)
    assert back["a"].data_ptr() != back["b"].data_ptr()  # a file holds no two names of one memory


def test_a_blank_is_not_read_and_is_written_as_zeros():
    steps = [*same("table", "word"), Blank("unused", lambda ours: (len(ours["table"]), 2))]
    table = torch.randn(5, 3)
    assert bring(steps, {"word": table}).keys() == {"table"}
    found = give(steps, {"table": table})
    assert torch.equal(found["unused"], torch.zeros(5, 2)) and torch.equal(found["word"], table)


def test_tables_are_written_in_short():
    names = [step.theirs for step in joined("inputs", ["q", "k"])]
    assert names == [("q.weight", "k.weight"), ("q.bias", "k.bias")]
    assert [step.ours for step in layer("out", "dense", bias=False)] == ["out.weight"]
    theirs = {name: torch.randn(2, 3) for name in ("q.weight", "k.weight", "dense.weight")}
    steps = [*joined("inputs", ["q", "k"], bias=False), *layer("out", "dense", Turn(), bias=False)]
    ours = bring(steps, theirs)
    assert ours["inputs.weight"].shape == (4, 3) and ours["out.weight"].shape == (3, 2)
    assert all(torch.equal(tensor, theirs[name]) for name, tensor in give(steps, ours).items())


def test_what_does_not_become_one_tensor_is_a_fault():
    with pytest.raises(ValueError):
        Step("ours", ("a", "b")).bring(dict(zip("ab", tensors((2,), (2,)), strict=True)))
