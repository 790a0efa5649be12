"""Ctrl-C in any stage of a command: one line says how to go on, and it is true."""

from __future__ import annotations

import shlex

import pytest
from cli_samples import OPTIONS, assert_done

from firth.datasets import text_dataset
from firth.families import neural, ngram, word_embeddings
from firth.runs.run_folder import Run

NOTHING = "firth: stopped; nothing was written"
RESUME = "firth: stopped; resume with: "


@pytest.fixture
def stop(monkeypatch):
    """A function that calls a command with Ctrl-C in one place of it, and returns its last line."""

    def call(command, place, *arguments):
        def interrupt(*_, **__):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(*place, interrupt)
            found = command(*arguments)
        assert found.code == 130 and "Traceback" not in found.err
        return found.err.splitlines()[-1]

    return call


def assert_goes_on(command, line):
    """The command of the line ends what was begun."""
    assert line.startswith(RESUME)
    program, *arguments = shlex.split(line.removeprefix(RESUME))
    assert program == "firth"
    assert_done(command(*arguments))


BEFORE = [(text_dataset, "documents"), (text_dataset, "make_tokenizer"), (text_dataset, "tokenise_splits")]
NETWORK = [*BEFORE, (neural, "build"), (neural, "machine_info"), (neural, "train"), (neural, "load"),
           (neural.LanguageModel, "evaluate"), (neural, "write_report")]  # fmt: skip
COUNTS = [*BEFORE, (ngram, "_estimate"), (ngram, "write_report")]
VECTORS = [(word_embeddings, name) for name in ("documents", "_corpora", "load", "write_report")]


@pytest.mark.parametrize(
    "preset, options, place",
    [
        *(("lstm-lm:tiny", OPTIONS, place) for place in NETWORK),
        *(("ngram-lm", [], place) for place in COUNTS),
        *(("skipgram:tiny", ["--epochs", "1", "--threads", "1"], place) for place in VECTORS),
    ],
    ids=lambda value: value if isinstance(value, str) else value[-1] if isinstance(value, tuple) else "",
)
def test_training(command, stop, corpus, tmp_path, monkeypatch, preset, options, place):
    monkeypatch.chdir(tmp_path)
    line = stop(command, place, "train", preset, "--text", corpus, "--quiet", *options)
    folders = list(tmp_path.glob("runs/*"))
    if line == NOTHING:
        assert not any(path.is_file() for path in tmp_path.rglob("*"))
        return
    (folder,) = folders
    assert_goes_on(command, line)
    assert Run(folder).is_trained and (folder / "report.html").exists()
    assert list(tmp_path.glob("runs/*")) == [folder]


def test_only_what_is_begun_is_resumed(command, stop, corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ("train", "lstm-lm:tiny", "--text", corpus, "--quiet", *OPTIONS)
    assert stop(command, (text_dataset, "make_tokenizer"), *words) == NOTHING
    assert "--out runs/lstm-lm-tiny" in stop(command, (neural, "machine_info"), *words)
    assert stop(command, (neural, "write_report"), *words) == f"{RESUME}firth train runs/lstm-lm-tiny-2"


def test_an_import(command, stop, tmp_path, monkeypatch):
    from firth.families import arpa_import

    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.arpa").write_text(
        "\\data\\\nngram 1=4\n\n\\1-grams:\n-1\t<unk>\n-99\t<s>\n-0.5\t</s>\n-0.3\ta\n\n\\end\\\n"
    )
    assert stop(command, (arpa_import, "read_arpa"), "import", "a.arpa") == NOTHING
    line = stop(command, (arpa_import, "save"), "import", "a.arpa")
    assert line == f"{RESUME}firth import a.arpa --out runs/a"
    assert_goes_on(command, line)
    assert stop(command, (arpa_import, "load"), "import", "a.arpa") == (
        "firth: stopped; the run is complete: runs/a-2"
    )


def test_authors_are_trained_further(command, stop, corpus, tmp_path):
    from firth.families import ngram as family

    words = ["lm", "authorship", "--author", f"a={corpus}", "--author", f"b={corpus}", "--text", corpus]
    words += ["--out", tmp_path / "authors", "--quiet", "--no-normalise"]
    line = stop(command, (family, "_estimate"), *words)
    assert line == RESUME + shlex.join(["firth", *map(str, words)])
    assert_goes_on(command, line)


@pytest.mark.parametrize(
    "place, words",
    [
        ("firth.corpus.open_index", ["corpus", "stats", "--html", "page.html"]),
        ("firth.corpus.statistics", ["corpus", "stats", "--html", "page.html"]),
        ("firth.report.corpus_pages.statistics_page", ["corpus", "stats", "--html", "page.html"]),
        ("firth.corpus.cleaning._apply_filters", ["corpus", "clean", "--min-words", "1", "--out", "clean.txt"]),
        ("firth.tokenizers.tokenizer.Tokenizer.train", ["tokenizer", "train", "tokenizer.json"]),
    ],
)
def test_commands_that_write_at_their_end(command, stop, corpus, tmp_path, monkeypatch, place, words):
    monkeypatch.chdir(tmp_path)
    assert stop(command, (place,), *words, "--text", corpus) == NOTHING
    assert not list(tmp_path.iterdir())


def test_evaluation_and_vectors(command, stop, trained, tmp_path, monkeypatch):
    import firth.embeddings.word_vectors

    monkeypatch.chdir(tmp_path)
    assert stop(command, (neural.LanguageModel, "evaluate"), "eval", trained) == NOTHING
    (tmp_path / "v.txt").write_text("2 2\na 1 0\nb 0 1\n")
    place = (firth.embeddings.word_vectors.WordVectors, "save")
    assert stop(command, place, "vectors", "convert", "v.txt", "out.txt") == NOTHING
