"""A whole model with attention by chunks: it scores what it generates, and refuses what does not fit together."""

import itertools
from dataclasses import replace

import pytest
import torch

import firth
from firth.backbones.encdec import EncoderDecoderBackbone
from firth.build import build
from firth.config import schema
from firth.errors import FirthError
from firth.families.stepper import NeuralStepper
from firth.runs.progress import Quiet
from firth.types import Batch, Tokens

LENGTH = 24


def reformer(length=LENGTH, **change):
    settings = {
        "width": 16, "depth": 2, "heads": 2, "spread": 0.4, "positions": "axial", "attends": ("local", "lsh"),
        "local": schema.Local(chunk=4), "lsh": schema.LSH(chunk=4, rounds=2, buckets=(4,)), "residual": "reversible",
    }  # fmt: skip
    backbone = schema.Transformer(**{**settings, **change})
    config = schema.Neural(
        batching=schema.Windows(length=length), input=schema.TokenInput(spread=0.5), backbone=backbone,
        head=schema.LanguageHead(bias=False),
    )  # fmt: skip
    return build(config, 30).eval()


def text(ids):
    return Batch({"text": Tokens(ids, torch.ones_like(ids, dtype=torch.bool))}, {})


OPTIONS = list(itertools.product([("local",), ("lsh",), ("local", "lsh", "full")], ["plain", "reversible"]))


@pytest.mark.parametrize(("attends", "residual"), OPTIONS)
def test_stepping_gives_what_reading_at_once_gives(attends, residual):
    system = reformer(attends=attends, residual=residual, depth=3)
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
        again, _ = stepper.step(ids[:, 4].flip(0), state.pick(torch.tensor([1, 0])))
        torch.testing.assert_close(first, again.flip(0))
        for place in range(4, LENGTH + 1):  # the context is full at the last one: its later half is read anew
            found, state = stepper.step(ids[:, place], state)
        wanted = system.log_probabilities(system.encode(text(ids[:, LENGTH // 2 : LENGTH + 1])).states[:, -1])
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-5)


def test_across_buckets_later_tokens_move_what_is_seen():
    """As public checkpoints do it: what is generated and what is scored at once are equal only within a chunk."""
    system = reformer(attends=("lsh",), lsh=schema.LSH(chunk=6, rounds=2, buckets=(4,), across=True))
    ids = torch.randint(30, (8, LENGTH))
    with torch.no_grad():
        whole, start = (system.encode(text(part)).states for part in (ids, ids[:, :10]))
        few, fewer = (system.encode(text(part)).states for part in (ids[:, :6], ids[:, :4]))
    assert not torch.allclose(whole[:, :10], start, atol=1e-3)
    torch.testing.assert_close(few[:, :4], fewer, atol=1e-5, rtol=1e-5)


def test_attention_can_be_looked_at_in_every_layer():
    system = reformer(depth=3, attends=("local", "lsh", "full"))
    ids = torch.randint(30, (2, LENGTH))
    tokens = text(ids).streams["text"]
    for layer in range(3):
        weights = system.backbone.attention(system.input(tokens), tokens, layer)
        torch.testing.assert_close(weights.sum(-1), torch.ones(2, 2, LENGTH))
        assert not weights.triu(1).any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"attends": ()}, "no kind of attention"),
        ({"positions": "rotary"}, "find places in the tokens' vectors"),
        ({"positions": "t5", "attends": ("full",)}, "learned by all layers together"),
        ({"window": 4}, "have no window"),
        ({"sees": "prefix"}, "look at one row"),
        ({"lsh": schema.LSH(buckets=(4, 3))}, "3 is odd"),
        ({"lsh": schema.LSH(buckets=(4096, 64))}, "at most 16384"),
        ({"norm_at": "post"}, "cannot be undone"),
        ({"axial": schema.Axial(rows=5, columns=5)}, "5 rows of 5 places are 25, and the model reads 24 tokens"),
        ({"axial": schema.Axial(width=16)}, "leaves nothing for columns"),
    ],
)
def test_what_does_not_fit_together_is_refused(change, message):
    with pytest.raises(FirthError, match=message):
        reformer(**change)


@pytest.mark.parametrize(
    ("side", "change", "message"),
    [
        ("encoder", {"residual": "reversible"}, "two streams"),
        ("decoder", {"residual": "reversible"}, "one stream"),
        ("decoder", {"attends": ("full", "local")}, "reads nothing anew"),
    ],
)
def test_what_an_encoder_decoder_cannot_have_is_refused(side, change, message):
    parts = {
        "encoder": schema.Transformer(width=16, heads=2, sees="all", context=8),
        "decoder": schema.Transformer(width=16, heads=2, context=8),
    }
    parts[side] = replace(parts[side], **change)
    with pytest.raises(FirthError, match=message):
        EncoderDecoderBackbone(schema.EncoderDecoder(**parts), 16)


TINY = {
    "backbone.width": 32, "backbone.inner": 64, "backbone.heads": 2, "batching.length": 64, "batching.rows": 4,
    "backbone.local.chunk": 16, "backbone.lsh.chunk": 16, "backbone.lsh.rounds": 2, "tokenizer.size": 300,
    "train.threads": 1, "train.evaluate_batches": 1, "train.schedule.warmup": 3, "train.evaluate": 30,
}  # fmt: skip
DOCUMENTS = [f"the {a} {b} saw the {b} {a} ." for a in "abcdefgh" for b in "stuvwxyz"] * 3


def test_a_tiny_reformer_learns_and_scores_what_it_writes(tmp_path):
    settings = {**TINY, "train.budget": "30 steps"}
    model = firth.train("reformer:tiny", text=DOCUMENTS, out=tmp_path / "run", settings=settings)
    scores = model.token_scores(["the a s saw the s a ."])[0]
    assert scores.mean() > -3.0  # an untrained one is at -log 300 = -5.7
    prompt = "the a s saw the s a . the b t saw the t b . the c u saw ."
    (found,) = model.continuations(prompt, 12, 1, model.sampling(), 3)
    read = model.tokenizer.ids(prompt)
    end = [model.tokenizer.special.end] if found.ended else []
    again = model.id_scores([[*read, *found.ids, *end]])[0][len(read) :]
    assert len(read) > 16  # longer than a chunk
    assert found.log_probability == pytest.approx(float(again.sum()), abs=1e-3)


class Stops(Quiet):
    """Ends the run after a step as a power cut would."""

    def step(self, entry):
        if entry["step"] == 5:
            raise KeyboardInterrupt


def test_directions_and_dropout_of_a_run_that_is_continued_are_the_same(tmp_path):
    settings = {**TINY, "train.budget": "8 steps", "train.save": 2, "backbone.dropout": 0.1}
    with pytest.raises(KeyboardInterrupt):
        firth.train("reformer:tiny", text=DOCUMENTS, out=tmp_path / "cut", settings=settings, progress=Stops())
    for name in ("cut", "whole"):
        firth.train("reformer:tiny", text=DOCUMENTS, out=tmp_path / name, settings=settings)
    one, other = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("cut", "whole"))
    assert one == other
