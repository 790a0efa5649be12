"""What a language model is for, on small models: laws that hold for n-grams and networks alike."""

import math
from functools import cache

import numpy as np
import pytest

import firth
from firth.errors import FirthError

DOCUMENTS = [f"{a} and {b} are {'friends' if (a + b) % 2 else 'strangers'}" for a in range(12) for b in range(12)]
NEURAL = {
    "backbone.width": 24,
    "batching.rows": 4,
    "batching.length": 16,
    "train.budget": "60 steps",
    "train.evaluate": 60,
    "train.save": 60,
    "train.optimizer.rate": 0.02,
    "train.threads": 1,
}


COUNTED = ["ngram char", "ngram byte-bpe"]


@pytest.fixture(scope="module")
def train(tmp_path_factory):
    """Models by name, each trained once."""
    return cache(lambda name: trained(name, tmp_path_factory.mktemp("run") / "run"))


@pytest.fixture(params=["lstm byte-bpe", "lstm word", *COUNTED])
def model(request, train):
    return train(request.param)


@pytest.fixture(params=COUNTED)
def sharp(request, train):
    """A model that has learnt these few texts."""
    return train(request.param)


def trained(name, out):
    kind, tokens = name.split()
    settings = {"tokenizer.model": tokens, "tokenizer.size": 300, **(NEURAL if kind == "lstm" else {"method.order": 4})}
    preset = {"lstm": "lstm-lm:tiny", "ngram": "ngram-lm"}[kind]
    return firth.train(preset, text=DOCUMENTS, out=out, settings=settings)


def test_a_prefix_is_the_sum_of_what_can_follow_it(model):
    """P(prefix) = sum over every next token, [END] too, of P(prefix and token)."""
    ids = model.tokenizer.ids("3 and 4")
    prefix = model.id_scores([ids])[0].sum()
    longer = [scores.sum() for scores in model.id_scores([[*ids, token] for token in range(model.tokenizer.size)])]
    assert np.logaddexp.reduce(longer) == pytest.approx(prefix, abs=1e-3)
    end = model.tokenizer.special.end
    assert longer[end] == pytest.approx(model.score(["3 and 4"])[0], abs=1e-3)
    assert model.score(["3 and 4"], whole=False)[0] == pytest.approx(prefix, abs=1e-3)


def test_the_empty_text_can_end_and_always_begins(model):
    assert model.score([""], whole=False) == [0.0]
    assert model.score([""])[0] < 0
    assert model.score([]) == []


def test_one_text_instead_of_several_is_refused(model):
    for method in (model.score, model.token_scores):
        with pytest.raises(
            FirthError, match=r"one text, where several are scored; put it into a list: score\(\[text\]\)"
        ):
            method("3 and 4")


def test_unknown_text_is_scored_and_its_spelling_costs_extra(model):
    known, unknown = model.spelling_costs(["3 and 4", "3 and Ж"])
    assert known == 0.0
    assert (unknown > 0) == (model.tokenizer.kind in ("word", "char"))
    assert np.isfinite(model.score(["3 and Ж"])).all()


def test_a_beam_of_one_is_greedy(model):
    assert model.generate("3 and", beam=1, length=12) == model.generate("3 and", temperature=0.0, length=12)


def test_beams_come_with_their_log_probabilities(model):
    found = model.beams("3 and", 12, 4, 3)
    assert len(found) == 3
    assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)
    for hypothesis in found:
        ids = [*model.tokenizer.ids("3 and"), *hypothesis.ids, *[model.marks[0]] * hypothesis.ended]
        told = model.id_scores([ids])[0][-len(ids) + len(model.tokenizer.ids("3 and")) :].sum()
        assert hypothesis.log_probability == pytest.approx(told, abs=1e-3)
    texts = model.generate("3 and", beam=4, count=3, length=12)
    assert all(text.startswith("3 and") for text in texts)


def test_a_wide_beam_finds_no_worse_text_than_greedy_here(model):
    """Not a law of beam search; a width of all tokens at two steps is exhaustive, and that is one."""
    width = model.tokenizer.size
    best = model.beams("3 and", 2, width)[0]
    assert best.log_probability >= model.beams("3 and", 2, 1)[0].log_probability - 1e-6


def test_next_tokens_are_the_most_probable(model):
    found = model.next_tokens("3 and", 1000)
    assert len(found) == model.tokenizer.size
    chances = [each.probability for each in found]
    assert chances == sorted(chances, reverse=True) and sum(chances) == pytest.approx(1.0, abs=1e-4)
    assert "[END]" in [each.text for each in found]


def test_completions_begin_as_the_text_stops_and_share_its_probability(model):
    found = model.complete("3 and 4 are s", 4)
    assert found and all(each.text.startswith("s") for each in found)
    assert sum(each.probability for each in found) <= 1.0 + 1e-6
    chances = [each.probability for each in found]
    assert chances == sorted(chances, reverse=True)


def test_whole_words_complete_a_half_one_or_none(sharp):
    (found,) = sharp.complete("3 and 4 are str", 1)
    assert found.text == "strangers" and found.probability > 0.8
    after = dict(sharp.complete("3 and 4 are ", 2))
    assert set(after) == {"friends", "strangers"} and sum(after.values()) > 0.6
    assert sharp.complete("", 1)[0].text.isdigit()


def test_no_word_is_known_that_begins_so(train):
    assert train("lstm word").complete("3 and qqqq", 3) == []


def test_a_prompt_with_unknown_words_still_goes_on(model):
    assert model.generate("Ж and 4", length=5, seed=1)[0].startswith("Ж and 4") or model.tokenizer.kind == "word"
    assert math.isfinite(model.next_tokens("Ж", 1)[0].probability)


def test_a_transformer_reads_the_end_of_a_long_prompt(tmp_path):
    """More than it can look at at once is no fault: it looks at the last tokens."""
    settings = {**NEURAL, "backbone.heads": 2, "backbone.context": 16, "train.budget": "5 steps",
                "tokenizer.model": "char", "batching.length": 16}  # fmt: skip
    model = firth.train("gpt:tiny", text=DOCUMENTS, out=tmp_path / "run", settings=settings)
    long = " ".join(DOCUMENTS[:10])
    assert model.generate(long, length=30, seed=1)[0].startswith(long)
    assert model.generate(long, length=30, beam=2)[0].startswith(long)
    assert len(model.token_scores([long])[0]) == len(long) + 1
    assert model.complete(long + " and ", 3) and model.next_tokens(long, 3)
