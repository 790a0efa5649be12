"""What all models that are loaded from a run folder share: their base, and the options of `firth run`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TypeVar

from firth.config import from_dict
from firth.errors import FirthError
from firth.runs.run_folder import Run

Options = TypeVar("Options")


class TrainedModel:
    """A trained model and its run."""

    run: Run

    def __repr__(self) -> str:
        return f"{type(self).__name__}(preset={self.run.record.preset!r}, run={str(self.run.path)!r})"


def read_options(kind: type[Options], options: Mapping[str, object]) -> Options:
    """The options of `firth run` for a model; unknown ones are refused."""
    known = {field.name for field in fields(kind)}
    for name in options:
        if name not in known:
            do = f"it takes {', '.join(f'--{option}'.replace('_', '-') for option in sorted(known))}"
            raise FirthError(f"this model has no --{name.replace('_', '-')}", do=do)
    return from_dict(kind, options)
