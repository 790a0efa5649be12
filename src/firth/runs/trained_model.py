"""What all models that are loaded from a run folder share: their base, and the options of `firth run`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from firth.arguments import as_path
from firth.config import from_dict
from firth.display import Table, html_facts
from firth.errors import FirthError, MissingMethodError, unknown
from firth.runs import atomic_files, state_folder
from firth.runs.run_folder import Run

if TYPE_CHECKING:
    from torch import nn

Options = TypeVar("Options")


class TrainedModel:
    """A trained model and its run."""

    run: Run
    sample_every = 1  # one of so many documents or examples of its own splits is scored; 1: all

    def sampled(self, split: str) -> str:
        """The name of a split in signatures: `test`, or `test/8` of a sample of an eighth."""
        return f"{split}/{self.sample_every}" if self.sample_every > 1 else split

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name, name=name, obj=self)
        methods = [each for each in dir(type(self)) if not each.startswith("_")]
        error = unknown("attribute", name, methods, where=type(self).__name__)
        raise MissingMethodError(error.what, where=error.where, do=error.do)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(preset={self.run.record.preset!r}, run={str(self.run.path)!r})"

    def _repr_html_(self) -> str:
        run, name = self.run, type(self).__name__
        tokenizer = getattr(self, "tokenizer", None)
        scores = [f"{score['name']} {score['value']:.4g}" for score in run.scores() if score["value"] is not None]
        facts = {"preset": run.record.preset, "run": run.path, "tokenizer": tokenizer, "scores": scores}
        return html_facts(name, facts | {"try": getattr(self, "hint", "")})

    @property
    def generation_defaults(self) -> dict[str, Any]:
        """The options of generation that an imported model brings along (generation_config.json)."""
        return dict(self.run.record.data.get("generation", {}))

    @property
    def history(self) -> Table[dict[str, Any]]:
        """The rows of the training log, a list of dictionaries: step, loss, learning_rate, …"""
        return self.run.history()

    @property
    def module(self) -> nn.Module:
        """The PyTorch module of a neural model."""
        system = getattr(self, "system", None)
        if system is None:
            raise FirthError("this model is not a neural network", where=self.run.path, do="it has no torch module")
        return system

    def save(self, path: str | Path) -> Path:
        """Copy the run folder: `firth.load` loads the copy. Atomic; a folder with files in it is refused."""
        target = as_path(path)
        with atomic_files.explain_errors(target):
            if target.exists() and (not target.is_dir() or any(target.iterdir())):
                raise FirthError("there is something here", where=target, do="choose a new or an empty folder")
            with atomic_files.building(target) as temporary:
                self.run.gate.copy(temporary, leave_out=(".lock", state_folder.LOCATION))
                atomic_files.rename(temporary, target)
            atomic_files.sync_folder(target.parent)
        return target


def given_text(text: Any) -> Any:
    """Text to evaluate: a name (also of a path), or an iterable of documents or examples; anything else is refused."""
    if text is None or isinstance(text, str):
        return text
    if isinstance(text, os.PathLike):
        return str(text)
    if isinstance(text, bytes) or not isinstance(text, Iterable):
        what = f"text: {type(text).__name__}, neither a name nor documents"
        raise FirthError(what, do="give a file, a folder, a built-in name, or a list")
    return text


_SAMPLING = ("temperature", "top_k", "top_p")
_BEAM_SEARCH = ("beam", "length_penalty", "length_normalisation", "early_stopping")


def with_defaults(defaults: Mapping[str, Any], options: Mapping[str, Any], kind: type) -> dict[str, Any]:
    """Options of generation, and a model's defaults among those of this kind; who samples gets none of a beam search,
    and the other way round."""
    known = {field.name for field in fields(kind)}
    if any(name in options for name in _SAMPLING):
        known -= {*_BEAM_SEARCH}
    if options.get("beam"):
        known -= {*_SAMPLING}
    if "length_penalty" in options:
        known -= {"length_normalisation"}
    return {**{name: value for name, value in defaults.items() if name in known}, **options}


def read_options(kind: type[Options], options: Mapping[str, object]) -> Options:
    """The options of `firth run` for a model; unknown ones are refused."""
    known = {field.name for field in fields(kind)}
    for name in options:
        if name not in known:
            do = f"it takes {', '.join(f'--{option}'.replace('_', '-') for option in sorted(known))}"
            raise FirthError(f"this model has no --{name.replace('_', '-')}", do=do)
    return from_dict(kind, options)
