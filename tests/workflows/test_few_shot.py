"""Zero-shot, one-shot and few-shot prompts: their demonstrations, the scoring of answers, and errors."""

import math
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

import firth
from firth.errors import FirthError
from firth.pipelines.answer_scores import SCORING
from firth.workflows import prompt_answers
from firth.workflows.few_shot import FewShotConfig, evaluate
from firth.workflows.prompt_answers import Prompt

TEMPLATE = "Text: {text}\nSo: {label}"
FEELINGS = {"glad": "good", "merry": "good", "sad": "bad", "bitter": "bad"}
NAMES = ("Ann", "Bob", "Cid", "Dot", "Eve", "Fay")
EXAMPLES = [{"text": f"{name} is {how}.", "label": FEELINGS[how]} for name in NAMES for how in FEELINGS]
DOCUMENTS = [TEMPLATE.format(**each) for each in EXAMPLES for _ in range(3)]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A byte-level model trained on the task: every byte is a token."""
    settings = {"tokenizer.model": "byte", "method.order": 10, "data.document": "file"}
    return firth.train("ngram-lm", text=DOCUMENTS, out=tmp_path_factory.mktemp("trained") / "run", settings=settings)


@pytest.fixture(scope="module")
def small_context(tmp_path_factory):
    """A Transformer with a context of 48 tokens, hardly trained."""
    settings = {
        "tokenizer.model": "byte", "backbone.width": 16, "backbone.depth": 1, "batching.batch_size": 4,
        "batching.length": 48, "train.budget": "4 steps", "train.threads": 1,
    }  # fmt: skip
    return firth.train(
        "transformer-lm:tiny", text=DOCUMENTS, out=tmp_path_factory.mktemp("small_context") / "run", settings=settings
    )


class Echo:
    """A sequence-to-sequence model: it generates the answer in its table for the last line but one."""

    def __init__(self, trained, answers):
        self.tokenizer, self.run, self.signed = trained.tokenizer, trained.run, trained.signed
        self.answers, self.prompts = answers, []

    def generate(self, texts, max_length):
        self.prompts += texts
        return [self.answers[text.splitlines()[-2].removeprefix("Text: ")] for text in texts]


# --- demonstrations -------------------------------------------------------------------------------------------------


def first_prompt(model, shots, seed=0, **more):
    result = evaluate(model, TEMPLATE, EXAMPLES, config=FewShotConfig(shots=(shots,), seed=seed, **more))
    return result.prompts[shots]


def test_a_prompt_is_demonstrations_and_a_query(trained):
    parts = first_prompt(trained, 2).split("\n\n")
    assert len(parts) == 3 and parts[-1] == "Text: Ann is glad.\nSo: "
    assert all(each in DOCUMENTS and "Ann is glad." not in each for each in parts[:-1])
    assert first_prompt(trained, 1, separator=" | ") == " | ".join(
        [parts[0], parts[-1]]
    )  # k shots are the first k of more


def test_the_seed_decides_the_demonstrations(trained):
    assert first_prompt(trained, 4) == first_prompt(trained, 4)
    assert len({first_prompt(trained, 4, seed) for seed in range(5)}) > 1


def test_the_query_is_never_among_its_demonstrations(trained):
    echo = Echo(trained, {each["text"]: each["label"] for each in EXAMPLES})
    evaluate(echo, TEMPLATE, EXAMPLES, demonstrations=EXAMPLES, config=FewShotConfig(shots=(len(EXAMPLES) - 1,)))
    assert len(echo.prompts) == len(EXAMPLES)
    for text in echo.prompts:  # each text occurs in it once
        assert sorted(text.split("\n")[::3]) == sorted(f"Text: {each['text']}" for each in EXAMPLES)


def test_demonstrations_can_come_from_another_set(trained):
    other = [{"text": "all is well", "label": "good"}]
    result = evaluate(trained, TEMPLATE, EXAMPLES, demonstrations=other, config=FewShotConfig(shots=(1,)))
    assert result.prompts[1].startswith("Text: all is well\nSo: good\n\n")
    with pytest.raises(FirthError, match="2 shots need 2 demonstrations, and there is 1; ask for fewer with --shots"):
        evaluate(trained, TEMPLATE, EXAMPLES, demonstrations=other, config=FewShotConfig(shots=(2,)))


def test_fewer_examples_are_sampled_by_the_seed(trained):
    results = [
        evaluate(trained, TEMPLATE, EXAMPLES, config=FewShotConfig(shots=(0,), max_examples=7, seed=seed))
        for seed in (0, 0, 1)
    ]
    assert [len(each.gold) for each in results] == [7, 7, 7]
    assert results[0] == results[1] and results[0].prompts != results[2].prompts


# --- by likelihood ------------------------------------------------------------------------------------------------


def conditional_log_likelihood(model, context, answer):
    """log p(answer | context) as the difference of two prefixes' log-probabilities."""
    whole, before = model.score([context + answer, context], whole=False)
    return whole - before


