"""Multiple choice by likelihood, and pseudo-log-likelihood, against the models' own scores of whole texts."""

from __future__ import annotations

import json

import numpy as np
import pytest

import firth
from firth.datasets.records import Choices
from firth.datasets.world import World
from firth.errors import FirthError
from firth.pipelines.choice_scoring import ChoiceScoringOptions, choose_by_likelihood

WORDS = {"tokenizer.model": "word", "tokenizer.min_count": 1}
NETWORK = {"train.budget": "20 steps", "batching.length": 32, "train.threads": 1}
QUESTIONS = [
    Choices("Bruno is a sad nurse from Rome.", "He", ("lived in Rome.", "lived in Vienna and slept.", "xyzzy."), 0),
    Choices("", "Maria is a happy", ("baker from Cairo.", "dog."), 0),
]


@pytest.fixture(scope="module")
def ngram(tmp_path_factory):
    out = tmp_path_factory.mktemp("ngram") / "run"
    return firth.train("ngram-lm", text="world:600", out=out, settings={**WORDS, "method.order": 3})


@pytest.fixture(scope="module")
def masked(tmp_path_factory):
    out = tmp_path_factory.mktemp("masked") / "run"
    return firth.train("modern-encoder:tiny", text="world:200", out=out, settings=WORDS | NETWORK)


def joined(question, choice):
    return " ".join(part for part in (question.context, question.question, choice) if part)


def test_each_scoring_is_made_of_the_models_own_scores(ngram):
    values = choose_by_likelihood(ngram).scores(QUESTIONS)

    def log_probability(text):
        return ngram.score(text, whole=False) - ngram.oov_nll([text])[0]

    for number, question in enumerate(QUESTIONS):
        for at, choice in enumerate(question.choices):
            before = joined(question, "")
            total = log_probability(joined(question, choice)) - log_probability(before)
            alone = question.question + " " if question.context else ""
            prior = log_probability(alone + choice) - log_probability(alone.strip())
            tokens = len(ngram.tokenizer.encode(choice))
            row = {name: rows[number][at] for name, rows in values.items()}
            assert row["total"] == pytest.approx(total, abs=1e-4)
            assert row["token"] == pytest.approx(total / tokens, abs=1e-4)
            assert row["byte"] == pytest.approx(total / len(choice), abs=1e-4)
            assert row["calibrated"] == pytest.approx(total - prior, abs=1e-4)


def test_choices_are_ranked_with_probabilities(ngram):
    model = choose_by_likelihood(ngram)
    ranked = model.choose("He", QUESTIONS[0].choices, QUESTIONS[0].context)
    assert ranked[0][0] == "lived in Rome." and sum(p for _, p in ranked) == pytest.approx(1)
    for name, values in model.scores(QUESTIONS).items():
        rows = model.answer_probabilities(QUESTIONS, ChoiceScoringOptions(scoring=name))
        assert [len(row) for row in rows] == [3, 2]  # questions have any number of choices
        for row, value in zip(rows, values, strict=True):
            assert row.argmax() == value.argmax() and row.sum() == pytest.approx(1)


def test_a_likelihood_chooses_what_the_grammar_makes_likely(ngram):
    """The first words of sentences of the world, with their true continuations and those of others' reversed."""
    questions = []
    for text in World().documents(40, 30_000):
        words = text.split(". ")[0].split()
        true, false = " ".join(words[2:]), " ".join(words[:1:-1])
        questions.append(Choices("", " ".join(words[:2]), (false, true), 1))
    scores = {score.name: score for score in choose_by_likelihood(ngram).evaluate(questions)}
    assert list(scores) == [f"accuracy ({name})" for name in ("total", "token", "byte", "calibrated")]
    assert scores["accuracy (total)"].value > 0.95 and scores["accuracy (total)"].note == "chance 0.500"
    assert "scoring:total" in scores["accuracy (total)"].signature


def pseudo_log_likelihood(model, before, text):
    """By one [MASK] at a time, as a user would type it."""
    words, total = text.split(), 0.0
    for at, word in enumerate(words):
        masked = " ".join([*([before] if before else []), *words[:at], "[MASK]", *words[at + 1 :]])
        total += model.prompt_log_probs(masked)[model.tokenizer.encode(word)[0]]
    return total


def test_pseudo_log_likelihood_masks_one_token_at_a_time(masked):
    texts, context = ("he slept", "she lived in Rome"), "Maria is happy"
    (given,) = masked.continuation_scores([(context, texts)])
    (alone,) = masked.continuation_scores([("", texts)])
    assert given.token_counts.tolist() == alone.token_counts.tolist() == [2, 4]
    for at, text in enumerate(texts):
        assert given.log_likelihoods[at] == pytest.approx(pseudo_log_likelihood(masked, context, text), abs=1e-3)
        assert alone.log_likelihoods[at] == pytest.approx(pseudo_log_likelihood(masked, "", text), abs=1e-3)


