"""`firth score`: its tables and its JSON, and every kind of bad input."""

import json

import pytest
import sacrebleu
from cli_samples import assert_done, assert_refused

RIGHT = ["A cat sat on the mat.", "The dog barked at them all day.", "Nobody came to see us.", "It was so."] * 4
GOOD = ["A cat sat on a mat.", "The dog barked at them all day.", "Nobody came to see us.", "It was so."] * 4
BAD = ["A cat is on a mat.", "Dogs bark at them all night.", "Nobody comes to us.", "So it was it was."] * 4


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A folder with the files of two systems, the references and the sources."""
    monkeypatch.chdir(tmp_path)
    sources = ["word " * (1 + number % 4) for number in range(16)]
    for name, texts in {"right": RIGHT, "good": GOOD, "bad": BAD, "source": sources}.items():
        (tmp_path / name).write_text("\n".join(texts) + "\n")
    return tmp_path


def test_one_system(command, files):
    found = assert_done(command("score", "good", "--reference", "right")).out
    wanted = sacrebleu.corpus_bleu(GOOD, [RIGHT]).score
    assert f"BLEU        {wanted:.2f}" in found and "chrF2" in found and "difference" not in found
    assert "[nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:" in found
    assert "length" in found and "repetition" in found and "note:" not in found


def test_two_systems_and_lengths(command, files):
    found = assert_done(
        command("score", "good", "--reference", "right", "--other", "bad", "--source", "source", "--metric",
                "bleu,rouge,exact", "--length-bins", "2", "--lowercase")).out  # fmt: skip
    lines = found.splitlines()
    assert "p (bootstrap)" in lines[0] and "p (randomisation)" in lines[0] and "wins" in lines[0]
    bad = next(line for line in lines if line.startswith("bad     BLEU"))
    wanted = [sacrebleu.corpus_bleu(texts, [RIGHT], lowercase=True).score for texts in (GOOD, BAD)]
    assert f"{wanted[1] - wanted[0]:+.2f}" in bad
    table = lines[lines.index("BLEU by source length") + 1 :]
    assert table[0].split() == ["tokens", "texts", "good", "bad"]
    assert [line.split()[:2] for line in table[1:3]] == [["1–2", "8"], ["3–4", "8"]]
    assert "ROUGE-1, ROUGE-2, ROUGE-L, ROUGE-Lsum  [" in found and "|case:lc|" in found


def test_json_and_several_references(command, files):
    words = "score", "good", "--reference", "right", "--reference", "bad", "--other", "bad", "--seed", "3", "--json"
    found = json.loads(assert_done(command(*words)).out)
    assert [system["name"] for system in found["systems"]] == ["good", "bad"]
    assert found["systems"][0]["scores"][0]["value"] == pytest.approx(sacrebleu.corpus_bleu(GOOD, [RIGHT, BAD]).score)
    tests = found["systems"][1]["significance"][0]
    assert tests["metric"] == "BLEU" and 0 < tests["paired_bootstrap"]["p_value"] <= 1
    assert 0 < tests["approximate_randomisation"]["p_value"] <= 1
    assert found == json.loads(command(*words).out)  # the seed says all


def test_each_sentence(command, files):
    found = assert_done(command("score", "good", "--reference", "right", "--other", "bad", "--sentence-level")).out
    rows = [line.split("\t") for line in found.splitlines()]
    assert len(rows) == 16 and rows[1][0] == "100.00"
    assert rows[0][0] == f"{sacrebleu.sentence_bleu(GOOD[0], [RIGHT[0]]).score:.2f}"
    told = json.loads(command("score", "good", "--reference", "right", "--sentence-level", "--json").out)
    assert told["sentences"][1] == [pytest.approx(100.0)] and "eff:yes" in told["signature"]


def test_the_same_file_twice_and_windows_line_ends(command, files):
    (files / "crlf").write_bytes("\r\n".join(GOOD).encode())  # and no end of the last line
    words = "--other", "good", "--other", "crlf", "--source", "source", "--length-bins", "2"
    found = assert_done(command("score", "good", "--reference", "right", *words)).out
    assert found.count("+0.00") == 4 and found.count("1.0000") == 8


def test_text_that_is_cut_into_tokens_gets_a_hint(command, files):
    (files / "cut").write_text("\n".join(text.replace(".", " .") for text in GOOD) + "\n")
    assert "note: the texts look tokenised already" in command("score", "cut", "--reference", "right").out
    told = command("score", "cut", "--reference", "right", "--tokenize", "none").out
    assert "note:" not in told and "tok:none" in told


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["good", "--reference", "short"],
            "good:4: short has no such line: it has 3, this file 16; give files that agree",
        ),
        (["short", "--reference", "right"], "right:4: short has no such line: it has 3, this file 16"),
        (["good", "--reference", "right", "--other", "short"], "good:4: short has no such line"),
        (["good", "--reference", "right", "--source", "short"], "good:4: short has no such line"),
        (["empty", "--reference", "right"], "empty: the file is empty; give a file with text"),
        (["good", "--reference", "empty"], "empty: the file is empty"),
        (["goof", "--reference", "right"], "goof: no such file or folder; did you mean 'good'?"),
        (["good", "--reference", "binary"], "binary: a binary file, not text"),
        (["good", "--reference", "latin"], "latin:2: byte 0xef"),
        (["good", "--reference", "right", "--metric", "bleu,meteor"], "unknown metric 'meteor'"),
        (["good", "--reference", "right", "--metric", ","], "no metric; give --metric bleu"),
        (["good", "--reference", "right", "--tokenize", "14a"], "'14a' is not one of '13a', 'intl'"),
        (
            ["good", "--reference", "right", "--length-bins", "3"],
            "--length-bins are of source texts; give them",
        ),
        (
            ["good", "--reference", "right", "--source", "source", "--length-bins", "3,x"],
            "cannot read --length-bins '3,x'",
        ),
        (["good", "--reference", "right", "--encoding", "utf-9"], "utf-9"),
        (["good"], "Missing option '--reference'"),
        (["good", "--reference", "right", "--resamples", "9"], "--resamples"),
    ],
)
def test_bad_input_is_one_line(command, files, words, said):
    for name, content in {"short": b"a\nb\nc\n", "empty": b"", "binary": bytes(range(256)) * 8,
                          "latin": b"fine\nna\xefve\n"}.items():  # fmt: skip
        (files / name).write_bytes(content)
    assert_refused(command("score", *words), said)
