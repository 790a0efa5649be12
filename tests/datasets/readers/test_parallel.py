"""Parallel files, columns and alignments."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.datasets import compression, numbered_lines
from firth.datasets.readers.parallel import Alignments, Parallel, links
from firth.datasets.readers.plain_text import PlainText
from firth.datasets.records import Alignment, Pair, Row
from firth.errors import FirthError

cell = st.text(st.characters(blacklist_characters="\t\n\r\ufeff", blacklist_categories=["Cs", "Cc"]), max_size=6)


def files(folder, *texts):
    paths = [folder / f"{name}.txt" for name in "abc"[: len(texts)]]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8", newline="")
    return paths


def test_two_files_give_pairs_and_three_give_rows(tmp_path):
    paths = files(tmp_path, "x\n\n", "y\nw", "z\nv\n")
    assert list(Parallel().read(paths[:2])) == [Pair("x", "y", line=1), Pair("", "w", line=2)]
    assert list(Parallel().read(paths)) == [Row(("x", "y", "z"), 1), Row(("", "w", "v"), 2)]


def test_unequal_files_say_how_many_lines_each_has(tmp_path):
    paths = files(tmp_path, "x\n" * 5, "y\n" * 3, "z\n" * 4)
    with pytest.raises(FirthError, match=r"b\.txt:3: it ends after 3 lines, but .*a\.txt has 5 and .*c\.txt has 4"):
        list(Parallel().read(paths))


def test_one_file_is_not_enough(tmp_path):
    with pytest.raises(FirthError, match="at least two"):
        list(Parallel().read(files(tmp_path, "x\n")))


def test_empty_sides_are_kept_or_refused(tmp_path):
    paths = files(tmp_path, "x\n \n", "y\nw\n")
    assert len(list(Parallel().read(paths))) == 2
    with pytest.raises(FirthError, match=r"a\.txt:2: an empty side"):
        list(Parallel(empty="refuse").read(paths))


def test_columns_must_stay_as_many(tmp_path):
    (path,) = files(tmp_path, "a\tb\nc\td\te\nf\n")
    reported = []
    assert list(Parallel().read(path, reported.append)) == [Pair("a", "b", line=1)]
    assert [str(error) for error in reported] == [
        f"{path}:2: 3 columns, expected 2; correct the line", f"{path}:3: 1 column, expected 2; correct the line",
    ]  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(cell, cell), min_size=1, max_size=6), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_columns_and_files_come_back(tmp_path_factory, pairs, newline, closed):
    folder = tmp_path_factory.mktemp("p")
    path, again = folder / "p.tsv", folder / "again.tsv"
    numbered_lines.save_lines(path, ["\t".join(pair) for pair in pairs], numbered_lines.LineFormat(newline, closed))
    result = list(Parallel().read(path))
    assert [(pair.left, pair.right) for pair in result] == pairs
    numbered_lines.save_lines(again, Parallel().rows(result), numbered_lines.LineFormat(newline, closed))
    assert again.read_bytes() == path.read_bytes()
    sides = Parallel().sides(result)
    assert list(zip(*sides, strict=True)) == pairs


def test_what_a_column_cannot_hold_is_not_written():
    with pytest.raises(FirthError, match="a tab"):
        list(Parallel().rows([Pair("a\tb", "c")]))


@given(st.lists(st.lists(st.tuples(st.integers(0, 10**8), st.integers(0, 99)), max_size=5), max_size=5))
def test_alignments_come_back(result):
    records = [Alignment(tuple(pairs)) for pairs in result]
    assert [links(row) for row in Alignments().rows(records)] == [record.links for record in records]


@pytest.mark.parametrize("bad", ["0-", "0", "a-b", "0-0-0", "²-1", "0--1", "9" * 5000 + "-1"])
def test_a_bad_link_has_its_line(tmp_path, bad):
    (path,) = files(tmp_path, f"0-0 1-2\n\n{bad}\n")
    with pytest.raises(FirthError, match=r"a\.txt:3: .* is not a link"):
        list(Alignments().read(path))


def test_zstd_is_read_like_any_file(tmp_path):
    """With the package that the extra `zst` brings, or a line that names the extra."""
    zstd = pytest.importorskip("backports.zstd")
    path = tmp_path / "p.tsv.zst"
    path.write_bytes(zstd.compress(b"a\tb\nc\td\n" * 1000))
    assert sum(1 for _ in Parallel().read(path)) == 2000
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(FirthError, match=r"truncated|damaged"):
        list(Parallel().read(path))


def test_paragraphs_and_lines_of_plain_text(tmp_path):
    (path,) = files(tmp_path, "\none\ntwo\n \n\nthree")
    assert [(r.text, r.line) for r in PlainText("paragraph").read(path)] == [("one\ntwo", 2), ("three", 6)]
    assert [r.text for r in PlainText(empty="skip").read(path)] == ["one", "two", "three"]
    records = list(PlainText().read(path))
    assert "\n".join(PlainText().rows(records)) == path.read_text()
    assert list(PlainText("paragraph").rows(PlainText("paragraph").read(path))) == ["one", "two", "", "three"]


def test_without_the_package_zstd_names_its_extra(tmp_path, monkeypatch):
    monkeypatch.setattr(compression, "MODULES", ())
    path = tmp_path / "p.tsv.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd rest")
    with pytest.raises(FirthError, match=r"pip install 'firth\[zst\]'"):
        list(Parallel().read(path))
