"""Errors before any text is read; plain text for sentence encoders; samples of masked language models."""

from __future__ import annotations

import pytest
import torch

import firth
from firth import FirthError, api
from firth.models.build import build
from firth.pipelines.fill_mask import mask_word
from firth.presets import preset

SMALL = {"train.threads": 1, "train.checkpoint_every": 9, "train.evaluate_every": 9}
SHAPE = {"width": 16, "depth": 1, "budget": "1 steps", "max_length": 16, "vocab_size": 60}
TEXT = [" ".join(f"w{(n * m) % 30}" for m in range(1, 12)) for n in range(1, 60)]


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return firth.train("bert:tiny", text=TEXT, out=tmp_path_factory.mktemp("runs") / "bert", settings=SMALL, **SHAPE)


def test_a_teacher_and_a_pre_trained_run_exclude_each_other(bert):
    path = str(bert.run.path)
    with pytest.raises(FirthError, match="--teacher and --init-from both") as error:
        api.resolve_config("distilbert:tiny", [], {"teacher": path, "init-from": path})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("what", "noise", "settings", "message"),
    [
        ("bart:tiny", "span-corruption,token-masking", [], "span-corruption cannot be combined"),
        ("bart:tiny", "token-masking,token-dropping", [], "token-dropping cannot be combined"),
        ("bart:tiny", "span-corruption", [], "no sentinel tokens"),
        ("t5:tiny", "sentinel-tokens", ["tokenizer.sentinels=1"], "no sentinel tokens"),
    ],
)
def test_noise_that_cannot_be_is_refused_before_the_text_is_read(what, noise, settings, message):
    with pytest.raises(FirthError, match=message):
        api.resolve_config(what, settings, {"noise": noise, "text": "nowhere.txt"})


def test_noise_that_can_be_is_not():
    for what, noise in (
        ("bart:tiny", "sentence-permutation,text-infilling"),
        ("t5:tiny", "sentinel-tokens"),
        ("bart:tiny", "prefix-lm"),
    ):
        assert api.resolve_config(what, [], {"noise": noise}).config.objective.noise == tuple(noise.split(","))


# --- sentences ----------------------------------------------------------------------------------------------------


def test_plain_text_and_pairs_for_a_sentence_encoder(tmp_path):
    model = firth.train(
        "simcse:tiny", text=TEXT, out=tmp_path / "run", settings={**SMALL, "batching.batch_size": 8}, **SHAPE
    )
    plain = tmp_path / "plain.txt"
    plain.write_text("w1 w2 w3\n\nw4 w5 w6\nw7 w8 w9\n")  # of words in columns, one would think
    assert [score.name for score in model.evaluate(str(plain))] == ["uniformity"]
    assert "split:given" in model.evaluate(str(plain))[0].signature
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("w1 w2\tw1 w3\nw5 w6\tw9\n")
    assert [score.name for score in model.evaluate(str(pairs))] == ["retrieval_accuracy"]
    with pytest.raises(FirthError, match=r"nowhere\.txt.*no such file"):
        model.evaluate("nowhere.txt")
    options = {
        "text": str(pairs),
        "valid": str(pairs),
        "test": str(pairs),
        "settings": {**SMALL, "batching.batch_size": 2},
    }
    other = firth.train("sentence-encoder:tiny", out=tmp_path / "two", **options, **SHAPE)
    with pytest.raises(FirthError, match=r"plain\.txt: no sentence pairs in it; give a table"):
        other.evaluate(str(plain))


# --- masked language models ------------------------------------------------------------------------------------


def test_the_middle_word_or_character_is_masked():
    assert mask_word("one two three four") == ("one two [MASK] four", "three")
    assert mask_word("你好世界大") == ("你好[MASK]界大", "世")
    assert mask_word("x") == ("[MASK]", "x")


def test_samples_are_of_the_runs_own_held_out_text(bert):
    held_out = list(bert.documents()["valid"])[:3]
    samples = bert.samples(1)
    assert len(samples) == len(held_out) > 0
    for text, sample in zip(held_out, samples, strict=True):
        words = text.split()
        words = words[: len(sample.rpartition("  (")[0].split())]
        masked = words[len(words) // 2]
        assert sample.startswith(" ".join(words[: len(words) // 2])) and sample.endswith(f"({masked})")
    assert bert.sample() == samples[0]


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
        parameters = sum(tensor.numel() for tensor in build(config, vocabulary).parameters())
    assert parameters == count and config.tokenizer.vocabulary_size == vocabulary
