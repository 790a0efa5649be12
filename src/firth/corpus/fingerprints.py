"""Cached fingerprints of a corpus: recognised by the sizes and modification times of its files, as `make` does."""

from __future__ import annotations

import json
import time
from pathlib import Path

from firth.corpus.documents import Corpus
from firth.runs import atomic_files

FRESH = 2.0  # seconds; a file modified this recently may change again within one tick of the clock


def fingerprint(corpus: Corpus, cache: Path) -> str:
    """The fingerprint of a corpus, cached, so that a large one is not read again for every query."""
    stamps = corpus.stamp()
    if stamps is None:
        return corpus.fingerprint()
    cached = cache / "stamps" / atomic_files.digest(json.dumps(stamps).encode())[:32]
    try:
        return cached.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        digest = corpus.fingerprint()
    if all(stamp.modified < time.time() - FRESH for stamp in stamps):
        atomic_files.make_folder(cached.parent)
        atomic_files.replace_file(cached, digest.encode())
    return digest
