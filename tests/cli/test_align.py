"""`firth align`, and the verbs of every model with a model of alignment."""

from __future__ import annotations

import json

import pytest
from cli_samples import assert_done, assert_refused

LEFT = ["the house", "the book", "a house", "", "a book"]
RIGHT = ["das Haus", "das Buch", "ein Haus", "", "ein Buch"]
LINKS = ["0-0 1-1", "0-0 1-1", "0-0 1-1", "", "0-0 1-1"]


@pytest.fixture
def files(tmp_path):
    """Two files that belong together, and the right links."""
    for name, lines in (("a.en", LEFT), ("a.de", RIGHT), ("a.align", LINKS)):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    return [tmp_path / name for name in ("a.en", "a.de", "a.align")]


@pytest.mark.parametrize("preset", ["hmm-aligner", "ibm-1", "ibm-2", "fast-align"])
def test_two_files_become_pharaoh_lines(command, files, preset):
    left, right, gold = files
    found = assert_done(command("align", left, right, "--preset", preset, "--gold", gold))
    assert found.out.splitlines() == LINKS
    assert (
        "5 pairs, 8 links; alignment error rate 0.0000; precision 1.0000; recall 1.0000" in found.err
        and "epoch 1:" in found.err
    )


def test_other_shapes_of_the_answer(command, files, tmp_path):
    left, right, _ = files
    words = assert_done(command("align", left, right, "--words", "--quiet"))
    assert words.out.splitlines()[0] == "the–das  house–Haus" and words.err == ""
    told = assert_done(
        command("align", left, right, "--json", "--symmetrisation", "intersection", "--threads", 1)
    ).out.splitlines()
    assert json.loads(told[1]) == {"links": [[0, 0], [1, 1]], "words": [["the", "das"], ["book", "Buch"]]}
    out = assert_done(command("align", left, right, "--out", tmp_path / "a.out"))
    assert (tmp_path / "a.out").read_text().splitlines() == LINKS and out.out == ""


def test_a_run_is_trained_asked_and_used(command, files, tmp_path):
    left, right, _ = files
    run, shares = tmp_path / "run", ["--set", "data.valid_fraction=0", "--set", "data.test_fraction=0"]
    text = tmp_path / "pairs.tsv"
    text.write_text("".join(f"{a}\t{b}\n" for a, b in zip(LEFT, RIGHT, strict=True) if a))
    assert_done(command("train", "hmm-aligner", "--text", text, "--out", run, "--quiet", *shares))
    assert assert_done(command("align", left, right, "--run", run)).out.splitlines() == LINKS
    assert assert_done(command("run", run, "a house ||| ein Haus")).out == "0-0 1-1\ta–ein  house–Haus\n"
    assert assert_done(command("run", run, "-", stdin=b"a\tein\n")).out == "0-0\ta–ein\n"
    assert assert_done(command("run", run, "--word", "book", "--count", 1)).out.endswith("→ buch\n")
    assert "perplexity backward" in assert_done(command("eval", run, "--text", text)).out
    assert_refused(command("align", left, right, "--run", run, "--preset", "ibm-1"), "a run is used as it was trained")
    assert_refused(command("run", run, "house"), "one text, where two belong together")


def test_a_run_of_another_kind(command, files, trained):
    assert_refused(command("align", *files[:2], "--run", trained), "this run does not align words")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--preset", "skipgram"], "skipgram does not align words"),
        (["--symmetrisation", "unoin"], "'unoin' is not one of 'intersection', 'union'"),
        (["--possible", "x"], "--possible without --gold"),
        (["--gold", "nowhere.align"], "nowhere.align: no such file"),
        (["--set", "method.null_probability=2"], "method.null_probability"),
        (["--out", "nowhere/links"], "no such folder"),
    ],
)
def test_bad_options(command, files, words, what):
    assert_refused(command("align", *files[:2], *words), what)


def test_bad_files(command, files, tmp_path):
    left, right, gold = files
    right.write_text("das Haus\n")
    assert_refused(command("align", left, right), "a.de:1: it ends after 1 lines, but")
    assert_refused(command("align", left, tmp_path / "a.dee"), "a.dee")
    gold.write_text("0-7\n\n\n\n\n")
    assert_refused(command("align", left, left, "--gold", gold), "a.align:1: link 0-7, where there are 2 and 2 words")
    left.write_text("a\n\n")
    right.write_text("\nb\n")
    assert_refused(command("align", left, right), "none of 2 pairs has 1 to 100 words on each side")
