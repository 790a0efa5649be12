"""One code path for one process and for distributed data parallel (DDP, torchrun): rank, world size, this process's
shard of a batch, sums over processes; and settings that make training deterministic."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from firth.config.schema import Train
from firth.types import Array, Batch, State

_MMAP_THRESHOLD, _TRIM_THRESHOLD, _TOP_PAD = -3, -1, -2  # of mallopt, in glibc's malloc.h


class _Deterministic(Protocol):
    """What is set in `torch.utils.deterministic`."""

    fill_uninitialized_memory: bool


@dataclass(frozen=True)
class Distributed:
    """This process's rank among all processes."""

    rank: int = 0
    world_size: int = 1

    @property
    def is_main_process(self) -> bool:
        """Whether this is the process that writes files and reports progress."""
        return self.rank == 0

    def wrap(self, system: nn.Module) -> nn.Module:
        """The module whose backward pass averages gradients over processes."""
        return system if self.world_size == 1 else DistributedDataParallel(system)

    def no_sync(self, module: nn.Module, last: bool) -> AbstractContextManager[Any]:
        """Synchronise gradients only once per step, in its last micro-batch."""
        return module.no_sync() if isinstance(module, DistributedDataParallel) and not last else nullcontext()

    def shard(self, batch: Batch[Array]) -> Batch[Array]:
        """This process's sequences of a batch."""
        if self.world_size == 1:
            return batch
        start, stop = (batch.size * rank // self.world_size for rank in (self.rank, self.rank + 1))
        if start < stop:
            return batch.slice_batch(start, stop)
        empty = batch.slice_batch(0, 1)  # nothing left for this process: a sequence of weight 0, so that it takes part
        unweighted = {name: replace(target, weight=target.weight * 0) for name, target in empty.targets.items()}
        return replace(empty, targets=unweighted)

    def all_reduce(self, values: list[float]) -> list[float]:
        """Sums over processes."""
        if self.world_size == 1:
            return values
        tensor = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(tensor)
        return tensor.tolist()

    def gather(self, state: State | None) -> State | None:
        """The carried state of the whole batch, from every process's shard."""
        return state if self.world_size == 1 or state is None else state.map(self._gather)

    def _gather(self, tensor: Tensor) -> Tensor:
        parts = [torch.empty_like(tensor) for _ in range(self.world_size)]
        dist.all_gather(parts, tensor.contiguous())
        return torch.cat(parts)

    def scatter(self, state: State | None) -> State | None:
        """This process's shard of a gathered state."""
        return state if self.world_size == 1 or state is None else state.map(self._scatter)

    def _scatter(self, tensor: Tensor) -> Tensor:
        return tensor.chunk(self.world_size)[self.rank]

    def barrier(self) -> None:
        """Wait until all processes are here."""
        if self.world_size > 1:
            dist.barrier()


def idle_cores(seconds: float = 0.3) -> float:
    """The cores that other programs leave to this process, measured for a moment; all of them where that is unknown."""
    cores = sorted(os.sched_getaffinity(0))
    before = _idle_ticks(cores)
    time.sleep(seconds)
    after = _idle_ticks(cores)
    if not before or not after or after[1] == before[1]:
        return float(len(cores))
    return len(cores) * (after[0] - before[0]) / (after[1] - before[1])


def free_threads(say: Callable[[str], None]) -> int:
    """As many threads as other programs leave cores, said if they are fewer: several that wait for each other are
    slower than one."""
    cores = torch.get_num_threads()
    free = min(cores, max(1, round(idle_cores())))
    if free < cores:
        busy = f"{cores - free} of {cores} cores are busy with other work"
        say(f"note: {busy}: training with {free}; --threads sets another")
    return free


@contextmanager
def thread_count(threads: int) -> Iterator[None]:
    """Compute with so many threads; 0: with as many as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _idle_ticks(cores: Sequence[int]) -> tuple[int, int] | None:
    """Idle and all clock ticks of some cores since the machine started (Linux)."""
    try:
        lines = Path("/proc/stat").read_text().splitlines()
    except OSError:
        return None
    ticks = [list(map(int, line.split()[1:9])) for line in lines if line.split()[0] in {f"cpu{core}" for core in cores}]
    return sum(row[3] + row[4] for row in ticks), sum(map(sum, ticks))  # idle and waiting for a disk


@contextmanager
def training_environment(config: Train, threads: int = 0) -> Iterator[Distributed]:
    """Join the process group if torchrun started one; make arithmetic deterministic; restore all settings after.

    `threads` counts where none are configured."""
    world_size = int(os.environ.get("WORLD_SIZE", "1"))
    deterministic: _Deterministic = torch.utils.deterministic  # type: ignore[assignment] # its stub lacks the attribute
    before = torch.get_num_threads(), torch.get_deterministic_debug_mode()
    fill = deterministic.fill_uninitialized_memory
    joined = world_size > 1 and not dist.is_initialized()
    if joined:
        dist.init_process_group("gloo")
    torch.set_num_threads(config.threads or threads or torch.get_num_threads())
    torch.set_deterministic_debug_mode("error")  # use_deterministic_algorithms is the same, but imports the compiler
    deterministic.fill_uninitialized_memory = False  # it costs a pass over every new tensor
    keep_freed_memory()
    try:
        with torch.random.fork_rng(devices=[]):
            yield Distributed(dist.get_rank(), world_size) if world_size > 1 else Distributed()
    finally:
        torch.set_num_threads(before[0])
        torch.set_deterministic_debug_mode(before[1])
        deterministic.fill_uninitialized_memory = fill
        if joined:
            dist.destroy_process_group()


def keep_freed_memory() -> None:
    """Let malloc keep freed tensors' memory: fresh pages from the system cost a tenth of a training step."""
    try:
        library = ctypes.CDLL("libc.so.6")
        for option, size in ((_MMAP_THRESHOLD, 32 << 20), (_TRIM_THRESHOLD, 2**31 - 1), (_TOP_PAD, 64 << 20)):
            library.mallopt(option, size)
    except (OSError, AttributeError):  # another C library has other means
        return


def machine_info() -> dict[str, Any]:
    """What exact reproducibility depends on besides the configuration."""
    return {
        "torch": torch.__version__,
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "processes": int(os.environ.get("WORLD_SIZE", "1")),
    }


def has_bf16() -> bool:
    """Whether this CPU has bf16 instructions; elsewhere bf16 is emulated, many times slower than float32."""
    return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
