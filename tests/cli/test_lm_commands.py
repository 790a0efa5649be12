"""rank, correct, authors, surprise and the ways to generate, from the command line."""

from __future__ import annotations

import json

import pytest
from cli_samples import assert_done, assert_refused

import firth


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """A model of the world that was counted."""
    out = tmp_path_factory.mktemp("world") / "run"
    firth.train("ngram-lm", text="world:400", out=out, settings={"tokenizer.vocabulary_size": 600, "method.order": 3})
    return out


@pytest.fixture(scope="module")
def no_language_model(tmp_path_factory):
    out = tmp_path_factory.mktemp("vectors") / "run"
    text = ["a b c d e f g"] * 30
    firth.train("ppmi", text=text, out=out, settings={"method.width": 2, "tokenizer.min_count": 1})
    return out


# --- run ----------------------------------------------------------------------------------------------------------


def test_run_searches_with_a_beam_and_tells_repetition(command, trained):
    words = ["run", trained, "1 2", "--beam", 3, "--count", 2, "--max-length", 8]
    words += ["--length-penalty", 0.6, "--repetition"]
    found = json.loads(assert_done(command(*words, "--json")).out)
    assert len(found["texts"]) == len(found["log_probabilities"]) == len(found["repetition"]) == 2
    assert all(text.startswith("1 2") for text in found["texts"]) and set(found["repetition"][0]) == {
        "rep_2",
        "rep_3",
        "rep_4",
    }
    shown = assert_done(command(*words)).out
    assert shown.count("[repeated n-grams of 2 tokens ") == 2 and "\n---\n" in shown


def test_run_completes(command, counted):
    found = json.loads(assert_done(command("run", counted, "The s", "--complete", 3, "--json")).out)
    assert [each["text"][0] for each in found["words"]] == ["s"] * 3 and len(found["tokens"]) == 3
    shown = assert_done(command("run", counted, "The s", "--complete", 3)).out
    assert shown.startswith("words\n  0.") and "\nnext tokens\n  0." in shown


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--beam", "3", "--top-k", "2"], "--top-k has no effect on a beam search; leave it or --beam out"),
        (["--beam", "3", "--seed", "2"], "--seed has no effect on a beam search"),
        (["--beam", "2", "--count", "3"], "a beam of 2 cannot return 3 hypotheses; make the beam wider"),
        (["--length-penalty", "1"], "--length-penalty belongs to --beam; add --beam 5"),
        (["--beam", "2", "--length-penalty", "-1"], "penalty = -1.0: must be at least 0.0"),
        (["--prefix"], "--prefix belongs to --score; add --score"),
        (["--complete", "2", "--max-length", "3"], "--max-length has no effect with --complete; leave it out"),
        (["--score", "--beam", "3"], "--beam has no effect with --score; leave it out"),
        (["--complete", "0"], "Invalid value for '--complete'"),
    ],
)
def test_options_that_do_not_go_together_are_refused(command, trained, options, said):
    assert_refused(command("run", trained, "1 2", *options), said)


# --- rank ---------------------------------------------------------------------------------------------------------


def test_rank_puts_the_more_probable_first(command, counted):
    found = json.loads(assert_done(command("lm", "rank", counted, "zq the xj", "the", "--prefix", "--json")).out)
    assert [row["text"] for row in found] == ["the", "zq the xj"]
    assert sum(row["relative_probability"] for row in found) == pytest.approx(1.0)
    shown = assert_done(command("lm", "rank", counted, "zq the xj", "the")).out.splitlines()
    assert shown[0].split() == ["probability", "nats", "bits", "tokens", "nats/token", "text"]
    assert shown[1].split()[-1] == "the"


def test_rank_reads_lines_and_a_context(command, counted):
    out = assert_done(command("lm", "rank", counted, "-", "--context", "The", "--json", stdin=b"cat\n\ndog\n")).out
    assert {row["text"] for row in json.loads(out)} == {"cat", "dog"}
    assert_refused(command("lm", "rank", counted, "-"), "no text; give at least one text, or - to read one per line")


@pytest.mark.parametrize("words", [["rank", "RUN", "a", "b"], ["correct", "RUN", "a"], ["surprisal", "RUN"]])
def test_other_models_are_refused(command, no_language_model, words):
    words = [no_language_model if word == "RUN" else word for word in words]
    assert_refused(
        command("lm", *words), no_language_model, "not a language model; train one, such as firth train ngram-lm"
    )


# --- correct ------------------------------------------------------------------------------------------------------


