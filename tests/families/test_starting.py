"""Runs that start from the weights of others."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest
import torch

import firth
from firth import FirthError, api
from firth.build import build
from firth.families.starting import inherit, start_from, start_tokenizers
from firth.runs.folder import Run
from firth.training.checkpoint import read_tensors

TEXT = [" ".join(str((n * m) % 23) for m in range(1, 14)) for n in range(1, 70)]
SMALL = {
    "backbone.width": 16, "backbone.depth": 1, "backbone.heads": 2, "batching.rows": 4, "batching.length": 16,
    "tokenizer.size": 80, "train.threads": 1, "train.evaluate": 4, "train.save": 4,
}  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A BERT that has learned a little; not to be changed."""
    out = tmp_path_factory.mktemp("runs") / "bert"
    firth.train("bert:tiny", text=TEXT, out=out, settings=SMALL, budget="8 steps")
    return out


def chosen(run, preset="bert:tiny", **settings):
    dotted = [f"{name}={value}" for name, value in settings.items()]
    return api.choose(preset, dotted, {"start": str(run)}).config


def started(config):
    tokenizer = start_tokenizers(config)["text"]
    system = build(config, tokenizer.size)
    return system, start_from(system, config, tokenizer)


def test_the_network_is_the_runs_and_all_else_the_presets(run):
    config, begun, preset = chosen(run), Run.open(run).record.config, api.choose("bert:tiny").config
    assert config.backbone.width == 16 and config.backbone.depth == 1 and config.tokenizer == begun.tokenizer
    assert config.head == begun.head and config.input == begun.input
    assert config.train == preset.train and config.batching == preset.batching
    assert config.backbone.context == max(16, preset.batching.length)  # as many places as either needs
    assert chosen(run, **{"backbone.dropout": 0.3}).backbone.dropout == 0.3  # what is asked for comes last


def test_with_the_same_objective_every_tensor_is_taken_over(run):
    system, told = started(chosen(run, **{"batching.length": 16}))
    given = read_tensors(run / "model.safetensors")
    assert f"{len(given)} of {len(given)} tensors start from {run}" in told and "new:" not in told
    assert all(torch.equal(tensor, given[name]) for name, tensor in system.state_dict().items())


def test_with_another_objective_the_head_begins_anew(run):
    settings = {"batching.length": 16, "backbone.sees": "left"}
    system, told = started(chosen(run, "gpt:tiny", **settings, **{"head.tied": "no"}))
    given = read_tensors(run / "model.safetensors")
    for name, tensor in system.state_dict().items():
        if name.startswith("backbone."):
            assert torch.equal(tensor, given[name])
    assert "new: head.weight" in told


def test_tokens_that_were_added_begin_anew(run):
    config = chosen(run, **{"batching.length": 16})
    tokenizer = start_tokenizers(config)["text"]
    system = build(config, tokenizer.size + 3)
    before = system.input.weight.detach().clone()
    start_from(system, config, tokenizer)
    given = read_tensors(run / "model.safetensors")["input.weight"]
    assert torch.equal(system.input.weight[: len(given)], given)
    assert torch.equal(system.input.weight[len(given) :], before[len(given) :])


def test_weights_that_do_not_fit_are_named_with_their_shapes(run):
    config = chosen(run, **{"batching.length": 16, "backbone.width": 32})
    tokenizer = start_tokenizers(config)["text"]
    with pytest.raises(FirthError) as error:
        start_from(build(config, tokenizer.size), config, tokenizer)
    line = str(error.value)
    table = read_tensors(run / "model.safetensors")["input.weight"]
    assert f"do not fit: input.weight {tuple(table.shape)}, here ({len(table)}, 32)" in line
    assert "more" in line and "\n" not in line
    deeper = replace(config, backbone=replace(config.backbone, width=16, depth=2))
    with pytest.raises(FirthError, match=r"blocks\.1\.attention.*none, here"):
        start_from(build(deeper, tokenizer.size), deeper, tokenizer)


