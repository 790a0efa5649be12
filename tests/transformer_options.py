"""Transformers for tests, their options by short names: `transformer(positions="rotary", norm_placement="post")`."""

from __future__ import annotations

from typing import Any

from firth.config import core, schema

SHORT = {
    "head_width": "attention.head_width",
    "scaled": "attention.scaled",
    "attention_bias": "attention.bias",
    "attention_dropout": "attention.dropout",
    "window": "attention.window",
    "scale_window": "attention.scale_window",
    "dilation": "attention.dilation",
    "dilated_heads": "attention.dilated_heads",
    "global_tokens": "attention.global_tokens",
    "global_projections": "attention.global_projections",
    "kernel": "attention.kernel",
    "layers": "attention.layers",
    "local": "attention.local",
    "lsh": "attention.lsh",
    "feedforward_width": "feedforward.width",
    "activation": "feedforward.activation",
    "chunk": "feedforward.chunk",
    "norm_placement": "norm.placement",
    "norm_embeddings": "norm.embeddings",
    "epsilon": "norm.epsilon",
    "relative_segments": "positions.segments",
    "axial": "positions",
}
WINDOW = {"window", "scale_window", "dilation", "dilated_heads", "global_tokens", "global_projections", "kernel"}
REFORMER = {"layers", "local", "lsh"}


def transformer(base: schema.Transformer | None = None, **options: Any) -> schema.Transformer:
    """A Transformer configuration, or `base` with some options changed."""
    nested: dict[str, Any] = {}

    def put(path: str, value: Any) -> None:
        *groups, name = path.split(".")
        place = nested
        for group in groups:
            place = place.setdefault(group, {})
        if isinstance(place.get(name), dict) and isinstance(value, dict):
            place[name] |= value
        else:
            place[name] = value

    if options.get("window") == 0:  # no window
        options.pop("window")
    kind = {"kind": "window"} if WINDOW & set(options) else {"kind": "lsh"} if REFORMER & set(options) else {}
    same = base is not None and base.attention.kind == kind.get("kind")
    if kind and not same:
        put("attention", kind)
        if base is not None:
            for name in ("head_width", "scaled", "bias", "dropout"):
                put(f"attention.{name}", getattr(base.attention, name))
        if kind["kind"] == "window" and "kernel" not in options:
            put("attention.kernel", "dense")
    for name, value in options.items():
        if name == "positions" and isinstance(value, str):
            put("positions.kind", {"xl": "relative", "infused": "position-infused"}.get(value, value))
        elif name == "norm" and isinstance(value, str):
            put("norm.kind", value)
        elif name == "gated":
            put("feedforward.kind", "gated" if value else "mlp")
        elif name == "memory":
            put("memory", {"kind": "segment-recurrence", "length": value} if value else {"kind": "none"})
        elif name == "window" and isinstance(value, int):
            put("attention.window", (value,))
        elif name in ("local", "lsh", "axial"):
            put(SHORT[name], core.to_dict(value))
        else:
            put(SHORT.get(name, name), value)
    return core.merge(base if base is not None else schema.Transformer(), nested)
