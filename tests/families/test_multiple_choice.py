"""Multiple choice from one file: it learns, takes any number of choices, and reads each by itself."""

import json

import numpy as np
import pytest

import firth
from firth.datasets.records import Choices
from firth.errors import FirthError

COLOURS = ("red", "green", "blue", "white")


def questions():
    """The sky is blue, whatever else there is to choose from, and wherever it stands."""
    for number in range(48):
        others = [COLOURS[(number + step) % 4] for step in range(1 + number % 3)]
        choices = [other for other in others if other != "blue"] or ["red"]
        choices.insert(number % (len(choices) + 1), "blue")
        yield {"context": "look at the sky", "question": "it is", "choices": choices, "answer": choices.index("blue")}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("choices")
    path = folder / "cars.jsonl"
    path.write_text("".join(json.dumps(question) + "\n" for question in questions()))
    settings = {
        "tokenizer.model": "word",
        "backbone.width": 32,
        "backbone.depth": 2,
        "backbone.dropout": 0,
        "backbone.attention.dropout": 0,
        "head.dropout": 0,
        "head.pooling": "mean",
        "batching.length": 16,
        "data.group_duplicates": False,
        "train.evaluate_every": 60,
    }
    options = {"budget": "120 steps", "settings": settings, "learning_rate": 3e-3}
    return firth.train("bert-multiple-choice:tiny", text=str(path), out=folder / "run", **options)


def test_it_learns(model):
    (score,) = model.evaluate()
    assert score.value == 1.0 and "chance" in score.note
    assert model.choose("it is", ["green", "blue", "red", "white"], "look at the sky")[0][0] == "blue"


def test_choices_are_read_one_by_one(model):
    asked = [Choices("the sky", "it is", ("red", "blue")), Choices("look at the sky", "it is", COLOURS)]
    together = model.choice_probabilities(asked)
    assert [len(row) for row in together] == [2, 4]
    for question, row in zip(asked, together, strict=True):
        assert row.sum() == pytest.approx(1.0, abs=1e-5)
        (alone,) = model.choice_probabilities([question])
        np.testing.assert_allclose(alone, row, atol=1e-5)
    (reverse,) = model.choice_probabilities([asked[1]._replace(choices=COLOURS[::-1])])
    np.testing.assert_allclose(reverse[::-1], together[1], atol=1e-5)


def test_what_cannot_be_chosen_is_one_line(model):
    with pytest.raises(FirthError, match="a question without choices"):
        model.answer("the car is red\tit is\tred", {})
    with pytest.raises(FirthError, match="fewer than two choices, or an empty one"):
        model.choose("it is", ["red", " "])
    answer = model.answer("\tthe sky is\tred\tblue", {})
    assert model.format_answer(answer).split("\n")[0].endswith("\tblue")
