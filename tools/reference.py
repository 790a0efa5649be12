"""For the API reference (mkdocstrings): the comment beside or above a field of a dataclass is its docstring."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import griffe

_field_comments = runpy.run_path(str(Path(__file__).with_name("settings.py")))["field_comments"]


class FieldComments(griffe.Extension):
    """Gives each field without a docstring the comment that explains it."""

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """Called for each class that is read from the source."""
        for name, comment in _field_comments(cls.source).items():
            field = cls.members.get(name)
            if comment and field is not None and not field.has_docstring:
                field.docstring = griffe.Docstring(comment, parent=field)
