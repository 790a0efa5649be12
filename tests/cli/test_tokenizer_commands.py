"""`firth tokenizer import`, `export` and `edit` as a user meets them."""

from __future__ import annotations

import shutil

import pytest
from cli_samples import assert_done, assert_refused

TEXT = "The old mill stands by the river.\nThe river runs past the old mill.\n" * 20


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "mill.txt"
    path.write_text(TEXT)
    return path


@pytest.fixture
def make(command, text, tmp_path):
    """A function that trains a tokenizer of a kind."""

    def train(kind: str):
        path = tmp_path / f"{kind}.json"
        assert_done(command("tokenizer", "train", path, "--text", text, "--model", kind, "--vocab-size", 300))
        return path

    return train


@pytest.mark.parametrize(
    ("kind", "to", "out"),
    [("unigram", "sentencepiece", "x.model"), ("wordpiece", "bert", "b"), ("byte-bpe", "gpt2", "g")],
)
def test_there_and_back(command, make, tmp_path, kind, to, out):
    path = make(kind)
    assert_done(command("tokenizer", "export", path, tmp_path / out, "--to", to))
    assert_done(command("tokenizer", "import", tmp_path / out, tmp_path / "back.json"))
    first, second = (
        assert_done(command("tokenizer", "encode", file, "the old mill")).out for file in (path, tmp_path / "back.json")
    )
    assert first == second


def test_a_bare_tokenizer_is_edited(command, make, tmp_path):
    path, out = make("byte-bpe"), tmp_path / "new.json"
    said = assert_done(command("tokenizer", "edit", path, "--add", "zebra", "--remove", " river", "--out", out)).out
    assert "added" in said and "1 removed" in said
    assert len(assert_done(command("tokenizer", "encode", out, "zebra")).out.split()) == 1
    assert len(assert_done(command("tokenizer", "encode", out, " river")).out.split()) > 1


def test_a_run_whose_tokens_cannot_grow_is_left_alone(command, run, tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("Ж\n")
    found = command("tokenizer", "edit", run, "--add-file", words, "--out", tmp_path / "new")
    assert_refused(found, "a byte tokenizer has tokens of one byte only")
    assert not (tmp_path / "new").exists()


def test_bad_input_is_one_line(command, make, run, tmp_path):
    bpe, out = make("byte-bpe"), tmp_path / "out"
    half = tmp_path / "half.model"
    half.write_bytes(b"\n\x10abc")
    cases = [
        (("import", half, out), half, "not a SentencePiece model, or damaged"),
        (("import", tmp_path / "none", out), "cannot read"),
        (("import", tmp_path / "none", out), "give a SentencePiece .model"),
        (("export", bpe, out, "--to", "sentencepiece"), "SentencePiece has no counterpart of a byte-bpe tokenizer"),
        (("export", bpe, out, "--to", "bert"), "not BERT's kind"),
        (("export", bpe, out, "--to", "berd"), "'berd' is not one of 'sentencepiece', 'bert', 'gpt2'"),
        (("edit", bpe, "--out", out), "nothing to add or remove"),
        (("edit", bpe, "--add", "zebra,,x", "--out", out), "an empty word"),
        (("edit", bpe, "--remove", "a", "--out", out), "'a' is a byte by itself"),
        (("edit", bpe, "--add-file", tmp_path / "none", "--out", out), "cannot read"),
        (("edit", run, "--remove", "[END]", "--out", out), "special token"),
        (
            ("edit", bpe, "--add", "zebra", "--out", out / "no" / "x.json"),
            f"{out / 'no'}: no such folder; make it first",
        ),
        (("edit", run, "--add", "é", "--out", out / "new"), f"{out}: no such folder; make it first"),
        (("export", bpe, out / "new", "--to", "gpt2"), f"{out}: no such folder; make it first"),
        (("import", bpe, out / "x.json"), f"{out}: no such folder; make it first"),
        (("train", out / "x.json", "--text", "world:9"), f"{out}: no such folder; make it first"),
        (("edit", tmp_path, "--add", "zebra", "--out", out), "not a run folder"),
    ]
    for words, *said in cases:
        assert_refused(command("tokenizer", *words), *said)
        assert not out.exists()


def test_an_unfinished_run_is_not_edited(command, run, tmp_path):
    shutil.copytree(run, tmp_path / "begun")
    (tmp_path / "begun" / "model.safetensors").unlink()
    found = command("tokenizer", "edit", tmp_path / "begun", "--add", "zebra", "--out", tmp_path / "new")
    assert_refused(found, "no trained weights yet")
