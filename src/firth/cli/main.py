"""The command `firth`: parse, call one public function, print. Nothing heavy is imported before it is needed."""

from __future__ import annotations

import sys

import typer

from firth.cli import inspecting, tokenizing, training, using
from firth.errors import FirthError

app = typer.Typer(
    help="Train, compare, inspect and use every language model of the textbook, on your own text.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help: the coloured one costs more time than the rest of the command
    pretty_exceptions_enable=False,
)
app.command("presets")(inspecting.presets)
app.command("train")(training.train)
app.command("eval")(using.evaluate)
app.command("run")(using.run)
app.command("info")(inspecting.info)
app.command("compare")(inspecting.compare)
app.add_typer(tokenizing.app, name="tokenizer")


@app.callback()
def options(debug: bool = typer.Option(False, "--debug", help="Show the traceback of an error.")) -> None:
    """Options before the verb."""


def run() -> None:
    """The entry point: every error a user can mend is one line and exit code 2."""
    debug = "--debug" in sys.argv
    try:
        sys.exit(app(standalone_mode=False) or 0)
    except FirthError as error:
        if debug:
            raise
        _leave(str(error), 2)
    except (KeyboardInterrupt, typer.Abort):
        _leave("stopped", 130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except Exception as error:
        if hasattr(error, "exit_code") and hasattr(error, "show"):  # the parser's own: usage, unknown option
            _leave(f"{error.format_message()}; see {' '.join([*_path(error), '--help'])}", error.exit_code)
        if debug:
            raise
        _leave(f"a fault in firth itself: {type(error).__name__}: {error}; --debug shows where", 1)


def _path(error: object) -> list[str]:
    context = getattr(error, "ctx", None)
    return [context.command_path if context else "firth"]


def _leave(line: str, code: int) -> None:
    print(f"firth: {line}", file=sys.stderr)
    sys.exit(code)
