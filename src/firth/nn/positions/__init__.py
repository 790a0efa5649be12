"""Position encodings: learned, sinusoidal, rotary (RoPE), ALiBi, T5 relative bias, Transformer-XL relative, axial, and
position-infused.

A new position encoding overrides one hook of `scheme.PositionEncoding` or `scheme.LayerPositionEncoding` and gets a
line in the table of `schemes`.
"""
