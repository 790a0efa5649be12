"""What firth knows of one family of Hugging Face's models, and how a configuration is told apart from another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from firth.build import MARKS, fitted
from firth.config import schema
from firth.errors import FirthError
from firth.interop.fields import Fields
from firth.interop.steps import Drop, Steps
from firth.nn.axial import grid

Names = frozenset[str]
_TOKENS = 4096  # of a batch
LENGTH = 512  # tokens of the rows that an imported model reads, if it can read so many
# What decides how a network learns but not what it says, or what config.json does not tell.
_FREE = {"spread", "dropout", "attention_dropout", "vectors", "frozen", "rows", "context", "window_grows"}
_FREE |= {"memory", "kernel", "central", "mean", "deviation", "places"}


@dataclass(frozen=True)
class Table:
    """A family: its fields and its tensors, both ways."""

    model: str  # as config.json says it in model_type
    title: str
    objectives: tuple[type, ...]  # that its models are trained by
    read: Callable[[Fields, Names], schema.Neural]  # config.json and the names of tensors -> our configuration
    write: Callable[[schema.Neural], dict[str, Any]]  # ours, settled -> config.json
    steps: Callable[[schema.Neural], Steps]
    fits: Callable[[schema.Neural], bool]  # whether a run with such an objective is written so, if nothing is said
    backbone: type = schema.Transformer
    input: type = schema.TokenInput
    body: str = ""  # what begins the names of all but the heads; folders of the body alone leave it out
    output: str = ""  # the output matrix, if it is not the input's
    tied: Mapping[str, str] = field(default_factory=dict)  # names of tensors that are others again
    ignored: tuple[str, ...] = ()  # patterns of names of what serves nothing here
    # the table of places, if they are counted from the number of the padding token on (RoBERTa): a row's first token
    # stands at the one after it, and nothing reads those before
    counted: str = ""


def takes(table: Table, config: schema.Neural) -> bool:
    """Whether the family has such an input, such a backbone and such an objective at all."""
    parts = ((config.input, table.input), (config.backbone, table.backbone), (config.objective, table.objectives))
    return all(isinstance(part, kind) for part, kind in parts)


def unread(table: Table, fields: Fields) -> int:
    """Rows of places before the first that is read."""
    return fields.count("pad_token_id", 1) + 1 if table.counted else 0


def steps_of(table: Table, config: schema.Neural, rows: int) -> Steps:
    """The family's steps, where so many rows of places are not read."""
    found = table.steps(settle(config))
    if not rows:
        return found
    drop = Drop(rows)
    return [replace(step, changes=(*step.changes, drop)) if table.counted in step.theirs else step for step in found]


def settle(config: schema.Neural) -> schema.Neural:
    """The configuration with sizes written out that follow from others."""
    backbone = fitted(config)
    if isinstance(backbone, schema.EncoderDecoder):
        backbone = replace(backbone, encoder=_settled(backbone.encoder), decoder=_settled(backbone.decoder))
        width = backbone.encoder.width
    else:
        backbone, width = _settled(backbone), backbone.width
    return replace(config, backbone=backbone, input=replace(config.input, width=config.input.width or width))


def _settled(stack: Any) -> Any:
    if not isinstance(stack, schema.Transformer):
        return stack
    sizes = {"inner": stack.inner or 4 * stack.width, "head_width": stack.head_width or stack.width // stack.heads}
    turns = tuple(stack.attends[number % len(stack.attends)] for number in range(stack.depth))
    found = replace(stack, **sizes, attends=turns, chunk=0)
    if stack.positions != "axial":
        return found
    rows, columns = grid(stack)
    return replace(found, axial=schema.Axial(rows, columns, stack.axial.width or stack.width // 2))


def require_same(table: Table, config: schema.Neural, back: schema.Neural) -> None:
    """Refuse options that the family lacks: those with which a run would not come back from its config.json."""
    theirs = _flat(settle(back))
    for name, value in _flat(settle(config)).items():
        if theirs.get(name) != value:
            other = theirs.get(name, "none")
            do = f"only with {name} = {_said(other)} it can be written so"
            raise FirthError(f"{table.title} has no {name} = {_said(value)}", do=do)


def _flat(config: schema.Neural) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in ("input", "backbone", "head"):
        found |= _values(getattr(config, part), part)
    found["input.segments"] = max(1, config.input.segments)  # one kind says as much as none
    found["objective.next_sentence"] = getattr(config.objective, "next_sentence", False)
    return found


def _values(value: Any, path: str) -> dict[str, Any]:
    if not is_dataclass(value):
        return {path: value}
    found = {f"{path}.kind": value.kind} if hasattr(value, "kind") else {}
    for each in fields(value):
        if each.name not in _FREE:
            found |= _values(getattr(value, each.name), f"{path}.{each.name}")
    return found


def _said(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# --- the parts of a configuration that tables share ---------------------------------------------------------------

_TRAIN = schema.Train(  # to go on with what others have trained
    budget="10m",
    optimizer=schema.Optimizer(name="adamw", rate=5e-5, decay=0.01, clip=1.0),
    schedule=schema.Schedule(shape="linear", warmup=100),
)


def causal(
    given: schema.TokenInput, backbone: schema.Transformer, head: schema.LanguageHead, most: int = LENGTH
) -> schema.Neural:
    """A language model."""
    length = min(backbone.context, most)
    rows = schema.Windows(rows=max(1, _TOKENS // length), length=length)
    return neural(rows, given, backbone, head, schema.Causal())


def masked(
    given: schema.TokenInput, backbone: schema.Transformer, head: schema.LanguageHead, most: int = LENGTH
) -> schema.Neural:
    """A model that fills gaps."""
    return neural(framed(backbone, most), given, backbone, head, schema.Masked())


def framed(backbone: schema.Transformer, most: int = LENGTH, pairs: str = "none") -> schema.Framed:
    """Rows for a model that reads both ways."""
    length = min(backbone.context, most)
    return schema.Framed(rows=max(1, _TOKENS // length), length=length, pairs=pairs)


def labelling(
    given: schema.TokenInput, backbone: schema.Transformer, head: schema.ClassHead, frame: str = "first"
) -> schema.Neural:
    """A model that labels texts."""
    length = min(backbone.context, LENGTH)
    rows = schema.Joined(rows=max(1, _TOKENS // length), length=length, frame=frame)
    found = neural(rows, given, backbone, head, schema.Supervised())
    return replace(found, data=schema.TaskExamples(text=()))


def denoising(
    given: schema.TokenInput, backbone: schema.EncoderDecoder, head: schema.LanguageHead, objective: schema.Denoise
) -> schema.Neural:
    """A model that reads a damaged text and writes what was there."""
    length = min(backbone.decoder.context - MARKS, LENGTH) if backbone.decoder.context else LENGTH
    return neural(schema.Bucketed(tokens=max(length, _TOKENS), length=length), given, backbone, head, objective)


def neural(rows: Any, given: Any, backbone: Any, head: Any, objective: Any) -> schema.Neural:
    """An imported system: no text of its own yet."""
    return schema.Neural(
        data=schema.Text(text=()),
        batching=rows,
        input=given,
        backbone=backbone,
        head=head,
        objective=objective,
        train=_TRAIN,
    )
