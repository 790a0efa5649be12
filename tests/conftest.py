"""No test reads or writes the user's own cache, and none waits for other processes' cores."""

from __future__ import annotations

import os

# Before torch is imported, and for the processes that tests start. Threads that wait for each other on a busy machine
# make small models a hundred times slower.
os.environ["OMP_NUM_THREADS"] = "1"

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory):
    """A cache folder for this session, also for the processes that tests start."""
    before = os.environ.get("FIRTH_CACHE")
    os.environ["FIRTH_CACHE"] = str(folder := tmp_path_factory.mktemp("cache"))
    yield folder
    os.environ.pop("FIRTH_CACHE")
    if before is not None:
        os.environ["FIRTH_CACHE"] = before


def pytest_make_parametrize_id(config, val, argname):
    """Bytes are not part of a test's name: those of a gzip file hold the time, which differs between processes."""
    return argname if isinstance(val, bytes) else None
