"""Tables: bytes in and out, headers, quotes against Python's csv module, JSON lines."""

from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.datasets import numbered_lines
from firth.datasets.readers import FORMATS, format_name, get_format, guess
from firth.datasets.readers.tables import Json, JsonLines, Table
from firth.datasets.records import Row
from firth.errors import FirthError

TSV, CSV, JSONL = FORMATS["tsv"], FORMATS["csv"], FORMATS["jsonl"]


def read(path, text, form, **more):
    path.write_bytes(text.encode())
    return list(form.read(path, **more))


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ('text\tlabel\ngood "film\tyes\n\tno\n', TSV),
        ("a good film\t1\r\nbad\t0", TSV),
        ("a\tb\tc\nd\te\tf\tg\th\n", Table(columns=("x", "y", "z"), extra="keep")),
        ('\ufeffid,text\n1,"one, two"\n2,"a ""b""\nc"\n', CSV),
        ('id,text\r\n1,"two\r\nlines"\r\n', CSV),
        ("a|b\nc|d\n", Table(separator="bar", header="no")),
        (
            '{"text": "naïve \\"x\\"", "n": 3, "list": [1, {"a": null}]}\n{"text": "", "n": -1.5, "list": []}\n',
            JSONL,
        ),
        ('{"text": "na\\u00efve"}\n', JsonLines(ascii="yes")),
    ],
)
def test_bytes_come_back(tmp_path, text, form):
    old, new = tmp_path / "a", tmp_path / "b"
    old.write_bytes(text.encode())
    numbered_lines.save_lines(new, form.rows(form.read(old)), numbered_lines.detect_line_format(old))
    assert new.read_bytes() == old.read_bytes()


@pytest.mark.parametrize(
    ("first", "header"),
    [
        ("index\tsentence1\tsentence2\tlabel", True),
        ("Quality\t#1 ID\t#2 ID\t#1 String\t#2 String", True),
        ("\tcategory\tword", True),
        ("pair_ID\tsentence_A", True),
        ("Go.\tVa !", False),
        ("tiger\tcat\t7.35", False),
        ("a sentence about it\t1", False),
        ("text", True),
        ("tent", False),
        ("the text", False),
    ],
)
def test_headers_are_detected_by_their_names(tmp_path, first, header):
    result = read(tmp_path / "a", f"{first}\n{first.replace('e', 'x')}\n", TSV)
    assert len(result) == 2 - header and result[0].names == (tuple(first.split("\t")) if header else ())


def test_names_come_from_the_columns_or_the_header(tmp_path):
    text = "label\ttext\nx\ty\n"
    assert read(tmp_path / "a", text, TSV) == [Row(("x", "y"), 2, ("label", "text"))]
    assert read(tmp_path / "a", text, Table(header="yes", columns=("a", "b"))) == [Row(("x", "y"), 2, ("a", "b"))]
    assert len(read(tmp_path / "a", text, Table(header="no"))) == 2
    with pytest.raises(FirthError, match=":1: the first line is a header; set header=yes"):
        read(tmp_path / "a", text, Table(columns=("label", "text")))


BAD = [
    ("a\tb\nc\n", TSV, ":2: 1 column, expected 2"),
    ("a\tb\nc\td\te\n", TSV, ":2: 3 columns, expected 2; set extra=keep"),
    ("a\tb\n\n", TSV, ":2: an empty line (1 column, expected 2)"),
    ("a\tb\n", Table(columns=("x",)), ":1: 2 columns, expected 1"),
    ("id\tid\n1\t2\n", TSV, ":1: two columns 'id'"),
    ("id\ttext\n", TSV, ": no rows in it"),
    ("id\ttext\n1\t2\n", Table(header="yes", columns=("x",)), ":1: a header of 2 columns, but 1 are named"),
    ('a,b\nc,"d\ne,f\n', CSV, ":2: an unclosed quote"),
    ('{"a": 1}\n[1]\n', JSONL, ":2: not an object"),
    ('{"a": 1}\n{"a": }\n', JSONL, ":2: not JSON"),
    ('{"a": 1}\n{"b": 1}\n', JSONL, ":2: no key 'a'"),
    ('{"a": 1}\n{"a": 1, "b": 1}\n', JSONL, ":2: a further key 'b'"),
    ('{"a": 1, "a": 2}\n', JSONL, ":1: not JSON: a key occurs twice"),
    ('{"a": NaN}\n', JSONL, ":1: not JSON"),
    ('{"a": 1e400}\n', JSONL, ":1: not JSON: 1e400 is too large for a number"),
    ('{"a": [{"b": -1e400}]}\n', JSONL, ":1: not JSON: -1e400 is too large for a number"),
    ('{"a": 1}\n\n', JSONL, ":2: an empty line; remove it"),
    ('{"a": "\\ud800"}\n', JSONL, ":1: half of a surrogate pair"),
    ('{"a": ' + "[" * 100_000 + "\n", JSONL, ":1: JSON nested too deeply"),
    ('{"a": ' + "9" * 10_000 + "}\n", JSONL, ":1: not JSON"),
]


@pytest.mark.parametrize(("text", "form", "message"), BAD)
def test_bad_input_names_its_line(tmp_path, text, form, message):
    with pytest.raises(FirthError) as error:
        read(tmp_path / "a", text, form)
    assert f"/a{message}" in str(error.value) and "\n" not in str(error.value)


