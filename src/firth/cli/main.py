"""The command `firth`: parse, call one public function, print. Nothing heavy is imported before it is needed."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from firth.errors import FirthError, unknown

# Each verb: its module and name there, and what the help says. A module is imported when its verb is used.
VERBS = {
    "ladder": (
        "climbing.ladder",
        "Train every language model from n-gram to Transformer on one text; say which to use.",
    ),
    "presets": ("inspecting.presets", "List the presets, or print one as a recipe to start from."),
    "train": ("training.train", "Train a preset on a text; continue a run that was interrupted."),
    "eval": (
        "using.evaluate",
        "Score a model on held-out or other text, each score signed.",
    ),
    "run": ("using.run", "Use a model: continue a prompt or score it; tell the neighbours of a word; label a text."),
    "score": (
        "scoring.score",
        "Score texts against references: BLEU, chrF, ROUGE, exact match; and say whether two systems differ.",
    ),
    "rank": ("ranking.rank", "Say which of several texts is the most probable, and by how much."),
    "correct": (
        "correcting.correct",
        "Mend the spelling of a text, or the choice between words, by what a language model finds probable.",
    ),
    "authors": ("authorship.authors", "Say who of several authors wrote a text: one language model for each."),
    "surprise": (
        "surprising.surprise",
        "Draw how probable each token is to a model: of a text, and of what the model writes itself.",
    ),
    "shots": (
        "prompting.shots",
        "Test a model on a task it was not trained for, with prompts that show no, one or a few examples.",
    ),
    "probe": (
        "probing.probe",
        "Compare two prompts: which words a model expects with one rather than with the other.",
    ),
    "align": (
        "linking.align",
        "Link the words of two files that belong together line by line; print the links in Pharaoh's format.",
    ),
    "export": ("exporting.export", "Write a model for other programs."),
    "import": ("exporting.bring_in", "Make a run of a model from another program."),
    "info": ("inspecting.info", "Tell about a run: what it is, how far it is, how good, how big."),
    "compare": ("inspecting.compare", "Put runs side by side; say where their scores cannot be compared."),
    "tokenizer": ("tokenizing.app", "Train tokenizers and look at what they do."),
    "data": ("datasets.app", "Look at data sets and check files."),
    "text": ("texts.app", "Clean text and count what is in it."),
    "company": ("company.company", "Show the company a word keeps: its places in the text, and the words near it."),
    "vectors": (
        "vectors.app",
        "Ask word vectors, compare them, turn them into maps, search documents with them.",
    ),
}


class Verbs(TyperGroup):
    """The verbs by their table, so that the help imports none of them."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All names, in the table's order."""
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """One verb, made when it is asked for."""
        if cmd_name not in VERBS:
            raise unknown("verb", cmd_name, VERBS)
        module, _, name = VERBS[cmd_name][0].partition(".")
        found = getattr(import_module(f"firth.cli.{module}"), name)
        if not isinstance(found, typer.Typer):
            verb, found = found, typer.Typer(add_completion=False, rich_markup_mode=None)
            found.command(cmd_name)(verb)
        command = typer.main.get_command(found)
        command.name = cmd_name
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The table as help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in VERBS.items()])


app = typer.Typer(
    cls=Verbs,
    help="Train, compare, inspect and use every language model of the textbook, on your own text.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help: the coloured one costs more time than the rest of the command
    pretty_exceptions_enable=False,
)


@app.callback()
def options(debug: bool = typer.Option(False, "--debug", help="Show the traceback of an error.")) -> None:
    """Options before the verb."""


def run() -> None:
    """The entry point: every error a user can mend is one line and exit code 2."""
    debug = "--debug" in sys.argv
    try:
        words = [word for word in sys.argv[1:] if word != "--debug"]
        code = app(words, prog_name="firth", standalone_mode=False) or 0
        if code == 130:  # the parser's word for Ctrl-C
            raise KeyboardInterrupt
        sys.exit(code)
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
