"""Import of Hugging Face folders: what is read, and what is refused in one line."""

from __future__ import annotations

import json
import shutil
import zipfile

import pytest
import safetensors.torch
import torch
from folders import NAMES, SIZE, change, put, refused, weights, write_tokenizer

import firth
from firth import FirthError, api
from firth.interop import hf_folder
from firth.interop.importer import load_pretrained
from firth.runs.gate import Gate
from firth.runs.run_folder import Run

transformers = pytest.importorskip("transformers")

SMALL = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
TEXT = [" ".join(f"w{(n * m) % 30 + 5}" for m in range(1, 12)) for n in range(1, 60)]


@pytest.fixture(scope="module")
def ready(tmp_path_factory):
    """Folders of a BERT and of a GPT-2, not to be changed."""
    root = tmp_path_factory.mktemp("ready")
    torch.manual_seed(1)
    bert = transformers.BertConfig(vocab_size=SIZE, max_position_embeddings=16, **SMALL)
    transformers.BertForMaskedLM(bert).save_pretrained(root / "bert")
    gpt = transformers.GPT2Config(vocab_size=SIZE, n_positions=16, n_embd=16, n_layer=1, n_head=2)
    transformers.GPT2LMHeadModel(gpt).save_pretrained(root / "gpt2")
    for name in ("bert", "gpt2"):
        write_tokenizer(root / name)
    return root


@pytest.fixture
def bert(ready, tmp_path):
    """A folder to be changed."""
    return shutil.copytree(ready / "bert", tmp_path / "bert")


@pytest.fixture
def gpt2(ready, tmp_path):
    return shutil.copytree(ready / "gpt2", tmp_path / "gpt2")


# --- what is read -------------------------------------------------------------------------------------------------


def same_tensors(one, two):
    return one.tensors.keys() == two.tensors.keys() and all(
        torch.equal(tensor, two.tensors[name]) for name, tensor in one.tensors.items()
    )


def test_shards_are_read_as_one_file(bert):
    whole, tensors = load_pretrained(bert), weights(bert)
    (bert / "model.safetensors").unlink()
    names, listed = sorted(tensors), {}
    for number, part in enumerate((names[::2], names[1::2]), 1):
        file = f"model-0000{number}-of-00002.safetensors"
        safetensors.torch.save_file({name: tensors[name] for name in part}, bert / file)
        listed |= dict.fromkeys(part, file)
    index = bert / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": listed}))
    assert same_tensors(load_pretrained(bert), whole)
    (bert / "model-00002-of-00002.safetensors").unlink()
    refused(bert, "model-00002-of-00002.safetensors is missing", "one of 2")
    index.write_text(json.dumps({"weight_map": {"a": "../elsewhere.safetensors"}}))
    refused(bert, "names a file outside of the folder")
    index.write_text("{}")
    refused(bert, index, "lists no files")


def test_legacy_names_prefixes_and_buffers(bert):
    whole, tensors = load_pretrained(bert), weights(bert)
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor
        for name, tensor in tensors.items()
    }
    matrix = tensors["bert.embeddings.word_embeddings.weight"]
    old |= {"bert.embeddings.position_ids": torch.arange(16)[None], "cls.predictions.decoder.weight": matrix.clone()}
    put(bert, old)
    pretrained = load_pretrained(bert)
    assert same_tensors(pretrained, whole)
    assert any("position_ids" in note for note in pretrained.notes)


def test_a_base_model_without_its_prefix_and_without_a_head(bert, tmp_path):
    tensors = weights(bert)
    body = {name.removeprefix("bert."): tensor for name, tensor in tensors.items() if name.startswith("bert.")}
    put(bert, body | {"pooler.dense.weight": torch.zeros(16, 16), "pooler.dense.bias": torch.zeros(16)})
    notes = []
    model = api.import_model(bert, out=tmp_path / "run", say=notes.append)
    assert any("bert.pooler.dense" in note for note in notes) and any("no output layer" in note for note in notes)
    assert model.embed(["w7 w8", "w9"]).shape == (2, 16)
    with pytest.raises(FirthError, match="without its output layer"):
        model.fill("w7 [MASK]")
    with pytest.raises(FirthError, match="without its output layer"):
        model.evaluate(TEXT)
    assert "BERT" in api.export_model(tmp_path / "run", to="huggingface", out=tmp_path / "out", verify=True)
    assert json.loads((tmp_path / "out" / "config.json").read_text())["architectures"] == ["BertModel"]


