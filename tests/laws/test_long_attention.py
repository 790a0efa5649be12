"""A whole model with local and LSH attention: it scores what it generates, and refuses what does not fit together."""

import itertools

import pytest
import torch

import firth
from firth.config import schema
from firth.errors import FirthError
from firth.models.backbones.encoder_decoder import EncoderDecoderBackbone
from firth.models.build import build
from firth.pipelines.lm_stepper import NeuralStepper
from firth.runs.progress import Quiet
from firth.types import Batch, Tokens
from transformer_options import transformer

LENGTH = 24


def reformer(length=LENGTH, **change):
    settings = {
        "width": 16, "depth": 2, "heads": 2, "init_std": 0.4, "positions": "axial", "layers": ("local", "lsh"),
        "local": schema.Local(chunk=4), "lsh": schema.LSH(chunk=4, rounds=2, buckets=(4,)), "residual": "reversible",
    }  # fmt: skip
    backbone = transformer(**{**settings, **change})
    config = schema.Neural(
        batching=schema.Windows(length=length), backbone=backbone,
        inputs=schema.Inputs(text=schema.TokenInput(init_range=0.5)), head=schema.LMHead(bias=False),
    )  # fmt: skip
    return build(config, 30).eval()


def text(ids):
    return Batch({"text": Tokens(ids, torch.ones_like(ids, dtype=torch.bool))}, {})


OPTIONS = list(itertools.product([("local",), ("lsh",), ("local", "lsh", "full")], ["plain", "reversible"]))


@pytest.mark.parametrize(("layers", "residual"), OPTIONS)
def test_stepping_equals_encoding_at_once(layers, residual):
    system = reformer(layers=layers, residual=residual, depth=3)
    ids = torch.randint(30, (3, LENGTH))
    with torch.no_grad():
        whole = system.encode(text(ids)).states
        state, parts = system.backbone.start(3), []
        for first, last in ((0, 1), (1, 8), (8, 9), (9, LENGTH)):
            encoded = system.encode(text(ids[:, first:last]), state)
            parts.append(encoded.states)
            state = encoded.state
    torch.testing.assert_close(torch.cat(parts, 1), whole, atol=1e-5, rtol=1e-5)