def test_pseudo_log_likelihood_does_not_depend_on_other_texts(masked):
    groups = [("", ("he slept",)), ("Maria is happy and Bruno is sad", ("she lived in Rome", "he"))]
    together = masked.continuation_scores(groups)
    for group, values in zip(groups, together, strict=True):
        (single,) = masked.continuation_scores([group])
        np.testing.assert_allclose(single.log_likelihoods, values.log_likelihoods, atol=1e-3)


def test_a_long_context_loses_its_beginning(tmp_path):
    """BERT's positions are bounded; a text that does not fit by itself is refused."""
    model = firth.train("bert:tiny", text="world:100", out=tmp_path / "run", settings=WORDS | NETWORK)
    limit, end = model.system.backbone.max_length, "Maria is happy"
    (long,) = model.continuation_scores([(f"{'he ' * 2 * limit}{end}", ("he slept",))])
    room = limit - 2 - 2 - len(end.split())
    (exact,) = model.continuation_scores([(f"{'he ' * room}{end}", ("he slept",))])
    assert long.log_likelihoods == pytest.approx(exact.log_likelihoods, abs=1e-4)
    with pytest.raises(FirthError, match=f"and this model takes at most {limit} at once"):
        model.continuation_scores([("", ("he " * 2 * limit,))])


def test_the_generator_of_replaced_token_detection_scores_too(tmp_path):
    model = firth.train("electra:tiny", text="world:100", out=tmp_path / "run", settings=WORDS | NETWORK)
    (values,) = model.continuation_scores([("Maria is happy", ("he slept",))])
    assert values.log_likelihoods[0] == pytest.approx(
        pseudo_log_likelihood(model, "Maria is happy", "he slept"), abs=1e-3
    )


def test_a_masked_model_chooses(masked):
    model = choose_by_likelihood(masked)
    assert all(score.value is not None for score in model.evaluate(QUESTIONS))


# --- bad input --------------------------------------------------------------------------------------------------------


def test_text_of_only_unknown_words_is_scored_byte_by_byte(ngram):
    (row,) = choose_by_likelihood(ngram).scores([Choices("zzz", "qqq", ("vvv", "wwwwwww"))])["total"]
    assert np.isfinite(row).all() and row[0] > row[1]


@pytest.mark.parametrize(
    ("questions", "message"),
    [
        ([Choices("", "a", ("b", "c"))], "no question has an answer; say which choice is correct"),
        ([Choices("", "a", ("b",), 0)], "fewer than two choices, or an empty one"),
        ([Choices("", "a", ("b", " "), 0)], "fewer than two choices, or an empty one"),
        (None, "this language model has no questions of its own; name a file or set of them: --text world-"),
    ],
)
def test_bad_input(ngram, questions, message):
    with pytest.raises(FirthError) as error:
        choose_by_likelihood(ngram).evaluate(questions)
    assert message in str(error.value)


def test_other_models_are_refused(tmp_path):
    model = firth.train(
        "naive-bayes", text="world", out=tmp_path / "run", settings={"data.text": "world-classification"}
    )
    with pytest.raises(FirthError, match="this model gives no probability of texts"):
        choose_by_likelihood(model)


def test_the_command_line(ngram, tmp_path):
    from typer.testing import CliRunner

    from firth.cli.main import app

    path = tmp_path / "q.jsonl"
    rows = [{"context": q.context, "question": q.question, "choices": q.choices, "answer": 0} for q in QUESTIONS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    call = CliRunner().invoke
    task = ["--task", "multiple-choice"]
    scores = json.loads(call(app, ["eval", str(ngram.run.path), *task, "--text", str(path), "--json"]).stdout)
    assert [score["name"] for score in scores] == [f"accuracy ({n})" for n in ("total", "token", "byte", "calibrated")]
    predicted = call(app, ["run", str(ngram.run.path), *task, "--text", str(path), "--set", "scoring=token"]).stdout
    assert predicted.splitlines()[0] == "question\tchoice\tprobability" and len(predicted.splitlines()) == 3
    line = "\t".join(["", "Maria is a happy", "baker from Cairo.", "dog."])
    (answer,) = [json.loads(call(app, ["run", str(ngram.run.path), *task, line, "--json"]).stdout)]
    assert answer["choices"][0][0] in ("baker from Cairo.", "dog.")
    refused = call(app, ["run", str(ngram.run.path), *task, "a line"])
    assert isinstance(refused.exception, FirthError) and "a question without choices" in str(refused.exception)
