"""What a foreign config.json says, read with care: what firth does not have is refused by the name of its field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from firth.errors import FirthError

ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu-tanh",
    "gelu_pytorch_tanh": "gelu-tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}
CALLED = {"gelu": "gelu", "gelu-tanh": "gelu_new", "relu": "relu", "silu": "silu"}


@dataclass(frozen=True)
class Fields:
    """The values of a config.json; a field that is missing, or null, has the default that the library gives it."""

    values: Mapping[str, Any]
    where: object

    def __contains__(self, name: str) -> bool:
        return self.values.get(name) is not None

    def get(self, name: str, default: Any) -> Any:
        """As it stands there."""
        found = self.values.get(name)
        return default if found is None else found

    def whole(self, name: str, default: int) -> int:
        """A size."""
        found = self.get(name, default)
        if type(found) is not int or not 0 < found < 2**31:
            raise self._wrong(name, "a whole number above 0")
        return found

    def count(self, name: str, default: int) -> int:
        """A size that may be 0."""
        return 0 if self.get(name, default) == 0 else self.whole(name, default)

    def sizes(self, name: str, default: tuple[int, ...], length: int = 0) -> tuple[int, ...]:
        """Several sizes, or one by itself; `length` says how many there must be."""
        found = self.get(name, list(default))
        found = found if isinstance(found, list) else [found]
        fine = all(type(size) is int and 0 < size < 2**31 for size in found)
        if not fine or (length and len(found) != length):
            raise self._wrong(name, f"{length or 'some'} sizes above 0")
        return tuple(found)

    def number(self, name: str, default: float) -> float:
        """An epsilon or a share."""
        found = self.get(name, default)
        if type(found) not in (int, float) or not 0 <= found < 1:
            raise self._wrong(name, "a number from 0 to 1")
        return float(found)

    def flag(self, name: str, default: bool) -> bool:
        """Yes or no."""
        found = self.get(name, default)
        if type(found) is not bool:
            raise self._wrong(name, "true or false")
        return found

    def activation(self, name: str, default: str) -> str:
        """Our name for the function that bends."""
        found = self.get(name, default)
        if not isinstance(found, str) or found not in ACTIVATIONS:
            raise self._wrong(name, " or ".join(ACTIVATIONS))
        return ACTIVATIONS[found]

    def only(self, name: str, *allowed: Any) -> None:
        """Refuse any other value; the first is the default."""
        if self.get(name, allowed[0]) not in allowed:
            raise self._wrong(name, " or ".join(str(value).lower() for value in allowed))

    def _wrong(self, name: str, wanted: str) -> FirthError:
        return FirthError(f"{name} = {str(self.values.get(name))[:40]}: firth reads {wanted}", where=self.where)
