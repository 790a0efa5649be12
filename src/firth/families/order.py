"""What is asked of a family: train this, there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from firth.config import to_json
from firth.config.schema import System
from firth.runs.files import digest
from firth.runs.folder import Run
from firth.runs.progress import Progress


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
