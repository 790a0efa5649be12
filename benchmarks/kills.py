"""Kill every preset and command at counted events, go on, and compare the last bytes with those of an undisturbed run.

An event is a write, sync, rename or removal of a file, a training step or an evaluation, so that nothing here depends
on how busy the machine is.
"""

from __future__ import annotations

import errno
import random
import shlex
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.harness import ROOT, Options, Part, Row, import_file, make_row, note

REFUSED = 2 << 8  # the wait status of exit code 2
ROUNDS = 3  # over all presets and commands: 27 kills of each, and 3 other disturbances
CHAIN = 9  # kills of one run
SHORT = {"train.budget": "6 steps", "train.checkpoint_every": 2}  # of networks: two evaluations, three checkpoints
SIGNALS = {  # beside SIGKILL: what arrives at an event
    "SIGTERM": [signal.SIGTERM],
    "SIGTERM twice": [signal.SIGTERM, signal.SIGTERM],
    "SIGINT": [signal.SIGINT],
    "SIGINT twice": [signal.SIGINT, signal.SIGINT],
}
CLOCK_JUMPS = (3600.0, -3600.0)  # seconds
FILE_EVENTS = ("write", "sync", "rename")
FULL_DISKS = 6  # of each preset
# Of a folder that a command makes, what holds times is not compared.
VOLATILE = {"log.jsonl", "scores.json", "report.html", "ladder.json", "results", "state"}
LADDER = (
    "ladder --text {text} --rungs 2-gram,rnn-lm --budget '6 steps' --tokenizer byte --threads 1 --quiet --out {out}"
)
COMMANDS = {  # name -> the commands that prepare its input, and the command that is killed
    "ladder": ((), LADDER),
    "export to Hugging Face": (
        ("train gpt-2:tiny --text {text} --budget '2 steps' --threads 1 --out {folder}/gpt2",),
        "export {folder}/gpt2 --to huggingface --out {out}",
    ),
    "export to ARPA": (
        ("train ngram-lm:tiny --text {text} --out {folder}/ngram",),
        "export {folder}/ngram --to arpa --out {out}",
    ),
    "import from Hugging Face": (
        (
            "train gpt-2:tiny --text {text} --budget '2 steps' --threads 1 --out {folder}/gpt2",
            "export {folder}/gpt2 --to huggingface --out {folder}/hf",
        ),
        "import {folder}/hf --out {out}",
    ),
    "import from ARPA": (
        (
            "train ngram-lm:tiny --text {text} --out {folder}/ngram",
            "export {folder}/ngram --to arpa --out {folder}/model.arpa",
        ),
        "import {folder}/model.arpa --out {out}",
    ),
    "tokenizer training": ((), "tokenizer train {out} --text {text} --model bpe --vocab-size 60"),
}


def campaign(harness: Any, name: str, kills: int, rng: random.Random) -> Row:
    """Kill, with a warm or with a cold cache, and disturb once otherwise; how many ended with the same bytes."""
    harness.start()
    ends = [*_killed(harness, kills, rng), _disturbed(harness, rng)]
    return make_row(name, sum(ends), len(ends), "runs", 1.0, quality=True)


def _killed(harness: Any, kills: int, rng: random.Random) -> Iterator[bool]:
    """Chains of kills; half of them have a cache of their own, which is empty before."""
    done = number = 0
    while done < kills:
        cold = {"cache": str(harness.folder / f"cache-{number}")} if rng.random() < 0.5 else {}
        died, is_same = _chain(harness, f"killed-{number}", kills - done, cold, rng)
        tried = max(died, int(not is_same))
        yield from [is_same] * tried
        done, number = done + tried, number + 1


