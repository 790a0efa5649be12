"""How pictures are made ready for a network, as preprocessor_config.json has it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from firth.config import schema
from firth.errors import FirthError
from firth.interop.fields import Fields

FILE = "preprocessor_config.json"
_BILINEAR = 2
_BYTE = 1 / 255


def read_pixels(given: schema.PatchInput, fields: Fields | None) -> tuple[schema.PatchInput, list[str]]:
    """The input with what is taken off brightness and what it is divided by, and what there is to say of it."""
    if fields is None:
        return given, [f"no {FILE}: brightness is taken to be centred at 0.5 and divided by 0.5"]
    if not fields.flag("do_rescale", True) or abs(fields.number("rescale_factor", _BYTE) - _BYTE) > 1e-9:
        raise FirthError("rescale_factor: firth reads 1/255, brightness from 0 to 1", where=fields.where)
    given = replace(given, mean=(0.0,), deviation=(1.0,))
    if fields.flag("do_normalize", True):
        mean, deviation = (_numbers(fields, name, given.channels) for name in ("image_mean", "image_std"))
        given = replace(given, mean=mean, deviation=deviation)
    other = fields.get("resample", _BILINEAR) != _BILINEAR
    return given, ["pictures of other sizes are brought to size bilinearly here, there otherwise"] if other else []


def _numbers(fields: Fields, name: str, channels: int) -> tuple[float, ...]:
    """One number for each channel; one for all if they are the same."""
    found = fields.get(name, [0.5] * channels)
    found = found if isinstance(found, list) else [found] * channels
    least = 0.0 if name == "image_mean" else 1e-6
    if len(found) != channels or not all(type(each) in (int, float) and least <= each <= 1 for each in found):
        raise FirthError(f"{name} = {str(found)[:40]}: firth reads {channels} numbers from 0 to 1", where=fields.where)
    return tuple(map(float, found)) if len({*found}) > 1 else (float(found[0]),)


def write_pixels(given: schema.PatchInput) -> dict[str, Any]:
    """The file's values."""

    def each(values: tuple[float, ...]) -> list[float]:
        return list(values) * (given.channels if len(values) == 1 else 1)

    return {
        "image_processor_type": "ViTImageProcessor",
        "do_resize": True,
        "size": {"height": given.size, "width": given.size},
        "resample": _BILINEAR,
        "do_rescale": True,
        "rescale_factor": _BYTE,
        "do_normalize": True,
        "image_mean": each(given.mean),
        "image_std": each(given.deviation),
    }
