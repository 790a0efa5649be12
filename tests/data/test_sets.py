"""Sets: the user's own come back as they were saved; the table of public ones makes sense."""

from __future__ import annotations

from itertools import islice

import pytest

from firth.data import formats, sets, tasks
from firth.data.made import MADE
from firth.data.public import PUBLIC
from firth.data.records import Labelled, Pair
from firth.errors import FirthError


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch):
    monkeypatch.setenv("FIRTH_SETS", str(tmp_path / "sets"))
    monkeypatch.delenv("FIRTH_DATA", raising=False)
    return tmp_path / "sets"


@pytest.fixture
def mine(tmp_path):
    (tmp_path / "train.tsv").write_text("good\ta film\nbad\tno film\n")
    parts = {"train": sets.Part((str(tmp_path / "train.tsv"),))}
    return sets.DataSet(
        "mine", "classification", "tsv", parts, ("columns=mark,words",), {"text": "words", "label": "mark"}, "films"
    )


def test_own_sets_come_back(mine, own):
    assert sets.save(mine) == own / "mine.toml"
    found = sets.find("mine")
    assert (found.task, found.format, found.settings, dict(found.columns), found.about) == (
        mine.task, mine.format, mine.settings, mine.columns, "films",
    )  # fmt: skip
    assert list(sets.open_set("mine", "train")) == [Labelled("a film", ("good",), 1), Labelled("no film", ("bad",), 2)]
    assert sets.all_sets()["mine"].present()


def test_files_are_looked_for_beside_the_set(own):
    own.mkdir()
    (own / "en").write_text("one\ntwo\n")
    (own / "de").write_text("eins\nzwei\n")
    (own / "both.toml").write_text('task = "translation"\nformat = "parallel"\n[files]\ntrain = ["en", "de"]\n')
    assert list(sets.open_set("both")) == [Pair("one", "eins", line=1), Pair("two", "zwei", line=2)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("task = 3\n", "task is not a str"),
        ('tsk = "a"\n', "unknown key 'tsk'; did you mean 'task'"),
        ('task = "pairs"\n', "no format"),
        ('task = "pairs"\nformat = "tsv"\n[files]\ntrain = 3\n', "files.train is not a file"),
        ("task =\n", "not TOML"),
    ],
)
def test_spoiled_sets_name_their_file(own, text, message):
    own.mkdir()
    (own / "bad.toml").write_text(text)
    with pytest.raises(FirthError, match=message) as error:
        sets.find("bad")
    assert "bad.toml" in str(error.value)


def test_what_makes_no_sense_is_not_saved(mine, own):
    from dataclasses import replace

    for wrong in ({"name": "../x"}, {"task": "x"}, {"format": "x"}, {"settings": ("x=1",)}, {"columns": {"x": "y"}}):
        with pytest.raises(FirthError):
            sets.save(replace(mine, **wrong))
    assert not own.exists()


def test_missing_things_say_what_to_do(mine, tmp_path):
    with pytest.raises(FirthError, match="unknown data set 'sst-2'; did you mean 'sst2'"):
        sets.find("sst-2")
    with pytest.raises(FirthError, match="give --data or FIRTH_DATA"):
        sets.find("sst2")
    with pytest.raises(FirthError, match=r"sst2/train\.tsv: no such file; put the set sst2 there"):
        sets.find("sst2", tmp_path)
    sets.save(mine)
    with pytest.raises(FirthError, match="mine: unknown split 'tran'; did you mean 'train'"):
        sets.open_set("mine", "tran")


def test_public_sets_make_sense():
    for name, found in PUBLIC.items():
        assert name == found.name and found.task in tasks.TASKS and found.about and found.licence and found.folder
        tasks.Converter(found.task, found.columns)
        for split in found.parts:
            assert found.form(split) is not None and type(found.form(split)) in map(type, formats.FORMATS.values())


def test_a_public_set_is_read_from_the_data_folder(tmp_path, monkeypatch):
    (tmp_path / "mrpc").mkdir()
    for name in ("train", "dev"):
        (tmp_path / "mrpc" / f"{name}.tsv").write_text(
            "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n1\t7\t8\ta\tb\r\n"
        )
    monkeypatch.setenv("FIRTH_DATA", str(tmp_path))
    assert list(sets.open_set("mrpc")) == [Pair("a", "b", "1", None, 2)]
    assert sets.all_sets()["mrpc"].present() and not sets.all_sets()["rte"].present()


@pytest.mark.parametrize("name", MADE)
def test_built_in_sets_are_always_there_and_give_records(name):
    found = sets.find(name)
    assert found.present() and found.task in tasks.TASKS
    for split in found.parts:
        assert len(list(islice(found.examples(split), 3))) == 3


def test_the_splits_of_the_world_do_not_overlap():
    train, valid, test = [
        {record.text for record in islice(sets.open_set("world-language", split), 1000)}
        for split in ("train", "valid", "test")
    ]
    assert len(train) == len(valid) == len(test) == 1000
    assert not train & valid and not train & test and not valid & test
