"""Laws of a trained language model, on small models of its own."""

import math
import os
import signal
from itertools import pairwise

import numpy as np
import pytest
import torch

import firth
from firth.generation.sampling import SamplingConfig
from firth.runs.checkpoints import Interrupted
from firth.runs.progress import Quiet
from firth.types import Batch, Tokens

DOCUMENTS = [f"{a} and {b} are {'friends' if (a + b) % 2 else 'strangers'}" for a in range(12) for b in range(12)]
SETTINGS = {
    "backbone.width": 24,
    "batching.batch_size": 4,
    "batching.length": 16,
    "train.budget": "60 steps",
    "train.evaluate_every": 30,
    "train.checkpoint_every": 30,
    "train.optimizer.learning_rate": 0.02,
    "train.threads": 1,
}


@pytest.fixture(scope="module", params=["byte", "word", "char", "bpe"])
def model(request, tmp_path_factory):
    settings = {**SETTINGS, "tokenizer.model": request.param, "tokenizer.vocabulary_size": 300}
    return firth.train("lstm-lm:tiny", text=DOCUMENTS, out=tmp_path_factory.mktemp("run") / "run", settings=settings)


def test_loading_gives_the_same_model(model):
    again = firth.load(model.run.path)
    assert again.score(DOCUMENTS[:5]) == model.score(DOCUMENTS[:5])
    assert again.perplexity() == model.perplexity()


def test_scores_do_not_depend_on_the_batch_or_its_order(model):
    alone = [model.score([text])[0] for text in DOCUMENTS[:9]]
    together = model.score(DOCUMENTS[:9])
    assert together == pytest.approx(alone, abs=1e-4)
    assert model.score(DOCUMENTS[8::-1]) == pytest.approx(alone[::-1], abs=1e-4)


def test_a_whole_text_is_a_prefix_that_ends(model):
    whole, prefix = model.token_scores(DOCUMENTS[:3]), model.token_scores(DOCUMENTS[:3], whole=False)
    for longer, shorter in zip(whole, prefix, strict=True):
        assert len(longer) == len(shorter) + 1
        assert longer[:-1] == pytest.approx(shorter, abs=1e-5)
    assert all(score <= 0 for row in whole for score in row)


def test_the_probabilities_of_all_next_tokens_sum_to_one(model):
    """P(prefix) is the sum over every next token, [END] too."""
    special = model.tokenizer.special
    ids = [special.start, *model.tokenizer.encode(DOCUMENTS[0])]
    batch = Batch({"text": Tokens(torch.tensor([ids]), torch.ones(1, len(ids), dtype=torch.bool))}, {})
    stepper = model._engine.stepper
    row, _ = stepper.step(torch.tensor([ids[-1]]), stepper.start(batch))
    assert float(row.exp().sum()) == pytest.approx(1.0, abs=1e-5)
    end = model.token_scores(DOCUMENTS[:1])[0][-1]
    assert float(row[0, special.end]) == pytest.approx(end, abs=1e-4)


def test_step_by_step_is_all_at_once(model):
    special, stepper = model.tokenizer.special, model._engine.stepper
    ids = [special.start, *model.tokenizer.encode(DOCUMENTS[7]), special.end]
    state = stepper.start(Batch({"text": Tokens(torch.tensor([ids[:1]]), torch.ones(1, 1, dtype=torch.bool))}, {}))
    stepwise = []
    for last, following in pairwise(ids):
        row, state = stepper.step(torch.tensor([last]), state)
        stepwise.append(float(row[0, following]))
    assert stepwise == pytest.approx(model.token_scores([DOCUMENTS[7]])[0].tolist(), abs=1e-4)


def test_generation_repeats_with_its_seed_and_starts_with_its_prompt(model):
    prompt = DOCUMENTS[3][:5]
    first, second = (model.generate(prompt, max_length=20, count=3, seed=5) for _ in range(2))
    assert first == second
    assert model.generate(prompt, max_length=20, count=3, seed=6) != first
    shown = model.tokenizer.decode(model.tokenizer.encode(prompt))
    assert all(text.startswith(shown) for text in first)
    assert all("[" not in text for text in first)  # no special tokens, no [UNK]


def test_greedy_decoding_takes_the_most_probable_token_and_returns_its_probability(model):
    (sequence,) = model.sample_continuations("", 12, 1, SamplingConfig(temperature=0.0), seed=0)
    special, stepper = model.tokenizer.special, model._engine.stepper
    start = torch.tensor([[special.start]])
    state = stepper.start(Batch({"text": Tokens(start, torch.ones(1, 1, dtype=torch.bool))}, {}))
    last, total = start[:, 0], 0.0
    for token in [*sequence.ids, *([special.end] if sequence.ended else [])]:
        row, state = stepper.step(last, state)
        row[:, sorted(special.ids - {special.end})] = -math.inf
        assert int(row.argmax()) == token
        last, total = torch.tensor([token]), total + float(row[0, token])
    assert sequence.ids and sequence.log_probability == pytest.approx(total, abs=1e-4)


