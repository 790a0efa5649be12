"""Two prompts compared: which words belong to which, against what the models say elsewhere."""

import math

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

import firth
from firth.errors import FirthError
from firth.uses.probing import TWICE, Word, compare

A, B = "The man sees the", "Julia is a"


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """A model that fills gaps, hardly trained."""
    settings = {
        "tokenizer.size": 400, "backbone.width": 16, "backbone.depth": 1, "batching.rows": 4, "batching.length": 32,
        "train.budget": "6 steps", "train.threads": 1,
    }  # fmt: skip
    return firth.train("bert:tiny", text="world:200", out=tmp_path_factory.mktemp("bert") / "run", settings=settings)


# --- the gap ------------------------------------------------------------------------------------------------------


def test_the_gap_of_a_language_model_is_what_comes_next(world):
    chances = np.exp(world.gap(A))
    assert chances.shape == (world.tokenizer.size,) and chances.sum() == pytest.approx(1.0, abs=1e-4)
    best = world.next_tokens(A, 5)
    assert sorted(chances)[:-6:-1] == pytest.approx([each.probability for each in best])
    row = [*world.tokenizer.ids(A), int(chances.argmax())]
    assert world.id_scores([row])[0][-1] == pytest.approx(math.log(chances.max()), abs=1e-4)


def test_the_gap_of_a_masked_model_is_its_mask(bert):
    chances = np.exp(bert.gap("The man sees the [MASK]."))
    assert chances.sum() == pytest.approx(1.0, abs=1e-4)
    (best,) = bert.fill("The man sees the [MASK].", 5)
    assert sorted(chances)[:-6:-1] == pytest.approx([each.probability for each in best])


@pytest.mark.parametrize(("text", "said"), [("no gap", "no [MASK] in"), ("[MASK] and [MASK]", "2 [MASK]s in")])
def test_a_text_must_have_one_gap(bert, text, said):
    with pytest.raises(FirthError) as error:
        compare(bert, "The [MASK].", text)
    assert str(error.value) == f"{said} the text; put one [MASK] where words are to be compared"


# --- the comparison -----------------------------------------------------------------------------------------------


def test_the_words_are_the_most_probable_of_each_prompt(world):
    found, logs = compare(world, A, B, among=8), [world.gap(A), world.gap(B)]
    hidden = world.tokenizer.special.ids - {world.tokenizer.special.end}
    told = [n for n in range(world.tokenizer.size) if n not in hidden]
    best = {n for each in logs for n in sorted(told, key=lambda n: -each[n])[:8]}
    assert sorted((word.log_a, word.log_b) for word in found.words) == sorted((logs[0][n], logs[1][n]) for n in best)
    assert found.divergence == pytest.approx(jensenshannon(*np.exp(logs), base=2) ** 2, abs=1e-6)


def test_each_word_belongs_to_one_side_and_the_sides_are_in_order(world):
    found = compare(world, A, B)
    a, b, both = (found.side(side) for side in ("a", "b", "both"))
    assert sorted(map(repr, [*a, *b, *both])) == sorted(map(repr, found.words)) and a and b
    assert [word.difference for word in a] == sorted((word.difference for word in a), reverse=True)
    assert min(word.difference for word in a) >= TWICE and max(word.difference for word in b) <= -TWICE
    assert all(math.exp(abs(word.difference)) < 2 for word in both)
    assert found.side("a", 3) == a[:3]
    texts = [word.text for word in found.words]
    assert len(texts) == len(set(texts))  # none stands for another


def test_prompts_exchanged_are_sides_exchanged(world):
    one, two = compare(world, A, B), compare(world, B, A)
    assert [word.text for word in one.side("a")] == [word.text for word in two.side("b")]
    assert one.divergence == pytest.approx(two.divergence)


def test_equal_prompts_share_all_words(bert):
    found = compare(bert, "The [MASK].", "The [MASK].", among=9)
    assert len(found.side("both")) == len(found.words) == 9 and found.divergence == 0.0


def test_a_space_before_the_gap_does_not_matter(world):
    assert compare(world, A + " ", B).words == compare(world, A, B).words


def test_impossible_words_belong_to_the_other_prompt():
    assert Word("x", -math.inf, -3.0).side == "b" and Word("x", -3.0, -math.inf).side == "a"


def test_models_without_gaps_are_refused(world):
    with pytest.raises(FirthError, match=r"reads from the left and has no \[MASK\]; give the text up to the gap"):
        compare(world, "The [MASK].", B)
    with pytest.raises(FirthError, match="this model expects no words; use a model that fills gaps"):
        compare(type("Other", (), {"run": world.run})(), A, B)
    with pytest.raises(FirthError, match="among = 0: must be at least 1"):
        compare(world, A, B, among=0)
