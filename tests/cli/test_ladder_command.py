"""`firth ladder` on the command line."""

from __future__ import annotations

import json
import shlex
import signal

import pytest
from cli_samples import assert_done, assert_refused

from firth.ladder import climb, shared_data
from firth.runs.checkpoints import Interrupted

TEXT = "".join(f"{n} men walk to the old mill and {n + 1} come back from there.\n\n" for n in range(200))
WORDS = ["--rungs", "1-gram,3-gram", "--tokenizer", "byte"]


@pytest.fixture(scope="module")
def walks(tmp_path_factory):
    """A text file."""
    path = tmp_path_factory.mktemp("text") / "walks.txt"
    path.write_text(TEXT)
    return path


def test_the_table_the_advice_and_where_things_are(command, walks, tmp_path):
    out = tmp_path / "out"
    found = assert_done(command("ladder", "--text", walks, *WORDS, "--out", out))
    head, first, second = found.out.splitlines()[:3]
    assert head.split()[:7] == ["rung", "parameters", "seconds", "tokens/s", "tokens", "perplexity", "bits"]
    assert {first.split()[0], second.split()[0]} == {"1-gram", "*"}
    for text in ("Use 3-gram", f"firth train ngram-lm --text {walks}", f"{out}/rungs/3-gram", f"{out}/report.html"):
        assert text in found.out
    assert "1/2 1-gram" in found.err and "on validation text" in found.err and found.err.count("reading") == 1


def test_as_json_and_quietly_and_again(command, walks, tmp_path):
    out = tmp_path / "out"
    found = assert_done(command("ladder", "--text", walks, *WORDS, "--out", out, "--json"))
    told = json.loads(found.out)
    assert found.err == "" and [row["rung"] for row in told["rows"]] == ["1-gram", "3-gram"]
    row = told["rows"][1]
    assert row["bits"]["low"] <= row["bits"]["value"] <= row["bits"]["high"] and row["sample"]
    assert told["advice"]["rung"] == "3-gram" and told["metric"] == "bits per byte"
    again = assert_done(command("ladder", "--out", out, "--quiet"))
    assert again.err == "" and "Use 3-gram" in again.out


@pytest.mark.parametrize(
    "words, said",
    [
        (["--rungs", "5-gramm"], "did you mean '5-gram'"),
        (["--budget", "2 minutes"], "write 90s, 2m"),
        (["--text", "nowhere.txt"], "nowhere.txt"),
        (["--vocab-size", "many"], "--vocab-size"),
        (["--tokenizer", "letters"], "tokenizer"),
    ],
)
def test_bad_words_are_one_line(command, tmp_path, words, said):
    out = tmp_path / "out"
    assert_refused(command("ladder", *words, "--out", out), said)
    assert not out.exists()


def test_another_ladder_in_the_folder_is_refused(command, walks, tmp_path):
    out = tmp_path / "out"
    assert_done(command("ladder", "--text", walks, *WORDS, "--out", out, "--quiet"))
    words = ["ladder", "--text", walks, *WORDS, "--seed", "5", "--out", out]
    assert_refused(command(*words), out, f"firth ladder --out {out}")


