"""Context extension: a model of short texts becomes one of long texts (Longformer, Beltagy et al. 2020)."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

POSITION_TABLE = "positions.weight"  # learned position embeddings (positions, width)
GLOBAL, SHARED = ".global_projections.qkv_proj.", ".qkv_proj."  # query, key and value projections


def extend_context(source: Mapping[str, Tensor], target: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The source tensors for a target with a longer context: position embeddings are repeated, so that relations of
    near positions are known, and the projections of global attention start as those of all tokens."""
    extended = dict(source)
    for name, tensor in target.items():
        if name in source and name.endswith(POSITION_TABLE):
            extended[name] = _repeat_positions(source[name], tensor)
        if name not in source and GLOBAL in name and name.replace(GLOBAL, SHARED) in source:
            extended[name] = source[name.replace(GLOBAL, SHARED)]
    return extended


def _repeat_positions(table: Tensor, target: Tensor) -> Tensor:
    """The table repeated up to the target's number of positions, where it has fewer."""
    times = -(-len(target) // len(table))
    return table.repeat(times, 1)[: len(target)] if times > 1 and table.shape[1:] == target.shape[1:] else table
