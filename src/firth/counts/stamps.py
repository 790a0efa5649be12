"""Knowing a text again without reading it: by the sizes and times of its files, as `make` does."""

from __future__ import annotations

import json
import time
from pathlib import Path

from firth.counts.texts import Texts
from firth.runs import files

FRESH = 2.0  # seconds; a file changed so lately may change again within one tick of its clock


def fingerprint(texts: Texts, cache: Path) -> str:
    """The fingerprint of the texts; remembered, so that half a gigabyte is not read again for one line of it."""
    stamp = texts.stamp()
    if stamp is None:
        return texts.fingerprint()
    note = cache / "stamps" / files.digest(json.dumps(stamp).encode())[:32]
    try:
        return note.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        found = texts.fingerprint()
    if all(entry.changed < time.time() - FRESH for entry in stamp):
        files.make_folder(note.parent)
        files.replace_file(note, found.encode())
    return found
