"""What is wrong is said before any text is read; and plain text for models of sentences."""

from __future__ import annotations

import pytest
import torch

import firth
from firth import FirthError, api
from firth.build import build
from firth.families.masked import hide
from firth.presets import preset

SMALL = {"train.threads": 1, "train.save": 9, "train.evaluate": 9}
SHAPE = {"width": 16, "depth": 1, "budget": "1 steps", "length": 16, "vocabulary": 60}
TEXT = [" ".join(f"w{(n * m) % 30}" for m in range(1, 12)) for n in range(1, 60)]


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return firth.train("bert:tiny", text=TEXT, out=tmp_path_factory.mktemp("runs") / "bert", settings=SMALL, **SHAPE)


def test_a_pupil_has_a_teacher_or_a_start(bert):
    path = str(bert.run.path)
    with pytest.raises(FirthError, match="--teacher and --start both") as error:
        api.choose("distilbert:tiny", [], {"teacher": path, "start": path})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("what", "noise", "settings", "part"),
    [
        ("bart:tiny", "spans,mask", [], "spans stands alone"),
        ("bart:tiny", "mask,drop", [], "drop stands alone"),
        ("bart:tiny", "spans", [], "no tokens that mark gaps"),
        ("t5:tiny", "sentinels", ["tokenizer.sentinels=1"], "no tokens that mark gaps"),
    ],
)
def test_noise_that_cannot_be_is_refused_before_the_text_is_read(what, noise, settings, part):
    with pytest.raises(FirthError, match=part):
        api.choose(what, settings, {"noise": noise, "text": "nowhere.txt"})


def test_noise_that_can_be_is_not():
    for what, noise in (("bart:tiny", "permute,infill"), ("t5:tiny", "sentinels"), ("bart:tiny", "prefix")):
        assert api.choose(what, [], {"noise": noise}).config.objective.noise == tuple(noise.split(","))


# --- sentences ----------------------------------------------------------------------------------------------------


def test_plain_text_and_pairs_for_a_model_of_sentences(tmp_path):
    model = firth.train("simcse:tiny", text=TEXT, out=tmp_path / "run", settings={**SMALL, "batching.rows": 8}, **SHAPE)
    plain = tmp_path / "plain.txt"
    plain.write_text("w1 w2 w3\n\nw4 w5 w6\nw7 w8 w9\n")  # of words in columns, one would think
    assert [score.name for score in model.evaluate(str(plain))] == ["uniformity"]
    assert "split:given" in model.evaluate(str(plain))[0].signature
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("w1 w2\tw1 w3\nw5 w6\tw9\n")
    assert [score.name for score in model.evaluate(str(pairs))] == ["nearest_found"]
    with pytest.raises(FirthError, match=r"nowhere\.txt.*no such file"):
        model.evaluate("nowhere.txt")
    told = {"text": str(pairs), "valid": str(pairs), "test": str(pairs), "settings": {**SMALL, "batching.rows": 2}}
    other = firth.train("sentence-encoder:tiny", out=tmp_path / "two", **told, **SHAPE)
    with pytest.raises(FirthError, match=r"plain\.txt: no pairs of texts in it; give a table"):
        other.evaluate(str(plain))


# --- a look at what fills gaps ------------------------------------------------------------------------------------


def test_the_middle_word_or_character_is_hidden():
    assert hide("one two three four") == ("one two [MASK] four", "three")
    assert hide("你好世界大") == ("你好[MASK]界大", "世")
    assert hide("x") == ("[MASK]", "x")


def test_samples_are_of_the_runs_own_held_out_text(bert):
    held = list(bert.documents()["valid"])[:3]
    shown = bert.samples(1)
    assert len(shown) == len(held) > 0
    for text, sample in zip(held, shown, strict=True):
        words = text.split()
        words = words[: len(sample.rpartition("  (")[0].split())]
        hidden = words[len(words) // 2]
        assert sample.startswith(" ".join(words[: len(words) // 2])) and sample.endswith(f"({hidden})")
    assert bert.sample() == shown[0]


# --- presets of the papers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "vocabulary", "count"),
    [
        ("gpt-1:base", 40_478, 116_534_784),
        ("gpt-2:base", 50_257, 124_439_808),
        ("gpt-2:medium", 50_257, 354_823_168),
        ("gpt-2:large", 50_257, 774_030_080),
    ],
)
def test_gpts_have_as_many_parameters_as_the_public_weights(name, vocabulary, count):
    config = preset(name)
    with torch.device("meta"):
        found = sum(tensor.numel() for tensor in build(config, vocabulary).parameters())
    assert found == count and config.tokenizer.size == vocabulary
