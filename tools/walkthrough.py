"""The files of the package whose functions run between a command and its first optimizer step, in order of first use.

    python tools/walkthrough.py train bert:tiny --out RUN

The order is by the first call of a function; what runs only while a module is imported does not count. The last line
tells how often a system was built. The run is stopped at that step."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import firth

SOURCE = str(Path(firth.__file__).parent)
VISITED: dict[str, None] = {}
BUILDS: list[str] = []
_importing = threading.local()  # depth of modules being imported, by thread


def record(frame: FrameType, event: str, argument: Any) -> None:
    """A profile function: note the file of each function that is called, and stop at the first step of the trainer."""
    code = frame.f_code
    depth = getattr(_importing, "depth", 0)
    if code.co_name == "<module>":
        _importing.depth = depth + {"call": 1, "return": -1}.get(event, 0)
    elif event == "call" and not depth and code.co_filename.startswith(SOURCE):
        name = str(Path(code.co_filename).relative_to(SOURCE))
        VISITED.setdefault(name)
        if (name, code.co_name) == ("models/build.py", "build"):
            BUILDS.append(code.co_name)
        if (name, code.co_name) == ("training/optimizer.py", "step") and _in_trainer(frame):
            _finish()


def _in_trainer(frame: FrameType) -> bool:
    """Whether the step is one of the training loop, not one that is only timed."""
    caller = frame.f_back
    while caller is not None and not caller.f_code.co_filename.startswith(SOURCE):  # torch's wrappers
        caller = caller.f_back
    return caller is not None and caller.f_code.co_filename.endswith("loop.py")


def _finish() -> None:
    sys.setprofile(None)
    print("\n".join(VISITED))
    print(f"{len(VISITED)} files, {len(BUILDS)} system built", flush=True)
    os._exit(0)


def main() -> None:
    """Run the command line under the profile."""
    from firth.cli.main import run

    sys.argv[0] = "firth"
    threading.setprofile(record)
    sys.setprofile(record)
    run()


if __name__ == "__main__":
    main()