def sentence():
    from firth.datasets.world import World

    return next(text for text in World().documents(50, start=900) if " the " in text)


def test_correct_prints_the_text_and_its_corrections(command, counted):
    clean = sentence()
    spoiled = clean.replace(" the ", " teh ", 1)
    shown = assert_done(command("lm", "correct", counted, spoiled)).out.splitlines()
    assert (
        shown[0] == clean and shown[1].startswith(f"  {spoiled.index('teh')}: teh → the  ") and shown[1].endswith("%")
    )
    lines = f"{spoiled}\n{clean}\n".encode()
    first, second = map(
        json.loads, assert_done(command("lm", "correct", counted, "-", "--json", stdin=lines)).out.splitlines()
    )
    assert (first["input"], first["text"], second["corrections"]) == (spoiled, clean, [])


def test_correct_with_confusion_sets(command, counted, tmp_path):
    spoiled = sentence().replace(" the ", " are ", 1)
    path = tmp_path / "sets.txt"
    path.write_text("is,are\n\nthe, are\n")
    for choices in ("the,are", path):
        assert (
            assert_done(command("lm", "correct", counted, spoiled, "--confusion-set", choices)).out.splitlines()[0]
            == sentence()
        )
    assert_refused(
        command("lm", "correct", counted, "a", "--confusion-set", "the"),
        "--confusion-set: 'the' is a single word; write there,",
    )
    path.write_text("is,are\nthe\n")
    assert_refused(command("lm", "correct", counted, "a", "--confusion-set", path), f"{path}:2: 'the' is a single word")


def test_correct_refuses_impossible_rates(command, counted):
    assert_refused(
        command("lm", "correct", counted, "a", "--error-rate", "2"), "the error rate must lie between 0 and 1"
    )
    assert_refused(command("lm", "correct", counted, "a", "--max-distance", "3"), "Invalid value for '--max-distance'")


# --- authorship ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    from firth.datasets.world import World

    folder, found = tmp_path_factory.mktemp("texts"), list(World().documents(120))
    (folder / "a.txt").write_text("\n".join(found[:60]))
    (folder / "b.txt").write_text("\n".join(text[::-1] for text in found[:60]))
    (folder / "x.txt").write_text("\n".join(text[::-1] for text in found[60:]))
    return folder


def test_authorship_attribution(command, texts, tmp_path):
    words = [
        "lm",
        "authorship",
        "--author",
        f"ann={texts / 'a.txt'}",
        "--author",
        f"bob={texts / 'b.txt'}",
        "--text",
        texts / "x.txt",
    ]
    words += ["--out", tmp_path / "out", "--set", "method.order=3", "--set", "tokenizer.model=char"]
    words += ["--preset", "ngram-lm"]
    shown = assert_done(command(*words)).out
    assert f"{texts / 'x.txt'}: bob, best in 100.0% of bootstrap resamples" in shown
    (found,) = json.loads(assert_done(command(*words, "--json")).out)
    assert found["author"] == "bob" and [each["author"] for each in found["candidates"]] == ["bob", "ann"]
    ready = ["lm", "authorship", "--run", f"ann={tmp_path / 'out/ann'}", "--run", f"bob={tmp_path / 'out/bob'}"]
    (again,) = json.loads(assert_done(command(*ready, "--text", texts / "x.txt", "--json")).out)
    assert again == found


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--author", "a=x"], "fewer than two authors; give at least two with --author or --run"),
        (["--author", "a"], "cannot read 'a'; write it as --author austen=emma.txt"),
        (["--run", "=x"], "cannot read '=x'; write it as --run austen=runs/a"),
        (["--author", "a=x", "--run", "a=y"], "a has both a text and a model; give --author or --run, not both"),
        (["--run", "a=x,y", "--run", "b=z"], "a has two models; give one --run for each author"),
        (["--author", "a=no/x", "--author", "b=no/y"], "no/x"),
        (["--run", "a=no/x", "--run", "b=no/y"], "no/x: no such run folder"),
    ],
)
def test_authors_that_cannot_be_compared_are_refused(command, texts, tmp_path, options, said):
    assert_refused(command("lm", "authorship", "--text", texts / "x.txt", "--out", tmp_path / "out", *options), said)


# --- surprisal -----------------------------------------------------------------------------------------------------


