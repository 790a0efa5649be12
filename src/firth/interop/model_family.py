"""A Hugging Face model family: its config.json and its weights, in both directions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from firth.config import schema
from firth.errors import FirthError
from firth.interop.config_fields import Fields
from firth.interop.label_names import read_outputs
from firth.interop.tensor_steps import Conversions, SkipRows
from firth.models.build import SPECIAL_TOKENS, resolve_backbone
from firth.nn.attention.lsh import factorise_buckets
from firth.nn.positions.axial import axial_shape

Names = frozenset[str]
_TOKENS_PER_BATCH = 4096
MAX_LENGTH = 512  # of the sequences that an imported model is trained on, if its context allows
# Fields that do not change what a trained network computes, or that config.json does not have.
NOT_COMPARED = {"init_std", "init_range", "dropout", "pretrained_vectors", "frozen", "table_size", "context"}
NOT_COMPARED |= {"scale_window", "memory", "kernel", "global_tokens", "mean", "std", "max_positions"}


@dataclass(frozen=True)
class ModelFamily:
    """A model family: the conversion of its configuration and of its tensors, in both directions."""

    model_type: str  # of config.json
    title: str
    architectures: tuple[str, ...]  # classes of transformers that are read
    objectives: tuple[type, ...]  # of its pretrained and fine-tuned models
    read_config: Callable[[Fields, Names], schema.Neural]  # config.json, names of tensors -> our configuration
    write_config: Callable[[schema.Neural], dict[str, Any]]  # ours, sizes resolved -> config.json
    conversions: Callable[[schema.Neural], Conversions]
    # whether a supported configuration is exported as this family when none is named
    is_default: Callable[[schema.Neural], bool]
    backbone: type = schema.Transformer
    input: type = schema.TokenInput
    base_model_prefix: str = ""  # of all tensors but the heads'; checkpoints of the base model alone lack it
    output_weight: str = ""  # the output matrix, where it is not tied
    tied_weights: Mapping[str, str] = field(default_factory=dict)  # a tensor's second name -> its first
    ignored_keys: tuple[str, ...] = ()  # regular expressions for tensors that are ignored on import
    # the position embedding matrix, if position ids start after the padding token's id (RoBERTa): the rows up to there
    # are unused
    offset_positions: str = ""

    # for adapters: regular expression -> replacement, in this order, from names in the checkpoint to the modules of
    # transformers 5, where it has renamed them
    renamed_modules: Mapping[str, str | Callable[[re.Match[str]], str]] = field(default_factory=dict)

    def module_name(self, name: str) -> str:
        """The name in transformers of a module, or of a tensor, by its name in the checkpoint."""
        for pattern, replacement in self.renamed_modules.items():
            name = re.sub(pattern, replacement, name)
        return name

    @property
    def generates(self) -> bool:
        """Whether its base models are used with the output layer tied to the embeddings."""
        return any(
            issubclass(each, (schema.CausalLM, schema.PermutationLM, schema.Seq2Seq)) for each in self.objectives
        )


def supports(family: ModelFamily, config: schema.Neural) -> bool:
    """Whether the family has this type of input, for all streams one, of backbone and of objective."""
    parts = ((config.backbone, family.backbone), (config.objective, family.objectives))
    inputs = config.used_inputs.values()
    has_input = len(inputs) == 1 and all(isinstance(part, family.input) for part in inputs)
    return has_input and all(isinstance(part, kind) for part, kind in parts)


def is_headless(config: schema.Neural) -> bool:
    """Whether the network predicts no tokens, as a base model of a bidirectional encoder."""
    return isinstance(config.objective, schema.MaskedLM) and not config.head.transform


def position_offset(family: ModelFamily, fields: Fields) -> int:
    """The number of unused rows at the start of the position embedding matrix."""
    return fields.non_negative_int("pad_token_id", 1) + 1 if family.offset_positions else 0


def conversions_of(family: ModelFamily, config: schema.Neural, offset: int) -> Conversions:
    """The family's conversions, skipping `offset` rows of the position embedding matrix."""
    conversions = family.conversions(resolve_sizes(config))
    if not offset:
        return conversions
    skip = SkipRows(offset)
    return [
        replace(each, operations=(*each.operations, skip)) if family.offset_positions in each.theirs else each
        for each in conversions
    ]


def resolve_sizes(config: schema.Neural) -> schema.Neural:
    """The configuration with all sizes explicit that are derived from others."""
    backbone = resolve_backbone(config)
    if isinstance(backbone, schema.EncoderDecoder):
        backbone = replace(backbone, encoder=_resolve_stack(backbone.encoder), decoder=_resolve_stack(backbone.decoder))
        width = backbone.encoder.width
    else:
        backbone, width = _resolve_stack(backbone), backbone.width
    inputs = config.inputs.map(lambda part: replace(part, width=part.width or width))
    return replace(config, backbone=backbone, inputs=inputs)


