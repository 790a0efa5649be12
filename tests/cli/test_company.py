"""`firth company` and `firth text stats` as a user meets them."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import pytest
from cli_samples import assert_done, assert_refused

from firth.cli.company import _print as show_company
from firth.config.schema import Tokenizer as Config
from firth.counts import Collocate, Concordance, Keyness, Keyword
from firth.counts.concordance import Line
from firth.data.world import World
from firth.report.company import company_page
from firth.text.tokenizer import Tokenizer

TABLE = """text\tauthor
the red boat left the harbour\tAnn
a red boat came home\tBob
the harbour was red and the boat was old\tAnn
we sold the boat in spring\tÉmile
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "boats.tsv"
    path.write_text(TABLE)
    return path


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    path = tmp_path_factory.mktemp("world") / "world.txt"
    path.write_text("\n".join(World().documents(300)))
    return path


def test_places_then_company(command, table):
    options = ("--width", 12, "--sort", "right", "--min-count", 2, "--window", 3)
    found = assert_done(command("company", "boat", "--text", table, "--column", "text", *options))
    lines = found.out.splitlines()
    assert lines[0] == f"boat: 4 places in {table}, column text (26 words)"
    assert lines[2:6] == [
        "       a red  boat  came home",
        " we sold the  boat  in spring",
        "     the red  boat  left the har",
        " red and the  boat  was old",
    ]
    assert lines[7].split() == ["company", "count", "in", "all", "by", "chance", "log-likelihood", "dispersion"]
    assert {line.split()[0] for line in lines[8:]} == {"red", "the"}


def test_lines_by_author(command, table):
    found = assert_done(command("company", "the boat", "--text", table, "--column", "text", "--by", "author"))
    lines = found.out.splitlines()[2:4]
    assert [line.split()[0] for line in lines] == ["Ann", "Émile"] and all("  the boat  " in line for line in lines)


def test_json_holds_what_is_printed_and_more(command, table):
    options = ("--text", table, "--column", "text", "--json", "--limit", 2, "--min-count", 1)
    found = json.loads(assert_done(command("company", "bo*", *options, "--measure", "count")).out)
    assert (found["total"], len(found["lines"]), len(found["company"])) == (4, 2, 2)
    assert found["lines"][0]["values"] == {"author": "Ann"} and found["company"][0]["word"] == "the"
    assert found["company"][0]["score"] == found["company"][0]["count"] == 4


def test_two_texts_and_two_parts_of_one(command, table, world):
    options = ("--text", table, "--column", "text", "--min-count", 1)
    found = json.loads(assert_done(command("company", "boat", *options, "--against", "author=Ann", "--json")).out)
    assert found["total"] == 2 and "harbour" in [row["word"] for row in found["here"]]
    assert "home" in [row["word"] for row in found["there"]]
    shown = assert_done(command("company", "is", "--text", world, "--against", "world:50", "--limit", 3)).out
    assert "\nmore here\n" in shown and "\nmore there\n" in shown
    part = json.loads(assert_done(command("company", "boat", *options, "--where", "author=Bob", "--json")).out)
    assert part["total"] == 1


def test_pages_are_static_and_escaped(command, tmp_path):
    text, page = tmp_path / "text.txt", tmp_path / "page.html"
    text.write_text("<script>alert(1)</script> & a <b>word</b> here\n" * 5)
    assert_done(command("company", "word", "--text", text, "--html", page))
    assert_done(command("text", "stats", "--text", text, "--html", tmp_path / "stats.html", "--against", "world:50"))
    for path in (page, tmp_path / "stats.html"):
        content = path.read_text()
        assert "<script" not in content and "http" not in content and "<b>" not in content
        assert content.startswith("<!doctype html>") and content.count("<table") == content.count("</table>") > 0
    assert "&lt;b&gt;" in page.read_text() and "<svg" in (tmp_path / "stats.html").read_text()


def test_statistics_of_a_text(command, world, tmp_path):
    trained = tmp_path / "run"  # of a run, only the tokenizer is looked at
    (trained / "tokenizers").mkdir(parents=True)
    Tokenizer.train(Config(model="byte"), ["any"]).save(trained / "tokenizers" / "text.json")
    shown = assert_done(command("text", "stats", "--text", world, "--tokenizer", trained)).out
    found = json.loads(assert_done(command("text", "stats", "--text", world, "--json", "--tokenizer", trained)).out)
    assert f"{found['tokens']:,} (words, numbers and marks)" in shown and found["documents"] == 300
    assert re.search(r"tokenizer +[\d,]+ tokens, [\d.]+ a word, 0.00% unknown", shown)
    assert (
        found["coverage"]["tokens"] == world.stat().st_size - 299
    )  # a byte tokenizer, and a line end between documents


