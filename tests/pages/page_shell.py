"""A shell in a folder whose `firth` is the server's."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
START_SECONDS = 600
COMMAND_SECONDS = 600


@dataclass(frozen=True)
class Shell:
    """Runs shell code as a reader would, with the errors of every command of a pipe counted."""

    folder: Path
    environment: Mapping[str, str]  # what is there beyond that of this process

    def run(self, code: str) -> tuple[int, str]:
        """The exit code, and what was printed on both streams."""
        command = ["bash", "-e", "-o", "pipefail", "-c", code]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env={**os.environ, **self.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=COMMAND_SECONDS,
        )
        return done.returncode, done.stdout.decode("utf-8", "replace")


@contextmanager
def start_server(folder: Path) -> Iterator[Mapping[str, str]]:
    """The environment of shells that use a server, which runs within this context."""
    address = folder / "server"
    programs = folder / "bin"
    programs.mkdir()
    client = programs / "firth"
    client.write_text(f"#!{sys.executable} -ISE\n" + (HERE / "client.py").read_text())
    client.chmod(0o755)
    path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {"PATH": path, "FIRTH_PAGES_SERVER": str(address), "PYTHONUTF8": "1"}
    command = [sys.executable, HERE / "server.py", address]
    server = subprocess.Popen(command, env={**os.environ, **environment}, stdin=subprocess.DEVNULL)
    try:
        _wait(server, address)
        yield environment
    finally:
        server.terminate()
        server.wait()


def _wait(server: subprocess.Popen, address: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while not address.exists():
        assert server.poll() is None and time.monotonic() < until, "the server of the pages did not start"
        time.sleep(0.05)
