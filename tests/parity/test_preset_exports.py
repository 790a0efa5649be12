"""Every size of every preset that Hugging Face has a class for goes out, and answers there as here.

Widths, lengths and depth are shrunk; heads, norms, positions, windows and all other options are the preset's own."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from test_huggingface import our_batch, our_logits, reachable, same_hashes, texts, their_logits

from firth.config import core, schema
from firth.interop import exporter
from firth.models.build import build
from firth.models.heads.sequence_classification import ClassificationHead
from firth.presets import PRESETS, preset
from firth.tokenizers.tokenizer import Tokenizer
from firth.types import Batch, Pixels, Sizes, Tokens

transformers = pytest.importorskip("transformers")

CLASSES = {
    "gpt-1": "OpenAIGPTLMHeadModel",
    "gpt-2": "GPT2LMHeadModel",
    "reformer": "ReformerModelWithLMHead",
    "bert": "BertForPreTraining",
    "distilbert": "DistilBertForMaskedLM",
    "electra": "ElectraForPreTraining",
    "xlnet": "XLNetLMHeadModel",
    "longformer": "LongformerForMaskedLM",
    "bart": "BartForConditionalGeneration",
    "t5": "T5ForConditionalGeneration",
    "t5-v1.1": "T5ForConditionalGeneration",
    "text-to-text": "T5ForConditionalGeneration",
    "bert-classifier": "BertForSequenceClassification",
    "gpt-classifier": "OpenAIGPTForSequenceClassification",
    "vit": "ViTForImageClassification",
}
CASES = [f"{name}:{size}" for name in CLASSES for size in PRESETS[name].sizes]
# transformers' Reformer attends across bucket borders, which the paper's does not.
SETTINGS = {"reformer": ["backbone.attention.lsh.across=true"]}
HEAD_WIDTH, MAX_DEPTH, LENGTH, TIME, LABELS = 4, 4, 64, 40, ("bad", "good", "neither")


def shrunk(config: schema.Neural) -> schema.Neural:
    """The same architecture, narrow and with a short context."""
    ((stream, own_input),) = config.used_inputs.items()
    context = own_input.positions or LENGTH
    if isinstance(config.backbone, schema.EncoderDecoder):
        sides = {name: narrow(getattr(config.backbone, name), context) for name in ("encoder", "decoder")}
        backbone, width = replace(config.backbone, **sides), sides["encoder"].width
    else:
        backbone = narrow(config.backbone, context)
        width = backbone.width
    input_width = width // 2 if own_input.width and own_input.width != config.backbone.width else 0
    batching = config.batching
    if core.has(config, "batching.length"):
        batching = replace(batching, length=LENGTH - 2, length_curriculum=())
    return replace(
        config,
        inputs=config.inputs.replace(stream, width=input_width) if own_input.width else config.inputs,
        backbone=backbone,
        batching=batching,
    )


def narrow(backbone: schema.Transformer, context: int) -> schema.Transformer:
    """Heads of width 4, feed-forward networks of twice the width, windows that fit into the context, a few layers."""
    attention = backbone.attention
    width = 8 * HEAD_WIDTH if attention.head_width else HEAD_WIDTH * backbone.heads
    if attention.head_width:
        attention = replace(attention, head_width=HEAD_WIDTH)
    if isinstance(attention, schema.WindowAttention):
        attention = replace(attention, window=(4,))
    if isinstance(attention, schema.ReformerAttention):
        lsh = replace(attention.lsh, chunk=8)
        attention = replace(attention, lsh=lsh, local=replace(attention.local, chunk=8))
    feedforward = backbone.feedforward
    if feedforward.width:
        feedforward = replace(feedforward, width=2 * width)
    positions = backbone.positions
    if isinstance(positions, schema.AxialPositions):
        positions = replace(positions, rows=8, columns=8, width=0)
    narrowed = replace(backbone, width=width, depth=min(backbone.depth, MAX_DEPTH), attention=attention)
    return replace(narrowed, feedforward=feedforward, context=context, positions=positions)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    words = [" ".join(f"w{n}" for n in range(start, start + 10)) for start in range(40)]
    return Tokenizer.train(schema.Tokenizer(model="word", vocabulary_size=60), words).with_special_tokens()


def test_every_preset_is_exportable_or_has_no_class():
    """A new preset joins the table above, or this list."""
    without = {
        "window-lm", "rnn-lm", "gru-lm", "lstm-lm", "seq2seq-lstm", "bahdanau", "luong", "hybrid-mt", "pointer-summary",
        "transformer-lm", "transformer-xl", "shortformer", "longformer-lm", "prefix-lm", "modern-encoder", "modern-mt",
        "transformer-mt", "classifier", "sentence-encoder", "simcse",
        # labelled tasks whose heads are not exported yet, and networks that transformers does not have
        "bert-tagger", "bert-qa", "bert-multiple-choice", "siamese-classifier", "ner", "pos-tagger", "lstm-crf",
        "bilstm-cnn-crf", "averaged-vectors", "text-cnn", "lstm-classifier", "bilstm-classifier",
        "attention-classifier", "bilstm-regressor", "chat-lm", "chat-seq2seq",
    }  # fmt: skip
    networks = {name for name in PRESETS if isinstance(preset(name), schema.Neural)}
    assert networks == without | set(CLASSES)


@pytest.mark.parametrize("name", CASES)
def test_it_answers_there_as_here(name, tokenizer, tmp_path):
    config = core.override(shrunk(preset(name)), SETTINGS.get(name.partition(":")[0], []))
    labels = LABELS if isinstance(config.objective, schema.Supervised) else ()
    images = "image" in config.streams
    torch.manual_seed(1)
    system = build(config, Sizes(0 if images else tokenizer.vocab_size, labels={"label": len(labels) or 2})).eval()
    randomise(system)
    family = exporter.select_family(config)
    exporter.save_pretrained(tmp_path, family, config, None if images else tokenizer, system.state_dict(), labels)
    model, loading = getattr(transformers, CLASSES[name.partition(":")[0]]).from_pretrained(
        tmp_path, output_loading_info=True
    )
    assert not loading["missing_keys"] and not loading["unexpected_keys"] and not loading["mismatched_keys"]
    mine, theirs = (image_logits if images else token_logits)(system, reachable(model), tokenizer)
    torch.testing.assert_close(mine, theirs, atol=1e-4, rtol=1e-4)
    assert float(theirs.std()) > 0.02  # so that a tensor in the wrong place would show


@torch.no_grad()
def randomise(system) -> None:
    """Every tensor matters: biases and norms are not at their initial values."""
    for name, tensor in system.named_parameters():
        tensor.normal_(1.0 if "norm" in name and name.endswith("weight") else 0.0, 0.1)


@torch.no_grad()
def token_logits(system, model, tokenizer):
    """Logits of three sequences, two of them padded, by firth and by transformers."""
    ids, mask = texts(TIME)
    ordinary = torch.tensor(sorted(set(range(tokenizer.vocab_size)) - tokenizer.special.ids))
    ids = torch.where(mask, ordinary[ids % len(ordinary)], tokenizer.special.pad)
    same_hashes(system)
    if isinstance(system.head, ClassificationHead):
        encoded = system.encode(Batch({"text": Tokens(ids, mask)}, {}))
        return system.head(encoded), model(input_ids=ids, attention_mask=mask.long()).logits
    source = (ids[:, : TIME - 5], mask[:, : TIME - 5]) if len(system.backbone.streams) == 2 else None
    more = {}
    if hasattr(model.config, "attention_window"):  # global attention of the first token, given with each text
        more["global_attention_mask"] = (torch.arange(TIME) == 0).long().expand_as(ids)
    theirs, _ = their_logits(model, ids, mask, source, **more)
    return our_logits(system, our_batch(system, ids, mask, source))[mask], theirs[mask]


@torch.no_grad()
def image_logits(system, model, tokenizer):
    """Logits of some images."""
    config = system.inputs["image"].config
    values = torch.rand(2, config.channels, config.image_size, config.image_size)
    mean, std = (torch.tensor(part)[:, None, None] for part in (config.mean, config.std))
    encoded = system.encode(Batch({"image": Pixels(values)}, {}))
    return system.head(encoded), model(pixel_values=(values - mean) / std).logits
