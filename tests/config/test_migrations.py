"""Run folders of 0.1.0, whose names were others, are described, loaded and resumed.

`old_run` has two of them, interrupted at step 21 of 40: an LSTM over characters, and a BERT with next-sentence
prediction. Their text is named relative to the working directory. The values below were measured with 0.1.0.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import firth
from firth.config import from_dict, to_dict
from firth.config.migrations import inputs_by_stream, keep_split, rename_tensors
from firth.config.schema import System
from firth.datasets.text_dataset import documents
from firth.datasets.token_cache import default_cache
from firth.models.build import build
from firth.presets import preset
from firth.runs.ladder_folder import LadderFolder
from firth.runs.run_folder import Run
from firth.runs.summary import summary
from firth.types import Sizes

OLD = Path(__file__).parent / "old_run"
# the metric, of the validation split at the best step, and of the test split after the run was resumed to its end
MEASURED = {
    "lstm": ("perplexity", 21.159403793875672, 20.412797228061486),
    "bert": ("masked_perplexity", 37.73679702538867, 58.68405836266076),
}


@pytest.fixture(params=MEASURED)
def old(request, tmp_path, monkeypatch):
    """A copy of an old run, and what 0.1.0 measured of it."""
    shutil.copytree(OLD / request.param, tmp_path / request.param)
    monkeypatch.chdir(OLD)
    return tmp_path / request.param, MEASURED[request.param]


def test_an_old_run_is_described(old):
    run, (metric, _, _) = old
    about = summary(run)
    assert (about["state"], about["step"], about["steps"]) == ("open", 21, 40)
    assert about["best_valid"]["metric"] == metric
    assert about["parameters"] > 0


def test_an_old_run_is_loaded_with_its_score(old):
    run, (metric, value, _) = old
    score = firth.load(run).evaluate(split="valid")[0]
    assert score.name == metric
    assert score.value == pytest.approx(value, rel=1e-5)


def test_an_old_run_is_resumed_to_its_end(old):
    run, (metric, _, value) = old
    model = firth.resume(run)
    assert summary(run)["state"] == "done"
    score = model.run.scores()[0]
    assert score["name"] == metric
    assert score["value"] == pytest.approx(value, rel=1e-3)  # other CPUs round otherwise
    steps = [line for line in (run / "log.jsonl").read_text().splitlines() if '"grad_norm"' in line or '"norm"' in line]
    assert len(steps) == 40


def test_the_gate_of_an_old_feed_forward_layer_gets_its_name_and_its_factor_too():
    block = "optimizer.backbone.blocks.3.feedforward"
    old = {f"{block}.inner.input.weight": 1, f"{block}.inner.gate.weight": 2, f"{block}.inner.output.weight": 3}
    assert rename_tensors(old) == {
        f"{block}.sublayer.gate_proj.weight": 1,
        f"{block}.sublayer.up_proj.weight": 2,
        f"{block}.sublayer.down_proj.weight": 3,
    }
    plain = {f"{block}.inner.input.weight": 1}
    assert rename_tensors(plain) == {f"{block}.sublayer.up_proj.weight": 1}


def test_the_one_input_of_old_tensors_belongs_to_its_stream():
    text = ("input.weight", "average.input.segments", "source_input.weight")
    image = ("input.projection.bias", "mean.input.cls_token")
    assert list(rename_tensors(dict.fromkeys(text + image))) == [
        "inputs.text.weight",
        "average.inputs.text.segments",
        "inputs.source.weight",
        "inputs.image.projection.bias",
        "mean.inputs.image.cls_token",
    ]


@pytest.mark.parametrize("name", ["lstm-lm:tiny", "vit:tiny", "bahdanau:tiny", "bert:tiny", "electra:tiny"])
def test_a_configuration_of_one_input_has_it_by_stream_and_no_tensor_of_today_is_renamed(name):
    config = preset(name)
    values = to_dict(config)
    (one,) = values.pop("inputs").values()
    assert from_dict(System, inputs_by_stream({**values, "input": one})) == config
    assert inputs_by_stream(to_dict(config)) == to_dict(config)
    with torch.device("meta"):
        tensors = build(config, Sizes(40, {"source": 50} if "source" in config.streams else {})).state_dict()
    assert list(rename_tensors(tensors)) == list(tensors)


def test_a_stored_text_without_a_way_of_splitting_is_split_by_documents(old):
    run, _ = old
    assert Run.open(run).record.config.data.split_by == "documents"
    stored = keep_split({"data": {"document": "line"}})["data"]
    assert stored == {"document": "line", "split_by": "documents", "group_duplicates": False}
    assert keep_split({"data": {"document": "line", "split_by": "bytes"}})["data"]["split_by"] == "bytes"
    examples = {"data": {"kind": "examples", "text": ["sst2"]}}
    assert keep_split(examples) == examples and keep_split({}) == {}
    labelled = {"data": {"kind": "examples", "valid_fraction": 0.1}}
    assert keep_split(labelled)["data"]["group_duplicates"] is False


def test_a_stored_run_keeps_duplicates_where_they_were(tmp_path):
    texts = [f"line {number % 60} is {'very ' * (number % 6)}long" for number in range(300)]
    firth.train("ngram-lm:tiny", text=texts, out=tmp_path / "run", settings={"data.group_duplicates": False})
    record = tmp_path / "run" / "config.json"
    values = json.loads(record.read_text())
    del values["config"]["data"]["group_duplicates"]
    record.write_text(json.dumps(values))
    config = Run.open(tmp_path / "run").record.config
    splits = documents(config.data, config.seed, default_cache())
    assert {name: split.key for name, split in splits.items()} == values["data"]["splits"]
    grouped = documents(replace(config.data, group_duplicates=True), config.seed, default_cache())
    assert grouped["test"].key != splits["test"].key


def test_a_run_of_0_2_is_split_by_documents_and_one_of_today_by_bytes(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("\n".join(f"line {number} is {'very ' * (number % 9)}long" for number in range(300)))
    settings = {"data.text": str(text), "tokenizer.model": "char", "method.order": 2}
    model = firth.train("ngram-lm", out=tmp_path / "run", settings=settings)
    assert Run.open(tmp_path / "run").record.config.data.split_by == "bytes"
    assert firth.load(tmp_path / "run").evaluate() == model.evaluate()
    record = tmp_path / "run" / "config.json"
    values = json.loads(record.read_text())
    del values["config"]["data"]["split_by"], values["config"]["data"]["max_heldout"]
    record.write_text(json.dumps(values | {"format": 2}))
    assert Run.open(tmp_path / "run").record.config.data.split_by == "documents"


def test_a_ladder_of_0_2_is_split_by_documents(tmp_path):
    LadderFolder(tmp_path).write({"settings": {"data": {"document": "line"}}})
    assert LadderFolder(tmp_path).read()["settings"]["data"]["split_by"] == "documents"
