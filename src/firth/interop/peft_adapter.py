"""Adapters as folders that `peft` loads on top of the exported base: adapter_config.json, adapter_model.safetensors."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import safetensors.torch
import torch
from torch import Tensor

from firth.config import schema
from firth.errors import FirthError
from firth.interop.exporter import describe
from firth.interop.hf_folder import json_bytes, require_unused
from firth.interop.model_family import ModelFamily
from firth.interop.tensor_steps import Concatenate, Conversion, Transpose
from firth.models.build import System
from firth.nn.linear import Linear
from firth.nn.lora import LoRA, adapted_layers, is_adapter
from firth.runs.gate import Gate
from firth.tokenizers.tokenizer import Tokenizer

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
_PREFIX = "base_model.model."  # of all names in peft
# objective -> what peft calls its task; for others it has no class of its own
_TASKS = {schema.Supervised: "SEQ_CLS", schema.CausalLM: "CAUSAL_LM", schema.Seq2Seq: "SEQ_2_SEQ_LM"}
_CLASSIFIERS = ("classifier", "score")  # modules that peft itself adds to those that are saved whole, for SEQ_CLS


class _AdaptedModule(NamedTuple):
    """A linear module there, and its update B A with the multiple of rank and alpha that it has."""

    name: str
    a: Tensor  # (rank, in)
    b: Tensor  # (out, rank)
    parts: int = 1


def save_adapter(
    path: Path,
    family: ModelFamily,
    config: schema.Neural,
    tokenizer: Tokenizer | None,
    system: System,
    new: Collection[str],
    labels: Sequence[str] = (),
) -> None:
    """Write the adapters of a network and its tensors that are `new`: that the base does not have."""
    plain = {name: tensor for name, tensor in system.state_dict().items() if not is_adapter(name)}
    _, conversions = describe(family, config, tokenizer, plain, labels)
    by_name = {each.ours: each for each in conversions if isinstance(each, Conversion)}
    layers = {f"{name}.weight": layer for name, layer in adapted_layers(system).items()}
    modules = [m for name, layer in layers.items() for m in _modules(by_name[name], layer, family)]
    theirs = {name: tensor for ours in new for name, tensor in by_name[ours].to_hf(plain).items()}
    whole = {family.module_name(name): tensor for name, tensor in theirs.items()}
    tensors = {f"{_PREFIX}{name}": tensor for name, tensor in whole.items()}
    for module in modules:
        tensors[f"{_PREFIX}{module.name}.lora_A.weight"] = module.a
        tensors[f"{_PREFIX}{module.name}.lora_B.weight"] = module.b
    transposed = any(Transpose() in by_name[name].operations for name in layers)
    values = {**_config(config, modules, whole), "fan_in_fan_out": transposed}
    require_unused(path)
    gate = Gate(path)
    contiguous = {name: tensor.detach().contiguous() for name, tensor in sorted(tensors.items())}
    gate.replace(WEIGHTS, safetensors.torch.save(contiguous, {"format": "pt"}))
    gate.replace(CONFIG, json_bytes(values))


def _config(
    config: schema.Neural, modules: Sequence[_AdaptedModule], whole: Mapping[str, Tensor]
) -> dict[str, Any]:
    """The contents of adapter_config.json."""
    adapter, task = config.train.adapter, _task(config)
    fused = [module for module in modules if module.parts > 1]
    return {
        "peft_type": "LORA",
        "task_type": task,
        "base_model_name_or_path": None,
        "inference_mode": True,
        "r": adapter.rank,
        "lora_alpha": adapter.alpha,
        "lora_dropout": adapter.dropout,
        "target_modules": [module.name for module in modules],
        "rank_pattern": {module.name: module.parts * adapter.rank for module in fused},
        "alpha_pattern": {module.name: module.parts * adapter.alpha for module in fused},
        "modules_to_save": sorted({_saved_module(name, task) for name in whole}) or None,
        "bias": "none",
    }


def _task(config: schema.Neural) -> str | None:
    """The task in peft; None for images, which its classes do not take."""
    if not isinstance(config.batching, schema.ImageRows):
        return next((name for kind, name in _TASKS.items() if isinstance(config.objective, kind)), None)
    return None


def _saved_module(tensor: str, task: str | None) -> str:
    """The module that is saved whole, of one of its tensors."""
    module, _, _ = tensor.rpartition(".")
    top = module.partition(".")[0]
    return top if task == "SEQ_CLS" and top in _CLASSIFIERS else module


def _modules(conversion: Conversion, layer: Linear, family: ModelFamily) -> Iterator[_AdaptedModule]:
    """The modules there that a layer of ours is, with their updates."""
    adapter, names = layer.adapter, [family.module_name(name).removesuffix(".weight") for name in conversion.theirs]
    assert adapter is not None
    is_linear = all(name.endswith(".weight") for name in conversion.theirs)
    if is_linear and conversion.operations == (Concatenate(len(layer.parts)),):
        for name, part in zip(names, layer.parts, strict=True):
            if part in adapter.a:
                yield _AdaptedModule(name, adapter.a[part], adapter.b[part])
    elif is_linear and conversion.operations in ((), (Transpose(),)):
        yield _fused(names[0], adapter)
    else:
        what = f"peft adapts linear layers, and {family.title} has none for {', '.join(adapter.a)} of attention"
        raise FirthError(what, do="export the whole network: --to huggingface")


def _fused(name: str, adapter: LoRA) -> _AdaptedModule:
    """The updates of several parts as one of a module that has all parts: B has a block for each."""
    parts = list(adapter.a)
    rank = len(adapter.a[parts[0]])
    b = adapter.b[parts[0]].new_zeros(adapter.size * len(adapter.parts), rank * len(parts))
    for number, part in enumerate(parts):
        rows, columns = adapter.parts.index(part) * adapter.size, number * rank
        b[rows : rows + adapter.size, columns : columns + rank] = adapter.b[part].detach()
    return _AdaptedModule(name, torch.cat([adapter.a[part] for part in parts]), b, len(parts))
