"""Initialisation from a pre-trained run: continued pre-training, or fine-tuning on another task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from firth.config import schema
from firth.errors import FirthError
from firth.families.context_extension import extend_context
from firth.families.pass_training import require_trained
from firth.families.row_format import adapt_batching
from firth.families.run_weights import read_merged
from firth.families.vocabulary_surgery import vocabulary_axes
from firth.models.build import SPECIAL_TOKENS, System, resolve_backbone
from firth.nn.lora import is_adapter
from firth.runs.run_folder import Run
from firth.tokenizers.tokenizer import Tokenizer
from firth.types import LABEL, expect

_NETWORK = ("inputs.", "backbone.")  # tensors that any objective uses
_TASK = ("head.", "objective.")  # tensors that only the same objective uses
# Fields of window attention that stay the run's where the preset leaves them at their defaults.
_WINDOW_FIELDS = ("scale_window", "dilation", "dilated_heads", "global_tokens", "global_projections")
_MAX_NAMES = 3  # of tensors in a message


def configure_from_run(config: schema.Neural, init_from: str) -> schema.Neural:
    """A preset with the network of a pre-trained run: its architecture, the preset's data, objective and training."""
    pretrained = _neural_config(init_from)
    theirs, ours = ({*each.streams.values()} for each in (pretrained, config))
    if theirs != ours:
        what = f"that run reads {' and '.join(theirs)}, and here it is {' and '.join(ours)}"
        raise FirthError(what, where=init_from, do="name a run of the same kind")
    is_pair = isinstance(pretrained.backbone, schema.EncoderDecoder)
    reads_text = is_pair and isinstance(config.objective, schema.Supervised)
    if is_pair != isinstance(config.objective, schema.Seq2Seq) and not reads_text:
        what = "one of the two is an encoder-decoder, the other is not"
        raise FirthError(what, where=init_from, do="start from a run of the same kind")
    if reads_text and not isinstance(pretrained.objective, schema.Supervised):
        pretrained = _reading_text(config, pretrained, init_from)
    config = adapt_batching(config, resolve_backbone(pretrained))
    inputs = pretrained.inputs
    for stream, part in inputs.items():
        if part.pretrained_vectors:  # the run's own weights include them
            inputs = inputs.replace(stream, pretrained_vectors="")
    network = {"tokenizer": pretrained.tokenizer, "inputs": inputs, "backbone": _backbone(config, pretrained)}
    combined = replace(config, init_from=init_from, **network)
    headless = "lacks" in Run.open(init_from).record.data  # imported without a head
    same_head = type(pretrained.head) is type(config.head) and not headless
    if same_objective(pretrained.objective, config.objective) and same_head:
        combined = replace(combined, head=pretrained.head)
    if isinstance(pretrained.objective, schema.Seq2Seq) and isinstance(config.objective, schema.Seq2Seq):
        own = pretrained.objective
        tokens = {"decoder_start": own.decoder_start, "add_start_token": own.add_start_token}
        combined = replace(combined, objective=replace(config.objective, **tokens))
    if isinstance(config.data, schema.TextToText):
        combined = replace(combined, data=replace(config.data, vocabularies=pretrained.data.vocabularies))
    return combined


def _reading_text(config: schema.Neural, pretrained: schema.Neural, where: str) -> schema.Neural:
    """An encoder-decoder that reads texts by themselves: its decoder begins as it did in pre-training."""
    tokenizers = Run.open(where).tokenizers()
    if "source" in tokenizers:
        what = "that run has one vocabulary for its source and another for its target"
        raise FirthError(what, where=where, do="start from one with data.vocabularies=shared")
    special = tokenizers["text"].special
    start = getattr(special, expect(pretrained.objective, schema.Seq2Seq).decoder_start)
    backbone = replace(
        expect(pretrained.backbone, schema.EncoderDecoder),
        text_start=special.pad_id if start is None else start,
        text_states=config.backbone.text_states if isinstance(config.backbone, schema.EncoderDecoder) else "decoder",
    )
    return replace(pretrained, backbone=backbone)