def test_half_precision_becomes_float32(bert):
    tensors = weights(bert)
    put(bert, {name: tensor.to(torch.bfloat16) for name, tensor in tensors.items()})
    pretrained = load_pretrained(bert)
    assert all(tensor.dtype == torch.float32 for tensor in pretrained.tensors.values())


def test_more_rows_than_tokens_are_kept(gpt2, tmp_path):
    """Embedding matrices are often padded to a round number; the tokenizer does not know the last rows."""
    write_tokenizer(gpt2, SIZE - 6)
    model = api.import_model(gpt2, out=tmp_path / "run")
    assert model.config.inputs["text"].table_size == SIZE and model.tokenizer.vocab_size == SIZE - 6
    assert len(model.score(["w7 w8"])) == 1 and len(model.generate("w7", max_length=5)) == 1
    api.export_model(tmp_path / "run", to="huggingface", out=tmp_path / "out", verify=True)
    given, back = weights(gpt2), weights(tmp_path / "out")
    assert given.keys() == back.keys() and all(torch.equal(given[name], back[name]) for name in given)


def test_tokens_that_an_objective_needs_are_added(gpt2, tmp_path):
    """GPT-1's tokenizer, for example, has no token for the start and the end of a text."""
    write_tokenizer(gpt2, names=["[UNK]"])
    pretrained = load_pretrained(gpt2)
    assert any("no token for start, end" in note for note in pretrained.notes)
    assert pretrained.tokenizer.vocab_size > SIZE and pretrained.config.inputs["text"].table_size == 0
    table = pretrained.tensors["inputs.text.weight"]
    assert len(table) == pretrained.tokenizer.vocab_size
    torch.testing.assert_close(table[-1], table[:SIZE].mean(0))
    model = api.import_model(gpt2, out=tmp_path / "run")
    assert model.perplexity(TEXT) > 1


def test_other_tokenizer_files_are_read_too(bert):
    (bert / "tokenizer.json").unlink()
    (bert / "vocab.txt").write_text("".join(f"{name}\n" for name in [*NAMES, *(f"w{n}" for n in range(5, SIZE))]))
    assert load_pretrained(bert).tokenizer.special.mask == 4


def test_t5s_sentinels_stand_after_the_pieces_of_its_model(tmp_path):
    """They are in no SentencePiece file; their numbers fall, so that the first is the last of all."""
    sentencepiece = pytest.importorskip("sentencepiece")
    (tmp_path / "text.txt").write_text("\n".join(TEXT))
    sentencepiece.SentencePieceTrainer.train(
        input=str(tmp_path / "text.txt"), model_prefix=str(tmp_path / "spiece"), vocab_size=30, pad_id=0, eos_id=1,
        unk_id=2, bos_id=-1, minloglevel=2, hard_vocab_limit=False,
    )  # fmt: skip
    pieces = sentencepiece.SentencePieceProcessor(str(tmp_path / "spiece.model")).vocab_size()
    config = transformers.T5Config(vocab_size=pieces + 128, d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2)
    transformers.T5ForConditionalGeneration(config).save_pretrained(tmp_path / "t5")
    shutil.copy(tmp_path / "spiece.model", tmp_path / "t5")
    model = api.import_model(tmp_path / "t5", out=tmp_path / "run")
    assert (
        model.tokenizer.token_to_id("<extra_id_0>") == pieces + 99
        and model.tokenizer.token_to_id("<extra_id_99>") == pieces
    )
    assert model.config.inputs["text"].table_size == pieces + 128
    assert model.evaluate(TEXT)[0].name == "denoising_perplexity"
    told = api.export_model(tmp_path / "run", to="huggingface", out=tmp_path / "out", verify=True)
    assert "T5" in told
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    assert theirs("w7 w8")["input_ids"] == [*model.tokenizer.encode("w7 w8"), 1]
    assert theirs("<extra_id_3>")["input_ids"][-2] == pieces + 96


# --- what is refused ----------------------------------------------------------------------------------------------


def test_pickled_weights_are_refused_by_their_content(bert):
    packed = bert / "pytorch_model.bin"
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("archive/data.pkl", b"\x80\x02}.")
    load_pretrained(bert)  # beside safetensors it does not matter
    (bert / "model.safetensors").unlink()
    refused(bert, packed, "can execute code", "save_pretrained")
    packed.write_bytes(b"\x80\x02}q\x00.")
    refused(bert, packed, "can execute code")
    packed.rename(bert / "model.safetensors")
    refused(bert, "model.safetensors", "can execute code")


