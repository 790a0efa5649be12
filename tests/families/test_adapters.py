"""Runs of adapters: what their folder holds, loading, merging, exporting, and bases that are missing or changed."""

from __future__ import annotations

import json
import shutil

import pytest
import torch
from folders import SIZE, write_tokenizer

import firth
from firth import FirthError, api
from firth.families.run_weights import read_merged
from firth.families.vocabulary_surgery import edit_run
from firth.nn.lora import is_adapter
from firth.runs.run_folder import Run
from firth.runs.summary import format_summary, summary
from firth.runs.weights import read_metadata
from firth.training.checkpoint import read_tensors, read_weights, save_model

TEXT = [" ".join(f"w{(n * m) % 30}" for m in range(1, 14)) for n in range(1, 90)]
ROWS = [f"{'good' if n % 2 else 'bad'}\t{text}" for n, text in enumerate(TEXT)]
STEPS = {"train.threads": 1, "train.checkpoint_every": 4, "train.evaluate_every": 4, "train.budget": "4 steps"}
SHAPE = {"backbone.width": 16, "backbone.depth": 2, "backbone.heads": 2, "batching.length": 24}
NEW = {"train.optimizer.learning_rate": 0.05, "train.ema_decay": 0.5, "batching.length": 24}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Pre-trained networks, adapters of them, and labelled texts; not to be changed."""
    folder = tmp_path_factory.mktemp("adapters")
    (folder / "labels.tsv").write_text("\n".join(["label\ttext", *ROWS]) + "\n")
    sizes = {**STEPS, **SHAPE, "tokenizer.model": "word", "tokenizer.vocabulary_size": 80}
    firth.train("bert:tiny", text=TEXT, out=folder / "bert", settings=sizes)
    firth.train("transformer-lm:tiny", text=TEXT, out=folder / "lm", settings={**sizes, "head.tied": False})
    adapt(folder, "bert", "bert-classifier:tiny", "classes")
    return folder


def adapt(folder, base, preset, out, **settings):
    """An adapter of rank 3 of a run there."""
    labelled = "classifier" in preset
    dotted = {**STEPS, **NEW, **{name.replace("__", "."): value for name, value in settings.items()}}
    text = folder / "labels.tsv" if labelled else TEXT
    return firth.train(preset, text=text, init_from=folder / base, out=folder / out, lora=3, settings=dotted)


def copied(folder, tmp_path, *names):
    shutil.copy(folder / "labels.tsv", tmp_path)
    for name in names:
        shutil.copytree(folder / name, tmp_path / name)
    return tmp_path


def answers(run):
    return firth.load(run).predict(TEXT[:8], count=2)


def close(one, other):
    pairs = [dict(answer) for answers in (one, other) for answer in answers]
    for left, right in zip(pairs[: len(one)], pairs[len(one) :], strict=True):
        assert left.keys() == right.keys()
        assert all(abs(left[label] - right[label]) < 1e-5 for label in left)


# --- what is saved ------------------------------------------------------------------------------------------------


def test_the_folder_has_the_adapter_and_the_new_head_alone(folder):
    checkpoint = sorted((folder / "classes" / "state").iterdir())[-1]
    for path in (folder / "classes" / "model.safetensors", checkpoint / "weights.safetensors"):
        names = set(read_tensors(path))
        assert {name for name in names if not is_adapter(name)} == {
            f"head.{part}.{kind}" for part in ("pooler", "classifier") for kind in ("weight", "bias")
        }
        parts = {tuple(name.split(".")[-2:]) for name in names if is_adapter(name)}
        assert parts == {(matrix, part) for matrix in "ab" for part in ("query", "value")}
    state = read_tensors(checkpoint / "training.safetensors")
    trained = {name.partition(".")[2] for name in state} - {""}
    assert trained == set(read_tensors(folder / "classes" / "model.safetensors"))
    record = json.loads((folder / "classes" / "config.json").read_text())
    assert record["config"]["init_from"] == str(folder / "bert")
    assert format_summary(summary(folder / "classes"))["adapter_of"] == str(folder / "bert")
    assert record["data"]["base"] == read_metadata(folder / "bert" / "model.safetensors")["sha256"]


def test_loading_merges_the_adapter_into_the_base(folder):
    """The validation loss of the network in training is that of the merged one; all other tensors are the base's."""
    base, merged = read_tensors(folder / "bert" / "model.safetensors"), read_merged(Run.open(folder / "classes"))
    adapter = read_tensors(folder / "classes" / "model.safetensors")
    for name, tensor in merged.items():
        if "qkv_proj.weight" in name:
            layer, expected = name.removesuffix("weight") + "adapter.", base[name].clone()
            for rows, part in ((slice(0, 16), "query"), (slice(32, 48), "value")):
                expected[rows] += 16 / 3 * adapter[f"{layer}b.{part}"] @ adapter[f"{layer}a.{part}"]
            torch.testing.assert_close(tensor, expected)
            assert not torch.equal(tensor, base[name])
        else:
            assert torch.equal(tensor, adapter[name] if name in adapter else base[name])
    assert merged.keys() == firth.load(folder / "classes").module.state_dict().keys()


