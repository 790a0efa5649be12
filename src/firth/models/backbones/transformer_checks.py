"""Combinations of Transformer options that are refused: those that the configuration's seams cannot rule out."""

from __future__ import annotations

import math

from firth.config.schema import LSH, ReformerAttention, Transformer, WindowAttention
from firth.errors import FirthError
from firth.nn.attention.lsh import MAX_BUCKETS
from firth.nn.attention.mask import mask_pattern
from firth.nn.positions import POSITION_ENCODINGS
from firth.nn.positions.encodings import LayerPositionEncoding, PositionEncoding


def check_combination(config: Transformer, positions: PositionEncoding, cross: bool) -> None:
    """Refuse windows, chunked and LSH attention, memory and reversible layers that other options do not support."""
    if isinstance(config.attention, WindowAttention):
        _check_window(config, config.attention, positions)
    _check_memory(config, positions)
    if isinstance(config.attention, ReformerAttention):
        _check_chunked(config, config.attention, positions, cross)
        _check_buckets(config.attention.lsh)
    if config.residual == "reversible":
        _check_reversible(config, positions, cross)


def _check_window(config: Transformer, attention: WindowAttention, positions: PositionEncoding) -> None:
    if not attention.window:
        raise FirthError("no window is given", where="backbone.attention.window", do="set it to 256, say")
    if attention.dilated_heads > config.heads:
        what = f"backbone.attention.dilated_heads = {attention.dilated_heads}, and a layer has {config.heads} heads"
        raise FirthError(what, do="set it to fewer, or to 0 for all")
    encoding = positions.layer_encoding
    if attention.kernel == "banded" and encoding.bias is not LayerPositionEncoding.bias and encoding.bias_at is None:
        what = f"the banded kernel does not support the score bias of positions.kind = {config.positions.kind}"
        raise FirthError(what, where="backbone", do="choose other positions, or set backbone.attention.kernel=dense")
    if attention.kernel == "banded" and mask_pattern(config).needs:
        what = f"the banded kernel does not support backbone.mask = {config.mask}"
        raise FirthError(what, do="set backbone.attention.kernel=dense")
    if config.memory.length and attention.global_tokens != "none":
        what = "segment recurrence drops the first token, which has global attention"
        raise FirthError(
            what, where="backbone.attention.global_tokens", do="set it to none, or backbone.memory.kind to none"
        )


def _check_memory(config: Transformer, positions: PositionEncoding) -> None:
    """Refuse position encodings that do not support segment memory or two-stream attention."""
    query_stream = mask_pattern(config).query_stream
    if (config.memory.length or query_stream) and not positions.reusable_states:
        usable = sorted(kind.kind for kind, each in POSITION_ENCODINGS.items() if each.reusable_states)
        what = f"positions.kind = {config.positions.kind} supports neither segment recurrence nor two-stream attention"
        raise FirthError(what, where="backbone", do=f"set backbone.positions.kind to one of {', '.join(usable)}")
    if query_stream and not positions.query_stream:
        what = f"positions.kind = {config.positions.kind} does not support two-stream attention"
        raise FirthError(what, where="backbone.mask", do="set backbone.positions.kind=relative")


def _check_chunked(config: Transformer, attention: ReformerAttention, positions: PositionEncoding, cross: bool) -> None:
    where = "backbone.attention"
    if not attention.layers:
        raise FirthError("no kind of attention is given", where=f"{where}.layers", do="set it to local,lsh")
    if cross:
        raise FirthError("a decoder with cross-attention needs full attention", where=where, do="set its kind to full")
    if positions.layer_encoding is not LayerPositionEncoding:
        kind = config.positions.kind
        what = f"local and lsh attention need positions in the embeddings, and positions.kind = {kind} adds none"
        raise FirthError(what, where=where, do="set backbone.positions.kind to axial, learned, sinusoidal or none")
    if config.memory.length or mask_pattern(config).needs:
        what = "local and lsh attention need one segment and a causal or bidirectional mask"
        do = "set backbone.memory.kind to none and backbone.mask to causal or bidirectional"
        raise FirthError(what, where=where, do=do)


def _check_buckets(lsh: LSH) -> None:
    where, do = "backbone.attention.lsh.buckets", "choose even numbers"
    odd = [count for count in lsh.buckets if count % 2 and count != 1]
    if odd:
        raise FirthError(f"the number of hash buckets must be even, and {odd[0]} is odd", where=where, do=do)
    if math.prod(lsh.buckets) > MAX_BUCKETS:
        what = f"{math.prod(lsh.buckets)} hash buckets are more than the maximum of {MAX_BUCKETS}"
        raise FirthError(what, where=where, do="choose smaller numbers")


def _check_reversible(config: Transformer, positions: PositionEncoding, cross: bool) -> None:
    where, do = "backbone.residual", "set it to plain"
    if cross:
        raise FirthError("a decoder with cross-attention cannot be reversible", where=where, do=do)
    if config.norm.placement == "post":
        what = "post-norm cannot be inverted, as reversible layers need"
        raise FirthError(what, where="backbone.norm.placement", do="set it to pre, or backbone.residual to plain")
    if config.memory.length or mask_pattern(config).query_stream:
        what = "reversible layers store no inputs, which segment recurrence and two-stream attention need"
        raise FirthError(what, where=where, do=do)
    shared = any(weight.requires_grad for weight in positions.parameters())
    if positions.layer_encoding is not LayerPositionEncoding and shared:
        what = f"positions.kind = {config.positions.kind} has parameters that all layers share, which reversible layers"
        raise FirthError(f"{what} cannot train", where=where, do="choose other positions, or set it to plain")