def test_given_documents_are_scored_like_any_text(model):
    nll = -sum(model.score([DOCUMENTS[0]]))
    tokens = len(model.tokenizer.encode(DOCUMENTS[0])) + 1
    assert model.perplexity(DOCUMENTS[:1]) == pytest.approx(math.exp(nll / tokens), rel=1e-4)


def test_every_score_is_signed(model):
    kind = model.tokenizer.kind
    assert kind == model.config.tokenizer.model
    assert len(model.run.scores()) == 2
    for score in model.run.scores():
        assert score["signature"].startswith(f"tok:{kind}/{model.tokenizer.hash[:8]}|ctx:carried|split:test|data:")
        assert "|prec:float32|firth:" in score["signature"]


def test_bits_per_byte_charge_unknown_text_and_lost_text(model):
    unseen = ["3 and Ж are friends"]
    known = model.bits_per_byte(DOCUMENTS[3:4])
    assert model.bits_per_byte(unseen) > known
    perplexity, bits = model.evaluate(["3  and   4 are friends"])  # more blanks than one
    if model.config.tokenizer.model == "word":
        assert bits.value > known and "for what the tokenizer loses: white space" in bits.note
    perplexity, bits = model.evaluate(unseen)
    assert ("unknown words" in bits.note) == ("unknown words" in perplexity.note) == (bits.value > 0 and "note" in
        bits.to_dict())  # fmt: skip


def test_training_helped(model):
    """Half of the words of a document are forced by the others: better than a uniform guess by far."""
    assert model.perplexity() < 0.5 * model.tokenizer.vocab_size


def test_the_report_is_static_and_escaped(model):
    page = (model.run.path / "report.html").read_text()
    assert "<svg" in page and "<script" not in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    assert np.isfinite(model.perplexity())


def test_the_floor_of_the_world_is_not_beaten(tmp_path):
    """A model of the built-in world needs more bits than the world has."""
    from firth.datasets.world import World

    settings = {**SETTINGS, "tokenizer.model": "byte", "backbone.width": 64, "train.budget": "80 steps"}
    model = firth.train("lstm-lm:tiny", text="world:300", out=tmp_path / "run", settings=settings)
    documents = list(World().documents(20, start=5000))
    exact = -sum(World().log_probability(text) for text in documents) / math.log(2) / sum(map(len, documents))
    assert exact < model.bits_per_byte(documents) < 8.0


def test_a_text_longer_than_the_context_is_scored_the_same_in_any_batch(tmp_path, monkeypatch):
    monkeypatch.setenv("FIRTH_CACHE", str(tmp_path / "cache"))
    texts = [f"number {n} is followed by {n + 1}" for n in range(60)]
    settings = {"train.budget": "3 steps", "tokenizer.model": "char", "batching.length": 16, "backbone.width": 16}
    model = firth.train("transformer-lm:tiny", text=texts, out=tmp_path / "run", settings=settings, batch_size=4)
    long, longer = "is followed by number 7 and 8", "number 1 is followed by 2 is followed by 3 and so on until the end"
    (alone,) = model.token_scores([long])
    together, _ = model.token_scores([long, longer])
    np.testing.assert_allclose(together, alone, rtol=1e-4, atol=1e-5)
    for prompt in ("", longer[:10], longer[:40]):  # a generated text has the log-probability that scoring it gives
        (sequence,) = model.sample_continuations(prompt, 30, 1, model.sampling_config(), seed=5)
        ids = [*model.tokenizer.encode(prompt), *sequence.ids, *[model.tokenizer.special.end] * sequence.ended]
        scores = model.id_scores([ids])[0][len(model.tokenizer.encode(prompt)) :]
        assert sequence.log_probability == pytest.approx(float(scores.sum()), rel=1e-4)
    (first,) = model.token_scores([long[:15]], whole=False)
    np.testing.assert_allclose(alone[:15], first, rtol=1e-4, atol=1e-5)


class StopAt(Quiet):
    """Presses Ctrl-C after a step."""

    def __init__(self, at):
        self.at = at

    def step(self, entry):
        if entry["step"] == self.at:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("preset", ["transformer-lm:tiny", "window-lm:tiny", "gru-lm:tiny"])
def test_an_interrupted_run_ends_with_the_same_bytes(preset, tmp_path, monkeypatch):
    monkeypatch.setenv("FIRTH_CACHE", str(tmp_path / "cache"))
    settings = {"train.budget": "9 steps", "train.evaluate_every": 4, "backbone.dropout": 0.1, "batching.length": 16}
    options = {"text": DOCUMENTS, "settings": settings, "width": 16, "batch_size": 4, "threads": 1}
    firth.train(preset, out=tmp_path / "whole", **options)
    with pytest.raises(Interrupted):
        firth.train(preset, out=tmp_path / "stopped", progress=StopAt(5), **options)
    firth.resume(tmp_path / "stopped")
    one, other = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "stopped"))
    assert one == other
