"""Whole ladders, small: one yardstick for all, going on after any stop, and what is refused."""

import json
import os
import shutil
import signal
from dataclasses import replace
from types import SimpleNamespace

import pytest

import firth
from firth.climbing import climb, measuring
from firth.errors import FirthError
from firth.runs.folder import Run
from firth.runs.progress import Quiet
from firth.training.guard import Interrupted

NAMES = ("2-gram", "window-lm", "lstm-lm")
PLACES, WAYS = ("the old mill", "a small town", "her garden", "our river"), ("slowly", "with a smile", "every day")
TEXT = "".join(
    f"{n} people walk {WAYS[n % 3]} to {PLACES[n % 4]}. They {'rest' if n % 2 else 'sing'} there, {n} of them.\n\n"
    for n in range(300)
)
COMMON = {"rungs": ",".join(NAMES), "budget": "12 steps", "threads": 1, "vocabulary": 300, "tokenizer": "byte-bpe"}


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """Settings of a small ladder."""
    path = tmp_path_factory.mktemp("text") / "walks.txt"
    path.write_text(TEXT)
    return {"text": path, **COMMON}


@pytest.fixture(scope="module")
def found(asked, tmp_path_factory):
    """A finished ladder; not to be changed."""
    return firth.ladder(out=tmp_path_factory.mktemp("ladders") / "one", **asked)


@pytest.fixture
def copy(found, tmp_path):
    """The folder of one, to be spoiled."""
    return shutil.copytree(found.path, tmp_path / "copy")


def comparable(ladder):
    """The table and results without what the clock says."""
    rows = [replace(row, seconds=0.0, tokens_per_second=0.0) for row in ladder.rows]
    results = []
    for result in ladder.results:
        curve = tuple(replace(point, seconds=0.0) for point in result.curve)
        results.append(replace(result, seconds=0.0, curve=curve))
    return rows, results, ladder.advice.rung, ladder.advice.sentences


def test_every_rung_has_the_same_tokenizer_split_and_seed(found):
    records = [Run(found.path / "rungs" / name).record for name in NAMES]
    assert len({record.tokenizers["text"] for record in records}) == 1
    assert len({json.dumps(dict(record.data["splits"]), sort_keys=True) for record in records}) == 1
    assert len({record.config.seed for record in records}) == 1


def test_scores_are_those_that_each_run_gives_itself(found):
    for row, name in zip(found.rows, NAMES, strict=True):
        scores = {
            s["name"]: s["value"] for s in Run(found.path / "rungs" / name).scores() if "split:test" in s["signature"]
        }
        assert row.bits.value == pytest.approx(scores["bits_per_byte"], rel=1e-5)
        assert row.perplexity == pytest.approx(scores["perplexity"], rel=1e-5)
        assert row.bits.low < row.bits.value < row.bits.high


def test_dropout_follows_from_how_often_the_text_will_be_read(asked, tmp_path, monkeypatch):
    planned = []

    def plan(choice, in_bf16):
        planned.append(choice.name)
        return SimpleNamespace(epochs=6.0)

    monkeypatch.setattr(climb.api, "plan", plan)
    found = firth.ladder(out=tmp_path / "out", **{**asked, "rungs": "window-lm", "budget": "1s"})
    config = Run(found.path / "rungs" / "window-lm").record.config
    assert planned == ["window-lm:tiny"] and config.backbone.dropout == config.input.dropout == 0.2
    # for a minute, as the command has it, so little text would be read hundreds of times
    assert "--budget 1m" in found.advice.command and "backbone.dropout=0.4" in found.advice.command


@pytest.mark.parametrize("has", [True, False])
def test_it_says_where_bf16_would_let_networks_read_more(has, copy, monkeypatch):
    class Listening(Quiet):
        def say(self, text):
            heard.append(text)

    heard = []
    monkeypatch.setattr(climb, "has_bf16", lambda: has)
    firth.ladder(out=copy, progress=Listening())
    assert any("--precision bf16" in line for line in heard) == has


def test_no_rung_beats_the_truth_about_the_world(tmp_path):
    found = firth.ladder("world:80", out=tmp_path / "out", rungs="1-gram,2-gram,5-gram")
    assert set(found.floors) == {"valid", "test"}
    assert all(0 < found.floors["test"] < row.bits.value for row in found.rows)


def test_the_folder_tells_it_all(found):
    told = json.loads((found.path / "ladder.json").read_text())
    assert told["rows"] == found.to_dict()["rows"] and told["advice"]["rung"] == found.advice.rung == "2-gram"
    assert told["tokenizer"] == firth.Tokenizer.load(found.path / "tokenizer.json").hash
    assert found.report.is_file() and (found.recommended / "model.safetensors").is_file()
    assert firth.load(found.recommended).generate(length=3)


