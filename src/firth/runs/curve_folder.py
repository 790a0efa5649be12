"""The folder of a learning curve: its settings, its runs, the result of each; and the curve itself. No torch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from firth.display import Table
from firth.errors import FirthError
from firth.metrics.ladder_metric import METRICS, LadderMetric
from firth.metrics.power_law import PowerLaw
from firth.runs import atomic_files, json_files
from firth.runs.gate import Gate
from firth.runs.json_files import Natural

_DO = "delete the folder and give the same command again"


@dataclass(frozen=True)
class CurveRun:
    """One training: its fraction and subset, its examples, and the counts of the metric for each test item."""

    fraction: float
    subset: Natural
    examples: Natural
    seconds: float
    metric: str
    counts: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class CurvePoint:
    """The score with so many examples: the mean of the runs, and its 95 % interval over test items and runs. Of
    examples that are not there it is extrapolated."""

    examples: int
    runs: int  # 0: extrapolated
    score: float
    low: float
    high: float
    fitted: float  # by the power law
    seconds: float = 0.0  # of all runs
    gain: float | None = None  # of an extrapolated point: what more examples bring, by the power law
    gain_low: float | None = None
    gain_high: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class LearningCurve:
    """A learning curve, as `firth.learning_curve` returns it."""

    path: Path
    preset: str
    metric: LadderMetric
    item: str  # of the test split
    items: int
    points: Table[CurvePoint]  # those that were trained, then 2 and 4 times as many examples
    law: PowerLaw  # of the error, 1 − score

    @property
    def report(self) -> Path:
        """The page."""
        return self.path / "report.html"

    @property
    def sentence(self) -> str:
        """What twice as many examples would bring, for people."""
        twice, four = self.points[len(self.trained) :]
        parts = []
        for point, word in ((twice, "twice"), (four, "four times")):
            gain, low, high = (
                self.metric.format(value or 0.0, signed=True, unit=False)
                for value in (point.gain, point.gain_low, point.gain_high)
            )
            parts.append(f"{word} as many examples ({point.examples:,}): {gain} points (95% interval {low} to {high})")
        return f"expected {self.metric.name} with {parts[0]}; with {parts[1]}"

    @property
    def trained(self) -> list[CurvePoint]:
        """The points that are not extrapolated."""
        return [point for point in self.points if point.runs]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "path": str(self.path), "report": str(self.report), "preset": self.preset, "metric": self.metric.name,
            self.item + "s": self.items, "points": self.points.to_dicts(), "power_law": asdict(self.law),
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"LearningCurve({str(self.path)!r})\n{self.points!r}\n{self.sentence}"


@dataclass(frozen=True)
class CurveFolder:
    """The files of a learning curve: its settings, its runs, the result of each, the report."""

    path: Path

    @property
    def gate(self) -> Gate:
        """The gate of the folder."""
        return Gate(self.path)

    def begin(self, settings: Mapping[str, Any]) -> None:
        """Write the settings; an error if there is another curve, or something else."""
        content = (json.dumps(settings, indent=2, sort_keys=True) + "\n").encode()
        if self.gate.exists("curve.json"):
            if json_files.read(self.gate, "curve.json", dict[str, Any], _DO) != json.loads(content):
                raise FirthError("another learning curve is in this folder", where=self.path, do="choose another --out")
            return
        if self.path.exists() and any(not entry.name.startswith(".") for entry in self.path.iterdir()):
            raise FirthError("this folder has other files in it", where=self.path, do="choose another --out")
        atomic_files.make_folder(self.path)
        self.gate.replace("curve.json", content)

    def run_folder(self, name: str) -> Path:
        """The run folder of a training."""
        self.gate.make_folder("runs")
        self.gate.names(f"runs/{name}")
        return self.path / "runs" / name

    def read(self, name: str) -> CurveRun | None:
        """The result of a training, if it is done."""
        if not self.gate.exists(f"results/{name}.json"):
            return None
        run: CurveRun = json_files.read(self.gate, f"results/{name}.json", CurveRun, _DO)
        if run.metric not in METRICS or not run.counts:
            raise FirthError("damaged", where=self.path / f"results/{name}.json", do=_DO)
        return run

    def save(self, name: str, run: CurveRun) -> None:
        """Save the result of a training."""
        self.gate.make_folder("results")
        self.gate.replace(f"results/{name}.json", (json.dumps(asdict(run)) + "\n").encode())

    def write_report(self, page: str) -> None:
        """Write report.html."""
        self.gate.replace("report.html", page.encode("utf-8", "replace"))
