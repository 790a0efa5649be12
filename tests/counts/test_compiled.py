"""Where kernels are kept, and what compiling costs."""

import os
import stat
import subprocess
import sys
import time

import numba
import pytest

from firth.counts.compiled import Quicker, kernel, run_in_order, timed_compiling

KERNEL = """
from firth.counts.compiled import kernel, timed_compiling
@kernel
def add(a, b):
    return a + b
with timed_compiling() as compiling:
    assert add(2, 3) == 5 == add.py_func(2, 3)
print(compiling.seconds)
"""


@pytest.fixture
def seconds(tmp_path):
    """Runs a script with a kernel, read-only, and gives the seconds that it compiled."""
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


def test_a_kernel_compiles_once_and_is_kept_in_a_private_folder(seconds, tmp_path):
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
    with timed_compiling() as compiling:
        assert kernel(lambda a: a + 1)(2) == 3
    assert compiling.seconds > 0
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


def test_the_quicker_way_is_taken_and_tried_again(monkeypatch):
    now, slow, taken = [0.0], [1.0, 2.0], []
    monkeypatch.setattr("firth.counts.compiled.perf_counter", lambda: now[0])

    def way(number):
        def run(work):
            taken.append(number)
            now[0] += slow[number] * work

        return run

    both, trial = Quicker(way(0), way(1)), Quicker.TRIAL
    for times, best in (((1.0, 2.0), 0), ((2.0, 1.0), 1)):
        slow[:] = times
        taken.clear()
        for call in range(Quicker.ROUND):
            both(call % 7 + 1, call % 7 + 1)
        assert taken[: 2 * trial] == [0] * trial + [1] * trial
        assert set(taken[2 * trial :]) == {best}
