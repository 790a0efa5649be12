"""Knowledge distillation (DistilBERT, Sanh et al. 2019): a student run learns from a teacher run, which is not saved
with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from torch import Tensor

from firth.config import schema
from firth.errors import FirthError
from firth.families.pass_training import require_trained
from firth.families.run_weights import load_weights
from firth.models.build import System, build
from firth.objectives.distillation import Teacher
from firth.runs.run_folder import Run
from firth.runs.weights import read_metadata
from firth.tokenizers.tokenizer import Tokenizer

_SETTING = "objective.teacher"
_MASKED_LM = (schema.MaskedLM, schema.Distillation)  # objectives of teachers


def configure_student(config: schema.Neural, teacher: str) -> schema.Neural:
    """A preset with the student of a teacher: the same width, half the depth, no segment embeddings."""
    source = _teacher_run(teacher).record.config
    pairs = {"pairs": "none"} if isinstance(source.batching, schema.SegmentPairs) else {}
    return replace(
        config,
        tokenizer=source.tokenizer,
        batching=replace(source.batching, **pairs),
        inputs=source.inputs.replace("text", pretrained_vectors="", segments=0),
        backbone=replace(source.backbone, depth=max(1, source.backbone.depth // 2)),
        head=source.head,
        objective=replace(config.objective, teacher=teacher),
    )


def teacher_tokenizers(objective: schema.Distillation) -> dict[str, Tokenizer]:
    """The tokenizers of the teacher."""
    return _teacher_run(objective.teacher).tokenizers()


def teacher_metadata(objective: schema.Distillation) -> dict[str, str]:
    """The digest of the teacher's weights, for the record."""
    return {"teacher": read_metadata(_teacher_run(objective.teacher).weights)["sha256"]}


def attach_teacher(system: System, objective: schema.Distillation, tokenizer: Tokenizer, run: Run | None) -> System:
    """Give a student its teacher, the one that its run began with."""
    teacher_run = _teacher_run(objective.teacher)
    if run is not None and run.record.data.get("teacher") != read_metadata(teacher_run.weights)["sha256"]:
        what, do = "the teacher has changed since this run began", "restore it, or train into another folder with --out"
        raise FirthError(what, where=teacher_run.path, do=do)
    if tokenizer.hash != teacher_run.record.tokenizers["text"]:
        do = "use the teacher's: leave out --init-from"
        raise FirthError("the student's tokenizer is not the teacher's", where=teacher_run.path, do=do)
    teacher = build(teacher_run.record.config, tokenizer.vocab_size)
    load_weights(teacher_run, teacher)
    if objective.cosine_weight and teacher.backbone.width != system.backbone.width:
        what = f"a student of width {system.backbone.width} for a teacher of width {teacher.backbone.width}"
        raise FirthError(what, do="use the same width, or set objective.cosine_weight=0")
    system.objective.teacher = Teacher(teacher)
    return teacher


def initialise_student(system: System, teacher: System) -> str:
    """Initialise the student from the teacher: its input and head, and evenly spaced layers (every second one of twice
    as many). Returns a summary."""
    target, source = system.state_dict(), teacher.state_dict()
    depths = [len(part.backbone.blocks) for part in (system, teacher)]
    copied = {}
    for name, tensor in target.items():
        own = source.get(_teacher_name(name, *depths))
        if own is not None and own.shape == tensor.shape:
            copied[name] = own
    copied |= _without_segments(copied, target, source)
    system.load_state_dict({**target, **copied})
    return f"{len(copied):,} of {len(target):,} tensors initialised from the teacher"


def _teacher_name(name: str, depth: int, teacher_depth: int) -> str:
    """The name of the teacher's tensor for a tensor of the student."""
    head, blocks, rest = name.partition("backbone.blocks.")
    if not blocks:
        return name
    layer, _, part = rest.partition(".")
    return f"{head}{blocks}{int(layer) * teacher_depth // depth}.{part}"


def _without_segments(
    copied: Mapping[str, Tensor], target: Mapping[str, Tensor], source: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """Without segment embeddings, the student's token embeddings include that of the first segment. Tied output weights
    give the same probabilities then, since the logits of all tokens change alike."""
    segments, table = source.get("inputs.text.segments"), copied.get("inputs.text.weight")
    if segments is None or "inputs.text.segments" in target or table is None:
        return {}
    return {"inputs.text.weight": table + segments[0]}


def _teacher_run(path: str) -> Run:
    """The trained run of a masked language model."""
    if not path:
        do = "name the run of a masked language model: --teacher runs/bert"
        raise FirthError("no teacher is given", where=_SETTING, do=do)
    run = Run.open(path)
    config = run.record.config
    masked_lm = isinstance(config, schema.Neural) and isinstance(config.objective, _MASKED_LM)
    if not masked_lm or not isinstance(config.backbone, schema.Transformer):
        what = "this run is not a masked language model, so it cannot be a teacher"
        raise FirthError(what, where=path, do="train one first, such as firth train bert")
    require_trained(run, "trained weights")
    return run
