"""The command `firth`, and `python -m firth`."""

import signal
import sys


def run() -> None:
    """Call the command line; Ctrl-C is one line even while its modules are imported."""
    try:
        from firth.cli.main import run as run_command

        run_command()
    except KeyboardInterrupt:
        print("firth: stopped; nothing was written", file=sys.stderr)
        sys.exit(130)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # no traceback from a program that has ended


if __name__ == "__main__":
    run()