def _resolve_stack(stack: Any) -> Any:
    if not isinstance(stack, schema.Transformer):
        return stack
    attention = replace(stack.attention, head_width=stack.attention.head_width or stack.width // stack.heads)
    if isinstance(attention, schema.ReformerAttention):
        layers = tuple(attention.layers[number % len(attention.layers)] for number in range(stack.depth))
        lsh = replace(attention.lsh, buckets=factorise_buckets(attention.lsh, stack.context))
        attention = replace(attention, layers=layers, lsh=lsh)
    if isinstance(attention, schema.WindowAttention):
        windows = tuple(attention.window[min(number, len(attention.window) - 1)] for number in range(stack.depth))
        attention = replace(attention, window=windows)
    positions = stack.positions
    if isinstance(positions, schema.AxialPositions):
        positions = schema.AxialPositions(*axial_shape(positions, stack.context), positions.width or stack.width // 2)
    feedforward = replace(stack.feedforward, width=stack.feedforward.width or 4 * stack.width, chunk=0)
    return replace(stack, attention=attention, positions=positions, feedforward=feedforward)


def require_representable(family: ModelFamily, config: schema.Neural, reimported: schema.Neural) -> None:
    """Refuse options that the family lacks: those that importing the exported config.json would not restore."""
    theirs = _compared(resolve_sizes(reimported))
    for name, value in _compared(resolve_sizes(config)).items():
        if theirs.get(name) != value:
            other = theirs.get(name, "none")
            do = f"train with {name} = {_format(other)} to export it as {family.title}"
            raise FirthError(f"{family.title} has no {name} = {_format(value)}", do=do)


def _compared(config: schema.Neural) -> dict[str, Any]:
    """The fields that decide what a network computes, by their full names."""
    values: dict[str, Any] = {}
    inputs = {f"inputs.{name}": part for name, part in config.used_inputs.items()}
    for name, part in {**inputs, "backbone": config.backbone, "head": config.head}.items():
        values |= _flatten(part, name)
    for name, part in inputs.items():
        values[f"{name}.segments"] = max(1, part.segments)  # a single segment embedding is as good as none
    values["objective.next_sentence"] = config.objective.next_sentence
    return values


def _flatten(value: Any, path: str) -> dict[str, Any]:
    if not is_dataclass(value):
        return {path: value}
    values = {f"{path}.kind": value.kind} if hasattr(value, "kind") else {}
    for each in fields(value):
        if each.name not in NOT_COMPARED:
            values |= _flatten(getattr(value, each.name), f"{path}.{each.name}")
    return values


def _format(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# --- configurations of imported models ----------------------------------------------------------------------------

_FINE_TUNING = schema.Train(
    budget="10m",
    optimizer=schema.Optimizer(name="adamw", learning_rate=5e-5, weight_decay=0.01, gradient_clip=1.0),
    schedule=schema.Schedule(shape="linear", warmup_steps=100),
)


def causal_lm(
    token_input: schema.TokenInput, backbone: schema.Transformer, head: schema.LMHead, max_length: int = MAX_LENGTH
) -> schema.Neural:
    """A causal language model."""
    length = min(backbone.context, max_length)
    batching = schema.Windows(batch_size=max(1, _TOKENS_PER_BATCH // length), length=length)
    return imported_system(batching, token_input, backbone, head, schema.CausalLM())


def masked_lm(
    token_input: schema.TokenInput, backbone: schema.Transformer, head: schema.LMHead, max_length: int = MAX_LENGTH
) -> schema.Neural:
    """A masked language model."""
    return imported_system(segment_batching(backbone, max_length), token_input, backbone, head, schema.MaskedLM())


def segment_batching(
    backbone: schema.Transformer, max_length: int = MAX_LENGTH, pairs: str = "none"
) -> schema.SegmentPairs:
    """Batches of segments, or of segment pairs, for masked language modelling."""
    length = min(backbone.context, max_length)
    return schema.SegmentPairs(batch_size=max(1, _TOKENS_PER_BATCH // length), length=length, pairs=pairs)


def sequence_classification(
    fields: Fields,
    token_input: schema.TokenInput,
    backbone: schema.Transformer,
    head: schema.ClassificationHead,
    layout: str = "cls-first",
) -> schema.Neural:
    """A classifier of texts and of text pairs, or a regression; texts are truncated to its whole context."""
    length = backbone.context
    batching = schema.SentencePairs(batch_size=max(1, _TOKENS_PER_BATCH // length), length=length, layout=layout)
    system = imported_system(batching, token_input, backbone, read_outputs(fields, head), schema.Supervised())
    return replace(system, data=schema.TaskExamples(text=()))


def imported_task(batching: Any, token_input: Any, backbone: Any, head: Any, data: Any) -> schema.Neural:
    """A network for a labelled task, without data of its own."""
    return replace(imported_system(batching, token_input, backbone, head, schema.Supervised()), data=data)


def denoising_seq2seq(
    token_input: schema.TokenInput, backbone: schema.EncoderDecoder, head: schema.LMHead, objective: schema.Denoising
) -> schema.Neural:
    """A sequence-to-sequence model pretrained by denoising."""
    length = min(backbone.decoder.context - SPECIAL_TOKENS, MAX_LENGTH) if backbone.decoder.context else MAX_LENGTH
    batching = schema.Bucketed(tokens_per_batch=max(length, _TOKENS_PER_BATCH), length=length)
    return imported_system(batching, token_input, backbone, head, objective)


def imported_system(batching: Any, input_: Any, backbone: Any, head: Any, objective: Any) -> schema.Neural:
    """The configuration of an imported network, without data of its own."""
    (stream,) = batching.streams
    return schema.Neural(
        data=schema.Text(text=()),
        batching=batching,
        inputs=schema.Inputs({stream: input_}),
        backbone=backbone,
        head=head,
        objective=objective,
        train=_FINE_TUNING,
    )
