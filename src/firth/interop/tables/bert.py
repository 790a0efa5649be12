"""BERT (Devlin et al. 2019)."""

from __future__ import annotations

from typing import Any

from firth.config import schema
from firth.errors import FirthError
from firth.interop.config_fields import HF_ACTIVATIONS, Fields
from firth.interop.model_family import (
    ModelFamily,
    Names,
    imported_system,
    masked_lm,
    segment_batching,
    sequence_classification,
)
from firth.interop.tables import task_heads
from firth.interop.tensor_steps import Conversion, Duplicate, FlipRows, ZeroFilled, concatenated, layer, renamed

_HEAD = "cls.predictions."
_OUTPUT = f"{_HEAD}decoder.weight"
_CLASSIFIER = "classifier.weight"
BUFFERS = (r".*position_ids", r".*embeddings\.token_type_ids")


def backbone(fields: Fields) -> schema.Transformer:
    """The encoder of BERT, RoBERTa, ELECTRA and Longformer."""
    fields.require("position_embedding_type", "absolute")
    fields.require("is_decoder", False)
    fields.require("add_cross_attention", False)
    return schema.Transformer(
        width=fields.positive_int("hidden_size", 768),
        depth=fields.positive_int("num_hidden_layers", 12),
        heads=fields.positive_int("num_attention_heads", 12),
        context=fields.positive_int("max_position_embeddings", 512),
        mask="bidirectional",
        dropout=fields.fraction("hidden_dropout_prob", 0.1),
        attention=schema.FullAttention(dropout=fields.fraction("attention_probs_dropout_prob", 0.1)),
        feedforward=schema.FeedForward(
            width=fields.positive_int("intermediate_size", 3072), activation=fields.activation("hidden_act", "gelu")
        ),
        norm=schema.LayerNorm(placement="post", embeddings=True, epsilon=fields.fraction("layer_norm_eps", 1e-12)),
    )


def context_after_padding(fields: Fields) -> int:
    """The context length where position ids start after the padding token's id (RoBERTa)."""
    first = fields.non_negative_int("pad_token_id", 1) + 1
    context = fields.positive_int("max_position_embeddings", 512) - first
    if context < 1:
        what = f"max_position_embeddings leaves no position after pad_token_id = {first - 1}"
        raise FirthError(what, where=fields.where, do="check both fields of config.json")
    return context


def sizes(config: schema.Neural) -> dict[str, Any]:
    """The encoder's fields of config.json."""
    stack = config.backbone
    return {
        "hidden_size": stack.width,
        "num_hidden_layers": stack.depth,
        "num_attention_heads": stack.heads,
        "intermediate_size": stack.feedforward.width,
        "hidden_act": HF_ACTIVATIONS[stack.feedforward.activation],
        "layer_norm_eps": stack.norm.epsilon,
        "max_position_embeddings": stack.context,
        "hidden_dropout_prob": stack.dropout,
        "attention_probs_dropout_prob": stack.attention.dropout,
        "type_vocab_size": max(1, config.inputs["text"].segments),
        "initializer_range": stack.init_std,
        "tie_word_embeddings": config.head.tied,
        "is_decoder": False,
    }


def segments(prefix: str, count: int) -> list[Conversion | ZeroFilled]:
    """Segment embeddings; a model without any is exported with a single one of zeros."""
    theirs = f"{prefix}embeddings.token_type_embeddings.weight"
    if count:
        return [*renamed("inputs.text.segments", theirs)]
    return [ZeroFilled(theirs, lambda ours: (1, ours["inputs.text.weight"].shape[1]))]


def embeddings(prefix: str) -> list[Conversion]:
    """Token and position embeddings, and their norm."""
    theirs = f"{prefix}embeddings."
    return [
        *renamed("inputs.text.weight", f"{theirs}word_embeddings.weight"),
        *renamed("backbone.positions.weight", f"{theirs}position_embeddings.weight"),
        *layer("backbone.input_norm", f"{theirs}LayerNorm"),
    ]


def blocks(prefix: str, depth: int) -> list[Conversion]:
    """The encoder's layers."""
    conversions: list[Conversion] = []
    for number in range(depth):
        ours, theirs = f"backbone.blocks.{number}", f"{prefix}encoder.layer.{number}"
        parts = [f"{theirs}.attention.self.{part}" for part in ("query", "key", "value")]
        conversions += concatenated(f"{ours}.attention.sublayer.qkv_proj", parts)
        conversions += layer(f"{ours}.attention.sublayer.out_proj", f"{theirs}.attention.output.dense")
        conversions += layer(f"{ours}.attention.post_norm", f"{theirs}.attention.output.LayerNorm")
        conversions += layer(f"{ours}.feedforward.sublayer.up_proj", f"{theirs}.intermediate.dense")
        conversions += layer(f"{ours}.feedforward.sublayer.down_proj", f"{theirs}.output.dense")
        conversions += layer(f"{ours}.feedforward.post_norm", f"{theirs}.output.LayerNorm")
    return conversions


