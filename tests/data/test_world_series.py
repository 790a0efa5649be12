"""Series of the world: the truth told beside them is the truth, as regressions and residuals of the values show."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.data.world.lexicon import LEXICON
from firth.data.world.series import ANOMALIES, CLIMATES, HOLIDAYS, MEASURES, series
from firth.errors import FirthError

MADE = [series(5, index, length=1000) for index in range(60)]
PERIODS = {86_400: (7, 365.25), 3_600: (24, 168)}


def step(made):
    return int((made.series.time[1] - made.series.time[0]) / np.timedelta64(1, "s"))


def residuals(made):
    return (made.series.values[:, 0] - made.mean) / made.sigma


@given(st.integers(0, 2**63), st.integers(0, 10**9), st.integers(1, 500), st.sampled_from(["", "day", "hour"]))
@settings(max_examples=40, deadline=None)
def test_series_are_pure_and_a_longer_one_begins_with_the_shorter(seed, index, length, step):
    short, again, longer = (series(seed, index, n, step) for n in (length, length, length + 137))
    for one, other in zip(short.series, again.series, strict=True):
        assert np.array_equal(one, other)
    assert short.series.name == longer.series.name
    assert np.array_equal(short.series.time, longer.series.time[:length])
    assert np.allclose(short.series.values, longer.series.values[:length], rtol=1e-9)
    assert np.allclose(short.series.covariates, longer.series.covariates[:length])
    assert np.array_equal(short.series.anomalous, longer.series.anomalous[:length])
    assert np.allclose(short.mean, longer.mean[:length], rtol=1e-9)


def test_shapes_and_magnitudes():
    for made in MADE:
        shown = made.series
        assert shown.values.shape == (1000, 1)
        assert shown.values.dtype == np.float64
        assert shown.covariates.shape == (1000, len(shown.covariate_columns))
        assert shown.time.dtype == "datetime64[s]"
        assert len(set(np.diff(shown.time).tolist())) == 1
        low, high = MEASURES[shown.columns[0]]
        assert (shown.values > 0).all()
        assert low / 5 < shown.values.min() < shown.values.max() < 5 * high
        assert shown.name.startswith(shown.columns[0])
        assert -40 < shown.covariates[:, 0].min() < shown.covariates[:, 0].max() < 50
    assert {step(made) for made in MADE} == set(PERIODS)
    assert len({made.series.name for made in MADE}) > 50


def test_names_are_of_the_world():
    assert set(CLIMATES) <= {city.name for city in LEXICON.cities}
    places = {job.place for job in LEXICON.jobs}
    for made in MADE:
        place, city = made.series.name.split(" of the ")[1].split(" in ")
        assert place in places
        assert city in CLIMATES


def test_a_season_of_the_climate():
    """Long daily series: summer is warmer than winter in Oslo, colder in Lima."""
    seen = set()
    for index in range(80):
        made = series(9, index, 730, "day")
        city = made.series.name.split(" in ")[-1]
        month = made.series.time.astype("datetime64[M]").astype(int) % 12
        warmth = made.series.covariates[:, 0]
        mean, swing = CLIMATES[city]
        assert abs(warmth.mean() - mean) < 1.5
        assert (warmth[month == 6].mean() > warmth[month == 0].mean()) == (swing > 0)
        seen.add(city)
    assert {"Oslo", "Lima"} <= seen


def test_holidays_are_dates():
    for made in MADE:
        dates = made.series.time.astype("datetime64[D]").astype(str)
        wanted = [date[5:] in HOLIDAYS for date in dates]
        assert np.array_equal(made.series.covariates[:, 1], np.array(wanted, float))


def test_the_mean_is_the_sum_of_its_parts():
    for made in MADE:
        assert np.allclose(made.mean, sum(made.parts.values()))
        assert (made.mean > 0).all()
        assert (made.sigma > 0).all()
        short, long = PERIODS[step(made)]
        assert np.allclose(made.parts["short"][short:], made.parts["short"][:-short])
        if float(long).is_integer():
            assert np.allclose(made.parts["long"][int(long) :], made.parts["long"][: -int(long)])


def test_events_decay_as_told():
    for made in MADE:
        left, expected = 0.0, []
        for started in made.series.covariates[:, 2]:
            left = left * made.effects["decay"] + started
            expected.append(left * made.effects["event"])
        assert np.allclose(made.parts["event"], expected, atol=1e-9 * made.mean.mean())
    assert sum(made.series.covariates[:, 2].sum() for made in MADE) > 100


def test_a_regression_finds_the_effects():
    """Weighted least squares on regular values, with waves and covariates of its own making."""
    scores = []
    for made in MADE:
        time = np.arange(1000)
        waves = [f(2 * np.pi * k * time / p) for p in PERIODS[step(made)] for k in (1, 2, 3) for f in (np.sin, np.cos)]
        event = np.zeros(1000)
        for at in np.flatnonzero(made.series.covariates[:, 2]):
            event[at:] += made.effects["decay"] ** np.arange(1000 - at)
        grown = time / (2 * PERIODS[step(made)][1])
        columns = {"temperature": made.series.covariates[:, 0], "holiday": made.series.covariates[:, 1], "event": event}
        columns = {name: column for name, column in columns.items() if column.any()}
        table = np.stack([*columns.values(), np.ones(1000), grown / (grown + 1), *waves], axis=1)
        weight = ~made.series.anomalous / made.sigma
        found, *_ = np.linalg.lstsq(table * weight[:, None], made.series.values[:, 0] * weight, rcond=None)
        spread = np.sqrt(np.diag(np.linalg.pinv((table * weight[:, None]).T @ (table * weight[:, None]))))
        scores += [(found[k] - made.effects[name]) / spread[k] for k, name in enumerate(columns)]
    assert max(map(abs, scores)) < 5
    assert 0.7 < np.std(scores) < 1.3


def test_noise_is_of_the_sigma_told():
    rest = [residuals(made)[~made.series.anomalous] for made in MADE]
    pooled = np.concatenate(rest)
    assert abs(pooled.mean()) < 5 / len(pooled) ** 0.5
    assert abs(pooled.std() - 1) < 0.02
    assert abs(pooled).max() < 6
    assert abs(np.mean([np.mean(r[1:] * r[:-1]) for r in rest])) < 0.03  # no memory from step to step


def test_likelihood_and_least_errors():
    errors = []
    for made in MADE[:20]:
        regular = np.flatnonzero(~made.series.anomalous)
        told = [np.log(NormalDist(made.mean[t], made.sigma[t]).pdf(made.series.values[t, 0])) for t in regular]
        assert np.isclose(made.log_likelihood(), sum(told))
        absolute, squared = made.least_error()
        error = made.series.values[regular, 0] - made.mean[regular]
        errors.append((np.abs(error).mean() / absolute, np.sqrt((error**2).mean()) / squared))
    assert np.allclose(np.mean(errors, axis=0), 1, atol=0.03)


def test_anomalies_are_what_and_where_they_are_said_to_be():
    found = []
    for made in MADE:
        marks = np.zeros(1000, bool)
        values, z = made.series.values[:, 0], residuals(made)
        for kind, start, end in made.anomalies:
            assert not marks[start:end].any()
            assert 0 < start < end <= 1000
            marks[start:end] = True
            if kind == "flat":
                assert (values[start:end] == values[start - 1]).all()
            elif kind == "no season":
                rest = z[start:end] + (made.parts["short"] / made.sigma)[start:end]
                assert abs(rest).max() < 5
                assert (np.abs(z[start:end]) > 2).mean() > 0.2
            else:
                assert abs(z[start]) > 2.5
                assert abs(z[start:end].mean()) > 2.5
            found.append(kind)
        assert np.array_equal(marks, made.series.anomalous)
    assert set(found) == set(ANOMALIES)
    assert 0.005 < np.mean([made.series.anomalous.mean() for made in MADE]) < 0.12


def test_what_cannot_be_is_refused():
    with pytest.raises(FirthError, match="use 1 or more"):
        series(1, 0, 0)
    with pytest.raises(FirthError, match="use day or hour"):
        series(1, 0, 10, "week")
