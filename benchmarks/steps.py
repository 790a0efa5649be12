"""Training steps that several areas compare: our trainer, and a plain PyTorch loop with the best known settings."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.harness import Settings

if TYPE_CHECKING:
    from torch import Tensor, nn

    from firth.config import schema
    from firth.types import Batch, Cursor

LEARNING_RATE, GRADIENT_CLIP = 1e-3, 1.0
STEPS = 4  # of a round
SEED = 7
_ENVIRONMENT = ExitStack()  # allocator and arithmetic as `firth train` has them, until the process ends


def precisions() -> list[str]:
    """What can be measured on this CPU: bf16 only where it has the instructions."""
    from benchmarks.harness import note
    from firth.training.device import has_bf16

    if has_bf16():
        return ["float32", "bf16"]
    note("no bf16 rows: this CPU has no bf16 instructions and would emulate them")
    return ["float32"]


class FixedBatches:
    """Batches made before, the same as the peer's."""

    def __init__(self, size: int, make: Callable[[int], Batch]) -> None:
        self.size, self.make = size, make

    def count(self, epoch: int) -> int:
        """Batches of an epoch."""
        return self.size

    def batch(self, cursor: Cursor) -> Batch:
        """The batch at a position."""
        from dataclasses import replace

        return replace(self.make(cursor.index), cursor=cursor)


def train_config(
    precision: str, optimizer: str = "adamw", learning_rate: float = LEARNING_RATE, clip: float = GRADIENT_CLIP
) -> schema.Train:
    """A constant learning rate, no evaluation and no checkpoints."""
    from firth.config import schema

    return schema.Train(
        optimizer=schema.Optimizer(name=optimizer, learning_rate=learning_rate, gradient_clip=clip),
        schedule=schema.Schedule(shape="constant"),
        precision=precision,
        evaluate_every=10**9,
        checkpoint_every=10**9,
    )


def our_steps(system: nn.Module, train: schema.Train, batches: FixedBatches, settings: Settings) -> Callable[..., None]:
    """Our own trainer, its log included."""
    from dataclasses import replace

    from firth.runs.progress import Quiet
    from firth.training.clock import StepClock
    from firth.training.device import training_environment
    from firth.training.loop import Trainer, TrainingTask

    train = replace(train, threads=settings.threads)
    distributed = _ENVIRONMENT.enter_context(training_environment(train))
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    metadata = {"config": ""}
    clock = StepClock(train, 10**9)
    task = TrainingTask(system, train, clock, batches, _no_evaluation, folder, metadata, 1, distributed, Quiet())
    trainer = Trainer(task)
    trainer.start()
    atexit.register(trainer.close)

    def run(steps: int = STEPS) -> None:
        for _ in range(steps):
            entry = trainer.step(0)
            assert entry is not None, "the loss is not finite"
            trainer.report(entry)

    return run


def _no_evaluation() -> Any:
    raise AssertionError("no evaluation is due")


def prepare_torch(settings: Settings) -> None:
    """For peers: threads and seed; freed memory is kept by malloc, as `firth train` has it for itself."""
    import torch

    from firth.training.device import keep_freed_memory

    torch.set_num_threads(settings.threads)
    torch.manual_seed(SEED)
    keep_freed_memory()


def plain_steps(
    model: nn.Module,
    loss: Callable[..., Tensor],
    batches: Sequence[tuple[Tensor, ...]],
    settings: Settings,
    optimizer: Any = None,
    clip: float = GRADIENT_CLIP,
) -> Callable[..., None]:
    """A plain loop in PyTorch: fused optimizer, gradients set to None, clipped together, bf16 by autocast."""
    import torch

    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.0, fused=True)
    done = 0

    def run(steps: int = STEPS) -> None:
        nonlocal done
        for _ in range(steps):
            with torch.autocast("cpu", torch.bfloat16, enabled=settings.precision == "bf16"):
                total = loss(*batches[done % len(batches)])
            optimizer.zero_grad(set_to_none=True)
            total.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip, foreach=True)
            optimizer.step()
            done += 1

    return run
