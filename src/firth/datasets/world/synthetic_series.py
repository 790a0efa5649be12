"""Synthetic time series, daily or hourly: trend, seasonality, covariates, noise and labelled anomalies, all known."""

from __future__ import annotations

from math import log, pi
from typing import NamedTuple

import numpy as np

from firth.datasets.records import Series
from firth.datasets.world.lexicon import LEXICON
from firth.datasets.world.scenes import choose
from firth.errors import FirthError
from firth.types import generator

STEPS = {"day": 86_400, "hour": 3_600}  # in seconds
SEASONS = {"day": (7, 365.25), "hour": (24, 168)}  # the short and the long period, in steps
MEASURES = {"sales in coins": (400, 6_000), "energy use in kilowatt hours": (50, 900), "visitors in hundreds": (2, 40)}
HOLIDAYS = ("01-01", "03-20", "05-01", "06-24", "09-22", "10-31", "12-24", "12-25", "12-26")
CLIMATES = {  # the mean temperature of a city and its yearly amplitude: how much warmer July is
    "Oslo": (6, 11),
    "Paris": (12, 8),
    "Rome": (16, 9),
    "Madrid": (15, 10),
    "Berlin": (10, 10),
    "Athens": (18, 10),
    "Cairo": (22, 8),
    "Nairobi": (19, -2),
    "Tokyo": (16, 11),
    "Delhi": (25, 9),
    "Lima": (19, -4),
    "Ottawa": (6, 16),
}
SEGMENT_LENGTH = 180  # steps with at most one anomaly
ANOMALIES = ("spike", "shift", "flat", "no season")


class Anomaly(NamedTuple):
    """An anomaly from `start` up to `end`."""

    kind: str
    start: int
    end: int


class SyntheticSeries(NamedTuple):
    """A series with its ground truth: values are sampled from normal distributions of `mean` and `sigma`."""

    series: Series
    mean: np.ndarray  # (time,), the sum of the components, without noise and anomalies
    sigma: np.ndarray  # (time,), the standard deviation of the noise
    components: dict[str, np.ndarray]  # level, trend, short and long season, temperature, holiday, event
    effects: dict[str, float]  # of one degree, of a holiday, of an event, and the decay of the event per step
    anomalies: tuple[Anomaly, ...]

    def log_likelihood(self) -> float:
        """The log density of all regular values: the upper bound of any forecast's expected log-likelihood."""
        regular = ~self.series.anomalous
        sigma = self.sigma[regular]
        error = (self.series.values[regular, 0] - self.mean[regular]) / sigma
        return float(-(error**2 / 2 + np.log(sigma) + log(2 * pi) / 2).sum())

    def irreducible_error(self) -> tuple[float, float]:
        """The irreducible mean absolute error (MAE) and root mean squared error (RMSE) on regular values."""
        sigma = self.sigma[~self.series.anomalous]
        return float(sigma.mean() * (2 / pi) ** 0.5), float((sigma**2).mean() ** 0.5)


def make_series(seed: int, index: int, length: int = 730, step: str = "") -> SyntheticSeries:
    """Series number `index`, daily or hourly (random by default); a longer one starts with the shorter one.

    The names of its random streams are part of the data and never change."""
    if length < 1:
        raise FirthError(f"a series of {length} steps", where="world", do="use 1 or more")
    if step and step not in STEPS:
        raise FirthError(f"unknown step {step!r}", where="world", do=f"use {' or '.join(STEPS)}")
    random = generator(seed, "series", index)
    random_step = choose(tuple(STEPS), random.random())
    step = step or random_step
    measure, city = choose(tuple(MEASURES), random.random()), choose(tuple(CLIMATES), random.random())
    name = f"{measure} of the {choose(LEXICON.jobs, random.random()).place} in {city}"
    level = float(np.exp(random.uniform(*np.log(MEASURES[measure]))))
    time = _times(random, length, step)
    covariates_by_name = _covariates(seed, index, time, step, city)
    components, effects = _components(random, time, step, covariates_by_name, CLIMATES[city][0], level)
    mean = np.sum(list(components.values()), axis=0)
    sigma = random.uniform(0.015, 0.045) * mean
    values = mean + sigma * generator(seed, "series noise", index).standard_normal(length)
    anomalies = _anomalies(seed, index, length, SEASONS[step][0])
    values, anomalous = _apply_anomalies(values, sigma, components["short"], anomalies, seed, index)
    columns = ("temperature", "holiday", "event")
    covariates = np.stack([covariates_by_name[column] for column in columns], axis=1)
    record = Series(name, time, values[:, None], (measure,), covariates, columns, anomalous)
    return SyntheticSeries(record, mean, sigma, components, effects, anomalies)


def _times(random: np.random.Generator, length: int, step: str) -> np.ndarray:
    """Timestamps from a random midnight of 2015 to 2019 on."""
    start = np.datetime64("2015-01-01", "s") + int(random.integers(5 * 365)) * STEPS["day"]
    return start + np.arange(length) * np.timedelta64(STEPS[step], "s")