def test_training_starts_where_the_other_stopped_and_goes_on(run, tmp_path):
    """Evaluated before it has learned anything, the new run is as good as the old one at its end."""
    old = firth.load(run)
    settings = {"batching.rows": 4, "train.threads": 1, "train.evaluate": 1}
    one = firth.train(
        str(run), text=TEXT, start=str(run), out=tmp_path / "one", budget="1 steps", rate=1e-9, settings=settings
    )
    wanted, found = (model.evaluate(TEXT)[0].value for model in (old, one))
    assert found == pytest.approx(wanted, rel=1e-4)
    assert one.tokenizer.hash == old.tokenizer.hash
    assert one.config.start == str(run.absolute())


def test_a_stopped_run_goes_on_to_the_same_bytes_even_without_its_start(run, tmp_path):
    class Stopping:
        def step(self, line):
            if line["step"] == 6:
                raise KeyboardInterrupt

        def __getattr__(self, name):
            return lambda *_: None

    start = shutil.copytree(run, tmp_path / "start")
    common = {"text": TEXT, "start": str(start), "budget": "12 steps", "settings": SMALL}
    firth.train("bert:tiny", out=tmp_path / "whole", **common)
    with pytest.raises(KeyboardInterrupt):
        firth.train("bert:tiny", out=tmp_path / "parts", progress=Stopping(), **common)
    shutil.rmtree(start)
    firth.resume(tmp_path / "parts")
    whole, parts = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "parts"))
    assert whole == parts


def test_what_cannot_be_started_from_is_refused(run, tmp_path):
    with pytest.raises(FirthError, match="no such run folder"):
        firth.train("bert:tiny", text=TEXT, start=str(tmp_path / "none"))
    firth.train("ngram-lm:tiny", text=TEXT, out=tmp_path / "ngram")
    with pytest.raises(FirthError, match="no network"):
        firth.train("bert:tiny", text=TEXT, start=str(tmp_path / "ngram"))
    bare = shutil.copytree(run, tmp_path / "bare")
    (bare / "model.safetensors").unlink()
    with pytest.raises(FirthError, match="no trained weights yet"):
        firth.train("bert:tiny", text=TEXT, start=str(bare), out=tmp_path / "out", budget="2 steps")
    damaged = shutil.copytree(run, tmp_path / "damaged")
    content = bytearray((damaged / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (damaged / "model.safetensors").write_bytes(bytes(content))
    with pytest.raises(FirthError, match="damaged"):
        firth.train("bert:tiny", text=TEXT, start=str(damaged), out=tmp_path / "out", budget="2 steps")


def test_inheriting_keeps_what_a_preset_says_of_its_reach(run):
    preset = api.choose("longformer:tiny").config
    config = inherit(preset, str(run))
    assert config.backbone.width == 16 and config.backbone.window == preset.backbone.window > 0
    assert config.backbone.kernel == "banded"


def test_the_tokenizer_is_the_runs_and_cannot_be_asked_for(run):
    with pytest.raises(FirthError, match="tokenizer of that run is kept"):
        chosen(run, **{"tokenizer.size": 500})


def test_a_label_keeps_what_was_learned_of_it(tmp_path):
    """Labels are numbered from frequent to rare: with other frequencies they have other numbers."""

    def table(name, good, bad):
        path = tmp_path / name
        rows = [
            "text\tlabel",
            *[f"lovely day {n}\tgood" for n in range(good)],
            *[f"awful day {n}\tbad" for n in range(bad)],
        ]
        path.write_text("\n".join(rows) + "\n")
        return str(path)

    small = {**SMALL, "train.optimizer.rate": 0.02, "train.schedule.warmup": 0}
    first = firth.train(
        "classifier:tiny", text=table("a.tsv", 60, 20), out=tmp_path / "a", settings=small, budget="40 steps"
    )
    other = {name: small[name] for name in small if name.startswith("train.")} | {"train.optimizer.rate": 1e-9}
    text = table("b.tsv", 20, 60)
    second = firth.train(
        "classifier:tiny", text=text, out=tmp_path / "b", settings=other, budget="1 steps", start=str(tmp_path / "a")
    )
    assert first.labels == ("good", "bad") and second.labels == ("bad", "good")
    texts = ["lovely day 99", "awful day 99"]
    assert [guess[0][0] for guess in first.predict(texts)] == ["good", "bad"]
    assert [guess[0][0] for guess in second.predict(texts)] == ["good", "bad"]
