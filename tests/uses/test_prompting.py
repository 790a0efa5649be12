"""Prompts with no, one or a few examples: what they show, how answers are judged, and what is refused."""

import math
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

import firth
from firth.errors import FirthError
from firth.uses import guessing
from firth.uses.guessing import Prompt
from firth.uses.prompting import Asked, evaluate

TEMPLATE = "Text: {text}\nSo: {label}"
FEELINGS = {"glad": "good", "merry": "good", "sad": "bad", "bitter": "bad"}
NAMES = ("Ann", "Bob", "Cid", "Dot", "Eve", "Fay")
EXAMPLES = [{"text": f"{name} is {how}.", "label": FEELINGS[how]} for name in NAMES for how in FEELINGS]
DOCUMENTS = [TEMPLATE.format(**each) for each in EXAMPLES for _ in range(3)]


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    """A model of bytes that has read the task: every byte is a token."""
    settings = {"tokenizer.model": "byte", "method.order": 10, "data.document": "file"}
    return firth.train("ngram-lm", text=DOCUMENTS, out=tmp_path_factory.mktemp("taught") / "run", settings=settings)


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """A Transformer that looks at 48 tokens, hardly trained."""
    settings = {
        "tokenizer.model": "byte", "backbone.width": 16, "backbone.depth": 1, "batching.rows": 4,
        "batching.length": 48, "train.budget": "4 steps", "train.threads": 1,
    }  # fmt: skip
    return firth.train("gpt:tiny", text=DOCUMENTS, out=tmp_path_factory.mktemp("short") / "run", settings=settings)


class Echo:
    """A text-to-text model: it writes what its table says of the last line but one."""

    def __init__(self, taught, answers):
        self.tokenizer, self.run, self.signed = taught.tokenizer, taught.run, taught.signed
        self.answers, self.asked = answers, []

    def generate(self, texts, length):
        self.asked += texts
        return [self.answers[text.splitlines()[-2].removeprefix("Text: ")] for text in texts]


# --- what a prompt shows ------------------------------------------------------------------------------------------


def shown(model, shots, seed=0, **more):
    found = evaluate(model, TEMPLATE, EXAMPLES, asked=Asked(shots=(shots,), seed=seed, **more))
    return found.prompts[shots]


def test_a_prompt_is_examples_and_a_question(taught):
    found = shown(taught, 2).split("\n\n")
    assert len(found) == 3 and found[-1] == "Text: Ann is glad.\nSo: "
    assert all(each in DOCUMENTS and "Ann is glad." not in each for each in found[:-1])
    assert shown(taught, 1, joint=" | ") == " | ".join([found[0], found[-1]])  # more shots go on from fewer


def test_the_seed_decides_which_examples_are_shown(taught):
    assert shown(taught, 4) == shown(taught, 4)
    assert len({shown(taught, 4, seed) for seed in range(5)}) > 1


def test_the_question_is_never_among_the_examples_that_are_shown(taught):
    echo = Echo(taught, {each["text"]: each["label"] for each in EXAMPLES})
    evaluate(echo, TEMPLATE, EXAMPLES, pool=EXAMPLES, asked=Asked(shots=(len(EXAMPLES) - 1,)))
    assert len(echo.asked) == len(EXAMPLES)
    for text in echo.asked:  # each text stands in it once
        assert sorted(text.split("\n")[::3]) == sorted(f"Text: {each['text']}" for each in EXAMPLES)


def test_examples_to_show_can_come_from_elsewhere(taught):
    other = [{"text": "all is well", "label": "good"}]
    found = evaluate(taught, TEMPLATE, EXAMPLES, pool=other, asked=Asked(shots=(1,)))
    assert found.prompts[1].startswith("Text: all is well\nSo: good\n\n")
    with pytest.raises(FirthError, match="2 shots, and there is 1 other examples to show; ask for fewer with --shots"):
        evaluate(taught, TEMPLATE, EXAMPLES, pool=other, asked=Asked(shots=(2,)))


def test_fewer_examples_are_drawn_by_the_seed(taught):
    some = [evaluate(taught, TEMPLATE, EXAMPLES, asked=Asked(shots=(0,), most=7, seed=seed)) for seed in (0, 0, 1)]
    assert [len(each.right) for each in some] == [7, 7, 7]
    assert some[0] == some[1] and some[0].prompts != some[2].prompts


# --- by likelihood ------------------------------------------------------------------------------------------------


def brute(model, context, answer):
    """log p(answer | context) as the quotient of two prefixes."""
    whole, before = model.score([context + answer, context], whole=False)
    return whole - before


