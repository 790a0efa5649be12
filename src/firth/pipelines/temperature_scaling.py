"""Temperature scaling of a network's probabilities (Guo et al. 2017): its logits are divided by a temperature that is
fitted on a split of its own, which neither trained the weights nor chose them. What is most probable stays so."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from firth.datasets import labelled_dataset
from firth.display import Table
from firth.metrics.calibration import MAX_TEMPERATURE, MIN_TEMPERATURE
from firth.metrics.error_analysis import ErrorAnalysis, Tables
from firth.metrics.score import Score, signature
from firth.pipelines.label_predictions import run_examples
from firth.runs.trained_model import TrainedModel

TEMPERATURE = "temperature"  # the score that a run stores; of a layer of tags `upos_temperature`
MAX_EXAMPLES = 1000  # that a temperature is fitted on
_CALIBRATION = "calibration"  # the split, and the name of the table of calibration errors


class TemperatureScaling(TrainedModel):
    """A model whose probabilities are calibrated if `data.calibration` is set."""

    config: Any

    @cached_property
    def temperatures(self) -> dict[str, float]:
        """The stored temperatures, by the name of their score; a model without any divides by 1."""
        names = {score["name"]: score["value"] for score in self.run.scores()}
        return {name: float(value) for name, value in names.items() if name.endswith(TEMPERATURE) and value}

    def temperature(self, layer: str = "") -> float:
        """What logits are divided by."""
        return self.temperatures.get(f"{layer}_{TEMPERATURE}" if layer else TEMPERATURE, 1.0)

    @abstractmethod
    def fit_temperatures(self, split: labelled_dataset.Split) -> dict[str, float]:
        """The temperatures that make what is gold most likely, by layer; without layers by the empty name."""

    def read_calibration(self) -> labelled_dataset.Split:
        """The split that calibrates."""
        return run_examples(self, _CALIBRATION)

    def calibrate(self) -> list[Score]:
        """Fit the temperatures, if the run has a split for it, and use them from now on; the scores store them."""
        if _CALIBRATION not in self.run.record.data["splits"]:
            return []
        split = self.read_calibration()
        split = replace(split, examples=split.examples[:MAX_EXAMPLES])
        self.temperatures = {}
        fitted = self.fit_temperatures(split)
        signed = signature({"fit": "nll", **split.signed_fields})
        scores = [Score(f"{layer}_{TEMPERATURE}" if layer else TEMPERATURE, t, signed) for layer, t in fitted.items()]
        self.temperatures = {score.name: float(score.value or 1.0) for score in scores}
        return scores

    def evaluate(self, *arguments: Any, **named: Any) -> Any:
        """The scores, and the temperatures if they are not stored yet."""
        fitted = [] if self.temperatures else self.calibrate()
        parent: Any = super()
        return Table([*parent.evaluate(*arguments, **named), *fitted])

    def error_analysis(self, *arguments: Any, **named: Any) -> ErrorAnalysis:
        """The analysis, with the calibration errors before and after temperature scaling."""
        parent: Any = super()
        analysis: ErrorAnalysis = parent.error_analysis(*arguments, **named)
        if not self.temperatures:
            return analysis
        calibrated, self.temperatures = self.temperatures, {}
        try:
            before = parent.error_analysis(*arguments, **named).tables
        finally:
            self.temperatures = calibrated
        return replace(analysis, tables=_with_comparison(analysis.tables, before, calibrated))


def _with_comparison(tables: Tables, before: Tables, temperatures: dict[str, float]) -> Tables:
    """The tables, each of calibration errors followed by one that compares them with those of before."""
    result: Tables = {}
    for name, table in tables.items():
        result[name] = table
        prefix, _, kind = name.rpartition(": ")
        if kind == _CALIBRATION:
            own = f"{prefix}_{TEMPERATURE}" if prefix else next(iter(temperatures))
            rows = [{"probabilities": "as trained", "temperature": 1.0, **before[name][0]},
                    {"probabilities": "calibrated", "temperature": temperatures[own], **table[0]}]  # fmt: skip
            shown = [{key: value for key, value in row.items() if key != "predictions"} for row in rows]
            result[name.replace(_CALIBRATION, "temperature scaling")] = Table(shown)
    return result


def best_temperature(loss: Callable[[float], float]) -> float:
    """The temperature with the lowest loss, which has one minimum."""
    low, high = np.log(MIN_TEMPERATURE), np.log(MAX_TEMPERATURE)
    minimum = minimize_scalar(lambda log: loss(float(np.exp(log))), bounds=(low, high), options={"xatol": 1e-3})
    return float(np.exp(minimum.x))