def test_faults_are_reported_and_the_rest_is_read(tmp_path):
    faults = []
    assert len(read(tmp_path / "a", "a\tb\nc\nd\te\nf\tg\th\n", TSV, report=faults.append)) == 2
    assert [fault.where.rpartition(":")[2] for fault in faults] == ["2", "4"]
    faults.clear()
    assert len(read(tmp_path / "a", '{"a": 1}\n{\n{"a": 2}\n', JSONL, report=faults.append)) == 2 and len(faults) == 1


cells = st.lists(st.text(alphabet='ab",\n é', max_size=5), min_size=2, max_size=2)


@settings(max_examples=100, deadline=None)
@given(st.lists(cells, min_size=1, max_size=4))
def test_csv_is_what_python_writes_and_reads(tmp_path_factory, table):
    path, form = tmp_path_factory.getbasetemp() / "a.csv", Table(separator=",", quotes="csv", header="no")
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator="\n").writerows(table)
    path.write_bytes(buffer.getvalue().encode())
    assert [list(row.values) for row in form.read(path)] == table
    numbered_lines.save_lines(path, form.rows([Row(tuple(row)) for row in table]))
    assert list(csv.reader(io.StringIO(path.read_bytes().decode(), newline=""))) == table


values = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.lists(st.text(), max_size=2)
)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.builds(lambda one, two: {"b": one, "ä": two}, values, values), min_size=1, max_size=3))
def test_json_lines_are_what_python_writes(tmp_path_factory, given):
    path = tmp_path_factory.getbasetemp() / "a.jsonl"
    try:
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in given).encode()
    except UnicodeEncodeError:
        return
    if b"\0" in text[:8192]:
        return
    path.write_bytes(text)
    result = list(JSONL.read(path))
    assert [row.values[0] if not isinstance(row.values[0], Json) else json.loads(row.values[0]) for row in result] == [
        r["b"] for r in given
    ]
    assert ("\n".join(JSONL.rows(result)) + "\n").encode() == text


def test_what_could_not_be_read_again_is_not_written():
    for value in ("a\tb", "a\nb"):
        with pytest.raises(FirthError, match="write csv or jsonl"):
            list(TSV.rows([Row((value, "c"))]))


def test_names_settings_and_guesses(tmp_path):
    assert get_format("csv", ["columns=a,b", "separator=semicolon"]) == Table("semicolon", ("a", "b"), quotes="csv")
    assert format_name(get_format("csv", ["columns=a"])) == "csv" and format_name(Table(columns=("a",))) == "tsv"
    with pytest.raises(FirthError, match="unknown format 'cvs'; did you mean 'csv'"):
        get_format("cvs")
    with pytest.raises(FirthError, match="did you mean 'columns'"):
        get_format("tsv", ["column=a"])
    with pytest.raises(FirthError, match="separator"):
        list(get_format("tsv", ["separator="]).rows([Row(("a",))]))
    samples = {
        "a.tsv": ("a\tb\n", "tsv"), "a.csv": ("a,b\n", "csv"), "tabs.csv": ("a\tb\n", "tsv"),
        "a.jsonl": ("{}\n", "jsonl"), "x6": ("a\tb\nc\td\n", "tsv"),
        "x1": ('{"a": 1}\n', "jsonl"), "x2": ("(S (X a))\n", "trees"), "x3": ("__label__a b\n", "labels"),
        "x4": ("1\ta" + "\t_" * 8 + "\n", "conllu"), "x5": ("a X\nb Y\n\nc X\n", "columns"),
        "x7": ("Plain text, and more.\nYes.\n", "text"), "x8.txt": (": section\na b c d\n", "analogy"),
    }  # fmt: skip
    for name, (text, wanted) in samples.items():
        (tmp_path / name).write_text(text)
        assert format_name(guess(tmp_path / name)) == wanted, name


@settings(max_examples=100, deadline=None)
@given(
    st.binary(max_size=120) | st.text(alphabet='ab",\t\n\r {}:1', max_size=60).map(str.encode),
    st.sampled_from([TSV, CSV, JSONL]),
)
def test_only_errors_meant_for_users(tmp_path_factory, content, form):
    path = tmp_path_factory.getbasetemp() / "fuzz.table"
    path.write_bytes(content)
    try:
        assert len({len(row.values) for row in form.read(path)}) == 1
    except FirthError as error:
        assert "\n" not in str(error)


@given(st.from_regex(r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?", fullmatch=True))
@settings(max_examples=100, deadline=None)
def test_numbers_of_json_are_kept_as_they_are_written(tmp_path_factory, number):
    path = tmp_path_factory.getbasetemp() / "numbers.jsonl"
    path.write_text(f'{{"a": {number}}}\n')
    (row,) = JSONL.read(path)
    assert row.values == (number,) and isinstance(row.values[0], Json)
    assert "\n".join(JSONL.rows([row])) + "\n" == path.read_text()


@pytest.mark.parametrize(
    ("name", "text", "cells"),
    [
        ("a.csv", 'text;label\n"one; two";x\nthree, four;y\n', ("one; two", "x")),
        ("a.csv", "text\tlabel\none\tx\n", ("one", "x")),
        ("a.tsv", '"text"\t"label"\n"say ""so"""\t"x"\n', ('say "so"', "x")),
        ("a.tsv", 'text\tlabel\n"open\tx\n', ('"open', "x")),
        ("a.csv", "text\none; two\nthree\nfour; five; six\n", ("one; two",)),
    ],
)
def test_separators_and_quotes_are_those_of_the_file(tmp_path, name, text, cells):
    (tmp_path / name).write_text(text)
    assert next(guess(tmp_path / name).read(tmp_path / name)).values == cells
