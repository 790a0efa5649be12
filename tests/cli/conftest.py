"""The command line within this process, and a run that is trained once."""

from __future__ import annotations

import io
import shutil
import sys

import pytest
from cli_samples import OPTIONS, SMALL, TEXT, Outcome


@pytest.fixture
def command(monkeypatch, capsys):
    """A function that calls `firth` with these arguments and returns the outcome."""
    from firth.cli.main import run

    def call(*arguments: object, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "argv", ["firth", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            run()
        return Outcome(int(left.value.code or 0), *capsys.readouterr())

    return call


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    """A text file of sixty documents."""
    path = tmp_path_factory.mktemp("text") / "corpus.txt"
    path.write_text(TEXT)
    return path


@pytest.fixture
def training(corpus):
    """The arguments that train a small model on the corpus, without --out."""
    return ["train", "lstm-lm:tiny", "--text", corpus, "--quiet", *OPTIONS]


@pytest.fixture(scope="session")
def trained(corpus, tmp_path_factory):
    """A finished run; not to be changed."""
    import firth

    out = tmp_path_factory.mktemp("runs") / "trained"
    firth.train("lstm-lm:tiny", text=str(corpus), out=out, settings=SMALL)
    return out


@pytest.fixture
def run(trained, tmp_path):
    """A copy of the finished run, to be changed."""
    return shutil.copytree(trained, tmp_path / "run")