@pytest.mark.parametrize("which", ["trained", "small_context"])
def test_scores_are_the_likelihoods_of_the_answers(which, request):
    model, answers = request.getfixturevalue(which), ["good.", "quite bad."]
    unfitted = [Prompt((), "Ann is sad:"), Prompt(("Bob is glad: good.",), "Cid is: ")]
    fitted = prompt_answers.fit_prompts(model, unfitted, "\n", answers)
    scores = prompt_answers.score_answers(model, fitted, answers, "So: ")
    texts = ["Ann is sad:", "Bob is glad: good.\nCid is: "]
    log_likelihoods = np.array(
        [[conditional_log_likelihood(model, text, answer) for answer in answers] for text in texts]
    )
    assert scores.log_likelihoods == pytest.approx(log_likelihoods, abs=2e-3)
    assert scores.unconditional == pytest.approx(
        [conditional_log_likelihood(model, "So: ", answer) for answer in answers], abs=2e-3
    )
    assert scores.token_counts.tolist() == [[5, 10]] * 2 and scores.byte_counts.tolist() == [5, 10]  # a byte is a token
    assert SCORING["byte"](scores) == pytest.approx(log_likelihoods / [5, 10], abs=1e-3)
    assert SCORING["token"](scores) == pytest.approx(log_likelihoods / [5, 10], abs=1e-3)
    assert SCORING["calibrated"](scores) == pytest.approx(log_likelihoods - scores.unconditional, abs=2e-3)


def test_a_tokenizer_may_merge_prompt_and_answer(world):
    (fitted,) = [prompt_answers.fit_prompts(world, [Prompt((), "The cat sees the ")], "", ["dog", "dogs and cats"])]
    scores = prompt_answers.score_answers(world, fitted, ["dog", "dogs and cats"], "")
    texts = ["The cat sees the dog", "The cat sees the dogs and cats"]
    log_likelihoods = world.score(texts, whole=False)
    assert scores.log_likelihoods[0, 0] - scores.log_likelihoods[0, 1] == pytest.approx(
        log_likelihoods[0] - log_likelihoods[1], abs=1e-3
    )
    assert scores.log_likelihoods[0, 0] > log_likelihoods[0]  # without that of the prompt


def test_impossible_answers_are_never_better(trained):
    impossible = prompt_answers.Scores(
        np.array([[-math.inf, -9.0]]), np.ones((1, 2)), np.ones(2), np.array([-math.inf, -1.0])
    )
    assert all(method(impossible).argmax(1).tolist() == [1] for method in SCORING.values())


def test_out_of_vocabulary_labels_are_noted(words):
    examples = [{"text": "the cat", "label": "xyzzy"}, {"text": "a dog", "label": "the"}]
    result = evaluate(words, "{text} {label}", examples, config=FewShotConfig(shots=(0,)))
    assert result.notes == ("out-of-vocabulary words in labels, scored byte by byte: xyzzy",)
    assert result.outcomes[0].predictions == ("the", "the")


