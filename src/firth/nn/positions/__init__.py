"""Position encodings: learned, sinusoidal, rotary (RoPE), ALiBi, T5 relative bias, Transformer-XL relative, axial, and
position-infused.

A new position encoding overrides one hook of `encodings.PositionEncoding` or `encodings.LayerPositionEncoding` and gets
a line in the table here.
"""

from __future__ import annotations

from firth.config import schema
from firth.nn.positions import encodings
from firth.nn.positions.axial import AxialPositions
from firth.nn.positions.relative import InfusedPositions, RelativePositions

POSITION_ENCODINGS: dict[type[schema.Positions], type[encodings.PositionEncoding]] = {
    schema.LearnedPositions: encodings.LearnedPositions,
    schema.AxialPositions: AxialPositions,
    schema.SinusoidalPositions: encodings.SinusoidalPositions,
    schema.RotaryPositions: encodings.RotaryPositions,
    schema.ALiBi: encodings.AlibiPositions,
    schema.T5Positions: encodings.T5Positions,
    schema.RelativePositions: RelativePositions,
    schema.InfusedPositions: InfusedPositions,
    schema.NoPositions: encodings.PositionEncoding,
}
