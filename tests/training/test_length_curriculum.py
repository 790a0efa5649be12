"""A length curriculum (sequences grow in stages): killed on either side of a boundary, it ends with the same bytes."""

import json

import pytest

import firth
from firth.config.schema import Schedule
from firth.errors import FirthError
from firth.runs.progress import Quiet
from firth.training.optimizer import learning_rate_factor

DOCUMENTS = [" ".join(str(n * m % 97) for m in range(40)) for n in range(60)]
SETTINGS = {
    "tokenizer.model": "byte",
    "backbone.width": 16,
    "backbone.depth": 1,
    "backbone.attention.kind": "window",
    "backbone.attention.window": 8,
    "backbone.attention.scale_window": True,
    "batching.batch_size": 2,
    "batching.length": 64,
    "batching.length_curriculum": "16,32",
    "train.threads": 1,
    "train.budget": "12 steps",
    "train.evaluate_every": 12,
    "train.checkpoint_every": 2,
    "train.schedule.decay_stages": 3,
    "train.gradient_accumulation": 2,
}


class Stops(Quiet):
    """Ends the run after a step as a power cut would."""

    def __init__(self, at):
        self.at = at

    def step(self, entry):
        if entry["step"] == self.at:
            raise KeyboardInterrupt


def outcome(run):
    last = max((run / "state").glob("step-*"))
    return {path.name: path.read_bytes() for path in [run / "model.safetensors", *sorted(last.iterdir())]}


def trained(folder, **more):
    return firth.train("transformer-lm:tiny", text=DOCUMENTS, out=folder, settings=SETTINGS, **more)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("staged") / "whole"
    trained(folder)
    return folder


@pytest.mark.parametrize("step", [4, 5, 9])  # stages end after the 4th and the 8th
def test_resume_is_exact_across_the_boundary_of_a_stage(tmp_path, whole, step):
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path / "run", progress=Stops(step))
    trained(tmp_path / "run")
    assert outcome(tmp_path / "run") == outcome(whole)


def test_resume_is_exact_with_the_banded_kernel_and_global_attention(tmp_path):
    settings = {**SETTINGS, "backbone.attention.dropout": 0.1, "train.budget": "6 steps"}

    def run(name, **more):
        firth.train("longformer:tiny", text=DOCUMENTS, out=tmp_path / name, settings=settings, **more)

    run("whole")
    with pytest.raises(KeyboardInterrupt):
        run("killed", progress=Stops(3))
    run("killed")
    assert outcome(tmp_path / "killed") == outcome(tmp_path / "whole")


def test_every_step_has_as_many_tokens(whole):
    lines = [json.loads(line) for line in (whole / "log.jsonl").read_text().splitlines()]
    steps = [line for line in lines if "learning_rate" in line]
    assert [line["tokens"] for line in steps] == [2 * 2 * 64] * 12


def test_step_decay_multiplies_the_learning_rate_from_stage_to_stage():
    config = Schedule(shape="constant", decay_stages=3, factor=0.5)
    assert [learning_rate_factor(config, step, 10) for step in range(10)] == [1.0] * 3 + [0.5] * 3 + [0.25] * 4
    assert learning_rate_factor(Schedule(shape="constant"), 9, 10) == 1.0


def test_stages_that_do_not_grow_are_refused_before_the_run_begins(tmp_path):
    settings = {**SETTINGS, "batching.length_curriculum": "64"}
    with pytest.raises(FirthError, match="must increase"):
        firth.train("transformer-lm:tiny", text=DOCUMENTS, out=tmp_path / "run", settings=settings)
    assert not (tmp_path / "run" / "config.json").exists()