def _chain(harness: Any, run: str, kills: int, cache: Mapping[str, str], rng: random.Random) -> tuple[int, bool]:
    """A run is killed, started again and killed again, then left to end: how often it was killed, and whether it ended
    like the undisturbed one. The first kill is anywhere, the next ones soon after each start."""
    events, most, status = [], len(harness.kinds), int(signal.SIGKILL)
    while status == signal.SIGKILL and len(events) < kills:
        events.append(rng.randint(1, most))
        status, most = harness.run(run, kill_at=events[-1], **cache), max(2, len(harness.kinds) // 3)
    died = len(events) if status == signal.SIGKILL else len(events) - 1
    if status == signal.SIGKILL:
        status = harness.run(run, **cache)
    is_same = status == 0 and harness.outcome(run) == harness.expected
    if not is_same:
        note(f"{harness.folder.name}: killed at events {events}, {dict(cache)}: status {status}, or another end")
    _remove(harness.folder / run, Path(cache.get("cache", harness.folder / run)))
    return died, is_same


def _disturbed(harness: Any, rng: random.Random) -> bool:
    tasks = [{"signals": list(map(int, numbers))} for numbers in SIGNALS.values()]
    tasks += [{"signals": [], "clock_jump": seconds} for seconds in CLOCK_JUMPS]
    return _same(harness, "disturbed", rng.randint(1, len(harness.kinds)), rng.choice(tasks))


def fill_disk(harness: Any, name: str, times: int, rng: random.Random) -> Row:
    """Let the disk be full at an operation on a file, then free; how many runs ended with the same bytes."""
    harness.start()
    events = [number for number, kind in enumerate(harness.kinds, 1) if kind in FILE_EVENTS]
    task = {"signals": [], "fault": errno.ENOSPC}
    ends = [_same(harness, f"full-{number}", rng.choice(events), task) for number in range(times)]
    return make_row(name, sum(ends), len(ends), "runs", 1.0, quality=True)


def _same(harness: Any, run: str, event: int, task: Mapping[str, Any]) -> bool:
    """Whether a run that is disturbed at an event, and started again, ends like the undisturbed one."""
    harness.run(run, kill_at=event, **task)
    is_same = harness.run(run) == 0 and harness.outcome(run) == harness.expected
    if not is_same:
        kind = f"event {event} ({harness.kinds[event - 1]}) of {len(harness.kinds)}, {dict(task)}"
        note(f"{harness.folder.name}: {kind}: another end")
    _remove(harness.folder / run)
    return is_same


def _remove(*paths: Path) -> None:
    for path in paths:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def command_harness(crash: ModuleType) -> type:
    """The harness for commands."""

    class CommandHarness(crash.Harness):
        def __init__(self, folder: Path, name: str, server: Any = None) -> None:
            super().__init__(folder, "lstm-lm:tiny", server=server)
            self.preparation, self.command = COMMANDS[name]

        def start(self) -> None:
            for number, line in enumerate(self.preparation):
                assert self.run(f"prepare-{number}", command=self.words(line, "")) == 0
            super().start()

        def run(self, name: str, **task: Any) -> int:
            out = str(self.folder / name)
            status = super().run(name, **{"command": self.words(self.command, out), **task})
            is_done = name != "whole" and hasattr(self, "expected") and self.outcome(name) == self.expected
            return 0 if status == REFUSED and is_done else status  # an output that is complete is not made again

        def words(self, line: str, out: str) -> list[str]:
            return [word.format(text=self.text, folder=self.folder, out=out) for word in shlex.split(line)]

        def outcome(self, name: str) -> dict[str, bytes]:
            path = self.folder / name
            files = sorted(path.rglob("*")) if path.is_dir() else [path]
            kept = (each for each in files if each.is_file() and not VOLATILE & {*each.relative_to(path).parts})
            return {str(each.relative_to(path)): each.read_bytes() for each in kept if not each.name.startswith(".")}

    return CommandHarness


def for_each(
    options: Options, try_it: Callable[..., Row], kind: type, names: Sequence[str], times: int, rounds: int = 1
) -> Iterator[Row]:
    """A row for each preset or command in each round, but for those that an earlier run has measured."""
    server = load_crash().Server(options.folder / "cache")
    for number in range(1, rounds + 1):
        for name in names:
            title = f"{name}, round {number}" if number > 1 else name
            if title in options.kept:
                continue
            rng = random.Random(f"20261119 {title}")  # the same events whatever came before
            with tempfile.TemporaryDirectory() as folder, kind(Path(folder, name), name, server=server) as harness:
                harness.settings.update(SHORT if "train.budget" in harness.settings else {})
                yield try_it(harness, title, times, rng)
    server.close()


def load_crash() -> ModuleType:
    """The harness of the tests."""
    import_file(ROOT / "tests" / "small_presets.py")  # which it imports
    return import_file(ROOT / "tests" / "training" / "test_crash.py")


def _size(options: Options) -> tuple[int, int]:
    """Kills of each preset or command in a round, and rounds."""
    return options.choose((2, 1), (CHAIN, ROUNDS))


def presets(options: Options) -> Iterator[Row]:
    """The smallest size of every preset: runs with the same bytes at the end, of those disturbed."""
    crash = load_crash()
    yield from for_each(options, campaign, crash.Harness, crash.SIZES, *_size(options))


def full_disk(options: Options) -> Iterator[Row]:
    """The same when the disk is full at some operation, and free when the command is given again."""
    crash = load_crash()
    yield from for_each(options, fill_disk, crash.Harness, crash.SIZES, options.choose(1, FULL_DISKS))


def commands(options: Options) -> Iterator[Row]:
    """Commands that write files, the ladder among them."""
    crash = load_crash()
    yield from for_each(options, campaign, command_harness(crash), list(COMMANDS), *_size(options))


PARTS: dict[str, Part] = {"presets": presets, "commands": commands, "full-disk": full_disk}