def test_a_state_is_a_value_and_goes_on_beyond_the_context():
    system = reformer()
    stepper, ids = NeuralStepper(system, 30), torch.randint(30, (2, 40))
    with torch.no_grad():
        state = stepper.start(text(ids[:, :5]))
        first, _ = stepper.step(ids[:, 4], state)
        again, _ = stepper.step(ids[:, 4].flip(0), state.reorder(torch.tensor([1, 0])))
        torch.testing.assert_close(first, again.flip(0))
        for position in range(4, LENGTH + 1):  # the context is full at the last one: its later half is encoded again
            actual, state = stepper.step(ids[:, position], state)
        expected = system.log_probabilities(system.encode(text(ids[:, LENGTH // 2 : LENGTH + 1])).states[:, -1])
    torch.testing.assert_close(actual, expected, atol=1e-5, rtol=1e-5)


def test_across_buckets_later_tokens_change_what_is_visible():
    """As public checkpoints do it: what is generated and what is scored at once are equal only within a chunk."""
    system = reformer(layers=("lsh",), lsh=schema.LSH(chunk=6, rounds=2, buckets=(4,), across=True))
    ids = torch.randint(30, (8, LENGTH))
    with torch.no_grad():
        whole, start = (system.encode(text(part)).states for part in (ids, ids[:, :10]))
        few, fewer = (system.encode(text(part)).states for part in (ids[:, :6], ids[:, :4]))
    assert not torch.allclose(whole[:, :10], start, atol=1e-3)
    torch.testing.assert_close(few[:, :4], fewer, atol=1e-5, rtol=1e-5)


def test_attention_weights_of_every_layer():
    system = reformer(depth=3, layers=("local", "lsh", "full"))
    ids = torch.randint(30, (2, LENGTH))
    tokens = text(ids).streams["text"]
    for layer in range(3):
        weights = system.backbone.attention_weights(system.embed("text", tokens), tokens, layer)
        torch.testing.assert_close(weights.sum(-1), torch.ones(2, 2, LENGTH))
        assert not weights.triu(1).any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layers": ()}, "no kind of attention"),
        ({"positions": "rotary"}, "need positions in the embeddings"),
        ({"positions": "t5", "layers": ("full",)}, "need positions in the embeddings"),
        ({"mask": "prefix"}, "need one segment"),
        ({"lsh": schema.LSH(buckets=(4, 3))}, "3 is odd"),
        ({"lsh": schema.LSH(buckets=(4096, 64))}, "the maximum of 16384"),
        ({"norm_placement": "post"}, "cannot be inverted"),
        (
            {"axial": schema.AxialPositions(rows=5, columns=5)},
            "5 rows × 5 columns are 25 positions, and the context is 24 tokens",
        ),
        ({"axial": schema.AxialPositions(width=16)}, "leaves no dimension for columns"),
    ],
)
def test_what_does_not_fit_together_is_refused(change, message):
    with pytest.raises(FirthError, match=message):
        reformer(**change)


@pytest.mark.parametrize(
    ("side", "change", "message"),
    [
        ("encoder", {"residual": "reversible"}, "two streams of states"),
        ("decoder", {"residual": "reversible"}, "cannot be reversible"),
        ("decoder", {"layers": ("full", "local")}, "needs full attention"),
    ],
)
def test_what_an_encoder_decoder_cannot_have_is_refused(side, change, message):
    parts = {
        "encoder": schema.Transformer(width=16, heads=2, mask="bidirectional", context=8),
        "decoder": schema.Transformer(width=16, heads=2, context=8),
    }
    parts[side] = transformer(parts[side], **change)
    with pytest.raises(FirthError, match=message):
        EncoderDecoderBackbone(schema.EncoderDecoder(**parts), 16)


TINY = {
    "backbone.width": 32, "backbone.feedforward.width": 64, "backbone.heads": 2, "batching.length": 64,
    "batching.batch_size": 4,
    "backbone.attention.local.chunk": 16, "backbone.attention.lsh.chunk": 16, "backbone.attention.lsh.rounds": 2,
    "tokenizer.vocabulary_size": 300,
    "train.threads": 1, "train.eval_batches": 1, "train.schedule.warmup_steps": 3, "train.evaluate_every": 30,
}  # fmt: skip
DOCUMENTS = [f"the {a} {b} saw the {b} {a} ." for a in "abcdefgh" for b in "stuvwxyz"] * 3


def test_a_tiny_reformer_learns_and_scores_what_it_generates(tmp_path):
    settings = {**TINY, "train.budget": "30 steps"}
    model = firth.train("reformer:tiny", text=DOCUMENTS, out=tmp_path / "run", settings=settings)
    scores = model.token_scores(["the a s saw the s a ."])[0]
    assert scores.mean() > -3.0  # an untrained one is at -log 300 = -5.7
    prompt = "the a s saw the s a . the b t saw the t b . the c u saw ."
    (sample,) = model.sample_continuations(prompt, 12, 1, model.sampling_config(), 3)
    prompt_ids = model.tokenizer.encode(prompt)
    end = [model.tokenizer.special.end] if sample.ended else []
    scores = model.id_scores([[*prompt_ids, *sample.ids, *end]])[0][len(prompt_ids) :]
    assert len(prompt_ids) > 16  # longer than a chunk
    assert sample.log_probability == pytest.approx(float(scores.sum()), abs=1e-3)


class Stops(Quiet):
    """Ends the run after a step as a power cut would."""

    def step(self, entry):
        if entry["step"] == 5:
            raise KeyboardInterrupt


def test_rotations_and_dropout_of_a_resumed_run_are_the_same(tmp_path):
    settings = {**TINY, "train.budget": "8 steps", "train.checkpoint_every": 2, "backbone.dropout": 0.1}
    with pytest.raises(KeyboardInterrupt):
        firth.train("reformer:tiny", text=DOCUMENTS, out=tmp_path / "cut", settings=settings, progress=Stops())
    for name in ("cut", "whole"):
        firth.train("reformer:tiny", text=DOCUMENTS, out=tmp_path / name, settings=settings)
    one, other = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("cut", "whole"))
    assert one == other
