"""Writes src/firth/config/train_arguments.py: the types and the help of what `firth.train` takes by short name.

`python tools/train_arguments.py` after a short name, its help or the type of its field was changed; a test sees to it
that this was done.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from firth.cli.config_options import ConfigOptions
from firth.config import schema
from firth.config.short_names import SECTIONS, argument

MODULE = Path(__file__).parent.parent / "src" / "firth" / "config" / "train_arguments.py"
OWN = ("text",)  # an argument of `firth.train` itself
HEAD = '''"""The settings that `firth.train` takes by short name; made by `tools/train_arguments.py`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypedDict


class TrainArguments(TypedDict, total=False):
    """The settings of `firth.train` by short name; the table is in `firth.config.short_names`."""
'''


def module() -> str:
    """The content of the module."""
    options, lines = ConfigOptions(SECTIONS, get_args(schema.System)), [HEAD]
    for title, names in SECTIONS.items():
        lines.append(f"    # {title}")
        for name, short in names.items():
            if name not in OWN:
                lines.append(field(argument(name), types(options, name)))
                lines.append(f'    """{short.help}"""')
    return "\n".join(lines) + "\n"


def types(options: ConfigOptions, name: str) -> tuple[str, ...]:
    """The types that a setting takes in the presets that have it, as Python says them."""
    hints = [hint for _, hint in options._fields(name)]
    choices = dict.fromkeys(value for hint in hints if get_origin(hint) is Literal for value in get_args(hint))
    plain = dict.fromkeys(_plain(hint) for hint in hints if get_origin(hint) is not Literal)
    is_list = "str | Sequence[str]" in plain and name not in ("noise", "freeze")
    is_path = "RUN" in options.names[name].metavar or is_list
    path = ("Path",) if is_path else ()
    literal = (f"Literal[{', '.join(map(_quoted, choices))}]",) if choices else ()
    return (*literal, *plain, *path)


def field(name: str, types: tuple[str, ...]) -> str:
    """A line of the class; long choices below each other."""
    line = f"    {name}: {' | '.join(types)}"
    if len(line) <= 120:
        return line
    ((choices,), rest) = ([each[8:-1] for each in types if each.startswith("Literal")], types[1:])
    values = "".join(f"        {value},\n" for value in choices.split(", "))
    return f"    {name}: Literal[\n{values}    ]" + "".join(f" | {each}" for each in rest)


def _plain(hint: Any) -> str:
    if get_origin(hint) is tuple:
        return "str | Sequence[str]"
    return hint.__name__


def _quoted(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


if __name__ == "__main__":
    MODULE.write_text(module(), encoding="utf-8")