def test_surprisal_writes_a_page_and_its_numbers(command, counted, tmp_path):
    words = [
        "lm",
        "surprisal",
        counted,
        "--out",
        tmp_path / "page.html",
        "--passages",
        2,
        "--prompt-length",
        3,
        "--max-length",
        10,
    ]
    shown = assert_done(command(*words)).out
    assert shown.splitlines()[1].startswith("human ") and shown.endswith(f"{tmp_path / 'page.html'}: 2 passages\n")
    assert "<svg" in (tmp_path / "page.html").read_text()
    found = json.loads(assert_done(command(*words, "--json")).out)
    assert [row["text"] for row in found["rows"]] == ["human", "greedy", "beam", "nucleus"]
    text = tmp_path / "mine.txt"
    text.write_text("\n".join(["The cat and the dog are here, and the cat is there."] * 9))
    assert_done(command(*words, "--text", text, "--document", "file"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--out", "page.png"], "unknown figure format '.png'; name it ….svg or ….html"),
        (["--out", "no/page.svg"], "no: no such folder; make it first"),
        (["--prompt-length", "9999"], "give a shorter --prompt-length"),
        (["--top-p", "0"], "top_p = 0.0: must be above 0.0"),
        (["--text", "no/such.txt"], "no/such.txt"),
    ],
)
def test_bad_options_of_surprisal_are_refused(command, counted, tmp_path, monkeypatch, options, said):
    monkeypatch.chdir(tmp_path)
    assert_refused(command("lm", "surprisal", counted, *options), said)


# --- rescore ----------------------------------------------------------------------------------------------------------

NBEST = "id\thypothesis\tscore\treference\n" + "".join(
    f"u{n}\tthe {noun} sleep\t-1\tthe {noun} sleeps\nu{n}\tthe {noun} sleeps\t-2\tthe {noun} sleeps\n"
    for n, noun in enumerate(("cat", "dog", "fox", "cow"))
)


def test_rescore_writes_lists_in_a_new_order(command, tmp_path):
    """With the exact model of the world, which knows no such texts, only the length counts."""
    (tmp_path / "n.tsv").write_text(NBEST)
    out = tmp_path / "out.tsv"
    done = command("lm", "rescore", "world", tmp_path / "n.tsv", "--weight", "0", "--out", out, "--json")
    result = json.loads(done.out)
    assert result["changed"] == 0 and result["rates"][0]["before"] == result["rates"][0]["after"] == pytest.approx(
        1 / 3
    )
    assert [line.split("\t")[:2] for line in out.read_text().splitlines()] == [
        line.split("\t")[:2] for line in NBEST.splitlines()
    ]


def test_rescore_fits_weights_on_other_lists(command, counted):
    done = command("lm", "rescore", "world", "world-nbest:test", "--dev", "world-nbest:valid", "--max-lists", 20,
                   "--prefix", "--ensemble", counted)  # fmt: skip
    assert done.code == 0 and "weights, fitted on 300 development lists: score 1  world " in done.out
    assert "20 lists, " in done.out and "word " in done.out


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        (NBEST.replace("the cat sleeps\n", "\n"), [], "n.tsv:2: n-best list 'u0' has no reference to fit weights on"),
        ("a\tx\t1\na\ty\t0\n", [], "n.tsv:1: n-best list 'a' has no reference to fit weights on"),
        ("a\tx\t1\na\ty\t0\n", ["--weight", "1"], "no list has a reference, so there are no error rates; give --out"),
        ("a\tx\na\ty\n", [], "n.tsv:1: 2 columns, expected 3 (id, hypothesis, score)"),
        ("id\thypothesis\treference\na\tx\tx\n", [], "n.tsv:1: no column with a score"),
        (NBEST, ["--dev", "world-senses:test"], "world-senses:test: not n-best lists"),
        (NBEST, ["--weight", "x"], "--weight: 'x' is neither auto nor a number"),
        (NBEST, ["--ensemble", "world"], "--ensemble: two language models with the name 'world'"),
        ("".join(NBEST.splitlines(True)[:3]), [], "a single n-best list: weights cannot be fitted and scored on it"),
        ("".join(NBEST.splitlines(True)[:6:2]), [], "every list has a single hypothesis, so there is nothing"),
    ],
)  # fmt: skip
def test_rescore_refuses(command, tmp_path, text, arguments, message):
    (tmp_path / "n.tsv").write_text(text)
    failed = command("lm", "rescore", "world", tmp_path / "n.tsv", *arguments)
    assert failed.code == 2 and message in failed.err and failed.err.count("\n") == 1


def test_rescore_needs_probabilities(command, no_language_model):
    message = "this model gives no probability of texts; give a causal, masked or n-gram language model"
    failed = command("lm", "rescore", no_language_model, "world-nbest:test")
    assert failed.code == 2 and message in failed.err
