"""`firth export` and `firth import`: n-gram models to and from ARPA files, networks to and from folders."""

from __future__ import annotations

import json
import math

import pytest
from cli_samples import assert_done, assert_refused

import firth
from firth.families import arpa_import

TEXT = [f"the {a} saw a {b} by the river" for a in ("dog", "cat", "cow") for b in ("fox", "hen", "dog")] * 3
TESTS = ["the dog saw a hen", "the zebra saw", "", "a a a river", "[UNK] saw [END]"]
HAND = """\\data\\
ngram 1=6
ngram 2=2

\\1-grams:
-99\t<s>\t-0.5
-1.0\t</s>
-0.7\ta\t-0.2
-0.6\tb\t-0.1
-0.8\t[END]
-2.0\t<unk>

\\2-grams:
-0.3\t<s> a
-0.2\tb </s>

\\end\\
"""
BY_HAND = {"a": -0.3 - 0.2 - 1.0, "b": -0.5 - 0.6 - 0.2, "a b": -0.3 - 0.2 - 0.6 - 0.2, "c a": -0.5 - 2.0 - 0.7 - 1.2}


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    """A run of a model of words, not to be changed."""
    out = tmp_path_factory.mktemp("runs") / "words"
    settings = {"tokenizer.split": "whitespace"}
    firth.train("ngram-lm:tiny", text=TEXT, out=out, tokenizer="word", vocab_size=100, settings=settings)
    return out


@pytest.fixture
def hand(tmp_path):
    path = tmp_path / "hand.arpa"
    path.write_text(HAND)
    return path


def tens(model, texts):
    return [score / math.log(10) for score in model.score(texts)]


@pytest.mark.parametrize("name", ["model.arpa", "model.arpa.gz"])
def test_a_model_comes_back_as_it_was(command, words, tmp_path, name):
    found = assert_done(command("export", words, "--to", "arpa", "--out", tmp_path / name))
    assert found.out == f"{tmp_path / name}: {(tmp_path / name).stat().st_size:,} bytes\n"
    told = assert_done(command("import", tmp_path / name, "--out", tmp_path / "again")).out
    assert f"run folder: {tmp_path / 'again'}" in told and "n-grams of order 1 to 3:" in told
    own, again = firth.load(words), firth.load(tmp_path / "again")
    assert again.score(TESTS) == pytest.approx(own.score(TESTS), abs=1e-5)
    assert again.perplexity(TEXT) == pytest.approx(own.perplexity(TEXT), rel=1e-5)
    assert again.counted.sizes[1:] == own.counted.sizes[1:]


def test_an_imported_model_scores_as_kenlm_does(command, words, tmp_path):
    kenlm = pytest.importorskip("kenlm")
    assert_done(command("export", words, "--to", "arpa", "--out", tmp_path / "model.arpa"))
    assert_done(command("import", tmp_path / "model.arpa", "--out", tmp_path / "run"))
    theirs, ours = kenlm.Model(str(tmp_path / "model.arpa")), firth.load(tmp_path / "run")
    assert tens(ours, TESTS[:4]) == pytest.approx([theirs.score(text) for text in TESTS[:4]], abs=1e-4)
    prefix = [score / math.log(10) for score in ours.score(TESTS[:4], whole=False)]
    assert prefix == pytest.approx([theirs.score(text, eos=False) for text in TESTS[:4]], abs=1e-4)


def test_an_imported_model_scores_as_its_lines_say(command, hand, tmp_path):
    assert_done(command("import", hand, "--out", tmp_path / "run"))
    model = firth.load(tmp_path / "run")
    assert tens(model, list(BY_HAND)) == pytest.approx(list(BY_HAND.values()), abs=1e-6)
    assert tens(model, ["[END]"]) == pytest.approx([-0.5 - 2.0 - 1.0], abs=1e-6)  # text is never a special token
    assert all(set(text.split()) <= {"a", "b", "\\[END]"} for text in model.generate(count=5, max_length=5))


def test_an_imported_model_is_told_of_and_evaluated(command, hand, tmp_path):
    run = tmp_path / "run"
    assert_done(command("import", hand, "--out", run))
    about = json.loads(assert_done(command("info", run, "--json")).out)
    assert about["state"] == "done" and about["training"] == "imported from hand.arpa" and about["preset"] == "arpa"
    (tmp_path / "text.txt").write_text("a b\nb\n")
    scores = json.loads(assert_done(command("eval", run, "--text", tmp_path / "text.txt", "--json")).out)
    expected = 10 ** (-(BY_HAND["a b"] + BY_HAND["b"]) / 5)
    assert scores[0]["value"] == pytest.approx(expected, rel=1e-5)
    line = assert_done(command("run", run, "a b", "--score")).out
    assert float(line.split("\t")[0]) == pytest.approx(BY_HAND["a b"] * math.log(10), abs=1e-4)
    assert_refused(command("eval", run), run, "no text of its own", "--text")
    assert_refused(command("train", run), run, "imported, not trained")


