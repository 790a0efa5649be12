"""Import and export of text and image classifiers: same logits as transformers."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from folders import change, put, refused, weights, write_tokenizer

import firth
from firth import FirthError, api
from firth.interop import hf_folder
from firth.interop.importer import load_pretrained, normalise_names
from firth.interop.model_family import conversions_of, position_offset
from firth.interop.tensor_steps import tensors_from_hf, tensors_to_hf
from firth.models.build import build
from firth.types import Batch, Pixels, Sizes, Tokens

transformers = pytest.importorskip("transformers")

SIZE, CONTEXT = 40, 20
CLOSE = {"atol": 1e-5, "rtol": 1e-5}
LABELS = {0: "bad", 1: "good", 2: "neither"}
BERT = {
    "vocab_size": SIZE, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24,
    "max_position_embeddings": CONTEXT, "pad_token_id": 0, "id2label": LABELS, "num_labels": 3,
}  # fmt: skip
DISTIL = {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24}
GPT = {"n_positions": CONTEXT, "n_embd": 16, "n_layer": 2, "n_head": 2, "pad_token_id": 0, "id2label": LABELS}
VIT = {"image_size": 12, "patch_size": 4, "id2label": LABELS}
MODELS = {
    "bert": ("BertForSequenceClassification", "BertConfig", BERT),
    "roberta": ("RobertaForSequenceClassification", "RobertaConfig", BERT),
    "distilbert": ("DistilBertForSequenceClassification", "DistilBertConfig", {**BERT, **DISTIL}),
    "electra": ("ElectraForSequenceClassification", "ElectraConfig", {**BERT, "embedding_size": 8}),
    "openai-gpt": ("OpenAIGPTForSequenceClassification", "OpenAIGPTConfig", {**GPT, "vocab_size": SIZE}),
    "gpt2": ("GPT2ForSequenceClassification", "GPT2Config", {**GPT, "vocab_size": SIZE}),
    "vit": ("ViTForImageClassification", "ViTConfig", {**BERT, **VIT}),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A model of theirs by its name, in which every tensor matters, and its folder; not to be changed."""
    made = {}

    def find(name):
        if name not in made:
            kind, config, values = MODELS[name]
            torch.manual_seed(len(name))
            model = getattr(transformers, kind)(getattr(transformers, config)(**values)).eval()
            with torch.no_grad():
                for key, tensor in model.named_parameters():
                    tensor.normal_(1.0 if "norm" in key.lower() or "ln_" in key else 0.0, 0.2)
                if name == "roberta":
                    model.roberta.embeddings.position_embeddings.weight[0] = 0.0  # unused
            path = tmp_path_factory.mktemp("theirs") / name
            model.save_pretrained(path)
            write_tokenizer(path)
            made[name] = model, path
        return made[name]

    return find


def token_batch(time):
    """Token ids and attention mask of three sequences, two of them padded."""
    torch.manual_seed(time)
    mask = torch.arange(time) < torch.tensor([time, time - 3, 2])[:, None]
    return torch.randint(5, SIZE, (3, time)).masked_fill(~mask, 0), mask


@torch.no_grad()
def both(name, model, system, time):
    """Their logits and ours."""
    if name == "vit":
        values = torch.rand(time, 3, 12, 12)
        given = {"pixel_values": (values - 0.5) / 0.5}
        batch = Batch({"image": Pixels(values)}, {})
    else:
        ids, mask = token_batch(time)
        given, batch = {"input_ids": ids, "attention_mask": mask.long()}, Batch({"text": Tokens(ids, mask)}, {})
    encoded = system.encode(batch)
    return model(**given).logits, system.head(encoded)


def opened(pretrained):
    sizes = Sizes.of({"text": pretrained.tokenizer} if pretrained.tokenizer else {}, pretrained.labels)
    system = build(pretrained.config, sizes).eval()
    system.load_state_dict(dict(pretrained.tensors))
    return system


@pytest.mark.parametrize("name", MODELS)
def test_logits_and_labels_equal_theirs(name, saved):
    model, path = saved(name)
    pretrained = load_pretrained(path)
    assert pretrained.labels == tuple(LABELS.values())
    for time in (7, CONTEXT - 1):
        his, mine = both(name, model, opened(pretrained), time)
        torch.testing.assert_close(mine, his, **CLOSE)


@pytest.mark.parametrize("name", MODELS)
def test_import_then_export_is_the_identity(name, saved, tmp_path):
    model, path = saved(name)
    pretrained, read = load_pretrained(path), hf_folder.read(path)
    theirs = normalise_names(pretrained.family, read.tensors, path)
    steps = conversions_of(pretrained.family, pretrained.config, position_offset(pretrained.family, read.config))
    back = tensors_to_hf(steps, tensors_from_hf(steps, theirs))
    assert back.keys() == theirs.keys() and all(torch.equal(back[key], tensor) for key, tensor in theirs.items())
    api.import_model(path, out=tmp_path / "run")
    assert "the same logits" in api.export_model(tmp_path / "run", to="huggingface", out=tmp_path / "out", verify=True)
    again, about = type(model).from_pretrained(tmp_path / "out", output_loading_info=True)
    assert not about["missing_keys"] and not about["unexpected_keys"] and not about["mismatched_keys"]
    assert again.config.id2label == LABELS and again.config.architectures == [type(model).__name__]
    torch.testing.assert_close(*both(name, again.eval(), opened(pretrained), 9), **CLOSE)


