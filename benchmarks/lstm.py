"""LSTM language model: training speed, memory and validation loss against the same loop in plain PyTorch.

Both train in processes of their own, by turns, from the same start weights on the same batches.
"""

from __future__ import annotations

import argparse
import atexit
import gzip
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

ROWS, LENGTH, VOCABULARY, DEPTH = 20, 35, 10_000, 2
RATE, CLIP = 1.0, 5.0
SPEED, SPEED_BF16, MEMORY, LOSS = 1.1, 1.8, 1.0, 0.999  # targets


@dataclass(frozen=True)
class Model:
    """A trained model as the benchmark sees it."""

    run: Callable[[int], None]  # so many steps
    loss: Callable[[Iterator[tuple[Tensor, Tensor]]], float]


# --- data ---


def words(path: Path) -> list[str]:
    """The words of a text, a mark at the end of each line."""
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    return text.replace("\n", " <eos> ").split()


def texts(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Training and validation text as numbers: Penn Treebank, or a drawn text with a like distribution."""
    place = folder / "ptb-lm"
    if not place.exists():
        draw = np.random.default_rng(0)
        return tuple((draw.zipf(1.2, size) - 1) % VOCABULARY for size in (900_000, 70_000))
    train, valid = words(place / "ptb.train.txt.gz"), words(place / "ptb.valid.txt")
    number = {word: i for i, (word, _) in enumerate(Counter(train).most_common(VOCABULARY))}
    return tuple(np.array([number.get(word, 0) for word in text]) for text in (train, valid))


def batches(text: np.ndarray) -> Iterator[tuple[Tensor, Tensor]]:
    """Inputs and next words, each (ROWS, LENGTH); a row goes on where it stopped."""
    columns = torch.from_numpy(text[: len(text) // ROWS * ROWS].reshape(ROWS, -1))
    for start in range(0, columns.shape[1] - LENGTH - 1, LENGTH):
        yield columns[:, start : start + LENGTH], columns[:, start + 1 : start + LENGTH + 1]


# --- the two models ---


def plain(width: int, tied: bool, bf16: bool, text: np.ndarray) -> Model:
    """The loop anyone would write in PyTorch."""
    embed, out = nn.Embedding(VOCABULARY, width), nn.Linear(width, VOCABULARY)
    lstm = nn.LSTM(width, width, DEPTH, batch_first=True)
    if tied:
        out.weight = embed.weight
    model = nn.ModuleDict({"input": embed, "layers": lstm, "head": out})
    start_values(model.named_parameters())
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    pairs, state = batches(text), None

    def forward(ids: Tensor, values: Tensor, state: tuple | None) -> tuple[Tensor, tuple]:
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            states, state = lstm(embed(ids), state)
            loss = F.cross_entropy(out(states).flatten(0, 1), values.flatten())
        return loss, tuple(tensor.detach() for tensor in state)

    def run(steps: int) -> None:
        nonlocal state
        for _ in range(steps):
            optimizer.zero_grad()
            loss, state = forward(*next(pairs), state)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            optimizer.step()

    return Model(run, lambda pairs: mean_loss(forward, pairs))


def ours(width: int, tied: bool, bf16: bool, text: np.ndarray) -> Model:
    """The package's own trainer, its batches made ahead and its log written."""
    from firth.build import build
    from firth.config import schema
    from firth.runs.progress import Quiet
    from firth.training.devices import Devices
    from firth.training.loop import Job, Trainer
    from firth.types import Batch, Cursor, State, Target, Tokens

    backbone, head = schema.Recurrent(width=width, depth=DEPTH), schema.LanguageHead(tied=tied)
    system = build(schema.Neural(backbone=backbone, head=head), VOCABULARY)
    start_values((name.replace("backbone.", ""), p) for name, p in system.named_parameters())
    made, ones = [(ids.numpy(), values.numpy()) for ids, values in batches(text)], np.ones((ROWS, LENGTH), np.float32)

    class Given:
        """The same batches as the peer's."""

        def count(self, epoch: int) -> int:
            return len(made)

        def batch(self, at: Cursor) -> Batch:
            ids, values = made[at.index]
            return Batch({"text": Tokens(ids, ones > 0)}, {"text": Target(values, ones)}, at, fresh=at.index == 0)

    optimizer, schedule = schema.Optimizer(name="sgd", rate=RATE, clip=CLIP), schema.Schedule(shape="constant")
    precision = "bf16" if bf16 else "float32"
    config = schema.Train(optimizer=optimizer, schedule=schedule, precision=precision, evaluate=10**9, save=10**9)
    folder = Path(tempfile.mkdtemp())
    trainer = Trainer(Job(system, config, 10**9, Given(), None, folder, {"config": ""}, 1, Devices(), Quiet()))
    trainer.start()
    atexit.register(shutil.rmtree, folder)
    atexit.register(trainer.close)

    def run(steps: int) -> None:
        for _ in range(steps):
            trainer.report(trainer.step(0))

    def forward(ids: Tensor, values: Tensor, state: State | None) -> tuple[Tensor, State]:
        batch = Batch({"text": Tokens(ids, torch.ones(ids.shape) > 0)}, {"text": Target(values, torch.ones(ids.shape))})
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            (term,), state = system(batch, state)
        return term.sum / term.count, state

    return Model(run, lambda pairs: mean_loss(forward, pairs))


MODELS = {"plain": plain, "ours": ours}


@torch.no_grad()
def start_values(parameters: Iterator[tuple[str, nn.Parameter]]) -> None:
    """The same start for both, whatever the order of the parameters."""
    for name, parameter in parameters:
        draw = torch.Generator().manual_seed(sum(name.encode()))
        parameter.uniform_(-0.1, 0.1, generator=draw)


@torch.no_grad()
def mean_loss(forward: Callable, pairs: Iterator[tuple[Tensor, Tensor]]) -> float:
    """Nats per word, the state carried from batch to batch."""
    state, losses = None, []
    for ids, values in pairs:
        loss, state = forward(ids, values, state)
        losses.append(float(loss))
    return statistics.fmean(losses)


# --- a process for each ---


def work(options: argparse.Namespace) -> None:
    """Answer commands from a pipe: `steps N` with the seconds, `end N` with loss and memory."""
    torch.set_num_threads(options.threads or torch.get_num_threads())
    with ExitStack() as stack:
        if options.worker == "ours":
            from firth.config.schema import Train
            from firth.training.devices import devices

            stack.enter_context(devices(Train()))
        train, valid = texts(options.data)
        model = MODELS[options.worker](options.width, options.tied, options.bf16, train)
        for line in sys.stdin:
            command, number = line.split()
            if command == "end":
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
                loss = model.loss(pair for pair, _ in zip(batches(valid), range(int(number)), strict=False))
                print(json.dumps([loss, peak]), flush=True)
                return
            began = time.perf_counter()
            model.run(int(number))
            print(json.dumps(time.perf_counter() - began), flush=True)


class Worker:
    """The near end of the pipe."""

    def __init__(self, name: str, width: int, bf16: bool, options: argparse.Namespace):
        command = [sys.executable, __file__, "--worker", name, "--width", str(width)]
        command += ["--data", str(options.data), "--threads", str(options.threads)]
        command += ["--tied"] * options.tied + ["--bf16"] * bf16
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, command: str, number: int) -> object:
        self.process.stdin.write(f"{command} {number}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"benchmark: the worker failed: {' '.join(self.process.args)}")
        return json.loads(answer)


def compare(width: int, bf16: bool, options: argparse.Namespace) -> list[dict]:
    """Rounds by turns; speed is the median over rounds, and so is the ratio. The peer stays in float32."""
    rounds, steps = (5, 6) if options.quick else (12, 20)
    pair = [Worker("ours", width, bf16, options), Worker("plain", width, False, options)]
    for worker in pair:
        worker.ask("steps", 3)  # warm up
    seconds = [[worker.ask("steps", steps) for worker in pair] for _ in range(rounds)]
    (loss, peak), (peer_loss, peer_peak) = (worker.ask("end", 20 if options.quick else 90) for worker in pair)
    speeds = [[steps * ROWS * LENGTH / s for s in both] for both in seconds]
    ratio = statistics.median(fast / slow for fast, slow in speeds)
    speed, peer_speed = (statistics.median(column) for column in zip(*speeds, strict=True))
    name = f"width {width} {'bf16 (peer float32)' if bf16 else 'float32'}"
    target = SPEED_BF16 if bf16 and width == 200 else SPEED
    return [
        row(f"{name}: speed", speed, peer_speed, ratio, target, "tokens/s"),
        row(f"{name}: peak memory", peak, peer_peak, peer_peak / peak, MEMORY, "MB"),
        row(f"{name}: validation loss", loss, peer_loss, peer_loss / loss, LOSS, "nats/word"),
    ]


def row(name: str, ours: float, peer: float, ratio: float, target: float, unit: str) -> dict:
    """A line of the table; a ratio over 1 means that ours is better."""
    print(f"{name:44} {ours:10.4g} {peer:10.4g} {ratio:8.3f}  (target {target}) {unit}", flush=True)
    return {"name": name, "ours": ours, "peer": peer, "ratio": ratio, "target": target, "unit": unit}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under three minutes")
    parser.add_argument("--json", action="store_true", help="the last line is the table as JSON")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--tied", action="store_true", help="the output matrix is the input's, in both")
    parser.add_argument("--bf16", action="store_true", help="bf16 even where the CPU has to emulate it")
    parser.add_argument("--width", type=int, help="only this width")
    parser.add_argument("--threads", type=int, default=0, help="0: all cores; fewer on a busy machine")
    parser.add_argument("--worker", choices=MODELS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return work(options)
    widths = [options.width] if options.width else [200, 650]
    bf16 = options.bf16 or torch.ops.mkldnn._is_mkldnn_bf16_supported()
    print(f"{'':44} {'ours':>10} {'peer':>10} {'ratio':>8}")
    rows = [line for width in widths for line in compare(width, False, options)]
    if bf16:
        rows += [line for width in widths for line in compare(width, True, options)]
    else:
        print("bf16: not run: this CPU has no bf16 instructions and emulates them (--bf16 runs it anyway)")
        rows.append({"name": "bf16: not run, the CPU has no bf16 instructions", "ours": None, "peer": None,
                     "ratio": None, "target": SPEED_BF16, "unit": "tokens/s"})  # fmt: skip
    if options.json:
        print(json.dumps({"rows": rows}))


if __name__ == "__main__":
    main()
