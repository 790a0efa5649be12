"""Series: columns and their parts, times, what is missing, anomalies."""

import json
from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.datasets import numbered_lines
from firth.datasets.readers.series import SeriesTable
from firth.datasets.records import Series
from firth.errors import FirthError


@pytest.fixture
def read(tmp_path):
    def read(text, **options):
        path = tmp_path / "s.csv"
        path.write_text(text, encoding="utf-8")
        (result,) = SeriesTable(**options).read(path)
        return result

    return read


def test_columns_have_their_parts(read):
    text = "a,when,b,bad,c\n1,2024-01-31 12:30:00,2,0,x\n3,2024-02-01T00:00:00Z,4,1,y\n"
    result = read(text, time="when", values=("b",), covariates=("a",), label="bad")
    assert result.name == "s" and result.columns == ("b",) and result.covariate_columns == ("a",)
    assert result.time.tolist() == [datetime(2024, 1, 31, 12, 30), datetime(2024, 2, 1)]
    assert result.values.tolist() == [[2.0], [4.0]] and result.covariates.tolist() == [[1.0], [3.0]]
    assert result.anomalous.tolist() == [False, True] and result.values.dtype == np.float64


def test_all_other_columns_are_values_and_quotes_do_not_matter(read):
    result = read('"Month","x","y"\n"1949-01",1,"2.5"\n"1949-02",3,4\n')
    assert result.columns == ("x", "y") and result.values.tolist() == [[1, 2.5], [3, 4]]
    assert result.time.astype(str).tolist() == ["1949-01-01T00:00:00", "1949-02-01T00:00:00"]
    assert result.anomalous is None and result.covariates is None


def test_times_may_be_numbers_and_have_zones(read):
    assert read("t,x\n0.5,1\n2,1\n").time.tolist() == [0.5, 2.0]
    zoned = read("t,x\n2024-01-01 02:00:00+02:00,1\n2024-01-01 00:00:01Z,1\n")
    assert zoned.time.astype(int).tolist() == [1704067200, 1704067201]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t,x\n", "no row below the header"),
        ("t\n1\n", r"s\.csv:1: no column of values"),
        ("t,x,x\n1,2,3\n", r"s\.csv:1: two columns of the same name"),
        ("t,x\n1,2\n2\n", r"s\.csv:3: 1 column, expected 2; correct the line"),
        ("t,x\n1,2\n2,\n", r"s\.csv:3: x is missing; fill it, or read with missing=nan"),
        ("t,x\n1,2\n2,many\n", r"s\.csv:3: x = 'many': not a finite number"),
        ("t,x\n1,inf\n", "not a finite number"),
        ("t,x\n1,1e999\n", "not a finite number"),
        ("t,x\n1,1_000\n", "not a finite number"),
        ("t,x\n2024-01-01,1\n2024-13-01,2\n", r"s\.csv:3: time '2024-13-01' does not parse"),
        ("t,x\n2024-01-01,1\n5,2\n", r"s\.csv:3: time '5' does not parse"),
        ("t,x\n5,1\n2024-01-01,2\n", r"s\.csv:3: time '2024-01-01' does not parse"),
        ("t,x\n2024-01-01 00:00:00.5,1\n", "a fraction of a second"),
        ("t,x\n1,1\n3,1\n2,1\n", r"s\.csv:4: time 2\.0 is before 3\.0, which precedes it"),
        ("t,x\n1,1\n1,1\n", r"s\.csv:3: time 1\.0 occurs twice"),
        ('t,x\n"1,1\n', r"s\.csv:2: not CSV"),
    ],
)
def test_bad_series(read, text, message):
    with pytest.raises(FirthError, match=message):
        read(text)


def test_order_is_checked_made_or_kept(read):
    text = "t,x\n3,30\n1,10\n2,20\n"
    assert read(text, order="sort").values[:, 0].tolist() == [10, 20, 30]
    assert read(text, order="keep").time.tolist() == [3, 1, 2]
    with pytest.raises(FirthError, match=r"s\.csv:4: time 1\.0 occurs twice"):
        read("t,x\n1,1\n2,1\n1,1\n", order="sort")


def test_missing_values_become_nan(read):
    result = read("t,x\n1,\n2,NA\n3,nan\n4,5\n", missing="nan")
    assert np.isnan(result.values[:3]).all() and result.values[3] == 5


def test_options_name_columns_that_are_there(read):
    with pytest.raises(FirthError, match=r"unknown column 'valeu'.*did you mean 'value'"):
        read("t,value\n1,2\n", values=("valeu",))
    with pytest.raises(FirthError, match="two roles"):
        read("t,x\n1,2\n", values=("x",), covariates=("x",))
    with pytest.raises(FirthError, match=r"s\.csv:2: x = '3': not a label"):
        read("t,y,x\n1,2,3\n", label="x")


def test_anomalies_come_from_windows_and_points(read, tmp_path):
    times = [f"2024-01-01 0{hour}:00:00" for hour in range(6)]
    text = "t,x\n" + "".join(f"{time},1\n" for time in times)
    table = {"other.csv": [], "s.csv": [[times[1] + ".000000", times[2]], times[4]]}
    windows = tmp_path / "windows.json"
    windows.write_text(json.dumps(table))
    assert read(text, windows=str(windows)).anomalous.tolist() == [False, True, True, False, True, False]
    for bad, message in [
        ({"t.csv": []}, "nothing about .*s.csv; the nearest name is 't.csv'"),
        ([], "not a JSON object"),
        ({"s.csv": [[times[2], times[1]]]}, "a window ends before it begins"),
        ({"s.csv": [["x"]]}, "neither a time nor a window"),
        ({"s.csv": ["noon"]}, "time 'noon' does not parse"),
        ({"s.csv": 3}, "neither a time nor a window"),
    ]:
        windows.write_text(json.dumps(bad))
        with pytest.raises(FirthError, match=message):
            read(text, windows=str(windows))


steps = st.lists(st.integers(1, 10**6), min_size=1, max_size=6)
number = st.floats(allow_nan=False, allow_infinity=False) | st.just(float("nan"))


@settings(max_examples=40, deadline=None)
@given(st.data(), steps, st.booleans(), st.booleans())
def test_what_is_written_is_read_again(tmp_path_factory, data, gaps, clock, marked):
    moments = np.cumsum(gaps)
    time = np.array([datetime(1999, 1, 1) + timedelta(seconds=int(m)) for m in moments], "datetime64[s]")
    rows = st.lists(st.tuples(number, number), min_size=len(gaps), max_size=len(gaps))
    values, beside = np.array(data.draw(rows)), np.array(data.draw(rows))
    marks = np.array(data.draw(st.lists(st.booleans(), min_size=len(gaps), max_size=len(gaps)))) if marked else None
    made = Series("s", time if clock else moments / 3, values, ("x", "y"), beside, ("a", "b"), marks)
    path = tmp_path_factory.mktemp("s") / "s.csv"
    numbered_lines.save_lines(path, SeriesTable().rows([made]))
    form = SeriesTable(covariates=("a", "b"), label="anomalous" if marked else "", missing="nan")
    (result,) = form.read(path)
    for one, other in zip(result, made, strict=True):
        assert (one is None and other is None) or np.array_equal(
            one, other, equal_nan=np.asarray(one).dtype.kind == "f"
        )
    again = path.with_name("again.csv")
    numbered_lines.save_lines(again, SeriesTable().rows([result]))
    assert again.read_bytes() == path.read_bytes()


def test_a_file_holds_one_series():
    with pytest.raises(FirthError, match="0 series"):
        list(SeriesTable().rows([]))
