"""Models that remember, from training to use."""

import os
import signal

import numpy as np
import pytest

import firth
from firth.errors import FirthError
from firth.runs.progress import Quiet
from firth.training.guard import Interrupted

DOCUMENTS = [f"{a} and {b} are {'friends' if (a + b) % 2 else 'strangers'}" for a in range(12) for b in range(12)]
SETTINGS = {
    "tokenizer.model": "byte",
    "backbone.width": 16,
    "backbone.depth": 2,
    "backbone.heads": 2,
    "backbone.dropout": 0.1,
    "backbone.memory": 16,
    "batching.rows": 4,
    "batching.length": 16,
    "train.budget": "9 steps",
    "train.evaluate": 4,
    "train.threads": 1,
}
STAGED = {"shortformer:tiny": {"batching.stages": "8"}}


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


def test_a_stopped_run_goes_on_to_the_same_bytes(model, tmp_path):
    """What is remembered is in the checkpoint."""
    with pytest.raises(Interrupted):
        trained(model.run.record.preset, tmp_path / "run", progress=StopAt())
    firth.resume(tmp_path / "run")
    assert (tmp_path / "run/model.safetensors").read_bytes() == model.run.weights.read_bytes()


def test_a_loaded_model_scores_the_same_in_any_company(model):
    again, texts = firth.load(model.run.path), ["1 and 2 are friends", "a longer text " * 5, "3"]
    alone = [again.token_scores([text])[0] for text in texts]
    for one, other in zip(model.token_scores(texts), alone, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_what_is_written_costs_what_it_costs_when_it_is_scored(model):
    """As long as nothing is forgotten."""
    model = firth.load(model.run.path)
    model.remember(100)
    for prompt in ("", "1 and 2 are "):
        (written,) = model.continuations(prompt, 12, 1, model.sampling(), seed=5)
        ids = [*model.tokenizer.ids(prompt), *written.ids, *[model.tokenizer.special.end] * written.ended]
        scores = model.id_scores([ids])[0][len(model.tokenizer.ids(prompt)) :]
        assert written.log_probability == pytest.approx(float(scores.sum()), rel=1e-4)
    assert len(model.generate("1 and ", length=80, beam=2)) == 1


def test_the_memory_of_a_trained_model_can_be_changed(model):
    model, found = firth.load(model.run.path), {}
    for memory in (0, 16, 64):
        model.remember(memory)
        scores = {score.name: score for score in model.evaluate()}
        found[memory] = scores["bits_per_byte"].value
        assert f"ctx:memory/{memory}/16" in scores["bits_per_byte"].signature
    assert found[16] == pytest.approx(firth.load(model.run.path).bits_per_byte())
    assert len({round(value, 6) for value in found.values()}) == 3


@pytest.mark.parametrize("model", ["xlnet:tiny"], indirect=True)
def test_orders_have_a_score_of_their_own(model):
    scores = {score.name: score.value for score in model.evaluate()}
    assert list(scores) == ["perplexity", "bits_per_byte", "permuted_perplexity"]
    assert scores == {score.name: score.value for score in model.evaluate()}
    assert scores["permuted_perplexity"] > 1


def test_a_model_without_memory_cannot_be_given_one(tmp_path):
    settings = {name: value for name, value in SETTINGS.items() if name != "backbone.memory"}
    model = firth.train("gpt:tiny", text=DOCUMENTS, out=tmp_path / "run", settings=settings)
    with pytest.raises(FirthError, match="this model has no memory"):
        model.remember(4)
