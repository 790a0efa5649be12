"""Typed access to a Hugging Face config.json: values that firth does not support are refused by field name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from firth.errors import FirthError

# Hugging Face's name of an activation function -> ours, and back.
ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu-tanh",
    "gelu_pytorch_tanh": "gelu-tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}
HF_ACTIVATIONS = {"gelu": "gelu", "gelu-tanh": "gelu_new", "relu": "relu", "silu": "silu"}


@dataclass(frozen=True)
class Fields:
    """The values of a config.json; a missing or null field takes the default that transformers gives it."""

    values: Mapping[str, Any]
    where: object

    def __contains__(self, name: str) -> bool:
        return self.values.get(name) is not None

    def get(self, name: str, default: Any) -> Any:
        """The value, unchecked."""
        value = self.values.get(name)
        return default if value is None else value

    @property
    def architecture(self) -> str:
        """The name of the class that wrote the folder; empty if none is named."""
        listed = self.get("architectures", [])
        return str(listed[0]) if isinstance(listed, list) and listed else ""

    def positive_int(self, name: str, default: int) -> int:
        """A size."""
        value = self.get(name, default)
        if type(value) is not int or not 0 < value < 2**31:
            raise self._error(name, "a whole number above 0")
        return value

    def non_negative_int(self, name: str, default: int) -> int:
        """A size that may be 0."""
        return 0 if self.get(name, default) == 0 else self.positive_int(name, default)

    def positive_ints(self, name: str, default: tuple[int, ...], length: int = 0) -> tuple[int, ...]:
        """A list of sizes (a single number counts as a list); exactly `length` of them, unless that is 0."""
        value = self.get(name, list(default))
        sizes = value if isinstance(value, list) else [value]
        valid = all(type(size) is int and 0 < size < 2**31 for size in sizes)
        if not valid or (length and len(sizes) != length):
            raise self._error(name, f"{length or 'some'} sizes above 0")
        return tuple(sizes)

    def fraction(self, name: str, default: float) -> float:
        """A number from 0 to 1: a dropout probability, the epsilon of a norm."""
        value = self.get(name, default)
        if type(value) not in (int, float) or not 0 <= value < 1:
            raise self._error(name, "a number from 0 to 1")
        return float(value)

    def boolean(self, name: str, default: bool) -> bool:
        """True or false."""
        value = self.get(name, default)
        if type(value) is not bool:
            raise self._error(name, "true or false")
        return value

    def activation(self, name: str, default: str) -> str:
        """Our name of an activation function."""
        value = self.get(name, default)
        if not isinstance(value, str) or value not in ACTIVATIONS:
            raise self._error(name, " or ".join(ACTIVATIONS))
        return ACTIVATIONS[value]

    def require(self, name: str, *allowed: Any) -> None:
        """Refuse any value but the allowed ones; the first of them is the default."""
        if self.get(name, allowed[0]) not in allowed:
            raise self._error(name, " or ".join(str(value).lower() for value in allowed))

    def _error(self, name: str, supported: str) -> FirthError:
        return FirthError(f"{name} = {str(self.values.get(name))[:40]}: firth supports {supported}", where=self.where)
