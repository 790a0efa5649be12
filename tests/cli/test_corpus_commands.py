"""`firth corpus stats`, `concordance`, `collocations` and `keyness`."""

from __future__ import annotations

import json
import re

import pytest
from cli_samples import assert_done, assert_refused

from firth.cli.corpus import _print_collocates, _print_keyness
from firth.config.schema import Tokenizer as Config
from firth.corpus import Collocate, Concordance, Keyness, Keyword
from firth.corpus.concordance import ConcordanceLine
from firth.datasets.world import World
from firth.report.corpus_pages import collocations_page
from firth.tokenizers.tokenizer import Tokenizer

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


def test_a_concordance_is_sorted_and_aligned(command, table):
    options = ("--text", table, "--column", "text", "--width", 12, "--sort", "right")
    lines = assert_done(command("corpus", "concordance", "boat", *options)).out.splitlines()
    assert lines[0] == f"boat: 4 hits in {table}, column text (26 words)"
    assert lines[2:6] == [
        "       a red  boat  came home",
        " we sold the  boat  in spring",
        "     the red  boat  left the har",
        " red and the  boat  was old",
    ]


def test_collocates_are_listed_with_their_measures(command, table):
    options = ("--text", table, "--column", "text", "--min-count", 2, "--window", 3)
    lines = assert_done(command("corpus", "collocations", "boat", *options)).out.splitlines()
    assert lines[0].split() == ["collocate", "count", "total", "expected", "log-likelihood", "dispersion"]
    assert {line.split()[0] for line in lines[1:]} == {"red", "the"}


def test_lines_by_author(command, table):
    words = ("corpus", "concordance", "the boat", "--text", table, "--column", "text", "--by", "author")
    lines = assert_done(command(*words)).out.splitlines()[2:4]
    assert [line.split()[0] for line in lines] == ["Ann", "Émile"] and all("  the boat  " in line for line in lines)


def test_json_holds_what_is_printed_and_more(command, table):
    options = ("--text", table, "--column", "text", "--json", "--limit", 2)
    lines = json.loads(assert_done(command("corpus", "concordance", "bo*", *options)).out)
    assert (lines["total"], len(lines["lines"])) == (4, 2) and lines["lines"][0]["values"] == {"author": "Ann"}
    options = (*options, "--min-count", 1, "--measure", "count")
    collocates = json.loads(assert_done(command("corpus", "collocations", "bo*", *options)).out)
    assert collocates["hits"] == 4 and len(collocates["collocates"]) == 2
    first = collocates["collocates"][0]
    assert first["word"] == "the" and first["score"] == first["count"] == 4


def test_two_texts_and_two_parts_of_one(command, table, world):
    options = ("--text", table, "--column", "text", "--min-count", 1)
    words = ("corpus", "collocations", "boat", *options)
    found = json.loads(assert_done(command(*words, "--reference", "author=Ann", "--json")).out)
    assert found["hits"] == 2 and "harbour" in [row["word"] for row in found["target"]]
    assert "home" in [row["word"] for row in found["reference"]]
    words = ("corpus", "collocations", "is", "--text", world, "--reference", "world:50", "--limit", 3)
    shown = assert_done(command(*words)).out
    assert "\nmore in the text\n" in shown and "\nmore in the reference\n" in shown
    words = ("corpus", "concordance", "boat", "--text", table, "--column", "text", "--where", "author=Bob", "--json")
    assert json.loads(assert_done(command(*words)).out)["total"] == 1


def test_keywords_of_two_texts_and_of_two_parts_of_one(command, table, world):
    options = ("--text", table, "--column", "text", "--min-count", 1)
    found = json.loads(assert_done(command("corpus", "keyness", "author=Ann", *options, "--json")).out)
    assert "harbour" in [row["word"] for row in found["target"]] and "home" in [
        row["word"] for row in found["reference"]
    ]
    shown = assert_done(command("corpus", "keyness", "python-docs", "--text", world, "--limit", 3)).out
    assert shown.startswith("\nmore in the text\nword") and "\nmore in the reference\nword" in shown
    ratios = json.loads(
        assert_done(
            command("corpus", "keyness", "python-docs", "--text", world, "--measure", "log-ratio", "--json")
        ).out
    )["target"]
    assert [row["log_ratio"] for row in ratios] == sorted((row["log_ratio"] for row in ratios), reverse=True)


