"""Weight conversion between Hugging Face and firth: every operation is invertible."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.interop.tensor_steps import (
    Concatenate,
    Conversion,
    Duplicate,
    FlipRows,
    Reshape,
    SkipRows,
    Transpose,
    ZeroFilled,
    concatenated,
    layer,
    renamed,
    tensors_from_hf,
    tensors_to_hf,
)

sizes = st.integers(1, 5)


def tensors(*shapes):
    return [torch.randn(shape) for shape in shapes]


def assert_invertible(operations, theirs):
    """Import then export gives back every tensor exactly."""
    names = tuple(f"t{number}" for number in range(len(theirs)))
    step = Conversion("ours", names, operations)
    checkpoint = dict(zip(names, theirs, strict=True))
    ours = step.from_hf(checkpoint)
    back = step.to_hf({"ours": ours})
    assert back.keys() == checkpoint.keys()
    assert all(torch.equal(back[name], tensor) for name, tensor in checkpoint.items())
    assert torch.equal(step.from_hf(back), ours)
    return ours


@settings(max_examples=20, deadline=None)
@given(rows=sizes, columns=sizes, heads=sizes, parts=sizes)
def test_every_operation_is_invertible(rows, columns, heads, parts):
    matrix = tensors((rows, columns))
    assert torch.equal(assert_invertible((), matrix), matrix[0])
    assert torch.equal(assert_invertible((Transpose(),), matrix), matrix[0].T)
    assert torch.equal(assert_invertible((FlipRows(),), matrix), matrix[0].flip(0))
    several = tensors(*[(rows, columns)] * parts)
    assert torch.equal(assert_invertible((Concatenate(parts),), several), torch.cat(several))
    cube = tensors((rows, heads, columns))
    flat = Reshape((rows, heads, columns), (rows, heads * columns))
    assert torch.equal(assert_invertible((flat,), cube), cube[0].flatten(1))
    many = tensors(*[(rows, heads, columns)] * 3)
    stacked = assert_invertible((flat, Transpose(), Concatenate(3)), many)  # XLNet's queries, keys and values
    assert torch.equal(stacked, torch.cat([each.flatten(1).T for each in many]))


def test_skipped_rows_are_exported_as_zeros():
    table = torch.cat([torch.zeros(2, 3), torch.randn(4, 3)])
    assert torch.equal(assert_invertible((SkipRows(2),), [table]), table[2:])


def test_a_duplicated_tensor_is_imported_from_its_first_name():
    first, second = tensors((3,), (3,))
    step = Conversion("ours", ("a", "b"), (Duplicate(2),))
    assert torch.equal(step.from_hf({"a": first, "b": second}), first)
    back = step.to_hf({"ours": first})
    assert torch.equal(back["a"], first) and torch.equal(back["b"], first)
    assert back["a"].data_ptr() != back["b"].data_ptr()  # safetensors refuses shared memory


def test_a_zero_filled_tensor_is_ignored_on_import_and_exported_as_zeros():
    conversions = [*renamed("table", "word"), ZeroFilled("unused", lambda ours: (len(ours["table"]), 2))]
    table = torch.randn(5, 3)
    assert tensors_from_hf(conversions, {"word": table}).keys() == {"table"}
    exported = tensors_to_hf(conversions, {"table": table})
    assert torch.equal(exported["unused"], torch.zeros(5, 2)) and torch.equal(exported["word"], table)


def test_shorthand_of_the_tables():
    names = [step.theirs for step in concatenated("inputs", ["q", "k"])]
    assert names == [("q.weight", "k.weight"), ("q.bias", "k.bias")]
    assert [step.ours for step in layer("out", "dense", bias=False)] == ["out.weight"]
    theirs = {name: torch.randn(2, 3) for name in ("q.weight", "k.weight", "dense.weight")}
    conversions = [*concatenated("inputs", ["q", "k"], bias=False), *layer("out", "dense", Transpose(), bias=False)]
    ours = tensors_from_hf(conversions, theirs)
    assert ours["inputs.weight"].shape == (4, 3) and ours["out.weight"].shape == (3, 2)
    assert all(torch.equal(tensor, theirs[name]) for name, tensor in tensors_to_hf(conversions, ours).items())


def test_a_conversion_that_does_not_give_one_tensor_is_an_error():
    with pytest.raises(ValueError):
        Conversion("ours", ("a", "b")).from_hf(dict(zip("ab", tensors((2,), (2,)), strict=True)))
