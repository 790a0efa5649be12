"""Bad input as a user meets it: one line that says what, where and what to do; exit code 2; nothing lost."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli_samples import SMALL, TEXT, assert_done, assert_refused, outcome

from firth.api import resolve_config
from firth.config.schema import Text
from firth.datasets.sources import open_source
from firth.errors import FirthError
from firth.runs import atomic_files, checkpoints
from firth.runs.run_folder import Log

# --- text ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the file is empty; give a file with text"),
        (b" \n\t\n", "no text in it; give a file with at least one line of text"),
        (bytes(range(256)) * 8, "a binary file, not text; give plain text, or name its encoding with --encoding"),
        (
            b"fine\n" * 10 + b"na\xefve\n",
            "byte 0xef at offset 52 (line 11) is not valid utf-8; use --encoding-errors replace",
        ),
        (b"one\ntwo\n", "2 documents, too few to split three ways; use --document line, or give --valid and --test"),
    ],
)
def test_a_text_that_is_none_is_refused_and_leaves_no_folder(command, training, tmp_path, content, said):
    path = tmp_path / "bad.txt"
    path.write_bytes(content)
    assert_refused(command(*training, "--text", path, "--out", tmp_path / "out"), path, said)
    assert not (tmp_path / "out").exists()
    assert path.read_bytes() == content


def test_a_missing_text_offers_the_nearest(command, training, corpus, tmp_path):
    wrong = corpus.with_name("korpus.txt")
    assert_refused(command(*training, "--text", wrong, "--out", tmp_path / "out"),
                   f"{wrong}: no such file or folder; did you mean {str(corpus)!r}?")  # fmt: skip
    assert not (tmp_path / "out").exists()


def test_bad_bytes_are_replaced_on_demand(command, training, tmp_path):
    path = tmp_path / "bad.txt"
    path.write_bytes(TEXT.encode() + b"na\xefve\n")
    assert_done(command(*training, "--text", path, "--out", tmp_path / "out", "--encoding-errors", "replace"))


def test_line_ends_do_not_matter(command, training, corpus, trained, tmp_path):
    """CRLF gives the documents, the tokens and so the scores of LF."""
    path = tmp_path / "crlf.txt"
    path.write_bytes(TEXT.replace("\n", "\r\n").encode())
    assert list(open_source((str(path),), Text(), tmp_path)) == list(open_source((str(corpus),), Text(), tmp_path))
    assert_done(command(*training, "--text", path, "--out", tmp_path / "out"))
    values = [[score["value"] for score in json.loads((run / "scores.json").read_text())]
              for run in (trained, tmp_path / "out")]  # fmt: skip
    assert values[0] == values[1]


def test_a_line_of_fifty_megabytes_is_refused_unless_it_may_be_split(command, training, tmp_path):
    path = tmp_path / "line.txt"
    path.write_bytes(b"word " * 10_000_000)
    assert_refused(command(*training, "--text", path, "--out", tmp_path / "out"),
                   path, "line 1 is longer than 16 MB; cut it with --set data.long_lines=split")  # fmt: skip
    sizes = [len(document) for document in open_source((str(path),), Text(long_lines="split"), tmp_path)]
    assert sum(sizes) == 50_000_000 and max(sizes) <= 16 << 20


def test_empty_standard_input_is_refused(command, training, tmp_path):
    found = command(*training, "--text", "-", "--out", tmp_path / "out")
    assert_refused(found, "the file is empty; give a file with text")


# --- words of the command -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["trian", "lstm-lm"], "unknown command 'trian'; did you mean 'train'?"),
        (["train"], "Missing argument 'PRESET|RECIPE.toml|RUN'; see firth train --help"),
        (["train", "lstm-lm", "--widht", "3"], "no such option: --widht"),
        (["train", "lstm"], "unknown preset 'lstm'; did you mean 'lstm-lm'?"),
        (["train", "lstm-lm:huge"], "unknown size of lstm-lm 'huge'; known: medium, small, tiny"),
        (
            ["train", "lstm-lm", "--set", "backbone.widht=3"],
            "unknown key 'backbone.widht'; did you mean 'backbone.width",
        ),
        (["train", "lstm-lm", "--set", "width"], "cannot read setting 'width'; write it as key=value, such as"),
        (["train", "lstm-lm", "--width", "wide"], "Invalid value for '--width'"),
        (["train", "lstm-lm", "--width", "0"], "backbone.width = 0: must be at least 1"),
        (["train", "lstm-lm", "--lr", "nan"], "train.optimizer.learning_rate = nan: not a finite number"),
        (["train", "lstm-lm", "--tokenizer", "letters"], "'letters' is not one of 'char', 'byte', 'word'"),
        (["train", "lstm-lm", "--budget", "long"], "train.budget = 'long': not a budget; write 90s, 2m, 1.5h, 500"),
        (["train", "lstm-lm", "--set", "backbone=3"], "backbone: unknown kind '3'; known: "),
        (["train", "runs/nowhere"], "runs/nowhere: no such run folder; runs here: none"),
        (["train", "nowhere.toml"], "nowhere.toml: cannot read: No such file or directory"),
        (["run", "nowhere"], "nowhere: no such run folder; runs here: none"),
        (["eval", "."], ".: not a run folder: it has no config.json; name a folder made by firth train"),
        (["compare"], "Missing argument 'RUN'; see firth compare --help"),
        (["tokenizer", "train", "x.json", "--model", "x"], "'x' is not one of 'char', 'byte', 'word'"),
        (["tokenizer", "encode", "nowhere.json", "x"], "nowhere.json: cannot read: No such file or directory"),
    ],
)
def test_a_wrong_word_is_named(command, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    assert_refused(command(*words), said)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", [[], ["tokenizer"]])
def test_no_verb_gives_the_help(command, words):
    found = command(*words)
    assert found.code == 2 and found.err.startswith("Usage: firth") and "  train" in found.err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("x = [", "not TOML: "),
        ("seed = 3", 'no preset is named; add a line such as preset = "lstm-lm"'),
        ('preset = "lstm"', "unknown preset 'lstm'; did you mean 'lstm-lm'?"),
        ('preset = "lstm-lm"\nsede = 3', "unknown key 'sede'; did you mean 'seed'?"),
        ('preset = "lstm-lm"\n[backbone]\nwidth = "wide"', "backbone.width = wide: expected int"),
    ],
)
def test_a_wrong_recipe_is_named_with_its_file(command, tmp_path, content, said):
    path = tmp_path / "recipe.toml"
    path.write_text(content)
    assert_refused(command("train", path), f"{path}: {said}")


@pytest.mark.parametrize(
    "setting",
    [
        "train.optimizer.betas=0.9",
        "train.optimizer.betas=2,3",
        "backbone.kind.x=1",
        f"seed={2**70}",
        "train.threads=99999",
    ],
)
def test_a_value_beyond_all_limits_is_refused_at_once(setting):
    with pytest.raises(FirthError, match=setting.replace("=", ".").split(".")[0]):
        resolve_config("lstm-lm", [setting])


def test_a_model_beyond_all_memory_is_refused(command, training, tmp_path):
    assert_refused(command(*training, "--out", tmp_path / "out", "--set", f"backbone.width={10**10}"),
                   "out of memory; choose a smaller width, batch size or length")  # fmt: skip


@pytest.mark.parametrize(
    ("name", "said", "line"),
    [
        ("PanicException", "no thread pool", "internal error: PanicException: no thread pool"),
        ("RuntimeError", "can't start new thread", "out of memory; choose a smaller width, batch size or length"),
        ("ImportError", "failed to map segment from shared object", "out of memory; choose a smaller width"),
        ("RuntimeError", "could not create a primitive", "out of memory; choose a smaller width"),
        ("RuntimeError", "could not execute a primitive", "out of memory; choose a smaller width"),
    ],
)
def test_a_panic_of_a_library_and_refused_memory_are_one_line(command, monkeypatch, name, said, line):
    known = {"RuntimeError": RuntimeError, "ImportError": ImportError}
    error = known.get(name) or type(name, (BaseException,), {})

    def fail(*arguments, **named):
        raise error(said)

    monkeypatch.setattr("firth.cli.main.app", fail)
    found = command("info")
    assert found.err.startswith(f"firth: {line}") and found.err.count("\n") == 1 and found.code in (1, 2)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (["--top-p", "0"], "top_p = 0.0: must be above 0.0"),
        (["--top-p", "1.5"], "top_p = 1.5: must be at most 1.0"),
        (["--temperature", "-1"], "temperature = -1.0: must be at least 0.0"),
        (["--temperature", "nan"], "temperature = nan: not a finite number"),
        (["--top-k", "-1"], "top_k = -1: must be at least 0"),
        (["--count", "0"], "Invalid value for '--count'"),
        (["--seed", "x"], "Invalid value for '--seed'"),
    ],
)
def test_impossible_sampling_is_refused(command, trained, option, said):
    assert_refused(command("run", trained, "1 2", *option), said)


def test_an_unknown_split_is_refused(command, trained):
    assert_refused(command("eval", trained, "--split", "nope"), "unknown split 'nope'; known: test, train, valid")


@pytest.mark.parametrize("ids", ["7 x", "7 99999", "-1"])
def test_what_is_no_token_is_refused(command, trained, ids):
    assert_refused(command("tokenizer", "decode", trained, "--", ids), "token", "; ")


# --- run folders --------------------------------------------------------------------------------------------------


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-9] ^= 1
    path.write_bytes(content)


def widen(path: Path) -> None:
    path.write_text(path.read_text().replace('"width": 16', '"width": 18'))


def exchange(path: Path) -> None:
    from firth import Tokenizer
    from firth.config.schema import Tokenizer as Config

    Tokenizer.train(Config(model="char"), [TEXT]).save(path)


DAMAGES = [
    ("model.safetensors", cut, "the weights are damaged: their checksum does not match; restore the file, or"),
    ("model.safetensors", flip, "the weights are damaged: their checksum does not match; restore the file, or"),
    ("model.safetensors", lambda path: path.write_bytes(b""), "not a firth weights file, or cut short; restore"),
    ("model.safetensors", Path.unlink, "this run has no trained weights yet; continue it: firth train"),
    ("config.json", widen, "config.json is not the one these weights were trained with; the folder was edited;"),
    ("config.json", cut, "the folder was edited or cut short; restore it, or train again"),
    ("config.json", lambda path: path.write_text("[]"), "the folder was edited or cut short; restore it, or train"),
    ("config.json", Path.unlink, "not a run folder: it has no config.json; name a folder made by firth train"),
    ("tokenizers/text.json", exchange, "not the tokenizer this model was trained with; the folder was edited or"),
    ("tokenizers/text.json", cut, "not a tokenizer file; the folder was edited or cut short; restore it, or train"),
    ("tokenizers/text.json", Path.unlink, "cannot read: No such file or directory; the folder was edited or cut"),
]


@pytest.mark.parametrize("verb", ["run", "eval"])
@pytest.mark.parametrize(("name", "damage", "said"), DAMAGES)
def test_a_damaged_run_is_refused_with_its_file(command, run, verb, name, damage, said):
    damage(run / name)
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert_refused(command(verb, run), run, said)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_a_wrong_byte_in_the_header_of_the_weights_is_refused(command, run):
    path = run / "model.safetensors"
    whole = path.read_bytes()
    for old, new in ((b'"F32"', b'"I32"'), (b"[263,16]", b"[163,16]"), (b"head.bias", b"head.bias"[::-1])):
        assert old in whole
        path.write_bytes(whole.replace(old, new, 1))
        assert_refused(command("run", run, "--max-length", 1), path)


@pytest.mark.parametrize("content", ["{", "[1]", '[{"name": 1}]'])
def test_damaged_scores_say_how_to_get_them_back(command, run, content):
    (run / "scores.json").write_text(content)
    found = command("info", run)
    assert_refused(found._replace(out=""), run / "scores.json", "damaged (", "; delete it; firth eval writes it anew")
    assert "6,647" in found.out and f"damaged      {run / 'scores.json'}: damaged (" in found.out  # and all the rest
    (run / "scores.json").unlink()
    assert_done(command("eval", run))
    assert "perplexity" in assert_done(command("info", run)).out


def test_a_damaged_log_is_read_as_far_as_it_goes(command, run):
    (run / "log.jsonl").write_bytes(b'\xff\n[]\n{"step": 1}\n{"step"')
    assert_done(command("info", run))


@pytest.mark.parametrize("damage", [cut, flip, Path.unlink])
@pytest.mark.parametrize("name", ["weights.safetensors", "training.safetensors", "training.json", "manifest.json"])
def test_a_damaged_checkpoint_is_passed_over_and_the_end_is_the_same(command, run, trained, name, damage):
    damage(run / "state/step-000006" / name)
    assert checkpoints.newest_checkpoint(run) == run / "state/step-000003"
    assert_done(command("train", run, "--quiet"))
    assert outcome(run) == outcome(trained)


def test_without_any_whole_checkpoint_the_run_starts_over_and_ends_the_same(command, run, trained):
    for place in (run / "state").iterdir():
        flip(place / "weights.safetensors")
    assert checkpoints.newest_checkpoint(run) is None
    assert_done(command("train", run, "--quiet"))
    assert outcome(run) == outcome(trained)


@pytest.mark.parametrize("change", [('"width": 16', '"width": 18'), ('"learning_rate": 0.01', '"learning_rate": 0.5')])
def test_an_edited_run_is_not_continued(command, run, change):
    """Whether the weights still fit or not: a run is one configuration."""
    path = run / "config.json"
    assert change[0] in path.read_text()
    path.write_text(path.read_text().replace(*change))
    flip(run / "state/step-000006/weights.safetensors")
    assert_refused(command("train", run, "--quiet"), "config.json", "restore")


@pytest.mark.parametrize("damage", [flip, Path.unlink])
def test_lost_weights_come_back_by_continuing_as_the_message_says(command, run, trained, damage):
    damage(run / "model.safetensors")
    assert_done(command("train", run, "--quiet"))
    assert outcome(run) == outcome(trained)


def test_lost_weights_come_back_by_training_again(command, run, trained):
    """Without its checkpoints a run starts over, and ends with the same bytes."""
    cut(run / "model.safetensors")
    shutil.rmtree(run / "state")
    assert_done(command("train", run, "--quiet"))
    assert outcome(run) == outcome(trained)


def test_another_run_in_the_folder_is_left_alone(command, training, run, trained):
    found = command(*training, "--out", run, "--set", "backbone.width=17")
    assert_refused(
        found, run, f"another run is in this folder; choose another --out, or continue it: firth train {run}"
    )
    assert outcome(run) == outcome(trained)


def test_a_run_is_continued_as_it_was_begun(command, run):
    for option in (["--width", 17], ["--out", run], ["--plan"]):
        found = command("train", run, *option)
        assert_refused(found, run, "a run is resumed with its own configuration; leave out the other options")


def test_a_changed_text_is_refused(command, training, tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    assert_done(command(*training, "--text", path, "--out", tmp_path / "out"))
    path.write_text(TEXT + "more\n")
    assert_refused(
        command("eval", tmp_path / "out"), path, "the text has changed since the run was trained; restore it"
    )
    assert_refused(command("train", tmp_path / "out"), "text has changed since this run began; restore the text, or")


# --- writing ------------------------------------------------------------------------------------------------------


class Failing:
    """`files.write` that fails at its n-th call, half of the data written."""

    def __init__(self, at: int, number: int) -> None:
        self.at, self.number, self.done, self.write = at, number, 0, atomic_files.write

    def __call__(self, descriptor: int, data: bytes) -> None:
        self.done += 1
        if self.done == self.at:
            self.write(descriptor, data[: len(data) // 2])
            raise OSError(self.number, os.strerror(self.number))
        self.write(descriptor, data)


def test_a_full_disk_costs_nothing_that_was_saved(command, training, trained, tmp_path, monkeypatch):
    """At every write: one line, whole checkpoints, no half-written rest; the same command then ends the same."""
    writes = Failing(0, errno.ENOSPC)
    with monkeypatch.context() as patch:
        patch.setattr(atomic_files, "write", writes)
        assert_done(command(*training, "--out", tmp_path / "whole"))
    assert outcome(tmp_path / "whole") == outcome(trained)
    for at in range(1, writes.done + 1):
        out = tmp_path / str(at)
        with monkeypatch.context() as patch:
            patch.setattr(atomic_files, "write", Failing(at, errno.ENOSPC))
            found = command(*training, "--out", out)
        assert_refused(found, out, "the disk is full; free some space and run the same command again")
        assert all(checkpoints.is_complete(place) for place in out.glob("state/*"))
        assert not [path for path in out.rglob("*") if path.name.endswith(".new")]
        assert_done(command(*training, "--out", out))
        assert outcome(out) == outcome(trained), f"full at write {at}"


def test_a_full_disk_is_noticed_by_the_log_too(command, training, trained, tmp_path, monkeypatch):
    start = Log._start

    def to_a_full_disk(log: Log, keep_to: int) -> None:
        start(log, keep_to)
        log._file.close()
        log._file = Path("/dev/full").open("ab", buffering=0)  # noqa: SIM115 - the log closes it

    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(Log, "_start", to_a_full_disk)
        assert_refused(command(*training, "--out", out), out / "log.jsonl", "the disk is full; free some space")
    assert_done(command(*training, "--out", out))
    assert outcome(out) == outcome(trained)


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.EACCES, "no permission to write; choose another folder"),
        (errno.EROFS, "the file system is read-only; choose another folder"),
        (errno.EDQUOT, "the disk quota is used up; free some space"),
        (errno.EIO, "cannot write: Input/output error"),
    ],
)
def test_what_may_not_be_written_is_said(command, training, tmp_path, monkeypatch, number, said):
    monkeypatch.setattr(atomic_files, "write", Failing(1, number))
    assert_refused(command(*training, "--out", tmp_path / "out"), tmp_path / "out", said)


def test_a_folder_that_cannot_be_made_is_refused(command, training, corpus, tmp_path, monkeypatch):
    assert_refused(command(*training, "--out", corpus / "below"), corpus, "a part of this path is not a folder; choose")
    assert_refused(command(*training, "--out", corpus), corpus, "a file has this name; choose another")
    assert corpus.read_text() == TEXT

    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    found = command(*training, "--out", tmp_path / "a/b")
    assert_refused(found, tmp_path / "a/b", "no permission to write; choose another")


def test_a_cache_that_cannot_be_written_is_refused(command, training, corpus, tmp_path, monkeypatch):
    monkeypatch.setenv("FIRTH_CACHE", str(corpus / "cache"))
    found = command(*training, "--out", tmp_path / "out")
    assert_refused(found, corpus / "cache", "a part of this path is not a folder; choose another", "FIRTH_CACHE")


def test_an_unfinished_run_says_how_to_go_on(command, training, tmp_path, monkeypatch):
    """Without weights there is nothing to run; with some, the best so far speak."""
    out, rename = tmp_path / "out", atomic_files.rename

    def stop_at(name: str) -> None:
        def refuse(old: Path, new: Path, folder: int | None = None) -> None:
            if new.name == name:
                raise OSError(errno.ENOSPC, "No space left on device")
            rename(old, new, folder)

        with monkeypatch.context() as patch:
            patch.setattr(atomic_files, "rename", refuse)
            assert_refused(command(*training, "--out", out), out, "the disk is full")

    stop_at("model.safetensors")
    assert_refused(command("run", out), out, f"this run has no trained weights yet; continue it: firth train {out}")
    stop_at("step-000006")
    assert "open, step 3 of 6" in assert_done(command("info", out)).out
    assert assert_done(command("run", out, "1 2", "--max-length", 1)).out.startswith("1 2")


def test_two_trainers_do_not_share_a_folder(command, training, run):
    import fcntl

    with (run / ".lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        assert_refused(command("train", run), run, "another process is training here; wait, or choose --out")


# --- true processes -----------------------------------------------------------------------------------------------


def process(*words: object, **options) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "firth", *map(str, words)], capture_output=True, text=True, **options)


def test_a_process_ends_with_code_2_and_one_line(tmp_path):
    found = process("train", "lstm-lm", "--set", "backbone.widht=3", cwd=tmp_path)
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr == "firth: unknown key 'backbone.widht'; did you mean 'backbone.width'?\n"


@pytest.mark.parametrize("words", [["--debug", "train", "zzzz"], ["train", "zzzz", "--debug"]])
def test_debug_shows_the_traceback_wherever_it_stands(tmp_path, words):
    found = process(*words, cwd=tmp_path)
    assert found.returncode == 1 and found.stderr.startswith("Traceback")
    assert found.stderr.splitlines()[-1].startswith("firth.errors.FirthError: unknown preset 'zzzz'; known: ")


def test_python_users_get_the_same_line(tmp_path):
    import firth

    with pytest.raises(FirthError, match=r"^unknown argument 'widht'; did you mean 'width'\?$"):
        firth.train("lstm-lm", widht=3)
    with pytest.raises(FirthError, match=r"^Python documents: no text in it"):
        firth.train("lstm-lm", text=[" "], out=tmp_path / "out", settings=SMALL)
