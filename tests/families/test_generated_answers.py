"""Answers that are generated (with and without a context) or chosen among labels, from files of questions."""

import json

import pytest

import firth
from firth.errors import FirthError

COLOURS = {"sky": "blue", "grass": "green", "snow": "white", "coal": "black"}
SMALL = {f"backbone.{side}.{name}": value for side in ("encoder", "decoder")
         for name, value in (("width", 32), ("depth", 1), ("dropout", 0))}  # fmt: skip
FEW = {"train.evaluate_every": 150, "train.threads": 1, "data.group_duplicates": False}


def rows():
    for number in range(48):
        thing = list(COLOURS)[number % 4]
        context = f"number {number % 5} : the {thing} is {COLOURS[thing]}"
        yield {"question": f"what colour is the {thing} ?", "context": context, "answer": COLOURS[thing]}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("questions")
    (folder / "table.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows()))
    paragraphs = [
        {"context": row["context"], "qas": [{"id": f"q{n}", "question": row["question"], "answers": [
            {"text": row["answer"], "answer_start": row["context"].index(row["answer"])},
            {"text": f"is {row['answer']}", "answer_start": row["context"].index("is " + row["answer"])}]}]}
        for n, row in enumerate(rows())
    ]  # fmt: skip
    squad = {"version": "1.1", "data": [{"title": "", "paragraphs": paragraphs}]}
    (folder / "squad.json").write_text(json.dumps(squad))
    return folder


@pytest.mark.parametrize("context", ["with", "without"])
@pytest.mark.parametrize("file", ["squad.json", "table.jsonl"])
def test_answers_are_generated(context, file, files):
    settings = {**SMALL, **FEW, "data.context": context, "batching.length": 32, "tokenizer.model": "word"}
    more = {"budget": "100 steps", "settings": settings, "learning_rate": 5e-3}
    model = firth.train("modern-mt:tiny", text=str(files / file), out=files / f"{context}-{file}",
                        **{**more, "settings": {**settings, "data.tasks": ("question-answering",)}})  # fmt: skip
    scores = {score.name: score.value for score in model.evaluate()}
    assert scores["exact_match"] == scores["f1"] == 100.0
    question = "question: what colour is the snow ?"
    asked = f"{question} context: number 3 : the snow is white" if context == "with" else question
    assert model.generate(asked) == "white"
    other = {score.name: score.value for score in model.evaluate(str(files / file))}
    assert other["f1"] == 100.0


def test_answers_are_labels(files):
    settings = {**FEW, "backbone.width": 32, "backbone.dropout": 0, "data.tasks": ("answer-classification",)}
    more = {"budget": "150 steps", "settings": settings, "learning_rate": 5e-3}
    model = firth.train("classifier:tiny", text=str(files / "squad.json"), out=files / "labels", **more)
    assert sorted(model.labels) == sorted(COLOURS.values())
    pair = ("what colour is the coal ?", "number 1 : the coal is black")
    assert model.predict([pair])[0][0][0] == "black" and model.evaluate()[0].value == 1.0


def test_a_table_of_questions_needs_the_answer_in_its_context_to_find_it(files, tmp_path):
    path = tmp_path / "bad.jsonl"
    bad = {"question": "what ?", "context": "the sky is blue", "answer": "red"}
    path.write_text("".join(json.dumps(row) + "\n" for row in [next(rows()), bad, next(rows())]))
    with pytest.raises(FirthError, match=r"bad.jsonl:2: the context has no 'red'"):
        firth.train("bert-qa:tiny", text=str(path), out=tmp_path / "run", budget="1 steps")
    del bad["context"]
    path.write_text("".join(json.dumps({**row, "context": ""}) + "\n" for row in rows()))
    with pytest.raises(FirthError, match=r"bad.jsonl:1: a question without a context"):
        firth.train("bert-qa:tiny", text=str(path), out=tmp_path / "run", budget="1 steps")
