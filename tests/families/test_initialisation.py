"""Initialisation from pre-trained runs."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest
import torch

import firth
from firth import FirthError, api
from firth.families.initialisation import configure_from_run, initial_tokenizers, initialise_weights
from firth.models.build import build
from firth.runs.run_folder import Run
from firth.training.checkpoint import read_tensors

TEXT = [" ".join(str((n * m) % 23) for m in range(1, 14)) for n in range(1, 70)]
SMALL = {
    "backbone.width": 16, "backbone.depth": 1, "backbone.heads": 2, "batching.batch_size": 4, "batching.length": 16,
    "tokenizer.vocabulary_size": 80, "train.threads": 1, "train.evaluate_every": 4, "train.checkpoint_every": 4,
}  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A BERT that was trained a little; not to be changed."""
    out = tmp_path_factory.mktemp("runs") / "bert"
    firth.train("bert:tiny", text=TEXT, out=out, settings=SMALL, budget="8 steps")
    return out


def config_from(run, preset="bert:tiny", **settings):
    dotted = [f"{name}={value}" for name, value in settings.items()]
    return api.resolve_config(preset, dotted, {"init-from": str(run)}).config


def initialised(config):
    tokenizer = initial_tokenizers(config)["text"]
    system = build(config, tokenizer.vocab_size)
    return system, initialise_weights(system, config, tokenizer)


def test_the_network_is_the_runs_and_all_else_the_presets(run):
    config, pretrained = config_from(run), Run.open(run).record.config
    preset = api.resolve_config("bert:tiny").config
    assert config.backbone.width == 16 and config.backbone.depth == 1 and config.tokenizer == pretrained.tokenizer
    assert config.head == pretrained.head and config.inputs == pretrained.inputs
    assert config.train == preset.train and config.batching == preset.batching
    assert config.backbone.context == max(16, preset.batching.length)  # as many positions as either needs
    assert config_from(run, **{"backbone.dropout": 0.3}).backbone.dropout == 0.3  # settings come last


def test_with_the_same_objective_every_tensor_is_copied(run):
    system, summary = initialised(config_from(run, **{"batching.length": 16}))
    source = read_tensors(run / "model.safetensors")
    assert f"{len(source)} of {len(source)} tensors initialised from {run}" in summary and "new:" not in summary
    assert all(torch.equal(tensor, source[name]) for name, tensor in system.state_dict().items())


def test_with_another_objective_the_head_is_new(run):
    settings = {"batching.length": 16, "backbone.mask": "causal"}
    system, summary = initialised(config_from(run, "transformer-lm:tiny", **settings, **{"head.tied": "no"}))
    source = read_tensors(run / "model.safetensors")
    for name, tensor in system.state_dict().items():
        if name.startswith("backbone."):
            assert torch.equal(tensor, source[name])
    assert "new: head.weight" in summary


def test_added_tokens_keep_their_initialisation(run):
    config = config_from(run, **{"batching.length": 16})
    tokenizer = initial_tokenizers(config)["text"]
    system = build(config, tokenizer.vocab_size + 3)
    before = system.inputs["text"].weight.detach().clone()
    initialise_weights(system, config, tokenizer)
    source = read_tensors(run / "model.safetensors")["inputs.text.weight"]
    assert torch.equal(system.inputs["text"].weight[: len(source)], source)
    assert torch.equal(system.inputs["text"].weight[len(source) :], before[len(source) :])


def test_weights_that_do_not_fit_are_named_with_their_shapes(run):
    config = config_from(run, **{"batching.length": 16, "backbone.width": 32})
    tokenizer = initial_tokenizers(config)["text"]
    with pytest.raises(FirthError) as error:
        initialise_weights(build(config, tokenizer.vocab_size), config, tokenizer)
    line = str(error.value)
    table = read_tensors(run / "model.safetensors")["inputs.text.weight"]
    assert f"do not fit: inputs.text.weight {tuple(table.shape)}, here ({len(table)}, 32)" in line
    assert "more" in line and "\n" not in line
    deeper = replace(config, backbone=replace(config.backbone, width=16, depth=2))
    with pytest.raises(FirthError, match=r"blocks\.1\.attention.*none, here"):
        initialise_weights(build(deeper, tokenizer.vocab_size), deeper, tokenizer)


