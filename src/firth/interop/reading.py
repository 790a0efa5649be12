"""A Hugging Face folder as a configuration, a tokenizer and tensors of ours."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from firth.build import System, build
from firth.config import schema
from firth.errors import FirthError, unknown
from firth.interop import folder
from firth.interop.folder import Folder
from firth.interop.labels import read_labels
from firth.interop.pictures import FILE as PIXELS
from firth.interop.pictures import read_pixels
from firth.interop.steps import Step, Steps, bring, give
from firth.interop.table import Table, steps_of, unread
from firth.interop.tables import TABLES
from firth.text import files as token_files
from firth.text.tokenizer import Tokenizer

_OLD = {".gamma": ".weight", ".beta": ".bias"}  # of norms, in files of the first years
_SHOWN = 4  # tensors that an error names
_PADDED = 256  # rows that tables are often padded by
_SENTINELS = 100  # that T5's tokenizer adds to its SentencePiece model


@dataclass(frozen=True)
class Foreign:
    """A model that others made, in our terms."""

    table: Table
    config: schema.Neural
    tokenizer: Tokenizer | None  # none for pictures
    tensors: Mapping[str, Tensor]
    labels: tuple[str, ...]  # that it tells, if it does
    notes: tuple[str, ...]
    asked: str  # digest of what it was made of


def fetch(path: Path) -> Foreign:
    """Read a folder; whatever does not fit is refused in one line."""
    found = folder.read(path)
    table = _table(found)
    theirs = clean(table, found.tensors, path)
    config = table.read(found.config, frozenset(theirs))
    labels = read_labels(found.config) if isinstance(config.head, schema.ClassHead) else ()
    reads = not isinstance(config.tokenizer, schema.NoTokenizer)
    sizes = (found.config.whole("vocab_size", 0) if reads else 0, len(labels) or 2)
    steps = steps_of(table, config, unread(table, found.config))
    notes = compare(table, steps, lambda: build(config, *sizes), theirs, path)
    ours = bring(steps, theirs)
    if not reads:
        given, more = read_pixels(config.input, folder.beside(path, PIXELS))
        return Foreign(table, replace(config, input=given), None, ours, labels, (*notes, *more), found.asked)
    tokenizer, more = _tokenizer(path, config, sizes[0])
    ours, more_notes = _whole(ours, lambda size: build(config, size, sizes[1]), tokenizer.size)
    about = schema.Tokenizer(model=tokenizer.kind, size=max(16, tokenizer.size))
    wide = sizes[0] if sizes[0] > tokenizer.size else 0
    config = replace(config, tokenizer=about, input=replace(config.input, rows=wide))
    return Foreign(table, config, tokenizer, ours, labels, (*notes, *more, *more_notes), found.asked)


def _table(found: Folder) -> Table:
    name = found.config.get("model_type", "")
    if not name:
        do = "name the folder of a model that was saved by transformers"
        raise FirthError("says no model_type: not a Hugging Face folder", where=found.config.where, do=do)
    if not isinstance(name, str) or name not in TABLES:
        raise unknown("model_type", str(name), TABLES, where=found.config.where)
    return TABLES[name]


# --- tensors ------------------------------------------------------------------------------------------------------


def clean(table: Table, tensors: Mapping[str, Tensor], where: object) -> dict[str, Tensor]:
    """The tensors under their present names, each once."""
    found = {_present(name): tensor for name, tensor in tensors.items()}
    if table.body and not any(name.startswith(table.body) for name in found):
        found = {f"{table.body}{name}": tensor for name, tensor in found.items()}
    for name, of in table.tied.items():
        if name in found and of not in found:
            found[of] = found.pop(name)
        elif name in found and torch.equal(found[name], found[of]):
            del found[name]
    if table.output in found:  # a matrix of its own has a bias of its own
        bias = table.output.replace("weight", "bias")
        found |= {bias: found[table.tied[bias]]} if bias in table.tied and bias not in found else {}
        return found
    for name, of in table.tied.items():
        if name in found:
            what = f"{name} differs from {of}, which it is another name of"
            raise FirthError(what, where=where, do="fetch the weights again")
    return found


def _present(name: str) -> str:
    for old, new in _OLD.items():
        if name.endswith(old):
            return name.removesuffix(old) + new
    return name


def compare(
    table: Table, steps: Steps, make: Callable[[], System], theirs: dict[str, Tensor], where: object
) -> list[str]:
    """Refuse tensors that are missing, surplus, of another shape or no numbers of weights; leave out what is known to
    serve nothing here."""
    with torch.device("meta"):
        ours = make().state_dict()
    wanted = {name: tuple(tensor.shape) for name, tensor in give(steps, ours).items()}
    needed = {name for step in steps if isinstance(step, Step) for name in step.theirs}
    missing = [f"{name} {shape} is missing" for name, shape in wanted.items() if name in needed - theirs.keys()]
    other = [
        f"{name} is {tuple(tensor.shape)}, not {wanted[name]}"
        for name, tensor in theirs.items()
        if name in wanted and tuple(tensor.shape) != wanted[name]
    ]
    surplus = [name for name in theirs if name not in wanted]
    left = [name for name in surplus if any(re.fullmatch(pattern, name) for pattern in table.ignored)]
    strange = [f"{name} {tuple(theirs[name].shape)} is surplus" for name in surplus if name not in left]
    wrong = [*missing, *other, *strange]
    if wrong:
        do = "is config.json of the same model? Heads for other tasks cannot be read"
        raise FirthError(f"the weights are not those of this {table.title}: {_listed(wrong)}", where=where, do=do)
    bad = [found for name in wanted if name in theirs and (found := _spoiled(name, theirs[name]))]
    if bad:
        do = "fetch the weights again, or save them again as floating-point numbers"
        raise FirthError(f"no weights to use: {_listed(bad)}", where=where, do=do)
    return [f"left out, since nothing here reads it: {_listed(left)}"] if left else []


def _spoiled(name: str, tensor: Tensor) -> str:
    """What is wrong with the numbers of a tensor, if anything."""
    if not tensor.is_floating_point():
        return f"{name} has numbers of type {str(tensor.dtype).removeprefix('torch.')}"
    bad = int((~tensor.isfinite()).sum())
    return f"{name} has {bad:,} of {tensor.numel():,} numbers that are not finite" if bad else ""


def _grown(ours: dict[str, Tensor], make: Callable[[int], System], size: int) -> dict[str, Tensor]:
    """Tables with a row for each token; tokens that were added get the mean of the others."""
    with torch.device("meta"):
        wanted = make(size).state_dict()
    found = dict(ours)
    for name, tensor in ours.items():
        more = wanted[name].shape[0] - tensor.shape[0] if tensor.shape[1:] == wanted[name].shape[1:] else 0
        if more > 0:
            mean = tensor.double().mean(0, keepdim=True).to(tensor.dtype)
            found[name] = torch.cat([tensor, mean.expand(more, *tensor.shape[1:])])
    return found


def _whole(ours: dict[str, Tensor], make: Callable[[int], System], size: int) -> tuple[dict[str, Tensor], list[str]]:
    """All tensors of the system; those of an objective's own that the folder lacks have their start values."""
    found = _grown(ours, make, size)
    with torch.device("meta"):
        lacking = sorted(make(size).state_dict().keys() - found.keys())
    if not lacking:
        return found, []
    start = make(max(size, len(ours["input.weight"]))).state_dict()
    return found | {name: start[name] for name in lacking}, [f"{len(lacking)} tensors start anew: {_listed(lacking)}"]


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


