"""The table of presets, for the command line and for Python."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from firth.config.schema import System
from firth.display import Table, html_table
from firth.presets import PRESETS, Preset
from firth.presets.parameter_counts import PARAMETERS

_LEGEND = "* default size; firth train PRESET:SIZE trains another; firth presets PRESET prints its settings"


@dataclass(frozen=True)
class PresetEntry:
    """A preset with what a person needs to choose it."""

    name: str
    summary: str
    paper: str
    data: str  # what it is trained on
    default: str  # the size without a name
    sizes: tuple[str, ...]  # from the smallest to the largest
    parameters: Mapping[str, int | None]  # of each size; None: it depends on the text
    budgets: Mapping[str, str]  # of each size: the default training time, or the number of epochs

    def to_dict(self) -> dict[str, Any]:
        """As a row: the parameters are those of the default size."""
        return {
            "name": self.name,
            "summary": self.summary,
            "paper": self.paper,
            "data": self.data,
            "sizes": ", ".join(self.sizes),
            "parameters": self.parameters[self.default],
        }


class PresetTable(Table[PresetEntry]):
    """All presets; prints as `firth presets` does."""

    def __repr__(self) -> str:
        width = min(100, shutil.get_terminal_size().columns - 1)
        lines = [line for entry in self for line in _lines(entry, width)]
        return "\n".join([*lines, "", textwrap.fill(_LEGEND, width)])

    def _repr_html_(self) -> str:
        return html_table([row | {"sizes": _sizes(entry)} for row, entry in zip(self.to_dicts(), self, strict=True)])


def preset_table() -> PresetTable:
    """The table of all presets."""
    return PresetTable(_entry(name, preset) for name, preset in PRESETS.items())


def _entry(name: str, preset: Preset) -> PresetEntry:
    return PresetEntry(
        name,
        preset.summary,
        preset.paper,
        preset.takes,
        preset.default,
        tuple(preset.sizes),
        {size: PARAMETERS.get(f"{name}:{size}") for size in preset.sizes},
        {size: _budget(config) for size, config in preset.sizes.items()},
    )


def _lines(entry: PresetEntry, width: int) -> list[str]:
    """The entry for a terminal of this width."""
    lines = [entry.name]
    for line in (entry.summary, f"{entry.paper} · data: {entry.data}", f"sizes: {_sizes(entry)}"):
        text = textwrap.fill(line, width, initial_indent="    ", subsequent_indent="      ")
        lines.append(text.replace("\N{NO-BREAK SPACE}", " "))
    return lines


def _sizes(entry: PresetEntry) -> str:
    return " · ".join(_size(entry, size) for size in entry.sizes)


def _size(entry: PresetEntry, size: str) -> str:
    parameters = entry.parameters[size]
    count = "" if parameters is None else _format_count(parameters)
    details = ", ".join(filter(None, (count, entry.budgets[size])))
    text = f"{size}{'*' * (size == entry.default)}{f' ({details})' if details else ''}"
    return text.replace(" ", "\N{NO-BREAK SPACE}")  # a size stays on one line


def _budget(config: System) -> str:
    """The default training time, or the number of epochs."""
    train = getattr(config, "train", None)
    return "" if train is None else getattr(train, "budget", "") or f"{train.epochs} epoch{'s' * (train.epochs != 1)}"


def _format_count(count: int) -> str:
    """Three digits, in millions or billions."""
    number, unit = (count / 1e9, "B") if count >= 1e9 else (count / 1e6, "M")
    return f"{number:.3g} {unit}"
