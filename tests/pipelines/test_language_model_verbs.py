"""Methods of language models, on small ones: laws that hold for n-grams and networks alike."""

import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import firth
from firth.errors import FirthError

DOCUMENTS = [f"{a} and {b} are {'friends' if (a + b) % 2 else 'strangers'}" for a in range(12) for b in range(12)]
NEURAL = {
    "backbone.width": 24,
    "batching.batch_size": 4,
    "batching.length": 16,
    "train.budget": "60 steps",
    "train.evaluate_every": 60,
    "train.checkpoint_every": 60,
    "train.optimizer.learning_rate": 0.02,
    "train.threads": 1,
}


NGRAMS = ["ngram char", "ngram byte-bpe"]


@pytest.fixture(scope="module")
def train(tmp_path_factory):
    """Models by name, each trained once."""
    return cache(lambda name: trained(name, tmp_path_factory.mktemp("run") / "run"))


@pytest.fixture(params=["lstm byte-bpe", "lstm word", *NGRAMS])
def model(request, train):
    return train(request.param)


@pytest.fixture(params=NGRAMS)
def sharp(request, train):
    """A model that has learnt these few texts."""
    return train(request.param)


def trained(name, out):
    kind, tokens = name.split()
    settings = {"tokenizer.model": tokens, "tokenizer.vocabulary_size": 300}
    settings |= NEURAL if kind == "lstm" else {"method.order": 4}
    preset = {"lstm": "lstm-lm:tiny", "ngram": "ngram-lm"}[kind]
    return firth.train(preset, text=DOCUMENTS, out=out, settings=settings)


def test_a_prefix_is_the_sum_of_what_can_follow_it(model):
    """P(prefix) = sum over every next token, [END] too, of P(prefix and token)."""
    ids = model.tokenizer.encode("3 and 4")
    prefix = model.id_scores([ids])[0].sum()
    sequences = [[*ids, token] for token in range(model.tokenizer.vocab_size)]
    longer = [scores.sum() for scores in model.id_scores(sequences)]
    assert np.logaddexp.reduce(longer) == pytest.approx(prefix, abs=1e-3)
    end = model.tokenizer.special.end
    assert longer[end] == pytest.approx(model.score(["3 and 4"])[0], abs=1e-3)
    assert model.score(["3 and 4"], whole=False)[0] == pytest.approx(prefix, abs=1e-3)


def test_the_empty_text_can_end_and_always_begins(model):
    assert model.score([""], whole=False) == [0.0]
    assert model.score([""])[0] < 0
    assert model.score([]) == []


def test_one_text_has_the_answer_of_a_list_of_it(model):
    assert isinstance(model.score("3 and 4"), float)
    assert [model.score("3 and 4")] == model.score(["3 and 4"])
    assert np.array_equal(model.token_scores("3 and 4"), model.token_scores(["3 and 4"])[0])


def test_several_prompts_are_continued_as_each_alone(model):
    prompts = ["3 and", "4"]
    assert model.generate(prompts, max_length=3, count=2) == [
        model.generate(prompt, max_length=3, count=2) for prompt in prompts
    ]


@pytest.mark.parametrize("wrong", [None, 3, [None], [3], Path("file.txt"), b"text"])
def test_what_is_no_text_is_refused(model, wrong):
    for method in (model.score, model.token_scores, model.generate, model.next_tokens, model.complete):
        with pytest.raises(FirthError, match="text"):
            method(wrong)
    if not isinstance(wrong, Path) and wrong is not None:
        with pytest.raises(FirthError):
            model.perplexity(wrong)


def test_out_of_vocabulary_text_is_scored_and_its_bytes_cost_extra(model):
    known, unknown = model.oov_nll(["3 and 4", "3 and Ж"])
    assert known == 0.0
    assert (unknown > 0) == (model.tokenizer.kind in ("word", "char"))
    assert np.isfinite(model.score(["3 and Ж"])).all()


def test_a_beam_of_one_is_greedy(model):
    assert model.generate("3 and", beam=1, max_length=12) == model.generate("3 and", temperature=0.0, max_length=12)


def test_beams_come_with_their_log_probabilities(model):
    hypotheses = model.beam_search("3 and", 12, 4, 3)
    assert len(hypotheses) == 3
    assert [h.score for h in hypotheses] == sorted((h.score for h in hypotheses), reverse=True)
    for hypothesis in hypotheses:
        ids = [*model.tokenizer.encode("3 and"), *hypothesis.ids, *[model.end_and_banned[0]] * hypothesis.ended]
        log_probability = model.id_scores([ids])[0][-len(ids) + len(model.tokenizer.encode("3 and")) :].sum()
        assert hypothesis.log_probability == pytest.approx(log_probability, abs=1e-3)
    texts = model.generate("3 and", beam=4, count=3, max_length=12)
    assert all(text.startswith("3 and") for text in texts)


def test_a_wide_beam_finds_no_worse_text_than_greedy_here(model):
    """Not a law of beam search; a width of all tokens at two steps is exhaustive, and that is one."""
    width = model.tokenizer.vocab_size
    best = model.beam_search("3 and", 2, width)[0]
    assert best.log_probability >= model.beam_search("3 and", 2, 1)[0].log_probability - 1e-6


def test_next_tokens_are_the_most_probable(model):
    predictions = model.next_tokens("3 and", 1000)
    assert len(predictions) == model.tokenizer.vocab_size
    probabilities = [each.probability for each in predictions]
    assert probabilities == sorted(probabilities, reverse=True) and sum(probabilities) == pytest.approx(1.0, abs=1e-4)
    assert "[END]" in [each.text for each in predictions]


def test_completions_begin_as_the_text_stops_and_share_its_probability(model):
    completions = model.complete("3 and 4 are s", 4)
    assert completions and all(each.text.startswith("s") for each in completions)
    assert sum(each.probability for each in completions) <= 1.0 + 1e-6
    probabilities = [each.probability for each in completions]
    assert probabilities == sorted(probabilities, reverse=True)


def test_whole_words_complete_a_half_one_or_none(sharp):
    (completion,) = sharp.complete("3 and 4 are str", 1)
    assert completion.text == "strangers" and completion.probability > 0.8
    after = dict(sharp.complete("3 and 4 are ", 2))
    assert set(after) == {"friends", "strangers"} and sum(after.values()) > 0.6
    assert sharp.complete("", 1)[0].text.isdigit()


def test_no_word_is_known_that_begins_so(train):
    assert train("lstm word").complete("3 and qqqq", 3) == []


def test_a_prompt_with_out_of_vocabulary_words_is_continued(model):
    assert model.generate("Ж and 4", max_length=5, seed=1)[0].startswith("Ж and 4") or model.tokenizer.kind == "word"
    assert math.isfinite(model.next_tokens("Ж", 1)[0].probability)


def test_a_transformer_truncates_a_long_prompt_at_its_start(tmp_path):
    """A prompt longer than the context is no error: the last tokens are used."""
    settings = {**NEURAL, "backbone.heads": 2, "backbone.context": 16, "train.budget": "5 steps",
                "tokenizer.model": "char", "batching.length": 16}  # fmt: skip
    model = firth.train("transformer-lm:tiny", text=DOCUMENTS, out=tmp_path / "run", settings=settings)
    long = " ".join(DOCUMENTS[:10])
    assert model.generate(long, max_length=30, seed=1)[0].startswith(long)
    assert model.generate(long, max_length=30, beam=2)[0].startswith(long)
    assert len(model.token_scores([long])[0]) == len(long) + 1
    assert model.complete(long + " and ", 3) and model.next_tokens(long, 3)
