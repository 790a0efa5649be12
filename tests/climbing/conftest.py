"""Whole ladders are made here; none of them has to survive a power cut."""

from __future__ import annotations

import pytest

from firth.runs import files


@pytest.fixture(scope="session", autouse=True)
def unsynced():
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(files, "sync", lambda descriptor: None)
        yield
