"""Training requests: a resolved configuration, its run folder and its progress reporter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TypeVar

from firth.config import from_dict, to_json
from firth.config.schema import System
from firth.errors import FirthError
from firth.runs.atomic_files import digest
from firth.runs.progress import Progress
from firth.runs.run_folder import Run

Options = TypeVar("Options")


@dataclass(frozen=True)
class TrainRequest:
    """A configuration to train, the run folder, the token cache, and the progress reporter."""

    preset: str
    config: System
    run: Run
    cache: Path
    progress: Progress

    @property
    def request_digest(self) -> str:
        """A digest of the configuration, which identifies the request in its folder."""
        return digest(to_json(self.config).encode())


def read_options(kind: type[Options], options: Mapping[str, object]) -> Options:
    """The options of `firth run` for a model; unknown ones are refused."""
    known = {field.name for field in fields(kind)}
    for name in options:
        if name not in known:
            do = f"it takes {', '.join(f'--{option}'.replace('_', '-') for option in sorted(known))}"
            raise FirthError(f"this model has no --{name.replace('_', '-')}", do=do)
    return from_dict(kind, options)
