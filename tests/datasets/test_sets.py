"""Sets: the user's own come back as they were saved; the table of public ones makes sense."""

from __future__ import annotations

from itertools import islice

import pytest

from firth.datasets import readers, sets, tasks
from firth.datasets.builtin import BUILTIN
from firth.datasets.public_sets import PUBLIC
from firth.datasets.records import Labelled, Pair
from firth.errors import FirthError


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch):
    monkeypatch.setenv("FIRTH_SETS", str(tmp_path / "sets"))
    monkeypatch.delenv("FIRTH_DATA", raising=False)
    return tmp_path / "sets"


@pytest.fixture
def mine(tmp_path):
    (tmp_path / "train.tsv").write_text("good\ta film\nbad\tno film\n")
    parts = {"train": sets.SplitFiles((str(tmp_path / "train.tsv"),))}
    return sets.Dataset(
        "mine", "classification", "tsv", parts, ("columns=mark,words",), {"text": "words", "label": "mark"}, "films"
    )


def test_own_sets_come_back(mine, own):
    assert sets.save(mine) == own / "mine.toml"
    result = sets.find("mine")
    assert (result.task, result.format, result.settings, dict(result.columns), result.about) == (
        mine.task, mine.format, mine.settings, mine.columns, "films",
    )  # fmt: skip
    assert list(sets.open_set("mine", "train")) == [Labelled("a film", ("good",), 1), Labelled("no film", ("bad",), 2)]
    assert sets.all_sets()["mine"].is_present()


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


def test_a_name_is_given_once(mine, own):
    from dataclasses import replace

    sets.save(mine)
    with pytest.raises(FirthError, match="mine: a data set of this name exists already; choose another name, or"):
        sets.save(replace(mine, about="other films"))
    assert sets.find("mine").about == "films"
    sets.save(replace(mine, about="other films"), overwrite=True)
    assert sets.find("mine").about == "other films"
    with pytest.raises(FirthError, match="already"):
        sets.save(replace(mine, name="rte"))


def test_the_first_record_of_each_split_is_tried(mine, own, tmp_path):
    from dataclasses import replace

    (tmp_path / "test.tsv").write_text("one column\n")
    (tmp_path / "bare.txt").write_text("one\n")
    other = {**mine.splits, "test": sets.SplitFiles((str(tmp_path / "test.tsv"),))}
    for wrong, message in (
        ({"splits": other}, r"test\.tsv:1: 1 column, expected 2"),
        ({"task": "pairs", "columns": {}}, r"train\.tsv:1: no column 'left'"),
        ({"format": "conllu", "settings": ()}, r"train\.tsv:1: 2 columns, expected 10"),
        ({"splits": {"train": sets.SplitFiles((str(tmp_path / "none.tsv"),))}}, "no such file"),
    ):
        with pytest.raises(FirthError, match=message):
            sets.save(replace(mine, **wrong))
    assert not own.exists()


def test_a_broken_set_does_not_hide_the_others(mine, own):
    sets.save(mine)
    (own / "bad.toml").write_text("task =\n")
    (own / "rte.toml").write_text("tsk = 1\n")
    assert "mine" in sets.all_sets() and not {"bad", "rte"} & set(sets.all_sets())
    result, broken = sets.user_sets()
    assert set(result) == {"mine"} and set(broken) == {"bad", "rte"} and "not TOML" in str(broken["bad"])
    with pytest.raises(FirthError, match="unknown data set 'min'; did you mean 'mine'"):
        sets.find("min")


def test_missing_things_say_what_to_do(mine, tmp_path):
    with pytest.raises(FirthError, match="unknown data set 'sst-2'; did you mean 'sst2'"):
        sets.find("sst-2")
    with pytest.raises(FirthError) as error:
        sets.find("sst2")
    assert str(error.value) == (
        "sst2: files of this public data set are missing; it comes from the Stanford Sentiment Treebank (Socher et al. "
        "2013), nlp.stanford.edu/sentiment; put train.tsv, dev.tsv, test.tsv into FOLDER/sst2 (format tsv, "
        "columns=text,label), and name FOLDER with --data or FIRTH_DATA"
    )
    sets.save(mine)
    (tmp_path / "train.tsv").unlink()
    with pytest.raises(FirthError, match=r"train\.tsv: no such file; put the data set mine there"):
        sets.find("mine")
    (tmp_path / "train.tsv").write_text("good\ta film\nbad\tno film\n")
    with pytest.raises(FirthError, match="mine: unknown split 'tran'; did you mean 'train'"):
        sets.open_set("mine", "tran")


