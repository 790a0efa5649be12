"""A run that learns from another: its teacher is asked in training, and is no part of what is saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from torch import Tensor

from firth.build import System, build
from firth.config import schema
from firth.errors import FirthError
from firth.families.passes import require_trained
from firth.objectives.distil import Teacher
from firth.runs.folder import Run
from firth.runs.weights import read_note
from firth.text.tokenizer import Tokenizer
from firth.training.checkpoint import load_model

_SETTING = "objective.teacher"
_FILLS = (schema.Masked, schema.Distil)  # objectives of runs that fill gaps


def follow(config: schema.Neural, teacher: str) -> schema.Neural:
    """A preset for a pupil of this teacher: as wide, half as deep, without segments; the preset's data and training."""
    begun = _run(teacher).record.config
    pairs = {"pairs": "none"} if isinstance(begun.batching, schema.Framed) else {}
    return replace(
        config,
        tokenizer=begun.tokenizer,
        batching=replace(begun.batching, **pairs),
        input=replace(begun.input, vectors="", segments=0),
        backbone=replace(begun.backbone, depth=max(1, begun.backbone.depth // 2)),
        head=begun.head,
        objective=replace(config.objective, teacher=teacher),
    )


def teacher_tokenizers(config: schema.Neural) -> dict[str, Tokenizer]:
    """The tokenizer of the teacher, if there is to be one."""
    return _run(config.objective.teacher).own_tokenizers() if isinstance(config.objective, schema.Distil) else {}


def teacher_note(config: schema.Neural) -> dict[str, str]:
    """What tells the teacher from another, for the record."""
    if not isinstance(config.objective, schema.Distil):
        return {}
    return {"teacher": read_note(_run(config.objective.teacher).weights)["sha256"]}


def attach_teacher(system: System, config: schema.Neural, tokenizer: Tokenizer, run: Run | None) -> System | None:
    """Give a pupil its teacher, the one that its run began with; None where there is nothing to learn from another."""
    if not isinstance(config.objective, schema.Distil):
        return None
    found = _run(config.objective.teacher)
    if run is not None and run.record.data.get("teacher") != read_note(found.weights)["sha256"]:
        what, do = "the teacher has changed since this run began", "restore it, or train into another folder with --out"
        raise FirthError(what, where=found.path, do=do)
    if tokenizer.hash != found.record.tokenizers["text"]:
        do = "use the teacher's: leave out --start"
        raise FirthError("the pupil's tokenizer is not the teacher's", where=found.path, do=do)
    teacher = build(found.record.config, tokenizer.size)
    load_model(found.weights, teacher, found.config_digest())
    if config.objective.state_weight and teacher.backbone.width != system.backbone.width:
        what = f"a pupil {system.backbone.width} wide for a teacher {teacher.backbone.width} wide"
        raise FirthError(what, do="make it as wide, or set objective.state_weight=0")
    system.objective.teacher = Teacher(teacher)
    return teacher


def begin_as(system: System, teacher: System) -> str:
    """Start from the teacher: its input and head, and layers of it that are evenly apart (every second of twice as
    many); says what was taken."""
    wanted, given = system.state_dict(), teacher.state_dict()
    depths = [len(part.backbone.blocks) for part in (system, teacher)]
    found = {}
    for name, tensor in wanted.items():
        source = given.get(_counterpart(name, *depths))
        if source is not None and source.shape == tensor.shape:
            found[name] = source
    found |= _without_segments(found, wanted, given)
    system.load_state_dict({**wanted, **found})
    return f"{len(found):,} of {len(wanted):,} tensors start from the teacher's"


def _counterpart(name: str, depth: int, teachers: int) -> str:
    """The teacher's name for a tensor of the pupil."""
    head, blocks, rest = name.partition("backbone.blocks.")
    if not blocks:
        return name
    layer, _, part = rest.partition(".")
    return f"{head}{blocks}{int(layer) * teachers // depth}.{part}"


def _without_segments(
    found: Mapping[str, Tensor], wanted: Mapping[str, Tensor], given: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """Where the pupil has no segments, all of its text is of the first kind: each token's vector takes that in. A tied
    output gives the same probabilities then, since all tokens' scores change alike."""
    kinds, table = given.get("input.segments"), found.get("input.weight")
    if kinds is None or "input.segments" in wanted or table is None:
        return {}
    return {"input.weight": table + kinds[0]}


def _run(path: str) -> Run:
    """A trained run that fills gaps."""
    if not path:
        do = "name a run that fills gaps: --teacher runs/bert"
        raise FirthError("no teacher to follow", where=_SETTING, do=do)
    run = Run.open(path)
    config = run.record.config
    fills = isinstance(config, schema.Neural) and isinstance(config.objective, _FILLS)
    if not fills or not isinstance(config.backbone, schema.Transformer):
        raise FirthError("this run does not fill gaps, and so is no teacher", where=path, do="train a bert first")
    require_trained(run, "trained weights")
    return run