# --- outcomes -------------------------------------------------------------------------------------------------------


def test_a_model_trained_on_the_task_solves_it_with_every_scoring_method(trained):
    methods = ("total", "token", "byte", "calibrated", "generation")
    result = evaluate(trained, TEMPLATE, EXAMPLES, config=FewShotConfig(shots=(0, 2), scoring=methods))
    assert [(each.shots, each.scoring) for each in result.outcomes] == [
        (n, method) for n in (0, 2) for method in methods
    ]
    for each in result.outcomes:
        assert each.accuracy.value == 1.0 and each.interval == (1.0, 1.0), (each.shots, each.scoring)
        assert result.confusion_matrix(each) == {"bad": {"bad": 12, "good": 0}, "good": {"bad": 0, "good": 12}}
        assert f"|shots:{each.shots}|scoring:{each.scoring}|" in each.accuracy.signature
    assert result.majority == ("good", 0.5) and result.notes == ()


def test_accuracy_confusion_matrix_and_interval_are_those_of_the_predictions(small_context):
    result = evaluate(
        small_context, TEMPLATE, EXAMPLES, config=FewShotConfig(shots=(0,), scoring=("total", "generation"))
    )
    for each in result.outcomes:
        pairs = Counter(zip(result.gold, each.predictions, strict=True))
        correct = sum(count for (right, guess), count in pairs.items() if right == guess)
        assert each.accuracy.value == correct / len(EXAMPLES)
        assert each.interval.low <= each.accuracy.value <= each.interval.high
        counts = {
            (right, guess): n for right, row in result.confusion_matrix(each).items() for guess, n in row.items() if n
        }
        assert counts == dict(pairs)


def test_a_verbalizer_gives_labels_other_words(trained):
    numbered = [{"text": each["text"], "label": str(int(each["label"] == "good"))} for each in EXAMPLES]
    result = evaluate(
        trained, TEMPLATE, numbered, verbalizer={"1": "good", "0": "bad"}, config=FewShotConfig(shots=(0, 1))
    )
    assert [each.accuracy.value for each in result.outcomes] == [1.0, 1.0]
    assert result.labels == ("0", "1") and result.prompts[1].split("\n")[1] in ("So: good", "So: bad")


# --- by generation ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tail", "multiline", "answer"),
    [
        (" good\nText: Bob", "", False, "good"),
        ("\n good", "", False, "good"),
        (" very good. And so on", ".", False, "very good"),
        ("one\ntwo\n", "", True, "one\ntwo"),
        ("", "", False, ""),
    ],
)
def test_the_answer_ends_at_the_tail_or_the_line(text, tail, multiline, answer):
    assert prompt_answers.extract_answer(text, tail, multiline) == answer


def test_generated_answers_are_the_greedy_text(trained):
    texts = ["Text: Ann is sad.\nSo:", "Text: Bob is glad.\nSo:", "Te"]
    fitted = prompt_answers.fit_prompts(trained, [Prompt((), text) for text in texts], "")
    generated = prompt_answers.generate_answers(trained, fitted, "", 12)
    greedy = [trained.generate(text, max_length=12, temperature=0.0)[0] for text in texts]
    assert [text + more for text, more in zip(texts, generated, strict=True)] == greedy


def test_sequence_to_sequence_models_answer_by_generation(trained):
    answers = {each["text"]: each["label"] for each in EXAMPLES} | {"Ann is glad.": "no idea"}
    result = evaluate(Echo(trained, answers), TEMPLATE, EXAMPLES, config=FewShotConfig(shots=(0,)))
    (only,) = result.outcomes
    assert only.scoring == "generation" and only.accuracy.value == pytest.approx(23 / 24)
    assert only.predictions[0] is None and result.confusion_matrix(only)["good"] == {"bad": 0, "good": 11, None: 1}


