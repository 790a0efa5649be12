"""`firth data`: what it prints, what it writes, how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

NER = "Ann NNP I-PER\nLee NNP I-PER\nsits VBZ O\n\nRio NNP I-LOC\n\n"


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch):
    monkeypatch.setenv("FIRTH_SETS", str(tmp_path / "sets"))
    monkeypatch.delenv("FIRTH_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "films.tsv").write_text("good\ta fine film\nbad\tno film at all\ngood\tyes\nbad\tno\n")
    (tmp_path / "ner.conll").write_text(NER)
    return tmp_path


def test_list_has_public_and_own_sets(command):
    assert (
        command(
            "data", "add", "films", "--task", "classification", "--train", "films.tsv", "--set", "columns=label,text"
        ).code
        == 0
    )
    printed = command("data")
    assert printed.code == 0 and "ud-english-ewt" in printed.out and "--data or FIRTH_DATA" in printed.out
    line = next(line for line in printed.out.splitlines() if line.startswith("films"))
    assert line.split() == ["films", "classification", "tsv", "user", "train"]
    rows = {row["name"]: row for row in json.loads(command("data", "--json").out)}
    assert rows["films"]["present"] and not rows["rte"]["present"] and rows["rte"]["splits"] == {"train": 2490}


def test_show_prints_samples(command):
    command("data", "add", "films", "--task", "classification", "--train", "films.tsv", "--set", "columns=label,text")
    assert command("data", "show", "films", "--count", "1").out == "label     good\ntext      a fine film\n"
    assert (
        command("data", "show", "ner.conll", "--count", "1").out == "Ann   NNP  I-PER\nLee   NNP  I-PER\nsits  VBZ  O\n"
    )
    (first,) = command("data", "show", "ner.conll", "--count", "1", "--json").out.splitlines()
    assert json.loads(first)["words"] == ["Ann", "Lee", "sits"]
    assert command("data", "show", "films.tsv", "--count", "1").out == "1  good\n2  a fine film\n"


def test_check_tells_what_is_there(command):
    ended = command("data", "check", "films.tsv", "--task", "classification", "--set", "columns=label,text")
    assert ended.code == 0
    assert ended.out == (
        "films.tsv: 4 records for classification, format tsv\nwords    1 to 4, 2.2 on average\nlabels   good 2, bad 2\n"
    )
    by_column = command(
        "data", "check", "films.tsv", "--task", "classification", "--column", "label=1", "--column", "text=2"
    )
    assert by_column.out == ended.out


def test_check_tells_what_is_wrong(command, own):
    (own / "bad.conllu").write_text("1\ta\t_\tX\t_\t_\t0\troot\t_\n\n1\ta\t_\tX\t_\t_\t1\troot\t_\t_\n\n")
    ended = command("data", "check", "bad.conllu", "--task", "parsing")
    assert ended.code == 2 and ended.out.splitlines() == [
        "bad.conllu:1: 9 columns, expected 10; separate the columns with tabs",
        "bad.conllu:3: a cycle: 1 > 1; correct one of these heads",
    ]
    told = json.loads(command("data", "check", "bad.conllu", "--task", "parsing", "--json").out)
    assert [problem["where"] for problem in told["problems"]] == ["bad.conllu:1", "bad.conllu:3"]


def test_check_compares_labels_with_the_train_file(command, own):
    (own / "test.tsv").write_text("good\tx\nugly\ty\nugly\tz\n")
    ended = command(
        "data", "check", "test.tsv", "--task", "classification", "--set", "columns=label,text", "--train", "films.tsv"
    )
    assert ended.code == 0 and "warning: test.tsv: label 'ugly' is never seen in films.tsv" in ended.out


def test_faults_of_the_train_file_are_told(command, own):
    words = ("data", "check", "films.tsv", "--task", "classification", "--set", "columns=label,text", "--train")
    missing = command(*words, "nofile.tsv")
    assert missing.code == 2 and "nofile.tsv: no such file" in missing.out
    (own / "train.tsv").write_text("good\tx\nbad\n")
    spoiled = command(*words, "train.tsv")
    assert spoiled.code == 2 and "train.tsv:2: 1 column, expected 2; correct the line" in spoiled.out.splitlines()
    told = json.loads(command(*words, "train.tsv", "--json").out)
    assert [problem["where"] for problem in told["problems"]] == ["train.tsv:2"]


def test_other_encodings(command, own):
    (own / "lat.tsv").write_bytes("good\tcaf\u00e9\nbad\tnon\n".encode("latin-1"))
    ended = command("data", "show", "lat.tsv")
    assert ended.code == 2 and ended.err.startswith("firth: lat.tsv:1: byte 0xe9 at offset 8 is not valid utf-8")
    assert "--encoding latin-1" in ended.err
    assert "caf\u00e9" in command("data", "show", "lat.tsv", "--encoding", "latin-1").out
    words = ("--encoding", "latin-1", "--set", "columns=label,text")
    assert command("data", "check", "lat.tsv", "--task", "classification", *words).code == 0
    assert command("data", "convert", "lat.tsv", "utf.tsv", "--to", "tsv", "--to-set", "header=no", *words).code == 0
    assert (own / "utf.tsv").read_text() == "good\tcaf\u00e9\nbad\tnon\n"
    (own / "lat.fr").write_bytes("caf\u00e9\n".encode("latin-1"))
    (own / "lat.de").write_bytes("K\u00e4se\n".encode("latin-1"))
    assert "K\u00e4se" in command("data", "show", "lat.fr,lat.de", "--encoding", "latin-1").out


def test_a_broken_set_is_listed(command, own):
    command("data", "add", "films", "--task", "classification", "--train", "films.tsv", "--set", "columns=label,text")
    (own / "sets" / "bad.toml").write_text("task =\n")
    assert command("data", "show", "films", "--count", "1").code == 0
    listed = next(line for line in command("data").out.splitlines() if line.startswith("bad"))
    assert "broken" in listed and "bad.toml" in listed and "not TOML" in listed
    rows = {row["name"]: row for row in json.loads(command("data", "--json").out)}
    assert "not TOML" in rows["bad"]["broken"] and "broken" not in rows["films"]
    shown = command("data", "show", "bad")
    assert shown.code == 2 and "not TOML" in shown.err


def test_a_set_is_not_written_over(command, own):
    words = ("data", "add", "films", "--task", "classification", "--train", "films.tsv", "--set", "columns=label,text")
    assert command(*words).code == 0
    again = command(*words)
    assert again.code == 2 and "films: a data set of this name exists already" in again.err and "--replace" in again.err
    assert command(*words, "--replace", "--about", "anew").code == 0
    assert 'about = "anew"' in (own / "sets" / "films.toml").read_text()


def test_parallel_files_become_a_set(command, own):
    (own / "a.en").write_text("one\n")
    (own / "a.de").write_text("eins\n")
    assert command("data", "add", "two", "--task", "translation", "--train", "a.en,a.de").code == 0
    assert command("data", "show", "two").out == "left      one\nright     eins\n"


@pytest.mark.parametrize("task", ["summarisation", "translation", "pairs", "similarity"])
def test_a_table_of_a_built_in_set_serves_its_task(command, own, task):
    assert command("data", "convert", f"world-{task}", "w.tsv", "--to", "tsv", "--count", "20").code == 0
    checked = command("data", "check", "w.tsv", "--task", task)
    assert checked.code == 0 and f"w.tsv: 20 records for {task}" in checked.out


def test_alignments_are_shown_and_checked(command, own):
    (own / "a.align").write_text("0-0 1-2\n")
    assert command("data", "show", "a.align").out == "0-0 1-2\n"
    assert "a.align: 1 record for alignment" in command("data", "check", "a.align", "--task", "alignment").out
    assert command("data", "convert", "a.align", "b.align", "--to", "alignments").out == "b.align: 1 record\n"


def test_convert(command, own):
    assert command("data", "convert", "ner.conll", "new.conll", "--to", "columns", "--scheme", "bioes").code == 0
    assert (own / "new.conll").read_text() == NER.replace("Ann NNP I", "Ann NNP B").replace(
        "Lee NNP I", "Lee NNP E"
    ).replace("Rio NNP I", "Rio NNP S")
    columns = ("--set", "columns=label,text")
    assert (
        command("data", "convert", "films.tsv", "films.ft", "--to", "labels", *columns).out == "films.ft: 4 records\n"
    )
    assert (own / "films.ft").read_text().startswith("__label__good a fine film\n__label__bad")
    command("data", "convert", "films.tsv", "films.jsonl", "--to", "jsonl", *columns)
    assert json.loads((own / "films.jsonl").read_text().splitlines()[0]) == {"label": "good", "text": "a fine film"}
    command("data", "convert", "films.jsonl", "films.csv", "--to", "csv")
    assert (own / "films.csv").read_text().splitlines()[:2] == ["label,text", "good,a fine film"]
    command("data", "convert", "films.ft", "back.tsv", "--to", "tsv", "--to-set", "header=no")
    assert (own / "back.tsv").read_text().startswith("a fine film\tgood\n")


def test_convert_keeps_line_ends_and_byte_order_mark_within_a_format(command, own):
    content = b"\xef\xbb\xbfgood\ta fine film\r\nbad\tno film"
    (own / "dos.tsv").write_bytes(content)
    assert command("data", "convert", "dos.tsv", "same.tsv", "--to", "tsv").code == 0
    assert (own / "same.tsv").read_bytes() == content
    command("data", "convert", "dos.tsv", "other.csv", "--to", "csv")
    assert (own / "other.csv").read_bytes() == b"good,a fine film\nbad,no film\n"
    (own / "wide.tsv").write_bytes(content.decode("utf-8-sig").encode("utf-16"))
    command("data", "convert", "wide.tsv", "utf8.tsv", "--to", "tsv", "--encoding", "utf-16")
    assert (own / "utf8.tsv").read_bytes() == b"good\ta fine film\nbad\tno film\n"


def test_built_in_sets_can_be_written_and_checked(command, own):
    ended = command(
        "data", "convert", "world-parsing", "w.conllu", "--to", "conllu", "--split", "test", "--count", "50"
    )
    assert ended.out == "w.conllu: 50 records\n"
    checked = command("data", "check", "w.conllu", "--task", "parsing")
    assert checked.code == 0 and "50 records for parsing" in checked.out
    assert "built in, not read from a file" in command("data", "check", "world-parsing").err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("show", "flims.tsv"), "did you mean 'films.tsv'"),
        (("show", "no/such"), "no such file or folder"),
        (("show", "x" * 5000), "unknown data set or file"),
        (("show", "qqqqqqqq.zzz"), "give a file, or a data set that firth data lists"),
        (("show", "."), ".: a folder, not a file; give a file in it"),
        (("show", "/dev/null"), "/dev/null: a device or a pipe, not a file"),
        (("show", "films.tsv,ner.conll", "--format", "tsv"), "2 files, but this format is read from one"),
        (("show", "films.tsv", "--split", "train"), "films.tsv: a file has no splits; leave --split out"),
        (("show", "world-pairs", "--format", "tsv"), "world-pairs: --format is for files, and this is a data set"),
        (("convert", "world-pairs", "a", "--to", "tsv", "--set", "columns=a,b"), "--set is for files"),
        (("check", "world-pairs", "--encoding", "latin-1"), "--encoding is for files"),
        (("show", "films.tsv", "--encoding", "latn-1"), "unknown encoding 'latn-1'"),
        (("add", "x", "--task", "pairs", "--train", "films.tsv"), "films.tsv:1: no column 'left'"),
        (("show", "rte"), "name FOLDER with --data or FIRTH_DATA"),
        (("check", "films.tsv"), "films.tsv: no task; give one with --task"),
        (("check", "films.tsv", "--task", "tag"), "'tag' is not one of 'classification'"),
        (("check", "films.tsv", "--task", "pairs", "--format", "tvs"), "'tvs' is not one of 'tsv'"),
        (("check", "films.tsv", "--task", "pairs", "--column", "left"), "write it as text=body"),
        (("add", "x", "--task", "pairs"), "x: no file; give at least one"),
        (("add", "x", "--task", "pairs", "--train", "none.tsv"), "no such file"),
        (("add", "a/b", "--task", "pairs", "--train", "films.tsv"), "is not a name for a data set"),
        (("convert", "ner.conll", "a.tsv", "--to", "tsv"), "Tagged does not fit a row of a table"),
        (("convert", "ner.conll", "a", "--to", "trees"), "trees holds Tree, but the file has Tagged"),
        (("convert", "ner.conll", "a", "--to", "idx"), "cannot be written"),
        (("convert", "ner.conll", "a", "--to", "images"), "cannot be written"),
        (("convert", "films.tsv", "a", "--to", "labels"), "no column 'text'"),
        (("convert", "ner.conll", "a", "--to", "columns", "--scheme", "x"), "'x' is not one of 'iob1'"),
    ],
)
def test_errors_are_one_line(command, words, message):
    ended = command("data", *words)
    assert ended.code == 2 and message in ended.err and len(ended.err.splitlines()) == 1


def test_leakage_is_listed(command):
    lines = [f"line {number} of the text is about {number * 7919 % 1000} things" for number in range(50)]
    Path("train.txt").write_text("\n".join(lines[:40]))
    Path("test.txt").write_text("\n".join(lines[37:]))
    ended = command("data", "check", "test.txt", "--leakage", "--train", "train.txt")
    first = f'warning: test.txt, document 1: also in train.txt: "{lines[37]}"'
    assert ended.code == 0 and ended.out.splitlines()[0] == first
    assert ended.out.splitlines()[-1].startswith("test.txt: 3 of 13 texts (") and "are in train.txt too" in ended.out
    Path("train.tsv").write_text("\n".join(f"{line}\tgood" for line in lines[:40]))
    Path("test.tsv").write_text("\n".join(f"{line}\tbad" for line in lines[37:]))
    words = ("data", "check", "test.tsv", "--leakage", "--train", "train.tsv", "--task", "classification", "--json")
    told = json.loads(command(*words, "--set", "columns=text,label").out)
    assert told["overlapping"] == 3 and [each["where"] for each in told["problems"]] == [
        f"test.tsv:{number}" for number in (1, 2, 3)
    ]
    refused = command("data", "check", "test.txt", "--leakage")
    assert refused.code == 2 and "give it with --train" in refused.err
