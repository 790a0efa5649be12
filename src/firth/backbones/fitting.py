"""Options of a Transformer that do not go together, refused in one line each."""

from __future__ import annotations

import math

from firth.config.schema import Transformer
from firth.errors import FirthError
from firth.nn.lsh import MOST
from firth.nn.places import Positions, Relation


def check_layers(config: Transformer, positions: Positions, cross: bool) -> None:
    """Refuse kinds of attention and of residuals that cannot do what else is asked of them."""
    if not config.attends:
        raise FirthError("no kind of attention is named", where="backbone.attends", do="set it to full")
    if set(config.attends) != {"full"}:
        _check_chunked(config, positions, cross)
    if "lsh" in config.attends:
        _check_buckets(config)
    if config.residual == "reversible":
        _check_reversible(config, positions, cross)


def _check_chunked(config: Transformer, positions: Positions, cross: bool) -> None:
    where = "backbone.attends"
    if cross:
        raise FirthError("a decoder that looks at a source reads nothing anew", where=where, do="set it to full")
    if positions.relation is not Relation:
        what = f"local and lsh find places in the tokens' vectors, where positions = {config.positions} puts none"
        raise FirthError(what, where=where, do="set backbone.positions to axial, learned, sinusoidal or none")
    if config.kernel != "dense" or config.window or config.central != "none" or config.central_projections:
        what = "local and lsh have no window and no tokens that see all"
        raise FirthError(what, where=where, do="set it to full, or leave out window, central and kernel")
    if config.memory or config.sees not in ("left", "all"):
        what = "local and lsh look at one row, all of it or what is left"
        raise FirthError(what, where=where, do="set backbone.memory to 0 and backbone.sees to left or all")


def _check_buckets(config: Transformer) -> None:
    where, do = "backbone.lsh.buckets", "choose even numbers"
    odd = [count for count in config.lsh.buckets if count % 2 and count != 1]
    if odd:
        raise FirthError(f"buckets come in opposite pairs, and {odd[0]} is odd", where=where, do=do)
    if math.prod(config.lsh.buckets) > MOST:
        what = f"{math.prod(config.lsh.buckets)} buckets, and at most {MOST} are told apart"
        raise FirthError(what, where=where, do="choose smaller numbers")


def _check_reversible(config: Transformer, positions: Positions, cross: bool) -> None:
    where, do = "backbone.residual", "set it to plain"
    if cross:
        raise FirthError("a decoder that looks at a source has one stream", where=where, do=do)
    if config.norm_at == "post":
        what = "a norm of the sum cannot be undone, as reversible layers need"
        raise FirthError(what, where="backbone.norm_at", do="set it to pre, or backbone.residual to plain")
    if config.memory or config.sees == "permuted":
        raise FirthError("reversible layers keep no inputs, which memory and sees = permuted need", where=where, do=do)
    if positions.relation is not Relation and any(weight.requires_grad for weight in positions.parameters()):
        what = f"positions = {config.positions} are learned by all layers together, reversible ones learn by themselves"
        raise FirthError(what, where=where, do="choose other positions, or set it to plain")