def test_a_configuration_that_is_nested_too_deeply_is_refused(bert):
    (bert / "config.json").write_bytes(b"[" * 5000)
    refused(bert, "config.json", "cannot be read as JSON")


@pytest.mark.parametrize(
    ("content", "message"), [(b"\x89HDF\r\n\x1a\n", "does not read"), (b"", "not a safetensors"), (b"x" * 50, "not a")]
)
def test_other_weights_are_refused(bert, content, message):
    (bert / "model.safetensors").unlink()
    (bert / "tf_model.h5").write_bytes(content)
    refused(bert, "tf_model.h5", message)


def test_a_folder_that_is_none(bert, tmp_path):
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", "no config.json")
    (bert / "model.safetensors").write_bytes((bert / "model.safetensors").read_bytes()[:-9])
    refused(bert, "model.safetensors", "truncated")
    (bert / "model.safetensors").unlink()
    refused(bert, "no weights")
    (bert / "config.json").write_text("{")
    refused(bert, "config.json", "JSON")
    (bert / "config.json").write_text("[]")
    refused(bert, "config.json", "not a JSON object")
    (bert / "config.json").write_text("{}")
    (bert / "model.safetensors").write_bytes(b"")
    with pytest.raises(FirthError, match="no such file or folder"):
        api.import_model(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("fields", "parts"),
    [
        ({"model_type": "llama"}, ["unknown model_type 'llama'"]),
        ({"model_type": None}, ["no model_type"]),
        ({"hidden_act": "gelu_fast"}, ["hidden_act = gelu_fast", "gelu_new"]),
        ({"position_embedding_type": "relative_key"}, ["position_embedding_type = relative_key", "absolute"]),
        ({"is_decoder": True}, ["is_decoder", "false"]),
        ({"hidden_size": "wide"}, ["hidden_size = wide", "whole number"]),
        ({"num_hidden_layers": 0}, ["num_hidden_layers = 0"]),
        ({"layer_norm_eps": 3}, ["layer_norm_eps = 3"]),
        ({"num_attention_heads": 3}, ["is not divisible by 3 heads"]),
    ],
)
def test_fields_that_firth_does_not_have_are_named(bert, fields, parts):
    change(bert, **fields)
    refused(bert, *parts)


@pytest.mark.parametrize(
    ("fields", "parts"),
    [
        ({"scale_attn_by_inverse_layer_idx": True}, ["scale_attn_by_inverse_layer_idx = True"]),
        ({"scale_attn_weights": "no"}, ["scale_attn_weights", "true or false"]),
    ],
)
def test_fields_of_gpt_2(gpt2, fields, parts):
    change(gpt2, **fields)
    refused(gpt2, *parts)


def test_missing_unexpected_and_misshapen_tensors_are_named_with_their_shapes(bert):
    tensors = weights(bert)
    name = "bert.encoder.layer.0.output.dense.weight"
    put(bert, {key: tensor for key, tensor in tensors.items() if key != name})
    refused(bert, f"{name} (16, 32) is missing")
    put(bert, tensors | {"bert.encoder.layer.7.output.dense.bias": torch.zeros(3)})
    refused(bert, "bert.encoder.layer.7.output.dense.bias (3,) is unexpected")
    put(bert, tensors | {name: torch.zeros(2, 5)})
    refused(bert, f"{name} is (2, 5), not (16, 32)")
    put(bert, tensors)
    change(bert, num_hidden_layers=3)
    refused(bert, "bert.encoder.layer.1.attention.self.query.weight (16, 16) is missing", "and 28 more")


def test_a_tied_tensor_that_differs_is_refused(ready, tmp_path):
    config = transformers.T5Config(vocab_size=SIZE, d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2)
    transformers.T5ForConditionalGeneration(config).save_pretrained(tmp_path / "t5")
    write_tokenizer(tmp_path / "t5", names=["<pad>", "</s>", "[UNK]"])
    put(tmp_path / "t5", weights(tmp_path / "t5") | {"encoder.embed_tokens.weight": torch.zeros(SIZE, 16)})
    refused(tmp_path / "t5", "encoder.embed_tokens.weight is tied to shared.weight, but differs")


def test_a_tokenizer_that_does_not_match_is_refused(bert):
    write_tokenizer(bert, SIZE + 1)
    refused(bert, "41 tokens", "40 rows")
    (bert / "tokenizer.json").unlink()
    refused(bert, bert, "no tokenizer file")