def lm_head(config: schema.LMHead, dense: str, norm: str, bias: str, output: str) -> list[Conversion]:
    """The masked-language-modelling head: transform layer, output bias, and the output matrix if it is not tied."""
    if not config.transform:
        return []
    conversions = [*layer("head.projection.dense", dense), *layer("head.projection.norm", norm)]
    if config.tied:
        return [*conversions, *renamed("head.bias", bias)]
    names = tuple(dict.fromkeys((output.replace("weight", "bias"), bias)))  # an untied matrix has its own bias
    return [*conversions, *renamed("head.weight", output), Conversion("head.bias", names, (Duplicate(len(names)),))]


def classifier(dense: str, output: str) -> list[Conversion]:
    """The classification head: a dense layer and the output layer."""
    return [*layer("head.pooler", dense), *layer("head.classifier", output)]


# by whether there is a masked-language-modelling head, and next sentence prediction
_CLASSES = {
    (True, True): "BertForPreTraining",
    (True, False): "BertForMaskedLM",
    (False, True): "BertForNextSentencePrediction",
    (False, False): "BertModel",
}
NO_HEAD = schema.LMHead(bias=False)  # of a base model: no tensors


def _read_config(fields: Fields, names: Names) -> schema.Neural:
    inputs = schema.TokenInput(segments=fields.positive_int("type_vocab_size", 2))
    stack = backbone(fields)
    if task := task_heads.read_task(fields, names, inputs, stack, "cls-first"):
        return task
    if _CLASSIFIER in names:
        return sequence_classification(fields, inputs, stack, schema.ClassificationHead())
    head = NO_HEAD
    if f"{_HEAD}transform.dense.weight" in names:
        head = schema.LMHead(
            tied=_OUTPUT not in names,
            transform=True,
            activation=stack.feedforward.activation,
            norm_epsilon=stack.norm.epsilon,
        )
    if "cls.seq_relationship.weight" not in names:
        return masked_lm(inputs, stack, head)
    batching, objective = segment_batching(stack, pairs="next-sentence"), schema.MaskedLM(next_sentence=True)
    return imported_system(batching, inputs, stack, head, objective)


def _write_config(config: schema.Neural) -> dict[str, Any]:
    if isinstance(config.head, schema.ClassificationHead):
        return {"architectures": ["BertForSequenceClassification"], **sizes(config)}
    if kind := task_heads.task_class(config.head):
        return {"architectures": [f"Bert{kind}"], **sizes(config)}
    kind = _CLASSES[config.head.transform, config.objective.next_sentence]
    return {"architectures": [kind], **sizes(config)}


def _conversions(config: schema.Neural) -> list[Conversion | ZeroFilled]:
    conversions = [
        *embeddings("bert."),
        *segments("bert.", config.inputs["text"].segments),
        *blocks("bert.", config.backbone.depth),
    ]
    if isinstance(config.head, schema.ClassificationHead):
        return [*conversions, *classifier("bert.pooler.dense", "classifier")]
    if task_heads.task_class(config.head):
        return [*conversions, *task_heads.task_conversions(config, "bert.pooler.dense")]
    conversions += lm_head(
        config.head, f"{_HEAD}transform.dense", f"{_HEAD}transform.LayerNorm", f"{_HEAD}bias", _OUTPUT
    )
    if config.objective.next_sentence:
        conversions += layer("objective.next_sentence.pooler", "bert.pooler.dense")
        # class 0 there: the second segment follows the first; class 0 here: it does not
        conversions += renamed("objective.next_sentence.classifier.weight", "cls.seq_relationship.weight", FlipRows())
        conversions += renamed("objective.next_sentence.classifier.bias", "cls.seq_relationship.bias", FlipRows())
    return conversions


def _is_default(config: schema.Neural) -> bool:
    if isinstance(config.head, schema.ClassificationHead):
        return config.head.activation == "tanh" and config.backbone.mask == "bidirectional"
    if task_heads.task_class(config.head):
        return config.backbone.mask == "bidirectional"
    return config.inputs["text"].segments > 0


BERT = ModelFamily(
    model_type="bert",
    title="BERT",
    architectures=(
        "BertForMaskedLM",
        "BertForPreTraining",
        "BertForNextSentencePrediction",
        "BertForSequenceClassification",
        "BertForQuestionAnswering",
        "BertForTokenClassification",
        "BertForMultipleChoice",
        "BertModel",
    ),
    objectives=(schema.MaskedLM, schema.Supervised),
    read_config=_read_config,
    write_config=_write_config,
    conversions=_conversions,
    is_default=_is_default,
    base_model_prefix="bert.",
    output_weight=_OUTPUT,
    tied_weights={_OUTPUT: "bert.embeddings.word_embeddings.weight", f"{_HEAD}decoder.bias": f"{_HEAD}bias"},
    ignored_keys=(*BUFFERS, r"bert\.pooler\..*"),
)
