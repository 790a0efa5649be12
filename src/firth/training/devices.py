"""One code path for one process and for many (torchrun): who am I, what is my share, what do all agree on."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from firth.config.schema import Train
from firth.types import Batch, State

_MMAP_THRESHOLD, _TRIM_THRESHOLD, _TOP_PAD = -3, -1, -2  # of mallopt, in glibc's malloc.h


@dataclass(frozen=True)
class Devices:
    """This process among all of them."""

    rank: int = 0
    world: int = 1

    @property
    def leads(self) -> bool:
        """Whether this is the process that writes files and talks."""
        return self.rank == 0

    def wrap(self, system: nn.Module) -> nn.Module:
        """The module whose backward pass sums gradients over processes."""
        return system if self.world == 1 else DistributedDataParallel(system)

    def unsynced(self, module: nn.Module, last: bool) -> AbstractContextManager[Any]:
        """Sum gradients only once per step, in its last micro-batch."""
        return nullcontext() if self.world == 1 or last else module.no_sync()

    def share(self, batch: Batch) -> Batch:
        """This process's rows of a batch."""
        if self.world == 1:
            return batch
        start, stop = (batch.size * rank // self.world for rank in (self.rank, self.rank + 1))
        if start < stop:
            return batch.rows(start, stop)
        row = batch.rows(0, 1)  # nothing left for this process: a row that does not count, so that it takes part
        unpredicted = {name: replace(target, weight=target.weight * 0) for name, target in row.targets.items()}
        return replace(row, targets=unpredicted)

    def add_up(self, values: list[float]) -> list[float]:
        """Sums over processes."""
        if self.world == 1:
            return values
        tensor = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(tensor)
        return tensor.tolist()

    def gather(self, state: State | None) -> State | None:
        """The carried state of all rows, from every process's share."""
        return state if self.world == 1 or state is None else state.over(self._gather)

    def _gather(self, tensor: Tensor) -> Tensor:
        parts = [torch.empty_like(tensor) for _ in range(self.world)]
        dist.all_gather(parts, tensor.contiguous())
        return torch.cat(parts)

    def scatter(self, state: State | None) -> State | None:
        """This process's share of a gathered state."""
        return state if self.world == 1 or state is None else state.over(lambda t: t.chunk(self.world)[self.rank])

    def wait(self) -> None:
        """Until all processes are here."""
        if self.world > 1:
            dist.barrier()


@contextmanager
def devices(config: Train) -> Iterator[Devices]:
    """Join the processes that torchrun started, if it did; make arithmetic repeatable; put all back afterwards."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    before = torch.get_num_threads(), torch.get_deterministic_debug_mode()
    fill = torch.utils.deterministic.fill_uninitialized_memory
    joined = world > 1 and not dist.is_initialized()
    if joined:
        dist.init_process_group("gloo")
    torch.set_num_threads(config.threads or torch.get_num_threads())
    torch.set_deterministic_debug_mode("error")  # use_deterministic_algorithms is the same, but imports the compiler
    torch.utils.deterministic.fill_uninitialized_memory = False  # it costs a pass over every new tensor
    _keep_memory()
    try:
        with torch.random.fork_rng(devices=[]):
            yield Devices(dist.get_rank(), world) if world > 1 else Devices()
    finally:
        torch.set_num_threads(before[0])
        torch.set_deterministic_debug_mode(before[1])
        torch.utils.deterministic.fill_uninitialized_memory = fill
        if joined:
            dist.destroy_process_group()


def _keep_memory() -> None:
    """Let the C library keep freed tensors' memory: fresh pages from the system cost a tenth of a training step."""
    try:
        library = ctypes.CDLL("libc.so.6")
        for option, size in ((_MMAP_THRESHOLD, 32 << 20), (_TRIM_THRESHOLD, 2**31 - 1), (_TOP_PAD, 64 << 20)):
            library.mallopt(option, size)
    except (OSError, AttributeError):  # another C library has other means
        return


def machine() -> dict[str, Any]:
    """What exact repetition depends on besides the configuration."""
    return {
        "torch": torch.__version__,
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "processes": int(os.environ.get("WORLD_SIZE", "1")),
    }


def has_bf16() -> bool:
    """Whether this CPU computes in bf16; elsewhere it is emulated, many times slower than float32."""
    return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
