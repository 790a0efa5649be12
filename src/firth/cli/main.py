"""The command `firth`: parse, call one public function, print. Nothing heavy is imported before it is needed."""

from __future__ import annotations

import sys
from typing import Any

import typer

from firth.cli.lazy_group import lazy_group
from firth.errors import FirthError

# Each verb: its module and name there, and its help. A module is imported when its verb is used.
SECTIONS = {
    "Core": {
        "presets": ("info.presets", "List the presets, or print one as a TOML recipe."),
        "train": ("train.train", "Train a preset on a text, or resume an interrupted run."),
        "eval": ("eval_run.evaluate", "Evaluate a model on held-out or other text; every score has a signature."),
        "run": ("eval_run.run", "Use a model: generate, score, translate, classify, fill masks, embed."),
        "info": ("info.info", "Describe a run: model, training progress, scores, size."),
        "compare": ("info.compare", "Compare runs side by side; note where scores are not comparable."),
        "ladder": (
            "ladder.ladder",
            "Train language models from n-gram to Transformer on one text and recommend one.",
        ),
        "export": ("export.export", "Export a model: Hugging Face folder, ARPA file."),
        "import": ("export.import_model", "Import a pretrained model: Hugging Face folder, ARPA file."),
    },
    "Data and corpus": {
        "data": ("data.app", "List, check and convert data sets."),
        "tokenizer": ("tokenizer.app", "Train, apply, convert and edit tokenizers."),
        "corpus": ("groups.corpus", "Corpus tools: clean, stats, concordance, collocations, keyness."),
        "align": ("align.align", "Word-align two parallel files; print links in Pharaoh format."),
        "score": (
            "score.score",
            "Score texts against references (BLEU, chrF, ROUGE, exact match); test whether two systems differ.",
        ),
    },
    "Language-model tools": {
        "lm": ("groups.lm", "Use a language model: rank, correct, authorship, surprisal, few-shot, prompts."),
    },
    "Word vectors": {
        "vectors": ("groups.vectors", "Word vectors: neighbours, analogies, evaluation, maps, search, alignment."),
    },
}
# Verbs of earlier versions, and what to type now.
MOVED = {
    "text": "corpus",
    "company": "corpus concordance, or firth corpus collocations",
    "rank": "lm rank",
    "correct": "lm correct",
    "authors": "lm authorship",
    "surprise": "lm surprisal",
    "shots": "lm few-shot",
    "probe": "lm prompts",
}


app = lazy_group("Train, evaluate, compare and use language models of every era, on your own text.", SECTIONS, MOVED)


@app.callback()
def options(debug: bool = typer.Option(False, "--debug", help="Show the traceback of an error.")) -> None:
    """Options before the verb."""


def run() -> None:
    """The entry point: every error that a user can fix is one line and exit code 2."""
    debug = "--debug" in sys.argv
    try:
        arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
        code = app(arguments, prog_name="firth", standalone_mode=False) or 0
        if code == 130:  # how the parser reports Ctrl-C
            raise KeyboardInterrupt
        sys.exit(code)
    except FirthError as error:
        if debug:
            raise
        _exit(str(error), 2)
    except (KeyboardInterrupt, typer.Abort):
        _exit("stopped", 130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except Exception as error:
        if hasattr(error, "exit_code") and hasattr(error, "show"):  # the parser's own: usage, unknown option
            _exit_with_usage(error)
        if debug:
            raise
        if isinstance(error, MemoryError) or "can't allocate memory" in str(error):  # torch's is a RuntimeError
            _exit("out of memory; choose a smaller width, batch size or length", 2)
        _exit(f"internal error: {type(error).__name__}: {error}; --debug shows the traceback", 1)


def _exit_with_usage(error: Any) -> None:
    message, context = error.format_message(), getattr(error, "ctx", None)
    if "\n" in message:  # no verb at all: the message is the help
        print(message, file=sys.stderr)
        sys.exit(error.exit_code)
    message = message.replace("Value error, ", "").rstrip(".")
    _exit(f"{message}; see {context.command_path if context else 'firth'} --help", error.exit_code)


def _exit(line: str, code: int) -> None:
    print(f"firth: {line}", file=sys.stderr)
    sys.exit(code)
