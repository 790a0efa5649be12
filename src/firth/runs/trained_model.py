"""The base of every model that is loaded from a run folder."""

from __future__ import annotations

from firth.runs.run_folder import Run


class TrainedModel:
    """A trained model and its run."""

    run: Run

    def __repr__(self) -> str:
        return f"{type(self).__name__}(preset={self.run.record.preset!r}, run={str(self.run.path)!r})"
