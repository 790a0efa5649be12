"""Whole ladders, small: one metric for all, resuming after any interruption, and errors."""

import json
import os
import shutil
import signal
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

import firth
from firth.errors import FirthError
from firth.ladder import climb, measurements
from firth.runs.checkpoints import Interrupted
from firth.runs.progress import Quiet
from firth.runs.run_folder import Run

RUNG_NAMES = ("2-gram", "window-lm", "lstm-lm")
PLACES, WAYS = ("the old mill", "a small town", "her garden", "our river"), ("slowly", "with a smile", "every day")
TEXT = "".join(
    f"{n} people walk {WAYS[n % 3]} to {PLACES[n % 4]}. They {'rest' if n % 2 else 'sing'} there, {n} of them.\n\n"
    for n in range(300)
)
COMMON = {"rungs": ",".join(RUNG_NAMES), "budget": "12 steps", "threads": 1, "vocab_size": 300, "tokenizer": "byte-bpe"}


@pytest.fixture(scope="module")
def arguments(tmp_path_factory):
    """Settings of a small ladder."""
    path = tmp_path_factory.mktemp("text") / "walks.txt"
    path.write_text(TEXT)
    return {"text": path, **COMMON}


@pytest.fixture(scope="module")
def finished(arguments, tmp_path_factory):
    """A finished ladder; not to be changed."""
    return firth.run_ladder(out=tmp_path_factory.mktemp("ladders") / "one", **arguments)


@pytest.fixture
def copy(finished, tmp_path):
    """A copy of its folder, to be damaged."""
    return shutil.copytree(finished.path, tmp_path / "copy")


def comparable(ladder):
    """The table and results without times."""
    rows = [replace(row, seconds=0.0, tokens_per_second=0.0) for row in ladder.rows]
    results = []
    for result in ladder.results:
        curve = tuple(replace(point, seconds=0.0) for point in result.curve)
        results.append(replace(result, seconds=0.0, tokens_per_second=None, curve=curve))
    return rows, results, ladder.advice.rung, ladder.advice.sentences


def test_every_rung_has_the_same_tokenizer_split_and_seed(finished):
    records = [Run(finished.path / "rungs" / name).record for name in RUNG_NAMES]
    assert len({record.tokenizers["text"] for record in records}) == 1
    assert len({json.dumps(dict(record.data["splits"]), sort_keys=True) for record in records}) == 1
    assert len({record.config.seed for record in records}) == 1


def test_a_rung_is_the_same_in_another_folder(finished, arguments, tmp_path, monkeypatch):
    """No file of a rung names the ladder's folder, so a ladder that was moved is the one trained there."""
    moved = tmp_path / "elsewhere" / "ladder"
    shutil.copytree(finished.path, moved)
    for name in RUNG_NAMES:
        assert str(finished.path) not in (moved / "rungs" / name / "config.json").read_text()
    for rest in (moved / "rungs/lstm-lm", moved / "results/lstm-lm.json"):
        shutil.rmtree(rest) if rest.is_dir() else rest.unlink()
    monkeypatch.chdir(tmp_path)
    firth.run_ladder(out="elsewhere/ladder")
    for name in ("config.json", "tokenizers/text.json", "model.safetensors"):
        assert (moved / "rungs/lstm-lm" / name).read_bytes() == (finished.path / "rungs/lstm-lm" / name).read_bytes()


def test_scores_are_those_of_each_run(finished):
    for row, name in zip(finished.rows, RUNG_NAMES, strict=True):
        scores = {
            s["name"]: s["value"]
            for s in Run(finished.path / "rungs" / name).scores()
            if "split:test" in s["signature"]
        }
        assert row.bits.value == pytest.approx(scores["bits_per_byte"], rel=1e-5)
        assert row.perplexity == pytest.approx(scores["perplexity"], rel=1e-5)
        assert row.bits.low < row.bits.value < row.bits.high


