"""The command `firth`: parse, call one public function, print. Nothing heavy is imported before it is needed."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperGroup

import firth
from firth.cli.busy_line import BusyLine
from firth.cli.stopping import Stopped, stop_line
from firth.cli.suggestions import meant_option, unknown_command
from firth.errors import FirthError

# title of a section -> name of a command -> (module and function within firth.cli, help)
Sections = Mapping[str, Mapping[str, tuple[str, str]]]


class LazyGroup(TyperGroup):
    """A group whose commands are in a table."""

    sections: ClassVar[Sections] = {}

    @property
    def table(self) -> dict[str, tuple[str, str]]:
        """The commands of all sections."""
        return {name: entry for section in self.sections.values() for name, entry in section.items()}

    def list_commands(self, ctx: Any) -> list[str]:
        """All names, in the table's order."""
        return list(self.table)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """One command, its module imported now."""
        if cmd_name not in self.table:
            raise unknown_command(cmd_name, self.table, _GROUPS if "train" in self.table else {})
        module, _, name = self.table[cmd_name][0].partition(".")
        entry = getattr(import_module(f"firth.cli.{module}"), name)
        if isinstance(entry, typer.Typer):
            group = entry
        else:
            group = typer.Typer(add_completion=False, rich_markup_mode=None)
            group.command(cmd_name, cls=getattr(entry, "command_class", None))(entry)
        command = typer.main.get_command(group)
        command.name = cmd_name
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The table as help, section by section."""
        for title, commands in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name, help_text) for name, (_, help_text) in commands.items()])


def lazy_group(help_text: str, sections: Sections) -> typer.Typer:
    """A Typer application of these commands."""
    kind = type("Commands", (LazyGroup,), {"sections": sections})
    app = typer.Typer(
        cls=kind,
        help=help_text,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,  # plain help: the coloured one costs more time than the rest of the command
        pretty_exceptions_enable=False,
    )
    app.callback()(_no_options)
    return app


def _no_options() -> None:
    pass


corpus = lazy_group(
    "Corpus tools: clean, stats, concordance, collocations, keyness.",
    {
        "Commands": {
            "clean": ("corpus_clean.clean", "Filter and deduplicate documents; print what each filter dropped."),
            "stats": (
                "corpus.stats",
                "Print tokens, types, type-token ratio, lengths, and the fits of Zipf's and Heaps' laws.",
            ),
            "concordance": (
                "corpus.concordance",
                "Print a concordance (KWIC): the hits of a word or phrase, each in its context.",
            ),
            "collocations": (
                "corpus.collocations",
                "Print the collocates of a word: words near it more often than expected.",
            ),
            "keyness": (
                "corpus.keyness",
                "Print the keywords of a text against a reference corpus, and those of the reference.",
            ),
        }
    },
)
lm = lazy_group(
    "Use a language model: rank, correct, rescore, authorship, surprisal, few-shot, prompts.",
    {
        "Commands": {
            "rank": ("lm.rank", "Rank alternative texts by their probability."),
            "correct": ("lm.correct", "Correct spelling, or confused words, with a language model (noisy channel)."),
            "rescore": (
                "lm_rescoring.rescore",
                "Rescore n-best lists of a recogniser with language models; fit the weights, print error rates.",
            ),
            "authorship": (
                "lm.authorship",
                "Authorship attribution: one language model per author, compared by bits per byte.",
            ),
            "surprisal": (
                "lm.surprisal",
                "Plot the surprisal of each token, in human text and in what the model generates.",
            ),
            "few-shot": (
                "lm_prompting.few_shot",
                "Zero-, one- and few-shot evaluation (in-context learning) on a labelled task.",
            ),
            "prompts": (
                "lm_prompting.prompts",
                "Compare the next-word or [MASK] distributions of two prompts.",
            ),
        }
    },
)
lexicon = lazy_group(
    "Ask a lexical database (WordNet): synsets, hypernyms, similarity, lemmas; word-sense disambiguation.",
    {
        "Commands": {
            "synsets": ("lexicon_queries.synsets", "List the synsets of words: their names, words and definitions."),
            "senses": (
                "lexicon_queries.senses",
                "List the senses of words: number, key, count, antonyms and related forms.",
            ),
            "relations": (
                "lexicon_queries.relations",
                "List all relations of the synsets of a word, or of one synset.",
            ),
            "hypernyms": ("lexicon_queries.hypernyms", "Print what is above the synsets of a word, level by level."),
            "hyponyms": ("lexicon_queries.hyponyms", "Print what is below the synsets of a word, level by level."),
            "similar": (
                "lexicon_queries.similar",
                "Print the similarity of two words or synsets by every measure, and their lexical relation.",
            ),
            "lemmas": (
                "lexicon_queries.lemmas",
                "Print the lemmas (base forms) of word forms that the lexicon has, by exceptions and rules (morphy).",
            ),
            "disambiguate": (
                "lexicon_senses.disambiguate",
                "Word-sense disambiguation: the best sense of each word of a text, by glosses, vectors or an encoder.",
            ),
            "evaluate": (
                "lexicon_senses.evaluate",
                "Score word-sense disambiguation on words with known senses, beside its baselines.",
            ),
            "gloss-pairs": (
                "lexicon_senses.gloss_pairs",
                "Write pairs of context and gloss, to train a classifier of senses (GlossBERT) or a bi-encoder on.",
            ),
            "info": ("lexicon_queries.info", "Describe the lexicon: where it is, and the number of its synsets."),
        }
    },
)
inspect = lazy_group(
    "Look inside a model: probe its layers.",
    {
        "Commands": {
            "probe": (
                "inspect_run.probe",
                "Probe each layer: what a linear classifier reads from its hidden states, beside a control task.",
            ),
        }
    },
)
vectors = lazy_group(
    "Word vectors: neighbours, analogies, evaluation, maps, search, alignment.",
    {
        "Commands": {
            "info": ("vectors.info", "Describe word vectors: vocabulary, width, context vectors, subwords, size."),
            "neighbours": ("vectors.neighbours", "List the nearest neighbours of words."),
            "similarity": ("vectors.similarity", "Print the cosine similarity of two words."),
            "analogy": ("vectors.analogy", "Solve an analogy: A is to B as C is to what?"),
            "odd-one-out": ("vectors.odd_one_out", "Print the word that does not match the others."),
            "recommend": ("vectors.recommend", "List the items nearest to the mean of some items."),
            "convert": ("vectors.convert", "Convert word vectors to another format, or to a smaller vocabulary."),
            "evaluate": (
                "vectors_evaluate.evaluate",
                "Evaluate vectors on word similarity, analogies, categorisation and words in context.",
            ),
            "senses": ("vectors_evaluate.senses", "Word sense induction: cluster the contexts of words in a text."),
            "pseudo-words": (
                "vectors_senses.pseudo_words",
                "Score word sense induction on pseudo-words: pairs of words merged into one.",
            ),
            "search": (
                "vectors_search.search",
                "Search documents by BM25, tf-idf and vectors; evaluate against relevance judgements.",
            ),
            "align": (
                "vectors_align.align",
                "Align the vectors of two languages (Procrustes); translate words, evaluate the lexicon.",
            ),
            "map": ("vectors_plot.plot_map", "Plot words in the plane: PCA, t-SNE or UMAP."),
            "arrows": (
                "vectors_plot.plot_arrows",
                "Plot the offset vectors of word pairs, and print how parallel they are.",
            ),
            "study": (
                "vectors_study.study",
                "Train GloVe with many hyperparameters and plot analogy accuracy against each.",
            ),
        }
    },
)


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
        "doctor": ("doctor.doctor", "Check this machine: versions, cores, instructions, memory, disk, cache, speed."),
        "export": ("export.export", "Export a model: Hugging Face folder, adapter for peft, ARPA file."),
        "import": ("export.import_model", "Import a pretrained model: Hugging Face folder, ARPA file."),
    },
    "Data and corpus": {
        "data": ("data.app", "List, check and convert data sets."),
        "tokenizer": ("tokenizer.app", "Train, apply, convert and edit tokenizers."),
        "corpus": ("main.corpus", "Corpus tools: clean, stats, concordance, collocations, keyness."),
        "align": ("align.align", "Word-align two parallel files; print links in Pharaoh format."),
        "score": (
            "score.score",
            "Score texts against references (BLEU, chrF, ROUGE, exact match); test whether two systems differ.",
        ),
    },
    "Language-model tools": {
        "lm": ("main.lm", "Use a language model: rank, correct, rescore, authorship, surprisal, few-shot, prompts."),
    },
    "Inside a model": {
        "inspect": ("main.inspect", "Look inside a model: probe its layers."),
    },
    "Words": {
        "vectors": ("main.vectors", "Word vectors: neighbours, analogies, evaluation, maps, search, alignment."),
        "lexicon": (
            "main.lexicon",
            "Ask a lexical database (WordNet): synsets, hypernyms, similarity, lemmas; word-sense disambiguation.",
        ),
    },
}


_GROUPS = {
    name: [command for section in group.info.cls.sections.values() for command in section]
    for name, group in (
        ("lm", lm),
        ("vectors", vectors),
        ("corpus", corpus),
        ("lexicon", lexicon),
        ("inspect", inspect),
    )
}


app = lazy_group("Train, evaluate, compare and use language models of every family, on your own text.", SECTIONS)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"firth {firth.__version__}")
        raise typer.Exit


@app.callback(context_settings={"help_option_names": ["-h", "--help"]})
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options before the verb."""