def test_a_pre_trained_head_that_predicts_tokens_stays_the_bases(folder):
    adapt(folder, "lm", "transformer-lm:tiny", "domain")
    assert all(map(is_adapter, read_tensors(folder / "domain" / "model.safetensors")))
    assert firth.load(folder / "domain").generate("w1 w2", max_length=3)
    base = {"lora": "3", "init-from": str(folder / "lm")}
    assert api.resolve_config("transformer-lm:tiny", [], base).config.train.frozen == ("head",)
    for own in ("head.tied=true", "train.frozen=inputs"):  # a new head, and what the user asks for
        assert "head" not in api.resolve_config("transformer-lm:tiny", [own], base).config.train.frozen


def test_a_table_that_has_grown_is_saved_without_the_bases_rows(folder, tmp_path):
    """A classifier needs special tokens that an imported causal language model does not have."""
    transformers = pytest.importorskip("transformers")
    sizes = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 24, "vocab_size": SIZE}
    transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes)).save_pretrained(tmp_path / "gpt2")
    write_tokenizer(tmp_path / "gpt2", names=["<|endoftext|>"])
    firth.import_model(tmp_path / "gpt2", out=folder / "gpt2")
    model = adapt(folder, "gpt2", "gpt-classifier:tiny", "grown")
    base = read_tensors(folder / "gpt2" / "model.safetensors")["inputs.text.weight"]
    saved = read_tensors(folder / "grown" / "model.safetensors")["inputs.text.weight"]
    assert torch.equal(model.module.state_dict()["inputs.text.weight"], torch.cat([base, saved]))
    assert 0 < len(saved) < 10
    close(answers(folder / "grown"), model.predict(TEXT[:8], count=2))
    with pytest.raises(FirthError, match=r"the base has no inputs\.text\.weight of this size, so peft cannot"):
        api.export_model(folder / "grown", to="peft", out=tmp_path / "out")


def test_a_run_with_the_whole_network_needs_no_base(folder, tmp_path):
    copied(folder, tmp_path, "bert")
    adapt(tmp_path, "bert", "bert-classifier:tiny", "whole", train__adapter__save="network")
    shutil.rmtree(tmp_path / "bert")
    close(answers(tmp_path / "whole"), answers(folder / "classes"))
    names = set(read_tensors(tmp_path / "whole" / "model.safetensors"))
    assert names > set(read_tensors(folder / "classes" / "model.safetensors"))
    with pytest.raises(FirthError, match="not an adapter that is saved alone"):
        api.export_model(tmp_path / "whole", to="peft", out=tmp_path / "out")


def test_an_adapter_of_an_adapter(folder, tmp_path):
    copied(folder, tmp_path, "bert")
    adapt(tmp_path, "bert", "bert:tiny", "domain")
    adapt(tmp_path, "domain", "bert-classifier:tiny", "task")
    merged, domain = (read_merged(Run.open(tmp_path / name)) for name in ("task", "domain"))
    name = "backbone.blocks.1.attention.sublayer.out_proj.weight"
    assert torch.equal(merged[name], domain[name])
    assert answers(tmp_path / "task")


# --- the base -----------------------------------------------------------------------------------------------------


