"""A run that starts from another's weights: continued pre-training, or another task on what was learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import torch
from torch import Tensor

from firth.build import MARKS, System, fitted
from firth.config import schema
from firth.errors import FirthError
from firth.families.lengthening import lengthened
from firth.families.passes import require_trained
from firth.families.suiting import suited
from firth.families.surgery import vocabulary_axes
from firth.runs.folder import Run
from firth.runs.weights import read_note
from firth.text.tokenizer import Tokenizer
from firth.training.checkpoint import read_tensors

_NETWORK = ("input.", "backbone.")  # what serves any objective
_LABELS = ("head.classify.weight", "head.classify.bias")  # a row for each
_TASK = ("head.", "objective.")  # what serves the same objective only
# What a preset decides itself if it says anything about it: how far tokens see, and what is left out in training.
_OWN = ("window", "window_grows", "dilation", "dilated_heads", "central", "central_projections", "kernel")
_OWN += ("dropout", "attention_dropout")
_SHOWN = 3  # tensors that an error names


def inherit(config: schema.Neural, start: str) -> schema.Neural:
    """A preset for the network of a run: its sizes and kinds of layers, the preset's data, objective and training."""
    begun = _neural(start)
    if begun.input.kind != config.batching.gives:
        what = f"that run reads {begun.input.kind}, and here are {config.batching.gives} to be read"
        raise FirthError(what, where=start, do="name a run of the same kind")
    if isinstance(begun.backbone, schema.EncoderDecoder) != isinstance(config.objective, schema.Written):
        what = "one of the two reads a text and writes another, the other has one text"
        raise FirthError(what, where=start, do="start from a run of the same kind")
    config = suited(config, fitted(begun))
    given = replace(begun.input, vectors="") if begun.input.vectors else begun.input  # the run has learned from them
    network = {"tokenizer": begun.tokenizer, "input": given, "backbone": _backbone(config, begun)}
    found = replace(config, start=start, **network)
    lacks = "lacks" in Run.open(start).record.data  # imported without a head
    if alike(begun.objective, config.objective) and type(begun.head) is type(config.head) and not lacks:
        found = replace(found, head=begun.head)
    if isinstance(begun.objective, schema.Written) and isinstance(config.objective, schema.Written):
        marks = {name: getattr(begun.objective, name) for name in ("first", "opened")}
        found = replace(found, objective=replace(config.objective, **marks))
    if isinstance(config.data, schema.TaskTexts):
        sides = getattr(begun.data, "vocabularies", "shared")
        found = replace(found, data=replace(config.data, vocabularies=sides))
    return found


def anew(config: schema.System) -> schema.System:
    """The configuration of a run as one would ask for it: how often it evaluates and saves is to be found again."""
    if not isinstance(config, schema.Neural):
        return config
    return replace(config, train=replace(config.train, evaluate=0, save=0))


def start_tokenizers(config: schema.Neural) -> dict[str, Tokenizer]:
    """The tokenizers of the run to start from, if there is one; with all special tokens where the task is another."""
    if not config.start:
        return {}
    found = Run.open(config.start).own_tokenizers()
    same = alike(_neural(config.start).objective, config.objective)
    return found if same else {name: tokenizer.with_specials() for name, tokenizer in found.items()}


def alike(one: object, other: object) -> bool:
    """Whether what serves one objective serves the other: the same, or one a special case of the other."""
    return isinstance(one, type(other)) or isinstance(other, type(one))


def start_from(system: System, config: schema.Neural, tokenizer: Tokenizer, labels: Sequence[str] = ()) -> str:
    """Load the weights of the run `config.start`: the network, and where the objective is the same its head too, in
    which a label keeps what was learned of it whatever its number is now."""
    run, begun = Run.open(config.start), _neural(config.start)
    require_trained(run, "trained weights")
    read_note(run.weights)  # refuses damaged ones
    same = alike(begun.objective, config.objective)
    parts = (*_NETWORK, *_TASK) if same else _NETWORK
    given = {name: tensor for name, tensor in read_tensors(run.weights).items() if name.startswith(parts)}
    wanted = system.state_dict()
    given |= _relabelled(given, wanted, run.record.data.get("labels", ()), labels)
    found = matched(lengthened(given, wanted), wanted, vocabulary_axes(config), str(run.path))
    system.load_state_dict({**wanted, **found})
    left = sorted(name for name in wanted if name not in found)
    return f"{len(found):,} of {len(wanted):,} tensors start from {config.start}" + (
        f"; new: {_listed(left)}" if left else ""
    )