def test_a_finished_ladder_is_not_trained_again(found, asked, monkeypatch):
    monkeypatch.setattr(climb, "_trained", lambda *_: pytest.fail("trained again"))
    assert comparable(firth.ladder(out=found.path)) == comparable(found)
    assert comparable(firth.ladder(out=found.path, **asked)) == comparable(found)


class Stopping(Quiet):
    """Asks to leave at the nth step of all."""

    def __init__(self, at):
        self.left = at

    def step(self, entry):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("at", [5, 17])
def test_stopped_within_a_rung_it_goes_on_to_the_same_table(found, asked, tmp_path, at):
    with pytest.raises(Interrupted):
        firth.ladder(out=tmp_path / "out", progress=Stopping(at), **asked)
    moved = tmp_path / "moved"
    (tmp_path / "out").rename(moved)  # nothing in it says where it was begun
    assert comparable(firth.ladder(out=moved)) == comparable(found)


def test_killed_between_training_and_scoring_it_goes_on_to_the_same_table(found, asked, tmp_path, monkeypatch):
    def die(name, *rest):
        if name == "window-lm":
            raise KeyboardInterrupt
        return measuring.measure(name, *rest)

    monkeypatch.setattr(climb, "measure", die)
    with pytest.raises(KeyboardInterrupt):
        firth.ladder(out=tmp_path / "out", **asked)
    assert (tmp_path / "out/rungs/window-lm/model.safetensors").exists()
    monkeypatch.undo()
    assert comparable(firth.ladder(out=tmp_path / "out")) == comparable(found)


def test_other_settings_in_the_same_folder_are_refused(found, asked):
    with pytest.raises(FirthError, match="another ladder"):
        firth.ladder(out=found.path, **{**asked, "budget": "13 steps"})


def test_without_a_folder_the_first_that_is_free_or_ours_is_taken(found, asked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(found.path, tmp_path / "runs" / "ladder")
    monkeypatch.setattr(climb, "climb", lambda settings, folder, tell: folder.path)
    assert str(firth.ladder(**asked)) == "runs/ladder"
    assert str(firth.ladder(**{**asked, "seed": 2})) == "runs/ladder-2"


def test_a_folder_with_other_things_in_it_is_refused(asked, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    for words in ({}, asked):
        with pytest.raises(FirthError, match=r"other things|something else"):
            firth.ladder(out=tmp_path, **words)


@pytest.mark.parametrize("place", ["ladder.json", "results/lstm-lm.json", "tokenizer.json"])
def test_damaged_files_are_named(copy, place):
    (copy / place).write_text("{")
    with pytest.raises(FirthError) as error:
        firth.ladder(out=copy)
    assert str(copy / place) in str(error.value)


def test_changed_text_is_refused(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("".join(f"{n} times {n} is {n * n}.\n\n" for n in range(60)))
    asked = {"text": text, "rungs": "1-gram", "out": tmp_path / "out"}
    firth.ladder(**asked)
    text.write_text(text.read_text() + "more\n\n")
    with pytest.raises(FirthError, match="the text has changed"):
        firth.ladder(**asked)


def test_documents_from_python_and_a_tokenizer_that_loses_text(tmp_path):
    documents = [f"Number {n} comes after {n - 1}, IS THAT so? Yes." for n in range(1, 41)]
    found = firth.ladder(documents, out=tmp_path / "out", rungs=["1-gram", "3-gram"], tokenizer="word", lower="yes")
    assert found.yardstick == "bits per token" and "per token" in found.notes[0]
    assert [row.rung for row in found.rows] == ["1-gram", "3-gram"] and not found.floors
    for row in found.rows:
        assert 2**row.bits.value == pytest.approx(row.perplexity, rel=1e-5)


def test_few_documents_are_said_to_be_few(tmp_path):
    documents = [" ".join(str(n * m % 97) for m in range(90)) for n in range(6)]
    found = firth.ladder(documents, out=tmp_path / "out", rungs="2-gram")
    assert any("only 1 document:" in note for note in found.notes)
    assert found.rows[0].bits.low < found.rows[0].bits.high


def test_a_ladder_needs_test_text(tmp_path):
    from firth.climbing.settings import Settings
    from firth.climbing.telling import Teller
    from firth.config.core import override
    from firth.runs.ladder import Folder

    settings = override(Settings(), ["data.text=world:50", "data.test_share=0"])
    with pytest.raises(FirthError, match="no test text"):
        climb.climb(settings, Folder(tmp_path / "out"), Teller("quiet"))


def test_held_out_text_that_was_trained_on_is_told(asked, tmp_path):
    text = str(asked["text"])
    found = firth.ladder(text, valid=text, test=text, rungs="1-gram,2-gram", out=tmp_path / "out")
    assert "300 of 300 test documents also stand in the training text" in " ".join(found.notes)
    assert "--budget" not in found.advice.command  # counts take no time