def test_pages_are_static_and_escaped(command, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("<script>alert(1)</script> & a <b>word</b> here\n" * 5)
    verbs = {"concordance": ["word"], "collocations": ["word"], "keyness": ["world:50"], "stats": []}
    pages = {verb: tmp_path / f"{verb}.html" for verb in verbs}
    for verb, words in verbs.items():
        assert_done(command("corpus", verb, *words, "--text", text, "--html", pages[verb]))
        content = pages[verb].read_text().replace('xmlns="http://www.w3.org/2000/svg"', "")
        assert "<script" not in content and "http" not in content and "<b>" not in content
        assert content.startswith("<!doctype html>") and content.count("<table") == content.count("</table>") > 0
    assert all("&lt;b&gt;" in pages[verb].read_text() for verb in ("concordance", "collocations"))
    assert "<svg" in pages["stats"].read_text()


def test_statistics_of_a_text(command, world, tmp_path):
    trained = tmp_path / "run"  # of a run, only the tokenizer is read
    (trained / "tokenizers").mkdir(parents=True)
    Tokenizer.train(Config(model="byte"), ["any"]).save(trained / "tokenizers" / "text.json")
    words = ("corpus", "stats", "--text", world, "--tokenizer", trained)
    shown = assert_done(command(*words)).out
    found = json.loads(assert_done(command(*words, "--json")).out)
    assert f"{found['tokens']:,} (words, numbers and" in shown and found["documents"] == 300
    assert re.search(r"tokenizer +[\d,]+ tokens, [\d.]+ \S+ word, 0.00% unknown", shown)
    assert found["coverage"]["tokens"] == world.stat().st_size - 299  # bytes, without the line ends between documents


def test_case_and_splitting_are_options(command, tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("The the THE, the\n")

    def total(*options):
        words = ("corpus", "concordance", "the", "--text", path, "--json", *options)
        return json.loads(assert_done(command(*words)).out)["total"]

    assert (total(), total("--ignore-case"), total("--ignore-case", "--split", "whitespace")) == (2, 4, 3)


@pytest.mark.parametrize("verb", ["concordance", "collocations"])
def test_a_word_that_is_not_there_offers_the_nearest(command, table, verb):
    def refused(word, *parts):
        assert_refused(command("corpus", verb, word, "--text", table, "--column", "text"), *parts)

    refused("harbor", table, "'harbor' does not occur; did you mean 'harbour'?")
    refused("zzzz", "'zzzz' does not occur; try another spelling, or a ", "wor*")
    refused("old harbour", "'old harbour' does not occur; try")


def test_a_word_that_the_reference_lacks_is_noted(command, table, tmp_path):
    options = ("--text", table, "--column", "text", "--reference", "author=Ann", "--min-count", 1)
    words = ("corpus", "collocations", "old", *options)
    shown = assert_done(command(*words, "--html", tmp_path / "p.html")).out
    assert "more in the text" not in shown
    assert f"note: 'old' does not occur in {table}, column text, author ≠ Ann\n" in shown
    assert "does not occur in" in (tmp_path / "p.html").read_text()
    found = assert_done(command(*words, "--json"))
    assert json.loads(found.out)["hits"] == 1 and "does not occur" in found.err


def test_words_do_not_steer_the_terminal(command, tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("a \x1b b\n" * 9)
    shown = ""
    for words in (
        ["concordance", "b"],
        ["collocations", "b", "--reference", "world:20"],
        ["stats"],
        ["keyness", "world:20"],
    ):
        shown += assert_done(command("corpus", *words, "--text", path)).out
    assert "·" in shown and "\x1b" not in shown


def test_numbers_near_zero_have_no_sign(capsys):
    lines = Concordance("a", 1, (ConcordanceLine("", "a", "b", 0, 0, {}),), 10)
    collocates = [Collocate("b", 3, 9, 3.0, -0.001, -0.0, 0.0)]
    keywords = Keyness((Keyword("b", 3, 3, -0.001, -0.001, -0.1, -0.0),), (), (9, 9))
    _print_collocates(collocates, "pmi")
    _print_keyness(keywords)
    assert "0.00" in (shown := capsys.readouterr().out) and "-0" not in shown
    assert "0.00" in (page := collocations_page(lines, collocates, "t", "pmi", keywords, "u")) and ">-0" not in page


TEXT_COLUMN = ["--column", "text"]


@pytest.mark.parametrize(
    ("verb", "options", "said"),
    [
        ("concordance", [*TEXT_COLUMN, "--encoding", "latin-1"], "--encoding"),
        ("concordance", [*TEXT_COLUMN, "--encoding-errors", "replace"], "--encoding-errors"),
        ("concordance", [*TEXT_COLUMN, "--sample", "--seed", "-1"], "--seed"),
        ("concordance", ["--column", "txt"], "boats.tsv:1: unknown column 'txt'; did you mean 'text'?"),
        ("concordance", [*TEXT_COLUMN, "--by", "auther"], "unknown column 'auther'; did you mean 'author'?"),
        (
            "concordance",
            [*TEXT_COLUMN, "--where", "author"],
            "cannot read 'author'; write column=value; the columns are",
        ),
        ("concordance", [*TEXT_COLUMN, "--where", "author=An"], "unknown value of author 'An'; did you mean 'Ann'?"),
        ("concordance", [*TEXT_COLUMN, "--sort", "up"], "'up' is not one of 'position', 'left', 'right'"),
        ("concordance", [*TEXT_COLUMN, "--limit", "0"], "limit is 0; give 1 or more"),
        ("concordance", ["--document", "page"], "'page' is not one of 'auto', 'file', 'paragraph', 'line'"),
        ("collocations", [*TEXT_COLUMN, "--measure", "pmi4"], "'pmi4' is not one of 'log-likelihood'"),
        ("collocations", [*TEXT_COLUMN, "--window", "0"], "a window of 0 words; give 1 to 1000"),
        ("collocations", [*TEXT_COLUMN, "--reference", "nowhere.txt"], "nowhere.txt: no such file or folder"),
    ],
)
def test_bad_options_are_one_line(command, table, verb, options, said):
    assert_refused(command("corpus", verb, "boat", "--text", table, *options), said)


def test_bad_texts_and_tokenizers_are_one_line(command, tmp_path):
    (tmp_path / "empty.txt").write_text("")
    assert_refused(command("corpus", "stats", "--text", tmp_path / "empty.txt"), "the file is empty")
    assert_refused(command("corpus", "stats", "--text", tmp_path / "none.txt"), "no such file or folder")
    words = ("corpus", "stats", "--text", "world:9", "--tokenizer", tmp_path / "empty.txt")
    assert_refused(command(*words), "not a tokenizer")
    for words in (["concordance", "the"], ["collocations", "the"], ["stats"], ["keyness", "world:5"]):
        found = command("corpus", *words, "--text", "world:9", "--html", tmp_path / "no" / "p.html")
        assert_refused(found, f"{tmp_path / 'no'}: no such folder; make it first")
    assert_refused(command("corpus", "keyness", "world:5", "--text", "world:9", "--limit", "-1"), "--limit")


def test_charts_of_few_points():
    from firth.report.axes import log_ticks
    from firth.report.charts import Series, bar_chart, line_chart

    assert log_ticks(1, 1000) == [1, 10, 100, 1000] and log_ticks(2, 30) == [2, 5, 10, 20]
    assert bar_chart("t", "x", "y", [], []) == "" and bar_chart("t", "x", "y", [3], [0]).count("<polygon") == 1
    chart = line_chart("t", "x", "y", [Series("a", [1, 10, 100], [5, 50, 500], markers=True)], log_x=True, log_y=True)
    places = [(float(x), float(y)) for x, y in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', chart)]
    assert places[1][0] - places[0][0] == pytest.approx(places[2][0] - places[1][0], abs=0.11)
    assert places[1][1] - places[0][1] == pytest.approx(places[2][1] - places[1][1], abs=0.11)
