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
    sample_every = 1  # one of so many documents or examples of its own splits is scored; 1: all

    def sampled(self, split: str) -> str:
        """The name of a split in signatures: `test`, or `test/8` of a sample of an eighth."""
        return f"{split}/{self.sample_every}" if self.sample_every > 1 else split

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
