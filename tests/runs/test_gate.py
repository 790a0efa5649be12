"""The gate of a folder, and the types of its JSON files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, NotRequired, Required, TypedDict

import numpy as np
import pytest

from firth.errors import FirthError
from firth.runs import atomic_files, json_files, weights
from firth.runs.gate import Gate
from firth.runs.json_files import Natural


@pytest.fixture
def gate(tmp_path):
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    (tmp_path / "folder" / "file").write_text("old")
    (tmp_path / "outside").write_text("outside")
    return Gate(tmp_path / "folder")


@pytest.mark.parametrize("name", ["../outside", "inner/../../outside", "/etc/hostname", "a\0b"])
def test_names_that_lead_out_are_refused(gate, name):
    for action in (gate.exists, gate.read, gate.remove, gate.names, lambda name: gate.replace(name, b"")):
        with pytest.raises(FirthError, match="not in this folder"):
            action(name)


def test_what_is_there_is_read_replaced_and_removed(gate):
    assert gate.exists("file") and not gate.exists("other") and not gate.exists("none/file")
    gate.replace("inner/new", [b"one", b"two"])
    assert gate.read("inner/new") == b"onetwo" and gate.names("inner") == ["new"] and gate.names("none") == []
    gate.remove("inner/new")
    gate.remove("inner/new")
    assert gate.below("inner").names() == []


def test_a_link_on_the_way_is_named(gate, tmp_path):
    (gate.path / "away").symlink_to(tmp_path)
    for action in (gate.exists, gate.read, gate.remove, lambda name: gate.replace(name, b"new")):
        with pytest.raises(FirthError, match=f"{gate.path / 'away'}: a link"):
            raise_where(action, "away/outside")
    assert (tmp_path / "outside").read_text() == "outside"


def raise_where(action, name):
    """The error as a user reads it."""
    try:
        action(name)
    except FirthError as error:
        raise FirthError(str(error)) from None


def test_the_folder_itself_may_be_a_link_that_the_user_named(gate, tmp_path):
    (tmp_path / "mine").symlink_to(gate.path)
    Gate(tmp_path / "mine").replace("file", b"new")
    assert (gate.path / "file").read_text() == "new"


def test_another_name_of_a_file_keeps_its_content(gate, tmp_path):
    os.link(gate.path / "file", tmp_path / "second")
    with pytest.raises(FirthError, match="hard link"):
        gate.append("file")
    gate.replace("file", b"new")
    assert (tmp_path / "second").read_text() == "old" and gate.append("file").write(b"er") == 2
    assert gate.read("file") == b"newer"


def test_a_folder_is_removed_only_with_files_of_its_own(gate):
    for name in ("a", "b", "mine"):
        (gate.path / "inner" / name).write_text(name)
    with pytest.raises(FirthError, match="not a file of a checkpoint"):
        gate.remove_folder("inner", ("a", "b"))
    assert gate.names("inner") == ["a", "b", "mine"]
    gate.remove("inner/mine")
    gate.remove_folder("inner", ("a", "b", "c"))
    assert gate.names() == ["file"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(gate, monkeypatch):
    def full(descriptor: int, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic_files, "write", full)
    with pytest.raises(FirthError, match="the disk is full"):
        gate.replace("file", b"new")
    assert gate.read("file") == b"old" and gate.names() == ["file", "inner"]


def test_a_folder_that_another_process_builds_is_not_taken_for_a_leftover(tmp_path):
    with atomic_files.building(tmp_path / "index") as one, atomic_files.building(tmp_path / "index") as two:
        assert one != two and one.is_dir() and two.is_dir()
    (tmp_path / ".index.0123456789abcdef.new").mkdir()
    with atomic_files.building(tmp_path / "index") as three:
        assert list(tmp_path.iterdir()) == [three]
    assert list(tmp_path.iterdir()) == []


# --- JSON -------------------------------------------------------------------------------------------------------------


@dataclass
class Inner:
    number: Natural
    text: str = "x"


class Outer(TypedDict, total=False):
    inner: Required[Inner]
    values: tuple[float, ...]
    maybe: int | None


class Whole(TypedDict):
    name: str
    more: NotRequired[dict[str, bool]]


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (Outer, {"inner": {"number": -1}}, "inner.number: expected a number from 0"),
        (Outer, {"inner": {"number": True}}, "inner.number: expected a whole number"),
        (Outer, {"inner": {"number": 1.0}}, "inner.number: expected a whole number"),
        (Outer, {"inner": {"number": 1 << 63}}, "inner.number: expected a whole number"),
        (Outer, {"inner": {"number": 1, "other": 2}}, "inner.other is not known"),
        (Outer, {"inner": {}}, "inner.number is missing"),
        (Outer, {}, "inner is missing"),
        (Outer, {"inner": {"number": 1}, "values": [1, "2"]}, "values.1: expected a number"),
        (Outer, {"inner": {"number": 1}, "values": {}}, "values: expected a list"),
        (Outer, {"inner": {"number": 1}, "maybe": "1"}, "maybe: expected null"),
        (Outer, [], "the file: expected an object"),
        (Whole, {}, "name is missing"),
        (Whole, {"name": "a", "more": {"b": 1}}, "more.b: expected true or false"),
    ],
)
def test_a_value_of_another_type_is_named(kind, value, said):
    with pytest.raises(json_files.Mismatch) as caught:
        json_files.convert(kind, value)
    assert str(caught.value) == said


def test_values_of_their_types_are_kept():
    value: Any = {"inner": {"number": 3}, "values": [1, 2.5], "maybe": None, "other": [1]}
    expected = {"inner": Inner(3), "values": (1, 2.5), "maybe": None, "other": [1]}
    assert json_files.convert(Outer, value) == expected
    assert json_files.convert(Whole, {"name": "a"}) == {"name": "a"}


# --- NaN --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_one_number_that_is_none_is_found_and_large_ones_are_not_mistaken(tmp_path, number):
    arrays = {"large": np.full((99, 99), 3e38, np.float32), "ids": np.arange(9), "last": np.zeros((7, 5), np.float16)}
    weights.require_finite(arrays, tmp_path)
    arrays["last"][6, 4] = number
    with pytest.raises(FirthError, match="NaN or infinite, in last"):
        weights.require_finite(arrays, tmp_path)
