"""What is asked of a family: train this, there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TypeVar

from firth.config import from_dict, to_json
from firth.config.schema import System
from firth.errors import FirthError
from firth.runs.files import digest
from firth.runs.folder import Run
from firth.runs.progress import Progress

Options = TypeVar("Options")


@dataclass(frozen=True)
class Order:
    """A configuration, the folder to train it in, and whom to tell."""

    preset: str
    config: System
    run: Run
    cache: Path
    progress: Progress

    @property
    def asked(self) -> str:
        """What tells this order from another in the same folder."""
        return digest(to_json(self.config).encode())


def read_options(kind: type[Options], given: Mapping[str, object]) -> Options:
    """The options of `firth run` that a model knows; others are refused."""
    known = {field.name for field in fields(kind)}
    for name in given:
        if name not in known:
            do = f"it takes {', '.join(f'--{option}'.replace('_', '-') for option in sorted(known))}"
            raise FirthError(f"this model has no --{name.replace('_', '-')}", do=do)
    return from_dict(kind, given)