# --- the tokenizer ------------------------------------------------------------------------------------------------


def _tokenizer(path: Path, config: schema.Neural, rows: int) -> tuple[Tokenizer, list[str]]:
    """The folder's own, with the special tokens that the objective needs."""
    found = token_files.read(path)
    if found.size > rows:
        what = f"the tokenizer has {found.size:,} tokens, and the table of vectors {rows:,} rows"
        raise FirthError(what, where=path, do="put the tokenizer of this model there")
    few = rows - found.size > max(_PADDED, rows // 10)
    told = f"the tokenizer has {found.size:,} tokens, and the table {rows:,} rows: is it this model's?"
    notes = [told] if few else []
    objective = config.objective
    spans = isinstance(objective, schema.Denoise) and "spans" in objective.noise
    if spans and not found.sentinels and found.size + _SENTINELS <= rows:
        found = found.with_sentinels(_SENTINELS)
    notes += ["the tokenizer has no tokens that mark gaps"] if spans and not found.sentinels else []
    lacking = [role for role in _roles(objective) if getattr(found.special, role) is None]
    if not lacking:
        return found, notes
    more = found.with_specials()
    added = f"the tokenizer has no token for {', '.join(lacking)}: {more.size - found.size} tokens were added"
    return more, [*notes, added]


def _roles(objective: object) -> tuple[str, ...]:
    """The special tokens that an objective cannot do without."""
    if isinstance(objective, schema.Denoise):
        return (objective.first, "end", *(("start",) if objective.opened else ()))
    if isinstance(objective, schema.Supervised):
        return ("cls", "sep", "end")
    return ("start", "end") if isinstance(objective, schema.Causal) else ("cls", "sep", "mask", "end")