def _covariates(seed: int, index: int, time: np.ndarray, step: str, city: str) -> dict[str, np.ndarray]:
    """The covariates: temperature, holidays (0 or 1) and the starts of events (0 or 1)."""
    mean, amplitude = CLIMATES[city]
    day = (time - time.astype("datetime64[Y]")) / np.timedelta64(STEPS["day"], "s")
    hour = (time - time.astype("datetime64[D]")) / np.timedelta64(STEPS["hour"], "s")
    autocorrelation = 0.97 if step == "hour" else 0.7  # AR(1): the weather persists for some days
    random = generator(seed, "series weather", index)
    weather = (
        _exponential_decay(random.standard_normal(len(time) + 200), autocorrelation)[200:]
        * 2.5
        * (1 - autocorrelation**2) ** 0.5
    )
    season = -amplitude * np.cos(2 * pi * (day - 15) / 365.25)  # mid-January is coldest
    daily_cycle = 4 * np.sin(2 * pi * (hour - 9) / 24) if step == "hour" else 0
    rate = STEPS[step] / STEPS["day"] / 45  # an event in 45 days
    events = generator(seed, "series events", index).random(len(time)) < rate
    date = time.astype("datetime64[D]").astype(str)
    return {
        "temperature": np.round(mean + season + weather + daily_cycle, 1),
        "holiday": np.isin([text[5:] for text in date], HOLIDAYS).astype(float),
        "event": events.astype(float),
    }


def _components(
    random: np.random.Generator,
    time: np.ndarray,
    step: str,
    covariates_by_name: dict[str, np.ndarray],
    mean_temperature: float,
    level: float,
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """The additive components of the mean and the effects of covariates; bounded so that the mean stays positive."""
    # Counted from a fixed Monday, so that seasons follow the calendar.
    clock = (time - np.datetime64("2015-01-05", "s")) / np.timedelta64(STEPS[step], "s")
    progress = np.arange(len(time)) / (2 * SEASONS[step][1])
    short, long = SEASONS[step]
    per_degree, holiday, event = random.uniform([-0.005, -0.15, 0.15], [0.005, 0.25, 0.45]) * level
    half_life = random.uniform(1.5, 6) * STEPS["day"] / STEPS[step]
    decay = float(0.5 ** (1 / half_life))
    components = {
        "level": np.full(len(time), level),
        "trend": level
        * random.uniform(-0.2, 0.4)
        * progress
        / (progress + 1),  # saturates, so that it stays in bounds
        "short": level * _season(random, clock / short, random.uniform(0.12, 0.2)),
        "long": level * _season(random, clock / long, random.uniform(0.08, 0.15)),
        "temperature": per_degree * (covariates_by_name["temperature"] - mean_temperature),
        "holiday": holiday * covariates_by_name["holiday"],
        "event": event * _exponential_decay(covariates_by_name["event"], decay),
    }
    effects = {"temperature": per_degree, "holiday": holiday, "event": event, "decay": decay}
    return components, {name: float(value) for name, value in effects.items()}


def _season(random: np.random.Generator, phase: np.ndarray, height: float) -> np.ndarray:
    """A periodic function of period 1 (three harmonics) within ± height."""
    harmonic_weights, phases = np.array([0.6, 0.3, 0.1]), random.random(3)
    waves = np.sin(2 * pi * (np.arange(1, 4)[:, None] * phase + phases[:, None]))  # (harmonics, time)
    return height * harmonic_weights @ waves


def _exponential_decay(impulses: np.ndarray, rate: float) -> np.ndarray:
    """The impulses filtered by an exponential decay: a fraction `rate` of the value is left after each step."""
    max_lag = min(len(impulses), int(np.ceil(log(1e-12) / log(rate))))
    return np.convolve(impulses, rate ** np.arange(max_lag))[: len(impulses)]


def _anomalies(seed: int, index: int, length: int, short: float) -> tuple[Anomaly, ...]:
    """One anomaly in about every third segment, away from its ends."""
    anomalies = []
    for segment in range(-(-length // SEGMENT_LENGTH)):
        random = generator(seed, "series anomaly", index, segment)
        present, kind = random.random() < 0.35, choose(ANOMALIES, random.random())
        span = {"spike": (1, 3), "shift": (12, 40), "flat": (6, 24), "no season": (2 * short, 3 * short)}[kind]
        start = segment * SEGMENT_LENGTH + 20 + int(random.integers(SEGMENT_LENGTH - 100))
        end = min(start + int(random.integers(*span)), length)
        anomalies += [Anomaly(kind, start, end)] if present and start < length else []
    return tuple(anomalies)


def _apply_anomalies(
    values: np.ndarray,
    sigma: np.ndarray,
    season: np.ndarray,
    anomalies: tuple[Anomaly, ...],
    seed: int,
    index: int,
) -> tuple[np.ndarray, np.ndarray]:
    """The values with the anomalies applied (in place), and the mask of anomalous steps."""
    anomalous = np.zeros(len(values), bool)
    for kind, start, end in anomalies:
        random = generator(seed, "series change", index, start)
        size = choose((-1, 1), random.random()) * random.uniform(6, 10) * sigma[start]
        if kind == "flat":
            values[start:end] = values[start - 1]
        elif kind == "no season":
            values[start:end] -= season[start:end]
        else:  # a spike or a shift: they differ in how long they last
            values[start:end] += size
        anomalous[start:end] = True
    return values, anomalous
