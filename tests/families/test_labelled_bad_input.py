"""Bad labelled data: one line that names the file and the line, or a note, and nothing is lost."""

import json

import pytest

import firth
from firth.errors import FirthError
from firth.runs.progress import Quiet

PLAIN = "".join(f"a good thing {n}\tpos\na bad thing {n}\tneg\n" for n in range(20))
PAIRS = "left\tright\tscore\n" + "a b\tc d\t1\ne f\tg h\t2\n" * 9
TAGGED = "Ann B-PER\nsees O\n\nBob B-PER\nhears O\n\n" * 6
TINY = {"budget": "2 steps", "threads": 1}


def squad(text, start):
    answer = {"text": text, "answer_start": start}
    paragraph = {"context": "Ann is here", "qas": [{"id": "1", "question": "Who?", "answers": [answer]}]}
    return json.dumps({"data": [{"title": "t", "paragraphs": [paragraph]}]}, indent=1)


@pytest.mark.parametrize("preset", ["naive-bayes", "fasttext-classifier", "text-cnn:tiny"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (PLAIN + "a thing\n", "x.tsv:41: 1 column, expected 2"),
        ("text\tlabel\n" + PLAIN + "a thing\t\n", "x.tsv:42: an empty label; fill it in"),
        ("text\tid\n" + "".join(f"a thing {n}\t{n}\n" for n in range(9)), "x.tsv:2: no column 'label' (there are"),
        ("text\tlabel\n" + PLAIN.replace("neg", "pos"), "1 label in the training examples (pos)"),
        ("text\tlabel\n" + PLAIN[:18], "1 example, too few to split three ways"),
        ("text\tlabel\n", "no rows in it"),
    ],
)
def test_labels(preset, content, message, tmp_path):
    (tmp_path / "x.tsv").write_text(content)
    settings = TINY if "cnn" in preset else {}
    with pytest.raises(FirthError) as caught:
        firth.train(preset, text=tmp_path / "x.tsv", out=tmp_path / "run", **settings)
    assert message in str(caught.value) and "\n" not in str(caught.value)
    assert not (tmp_path / "run" / "config.json").exists()


@pytest.mark.parametrize(
    ("preset", "name", "content", "message"),
    [
        ("ridge-regression", "x.tsv", PAIRS + "a b\tc\tmany\n", "x.tsv:20: score 'many' is not a number"),
        ("bilstm-regressor:tiny", "x.tsv", PAIRS + "a b\tc\t\n", "x.tsv:20: score '' is not a number"),
        ("hmm-tagger", "x.conll", TAGGED + "Tom\n\n", ":37: 1 column, expected 2"),
        ("bert-qa:tiny", "x.json", squad("Ann", 4), "answer 'Ann' is not at character 4 of its context"),
        ("bert-qa:tiny", "x.json", squad("Ann", 400), "answer 'Ann' is not at character 400 of its context"),
    ],
)
def test_values_tags_and_answers(preset, name, content, message, tmp_path):
    (tmp_path / name).write_text(content)
    with pytest.raises(FirthError) as caught:
        firth.train(preset, text=tmp_path / name, out=tmp_path / "run", **(TINY if "tiny" in preset else {}))
    assert message in str(caught.value) and name in str(caught.value) and "\n" not in str(caught.value)


def test_broken_bio_is_mended_or_refused_with_its_line(tmp_path):
    (tmp_path / "x.conll").write_text(TAGGED + "Lee O\nKim I-PER\n\n")
    (tmp_path / "v.conll").write_text(TAGGED)
    files = {"text": tmp_path / "x.conll", "valid": tmp_path / "v.conll", "test": tmp_path / "v.conll"}
    with pytest.raises(FirthError, match=r"x\.conll:38: 'I-PER' between O and the end in iob2, expected 'B-PER'"):
        firth.train("hmm-tagger", **files, out=tmp_path / "a", settings={"data.broken_tags": "refuse"})
    said = Said()
    (tmp_path / "y.conll").write_text(TAGGED + "Lee X\n\n")
    with pytest.raises(FirthError, match=r"y\.conll:37: 'X' is not a tag of iob2"):
        firth.train("hmm-tagger", **{**files, "text": tmp_path / "y.conll"}, out=tmp_path / "c")
    model = firth.train("hmm-tagger", **files, out=tmp_path / "b", progress=said)
    assert any("x.conll:38" in line and "mended" in line for line in said.lines)
    assert "I-PER" not in model.labels["tag"]


class Said(Quiet):
    """Keeps what is said."""

    def __init__(self):
        self.lines = []

    def say(self, text):
        self.lines.append(text)


@pytest.mark.parametrize(("preset", "settings"), [("naive-bayes", {}), ("text-cnn:tiny", TINY)])
def test_a_label_that_training_lacks_is_named_and_scored_as_wrong(preset, settings, tmp_path):
    (tmp_path / "x.tsv").write_text(PLAIN)
    (tmp_path / "t.tsv").write_text("a good thing\tpos\nan odd thing\todd\nan odd one\todd\n")
    said = Said()
    files = {"text": tmp_path / "x.tsv", "test": tmp_path / "t.tsv"}
    model = firth.train(preset, **files, out=tmp_path / "run", progress=said, **settings)
    assert any(("odd" in line and "cannot be right in test" in line) or "in test (line 2) cannot be right" in line
               for line in said.lines)  # fmt: skip
    accuracy = model.evaluate(split="test")[0]
    assert accuracy.value <= 1 / 3 and "2 of the labels are not in the training examples: odd" in accuracy.note


def test_a_class_with_one_example_stays(tmp_path):
    (tmp_path / "x.tsv").write_text(PLAIN + "a rare thing\trare\n")
    files = {"text": tmp_path / "x.tsv", "valid": tmp_path / "x.tsv"}
    settings = {"objective.class_weights": "balanced", "data.test_fraction": 0}
    model = firth.train("text-cnn:tiny", **files, out=tmp_path / "run", settings=settings, **TINY)
    assert model.labels == ("neg", "pos", "rare") and model.predict_proba("a rare thing").shape == (3,)