def test_a_stopped_import_goes_on(hand, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(arpa_import, "save", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            firth.api.import_model(hand, out=tmp_path / "run")
    again = firth.api.import_model(hand, out=tmp_path / "run")
    assert tens(again, ["a"]) == pytest.approx([BY_HAND["a"]], abs=1e-6)
    with pytest.raises(firth.FirthError, match="a run is in this folder"):
        firth.api.import_model(hand, out=tmp_path / "run")


def test_without_a_folder_the_name_of_the_file_is_taken(command, hand, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("runs/hand", "runs/hand-2"):
        assert f"run folder: {name} " in assert_done(command("import", hand)).out


def test_bad_input_is_refused_in_one_line(command, words, hand, run, tmp_path):
    out = tmp_path / "out"
    assert_refused(command("export", words, "--to", "arpo", "--out", out), "unknown kind of export 'arpo'", "arpa")
    assert_refused(command("export", words, "--to", "tar.xz", "--out", out), "known: arpa")
    assert_refused(command("export", words, "--to", "arpa", "--out", tmp_path / "no" / "f"), "no such folder")
    assert_refused(command("export", words, "--to", "arpa", "--out", tmp_path), "a folder has this name")
    assert_refused(command("export", words, "--to", "arpa", "--out", out, "--verify"), "cannot be read back")
    assert_refused(command("export", run, "--to", "arpa", "--out", out), "unknown kind of export 'arpa'", "huggingface")
    assert_refused(command("export", run, "--to", "huggingface", "--out", out), "of the kind recurrent", "GPT-2")
    assert_refused(command("import", tmp_path / "none.arpa", "--out", out), "no such file")
    (tmp_path / "empty").mkdir()
    assert_refused(command("import", tmp_path / "empty", "--out", out), "not a Hugging Face folder")
    assert_refused(command("import", run, "--out", out), "config.json", "no model_type")
    hand.write_text(HAND.replace("-0.2\tb </s>", "-0.2\tz </s>"))
    assert_refused(command("import", hand, "--out", out), f"{hand}:15", "not among the 1-grams")
    long = ["\\data\\", *(f"ngram {n}=1" if n > 1 else "ngram 1=3" for n in range(1, 12)), ""]
    long += ["\\1-grams:", "-1\t<s>", "-1\t</s>", "-1\ta", ""]
    for order in range(2, 12):
        long += [f"\\{order}-grams:", "-1\t" + " ".join(["a"] * order), ""]
    hand.write_text("\n".join([*long, "\\end\\", ""]))
    assert_refused(command("import", hand, "--out", out), "n-grams of 11 tokens", "10 are the most")
    assert not out.exists()


def test_a_network_goes_out_and_comes_back(command, corpus, tmp_path):
    run, out, again = tmp_path / "transformer-lm", tmp_path / "out", tmp_path / "again"
    settings = ["--set", "backbone.positions=learned", "--set", "train.threads=1", "--tokenizer", "byte"]
    small = ["--width", "16", "--depth", "1", "--max-length", "16", "--batch-size", "4", "--budget", "2 steps"]
    assert_done(command("train", "transformer-lm:tiny", "--text", corpus, "--quiet", "--out", run, *settings, *small))
    told = assert_done(command("export", run, "--to", "huggingface", "--out", out, "--verify")).out
    assert f"{out}: GPT-2" in told and "gives the same logits" in told
    files = {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "generation_config.json"}
    assert {path.name for path in out.iterdir()} == files
    told = assert_done(command("import", out, "--out", again)).out
    assert "imported from out (GPT-2)" in told and f"run folder: {again}" in told
    score = [assert_done(command("run", each, "1 2 3", "--score")).out for each in (run, again)]
    assert score[0] == score[1]
    assert_refused(command("train", again), "imported, not trained", "--init-from")
    goes_on = [
        "train",
        again,
        "--init-from",
        again,
        "--text",
        corpus,
        "--budget",
        "2 steps",
        "--batch-size",
        "4",
        "--quiet",
    ]
    assert_done(command(*goes_on, "--out", tmp_path / "more"))
    assert_refused(command("train", "transformer-lm:tiny", "--init-from", tmp_path / "nowhere"), "no such run folder")
