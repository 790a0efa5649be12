"""Writing a configuration as TOML (the standard library only reads it)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def to_toml(values: Mapping[str, Any], path: str = "") -> str:
    """Nested dictionaries of numbers, strings, booleans and lists as TOML; tables after plain keys."""
    plain = [f"{key} = {_value(value)}" for key, value in values.items() if not isinstance(value, Mapping)]
    head = [f"\n[{path}]"] if path and plain else []
    text = "".join(f"{line}\n" for line in head + plain)
    for key, value in values.items():
        if isinstance(value, Mapping):
            text += to_toml(value, f"{path}.{key}" if path else key)
    return text


def _value(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, float) and value == int(value) and abs(value) < 1e16:
        return f"{value:.1f}"
    return json.dumps(value, ensure_ascii=False)  # strings, booleans and numbers are written alike in both
