"""A tagger from one file: training, tags, spans with exact probabilities, constraints, scores."""

import itertools

import numpy as np
import pytest

import firth
from firth.errors import FirthError
from firth.generation.structured.tag_constraints import TagConstraints

PLACES, PEOPLE = ("Oslo", "New York", "Lima"), ("Ada", "Grace Hopper", "Alan")
SETTINGS = {"inputs.words.vectors.width": 16, "backbone.width": 16, "train.evaluate_every": 40}


def sentence(person, place):
    names, places = ([(word, label) for word in text.split()] for text, label in ((person, "PER"), (place, "LOC")))
    words = [*names, ("lives", ""), ("in", ""), *places]
    rows, before = [], ""
    for word, label in words:
        prefix = "I" if label and label == before else "B"
        rows.append(f"{word} {f'{prefix}-{label}' if label else 'O'}")
        before = label
    return "\n".join(rows)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tagger")
    pairs = list(itertools.product(PEOPLE, PLACES)) * 6
    path = folder / "people.conll"
    path.write_text("\n\n".join(sentence(*pair) for pair in pairs) + "\n")
    options = {"budget": "80 steps", "settings": SETTINGS | {"data.group_duplicates": False}}
    return firth.train("ner:tiny", text=str(path), out=folder / "run", **options)


def test_it_learns_and_says_how_well(model):
    scores = {score.name: score.value for score in model.evaluate()}
    assert scores["accuracy"] == scores["f1"] == scores["precision"] == scores["recall"] == 1.0
    assert (model.labels and model.schemes == {"entity": "bioes"}) or model.schemes == {"tag": "bioes"}


def test_tags_and_spans_have_exact_probabilities(model):
    words = ["Grace", "Hopper", "lives", "in", "New", "York"]
    tags = model.tag(words)
    assert tags == ["B-PER", "E-PER", "O", "O", "B-LOC", "E-LOC"] == model.tag("Grace Hopper lives in New York")
    (layer,) = model.labels
    probabilities = model.predict_proba(words)
    np.testing.assert_allclose(probabilities.sum(1), 1.0)
    spans = model.spans(words)
    assert [(span.text, span.label) for span in spans] == [("Grace Hopper", "PER"), ("New York", "LOC")]
    names = model.labels[layer]
    for span in spans:  # a span is at most as probable as the tags of its words
        found = [probabilities[at, names.index(tags[at])] for at in range(span.start, span.end)]
        assert 0 < span.probability <= min(found) + 1e-9
    everything = model.spans(words, threshold=1e-6)
    assert {(span.start, span.end, span.label) for span in spans} <= {each[1:4] for each in everything}


def test_a_sentence_does_not_depend_on_its_company(model):
    sentences = [sentence(*pair).split()[::2] for pair in itertools.product(PEOPLE, PLACES)]
    together = model.predict_proba(sentences)
    for words, rows in zip(sentences, together, strict=True):
        np.testing.assert_allclose(model.predict_proba(words), rows, atol=1e-5)
    assert model.tag(sentences) == [model.tag(words) for words in sentences]


def test_constraints_hold(model):
    words = ["Ada", "lives", "in", "Oslo"]
    only = TagConstraints(words={"Oslo": ["*-PER"]})
    assert model.tag(words, constraints=only)[-1].endswith("-PER")
    none = TagConstraints(forbidden=[("O", "*-LOC")])
    assert not model.tag(words, constraints=none)[-1].endswith("-LOC")


def test_what_cannot_be_tagged_is_one_line(model):
    with pytest.raises(FirthError, match="a sentence without words"):
        model.tag("  ")
    with pytest.raises(FirthError, match="unknown layer 'pos'"):
        model.tag("Ada lives", layer="pos")


def test_the_command_line_prints_words_tags_and_spans(model):
    answer = model.answer("Ada lives in Oslo", {})
    lines = model.format_answer(answer).split("\n")
    assert lines[0].split("\t")[:2] == ["Ada", "S-PER"] and lines[-1].split("\t")[1:] == ["LOC", "Oslo"]
    again = firth.load(model.run.path)
    assert again.tag("Ada lives in Oslo") == model.tag("Ada lives in Oslo")
