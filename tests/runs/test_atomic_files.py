"""Where a file may be written: a link stays a link, and nothing but an ordinary file is replaced."""

from __future__ import annotations

import os
import stat

import pytest

from firth.datasets.text_writer import open_writer
from firth.errors import FirthError
from firth.runs import atomic_files
from firth.runs.atomic_files import replace_file


def replaced(path):
    replace_file(path, b"new\n")


def written(path):
    with open_writer(path, "line") as writer:
        writer.write("new")


both = pytest.mark.parametrize("write", [replaced, written])


@both
def test_a_link_stays_a_link(tmp_path, write):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "file").write_text("old")
    for name, target in (("link", folder / "file"), ("dangling", folder / "new")):
        (tmp_path / name).symlink_to(target)
        write(tmp_path / name)
        assert (tmp_path / name).is_symlink() and target.read_text() == "new\n" and not target.is_symlink()
    assert sorted(path.name for path in folder.iterdir()) == ["file", "new"]


@both
def test_a_pipe_is_refused_and_stays(tmp_path, write):
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link):
        with pytest.raises(FirthError, match=f"{path}: not an ordinary file; name a file"):
            write(path)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "pipe"]


@both
def test_a_folder_that_is_missing_is_named_and_not_made(tmp_path, write):
    with pytest.raises(FirthError, match=f"{tmp_path / 'no'}: no such folder; make it first"):
        write(tmp_path / "no" / "file")
    with pytest.raises(FirthError):
        write(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_new_folder_that_another_process_took_for_abandoned_is_made_again(tmp_path, monkeypatch):
    open_file, removed = os.open, []

    def open_after_removal(path, *arguments, **named):
        if str(path).endswith(".new") and not removed:
            removed.append(path)
            os.rmdir(path, dir_fd=named["dir_fd"])
        return open_file(path, *arguments, **named)

    monkeypatch.setattr(os, "open", open_after_removal)
    with atomic_files.building(tmp_path / "cache") as folder:
        assert removed and folder.is_dir()
    assert not list(tmp_path.iterdir())
