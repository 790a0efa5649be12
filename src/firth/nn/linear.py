"""Linear layers that are faster for few rows without gradients, as in step-wise decoding, where reading the weight from
memory is all the work; dynamic quantization of weights."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numba
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.errors import FirthError
from firth.jit import Autotuner, can_run_parallel, kernel

if TYPE_CHECKING:
    from firth.nn.lora import LoRA


def compute_dtype(x: Tensor) -> torch.dtype:
    """The autocast dtype if autocast is enabled, else the tensor's own."""
    device = x.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype


MAX_ROWS, MIN_PACKED_SIZE = 32, 1 << 17  # up to so many rows, from so many weights on, oneDNN's packed format is faster
MIN_NUMBA_SIZE = 1 << 16  # from so many weights on the numba kernel is fastest for one row; also the least per thread
NUMBA_AFTER = 1 << 31  # so many weights read for single rows in this process make loading the kernel (0.3 s) worthwhile


class WeightFormat(NamedTuple):
    """How a weight matrix is stored for products without gradients."""

    prepare: Callable[[Tensor, Tensor | None], Any]  # weight (out, in), bias -> stored form
    product: Callable[[Tensor, Any, Tensor | None], Tensor]  # x (…, in), stored form, bias -> (…, out)


@kernel
def _matvec(matrix: np.ndarray, x: np.ndarray, bias: np.ndarray, out: np.ndarray, first: int, last: int) -> None:
    """Matrix-vector products row by row: a thread nearly reaches memory bandwidth, where BLAS (MKL on an AMD EPYC)
    reaches a third to a half of it, and neither BLAS nor oneDNN divides the product with one row among threads."""
    for row in range(len(x)):
        for column in range(first, last):
            total = np.float32(0.0)
            for i in range(matrix.shape[1]):
                total += matrix[column, i] * x[row, i]
            out[row, column] = total + bias[column]


