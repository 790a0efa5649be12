"""Word alignment as runs: the world's gold links, exact resume, pipeline methods, bad input."""

from __future__ import annotations

import json
import os
import signal
from itertools import islice

import numpy as np
import pytest

import firth
from firth.datasets import gold_alignments
from firth.datasets.records import Pair
from firth.datasets.world import World
from firth.errors import FirthError
from firth.runs.checkpoints import Interrupted
from firth.runs.progress import Quiet
from firth.runs.summary import summary

PAIRS = [
    ("the house .", "das Haus ."),
    ("the book .", "das Buch ."),
    ("a house .", "ein Haus ."),
    ("a book .", "ein Buch ."),
    ("the small house .", "das kleine Haus ."),
    ("a small book .", "ein kleines Buch ."),
] * 5


def lines(pairs):
    return "".join("\t".join(pair) + "\n" for pair in pairs)


def trained(out, preset="hmm-aligner", pairs=PAIRS, **more):
    settings = {"data.valid_fraction": 0.1, "data.test_fraction": 0.1, **more.pop("settings", {})}
    return firth.train(preset, text=["\t".join(pair) for pair in pairs], out=out, settings=settings, **more)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("run") / "run")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Files of sentence pairs for training and test, and the gold links of the latter."""
    folder = tmp_path_factory.mktemp("world")
    for name, count, start in (("train", 600, 0), ("test", 100, 21_000)):
        sentences = [s for story in World().annotated_documents(count, start) for s in story.sentences]
        (folder / f"{name}.tsv").write_text(lines((" ".join(s.words), " ".join(s.translation)) for s in sentences))
    links = [" ".join(f"{i}-{j}" for i, j in sorted(s.alignment)) for s in sentences]
    (folder / "test.align").write_text("\n".join(links) + "\n")
    return folder


# --- the world ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("preset", "max_error_rate"), [("ibm-1", 0.08), ("ibm-2", 0.08), ("hmm-aligner", 0.05)])
def test_links_of_the_world_are_found(preset, max_error_rate, world, tmp_path):
    settings = {"gold": str(world / "test.align"), "data.valid_fraction": 0.0}
    aligner = firth.train(
        preset, text=str(world / "train.tsv"), out=tmp_path / "run", test=world / "test.tsv", settings=settings
    )
    scores = {score["name"]: score["value"] for score in aligner.run.scores()}
    assert scores["alignment_error_rate"] <= max_error_rate < 0.5 < scores["diagonal_error_rate"]
    assert min(scores["link_precision"], scores["link_recall"]) > 0.9
    fertilities = [scores[f"fertility_{count}"] for count in ("0", "1", "2", "3+")]
    assert sum(fertilities) == pytest.approx(1) and fertilities[1] > 0.8 and 0 < scores["spurious"] < 0.15


def test_the_built_in_world_has_its_links():
    from firth.datasets import sets

    pairs = list(islice(sets.find("world-translation").records("test"), 20))
    config = firth.api.resolve_config("ibm-1").config
    sure, possible = gold_alignments.gold_links(config, "test", pairs)
    sentences = [s for story in World().annotated_documents(10, 21_000) for s in story.sentences][:20]
    assert [set(each) for each in sure] == [set(s.alignment) for s in sentences] and not possible
    assert gold_alignments.gold_links(config, "given", pairs) == ([], [])
    assert not gold_alignments.builtin_links(firth.api.resolve_config("pointer-summary").config.data, "test", pairs)
    assert gold_alignments.gold_links(
        firth.api.resolve_config("ibm-1", ["data.test=own.tsv"]).config, "test", pairs
    ) == (
        [],
        [],
    )
    assert gold_alignments.gold_links(
        firth.api.resolve_config("ibm-1", ["data.text=own.tsv"]).config, "valid", pairs
    ) == (
        [],
        [],
    )


# --- runs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", ["ibm-1", "ibm-2", "fast-align", "hmm-aligner"])
def test_every_preset_learns_and_comes_back(preset, tmp_path):
    aligner = trained(tmp_path / "run", preset)
    assert aligner.align([("a small house .", "ein kleines Haus .")], "intersection") == [
        [(0, 0), (1, 1), (2, 2), (3, 3)]
    ]
    assert (
        aligner.translations("Book", 1)[0][0] == "buch"
        and aligner.translations("buch", 1, backward=True)[0][0] == "book"
    )
    again = firth.load(aligner.run.path)
    assert again.align(PAIRS) == aligner.align(PAIRS) and again.evaluate() == aligner.evaluate()
    assert [score.to_dict() for score in again.evaluate()] == [
        score for score in aligner.run.scores() if "split:test" in score["signature"]
    ]


def test_the_log_has_the_perplexity_of_each_epoch(model):
    entries = [json.loads(line) for line in (model.run.path / "log.jsonl").read_text().splitlines()]
    for split in ("train", "valid"):
        own = [entry for entry in entries if entry.get("split") == split]
        assert [entry["epoch"] for entry in own] == list(range(1, 11))
        assert {entry["metric"] for entry in own} == {"perplexity"}
        assert own[-1]["value"] == pytest.approx(np.exp(own[-1]["loss"])) and own[-1]["value"] < own[0]["value"]
    about, report = summary(model.run.path), (model.run.path / "report.html").read_text()
    assert (about["state"], about["step"], about["steps"]) == ("done", 10, 10)
    assert "any number of threads" in about["training"]
    assert ".–." in report and "Fertility" in report and "<script" not in report


@pytest.mark.parametrize("preset", ["ibm-2", "hmm-aligner"])
def test_an_interruption_and_threads_change_nothing(preset, tmp_path):
    class Stopping(Quiet):
        def step(self, entry):
            if entry["step"] == 7:
                os.kill(os.getpid(), signal.SIGINT)

    whole = trained(tmp_path / "whole", preset)
    with pytest.raises(Interrupted) as stopped:
        trained(tmp_path / "parts", preset, progress=Stopping())
    assert 7 <= stopped.value.step < 10
    with pytest.raises(FirthError, match="no links yet"):
        firth.load(tmp_path / "parts")
    parts = firth.resume(tmp_path / "parts")
    assert parts.run.weights.read_bytes() == whole.run.weights.read_bytes()
    other = trained(tmp_path / "threads", preset, threads=3)
    for one, two in zip(other.model, whole.model, strict=True):
        assert one.table.probabilities.tobytes() == two.table.probabilities.tobytes()


def test_two_files_and_python_give_the_same_model(model, tmp_path):
    for name, side in (("a.en", 0), ("a.de", 1)):
        (tmp_path / name).write_text("".join(pair[side] + "\n" for pair in PAIRS))
    settings = {"data.source": str(tmp_path / "a.en"), "data.target": str(tmp_path / "a.de")}
    aligner = firth.train(
        "hmm-aligner", out=tmp_path / "run", settings=settings | {"data.valid_fraction": 0.1, "data.test_fraction": 0.1}
    )
    assert aligner.align(PAIRS) == model.align(PAIRS)


# --- pipeline methods ------------------------------------------------------------------------------------------------


def test_answers(model):
    for line in ("the book .\tdas Buch .", "the book . ||| das Buch ."):
        answer = model.answer(line, {})
        assert answer["links"] == [[0, 0], [1, 1], [2, 2]] and answer["words"] == [
            ["the", "das"],
            ["book", "Buch"],
            [".", "."],
        ]
        assert model.format_answer(answer) == "0-0 1-1 2-2\tthe–das  book–Buch  .–."
    assert model.answer("\t", {})["links"] == []
    answer = model.answer("", {"word": "house", "count": 1})
    assert (
        answer["forward"][0][0] == "haus"
        and answer["backward"] == []
        and model.format_answer(answer).endswith("→ haus")
    )
    assert "backward" in model.answer("", {"word": "haus"}) and model.hint.startswith("firth run")


def test_posteriors_sum_to_one(model):
    posteriors = model.posteriors("the small book .", "das kleine Buch .")
    assert (
        posteriors.shape == (4, 5)
        and posteriors.sum(1) == pytest.approx(np.ones(4))
        and posteriors[:, 1:].argmax(1).tolist() == [0, 1, 2, 3]
    )
    assert model.posteriors("the book .", "das", backward=True).shape == (3, 2)
    assert model.posteriors("", "das Buch").shape == (2, 1)


def test_given_pairs_are_scored(model, tmp_path):
    answer = {score.name: score.value for score in model.evaluate([Pair(*pair) for pair in PAIRS])}
    assert "alignment_error_rate" not in answer and answer["fertility_1"] > 0.9 and answer["perplexity"] < 5
    (tmp_path / "other.tsv").write_text(lines(PAIRS))
    assert {score.name: score.value for score in model.evaluate(str(tmp_path / "other.tsv"))} == answer


# --- bad input --------------------------------------------------------------------------------------------------------


def test_bad_questions(model):
    for line, options, message in (
        ("only one text", {}, "one text, where two belong together"),
        ("", {"word": "two words"}, "'two words' is 2 words"),
        ("", {"word": "unheard"}, "in neither language"),
        ("a\tb", {"beam": 3}, "this model has no --beam; it takes --count, --word"),
    ):
        with pytest.raises(FirthError, match=message):
            model.answer(line, options)
    with pytest.raises(FirthError, match="unknown symmetrisation heuristic"):
        model.align(PAIRS[:1], "grow")
    with pytest.raises(FirthError, match="no pairs to score"):
        model.evaluate([])


@pytest.mark.parametrize(
    ("gold", "message"),
    [
        ("0-0\n", "1 lines of links for 2 pairs"),
        ("0-0\n0-3\n", "test.align:2: link 0-3, where there are 3 and 3 words"),
        ("0-0\n0_0\n", "'0_0' is not a link"),
    ],
)
def test_gold_links_that_do_not_fit(gold, message, tmp_path):
    (tmp_path / "test.align").write_text(gold)
    (tmp_path / "test.tsv").write_text(lines(PAIRS[:2]))
    with pytest.raises(FirthError, match=message):
        trained(tmp_path / "run", "ibm-1", test=tmp_path / "test.tsv", settings={"gold": str(tmp_path / "test.align")})


def test_gold_links_without_test_pairs(tmp_path):
    (tmp_path / "test.align").write_text("0-0\n")
    with pytest.raises(FirthError, match="links are given for test pairs, but test pairs are not"):
        trained(tmp_path / "run", "ibm-1", settings={"gold": str(tmp_path / "test.align")})


def test_possible_links_are_not_wrong(tmp_path):
    (tmp_path / "test.tsv").write_text(lines(PAIRS[:1]))
    (tmp_path / "sure").write_text("0-0 1-1\n")
    (tmp_path / "possible").write_text("2-2\n")
    settings = {"gold": str(tmp_path / "sure"), "gold_possible": str(tmp_path / "possible")}
    aligner = trained(tmp_path / "run", test=tmp_path / "test.tsv", settings=settings)
    scores = {score.name: score.value for score in aligner.evaluate()}
    assert scores["alignment_error_rate"] == 0 and scores["link_precision"] == 1 and scores["link_recall"] == 1


def test_no_plan(tmp_path):
    with pytest.raises(FirthError, match="--plan is for neural models"):
        firth.plan(firth.api.resolve_config("ibm-1"))