def test_stopped_before_it_begins_nothing_is_written(command, walks, tmp_path, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(climb, "read_texts", stopped)
    found = command("ladder", "--text", walks, "--quiet", "--out", tmp_path / "my out")
    assert not (tmp_path / "my out").exists()
    assert found.code == 130 and found.out == ""
    assert found.err == "firth: stopped; nothing was written\n"


@pytest.mark.parametrize("stop, code", [(Interrupted(signal.SIGTERM, 7, "x"), 143), (KeyboardInterrupt(), 130)])
@pytest.mark.parametrize("stage", ["make_tokenizer", "tokenise_splits", "train_config", "measure", "ladder_page"])
def test_stopped_in_any_stage_it_says_how_to_go_on(command, walks, tmp_path, monkeypatch, stage, stop, code):
    def stopped(*_, **__):
        raise stop

    modules = {"make_tokenizer": shared_data, "tokenise_splits": shared_data, "train_config": climb.api}
    monkeypatch.chdir(tmp_path)
    words = ["--text", walks, *WORDS]
    with monkeypatch.context() as patch:
        patch.setattr(modules.get(stage, climb), stage, stopped)
        assert command("ladder", *words, "--out", "my out").err.splitlines()[-1] == (
            "firth: stopped; resume with: firth ladder --out 'my out'"
        )
        found = command("ladder", *words)
        assert found.code == code and found.err.splitlines()[-1] == (
            f"firth: stopped; resume with: firth ladder {shlex.join(map(str, words))}"
        )
    assert assert_done(command("ladder", "--out", "my out", "--quiet")).out
    assert assert_done(command("ladder", *words, "--quiet")).out
    assert not (tmp_path / "runs/ladder-2").exists()


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_the_table_fits_the_terminal(width):
    from ladder_samples import row

    from firth.cli.ladder import _aligned, _cells
    from firth.runs.base_ladder import Advice
    from firth.runs.ladder_folder import Ladder

    rows = tuple(row(name) for name in ("5-gram", "lstm-lm", "transformer-lm"))
    ladder = Ladder(None, {}, "bits per byte", rows, Advice("lstm-lm", (), ""), (), ())
    head, *lines = _aligned([_cells(each, ladder) for each in rows], width)
    assert all(len(line) <= width for line in (head, *lines))
    assert "bits per byte" in head and all("2.000 ± 0.100" in line for line in lines)
    assert ("sample" in head) == (width >= 120) and ("parameters" in head) == (width >= 80)


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    """Labelled texts."""
    path = tmp_path_factory.mktemp("text") / "films.tsv"
    path.write_text("".join(f"good\tA fine film {n}.\nbad\tA dull story {n}.\n" for n in range(40)))
    return path


def test_a_labelled_task(command, films, tmp_path):
    words = ["ladder", "--task", "classification", films, "--rungs", "majority-class,naive-bayes"]
    found = assert_done(command(*words, "--out", tmp_path / "out"))
    head, *rows = found.out.splitlines()[:3]
    assert head.split() == ["rung", "parameters", "seconds", "ms/item", "p", "best", "p", "below", "accuracy"]
    assert [row.split()[0] for row in rows] == ["majority-class", "*"] and " % ± " in rows[1]
    assert f"firth train naive-bayes --text {films}" in found.out and f"{tmp_path}/out/report.html" in found.out
    told = json.loads(assert_done(command("ladder", "--out", tmp_path / "out", "--json")).out)
    assert told["metric"] == "accuracy" and told["better"] == "higher" and told["advice"]["rung"] == "naive-bayes"
    assert [row["rung"] for row in told["rows"]] == ["majority-class", "naive-bayes"]
    assert_refused(command(*words, "--text", films), "named twice")


@pytest.mark.parametrize("task", ["parsing", "", "../x"])
def test_other_tasks_are_refused_with_the_list(command, tmp_path, task):
    out = tmp_path / "out"
    assert_refused(command("ladder", "--task", task, "--out", out), "classification, pairs, tagging, ner")
    assert not out.exists()


@pytest.mark.parametrize(
    "changed",
    [{"task": 5}, {"task": "x"}, {"metric": "x"}, {"rungs": ["../x"]}, {"data": [1]}, {"seed": "a"}, {"other": 1}],
)
def test_damaged_settings_are_one_line(command, films, tmp_path, changed):
    out = tmp_path / "out"
    words = ["--rungs", "majority-class", "--out", out, "--quiet"]
    assert_done(command("ladder", "--task", "classification", films, *words))
    values = json.loads((out / "ladder.json").read_text())
    (out / "ladder.json").write_text(json.dumps({**values, "settings": {**values["settings"], **changed}}))
    assert_refused(command("ladder", "--out", out, "--quiet"), "ladder.json")