@pytest.mark.parametrize("which", ["taught", "short"])
def test_scores_are_the_likelihoods_of_the_answers(which, request):
    model, answers = request.getfixturevalue(which), ["good.", "quite bad."]
    asked = [Prompt((), "Ann is sad:"), Prompt(("Bob is glad: good.",), "Cid is: ")]
    fitted = guessing.fit(model, asked, "\n", answers)
    found = guessing.scores(model, fitted, answers, "So: ")
    texts = ["Ann is sad:", "Bob is glad: good.\nCid is: "]
    totals = np.array([[brute(model, text, answer) for answer in answers] for text in texts])
    assert found.totals == pytest.approx(totals, abs=2e-3)
    assert found.alone == pytest.approx([brute(model, "So: ", answer) for answer in answers], abs=2e-3)
    assert found.tokens.tolist() == [[5, 10]] * 2 and found.sizes.tolist() == [5, 10]  # a byte is a token
    assert guessing.RULES["byte"](found) == pytest.approx(totals / [5, 10], abs=1e-3)
    assert guessing.RULES["token"](found) == pytest.approx(totals / [5, 10], abs=1e-3)
    assert guessing.RULES["relative"](found) == pytest.approx(totals - found.alone, abs=2e-3)


def test_a_tokenizer_may_join_prompt_and_answer(world):
    (fitted,) = [guessing.fit(world, [Prompt((), "The cat sees the ")], "", ["dog", "dogs and cats"])]
    found = guessing.scores(world, fitted, ["dog", "dogs and cats"], "")
    texts = ["The cat sees the dog", "The cat sees the dogs and cats"]
    totals = world.score(texts, whole=False)
    assert found.totals[0, 0] - found.totals[0, 1] == pytest.approx(totals[0] - totals[1], abs=1e-3)
    assert found.totals[0, 0] > totals[0]  # without the prompt's own


def test_impossible_answers_are_never_better(taught):
    none = guessing.Scores(np.array([[-math.inf, -9.0]]), np.ones((1, 2)), np.ones(2), np.array([-math.inf, -1.0]))
    assert all(rule(none).argmax(1).tolist() == [1] for rule in guessing.RULES.values())


def test_unknown_words_are_spelled_out(words):
    examples = [{"text": "the cat", "label": "xyzzy"}, {"text": "a dog", "label": "the"}]
    found = evaluate(words, "{text} {label}", examples, asked=Asked(shots=(0,)))
    assert found.notes == ("the vocabulary does not have xyzzy: spelled out byte by byte",)
    assert found.outcomes[0].guesses == ("the", "the")


# --- what comes out -----------------------------------------------------------------------------------------------


def test_a_model_that_has_read_the_task_solves_it_in_every_way(taught):
    rules = ("total", "token", "byte", "relative", "generation")
    found = evaluate(taught, TEMPLATE, EXAMPLES, asked=Asked(shots=(0, 2), by=rules))
    assert [(each.shots, each.by) for each in found.outcomes] == [(n, rule) for n in (0, 2) for rule in rules]
    for each in found.outcomes:
        assert each.accuracy.value == 1.0 and each.interval == (1.0, 1.0), (each.shots, each.by)
        assert found.confusion(each) == {"bad": {"bad": 12, "good": 0}, "good": {"bad": 0, "good": 12}}
        assert f"|shots:{each.shots}|by:{each.by}|" in each.accuracy.signature
    assert found.majority == ("good", 0.5) and found.notes == ()


def test_accuracy_confusion_and_interval_are_those_of_the_guesses(short):
    found = evaluate(short, TEMPLATE, EXAMPLES, asked=Asked(shots=(0,), by=("total", "generation")))
    for each in found.outcomes:
        pairs = Counter(zip(found.right, each.guesses, strict=True))
        hits = sum(count for (right, guess), count in pairs.items() if right == guess)
        assert each.accuracy.value == hits / len(EXAMPLES)
        assert each.interval.low <= each.accuracy.value <= each.interval.high
        told = {(right, guess): n for right, row in found.confusion(each).items() for guess, n in row.items() if n}
        assert told == dict(pairs)


def test_labels_can_be_called_otherwise(taught):
    numbered = [{"text": each["text"], "label": str(int(each["label"] == "good"))} for each in EXAMPLES]
    found = evaluate(taught, TEMPLATE, numbered, words={"1": "good", "0": "bad"}, asked=Asked(shots=(0, 1)))
    assert [each.accuracy.value for each in found.outcomes] == [1.0, 1.0]
    assert found.labels == ("0", "1") and found.prompts[1].split("\n")[1] in ("So: good", "So: bad")


# --- by generation ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tail", "lines", "answer"),
    [
        (" good\nText: Bob", "", False, "good"),
        ("\n good", "", False, "good"),
        (" very good. And so on", ".", False, "very good"),
        ("one\ntwo\n", "", True, "one\ntwo"),
        ("", "", False, ""),
    ],
)
def test_the_answer_ends_at_the_tail_or_the_line(text, tail, lines, answer):
    assert guessing.said(text, tail, lines) == answer


