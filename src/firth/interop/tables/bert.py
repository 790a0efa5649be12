"""BERT (Devlin et al. 2019)."""

from __future__ import annotations

from typing import Any

from firth.config import schema
from firth.errors import FirthError
from firth.interop.fields import CALLED, Fields
from firth.interop.steps import Blank, Copies, Flip, Step, joined, layer, same
from firth.interop.table import Names, Table, framed, labelling, masked, neural

_HEAD = "cls.predictions."
_OUTPUT = f"{_HEAD}decoder.weight"
_LABELS = "classifier.weight"
BUFFERS = (r".*position_ids", r".*embeddings\.token_type_ids")


def backbone(fields: Fields, **change: Any) -> schema.Transformer:
    """The stack, which RoBERTa and ELECTRA have too."""
    fields.only("position_embedding_type", "absolute")
    fields.only("is_decoder", False)
    fields.only("add_cross_attention", False)
    return schema.Transformer(
        **{
            "width": fields.whole("hidden_size", 768),
            "depth": fields.whole("num_hidden_layers", 12),
            "heads": fields.whole("num_attention_heads", 12),
            "inner": fields.whole("intermediate_size", 3072),
            "activation": fields.activation("hidden_act", "gelu"),
            "norm_at": "post",
            "norm_input": True,
            "epsilon": fields.number("layer_norm_eps", 1e-12),
            "context": fields.whole("max_position_embeddings", 512),
            "sees": "all",
            "dropout": fields.number("hidden_dropout_prob", 0.1),
            "attention_dropout": fields.number("attention_probs_dropout_prob", 0.1),
            **change,
        }
    )


def places_after_padding(fields: Fields) -> int:
    """Places that are read where they are counted from the number of the padding token on (RoBERTa)."""
    first = fields.count("pad_token_id", 1) + 1
    found = fields.whole("max_position_embeddings", 512) - first
    if found < 1:
        what = f"max_position_embeddings leaves no place after pad_token_id = {first - 1}"
        raise FirthError(what, where=fields.where, do="is config.json whole?")
    return found


def sizes(config: schema.Neural) -> dict[str, Any]:
    """The stack's fields of config.json."""
    stack = config.backbone
    return {
        "hidden_size": stack.width,
        "num_hidden_layers": stack.depth,
        "num_attention_heads": stack.heads,
        "intermediate_size": stack.inner,
        "hidden_act": CALLED[stack.activation],
        "layer_norm_eps": stack.epsilon,
        "max_position_embeddings": stack.context,
        "hidden_dropout_prob": stack.dropout,
        "attention_probs_dropout_prob": stack.attention_dropout,
        "type_vocab_size": max(1, config.input.segments),
        "initializer_range": stack.spread,
        "tie_word_embeddings": getattr(config.head, "tied", True),
        "is_decoder": False,
    }


def segments(body: str, count: int) -> list[Step | Blank]:
    """Vectors of segments; a model that has none gets one kind, of zeros."""
    theirs = f"{body}embeddings.token_type_embeddings.weight"
    if count:
        return [*same("input.segments", theirs)]
    return [Blank(theirs, lambda ours: (1, ours["input.weight"].shape[1]))]


def embeddings(body: str) -> list[Step]:
    """Tokens and places, and their norm."""
    theirs = f"{body}embeddings."
    return [
        *same("input.weight", f"{theirs}word_embeddings.weight"),
        *same("backbone.positions.weight", f"{theirs}position_embeddings.weight"),
        *layer("backbone.input_norm", f"{theirs}LayerNorm"),
    ]


