"""Synthetic series of the world: their ground truth is confirmed by regressions and residuals of the values."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.datasets.world.lexicon import LEXICON
from firth.datasets.world.synthetic_series import ANOMALIES, CLIMATES, HOLIDAYS, MEASURES, make_series
from firth.errors import FirthError

SERIES = [make_series(5, index, length=1000) for index in range(60)]
PERIODS = {86_400: (7, 365.25), 3_600: (24, 168)}


def step(synthetic):
    return int((synthetic.series.time[1] - synthetic.series.time[0]) / np.timedelta64(1, "s"))


def residuals(synthetic):
    return (synthetic.series.values[:, 0] - synthetic.mean) / synthetic.sigma


@given(st.integers(0, 2**63), st.integers(0, 10**9), st.integers(1, 500), st.sampled_from(["", "day", "hour"]))
@settings(max_examples=40, deadline=None)
def test_series_are_pure_and_a_longer_one_begins_with_the_shorter(seed, index, length, step):
    short, again, longer = (make_series(seed, index, n, step) for n in (length, length, length + 137))
    for one, other in zip(short.series, again.series, strict=True):
        assert np.array_equal(one, other)
    assert short.series.name == longer.series.name
    assert np.array_equal(short.series.time, longer.series.time[:length])
    assert np.allclose(short.series.values, longer.series.values[:length], rtol=1e-9)
    assert np.allclose(short.series.covariates, longer.series.covariates[:length])
    assert np.array_equal(short.series.anomalous, longer.series.anomalous[:length])
    assert np.allclose(short.mean, longer.mean[:length], rtol=1e-9)


def test_shapes_and_magnitudes():
    for synthetic in SERIES:
        record = synthetic.series
        assert record.values.shape == (1000, 1)
        assert record.values.dtype == np.float64
        assert record.covariates.shape == (1000, len(record.covariate_columns))
        assert record.time.dtype == "datetime64[s]"
        assert len(set(np.diff(record.time).tolist())) == 1
        low, high = MEASURES[record.columns[0]]
        assert (record.values > 0).all()
        assert low / 5 < record.values.min() < record.values.max() < 5 * high
        assert record.name.startswith(record.columns[0])
        assert -40 < record.covariates[:, 0].min() < record.covariates[:, 0].max() < 50
    assert {step(synthetic) for synthetic in SERIES} == set(PERIODS)
    assert len({synthetic.series.name for synthetic in SERIES}) > 50


def test_names_are_of_the_world():
    assert set(CLIMATES) <= {city.name for city in LEXICON.cities}
    places = {job.place for job in LEXICON.jobs}
    for synthetic in SERIES:
        place, city = synthetic.series.name.split(" of the ")[1].split(" in ")
        assert place in places
        assert city in CLIMATES


def test_a_season_of_the_climate():
    """Long daily series: summer is warmer than winter in Oslo, colder in Lima."""
    seen = set()
    for index in range(80):
        synthetic = make_series(9, index, 730, "day")
        city = synthetic.series.name.split(" in ")[-1]
        month = synthetic.series.time.astype("datetime64[M]").astype(int) % 12
        warmth = synthetic.series.covariates[:, 0]
        mean, swing = CLIMATES[city]
        assert abs(warmth.mean() - mean) < 1.5
        assert (warmth[month == 6].mean() > warmth[month == 0].mean()) == (swing > 0)
        seen.add(city)
    assert {"Oslo", "Lima"} <= seen


def test_holidays_are_dates():
    for synthetic in SERIES:
        dates = synthetic.series.time.astype("datetime64[D]").astype(str)
        wanted = [date[5:] in HOLIDAYS for date in dates]
        assert np.array_equal(synthetic.series.covariates[:, 1], np.array(wanted, float))


def test_the_mean_is_the_sum_of_its_components():
    for synthetic in SERIES:
        assert np.allclose(synthetic.mean, sum(synthetic.components.values()))
        assert (synthetic.mean > 0).all()
        assert (synthetic.sigma > 0).all()
        short, long = PERIODS[step(synthetic)]
        assert np.allclose(synthetic.components["short"][short:], synthetic.components["short"][:-short])
        if float(long).is_integer():
            assert np.allclose(synthetic.components["long"][int(long) :], synthetic.components["long"][: -int(long)])


def test_events_decay_at_the_stated_rate():
    for synthetic in SERIES:
        left, expected = 0.0, []
        for started in synthetic.series.covariates[:, 2]:
            left = left * synthetic.effects["decay"] + started
            expected.append(left * synthetic.effects["event"])
        assert np.allclose(synthetic.components["event"], expected, atol=1e-9 * synthetic.mean.mean())
    assert sum(synthetic.series.covariates[:, 2].sum() for synthetic in SERIES) > 100


def test_a_regression_finds_the_effects():
    """Weighted least squares on regular values, with waves and covariates of its own making."""
    scores = []
    for synthetic in SERIES:
        time = np.arange(1000)
        waves = [
            f(2 * np.pi * k * time / p) for p in PERIODS[step(synthetic)] for k in (1, 2, 3) for f in (np.sin, np.cos)
        ]
        event = np.zeros(1000)
        for at in np.flatnonzero(synthetic.series.covariates[:, 2]):
            event[at:] += synthetic.effects["decay"] ** np.arange(1000 - at)
        grown = time / (2 * PERIODS[step(synthetic)][1])
        columns = {
            "temperature": synthetic.series.covariates[:, 0],
            "holiday": synthetic.series.covariates[:, 1],
            "event": event,
        }
        columns = {name: column for name, column in columns.items() if column.any()}
        table = np.stack([*columns.values(), np.ones(1000), grown / (grown + 1), *waves], axis=1)
        weight = ~synthetic.series.anomalous / synthetic.sigma
        found, *_ = np.linalg.lstsq(table * weight[:, None], synthetic.series.values[:, 0] * weight, rcond=None)
        spread = np.sqrt(np.diag(np.linalg.pinv((table * weight[:, None]).T @ (table * weight[:, None]))))
        scores += [(found[k] - synthetic.effects[name]) / spread[k] for k, name in enumerate(columns)]
    assert max(map(abs, scores)) < 5
    assert 0.7 < np.std(scores) < 1.3


def test_noise_has_the_stated_sigma():
    rest = [residuals(synthetic)[~synthetic.series.anomalous] for synthetic in SERIES]
    pooled = np.concatenate(rest)
    assert abs(pooled.mean()) < 5 / len(pooled) ** 0.5
    assert abs(pooled.std() - 1) < 0.02
    assert abs(pooled).max() < 6
    assert abs(np.mean([np.mean(r[1:] * r[:-1]) for r in rest])) < 0.03  # no memory from step to step


def test_likelihood_and_irreducible_errors():
    errors = []
    for synthetic in SERIES[:20]:
        regular = np.flatnonzero(~synthetic.series.anomalous)
        told = [
            np.log(NormalDist(synthetic.mean[t], synthetic.sigma[t]).pdf(synthetic.series.values[t, 0]))
            for t in regular
        ]
        assert np.isclose(synthetic.log_likelihood(), sum(told))
        absolute, squared = synthetic.irreducible_error()
        error = synthetic.series.values[regular, 0] - synthetic.mean[regular]
        errors.append((np.abs(error).mean() / absolute, np.sqrt((error**2).mean()) / squared))
    assert np.allclose(np.mean(errors, axis=0), 1, atol=0.03)


def test_anomalies_are_of_the_stated_kind_and_span():
    found = []
    for synthetic in SERIES:
        marks = np.zeros(1000, bool)
        values, z = synthetic.series.values[:, 0], residuals(synthetic)
        for kind, start, end in synthetic.anomalies:
            assert not marks[start:end].any()
            assert 0 < start < end <= 1000
            marks[start:end] = True
            if kind == "flat":
                assert (values[start:end] == values[start - 1]).all()
            elif kind == "no season":
                rest = z[start:end] + (synthetic.components["short"] / synthetic.sigma)[start:end]
                assert abs(rest).max() < 5
                assert (np.abs(z[start:end]) > 2).mean() > 0.2
            else:
                assert abs(z[start]) > 2.5
                assert abs(z[start:end].mean()) > 2.5
            found.append(kind)
        assert np.array_equal(marks, synthetic.series.anomalous)
    assert set(found) == set(ANOMALIES)
    assert 0.005 < np.mean([synthetic.series.anomalous.mean() for synthetic in SERIES]) < 0.12


def test_what_cannot_be_is_refused():
    with pytest.raises(FirthError, match="use 1 or more"):
        make_series(1, 0, 0)
    with pytest.raises(FirthError, match="use day or hour"):
        make_series(1, 0, 10, "week")