def freeze_pretrained_head(config: schema.Neural) -> schema.Neural:
    """With an adapter, a head that predicts tokens stays as it is if it is of the pre-trained network, like the rest of
    it; a new head and one of labels are trained."""
    pretrained, headless = _neural_config(config.init_from), "lacks" in Run.open(config.init_from).record.data
    same = same_objective(pretrained.objective, config.objective) and config.head == pretrained.head and not headless
    if config.train.adapter.kind == "none" or not same or config.head.outputs != "vocabulary":
        return config
    frozen = tuple(dict.fromkeys((*config.train.frozen, "head")))
    return replace(config, train=replace(config.train, frozen=frozen))


def reset_intervals(config: schema.System) -> schema.System:
    """The configuration of a run without its resolved evaluation and checkpoint intervals."""
    if not isinstance(config, schema.Neural):
        return config
    return replace(config, train=replace(config.train, evaluate_every=0, checkpoint_every=0))


def initial_tokenizers(config: schema.Neural) -> dict[str, Tokenizer]:
    """The tokenizers of the pre-trained run; with all special tokens where the task is another."""
    tokenizers = Run.open(config.init_from).tokenizers()
    if same_objective(_neural_config(config.init_from).objective, config.objective):
        return tokenizers
    return {name: tokenizer.with_special_tokens() for name, tokenizer in tokenizers.items()}


def same_objective(one: object, other: object) -> bool:
    """Whether two objectives share their head: the same, or one a special case of the other."""
    return isinstance(one, type(other)) or isinstance(other, type(one))


Labels = Sequence[str] | Mapping[str, Sequence[str]]  # of the only target, or of each


def initialise_weights(system: System, config: schema.Neural, tokenizer: Tokenizer, labels: Labels = ()) -> str:
    """Load the weights of the run `config.init_from`: the network, and for the same objective its head too, in which a
    label keeps its row whatever its index is now. Returns a summary."""
    run, pretrained = Run.open(config.init_from), _neural_config(config.init_from)
    require_trained(run, "trained weights")
    same = same_objective(pretrained.objective, config.objective)
    parts = (*_NETWORK, *_TASK) if same else _NETWORK
    source = {name: tensor for name, tensor in read_merged(run).items() if name.startswith(parts)}
    whole = system.state_dict()
    target = {name: tensor for name, tensor in whole.items() if not is_adapter(name)}
    source |= _match_labels(source, target, run.record.data.get("labels", ()), labels)
    loaded = match_tensors(extend_context(source, target), target, vocabulary_axes(config), str(run.path))
    system.load_state_dict({**whole, **loaded})
    new = sorted(name for name in target if name not in loaded)
    summary = f"{len(loaded):,} of {len(target):,} tensors initialised from {config.init_from}"
    return f"{summary}; new: {_format_names(new)}" if new else summary


def match_tensors(
    source: Mapping[str, Tensor], target: Mapping[str, Tensor], axes: Mapping[str, int], where: str
) -> dict[str, Tensor]:
    """The source tensors in the target shapes: vocabulary tables may have more or fewer rows, all else must match."""
    matched, mismatches = {}, []
    order = {name: index for index, name in enumerate(target)}
    for name, tensor in sorted(source.items(), key=lambda item: order.get(item[0], len(order))):
        if name in target and name in axes:
            tensor = _resize_rows(tensor, target[name], axes[name])
        if name in target and tensor.shape == target[name].shape:
            matched[name] = tensor
        elif name.startswith(_NETWORK):
            here = str(tuple(target[name].shape)) if name in target else "none"
            mismatches.append(f"{name} {tuple(tensor.shape)}, here {here}")
    mismatches += [
        f"{name}: none, here {tuple(tensor.shape)}"
        for name, tensor in target.items()
        if name.startswith(_NETWORK) and name not in source
    ]
    if mismatches:
        do = "use the architecture of that run"
        raise FirthError(f"its weights do not fit: {_format_names(mismatches)}", where=where, do=do)
    return matched


