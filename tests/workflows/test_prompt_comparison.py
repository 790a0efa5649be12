"""Prompt comparison: the words of each prompt, against the models' own predictions."""

import math

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

import firth
from firth.errors import FirthError
from firth.workflows.prompt_comparison import MIN_LOG_RATIO, Word, compare_prompts

A, B = "The man sees the", "Julia is a"


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """A masked language model, hardly trained."""
    settings = {
        "tokenizer.vocabulary_size": 400, "backbone.width": 16, "backbone.depth": 1, "batching.batch_size": 4,
        "batching.length": 32, "train.budget": "6 steps", "train.threads": 1,
    }  # fmt: skip
    return firth.train("bert:tiny", text="world:200", out=tmp_path_factory.mktemp("bert") / "run", settings=settings)


# --- predicted distributions ----------------------------------------------------------------------------------------


def test_a_causal_language_model_predicts_the_next_token(world):
    probabilities = np.exp(world.prompt_log_probs(A))
    assert probabilities.shape == (world.tokenizer.vocab_size,) and probabilities.sum() == pytest.approx(1.0, abs=1e-4)
    best = world.next_tokens(A, 5)
    assert sorted(probabilities)[:-6:-1] == pytest.approx([each.probability for each in best])
    row = [*world.tokenizer.encode(A), int(probabilities.argmax())]
    assert world.id_scores([row])[0][-1] == pytest.approx(math.log(probabilities.max()), abs=1e-4)


def test_a_masked_language_model_predicts_its_mask(bert):
    probabilities = np.exp(bert.prompt_log_probs("The man sees the [MASK]."))
    assert probabilities.sum() == pytest.approx(1.0, abs=1e-4)
    (best,) = bert.fill("The man sees the [MASK].", 5)
    assert sorted(probabilities)[:-6:-1] == pytest.approx([each.probability for each in best])


@pytest.mark.parametrize(("text", "message"), [("no gap", "no [MASK] in"), ("[MASK] and [MASK]", "2 [MASK]s in")])
def test_a_text_must_have_one_mask(bert, text, message):
    with pytest.raises(FirthError) as error:
        compare_prompts(bert, "The [MASK].", text)
    assert str(error.value) == f"{message} the text; put one [MASK] where words are to be compared"


# --- the comparison -----------------------------------------------------------------------------------------------


def test_the_words_are_the_most_probable_of_each_prompt(world):
    comparison, logprobs = compare_prompts(world, A, B, top_k=8), [world.prompt_log_probs(A), world.prompt_log_probs(B)]
    excluded = world.tokenizer.special.ids - {world.tokenizer.special.end}
    candidates = [n for n in range(world.tokenizer.vocab_size) if n not in excluded]
    best = {n for each in logprobs for n in sorted(candidates, key=lambda n: -each[n])[:8]}
    assert sorted((word.log_a, word.log_b) for word in comparison.words) == sorted(
        (logprobs[0][n], logprobs[1][n]) for n in best
    )
    assert comparison.divergence == pytest.approx(jensenshannon(*np.exp(logprobs), base=2) ** 2, abs=1e-6)


def test_each_word_belongs_to_one_side_and_the_sides_are_in_order(world):
    comparison = compare_prompts(world, A, B)
    a, b, both = (comparison.side(side) for side in ("a", "b", "both"))
    assert sorted(map(repr, [*a, *b, *both])) == sorted(map(repr, comparison.words)) and a and b
    assert [word.difference for word in a] == sorted((word.difference for word in a), reverse=True)
    assert min(word.difference for word in a) >= MIN_LOG_RATIO and max(word.difference for word in b) <= -MIN_LOG_RATIO
    assert all(math.exp(abs(word.difference)) < 2 for word in both)
    assert comparison.side("a", 3) == a[:3]
    texts = [word.text for word in comparison.words]
    assert len(texts) == len(set(texts))  # none stands for another


def test_prompts_exchanged_are_sides_exchanged(world):
    one, two = compare_prompts(world, A, B), compare_prompts(world, B, A)
    assert [word.text for word in one.side("a")] == [word.text for word in two.side("b")]
    assert one.divergence == pytest.approx(two.divergence)


def test_equal_prompts_share_all_words(bert):
    comparison = compare_prompts(bert, "The [MASK].", "The [MASK].", top_k=9)
    assert len(comparison.side("both")) == len(comparison.words) == 9 and comparison.divergence == 0.0


def test_a_trailing_space_does_not_matter(world):
    assert compare_prompts(world, A + " ", B).words == compare_prompts(world, A, B).words


def test_impossible_words_belong_to_the_other_prompt():
    assert Word("x", -math.inf, -3.0).side == "b" and Word("x", -3.0, -math.inf).side == "a"


def test_unsupported_models_and_prompts_are_an_error(world):
    with pytest.raises(FirthError, match=r"causal language model, which has no \[MASK\]; give the text up to the word"):
        compare_prompts(world, "The [MASK].", B)
    with pytest.raises(FirthError, match="this model does not predict words; use a masked or causal"):
        compare_prompts(type("Other", (), {"run": world.run})(), A, B)
    with pytest.raises(FirthError, match="top_k = 0: must be at least 1"):
        compare_prompts(world, A, B, top_k=0)
