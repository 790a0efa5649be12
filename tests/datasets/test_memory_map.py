"""Memory-mapped arrays: what is written is read, by us and by safetensors; damage is a one-line error."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file

from firth.datasets import memory_map
from firth.errors import FirthError

ARRAYS = {
    "far": np.array([1, -2, 1 << 40]),
    "grid": np.arange(12, dtype=np.int32).reshape(4, 3)[:, ::-1],  # not as it lies in memory
    "none": np.zeros((0, 5), np.float32),
    "real": np.linspace(-1, 1, 7, dtype=np.float32),
    "text": np.frombuffer(b"abc", np.uint8),
}
ABOUT = {"kind": "test", "words": ["ä", 1, None]}


def anything(arrays, about):
    pass


@pytest.mark.parametrize("mode", ["r", "c"])
def test_what_is_written_is_read(tmp_path, mode):
    memory_map.write(tmp_path / "a", ARRAYS, ABOUT)
    arrays, about = memory_map.read(tmp_path / "a", "a test", anything, mode)
    assert about == ABOUT and list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert np.array_equal(arrays[name], array) and arrays[name].dtype == array.dtype
        assert arrays[name].flags.writeable == (mode == "c" or not array.size)
    others = load_file(tmp_path / "a")
    assert all(np.array_equal(others[name], array) for name, array in ARRAYS.items())


def test_what_is_changed_in_memory_leaves_the_file_alone(tmp_path):
    memory_map.write(tmp_path / "a", ARRAYS, ABOUT)
    memory_map.read(tmp_path / "a", "a test", anything, "c")[0]["real"][:] = 9
    assert np.array_equal(memory_map.read(tmp_path / "a", "a test", anything)[0]["real"], ARRAYS["real"])


def test_many_rows_are_written_in_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(memory_map, "_BLOCK", 40)
    memory_map.write(tmp_path / "a", ARRAYS, ABOUT)
    assert np.array_equal(memory_map.read(tmp_path / "a", "a test", anything)[0]["grid"], ARRAYS["grid"])


@pytest.mark.parametrize("offset", range(1, 85, 7))
def test_a_bit_that_differs_is_found_by_the_checksum(tmp_path, offset):
    """Anywhere in the arrays, or in the metadata."""
    memory_map.write(tmp_path / "a", ARRAYS, ABOUT)
    memory_map.verify(tmp_path / "a")
    content = (tmp_path / "a").read_bytes()
    at = len(content) - offset if offset < 84 else content.index(b"test")
    (tmp_path / "a").write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
    with pytest.raises(FirthError, match="its checksum does not match"):
        memory_map.verify(tmp_path / "a")


@given(st.data())
@settings(deadline=None, max_examples=150)
def test_no_damage_gives_anything_but_arrays_or_one_line(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("damaged") / "a"
    memory_map.write(path, ARRAYS, ABOUT)
    content = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    else:
        for _ in range(data.draw(st.integers(1, 3))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    try:
        arrays, _ = memory_map.read(path, "a test", anything)
        assert all(array.sum() is not None for array in arrays.values())  # every byte of them is in the file
    except FirthError as error:
        assert "not a test that firth wrote" in str(error)


def test_a_check_that_fails_and_a_missing_file_are_reported(tmp_path):
    def refuse(arrays, about):
        raise ValueError

    memory_map.write(tmp_path / "a", ARRAYS, ABOUT)
    with pytest.raises(FirthError, match="not a test that firth wrote, or damaged"):
        memory_map.read(tmp_path / "a", "a test", refuse)
    with pytest.raises(FirthError, match="cannot be read"):
        memory_map.read(tmp_path / "b", "a test", anything)
