"""The files of a run: a folder elsewhere for the checkpoints, scores of several processes, folders that are read-only,
what killed processes leave."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from attacks import SMALL, call, make_run

import firth
from firth import FirthError
from firth.runs import atomic_files, checkpoints
from firth.runs.run_folder import Run

NOBODY = 65534


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A finished run; not to be changed."""
    return make_run(tmp_path_factory.mktemp("runs"))


@pytest.fixture
def run(trained, tmp_path):
    """A copy of it, to be changed."""
    return Path(shutil.copytree(trained, tmp_path / "run"))


def weights(run: Path) -> bytes:
    return (run / "model.safetensors").read_bytes()


# --- --state-dir ------------------------------------------------------------------------------------------------------


@pytest.fixture
def training(trained):
    options = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]
    return ["train", "lstm-lm:tiny", "--text", str(trained.parent / "text.txt"), "--quiet", *options]


def test_checkpoints_are_kept_elsewhere_and_found_again(trained, training, tmp_path):
    out, state = tmp_path / "out", tmp_path / "disk" / "state"
    command = [*training, "--out", str(out), "--state-dir", str(state)]
    assert call(command).code == 0
    assert not (out / "state").exists()
    assert {path.name for path in state.iterdir()} == {".firth-run.json", "step-000003", "step-000006"}
    assert checkpoints.newest_checkpoint(out) == state / "step-000006"
    assert "done, step 6 of 6" in call(["info", str(out)]).out
    shutil.rmtree(state / "step-000006")
    (out / "model.safetensors").unlink()
    assert call(["train", str(out), "--quiet"]).code == 0  # recorded: not named again
    assert weights(out) == weights(trained) and (state / "step-000006").is_dir()
    assert call(command).code == 0  # nor refused if it is


def test_state_that_was_moved_is_used_where_it_is_now(trained, run, tmp_path):
    shutil.move(run / "state", tmp_path / "moved")
    shutil.rmtree(tmp_path / "moved" / "step-000006")
    (run / "model.safetensors").unlink()
    assert call(["train", str(run), "--quiet", "--state-dir", str(tmp_path / "moved")]).code == 0
    assert weights(run) == weights(trained) and not (run / "state").exists()
    shutil.move(tmp_path / "moved", tmp_path / "again")
    assert "is not there; name the folder with its checkpoints again" in call(["train", str(run), "--quiet"]).err
    assert call(["train", str(run), "--quiet", "--state-dir", str(tmp_path / "again")]).code == 0


def test_a_folder_that_is_not_this_runs_is_refused_and_stays(trained, training, run, tmp_path):
    busy, other, mine = tmp_path / "busy", tmp_path / "other", tmp_path / "mine"
    busy.mkdir()
    (busy / "thesis.txt").write_text("precious")
    shutil.copytree(run / "state", other)
    new = [*training, "--set", "seed=7", "--out", str(tmp_path / "new"), "--state-dir"]
    assert "this folder has other files in it; choose an empty one" in call([*new, str(busy)]).err
    assert "another run keeps its checkpoints here; choose an empty folder" in call([*new, str(other)]).err
    assert [path.name for path in busy.iterdir()] == ["thesis.txt"] and len(list(other.iterdir())) == 2
    assert not (tmp_path / "new").exists()
    found = call(["train", str(run), "--quiet", "--state-dir", str(mine)])
    assert found.code == 2 and "there are checkpoints in the run's own folder" in found.err


def test_a_copy_of_a_run_does_not_share_its_checkpoints(training, tmp_path):
    out, state = tmp_path / "out", tmp_path / "state"
    assert call([*training, "--out", str(out), "--state-dir", str(state)]).code == 0
    shutil.copytree(out, tmp_path / "copy")
    found = call(["train", str(tmp_path / "copy"), "--quiet"])
    assert found.code == 2 and "not the folder of this run's checkpoints" in found.err
    saved = firth.load(out).save(tmp_path / "saved")
    assert not (saved / "state.json").exists() and firth.load(saved)


def test_a_run_that_never_began_leaves_no_state_folder(training, tmp_path):
    words = [word if not word.endswith("text.txt") else str(tmp_path / "none.txt") for word in training]
    assert call([*words, "--out", str(tmp_path / "out"), "--state-dir", str(tmp_path / "state")]).code == 2
    assert list(tmp_path.iterdir()) == []


# --- scores -----------------------------------------------------------------------------------------------------------


def test_scores_are_not_saved_while_a_process_trains(run):
    before = (run / "scores.json").read_bytes()
    with (run / ".lock").open("r+") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        found = call(["eval", str(run), "--split", "valid"])
    assert found.code == 0 and "perplexity" in found.out
    assert found.err == "note: the scores are not saved: another process is training here\n"
    assert (run / "scores.json").read_bytes() == before