def test_dropout_follows_from_the_planned_epochs(arguments, tmp_path, monkeypatch):
    planned = []

    def plan(choice, in_bf16):
        planned.append(choice.name)
        return SimpleNamespace(epochs=6.0)

    monkeypatch.setattr(climb.api, "plan", plan)
    result = firth.run_ladder(out=tmp_path / "out", **{**arguments, "rungs": "window-lm", "budget": "1s"})
    config = Run(result.path / "rungs" / "window-lm").record.config
    assert planned == ["window-lm:tiny"] and config.backbone.dropout == config.inputs["text"].dropout == 0.2
    (row,) = result.rows  # the command trains for a minute: hundreds of epochs on so little text, if cores are idle
    epochs = row.tokens / row.seconds * 60 / result.about["training"]["tokens"]
    dropout = next(dropout for least, dropout in ((40, 0.4), (5, 0.2), (0, 0.0)) if epochs >= least)
    assert "--budget 1m" in result.advice.command and f"backbone.dropout={dropout}" in result.advice.command


@pytest.mark.parametrize("threads", [0, 1])
def test_a_rung_is_scored_with_the_threads_it_is_trained_with(threads, arguments, tmp_path, monkeypatch):
    """Those that were asked for, or those that other programs leave."""
    recorded = []
    monkeypatch.setattr(climb, "free_threads", lambda say: 1 - threads)  # 0 would be all
    monkeypatch.setattr(
        climb, "measure", lambda *rest: recorded.append(torch.get_num_threads()) or measurements.measure(*rest)
    )
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        settings = {**arguments, "threads": threads, "budget": "1s", "rungs": "window-lm"}
        ladder = firth.run_ladder(out=tmp_path / "one", **settings)
        assert recorded == [1] == [Run(ladder.path / "rungs" / "window-lm").record.config.train.threads]
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("has", [True, False])
def test_a_message_says_where_bf16_is_available(has, copy, monkeypatch):
    class Recording(Quiet):
        def say(self, text):
            messages.append(text)

    messages = []
    monkeypatch.setattr(climb, "has_bf16", lambda: has)
    firth.run_ladder(out=copy, progress=Recording())
    assert any("--precision bf16" in line for line in messages) == has


def test_no_rung_beats_the_entropy_of_the_world(tmp_path):
    result = firth.run_ladder("world:80", out=tmp_path / "out", rungs="1-gram,2-gram,5-gram")
    assert set(result.floors) == {"valid", "test"}
    assert all(0 < result.floors["test"] < row.bits.value for row in result.rows)


def test_the_folder_has_the_table_the_recommendation_and_the_model(finished):
    stored = json.loads((finished.path / "ladder.json").read_text())
    assert stored["rows"] == finished.to_dict()["rows"] and stored["advice"]["rung"] == finished.advice.rung == "2-gram"
    assert stored["tokenizer"] == firth.Tokenizer.load(finished.path / "tokenizer.json").hash
    assert finished.report.is_file() and (finished.recommended / "model.safetensors").is_file()
    assert firth.load(finished.recommended).generate(max_length=3)


def test_a_finished_ladder_is_not_trained_again(finished, arguments, monkeypatch):
    monkeypatch.setattr(climb, "_train_rung", lambda *_: pytest.fail("trained again"))
    assert comparable(firth.run_ladder(out=finished.path)) == comparable(finished)
    assert comparable(firth.run_ladder(out=finished.path, **arguments)) == comparable(finished)


class Stopping(Quiet):
    """Interrupts at the nth step of all."""

    def __init__(self, at):
        self.left = at

    def step(self, entry):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("at", [5, 12, 17])  # 12: the last step of a rung
def test_interrupted_within_a_rung_it_resumes_to_the_same_table(finished, arguments, tmp_path, at):
    with pytest.raises(Interrupted):
        firth.run_ladder(out=tmp_path / "out", progress=Stopping(at), **arguments)
    moved = tmp_path / "moved"
    (tmp_path / "out").rename(moved)  # nothing in it depends on its path
    assert comparable(firth.run_ladder(out=moved)) == comparable(finished)


