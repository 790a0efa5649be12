"""Models with segment recurrence (memory), from training to use."""

import os
import signal

import numpy as np
import pytest

import firth
from firth.errors import FirthError
from firth.runs.checkpoints import Interrupted
from firth.runs.progress import Quiet

DOCUMENTS = [f"{a} and {b} are {'friends' if (a + b) % 2 else 'strangers'}" for a in range(12) for b in range(12)]
SETTINGS = {
    "tokenizer.model": "byte",
    "backbone.width": 16,
    "backbone.depth": 2,
    "backbone.heads": 2,
    "backbone.dropout": 0.1,
    "backbone.memory.length": 16,
    "batching.batch_size": 4,
    "batching.length": 16,
    "train.budget": "9 steps",
    "train.evaluate_every": 4,
    "train.threads": 1,
}
STAGED = {"shortformer:tiny": {"batching.length_curriculum": "8"}}


def trained(preset, out, **more):
    return firth.train(preset, text=DOCUMENTS, out=out, settings={**SETTINGS, **STAGED.get(preset, {})}, **more)


@pytest.fixture(scope="module", params=["transformer-xl:tiny", "xlnet:tiny", "shortformer:tiny"])
def model(request, tmp_path_factory):
    return trained(request.param, tmp_path_factory.mktemp("memory") / "run")


class StopAt(Quiet):
    """Presses Ctrl-C after a step."""

    def step(self, entry):
        if entry["step"] == 6:
            os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupted_run_ends_with_the_same_bytes(model, tmp_path):
    """The memory is in the checkpoint."""
    with pytest.raises(Interrupted):
        trained(model.run.record.preset, tmp_path / "run", progress=StopAt())
    firth.resume(tmp_path / "run")
    assert (tmp_path / "run/model.safetensors").read_bytes() == model.run.weights.read_bytes()


def test_a_loaded_model_scores_the_same_in_any_batch(model):
    again, texts = firth.load(model.run.path), ["1 and 2 are friends", "a longer text " * 5, "3"]
    alone = [again.token_scores([text])[0] for text in texts]
    for one, other in zip(model.token_scores(texts), alone, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_a_generated_text_has_the_log_probability_that_scoring_it_gives(model):
    """As long as the memory holds all of it."""
    model = firth.load(model.run.path)
    model.set_memory_length(100)
    for prompt in ("", "1 and 2 are "):
        (sequence,) = model.sample_continuations(prompt, 12, 1, model.sampling_config(), seed=5)
        ids = [*model.tokenizer.encode(prompt), *sequence.ids, *[model.tokenizer.special.end] * sequence.ended]
        scores = model.id_scores([ids])[0][len(model.tokenizer.encode(prompt)) :]
        assert sequence.log_probability == pytest.approx(float(scores.sum()), rel=1e-4)
    assert len(model.generate("1 and ", max_length=80, beam=2)) == 1


def test_the_memory_of_a_trained_model_can_be_changed(model):
    model, values = firth.load(model.run.path), {}
    for memory in (0, 16, 64):
        model.set_memory_length(memory)
        scores = {score.name: score for score in model.evaluate()}
        values[memory] = scores["bits_per_byte"].value
        assert f"ctx:memory/{memory}/16" in scores["bits_per_byte"].signature
    assert values[16] == pytest.approx(firth.load(model.run.path).bits_per_byte())
    assert len({round(value, 6) for value in values.values()}) == 3


@pytest.mark.parametrize("model", ["xlnet:tiny"], indirect=True)
def test_permutation_perplexity_is_a_score_of_its_own(model):
    scores = {score.name: score.value for score in model.evaluate()}
    assert list(scores) == ["perplexity", "bits_per_byte", "permutation_perplexity"]
    assert scores == {score.name: score.value for score in model.evaluate()}
    assert scores["permutation_perplexity"] > 1


def test_a_model_without_memory_cannot_be_given_one(tmp_path):
    settings = {name: value for name, value in SETTINGS.items() if name != "backbone.memory.length"}
    model = firth.train("transformer-lm:tiny", text=DOCUMENTS, out=tmp_path / "run", settings=settings)
    with pytest.raises(FirthError, match="this model has no memory"):
        model.set_memory_length(4)