def test_a_missing_base_is_refused_by_name(folder, tmp_path):
    copied(folder, tmp_path, "bert", "classes")
    shutil.move(folder / "bert", folder / "elsewhere")
    try:
        close(answers(tmp_path / "classes"), answers(tmp_path / "classes"))  # it is beside the adapter
        shutil.rmtree(tmp_path / "bert")
        with pytest.raises(FirthError, match=r"an adapter of the run .*bert, which is not there; restore that run, or"):
            firth.load(tmp_path / "classes")
        with pytest.raises(FirthError, match="which is not there"):
            firth.resume(tmp_path / "classes")
    finally:
        shutil.move(folder / "elsewhere", folder / "bert")


def test_a_changed_base_is_refused(folder, tmp_path):
    copied(folder, tmp_path, "bert")
    adapt(tmp_path, "bert", "bert-classifier:tiny", "classes")
    shutil.rmtree(tmp_path / "bert")
    firth.train("bert:tiny", text=TEXT, out=tmp_path / "bert", seed=2, settings={**STEPS, **SHAPE})
    with pytest.raises(FirthError, match="adapter of another run, whose weights have changed"):
        firth.load(tmp_path / "classes")


def test_an_adapter_without_a_pre_trained_run_is_refused_early():
    with pytest.raises(FirthError, match=r"train\.adapter: .*for a pre-trained network; name its run: --init-from"):
        api.resolve_config("bert:tiny", [], {"lora": "8", "text": "nowhere.txt"})
    with pytest.raises(FirthError, match="ngram-lm has no setting 'lora'"):
        api.resolve_config("ngram-lm", [], {"lora": "8"})


# --- other uses of the run ----------------------------------------------------------------------------------------


def test_vocabulary_surgery_merges_the_adapter(folder, tmp_path):
    adapt(folder, "bert", "bert:tiny", "mlm")
    edit_run(folder / "mlm", tmp_path / "edited", add=["new"])
    record = Run.open(tmp_path / "edited").record
    assert record.config.train.adapter.kind == "none"
    assert "base" not in record.data
    name = "backbone.blocks.0.attention.sublayer.qkv_proj.weight"
    edited = read_tensors(tmp_path / "edited" / "model.safetensors")
    assert torch.equal(edited[name], read_merged(Run.open(folder / "mlm"))[name])


def test_an_exported_adapter_is_merged(folder, tmp_path):
    said = api.export_model(folder / "classes", to="huggingface", out=tmp_path / "out", verify=True)
    assert "gives the same logits" in said


def test_peft_loads_an_adapter_on_top_of_the_exported_base(folder, tmp_path):
    peft, transformers = pytest.importorskip("peft"), pytest.importorskip("transformers")
    api.export_model(folder / "bert", to="huggingface", out=tmp_path / "base")
    said = api.export_model(folder / "classes", to="peft", out=tmp_path / "adapter")
    assert "an adapter of BERT" in said and "firth export" in said
    base = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "base", num_labels=2)
    adapted = peft.PeftModel.from_pretrained(base, tmp_path / "adapter").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "base")
    inputs = tokenizer(TEXT[:8], return_tensors="pt", padding=True, truncation=True, max_length=24)
    with torch.no_grad():
        probabilities = adapted(**inputs).logits.softmax(-1)
    labels = Run.open(folder / "classes").record.data["labels"]
    theirs = [list(zip(labels, row.tolist(), strict=True)) for row in probabilities]
    close(theirs, answers(folder / "classes"))


def test_what_peft_cannot_have_is_refused_by_name(folder, tmp_path):
    adapt(folder, "bert", "classifier:tiny", "mean")
    with pytest.raises(FirthError, match=r"BERT has no head\.pooling = mean"):
        api.export_model(folder / "mean", to="peft", out=tmp_path / "out")
    with pytest.raises(FirthError, match="not an adapter that is saved alone"):
        api.export_model(folder / "bert", to="peft", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_adapter_of_itself_is_refused(folder, tmp_path):
    """Its digests agree; whoever makes a folder makes its digests too."""
    copied(folder, tmp_path, "classes")
    run = Run(tmp_path / "classes")
    metadata, tensors = read_weights(run.weights)
    record = json.loads((run.path / "config.json").read_text())
    record["config"]["init_from"], record["data"]["base"] = str(run.path), metadata["sha256"]
    (run.path / "config.json").write_text(json.dumps(record))
    save_model(run.weights, tensors, {**metadata, "config": run.config_digest()})
    with pytest.raises(FirthError, match="this run is an adapter of itself"):
        firth.load(run.path)
