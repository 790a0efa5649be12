"""`firth lm few-shot` and `firth lm prompts`."""

from __future__ import annotations

import json

import pytest
from cli_samples import assert_done, assert_refused

import firth

TEMPLATE = r"Text: {text}\nSo: {label}"
ROWS = [("1 2", "low"), ("3 4", "low"), ("81 7", "high"), ("90 5", "high"), ("2 2", "low"), ("77 6", "high")]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.tsv"
    path.write_text("text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in ROWS))
    return path


@pytest.fixture(scope="module")
def masked(tmp_path_factory):
    out = tmp_path_factory.mktemp("bert") / "run"
    settings = {
        "tokenizer.vocabulary_size": 300, "backbone.width": 16, "backbone.depth": 1, "batching.batch_size": 4,
        "batching.length": 32, "train.budget": "4 steps", "train.threads": 1,
    }  # fmt: skip
    firth.train("bert:tiny", text="world:200", out=out, settings=settings)
    return out


# --- few-shot --------------------------------------------------------------------------------------------------------


def test_few_shot_prints_accuracy_baseline_and_confusion(command, trained, table):
    words = [
        "lm",
        "few-shot",
        trained,
        "--template",
        TEMPLATE,
        "--examples",
        table,
        "--shots",
        "0,2",
        "--scoring",
        "total,generation",
    ]
    lines = assert_done(command(*words, "--show-prompts")).out.splitlines()
    assert lines[0] == "--- first 0-shot prompt" and lines[1:3] == ["Text: 1 2", "So: "]
    at = next(n for n, line in enumerate(lines) if line.startswith("shots"))
    assert [line.split()[:2] for line in lines[at + 1 : at + 5]] == [
        ["0", "total"], ["0", "generation"], ["2", "total"], ["2", "generation"],
    ]  # fmt: skip
    assert lines[at + 5] == "6 examples; majority baseline 'low': 50.0%"
    assert lines[at + 6].startswith("[tok:byte/") and "|template:" in lines[at + 6]
    assert "confusion matrix, 2-shot, generation:" in lines
    found = json.loads(assert_done(command(*words, "--json")).out)
    assert found["examples"] == 6 and found["majority"] == {"label": "low", "accuracy": 0.5}
    assert found["prompts"]["0"] == "Text: 1 2\nSo: " and len(found["outcomes"]) == 4
    for each in found["outcomes"]:
        hits = sum(row.get(label, 0) for label, row in each["confusion_matrix"].items())
        assert each["value"] == hits / 6 and sum(sum(row.values()) for row in each["confusion_matrix"].values()) == 6
    assert json.loads(assert_done(command(*words, "--json")).out) == found  # the seed decides


def test_few_shot_reads_templates_sets_and_other_columns(command, trained, tmp_path):
    (tmp_path / "form.txt").write_text("{body}\nSo: {label}\n")
    (tmp_path / "t.jsonl").write_text('{"words": "1 2", "class": 1}\n{"words": "3", "class": 0}\n')
    words = [
        "lm",
        "few-shot",
        trained,
        "--template",
        tmp_path / "form.txt",
        "--shots",
        "1",
        "--json",
        "--separator",
        "|",
    ]
    own = ["--examples", tmp_path / "t.jsonl", "--column", "body=words", "--column", "label=class"]
    found = json.loads(assert_done(command(*words, *own, "--verbalizer", "1=high", "--verbalizer", "0=low")).out)
    assert found["verbalizer"] == {"0": "low", "1": "high"} and found["prompts"]["1"] == "3\nSo: low|1 2\nSo: "
    made = [
        "--examples",
        "world-categories:all",
        "--demonstrations",
        "world-categories",
        "--max-examples",
        "3",
        "--column",
        "body=text",
    ]
    found = json.loads(assert_done(command(*words, *made)).out)
    assert found["examples"] == 3 and found["prompts"]["1"].count("So: ") == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--template", "Review: {text}"], "no {label} in the template"),
        (["--template", "no/such.txt"], "no/such.txt"),
        (["--template", "{txt}: {label}"], "table.tsv:2: no column 'txt' (there are text, label)"),
        (["--column", "x=y"], "unknown name in the template 'x'"),
        (["--column", "x"], "cannot read --column 'x'; write it as text=body"),
        (["--verbalizer", "low"], "cannot read --verbalizer 'low'; write it as 1=positive"),
        (["--verbalizer", "lo=x"], "unknown label 'lo'; did you mean 'low'?"),
        (["--shots", "9"], "9 shots need 9 demonstrations, and there are 5"),
        (["--shots", "-1"], "shots = -1: must be at least 0"),
        (["--shots", "few"], "shots = few: expected int"),
        (["--scoring", "luck"], "scoring = luck: not one of total, token, byte, calibrated, generation"),
        (["--examples", "no/such.tsv"], "no/such.tsv"),
        (["--examples", "wordl-classification:test"], "did you mean 'world-classification'?"),
        (["--examples", "world-classification:no"], "unknown split 'no'"),
    ],
)
def test_bad_options_of_few_shot_are_refused(command, trained, table, options, said):
    words = {"--template": TEMPLATE, "--examples": table, "--shots": "1"} | dict([options])
    assert_refused(command("lm", "few-shot", trained, *(part for pair in words.items() for part in pair)), said)


