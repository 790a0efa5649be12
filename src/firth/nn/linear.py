"""Matrix products of few rows, as in step-wise decoding, where reading the matrix is all the work."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numba
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.counts.compiled import Quicker, can_share, kernel
from firth.errors import FirthError

SOME, SMALL = 32, 1 << 17  # rows up to which, and numbers from which on oneDNN's blocks are read faster
TINY = 1 << 16  # numbers from which on a loop of our own is the quickest for one row, and for each thread to read
PAYS = 1 << 31  # numbers read for one row in this process, after which it pays to load that loop (a third of a second)


class Form(NamedTuple):
    """How a matrix is kept for products without gradients."""

    make: Callable[[Tensor, Tensor | None], Any]  # weight (out, in), bias -> what is kept
    product: Callable[[Tensor, Any, Tensor | None], Tensor]  # x (…, in), what is kept, bias -> (…, out)


@kernel
def _dots(matrix, x, bias, out, first, last):
    """Row after row, each read once and on end: a thread nearly takes what the memory gives it, where BLAS (MKL on an
    AMD EPYC) takes a third to a half of it, and neither BLAS nor oneDNN divides one row's products among threads."""
    for row in range(len(x)):
        for place in range(first, last):
            total = np.float32(0.0)
            for i in range(matrix.shape[1]):
                total += matrix[place, i] * x[row, i]
            out[row, place] = total + bias[place]


@partial(kernel, shared=True)
def _shared(matrix, x, bias, out, parts):
    for part in numba.prange(parts):
        _dots(matrix, x, bias, out, len(matrix) * part // parts, len(matrix) * (part + 1) // parts)


def _together(matrix: np.ndarray, x: np.ndarray, bias: np.ndarray, out: np.ndarray) -> None:
    parts = min(torch.get_num_threads(), matrix.size // TINY)
    numba.set_num_threads(min(parts, numba.config.NUMBA_NUM_THREADS))
    _shared(matrix, x, bias, out, parts)


def _alone(matrix: np.ndarray, x: np.ndarray, bias: np.ndarray, out: np.ndarray) -> None:
    _dots(matrix, x, bias, out, 0, len(matrix))


_QUICKER = Quicker(_alone, _together)  # threads wait for the slowest of them, which another program may hold up


def _rows(weight: Tensor, bias: Tensor | None) -> tuple[np.ndarray, np.ndarray]:
    return weight.contiguous().numpy(), (weight.new_zeros(len(weight)) if bias is None else bias).numpy()


def _by_dots(x: Tensor, kept: tuple[np.ndarray, np.ndarray], _: Tensor | None) -> Tensor:
    matrix, bias = kept
    found = torch.empty(*x.shape[:-1], len(matrix))
    given = matrix, x.reshape(-1, x.shape[-1]).numpy(), bias, found.view(-1, len(matrix)).numpy()
    if matrix.size >= 2 * TINY and torch.get_num_threads() > 1 and can_share():
        _QUICKER(matrix.size, *given)
    else:
        _alone(*given)
    return found


def _int8(weight: Tensor, bias: Tensor | None) -> Any:
    """Each row of a matrix in steps of its own, 127 to its greatest value."""
    steps = weight.abs().amax(1).clamp(min=1e-9).double() / 127
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch would rather have another package do this
        whole = torch.quantize_per_channel(weight, steps, torch.zeros(len(weight), dtype=torch.long), 0, torch.qint8)
        return torch.ops.quantized.linear_prepack(whole, bias)


_MKLDNN, _QUANTIZED = torch.ops.mkldnn, torch.ops.quantized
_BLOCKS = torch.backends.mkldnn.is_available() and hasattr(_MKLDNN, "_linear_pointwise")
FORMS = {
    # the same numbers, read by a loop of our own, and in the blocks of oneDNN
    "dots": Form(_rows, _by_dots),
    "blocks": Form(
        lambda weight, _: _MKLDNN._reorder_linear_weight(weight.contiguous(), SOME),
        lambda x, kept, bias: _MKLDNN._linear_pointwise.default(x, kept, bias, "none", [], ""),
    ),
    # numbers of half the bytes, and of a quarter; sums are in float32. On processors without VNNI, sums of products of
    # 8 bits can run over, so what the matrix is multiplied with gets 7.
    "half": Form(
        lambda weight, bias: _QUANTIZED.linear_prepack_fp16(weight.contiguous(), bias),
        lambda x, kept, _: _QUANTIZED.linear_dynamic_fp16.default(x, kept),
    ),
    "int8": Form(_int8, lambda x, kept, _: _QUANTIZED.linear_dynamic.default(x, kept, True)),
}


class Kept:
    """A matrix in another form, until its values change."""

    read = 0  # numbers, for products of one row

    def __init__(self) -> None:
        self.lighter = ""  # half or int8: for all products without gradients
        self._made: dict[str, tuple[list[int], Any]] = {}

    def form(self, rows: int, weight: Tensor) -> str:
        """The quickest for so many rows; none: as it is."""
        if self.lighter or rows > SOME:
            return self.lighter
        size = weight.numel()
        if rows == 1 and size >= TINY:
            Kept.read += size
            if Kept.read > PAYS:
                return "dots"
        return "blocks" if _BLOCKS and size >= SMALL else ""

    def product(self, form: str, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """x weightᵀ + bias, the matrix in this form."""
        now = [weight.data_ptr(), weight._version]
        if bias is not None:
            now += bias.data_ptr(), bias._version
        if form not in self._made or self._made[form][0] != now:
            self._made[form] = now, FORMS[form].make(weight.detach(), None if bias is None else bias.detach())
        return FORMS[form].product(x, self._made[form][1], bias)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None, kept: Kept) -> Tensor:
    """x weightᵀ + bias; x (…, in), weight (out, in)."""
    plain = torch.is_grad_enabled() or x.dtype != torch.float32 or weight.dtype != x.dtype
    if plain or not (count := x.numel()) or torch.is_autocast_enabled(x.device.type):
        return F.linear(x, weight, bias)
    form = kept.form(count // x.shape[-1], weight)
    return kept.product(form, x, weight, bias) if form else F.linear(x, weight, bias)


class Linear(nn.Linear):
    """torch's layer, quicker where few rows are read without gradients."""

    def __init__(self, width: int, out: int, bias: bool = True):
        super().__init__(width, out, bias=bias)
        self.kept = Kept()

    def forward(self, x: Tensor) -> Tensor:
        """x (…, in) -> (…, out)."""
        return linear(x, self.weight, self.bias, self.kept)


def lighten(system: nn.Module, form: str) -> None:
    """Keep matrices in a form of fewer bytes, for all products without gradients."""
    if not {"fbgemm", "x86"} & {*torch.backends.quantized.supported_engines}:
        raise FirthError(f"weights as {form}: torch cannot multiply them on this processor", do="leave it out")
    for module in system.modules():
        for kept in vars(module).values():
            if isinstance(kept, Kept):
                kept.lighter = form
