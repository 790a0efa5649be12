"""Image normalisation: preprocessor_config.json."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from firth.config import schema
from firth.errors import FirthError
from firth.interop.config_fields import Fields

FILE = "preprocessor_config.json"
_BILINEAR = 2
_RESCALE = 1 / 255


def read_preprocessor(patch_input: schema.PatchInput, fields: Fields | None) -> tuple[schema.PatchInput, list[str]]:
    """The input with the mean and standard deviation of the normalisation, and notes for the user."""
    if fields is None:
        return patch_input, [f"no {FILE}: pixels are normalised with mean 0.5 and standard deviation 0.5"]
    if not fields.boolean("do_rescale", True) or abs(fields.fraction("rescale_factor", _RESCALE) - _RESCALE) > 1e-9:
        raise FirthError("rescale_factor: firth supports 1/255 (pixels from 0 to 1)", where=fields.where)
    patch_input = replace(patch_input, mean=(0.0,), std=(1.0,))
    if fields.boolean("do_normalize", True):
        mean, std = (_per_channel(fields, name, patch_input.channels) for name in ("image_mean", "image_std"))
        patch_input = replace(patch_input, mean=mean, std=std)
    if fields.get("resample", _BILINEAR) == _BILINEAR:
        return patch_input, []
    return patch_input, ["firth resizes images bilinearly; this model's preprocessor uses another resampling"]


def _per_channel(fields: Fields, name: str, channels: int) -> tuple[float, ...]:
    """One number for each channel; a single one if they are all the same."""
    values = fields.get(name, [0.5] * channels)
    values = values if isinstance(values, list) else [values] * channels
    minimum = 0.0 if name == "image_mean" else 1e-6
    if len(values) != channels or not all(type(each) in (int, float) and minimum <= each <= 1 for each in values):
        what = f"{name} = {str(values)[:40]}: firth supports {channels} numbers from 0 to 1"
        raise FirthError(what, where=fields.where)
    return tuple(map(float, values)) if len({*values}) > 1 else (float(values[0]),)


def preprocessor_config(patch_input: schema.PatchInput) -> dict[str, Any]:
    """The contents of preprocessor_config.json."""

    def each(values: tuple[float, ...]) -> list[float]:
        return list(values) * (patch_input.channels if len(values) == 1 else 1)

    return {
        "image_processor_type": "ViTImageProcessor",
        "do_resize": True,
        "size": {"height": patch_input.image_size, "width": patch_input.image_size},
        "resample": _BILINEAR,
        "do_rescale": True,
        "rescale_factor": _RESCALE,
        "do_normalize": True,
        "image_mean": each(patch_input.mean),
        "image_std": each(patch_input.std),
    }