def blocks(body: str, depth: int) -> list[Step]:
    """The layers."""
    found: list[Step] = []
    for number in range(depth):
        ours, theirs = f"backbone.blocks.{number}", f"{body}encoder.layer.{number}"
        parts = [f"{theirs}.attention.self.{part}" for part in ("query", "key", "value")]
        found += joined(f"{ours}.attention.inner.inputs", parts)
        found += layer(f"{ours}.attention.inner.output", f"{theirs}.attention.output.dense")
        found += layer(f"{ours}.attention.sum", f"{theirs}.attention.output.LayerNorm")
        found += layer(f"{ours}.feedforward.inner.input", f"{theirs}.intermediate.dense")
        found += layer(f"{ours}.feedforward.inner.output", f"{theirs}.output.dense")
        found += layer(f"{ours}.feedforward.sum", f"{theirs}.output.LayerNorm")
    return found


def head(config: schema.LanguageHead, dense: str, norm: str, bias: str, output: str) -> list[Step]:
    """The layer before the output matrix, the bias, and the matrix if it is not the input's; all or none."""
    if not config.transform:
        return []
    found = [*layer("head.project.dense", dense), *layer("head.project.norm", norm)]
    if config.tied:
        return [*found, *same("head.bias", bias)]
    names = tuple(dict.fromkeys((output.replace("weight", "bias"), bias)))  # the matrix then has its own
    return [*found, *same("head.weight", output), Step("head.bias", names, (Copies(len(names)),))]


def classifier(dense: str, output: str) -> list[Step]:
    """The layer before the scores of labels, and the scores."""
    return [*layer("head.layer", dense), *layer("head.classify", output)]


NO_HEAD = schema.LanguageHead(bias=False)  # no tensors of its own


def _read(fields: Fields, names: Names) -> schema.Neural:
    given = schema.TokenInput(segments=fields.whole("type_vocab_size", 2))
    stack = backbone(fields)
    if _LABELS in names:
        return labelling(given, stack, schema.ClassHead())
    if f"{_HEAD}transform.dense.weight" not in names:
        return masked(given, stack, NO_HEAD)
    found = schema.LanguageHead(
        tied=_OUTPUT not in names, transform=True, activation=stack.activation, epsilon=stack.epsilon
    )
    if "cls.seq_relationship.weight" not in names:
        return masked(given, stack, found)
    return neural(framed(stack, pairs="next"), given, stack, found, schema.Masked(next_sentence=True))


def _write(config: schema.Neural) -> dict[str, Any]:
    if isinstance(config.head, schema.ClassHead):
        return {"architectures": ["BertForSequenceClassification"], **sizes(config)}
    kinds = {False: "BertForMaskedLM", True: "BertForPreTraining"}
    kind = kinds[config.objective.next_sentence] if config.head.transform else "BertModel"
    return {"architectures": [kind], **sizes(config)}


def _steps(config: schema.Neural) -> list[Step | Blank]:
    found = [*embeddings("bert."), *segments("bert.", config.input.segments), *blocks("bert.", config.backbone.depth)]
    if isinstance(config.head, schema.ClassHead):
        return [*found, *classifier("bert.pooler.dense", "classifier")]
    found += head(config.head, f"{_HEAD}transform.dense", f"{_HEAD}transform.LayerNorm", f"{_HEAD}bias", _OUTPUT)
    if config.objective.next_sentence:
        found += layer("objective.next.pool", "bert.pooler.dense")
        # 0 says there that the second segment goes on from the first, and here that it does not
        found += same("objective.next.classify.weight", "cls.seq_relationship.weight", Flip())
        found += same("objective.next.classify.bias", "cls.seq_relationship.bias", Flip())
    return found


def _fits(config: schema.Neural) -> bool:
    if isinstance(config.head, schema.ClassHead):
        return config.head.activation == "tanh" and config.backbone.sees == "all"
    return config.input.segments > 0


BERT = Table(
    model="bert",
    title="BERT",
    objectives=(schema.Masked, schema.Supervised),
    read=_read,
    write=_write,
    steps=_steps,
    fits=_fits,
    body="bert.",
    output=_OUTPUT,
    tied={_OUTPUT: "bert.embeddings.word_embeddings.weight", f"{_HEAD}decoder.bias": f"{_HEAD}bias"},
    ignored=(*BUFFERS, r"bert\.pooler\..*", r"cls\.seq_relationship\..*"),
)