def test_what_is_written_is_the_greedy_text(taught):
    texts = ["Text: Ann is sad.\nSo:", "Text: Bob is glad.\nSo:", "Te"]
    fitted = guessing.fit(taught, [Prompt((), text) for text in texts], "")
    found = guessing.write(taught, fitted, "", 12)
    greedy = [taught.generate(text, length=12, temperature=0.0)[0] for text in texts]
    assert [text + more for text, more in zip(texts, found, strict=True)] == greedy


def test_text_to_text_models_answer_by_what_they_write(taught):
    answers = {each["text"]: each["label"] for each in EXAMPLES} | {"Ann is glad.": "no idea"}
    found = evaluate(Echo(taught, answers), TEMPLATE, EXAMPLES, asked=Asked(shots=(0,)))
    (only,) = found.outcomes
    assert only.by == "generation" and only.accuracy.value == pytest.approx(23 / 24)
    assert only.guesses[0] is None and found.confusion(only)["good"] == {"bad": 0, "good": 11, None: 1}


def test_a_tokenizer_that_loses_line_ends_is_told_of(words):
    examples = [{"text": "the cat", "label": "the"}, {"text": "a dog", "label": "is"}]
    note = "this tokenizer loses line ends, so that answers have no end: write a mark after {label}"
    asked = Asked(shots=(0,), by=("generation",))
    assert note in evaluate(words, "{text} {label}", examples, asked=asked).notes
    assert note not in evaluate(words, "{text} {label}.", examples, asked=asked).notes


# --- long prompts -------------------------------------------------------------------------------------------------


def test_the_oldest_examples_are_left_out_where_prompts_are_too_long(short):
    answers, asked = ["good", "bad"], [Prompt(("a" * 9, "b" * 20, "c" * 11), "d" * n) for n in (1, 12, 25, 60)]
    fitted = guessing.fit(short, asked, "|", answers)
    assert short.limit == 48
    assert [each.shown for each in fitted.prompts] == [asked[0].shown, asked[0].shown[2:], asked[0].shown[2:], ()]
    assert (fitted.dropped, fitted.lessened, fitted.overlong) == (2 + 2 + 3, 3, 1)
    assert guessing.fit(short, asked[:1], "|", room=4).dropped == 0
    assert guessing.fit(short, asked[:1], "|", room=5).dropped == 1


def test_left_out_examples_are_told_of_and_do_not_count(short, taught):
    found = evaluate(short, TEMPLATE, EXAMPLES, asked=Asked(shots=(1,)))
    bare = evaluate(short, TEMPLATE, EXAMPLES, asked=Asked(shots=(0,)))
    assert found.notes == (
        "24 of 24 prompts with 1 shot would be longer than the 48 tokens that the model looks at: "
        "24 oldest examples left out",
    )
    assert found.outcomes[0].guesses == bare.outcomes[0].guesses and found.prompts[1] == bare.prompts[0]
    assert evaluate(taught, TEMPLATE, EXAMPLES, asked=Asked(shots=(9,))).notes == ()  # n-grams have no such limit
    long = [{**each, "text": each["text"] * 9} for each in EXAMPLES]
    (note,) = evaluate(short, TEMPLATE, long, asked=Asked(shots=(0,))).notes
    assert note.startswith("24 of 24 prompts with 0 shots are longer than the 48 tokens") and "beginnings" in note


# --- bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"goood": "fine"}, "unknown label 'goood'; did you mean 'good'?"),
        ({"good": " "}, "no words for the label 'good'; write it as 1=positive"),
        ({"good": "bad"}, "two labels are called 'bad'; give each its own words"),
    ],
)
def test_bad_words_are_refused(taught, words, said):
    with pytest.raises(FirthError) as error:
        evaluate(taught, TEMPLATE, EXAMPLES, words=words)
    assert str(error.value) == said


def test_models_and_tasks_that_do_not_suit_are_refused(taught):
    many = [{"text": str(n), "label": str(n)} for n in range(201)]
    with pytest.raises(FirthError, match="201 different labels, and the likelihoods of 200 are compared at most; use"):
        evaluate(taught, TEMPLATE, many, asked=Asked(shots=(0,)))
    with pytest.raises(FirthError, match="gives no likelihoods, so --by byte has no answer; use --by generation"):
        evaluate(Echo(taught, {}), TEMPLATE, EXAMPLES, asked=Asked(by=("byte",)))
    with pytest.raises(FirthError, match="neither continues nor writes texts; use a language model"):
        evaluate(SimpleNamespace(run=taught.run), TEMPLATE, EXAMPLES)