def test_other_models_are_refused(command, masked, table):
    found = command("lm", "few-shot", masked, "--template", TEMPLATE, "--examples", table)
    assert_refused(found, masked, "this model does not generate text; use a language model")


# --- prompts --------------------------------------------------------------------------------------------------------


def test_prompts_compares_masks(command, masked, tmp_path):
    words = ["lm", "prompts", masked, "The [MASK] is here.", "Julia is [MASK].", "--count", 2, "--top-k", 12]
    lines = assert_done(command(*words, "--plot", tmp_path / "p.svg")).out.splitlines()
    assert lines[:2] == ["A  The [MASK] is here.", "B  Julia is [MASK]."]
    assert lines[2].split() == ["more", "with", "word", "log", "p", "A", "log", "p", "B", "difference"]
    assert lines[-2].startswith("Jensen-Shannon divergence 0.") and lines[-1].startswith(f"{tmp_path / 'p.svg'}: ")
    assert (tmp_path / "p.svg").read_text().startswith("<svg")
    found = json.loads(assert_done(command(*words, "--json")).out)
    assert 12 <= len(found["words"]) <= 24 and "file" not in found
    for word in found["words"]:
        assert word["difference"] == pytest.approx(word["log_a"] - word["log_b"])
    assert json.loads(assert_done(command(*words, "--json", "--plot", tmp_path / "p.html")).out)["notes"] == []


def test_prompts_compares_next_words(command, trained):
    found = json.loads(assert_done(command("lm", "prompts", trained, "1 2", "90", "--top-k", 5, "--json")).out)
    assert 5 <= len(found["words"]) <= 10 and 0 <= found["divergence"] <= 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["The [MASK].", "nothing"], "no [MASK] in the text; put one [MASK] where words are to be compared"),
        (["[MASK] [MASK]", "[MASK]"], "2 [MASK]s in the text"),
        (["[MASK]", "[MASK]", "--plot", "p.gif"], "unknown figure format '.gif'"),
        (["[MASK]", "[MASK]", "--plot", "no/p.svg"], "no: no such folder"),
        (["[MASK]", "word " * 99 + "[MASK]"], "this model takes at most 32 at once; give a shorter text"),
    ],
)
def test_bad_prompts_are_refused(command, masked, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    assert_refused(command("lm", "prompts", masked, *words), said)


def test_a_mask_for_a_causal_model_is_refused(command, trained):
    assert_refused(command("lm", "prompts", trained, "a [MASK]", "b"), "has no [MASK]; give the text")