def test_training_continues_from_the_weights_of_the_other_run(run, tmp_path):
    """Evaluated before it has learned anything, the new run is as good as the old one at its end."""
    old = firth.load(run)
    settings = {"batching.batch_size": 4, "train.threads": 1, "train.evaluate_every": 1}
    one = firth.train(
        str(run),
        text=TEXT,
        init_from=str(run),
        out=tmp_path / "one",
        budget="1 steps",
        learning_rate=1e-9,
        settings=settings,
    )
    expected, value = (model.evaluate(TEXT)[0].value for model in (old, one))
    assert value == pytest.approx(expected, rel=1e-4)
    assert one.tokenizer.hash == old.tokenizer.hash
    assert one.config.init_from == str(run.absolute())


def test_an_interrupted_run_ends_with_the_same_bytes_even_without_the_pretrained_run(run, tmp_path):
    class Stopping:
        def step(self, line):
            if line["step"] == 6:
                raise KeyboardInterrupt

        def __getattr__(self, name):
            return lambda *_: None

    pretrained = shutil.copytree(run, tmp_path / "pretrained")
    common = {"text": TEXT, "init_from": str(pretrained), "budget": "12 steps", "settings": SMALL}
    firth.train("bert:tiny", out=tmp_path / "whole", **common)
    with pytest.raises(KeyboardInterrupt):
        firth.train("bert:tiny", out=tmp_path / "parts", progress=Stopping(), **common)
    shutil.rmtree(pretrained)
    firth.resume(tmp_path / "parts")
    whole, parts = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "parts"))
    assert whole == parts


def test_what_cannot_be_started_from_is_refused(run, tmp_path):
    with pytest.raises(FirthError, match="no such run folder"):
        firth.train("bert:tiny", text=TEXT, init_from=str(tmp_path / "none"))
    firth.train("ngram-lm:tiny", text=TEXT, out=tmp_path / "ngram")
    with pytest.raises(FirthError, match="not a neural run"):
        firth.train("bert:tiny", text=TEXT, init_from=str(tmp_path / "ngram"))
    bare = shutil.copytree(run, tmp_path / "bare")
    (bare / "model.safetensors").unlink()
    with pytest.raises(FirthError, match="no trained weights yet"):
        firth.train("bert:tiny", text=TEXT, init_from=str(bare), out=tmp_path / "out", budget="2 steps")
    damaged = shutil.copytree(run, tmp_path / "damaged")
    content = bytearray((damaged / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (damaged / "model.safetensors").write_bytes(bytes(content))
    with pytest.raises(FirthError, match="damaged"):
        firth.train("bert:tiny", text=TEXT, init_from=str(damaged), out=tmp_path / "out", budget="2 steps")


def test_the_window_of_the_preset_is_kept(run):
    preset = api.resolve_config("longformer:tiny").config
    config = configure_from_run(preset, str(run))
    attention = config.backbone.attention
    assert config.backbone.width == 16 and attention.window == preset.backbone.attention.window
    assert attention.kernel == "banded" and attention.global_projections


def test_the_tokenizer_is_the_runs_and_cannot_be_changed(run):
    with pytest.raises(FirthError, match="tokenizer of that run is kept"):
        config_from(run, **{"tokenizer.vocabulary_size": 500})


def test_a_label_keeps_its_row(tmp_path):
    """Labels are indexed from frequent to rare: with other frequencies they have other indices."""

    def table(name, good, bad):
        path = tmp_path / name
        rows = [
            "text\tlabel",
            *[f"lovely day {n}\tgood" for n in range(good)],
            *[f"awful day {n}\tbad" for n in range(bad)],
        ]
        path.write_text("\n".join(rows) + "\n")
        return str(path)

    small = {**SMALL, "train.optimizer.learning_rate": 0.02, "train.schedule.warmup_steps": 0}
    first = firth.train(
        "classifier:tiny", text=table("a.tsv", 60, 20), out=tmp_path / "a", settings=small, budget="40 steps"
    )
    other = {name: small[name] for name in small if name.startswith("train.")} | {"train.optimizer.learning_rate": 1e-9}
    text = table("b.tsv", 20, 60)
    second = firth.train(
        "classifier:tiny",
        text=text,
        out=tmp_path / "b",
        settings=other,
        budget="1 steps",
        init_from=str(tmp_path / "a"),
    )
    assert first.labels == ("good", "bad") and second.labels == ("bad", "good")
    texts = ["lovely day 99", "awful day 99"]
    assert [labels[0][0] for labels in first.predict(texts)] == ["good", "bad"]
    assert [labels[0][0] for labels in second.predict(texts)] == ["good", "bad"]