def test_case_and_splitting_are_options(command, tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("The the THE, the\n")

    def total(*options):
        return json.loads(assert_done(command("company", "the", "--text", path, "--json", *options)).out)["total"]

    assert (total(), total("--ignore-case"), total("--ignore-case", "--split", "whitespace")) == (2, 4, 3)


def test_a_word_that_is_not_there_offers_the_nearest(command, table):
    options = ("--text", table, "--column", "text")
    assert_refused(command("company", "harbor", *options), table, "'harbor' does not occur; did you mean 'harbour'?")
    assert_refused(command("company", "zzzz", *options), "'zzzz' does not occur; try another spelling, or a star: wor*")
    assert_refused(command("company", "old harbour", *options), "'old harbour' does not occur; try")


def test_a_word_that_the_other_text_lacks_is_shown_alone(command, table, tmp_path):
    options = ("--text", table, "--column", "text", "--against", "author=Ann", "--min-count", 1)
    shown = assert_done(command("company", "old", *options, "--html", tmp_path / "p.html")).out
    assert shown.startswith("old: 1 place in") and "more here" not in shown
    assert f"'old' does not occur in {table}, column text, author ≠ Ann, so there is nothing to compare" in shown
    assert "does not occur in" in (tmp_path / "p.html").read_text()
    found = assert_done(command("company", "old", *options, "--json"))
    assert json.loads(found.out)["total"] == 1 and "nothing to compare" in found.err


def test_words_do_not_steer_the_terminal(command, tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("a \x1b b\n" * 9)
    found = assert_done(command("company", "b", "--text", path, "--against", "world:20")).out
    found += assert_done(command("text", "stats", "--text", path, "--against", "world:20")).out
    assert "·" in found and "\x1b" not in found


def test_numbers_near_zero_have_no_sign(capsys):
    found = Concordance("a", 1, (Line("", "a", "b", 0, 0, {}),), 10)
    near = [Collocate("b", 3, 9, 3.0, -0.001, -0.0, 0.0)]
    key = Keyness((Keyword("b", 3, 3, -0.001, -0.001, -0.1, -0.0),), (), (9, 9))
    show_company(found, near, SimpleNamespace(text="t", size=9), "pmi", key)
    assert "0.00" in (shown := capsys.readouterr().out) and "-0" not in shown
    assert "0.00" in (page := company_page(found, near, "t", "pmi", key, "u")) and ">-0" not in page


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--column", "text", "--encoding", "latin-1"], "--encoding does nothing with --column; tables are UTF-8"),
        (["--column", "text", "--errors", "replace"], "--errors does nothing with --column"),
        (["--column", "text", "--sample", "--seed", "-1"], "--seed"),
        (["--column", "txt"], "boats.tsv:1: unknown column 'txt'; did you mean 'text'?"),
        (["--column", "text", "--by", "auther"], "unknown column 'auther'; did you mean 'author'?"),
        (["--column", "text", "--where", "author"], "cannot read 'author'; write column=value; the columns are author"),
        (["--column", "text", "--where", "author=An"], "unknown value of author 'An'; did you mean 'Ann'?"),
        (["--column", "text", "--measure", "pmi4"], "unknown measure 'pmi4'; did you mean 'pmi'?"),
        (["--column", "text", "--sort", "up"], "unknown order 'up'"),
        (["--column", "text", "--limit", "0"], "limit is 0; give 1 or more"),
        (["--column", "text", "--window", "0"], "a window of 0 words; give 1 to 1000"),
        (["--column", "text", "--against", "nowhere.txt"], "nowhere.txt: no such file or folder"),
        (["--document", "page"], "document = page: not one of auto, file, paragraph, line"),
    ],
)
def test_bad_options_are_one_line(command, table, options, said):
    assert_refused(command("company", "boat", "--text", table, *options), said)


def test_bad_texts_and_tokenizers_are_one_line(command, tmp_path):
    (tmp_path / "empty.txt").write_text("")
    assert_refused(command("text", "stats", "--text", tmp_path / "empty.txt"), "the file is empty")
    assert_refused(command("text", "stats", "--text", tmp_path / "none.txt"), "no such file or folder")
    assert_refused(
        command("text", "stats", "--text", "world:9", "--tokenizer", tmp_path / "empty.txt"), "not a tokenizer"
    )
    for verb in (("company", "the"), ("text", "stats")):
        found = command(*verb, "--text", "world:9", "--html", tmp_path / "no" / "p.html")
        assert_refused(found, f"{tmp_path / 'no'}: no such folder; make it first")
    assert_refused(command("text", "stats", "--text", "world:9", "--limit", "-1"), "--limit")


def test_charts_of_few_points():
    from firth.report.svg import Series, bar_chart, decades, line_chart

    assert decades(1, 1000) == [1, 10, 100, 1000] and decades(2, 30) == [2, 5, 10, 20]
    assert bar_chart("t", "x", "y", [], []) == "" and bar_chart("t", "x", "y", [3], [0]).count("<rect") == 1
    chart = line_chart("t", "x", "y", [Series("a", [1, 10, 100], [5, 50, 500], dots=True)], log=True)
    places = [(float(x), float(y)) for x, y in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', chart)]
    assert places[1][0] - places[0][0] == pytest.approx(places[2][0] - places[1][0], abs=0.11)
    assert places[1][1] - places[0][1] == pytest.approx(places[2][1] - places[1][1], abs=0.11)
