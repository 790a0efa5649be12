"""A received folder changes nothing outside itself, and its damage is one line."""

from __future__ import annotations

import os
import tempfile

import pytest
from attacks import (
    ATTACKS,
    LADDER_ATTACKS,
    TASK_LADDER_ATTACKS,
    call,
    make_ladder,
    make_run,
    make_task_ladder,
    make_victim,
    snapshot,
    try_attack,
)


@pytest.fixture(scope="module")
def sent(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("sent"))


@pytest.fixture(scope="module")
def ladder(tmp_path_factory):
    return make_ladder(tmp_path_factory.mktemp("sent"))


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    return make_task_ladder(tmp_path_factory.mktemp("sent"))


@pytest.mark.parametrize("name", ATTACKS)
def test_the_attack_on_a_run_fails(sent, tmp_path, name):
    assert try_attack(ATTACKS[name], sent, tmp_path) == ""


@pytest.mark.parametrize("name", LADDER_ATTACKS)
def test_the_attack_on_a_ladder_fails(ladder, tmp_path, name):
    assert try_attack(LADDER_ATTACKS[name], ladder, tmp_path) == ""


@pytest.mark.parametrize("name", TASK_LADDER_ATTACKS)
def test_the_attack_on_a_ladder_of_a_labelled_task_fails(tasks, tmp_path, name):
    assert try_attack(TASK_LADDER_ATTACKS[name], tasks, tmp_path) == ""


def test_an_untouched_folder_is_accepted(sent, ladder, tasks, tmp_path):
    """Else the refusals above would say nothing."""
    for folder, words in ((sent, "info"), (sent, "eval"), (sent, "train")):
        assert call([words, str(folder)]).code == 0
    for folder in (ladder, tasks):
        assert call(["ladder", "--out", str(folder), "--quiet"]).code == 0


def test_a_planted_temporary_file_for_standard_output_is_not_followed(tmp_path, monkeypatch):
    victim, temporary = make_victim(tmp_path / "home"), tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    for end in ("new", "packed", "new.wide"):
        (temporary / f".firth.{os.getpid()}.{end}").symlink_to(victim / "letter.txt")
    before = snapshot(victim)
    (tmp_path / "text.txt").write_text("one\n\ntwo\nlines\n")
    found = call(["corpus", "clean", "--text", str(tmp_path / "text.txt"), "--min-words", "1", "--out", "-"])
    assert found.code == 0 and "lines" in found.out and snapshot(victim) == before
    assert len(list(temporary.iterdir())) == 3


def test_a_planted_temporary_file_beside_an_output_is_not_followed(tmp_path):
    victim = make_victim(tmp_path / "home")
    for end in ("new", "packed", "new.wide"):
        (tmp_path / f".out.txt.{os.getpid()}.{end}").symlink_to(victim / "letter.txt")
    before = snapshot(victim)
    (tmp_path / "text.txt").write_text("one\n\ntwo\nlines\n")
    words = ["corpus", "clean", "--text", str(tmp_path / "text.txt"), "--min-words", "1", "--out"]
    assert call([*words, str(tmp_path / "out.txt")]).code == 0
    assert snapshot(victim) == before and (tmp_path / "out.txt").read_text()