@pytest.mark.parametrize("name", PUBLIC)
@pytest.mark.parametrize("with_folder", [True, False])
def test_a_missing_public_set_says_where_it_comes_from_and_what_belongs_where(name, with_folder, tmp_path):
    with pytest.raises(FirthError) as error:
        sets.find(name, tmp_path if with_folder else None)
    text, known = str(error.value), PUBLIC[name]
    assert text.startswith(f"{name}: ") and known.publisher and f"it comes from {known.publisher}; put " in text
    assert f"into {tmp_path if with_folder else 'FOLDER'}/{known.folder} (format {known.format}" in text
    assert all(file in text for files in known.splits.values() for file in files.files)
    assert ("FIRTH_DATA" in text) != with_folder
    assert "\n" not in text and len(text) < 400 + len(" ".join(known.settings)) + sum(
        len(file) + 2 for file in known.missing()
    )


def test_only_the_files_that_are_missing_are_named(tmp_path):
    (tmp_path / "conll2003-ner").mkdir()
    (tmp_path / "conll2003-ner" / "eng.train").write_text("EU I-ORG\n")  # not compressed
    (tmp_path / "conll2003-ner" / "eng.testa.gz").write_text("")
    with pytest.raises(
        FirthError, match=r"^conll2003-ner: a file of this public data set is missing;.*; put eng.testb.gz"
    ):
        sets.find("conll2003-ner", tmp_path)
    (tmp_path / "conll2003-ner" / "eng.testb").write_text("EU NNP I-NP I-ORG\n")
    assert [record.words for record in sets.open_set("conll2003-ner", "test", tmp_path)] == [("EU",)]


def test_public_sets_make_sense():
    for name, result in PUBLIC.items():
        assert name == result.name and result.task in tasks.TASKS and result.about and result.licence and result.folder
        tasks.Converter(result.task, result.columns)
        for split in result.splits:
            assert result.format_of(split) is not None and type(result.format_of(split)) in map(
                type, readers.FORMATS.values()
            )


@pytest.mark.parametrize("other", ["de", "fr"])
def test_translations_come_raw_and_tokenised(other):
    raw, tokenised = (PUBLIC[f"multi30k-{other}{kind}"] for kind in ("-raw", ""))
    assert raw.split("test").files == ("raw/test_2016_flickr.en.gz", f"raw/test_2016_flickr.{other}.gz")
    assert raw.folder == tokenised.folder and set(raw.splits) == set(tokenised.splits)
    assert all(raw.split(split).records == tokenised.split(split).records for split in raw.splits)
    assert all(not set(raw.split(split).files) & set(tokenised.split(split).files) for split in raw.splits)


def test_a_public_set_is_read_from_the_data_folder(tmp_path, monkeypatch):
    (tmp_path / "mrpc").mkdir()
    for name in ("train", "dev"):
        (tmp_path / "mrpc" / f"{name}.tsv").write_text(
            "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n1\t7\t8\ta\tb\r\n"
        )
    monkeypatch.setenv("FIRTH_DATA", str(tmp_path))
    assert list(sets.open_set("mrpc")) == [Pair("a", "b", "1", None, 2)]
    assert sets.all_sets()["mrpc"].is_present() and not sets.all_sets()["rte"].is_present()


@pytest.mark.parametrize("name", BUILTIN)
def test_built_in_sets_are_always_there_and_give_records(name):
    result = sets.find(name)
    assert result.is_present() and result.task in tasks.TASKS
    for split in result.splits:
        records = list(islice(result.examples(split), 3))
        assert len(records) == 3 and list(tasks.examples(records, result.task))


def test_the_splits_of_the_world_do_not_overlap():
    train, valid, test = [
        {record.text for record in islice(sets.open_set("world-language", split), 1000)}
        for split in ("train", "valid", "test")
    ]
    assert len(train) == len(valid) == len(test) == 1000
    assert not train & valid and not train & test and not valid & test