# --- runs of our own ----------------------------------------------------------------------------------------------

TEXTS = [f"__label__{'good' if n % 2 else 'bad'} w{n % 7} w{n % 5} {'fine' if n % 2 else 'poor'}" for n in range(40)]
PLAIN = [" ".join(f"w{(n * m) % 30}" for m in range(1, 12)) for n in range(1, 60)]
SMALL = {
    "train.threads": 1,
    "train.checkpoint_every": 9,
    "train.evaluate_every": 9,
    "backbone.positions.kind": "learned",
}
SHAPE = {"width": 16, "depth": 1, "budget": "2 steps", "max_length": 16, "vocab_size": 300}
OWN = [
    ("classifier:tiny", "bert", {"head.pooling": "first"}),
    ("classifier:tiny", "distilbert", {"head.pooling": "first", "head.activation": "relu", "inputs.text.segments": 0}),
    ("classifier:tiny", "electra", {"head.pooling": "first", "head.activation": "gelu", "inputs.text.width": 8}),
    ("gpt-classifier:tiny", "openai-gpt", {}),
    ("gpt-classifier:tiny", "gpt2", {"backbone.norm.placement": "pre"}),
]


@pytest.mark.parametrize(("preset", "family", "settings"), OWN)
def test_a_trained_classifier_goes_out_with_its_labels(preset, family, settings, tmp_path):
    model = firth.train(preset, text=TEXTS, out=tmp_path / "run", settings={**SMALL, **settings}, **SHAPE)
    told = api.export_model(tmp_path / "run", to="huggingface", out=tmp_path / "out", verify=True)
    assert "the same logits" in told
    assert json.loads((tmp_path / "out" / "config.json").read_text())["model_type"] == family
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "out").eval()
    read = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    texts = ["w1 fine", "poor w3 w2 w6", "w4"]
    with torch.no_grad():
        his = theirs(**read(texts, padding=True, return_tensors="pt")).logits.softmax(-1)
    np.testing.assert_allclose(model.predict_proba(texts), his.numpy(), atol=1e-5)
    assert tuple(theirs.config.id2label.values()) == model.labels


def test_a_classifier_that_no_family_has_says_what_to_change(tmp_path):
    firth.train("classifier:tiny", text=TEXTS, out=tmp_path / "run", settings=SMALL, **SHAPE)
    with pytest.raises(FirthError, match=r"no head\.pooling = mean; train with head\.pooling = first"):
        api.export_model(tmp_path / "run", to="huggingface", out=tmp_path / "out")


def test_a_trained_vit_goes_out(tmp_path):
    images = tmp_path / "pictures"
    for number in range(12):
        (images / "ab"[number % 2]).mkdir(parents=True, exist_ok=True)
        pixels = np.random.default_rng(number).integers(0, 256, (8, 8, 3), np.uint8)
        (images / "ab"[number % 2] / f"{number}.ppm").write_bytes(b"P6\n8 8\n255\n" + pixels.tobytes())
    settings = {**SMALL, "inputs.image.image_size": 8, "head.pooling": "first", "inputs.image.mean": "0.4,0.5,0.6"}
    shape = {"width": 16, "depth": 1, "budget": "2 steps"}
    model = firth.train("vit:tiny", text=str(images), out=tmp_path / "run", settings=settings, **shape)
    assert "the same logits" in api.export_model(tmp_path / "run", to="huggingface", out=tmp_path / "out", verify=True)
    theirs = transformers.ViTForImageClassification.from_pretrained(tmp_path / "out").eval()
    ready = json.loads((tmp_path / "out" / "preprocessor_config.json").read_text())
    with torch.no_grad():
        values = torch.from_numpy(pixels).permute(2, 0, 1)[None] * ready["rescale_factor"]
        mean, deviation = (torch.tensor(ready[name])[:, None, None] for name in ("image_mean", "image_std"))
        his = theirs(pixel_values=(values - mean) / deviation).logits.softmax(-1)
    np.testing.assert_allclose(model.predict_proba([pixels]), his.numpy(), atol=1e-5)
    back = api.import_model(tmp_path / "out", out=tmp_path / "back")
    assert back.config.inputs["image"].mean == (0.4, 0.5, 0.6) and back.labels == model.labels
    np.testing.assert_allclose(back.predict_proba([pixels]), model.predict_proba([pixels]), atol=1e-6)
    with pytest.raises(FirthError, match="no examples of its own"):
        back.evaluate()


