"""No fsync in these tests: they write whole ladders, none of which has to survive a power cut."""

from __future__ import annotations

import pytest

from firth.runs import atomic_files


@pytest.fixture(scope="session", autouse=True)
def unsynced():
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(atomic_files, "sync", lambda descriptor: None)
        yield