def _resize_rows(tensor: Tensor, target: Tensor, axis: int) -> Tensor:
    """A vocabulary table with as many rows as the target; rows that it lacks keep their initialisation."""
    if tensor.select(axis, 0).shape != target.select(axis, 0).shape:
        return tensor
    count = min(tensor.shape[axis], target.shape[axis])
    rest = target.narrow(axis, count, target.shape[axis] - count)
    return torch.cat([tensor.narrow(axis, 0, count), rest], axis)


def _match_labels(
    source: Mapping[str, Tensor], target: Mapping[str, Tensor], old: Labels, new: Labels
) -> dict[str, Tensor]:
    """The rows of labels by their names; rows of new labels keep their initialisation."""
    before, now = (labels if isinstance(labels, Mapping) else {LABEL: labels} for labels in (old, new))
    matched = {}
    for layer, names in before.items():
        pairs = [(index, names.index(label)) for index, label in enumerate(now.get(layer, ())) if label in names]
        rows, columns = (torch.tensor([pair[side] for pair in pairs], dtype=torch.long) for side in (0, 1))
        for name, axes in _label_axes(layer).items():
            if names and name in source and name in target:
                matched[name] = target[name].clone()
                to, of = ((rows, columns) if axes == 1 else ((rows[:, None], rows), (columns[:, None], columns)))
                matched[name][to] = source[name][of]
    return matched


def _label_axes(target: str) -> dict[str, int]:
    """The tensors with a row for each label of a target, and how many of their axes are of labels."""
    if target == LABEL:
        return {"head.classifier.weight": 1, "head.classifier.bias": 1}
    emission, decoder = f"head.emission.{target}", f"head.decoder.{target}"
    tensors = dict.fromkeys((f"{emission}.weight", f"{emission}.bias", f"{decoder}.start", f"{decoder}.end"), 1)
    return {**tensors, f"{decoder}.transitions": 2}


def _neural_config(init_from: str) -> schema.Neural:
    config = Run.open(init_from).record.config
    if not isinstance(config, schema.Neural):
        raise FirthError(
            "not a neural run, so it has no weights to start from", where=init_from, do="name a neural run"
        )
    return config


def _backbone(config: schema.Neural, pretrained: schema.Neural) -> Any:
    """The run's backbone, with enough positions for the preset and with the fields that the preset decides."""
    backbone = resolve_backbone(pretrained)
    if isinstance(backbone, schema.EncoderDecoder):
        stacks = {name: getattr(backbone, name) for name in ("encoder", "decoder")}
        special_tokens = 0 if schema.TEXT in config.streams else SPECIAL_TOKENS
        longer = {name: _with_context(stack, config, special_tokens) for name, stack in stacks.items()}
        return replace(backbone, **longer)
    if not isinstance(backbone, schema.Transformer):
        return backbone
    backbone = _with_context(backbone, config)
    if not isinstance(config.backbone, schema.Transformer):
        return backbone
    dropout = config.backbone.dropout or backbone.dropout
    return replace(backbone, dropout=dropout, attention=_attention(config.backbone.attention, backbone.attention))


def _attention(preset: Any, pretrained: Any) -> Any:
    """The run's attention, with the preset's window, if it has one, and the preset's dropout, if it has any."""
    dropout = preset.dropout or pretrained.dropout
    if not isinstance(preset, schema.WindowAttention):
        return replace(pretrained, dropout=dropout)
    own = {name: getattr(pretrained, name) for name in ("head_width", "scaled", "bias")}
    if isinstance(pretrained, schema.WindowAttention):
        default = schema.WindowAttention()
        unset = (name for name in _WINDOW_FIELDS if getattr(preset, name) == getattr(default, name))
        own |= {name: getattr(pretrained, name) for name in unset}
    return replace(preset, dropout=dropout, **own)


def _with_context(stack: Any, config: schema.Neural, special_tokens: int = 0) -> Any:
    """A stack whose context is at least as long as the preset's sequences."""
    if not isinstance(stack, schema.Transformer):
        return stack
    return replace(stack, context=max(stack.context, config.batching.length + special_tokens))


def _format_names(names: list[str]) -> str:
    more = len(names) - _MAX_NAMES
    return ", ".join(names[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