@partial(kernel, parallel=True)
def _matvec_parallel(matrix: np.ndarray, x: np.ndarray, bias: np.ndarray, out: np.ndarray, parts: int) -> None:
    for part in numba.prange(parts):
        _matvec(matrix, x, bias, out, len(matrix) * part // parts, len(matrix) * (part + 1) // parts)


def _with_threads(matrix: np.ndarray, x: np.ndarray, bias: np.ndarray, out: np.ndarray) -> None:
    parts = min(torch.get_num_threads(), matrix.size // MIN_NUMBA_SIZE)
    limit: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined] # set when numba is imported
    numba.set_num_threads(min(parts, limit))
    _matvec_parallel(matrix, x, bias, out, parts)


def _single_thread(matrix: np.ndarray, x: np.ndarray, bias: np.ndarray, out: np.ndarray) -> None:
    _matvec(matrix, x, bias, out, 0, len(matrix))


_TUNED_MATVEC = Autotuner(_single_thread, _with_threads)  # threads wait for the slowest, which other programs may delay


def _numba_weight(weight: Tensor, bias: Tensor | None) -> tuple[np.ndarray, np.ndarray]:
    return weight.contiguous().numpy(), (weight.new_zeros(len(weight)) if bias is None else bias).numpy()


def _numba_linear(x: Tensor, prepared: tuple[np.ndarray, np.ndarray], _: Tensor | None) -> Tensor:
    matrix, bias = prepared
    out = torch.empty(*x.shape[:-1], len(matrix))
    arguments = matrix, x.reshape(-1, x.shape[-1]).numpy(), bias, out.view(-1, len(matrix)).numpy()
    if matrix.size >= 2 * MIN_NUMBA_SIZE and torch.get_num_threads() > 1 and can_run_parallel():
        _TUNED_MATVEC(matrix.size, *arguments)
    else:
        _single_thread(*arguments)
    return out


def _quantize_int8(weight: Tensor, bias: Tensor | None) -> Any:
    """Per-channel symmetric int8 quantization: each row has its own scale."""
    scales = weight.abs().amax(1).clamp(min=1e-9).double() / 127
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch deprecates this in favour of another package
        quantized = torch.quantize_per_channel(
            weight, scales, torch.zeros(len(weight), dtype=torch.long), 0, torch.qint8
        )
        return torch.ops.quantized.linear_prepack(quantized, bias)


_MKLDNN, _QUANTIZED = torch.ops.mkldnn, torch.ops.quantized
_HAS_MKLDNN = torch.backends.mkldnn.is_available() and hasattr(_MKLDNN, "_linear_pointwise")
WEIGHT_FORMATS = {
    # float32, read by our own numba kernel, or packed by oneDNN (MKL-DNN)
    "numba": WeightFormat(_numba_weight, _numba_linear),
    "mkldnn": WeightFormat(
        lambda weight, _: _MKLDNN._reorder_linear_weight(weight.contiguous(), MAX_ROWS),
        lambda x, packed, bias: _MKLDNN._linear_pointwise.default(x, packed, bias, "none", [], ""),
    ),
    # dynamic quantization to float16 and int8, with float32 accumulation. On processors without VNNI, sums of 8-bit
    # products can overflow, so the activations get 7 bits (reduce_range).
    "half": WeightFormat(
        lambda weight, bias: _QUANTIZED.linear_prepack_fp16(weight.contiguous(), bias),
        lambda x, packed, _: _QUANTIZED.linear_dynamic_fp16.default(x, packed),
    ),
    "int8": WeightFormat(_quantize_int8, lambda x, packed, _: _QUANTIZED.linear_dynamic.default(x, packed, True)),
}


class WeightCache:
    """A weight matrix stored in other formats, each valid until the weight changes."""

    values_read = 0  # weights read so far for products with one row

    def __init__(self) -> None:
        self.quantization = ""  # half or int8, used for all products without gradients; empty: none
        self._prepared: dict[str, tuple[list[int], Any]] = {}

    def choose_format(self, rows: int, weight: Tensor) -> str:
        """The fastest format for so many rows; empty: the plain weight."""
        if self.quantization or rows > MAX_ROWS:
            return self.quantization
        size = weight.numel()
        if rows == 1 and size >= MIN_NUMBA_SIZE:
            WeightCache.values_read += size
            if WeightCache.values_read > NUMBA_AFTER:
                return "numba"
        return "mkldnn" if _HAS_MKLDNN and size >= MIN_PACKED_SIZE else ""

    def product(self, weight_format: str, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """x weightᵀ + bias with the weight in this format."""
        version = [weight.data_ptr(), weight._version]
        if bias is not None:
            version += bias.data_ptr(), bias._version
        if weight_format not in self._prepared or self._prepared[weight_format][0] != version:
            detached = weight.detach(), None if bias is None else bias.detach()
            self._prepared[weight_format] = version, WEIGHT_FORMATS[weight_format].prepare(*detached)
        return WEIGHT_FORMATS[weight_format].product(x, self._prepared[weight_format][1], bias)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None, weight_cache: WeightCache) -> Tensor:
    """x weightᵀ + bias; x (…, in), weight (out, in)."""
    plain = torch.is_grad_enabled() or x.dtype != torch.float32 or weight.dtype != x.dtype
    if plain or not (count := x.numel()) or torch.is_autocast_enabled(x.device.type):
        return F.linear(x, weight, bias)
    weight_format = weight_cache.choose_format(count // x.shape[-1], weight)
    return weight_cache.product(weight_format, x, weight, bias) if weight_format else F.linear(x, weight, bias)


class Linear(nn.Linear):
    """`torch.nn.Linear`, faster for few rows without gradients, with an adapter if it is given one."""

    def __init__(self, width: int, out: int, bias: bool = True, parts: tuple[str, ...] = ()):
        """`parts` names what it projects to: equal parts of its outputs."""
        super().__init__(width, out, bias=bias)
        self.parts, self.weight_cache = parts, WeightCache()
        self.adapter: LoRA | None = None

    def forward(self, x: Tensor) -> Tensor:
        """x (…, in) -> (…, out)."""
        output = linear(x, self.weight, self.bias, self.weight_cache)
        return output if self.adapter is None else self.adapter.add_to(output, x)

    def project(self, x: Tensor, first: int, last: int, weight_cache: WeightCache | None = None) -> Tensor:
        """Only the parts `first` to `last`: x (…, in) -> (…, parts × size)."""
        size = self.out_features // len(self.parts)
        rows = slice(first * size, last * size)
        weight, bias = self.weight[rows], None if self.bias is None else self.bias[rows]
        output = F.linear(x, weight, bias) if weight_cache is None else linear(x, weight, bias, weight_cache)
        return output if self.adapter is None else self.adapter.add_to(output, x, first)


def quantize_weights(system: nn.Module, weight_format: str) -> None:
    """Use dynamically quantized weights (half or int8) in all products without gradients."""
    if not {"fbgemm", "x86"} & {*torch.backends.quantized.supported_engines}:
        raise FirthError(f"torch has no {weight_format} weights on this processor", do="leave the option out")
    for module in system.modules():
        for attribute in vars(module).values():
            if isinstance(attribute, WeightCache):
                attribute.quantization = weight_format
