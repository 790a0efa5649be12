"""Series of the little world: daily or hourly, made of known parts, with marked anomalies and the truth beside."""

from __future__ import annotations

from math import log, pi
from typing import NamedTuple

import numpy as np

from firth.data import randomness
from firth.data.records import Series
from firth.data.world.lexicon import LEXICON
from firth.data.world.shapes import pick
from firth.errors import FirthError

STEPS = {"day": 86_400, "hour": 3_600}  # in seconds
SEASONS = {"day": (7, 365.25), "hour": (24, 168)}  # the short and the long one, in steps
MEASURES = {"sales in coins": (400, 6_000), "energy use in kilowatt hours": (50, 900), "visitors in hundreds": (2, 40)}
HOLIDAYS = ("01-01", "03-20", "05-01", "06-24", "09-22", "10-31", "12-24", "12-25", "12-26")
CLIMATES = {  # the mean temperature of a city and how much warmer July is
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
STRETCH = 180  # steps in which there is one anomaly at most
ANOMALIES = ("spike", "shift", "flat", "no season")


class Anomaly(NamedTuple):
    """Something wrong from `start` up to `end`."""

    kind: str
    start: int
    end: int


class Made(NamedTuple):
    """A series and the truth about it: values are drawn from a normal distribution of `mean` and `sigma`."""

    series: Series
    mean: np.ndarray  # (time,), the sum of the parts, without noise and anomalies
    sigma: np.ndarray  # (time,), the standard deviation of the noise
    parts: dict[str, np.ndarray]  # level, trend, short, long, temperature, holiday, event
    effects: dict[str, float]  # of one degree, of a holiday, of an event, and its decay a step
    anomalies: tuple[Anomaly, ...]

    def log_likelihood(self) -> float:
        """The log-probability density of all regular values, which no forecast can beat in the mean."""
        regular = ~self.series.anomalous
        sigma = self.sigma[regular]
        error = (self.series.values[regular, 0] - self.mean[regular]) / sigma
        return float(-(error**2 / 2 + np.log(sigma) + log(2 * pi) / 2).sum())

    def least_error(self) -> tuple[float, float]:
        """The least expected absolute error and root of the mean squared error on regular values."""
        sigma = self.sigma[~self.series.anomalous]
        return float(sigma.mean() * (2 / pi) ** 0.5), float((sigma**2).mean() ** 0.5)


def series(seed: int, index: int, length: int = 730, step: str = "") -> Made:
    """Series number `index`, by day or by hour (by chance if not said); a longer one begins with the shorter one."""
    if length < 1:
        raise FirthError(f"a series of {length} steps", where="world", do="use 1 or more")
    if step and step not in STEPS:
        raise FirthError(f"unknown step {step!r}", where="world", do=f"use {' or '.join(STEPS)}")
    chance = randomness.generator(seed, "series", index)
    by_chance = pick(tuple(STEPS), chance.random())
    step = step or by_chance
    measure, city = pick(tuple(MEASURES), chance.random()), pick(tuple(CLIMATES), chance.random())
    name = f"{measure} of the {pick(LEXICON.jobs, chance.random()).place} in {city}"
    level = float(np.exp(chance.uniform(*np.log(MEASURES[measure]))))
    time = _times(chance, length, step)
    known = _covariates(seed, index, time, step, city)
    parts, effects = _parts(chance, time, step, known, CLIMATES[city][0], level)
    mean = np.sum(list(parts.values()), axis=0)
    sigma = chance.uniform(0.015, 0.045) * mean
    values = mean + sigma * randomness.generator(seed, "series noise", index).standard_normal(length)
    anomalies = _anomalies(seed, index, length, SEASONS[step][0])
    values, anomalous = _disturb(values, sigma, parts["short"], anomalies, seed, index)
    columns = ("temperature", "holiday", "event")
    covariates = np.stack([known[column] for column in columns], axis=1)
    shown = Series(name, time, values[:, None], (measure,), covariates, columns, anomalous)
    return Made(shown, mean, sigma, parts, effects, anomalies)


def _times(chance: np.random.Generator, length: int, step: str) -> np.ndarray:
    """Moments from some midnight of 2015 to 2019 on."""
    start = np.datetime64("2015-01-01", "s") + int(chance.integers(5 * 365)) * STEPS["day"]
    return start + np.arange(length) * np.timedelta64(STEPS[step], "s")


def _covariates(seed: int, index: int, time: np.ndarray, step: str, city: str) -> dict[str, np.ndarray]:
    """What is known beside the series: the temperature, holidays (0 or 1) and the starts of events (0 or 1)."""
    mean, swing = CLIMATES[city]
    day = (time - time.astype("datetime64[Y]")) / np.timedelta64(STEPS["day"], "s")
    hour = (time - time.astype("datetime64[D]")) / np.timedelta64(STEPS["hour"], "s")
    memory = 0.97 if step == "hour" else 0.7  # the weather stays for some days
    chance = randomness.generator(seed, "series weather", index)
    weather = _decay(chance.standard_normal(len(time) + 200), memory)[200:] * 2.5 * (1 - memory**2) ** 0.5
    season = -swing * np.cos(2 * pi * (day - 15) / 365.25)  # mid-January is coldest
    warmth = 4 * np.sin(2 * pi * (hour - 9) / 24) if step == "hour" else 0
    rate = STEPS[step] / STEPS["day"] / 45  # an event in 45 days
    events = randomness.generator(seed, "series events", index).random(len(time)) < rate
    date = time.astype("datetime64[D]").astype(str)
    return {
        "temperature": np.round(mean + season + weather + warmth, 1),
        "holiday": np.isin([text[5:] for text in date], HOLIDAYS).astype(float),
        "event": events.astype(float),
    }


def _parts(
    chance: np.random.Generator,
    time: np.ndarray,
    step: str,
    known: dict[str, np.ndarray],
    usual: float,
    level: float,
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """What the mean is the sum of, and the effects of what is known; bounded so that the mean stays above zero."""
    # Counted from a fixed Monday, so that seasons keep step with the calendar.
    clock = (time - np.datetime64("2015-01-05", "s")) / np.timedelta64(STEPS[step], "s")
    passed = np.arange(len(time)) / (2 * SEASONS[step][1])
    short, long = SEASONS[step]
    per_degree, holiday, event = chance.uniform([-0.005, -0.15, 0.15], [0.005, 0.25, 0.45]) * level
    half_life = chance.uniform(1.5, 6) * STEPS["day"] / STEPS[step]
    decay = float(0.5 ** (1 / half_life))
    parts = {
        "level": np.full(len(time), level),
        "trend": level * chance.uniform(-0.2, 0.4) * passed / (passed + 1),  # levels off, so that it stays in bounds
        "short": level * _season(chance, clock / short, chance.uniform(0.12, 0.2)),
        "long": level * _season(chance, clock / long, chance.uniform(0.08, 0.15)),
        "temperature": per_degree * (known["temperature"] - usual),
        "holiday": holiday * known["holiday"],
        "event": event * _decay(known["event"], decay),
    }
    effects = {"temperature": per_degree, "holiday": holiday, "event": event, "decay": decay}
    return parts, {name: float(value) for name, value in effects.items()}


def _season(chance: np.random.Generator, phase: np.ndarray, height: float) -> np.ndarray:
    """A smooth wave of period 1 that stays within ± height."""
    shares, turns = np.array([0.6, 0.3, 0.1]), chance.random(3)
    waves = np.sin(2 * pi * (np.arange(1, 4)[:, None] * phase + turns[:, None]))  # (harmonics, time)
    return height * shares @ waves


def _decay(starts: np.ndarray, keep: float) -> np.ndarray:
    """Each start and what is left of those before, the share `keep` a step."""
    longest = min(len(starts), int(np.ceil(log(1e-12) / log(keep))))
    return np.convolve(starts, keep ** np.arange(longest))[: len(starts)]


def _anomalies(seed: int, index: int, length: int, short: float) -> tuple[Anomaly, ...]:
    """In every third stretch or so one anomaly, well inside it."""
    found = []
    for stretch in range(-(-length // STRETCH)):
        chance = randomness.generator(seed, "series anomaly", index, stretch)
        there, kind = chance.random() < 0.35, pick(ANOMALIES, chance.random())
        span = {"spike": (1, 3), "shift": (12, 40), "flat": (6, 24), "no season": (2 * short, 3 * short)}[kind]
        start = stretch * STRETCH + 20 + int(chance.integers(STRETCH - 100))
        end = min(start + int(chance.integers(*span)), length)
        found += [Anomaly(kind, start, end)] if there and start < length else []
    return tuple(found)


def _disturb(
    values: np.ndarray,
    sigma: np.ndarray,
    season: np.ndarray,
    anomalies: tuple[Anomaly, ...],
    seed: int,
    index: int,
) -> tuple[np.ndarray, np.ndarray]:
    """The values with all anomalies done to them, and the marks of them."""
    anomalous = np.zeros(len(values), bool)
    for kind, start, end in anomalies:
        chance = randomness.generator(seed, "series change", index, start)
        size = pick((-1, 1), chance.random()) * chance.uniform(6, 10) * sigma[start]
        if kind == "flat":
            values[start:end] = values[start - 1]
        elif kind == "no season":
            values[start:end] -= season[start:end]
        else:  # a spike or a shift: they differ in how long they last
            values[start:end] += size
        anomalous[start:end] = True
    return values, anomalous