def test_no_score_is_lost_when_several_processes_add_some(run):
    code = """if True:
        import sys
        from firth.runs.run_folder import Run
        for number in range(20):
            name = f"{sys.argv[2]}-{number}"
            assert not Run(sys.argv[1]).offer_scores([{"name": name, "value": 1.0, "signature": "split:test"}])"""
    each = [subprocess.Popen([sys.executable, "-c", code, str(run), str(number)]) for number in range(3)]
    assert [process.wait() for process in each] == [0, 0, 0]
    names = {score["name"] for score in Run(run).scores()}
    assert {f"{process}-{number}" for process in range(3) for number in range(20)} < names


def test_training_waits_for_a_score_that_is_being_saved(run):
    """Both take the same lock for an instant: training is not refused because of it."""
    with atomic_files.open_folder(run) as folder:
        fcntl.flock(folder, fcntl.LOCK_EX)
        code = "import sys; from firth.runs.run_folder import Run; Run(sys.argv[1]).lock().close()"
        process = subprocess.Popen([sys.executable, "-c", code, str(run)])
    assert process.wait() == 0


# --- read-only --------------------------------------------------------------------------------------------------------


@contextmanager
def unprivileged():
    """As a user who may not write everywhere."""
    if os.geteuid():
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def public(trained, monkeypatch):
    """A copy of the run that everybody may read and nobody may write, and a cache like that."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        shutil.copytree(trained.parent, root / "runs")
        (root / "cache").mkdir()
        record = root / "runs/run/config.json"
        before, after = str(trained.parent / "text.txt"), str(root / "runs/text.txt")
        assert len(before) and before in record.read_text()
        from attacks import in_config

        in_config(config__data__text=[after])(root / "runs/run", root)
        for path in (root, *root.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        monkeypatch.setenv("FIRTH_CACHE", str(root / "cache"))
        yield root / "runs/run"
        for path in (root, *root.rglob("*")):
            path.chmod(0o755)


def test_a_read_only_run_is_scored_with_a_read_only_cache(public):
    before = sorted(public.rglob("*"))
    with unprivileged():
        found = call(["eval", str(public), "--split", "valid"])
    assert found.code == 0 and "perplexity" in found.out, found
    assert found.err == "note: the scores are not saved: no permission to write\n"
    assert sorted(public.rglob("*")) == before and list((public.parents[1] / "cache").iterdir()) == []


# --- what is left behind ----------------------------------------------------------------------------------------------


def test_leftovers_are_removed_when_the_folder_is_locked_next(run):
    left = [".log.jsonl.0123456789abcdef.new", ".log.jsonl.4711.new", "tokenizers/.text.json.0123456789abcdef.new"]
    kept = [".notes.new", ".mine", "draft.0123456789abcdef.new"]
    for name in (*left, *kept):
        (run / name).write_text("x")
    held = run / ".scores.json.fedcba9876543210.new"
    with held.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # another process writes it now
        Run(run).lock().close()
        assert not any((run / name).exists() for name in left)
        assert all((run / name).exists() for name in (*kept, held.name))
    Run(run).lock().close()
    assert not held.exists()


def test_a_killed_write_leaves_what_the_next_lock_removes(run):
    code = """if True:
        import os, sys
        from firth.runs import atomic_files
        from firth.runs.run_folder import Log
        from pathlib import Path
        atomic_files.rename = lambda *_: os._exit(9)
        Log(Path(sys.argv[1]) / "log.jsonl", keep_to=3)"""
    assert subprocess.run([sys.executable, "-c", code, str(run)]).returncode == 9
    assert [path for path in run.iterdir() if path.name.endswith(".new")]
    Run(run).lock().close()
    assert not [path for path in run.iterdir() if path.name.endswith(".new")]


def test_damage_is_told_with_all_that_is_whole(run):
    (run / "scores.json").write_text("[")
    (run / "model.safetensors").write_bytes(b"x")
    found = call(["info", str(run), "--json"])
    about = json.loads(found.out)
    assert found.code == 2 and about["preset"] == "lstm-lm:tiny" and (about["state"], about["step"]) == ("done", 6)
    assert [line.partition(": ")[0] for line in about["damaged"]] == [
        str(run / "model.safetensors"),
        str(run / "scores.json"),
    ]
    with pytest.raises(FirthError, match="damaged"):
        firth.compare(run)


def test_a_copy_is_made_of_files_only(run, tmp_path):
    model = firth.load(run)
    assert firth.load(model.save(tmp_path / "copy")).run.path == tmp_path / "copy"
    (run / "key").symlink_to(tmp_path)
    with pytest.raises(FirthError, match="a link"):
        model.save(tmp_path / "other")
    assert not (tmp_path / "other").exists()