def test_windows_that_do_not_match_the_layers_are_refused(tmp_path):
    config = transformers.LongformerConfig(vocab_size=SIZE, max_position_embeddings=18, attention_window=4, **SMALL)
    transformers.LongformerForMaskedLM(config).save_pretrained(tmp_path / "long")
    write_tokenizer(tmp_path / "long")
    for windows in ([4, 8], [3]):
        change(tmp_path / "long", attention_window=windows)
        refused(tmp_path / "long", f"attention_window = {windows}", "an even number, or one for each layer")


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"axial_pos_shape": [4, 4, 4]}, "axial_pos_shape"),
        ({"axial_pos_embds_dim": [4, 4]}, "does not add up to hidden_size"),
        ({"axial_pos_embds": False}, "axial_pos_embds = False"),
        ({"attn_layers": ["local", "full"]}, "attn_layers"),
        ({"num_buckets": "many"}, "num_buckets = many"),
        ({"local_num_chunks_before": -1}, "local_num_chunks_before"),
        ({"num_buckets": 3}, "3 is odd"),
    ],
)
def test_fields_of_reformer(tmp_path, fields, part):
    (tmp_path / "config.json").write_text(
        json.dumps({"model_type": "reformer", "vocab_size": SIZE, "hidden_size": 16, "num_attention_heads": 2,
                    "axial_pos_shape": [4, 4], "axial_pos_embds_dim": [8, 8], "is_decoder": True, **fields})
    )  # fmt: skip
    safetensors.torch.save_file({"none": torch.zeros(1)}, tmp_path / "model.safetensors")
    write_tokenizer(tmp_path)
    refused(tmp_path, part)


# --- runs ---------------------------------------------------------------------------------------------------------


def test_an_imported_model_is_a_run(gpt2, tmp_path):
    model = api.import_model(gpt2, out=tmp_path / "run")
    assert model.run.record.data["training"] == "imported from gpt2 (GPT-2)"
    again = firth.load(tmp_path / "run")
    assert again.score(TEXT[:3]) == model.score(TEXT[:3])
    with pytest.raises(FirthError, match="no text of its own"):
        again.evaluate()
    with pytest.raises(FirthError, match=r"imported, not trained.*--init-from"):
        try:
            firth.resume(tmp_path / "run")
        except FirthError as error:
            raise FirthError(str(error)) from None
    with pytest.raises(FirthError, match="a run is in this folder"):
        api.import_model(gpt2, out=tmp_path / "run")


def test_a_stopped_import_goes_on(gpt2, tmp_path, monkeypatch):
    from firth.families import huggingface

    with monkeypatch.context() as patch:
        patch.setattr(huggingface, "tensor_bytes", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            api.import_model(gpt2, out=tmp_path / "run")
    assert not Run(tmp_path / "run").is_trained
    assert len(api.import_model(gpt2, out=tmp_path / "run").score(["w7"])) == 1


def test_training_goes_on_from_an_imported_model(gpt2, tmp_path):
    api.import_model(gpt2, out=tmp_path / "run")
    first = firth.load(tmp_path / "run").perplexity(TEXT)
    settings = {"train.threads": 1, "batching.batch_size": 4, "train.evaluate_every": 15}
    common = {"text": TEXT, "init_from": str(tmp_path / "run"), "budget": "15 steps", "settings": settings}
    common["learning_rate"] = 0.02
    as_run = firth.train(str(tmp_path / "run"), out=tmp_path / "more", **common)
    assert as_run.tokenizer.hash == Run(tmp_path / "run").tokenizer("text").hash
    assert as_run.perplexity(TEXT) < first
    as_preset = firth.train("transformer-lm:tiny", out=tmp_path / "preset", **common, max_length=16)
    assert as_preset.config.backbone.width == 16 and as_preset.config.backbone.positions.kind == "learned"
    assert as_preset.perplexity(TEXT) < first
    told = api.export_model(tmp_path / "more", to="huggingface", out=tmp_path / "out", verify=True)
    assert "GPT-2" in told
    again = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "out")
    assert type(again).__name__ == "GPT2LMHeadModel"


