"""The command `firth`: parse, call one public function, print. Nothing heavy is imported before it is needed."""

from __future__ import annotations

import sys
from typing import Any

import typer

from firth.cli import cleaning, company, datasets, inspecting, statistics, tokenizing, training, using
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
app.add_typer(datasets.app, name="data")
app.command("company")(company.company)
text = typer.Typer(help="Clean text and count what is in it.", no_args_is_help=True, rich_markup_mode=None)
text.command("clean")(cleaning.clean)
text.command("stats")(statistics.stats)
app.add_typer(text, name="text")


@app.callback()
def options(debug: bool = typer.Option(False, "--debug", help="Show the traceback of an error.")) -> None:
    """Options before the verb."""


def run() -> None:
    """The entry point: every error a user can mend is one line and exit code 2."""
    debug = "--debug" in sys.argv
    try:
        words = [word for word in sys.argv[1:] if word != "--debug"]
        sys.exit(app(words, prog_name="firth", standalone_mode=False) or 0)
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
            _misused(error)
        if debug:
            raise
        if isinstance(error, MemoryError) or "can't allocate memory" in str(error):  # torch's is a RuntimeError
            _leave("not enough memory; choose a smaller width, batch or length", 2)
        _leave(f"a fault in firth itself: {type(error).__name__}: {error}; --debug shows where", 1)


def _misused(error: Any) -> None:
    message, context = error.format_message(), getattr(error, "ctx", None)
    if "\n" in message:  # no verb at all: the message is the help
        print(message, file=sys.stderr)
        sys.exit(error.exit_code)
    _leave(f"{message.rstrip('.')}; see {context.command_path if context else 'firth'} --help", error.exit_code)


def _leave(line: str, code: int) -> None:
    print(f"firth: {line}", file=sys.stderr)
    sys.exit(code)
