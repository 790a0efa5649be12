"""The kernel cache, compile times, the autotuner, and the ordered thread map."""

import os
import stat
import subprocess
import sys
import time

import numba
import pytest

from firth.jit import Autotuner, kernel, run_in_order, time_compilation

KERNEL = """
from firth.jit import kernel, time_compilation
@kernel
def add(a, b):
    return a + b
with time_compilation() as timer:
    assert add(2, 3) == 5 == add.py_func(2, 3)
print(timer.seconds)
"""


@pytest.fixture
def seconds(tmp_path):
    """Runs a script with a kernel from a read-only folder; returns the seconds it spent compiling."""
    script = tmp_path / "install" / "script.py"
    script.parent.mkdir()
    script.write_text(KERNEL)
    script.parent.chmod(0o555)

    def run(**variables):
        bare = {name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "FIRTH_CACHE")}
        done = subprocess.run([sys.executable, script], env=bare | variables, capture_output=True, check=True)
        assert not list(script.parent.glob("__pycache__"))
        return float(done.stdout)

    return run


def test_a_kernel_compiles_once_and_is_cached_in_a_private_folder(seconds, tmp_path):
    cache = tmp_path / "cache"
    assert seconds(FIRTH_CACHE=str(cache)) > 0
    assert seconds(FIRTH_CACHE=str(cache)) == 0
    assert stat.S_IMODE((cache / "kernels").stat().st_mode) == 0o700


@pytest.mark.parametrize("state", ["open to others", "a file in the way"])
def test_without_a_private_folder_it_compiles_and_runs_all_the_same(state, tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("FIRTH_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "cache" / "kernels"
    if state == "open to others":  # they could put code there
        folder.mkdir(parents=True)
        folder.chmod(0o777)
    else:
        (tmp_path / "cache").write_text("")
    with time_compilation() as timer:
        assert kernel(lambda a: a + 1)(2) == 3
    assert timer.seconds > 0
    assert not folder.exists() or not list(folder.iterdir())


def test_results_come_in_the_order_of_the_tasks():
    def work(task):
        time.sleep(0.02 if task == 0 else 0)
        return task * 2

    for threads in (1, 2, 3, 20):
        assert list(run_in_order(work, list(range(9)), threads)) == [task * 2 for task in range(9)]
    assert list(run_in_order(work, [], 2)) == []


def test_a_fault_in_a_task_comes_out():
    with pytest.raises(ZeroDivisionError):
        list(run_in_order(lambda task: 1 // task, [2, 1, 0, 1], 2))


def test_the_fastest_implementation_is_called_and_trials_are_repeated(monkeypatch):
    now, slow, called = [0.0], [1.0, 2.0], []
    monkeypatch.setattr("firth.jit.perf_counter", lambda: now[0])

    def implementation(number):
        def run(work):
            called.append(number)
            now[0] += slow[number] * work

        return run

    autotuned, trial = Autotuner(implementation(0), implementation(1)), Autotuner.TRIAL
    for times, best in (((1.0, 2.0), 0), ((2.0, 1.0), 1)):
        slow[:] = times
        called.clear()
        for call in range(Autotuner.ROUND):
            autotuned(call % 7 + 1, call % 7 + 1)
        assert called[: 2 * trial] == [0] * trial + [1] * trial
        assert set(called[2 * trial :]) == {best}
