"""Extractive question answering from one file: answers, windows of long contexts, no answer, scores."""

import itertools
import json

import numpy as np
import pytest

import firth
from firth.datasets.collators.question_context import make_rows
from firth.datasets.question_dataset import answer_span, tokenise_context
from firth.datasets.records import Answer, Question
from firth.errors import FirthError
from firth.pipelines.answer_questions import THRESHOLD

NAMES, TOWNS, JOBS = ("Ada", "Grace", "Alan"), ("Oslo", "Lima", "Cairo"), ("baker", "pilot", "nurse")


def squad(path):
    paragraphs = []
    for number, (name, town, job) in enumerate(itertools.product(NAMES, TOWNS, JOBS)):
        context = f"{name} is a {job} from {town} ."
        asked = [(f"Where is {name} from ?", town), (f"What is the job of {name} ?", job)]
        questions = [
            {"id": f"{number}-{at}", "question": text, "answers": [{"text": gold, "answer_start": context.index(gold)}]}
            for at, (text, gold) in enumerate(asked)
        ]
        stranger = {"id": f"{number}-none", "question": "Where is Bob from ?", "answers": [], "is_impossible": True}
        paragraphs.append({"context": context, "qas": [*questions, stranger]})
    path.write_text(json.dumps({"version": "v2.0", "data": [{"title": "people", "paragraphs": paragraphs}]}))
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("questions")
    settings = {
        "tokenizer.model": "word",
        "backbone.width": 32,
        "backbone.depth": 2,
        "backbone.dropout": 0,
        "backbone.attention.dropout": 0,
        "head.dropout": 0,
        "batching.length": 24,
        "train.evaluate_every": 100,
    }
    path = squad(folder / "people.json")
    return firth.train("bert-qa:tiny", text=str(path), out=folder / "run", budget="300 steps", settings=settings)


def test_it_learns_and_leaves_unanswerable_questions_unanswered(model):
    scores = {score.name: score.value for score in model.evaluate()}
    assert scores["exact_match"] > 80 and scores["f1"] > 80
    context = "Ada is a pilot from Lima ."
    (best,) = model.find_answers("Where is Ada from ?", context)
    assert (best.text, context[best.start : best.end]) == ("Lima", "Lima")
    (none,) = model.find_answers("Where is Bob from ?", context)
    assert none.text == "" and none.probability > model.threshold


@pytest.mark.parametrize("value", [None, -1, 2.5, float("nan"), float("inf")])
def test_a_threshold_that_is_no_probability_is_refused(model, tmp_path, value):
    run = model.save(tmp_path / "run")
    scores = json.loads((run / "scores.json").read_text())
    found = [score for score in scores if score["name"] == THRESHOLD]
    assert found
    found[0]["value"] = value
    (run / "scores.json").write_text(json.dumps(scores))
    with pytest.raises(FirthError, match=r"scores.json: damaged \(the threshold is no probability\)"):
        firth.load(run).find_answers("Where is Ada from ?", "Ada is a pilot from Lima .")


def test_probabilities_are_over_all_spans_and_no_answer(model):
    (found,) = model.candidates([("Where is Ada from ?", "Ada is a pilot from Lima .")], count=1000)
    total = found.no_answer + sum(answer.probability for answer in found.answers)
    assert total == pytest.approx(1.0) and len(found.answers) == 7 * 8 // 2


def test_a_question_does_not_depend_on_its_company(model):
    people = zip(NAMES, TOWNS, JOBS, strict=True)
    asked = [(f"Where is {name} from ?", f"{name} is a {job} from {town} .") for name, town, job in people]
    for pair, together in zip(asked, model.candidates(asked), strict=True):
        (alone,) = model.candidates([pair])
        assert alone.answers[0][:3] == together.answers[0][:3]
        assert alone.no_answer == pytest.approx(together.no_answer, abs=1e-5)


def test_windows_cover_a_long_context(model):
    text = " ".join(f"word{number} is here ." for number in range(40))
    context = tokenise_context(text, model.tokenizer)
    config = model.config.batching
    rows = make_rows(0, np.array([9, 10]), context.ids, config, model.tokenizer.special)
    assert len(rows) > 2 and all(len(row.sequence.ids) <= config.length for row in rows)
    covered = {at for row in rows for at in range(row.window.first, row.window.last)}
    assert covered == set(range(len(context.ids)))
    for row in rows:
        window = row.sequence.ids[row.window.offset : row.window.offset + row.window.last - row.window.first]
        assert (window == context.ids[row.window.first : row.window.last]).all()
    (found,) = model.find_answers("Where is Ada from ?", text + " Ada is a pilot from Lima .", threshold=1.0)
    assert found.text == "Lima"


def test_an_answer_within_a_token_is_that_token(model):
    context = tokenise_context("Ada is a pilot from Lima .", model.tokenizer)
    question = Question("1", "Ada is a pilot from Lima .", "?", (Answer("ilo", 10),))
    assert answer_span(question, context.offsets) == (3, 3)


def test_what_cannot_be_answered_is_one_line(model):
    with pytest.raises(FirthError, match="a question without a context"):
        model.answer("Where is Ada from ?", {})
    answer = model.answer("Where is Ada from ?\tAda is a pilot from Lima .", {})
    assert model.format_answer(answer).endswith("\tLima")