_NO_MEMORY = (
    "can't allocate memory", "Cannot allocate memory", "can't start new thread", "failed to map segment",
)  # fmt: skip
# of oneDNN; what it does not support is a "primitive descriptor"
_ONEDNN_NO_MEMORY = ("could not create a primitive", "could not execute a primitive")


def run() -> None:
    """The entry point: every error that a user can fix is one line and exit code 2."""
    from firth.runs.atomic_files import record_folders

    verb = [argument for argument in sys.argv[1:2] if not argument.startswith("-")]
    with BusyLine(" ".join(["firth", *verb])), record_folders() as folders:
        _run(folders)


def _run(folders: set[Path]) -> None:
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
    except Stopped as stop:
        _exit(str(stop), stop.code)
    except (KeyboardInterrupt, typer.Abort):
        _exit(stop_line(folders), 130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except SystemExit:
        raise
    except BaseException as error:  # a panic of a Rust library is no Exception
        if hasattr(error, "exit_code") and hasattr(error, "show"):  # the parser's own: usage, unknown option
            _exit_with_usage(error)
        if number := getattr(error, "signal_number", 0):  # training that has saved a checkpoint
            _exit(stop_line(folders), 128 + number)
        if debug:
            raise
        if _is_out_of_memory(error):
            _exit("out of memory; choose a smaller width, batch size or length", 2)
        _exit(f"internal error: {type(error).__name__}: {error}; --debug shows the traceback", 1)


def _is_out_of_memory(error: BaseException) -> bool:
    """Whether memory was refused: torch, threads, files and libraries that are loaded each say it in their own way."""
    said = str(error)
    return isinstance(error, MemoryError) or said in _ONEDNN_NO_MEMORY or any(each in said for each in _NO_MEMORY)


def _exit_with_usage(error: Any) -> None:
    message, context = error.format_message(), getattr(error, "ctx", None)
    if "\n" in message:  # no verb at all: the message is the help
        print(message, file=sys.stderr)
        sys.exit(error.exit_code)
    message = message.replace("Value error, ", "").replace("No such option", "no such option").rstrip(".")
    if (given := getattr(error, "option_name", "")).startswith("--") and "o such option" in message:
        known = [option for parameter in context.command.params for option in parameter.opts] if context else []
        if meant := meant_option(given, known):
            message = f"no such option: {given}; did you mean {meant}?"
    _exit(f"{message}; see {context.command_path if context else 'firth'} --help", error.exit_code)


def _exit(line: str, code: int) -> None:
    print(f"firth: {line}", file=sys.stderr)
    sys.exit(code)