def test_a_tokenizer_that_loses_line_breaks_is_noted(words):
    examples = [{"text": "the cat", "label": "the"}, {"text": "a dog", "label": "is"}]
    note = "this tokenizer loses line breaks, so that answers have no end: write a mark after {label}"
    config = FewShotConfig(shots=(0,), scoring=("generation",))
    assert note in evaluate(words, "{text} {label}", examples, config=config).notes
    assert note not in evaluate(words, "{text} {label}.", examples, config=config).notes


# --- long prompts -------------------------------------------------------------------------------------------------


def test_the_oldest_demonstrations_are_dropped_where_prompts_are_too_long(small_context):
    answers, unfitted = ["good", "bad"], [Prompt(("a" * 9, "b" * 20, "c" * 11), "d" * n) for n in (1, 12, 25, 60)]
    fitted = prompt_answers.fit_prompts(small_context, unfitted, "|", answers)
    assert small_context.limit == 48
    assert [each.demonstrations for each in fitted.prompts] == [
        unfitted[0].demonstrations,
        unfitted[0].demonstrations[2:],
        unfitted[0].demonstrations[2:],
        (),
    ]
    assert (fitted.dropped, fitted.truncated, fitted.overlong) == (2 + 2 + 3, 3, 1)
    assert prompt_answers.fit_prompts(small_context, unfitted[:1], "|", reserved=4).dropped == 0
    assert prompt_answers.fit_prompts(small_context, unfitted[:1], "|", reserved=5).dropped == 1


def test_dropped_demonstrations_are_noted_and_do_not_count(small_context, trained):
    result = evaluate(small_context, TEMPLATE, EXAMPLES, config=FewShotConfig(shots=(1,)))
    zero_shot = evaluate(small_context, TEMPLATE, EXAMPLES, config=FewShotConfig(shots=(0,)))
    assert result.notes == (
        "24 of 24 prompts with 1 shot would be longer than the model's context of 48 tokens: "
        "the 24 oldest demonstrations dropped",
    )
    assert (
        result.outcomes[0].predictions == zero_shot.outcomes[0].predictions
        and result.prompts[1] == zero_shot.prompts[0]
    )
    assert (
        evaluate(trained, TEMPLATE, EXAMPLES, config=FewShotConfig(shots=(9,))).notes == ()
    )  # n-gram models have no such limit
    long = [{**each, "text": each["text"] * 9} for each in EXAMPLES]
    (note,) = evaluate(small_context, TEMPLATE, long, config=FewShotConfig(shots=(0,))).notes
    assert (
        note.startswith("24 of 24 prompts with 0 shots are longer than the model's context of 48")
        and "truncated" in note
    )


# --- invalid input --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verbalizer", "message"),
    [
        ({"goood": "fine"}, "unknown label 'goood'; did you mean 'good'?"),
        ({"good": " "}, "no words for the label 'good'; write it as 1=positive"),
        ({"good": "bad"}, "two labels have the words 'bad'; give each its own words"),
    ],
)
def test_invalid_verbalizers_are_an_error(trained, verbalizer, message):
    with pytest.raises(FirthError) as error:
        evaluate(trained, TEMPLATE, EXAMPLES, verbalizer=verbalizer)
    assert str(error.value) == message


def test_unsuitable_models_and_tasks_are_an_error(trained):
    many = [{"text": str(n), "label": str(n)} for n in range(201)]
    with pytest.raises(FirthError, match=r"201 labels are too many to compare their likelihoods \(at most 200\); use"):
        evaluate(trained, TEMPLATE, many, config=FewShotConfig(shots=(0,)))
    with pytest.raises(FirthError, match="gives no likelihoods, which --scoring byte needs; use --scoring generation"):
        evaluate(Echo(trained, {}), TEMPLATE, EXAMPLES, config=FewShotConfig(scoring=("byte",)))
    with pytest.raises(FirthError, match="does not generate text; use a language model"):
        evaluate(SimpleNamespace(run=trained.run), TEMPLATE, EXAMPLES)
