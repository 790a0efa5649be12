"""A model of short texts made one of long texts (Beltagy et al. 2020)."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

PLACES = "positions.weight"  # a vector for each place (places, width)
OWN, SHARED = ".central.inputs.", ".inputs."  # products by which central tokens look at all, and those of all tokens


def lengthened(given: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The given tensors where more is wanted: places go on from the first again, so that near ones are known, and
    central tokens look at all as every token looked."""
    found = dict(given)
    for name, tensor in wanted.items():
        if name in given and name.endswith(PLACES):
            found[name] = _repeated(given[name], tensor)
        if name not in given and OWN in name and name.replace(OWN, SHARED) in given:
            found[name] = given[name.replace(OWN, SHARED)]
    return found


def _repeated(places: Tensor, wanted: Tensor) -> Tensor:
    """As many rows as are wanted, where there are fewer."""
    times = -(-len(wanted) // len(places))
    return places.repeat(times, 1)[: len(wanted)] if times > 1 and places.shape[1:] == wanted.shape[1:] else places
