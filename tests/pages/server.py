"""Runs `firth` for the shells of the pages: everything is imported once, and each command runs in a fork.

`python server.py SOCKET`. A client sends its arguments, folder and environment with its three standard streams, and
gets the exit code. Commands of a pipe run side by side.
"""

from __future__ import annotations

import json
import os
import pkgutil
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import smaller

import firth

LATE = ("openTSNE", "numba.np.ufunc", "scipy.stats")  # imported inside functions, slowly
STREAMS = 3
MAX_REQUEST = 1 << 20  # bytes


def serve(path: str) -> None:
    """Answer clients until this process is terminated."""
    modules = (module.name for module in pkgutil.walk_packages(firth.__path__, "firth."))
    for name in (*modules, *LATE):
        if not name.endswith("__main__"):
            import_module(name)
    for owner, name, replacement in smaller.replacements():
        assert hasattr(owner, name)
        setattr(owner, name, replacement)
    signal.signal(signal.SIGCHLD, lambda *_: _reap())
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        while True:
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _answer(connection)
            connection.close()


def _reap() -> None:
    """Wait for the commands that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _answer(connection: socket.socket) -> None:
    """Run one command as the client would, and tell its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request, streams, _, _ = socket.recv_fds(connection, MAX_REQUEST, STREAMS)
    while not request.endswith(b"\n"):
        request += connection.recv(MAX_REQUEST)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    code = 1
    try:
        code = _run(**json.loads(request))
    finally:
        for stream in (sys.stdout, sys.stderr):
            if not stream.closed:
                stream.flush()
        connection.sendall(bytes([code]))
        os._exit(code)


def _run(arguments: list[str], folder: str, environment: dict[str, str]) -> int:
    from firth.cli.main import run

    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["firth", *arguments]
    sys.stdout.reconfigure(line_buffering=True)  # both streams in the order of a terminal
    try:
        run()
    except SystemExit as left:
        return int(left.code or 0)
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    serve(sys.argv[1])
