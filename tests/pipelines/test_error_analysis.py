"""Error analysis of models: the same scores as `evaluate`, losses as probabilities say, JSON as Python has it."""

import itertools
import json
from types import MappingProxyType, SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import firth
from firth.cli.main import app
from firth.datasets.examples import TaggedSentence
from firth.datasets.labelled_dataset import make_split
from firth.datasets.records import Choices, Labelled
from firth.generation.structured.linear_chain import LinearChain
from firth.pipelines.answer_errors import analyse_choices
from firth.pipelines.label_errors import analyse_labels
from firth.pipelines.tag import BaseTagger
from firth.workflows.predict_file import Source, predict_file

TAGS = ("O", "B-PER", "I-PER")


class RandomTagger(BaseTagger):
    """A tagger whose scores are random, but the same for the same word."""

    labels = MappingProxyType({"entity": TAGS})
    schemes = MappingProxyType({"entity": "iob2"})
    run = SimpleNamespace(path="run", record=SimpleNamespace(data={"splits": {}}, config=None))

    def emissions(self, sentences):
        return [{"entity": np.stack([np.random.default_rng(len(word)).normal(size=3) for word in words])}
                for words in sentences]  # fmt: skip

    def chain(self, layer):
        return LinearChain.of(*(np.random.default_rng(7).normal(size=size) for size in ((3, 3), 3, 3)))

    def signature_fields(self):
        return {}


@pytest.fixture(scope="module")
def sentences():
    rows = [("Ada Lovelace met <b>Grace</b>", "B-PER I-PER O B-PER"), ("nobody", "O"), ("so they said", "O O O")]
    return [TaggedSentence(tuple(text.split()), (tuple(tags.split()),)) for text, tags in rows]


def test_the_loss_of_a_tagging_is_its_negative_log_likelihood(sentences):
    tagger = RandomTagger()
    for example in tagger.error_analysis(sentences).examples:
        (words,) = [each for each in sentences if " ".join(each.words) == example.texts[0]]
        (result,) = tagger.distributions([words.words])
        every = itertools.product(TAGS, repeat=len(words.words))
        total = np.logaddexp.reduce([result.log_probability(tags) for tags in every])
        assert total == pytest.approx(0.0, abs=1e-9)  # a distribution over all taggings
        assert example.loss == pytest.approx(-result.log_probability(words.tags[0]))


def test_tables_of_tags_agree_with_the_scores(sentences):
    tagger = RandomTagger()
    scores = {score.name: score.value for score in tagger.evaluate(sentences)}
    analysis = tagger.error_analysis(sentences)
    spans = {row["label"]: row for row in analysis.tables["spans"]}
    assert spans["micro average"]["f1"] == scores["f1"]
    matrix = analysis.tables["confusion matrix"]
    right = sum(row[row["gold \\ predicted"]] for row in matrix)
    assert right / sum(len(each.words) for each in sentences) == pytest.approx(scores["accuracy"])
    assert [each.loss for each in analysis.examples] == sorted((each.loss for each in analysis.examples), reverse=True)


def test_marks_are_the_spans_in_characters(sentences):
    for example in RandomTagger().error_analysis(sentences).examples:
        gold = {example.texts[0][mark.start : mark.end] for mark in example.marks if mark.side != "predicted"}
        assert gold == ({"Ada Lovelace", "<b>Grace</b>"} if "Ada" in example.texts[0] else set())


def test_an_unseen_tag_has_no_probability():
    sentence = TaggedSentence(("Oslo",), (("B-LOC",),))
    (example,) = RandomTagger().error_analysis([sentence]).examples
    assert example.loss == np.inf and not example.correct


def test_the_loss_of_several_independent_labels_is_the_sum_of_their_decisions():
    split = make_split("given", [Labelled("a text", ("x", "y"), line=3)])
    row = np.array([[0.9, 0.4, 0.25]])
    (example,) = analyse_labels(split, row, ("x", "y", "z"), independent=True).examples
    assert example.loss == pytest.approx(-np.log(0.9 * 0.4 * 0.75))
    assert (example.gold, example.predicted, example.correct, example.where) == ("x, y", "x", False, "line 3")


def test_choices_are_counted_by_their_number():
    questions = [Choices("", "what", ("a", "b"), 0), Choices("c", "what", ("a", "b", "c"), 2)]
    analysis = analyse_choices("given", questions, [np.array([0.4, 0.6]), np.array([0.1, 0.1, 0.8])])
    assert [(row["choices"], row["correct"]) for row in analysis.tables["choices"]] == [(2, 0), (3, 1)]
    assert analysis.examples[0].loss == pytest.approx(-np.log(0.4)) and analysis.examples[0].predicted == "b"


def test_sentences_of_a_file_are_tagged_as_columns(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("Ada met Grace\nnobody\n")
    tagger = RandomTagger()
    lines = list(predict_file(tagger, Source(str(path)), {}, "conll"))
    sentences = [block.split("\n") for block in "\n".join(lines).strip().split("\n\n")]
    for block, words in zip(sentences, (["Ada", "met", "Grace"], ["nobody"]), strict=True):
        rows = [line.split("\t") for line in block]
        assert [row[0] for row in rows] == words and [row[1] for row in rows] == tagger.tag(words)
        wanted = [row[TAGS.index(tag)] for row, tag in zip(tagger.predict_proba(words), tagger.tag(words), strict=True)]
        np.testing.assert_allclose([float(row[2]) for row in rows], wanted, rtol=1e-5)


# --- a run --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    words = {"good": ("lovely", "fine", "great"), "bad": ("awful", "dull", "poor")}
    random = np.random.default_rng(0)
    texts = []
    for number in range(120):
        label = ("good", "bad")[number % 2]
        texts.append(f"__label__{label} plot {random.integers(60)} was {random.choice(words[label])} film {number}")
    out = tmp_path_factory.mktemp("labels") / "run"
    firth.train("naive-bayes", text=texts, out=out)
    return out


def command(*arguments):
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    return result.exit_code, result.output


def test_the_command_prints_what_python_has(run):
    code, out = command("eval", run, "--details", "--json")
    printed = json.loads(out.strip().split("\n")[-1])
    model = firth.load(run)
    analysis = model.error_analysis()
    assert code == 0 and printed["details"] == json.loads(json.dumps(analysis.to_dict()))
    assert printed["scores"] == [score.to_dict() for score in model.evaluate()]
    right = sum(example.correct for example in analysis.examples)
    assert right / len(analysis.examples) == printed["scores"][0]["value"]
    code, out = command("eval", run, "--details")
    assert code == 0 and "confusion matrix" in out and max(map(len, out.split("\n"))) <= 80