def test_killed_between_training_and_evaluation_it_resumes_to_the_same_table(
    finished, arguments, tmp_path, monkeypatch
):
    def die(name, *rest):
        if name == "window-lm":
            raise KeyboardInterrupt
        return measurements.measure(name, *rest)

    monkeypatch.setattr(climb, "measure", die)
    with pytest.raises(KeyboardInterrupt):
        firth.run_ladder(out=tmp_path / "out", **arguments)
    assert (tmp_path / "out/rungs/window-lm/model.safetensors").exists()
    monkeypatch.undo()
    assert comparable(firth.run_ladder(out=tmp_path / "out")) == comparable(finished)


def test_other_settings_in_the_same_folder_are_an_error(finished, arguments):
    with pytest.raises(FirthError, match="another ladder"):
        firth.run_ladder(out=finished.path, **{**arguments, "budget": "13 steps"})


def test_the_default_folder_is_the_first_that_is_empty_or_has_this_ladder(finished, arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(finished.path, tmp_path / "runs" / "ladder")
    monkeypatch.setattr(climb, "train_rungs", lambda settings, folder, progress: folder.path)
    assert str(firth.run_ladder(**arguments)) == "runs/ladder"
    assert str(firth.run_ladder(**{**arguments, "seed": 2})) == "runs/ladder-2"


def test_a_folder_with_other_files_in_it_is_an_error(arguments, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    for words in ({}, arguments):
        with pytest.raises(FirthError, match="other files"):
            firth.run_ladder(out=tmp_path, **words)


@pytest.mark.parametrize("place", ["ladder.json", "results/lstm-lm.json", "tokenizer.json"])
def test_damaged_files_are_named(copy, place):
    (copy / place).write_text("{")
    with pytest.raises(FirthError) as error:
        firth.run_ladder(out=copy)
    assert str(copy / place) in str(error.value)


def test_changed_text_is_an_error(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("".join(f"{n} times {n} is {n * n}.\n\n" for n in range(60)))
    settings = {"text": text, "rungs": "1-gram", "out": tmp_path / "out"}
    firth.run_ladder(**settings)
    text.write_text(text.read_text() + "more\n\n")
    with pytest.raises(FirthError, match="the text has changed"):
        firth.run_ladder(**settings)


def test_documents_from_python_and_a_lossy_tokenizer(tmp_path):
    documents = [f"Number {n} comes after {n - 1}, IS THAT so? Yes." for n in range(1, 41)]
    result = firth.run_ladder(
        documents, out=tmp_path / "out", rungs=["1-gram", "3-gram"], tokenizer="word", lowercase="yes"
    )
    assert result.metric == "bits per byte" and "of every rung are for what the tokenizer loses" in result.notes[0]
    assert "case" in result.notes[0]
    assert [row.rung for row in result.rows] == ["1-gram", "3-gram"] and not result.floors
    for row, rung in zip(result.rows, ("1-gram", "3-gram"), strict=True):
        assert row.bits.value == pytest.approx(firth.load(tmp_path / "out" / "rungs" / rung).bits_per_byte(), rel=1e-5)


def test_few_documents_are_noted(tmp_path):
    documents = [" ".join(str(n * m % 97) for m in range(90)) for n in range(6)]
    result = firth.run_ladder(documents, out=tmp_path / "out", rungs="2-gram")
    assert any("only 1 document:" in note for note in result.notes)
    assert result.rows[0].bits.low < result.rows[0].bits.high


def test_a_ladder_needs_test_text(tmp_path):
    from firth.config.core import override
    from firth.ladder.ladder_progress import ladder_progress
    from firth.ladder.settings import Settings
    from firth.runs.ladder_folder import LadderFolder

    settings = override(Settings(), ["data.text=world:50", "data.test_fraction=0"])
    with pytest.raises(FirthError, match="no test text"):
        climb.train_rungs(settings, LadderFolder(tmp_path / "out"), ladder_progress("quiet"))


def test_held_out_text_in_the_training_text_is_noted(arguments, tmp_path):
    text = str(arguments["text"])
    result = firth.run_ladder(text, valid=text, test=text, rungs="1-gram,2-gram", out=tmp_path / "out")
    assert "300 of 300 test documents are also in the training text" in " ".join(result.notes)
    assert "--budget" not in result.advice.command  # n-grams have no budget