NO_PAIRS = {"objective.next_sentence": "no", "batching.pairs": "none"}


@pytest.mark.parametrize(
    ("preset", "family", "settings"), [("bert:tiny", "roberta", NO_PAIRS), ("longformer:tiny", "longformer", {})]
)
def test_position_ids_start_after_our_own_padding_id(preset, family, settings, tmp_path):
    """Our tokenizers pad with token 0, so that the first position id is 1."""
    settings = {**SMALL, "batching.batch_size": 2, **settings}
    model = firth.train(preset, text=PLAIN, out=tmp_path / "run", settings=settings, **SHAPE)
    told = api.export_model(tmp_path / "run", to=f"huggingface:{family}", out=tmp_path / "out", verify=True)
    assert "the same logits" in told
    theirs = transformers.AutoModelForMaskedLM.from_pretrained(tmp_path / "out").eval()
    assert theirs.config.pad_token_id == model.tokenizer.special.pad == 0
    assert theirs.config.max_position_embeddings == model.system.backbone.max_length + 1
    ids, mask = token_batch(9)
    ids %= model.tokenizer.vocab_size
    ids = torch.where(mask, ids.clamp(min=1), 0)
    more = {"global_attention_mask": (torch.arange(9) == 0).long().expand(3, -1)} if family == "longformer" else {}
    with torch.no_grad():
        his = theirs(input_ids=ids, attention_mask=mask.long(), **more).logits.log_softmax(-1)
        mine = model.system.log_probabilities(model.system.encode(Batch({"text": Tokens(ids, mask)}, {})).states)
    torch.testing.assert_close(mine[mask], his[mask], **CLOSE)


# --- refusals and notes -------------------------------------------------------------------------------------------


@pytest.fixture
def bert(tmp_path):
    config = transformers.BertConfig(**{**BERT, "vocab_size": 2000})
    transformers.BertForSequenceClassification(config).save_pretrained(tmp_path / "bert")
    write_tokenizer(tmp_path / "bert")
    return tmp_path / "bert"


def test_a_vocabulary_far_smaller_than_the_embedding_matrix_is_noted(bert):
    assert any("40 tokens, but the embedding matrix 2,000 rows" in note for note in load_pretrained(bert).notes)
    write_tokenizer(bert, 1990)
    assert not any("rows" in note for note in load_pretrained(bert).notes)


def test_invalid_weights_are_refused_by_name(bert):
    tensors, name = weights(bert), "bert.encoder.layer.1.output.dense.weight"
    for value in (float("nan"), float("inf")):
        spoiled = tensors[name].clone()
        spoiled[0, 3] = value
        put(bert, tensors | {name: spoiled})
        refused(bert, name, "1 of 384 values that are NaN or infinite")
    put(bert, tensors | {name: tensors[name].int()})
    refused(bert, name, "int32")


@pytest.mark.parametrize(
    ("fields", "parts"),
    [
        ({"model_type": ["bert"]}, ["unknown model_type"]),
        ({"model_type": {"a": 1}}, ["unknown model_type"]),
        ({"hidden_act": ["gelu"]}, ["hidden_act = ['gelu']"]),
        ({"hidden_act": {"gelu": 1}}, ["hidden_act"]),
        ({"id2label": {"0": "a", "2": "b"}}, ["id2label", "the ids 0, 1"]),
        ({"id2label": ["a", "b"]}, ["id2label"]),
        ({"id2label": {"0": "a", "1": 3, "2": "c"}}, ["id2label"]),
        ({"id2label": {"0": "a", "1": "a", "2": "c"}}, ["two ids the same label"]),
        ({"id2label": {"0": "a", "1": "b"}}, ["classifier.weight is (3, 16), not (2, 16)"]),
    ],
)
def test_odd_fields_are_refused(bert, fields, parts):
    change(bert, **fields)
    refused(bert, *parts)


@pytest.mark.parametrize(
    ("values", "part"),
    [
        ({"rescale_factor": 0.5}, "rescale_factor"),
        ({"do_rescale": False}, "rescale_factor"),
        ({"image_mean": [0.5, 0.5]}, "image_mean"),
        ({"image_std": [0.5, 0.0, 0.5]}, "image_std"),
        ({"image_mean": "grey"}, "image_mean"),
        ({"do_normalize": "yes"}, "do_normalize"),
    ],
)
def test_other_image_preprocessing_is_refused(saved, values, part, tmp_path):
    _, path = saved("vit")
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_bytes((path / name).read_bytes())
    assert any("preprocessor_config.json" in note for note in load_pretrained(tmp_path).notes)
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(values))
    refused(tmp_path, "preprocessor_config.json", part)


def test_a_vit_without_a_classifier_is_refused(tmp_path):
    config = {name: value for name, value in {**BERT, **VIT}.items() if name != "id2label"}
    transformers.ViTModel(transformers.ViTConfig(**config)).save_pretrained(tmp_path / "vit")
    refused(tmp_path / "vit", "ViTModel", "it reads ViTForImageClassification")
