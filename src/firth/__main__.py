"""`python -m firth`."""

from firth.cli.main import run

run()