def test_what_is_written_has_the_tokenizer_of_the_run(tmp_path):
    """transformers tokenizes a text as firth does, special tokens included."""
    settings = {"train.threads": 1, "backbone.positions.kind": "learned"}
    small = {"width": 16, "depth": 1, "budget": "2 steps", "max_length": 16, "vocab_size": 60}
    model = firth.train("bert:tiny", text=TEXT, out=tmp_path / "run", settings=settings, **small)
    api.export_model(tmp_path / "run", to="huggingface", out=tmp_path / "out", verify=True)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    special = model.tokenizer.special
    assert theirs("w7 w8")["input_ids"] == [special.cls, *model.tokenizer.encode("w7 w8"), special.sep]
    assert theirs("w7", "w8")["token_type_ids"][-1] == 1
    assert special.mask in theirs("w7 [MASK]")["input_ids"] and theirs.mask_token_id == special.mask
    filler = transformers.pipeline("fill-mask", model=str(tmp_path / "out"), top_k=3)
    mine = [(each.text, pytest.approx(each.probability, abs=1e-5)) for each in model.fill("w7 [MASK] w9", 3)[0]]
    assert [(each["token_str"].removeprefix("##"), each["score"]) for each in filler("w7 [MASK] w9")] == [
        (text.removeprefix("##"), score) for text, score in mine
    ]


@pytest.mark.parametrize(
    ("preset", "settings", "parts"),
    [
        ("transformer-lm:tiny", {}, ["GPT-2 has no backbone.positions.kind = rotary", "learned"]),
        (
            "transformer-lm:tiny",
            {"backbone.positions.kind": "learned", "backbone.norm.kind": "rms"},
            ["GPT-2 has no backbone.norm.kind = rms"],
        ),
        (
            "transformer-lm:tiny",
            {"backbone.positions.kind": "learned", "head.bias": "yes"},
            ["GPT-2 has no head.bias = true"],
        ),
        (
            "transformer-lm:tiny",
            {"backbone.positions.kind": "learned", "inputs.text.width": 8},
            ["GPT-2 has no inputs.text.width = 8"],
        ),
        ("lstm-lm:tiny", {}, ["has a network of the kind recurrent with the objective causal", "GPT-2"]),
    ],
)
def test_options_that_the_other_program_lacks_are_named(tmp_path, preset, settings, parts):
    small = {"width": 16, "depth": 1, "budget": "1 steps", "max_length": 16, "tokenizer": "byte"}
    firth.train(preset, text=TEXT, out=tmp_path / "run", settings={"train.threads": 1, **settings}, **small)
    with pytest.raises(FirthError) as error:
        api.export_model(tmp_path / "run", to="huggingface", out=tmp_path / "out")
    assert all(part in str(error.value) for part in parts) and "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()


def test_bad_exports_are_refused(gpt2, tmp_path):
    api.import_model(gpt2, out=tmp_path / "run")
    for to, message in (
        ("huggingfaces", "unknown kind of export"),
        ("huggingface:berd", "unknown family 'berd'; did you mean 'bert'"),
        ("huggingface:bert", "BERT has no network of the kind transformer with the objective causal"),
        ("huggingface:electra-generator", "has no generator"),
    ):
        with pytest.raises(FirthError) as error:
            api.export_model(tmp_path / "run", to=to, out=tmp_path / "out")
        assert message in str(error.value)
    with pytest.raises(FirthError, match="this path is in use"):
        api.export_model(tmp_path / "run", to="huggingface", out=gpt2)


def test_more_layers_than_tensors_are_refused_before_they_are_described(bert):
    change(bert, num_hidden_layers=2**15 - 1)
    refused(bert, "32,767 layers")


def test_a_class_that_is_no_name_is_refused(bert, tmp_path):
    change(bert, architectures=[None])
    refused(bert, "None")
    change(bert, architectures=1)  # no list: as if no class was named
    assert api.import_model(bert, out=tmp_path / "run").run.exists


def test_an_export_that_is_interrupted_leaves_nothing_and_can_be_repeated(tmp_path, monkeypatch):
    class InterruptedGate(Gate):
        def replace(self, name, data):
            super().replace(name, data)
            if name == "extra.json":
                raise KeyboardInterrupt

    files = {"a": torch.zeros(2)}, {"extra.json": b"{}"}
    with monkeypatch.context() as patch:
        patch.setattr(hf_folder, "Gate", InterruptedGate)
        with pytest.raises(KeyboardInterrupt):
            hf_folder.write(tmp_path / "out", {}, *files)
    assert [path.name for path in tmp_path.rglob("*")] == ["out"]
    hf_folder.write(tmp_path / "out", {}, *files)
    names = [hf_folder.CONFIG, "extra.json", hf_folder.WEIGHTS]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == names