def matched(
    given: Mapping[str, Tensor], wanted: Mapping[str, Tensor], axes: Mapping[str, int], where: str
) -> dict[str, Tensor]:
    """The given tensors in the wanted shapes: tables of tokens may have more or fewer rows, all else must fit."""
    found, unfit = {}, []
    places = {name: place for place, name in enumerate(wanted)}
    for name, tensor in sorted(given.items(), key=lambda item: places.get(item[0], len(places))):
        if name in wanted and name in axes:
            tensor = _rows(tensor, wanted[name], axes[name])
        if name in wanted and tensor.shape == wanted[name].shape:
            found[name] = tensor
        elif name.startswith(_NETWORK):
            here = str(tuple(wanted[name].shape)) if name in wanted else "none"
            unfit.append(f"{name} {tuple(tensor.shape)}, here {here}")
    unfit += [
        f"{name}: none, here {tuple(tensor.shape)}"
        for name, tensor in wanted.items()
        if name.startswith(_NETWORK) and name not in given
    ]
    if unfit:
        do = "use the sizes and kinds of layers of that run"
        raise FirthError(f"its weights do not fit: {_listed(unfit)}", where=where, do=do)
    return found


def _rows(tensor: Tensor, wanted: Tensor, axis: int) -> Tensor:
    """The table's first rows, as many as are wanted; rows that it does not have stay as they start."""
    if tensor.select(axis, 0).shape != wanted.select(axis, 0).shape:
        return tensor
    count = min(tensor.shape[axis], wanted.shape[axis])
    rest = wanted.narrow(axis, count, wanted.shape[axis] - count)
    return torch.cat([tensor.narrow(axis, 0, count), rest], axis)


def _relabelled(
    given: Mapping[str, Tensor], wanted: Mapping[str, Tensor], old: Sequence[str], new: Sequence[str]
) -> dict[str, Tensor]:
    """The rows of labels by their names; those of other labels stay as they start."""
    found = {}
    pairs = [(place, old.index(label)) for place, label in enumerate(new) if label in old]
    for name in (name for name in _LABELS if old and name in given and name in wanted):
        found[name] = wanted[name].clone()
        for place, before in pairs:
            found[name][place] = given[name][before]
    return found


def _neural(start: str) -> schema.Neural:
    config = Run.open(start).record.config
    if not isinstance(config, schema.Neural):
        raise FirthError("no network, so it has no weights to start from", where=start, do="name a run of one")
    return config


def _backbone(config: schema.Neural, begun: schema.Neural) -> Any:
    """The run's, with as many places as either needs, and with what the preset decides itself."""
    reaching = fitted(begun)
    if isinstance(reaching, schema.EncoderDecoder):
        stacks = {name: getattr(reaching, name) for name in ("encoder", "decoder")}
        return replace(reaching, **{name: _reaching(stack, config, MARKS) for name, stack in stacks.items()})
    if not isinstance(reaching, schema.Transformer):
        return reaching
    own: dict[str, Any] = {}
    if isinstance(config.backbone, schema.Transformer):
        usual = schema.Transformer()
        said = {field.name: getattr(config.backbone, field.name) for field in fields(usual) if field.name in _OWN}
        own = {name: value for name, value in said.items() if value != getattr(usual, name)}
    return replace(_reaching(reaching, config), **own)


def _reaching(stack: Any, config: schema.Neural, room: int = 0) -> Any:
    if not isinstance(stack, schema.Transformer):
        return stack
    return replace(stack, context=max(stack.context, config.batching.length + room))


def _listed(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
