"""`firth eval` and `firth run`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from firth import api
from firth.cli.busy_line import say_doing
from firth.cli.console import print_json, read_inputs, require_writable, split_commas
from firth.cli.conversation import run_chat
from firth.cli.options import JSON, RUN, THREADS, VERBOSE, choice
from firth.config import core
from firth.errors import FirthError, printable
from firth.metrics.error_analysis import format_tables
from firth.metrics.score import format_scores
from firth.report.error_page import error_page
from firth.runs import atomic_files
from firth.workflows.predict_file import Source, predict_file, save_predictions

_LINES_PER_BATCH = 256  # of a file
WEIGHTS = Annotated[
    choice(api.WEIGHTS), typer.Option(help="Precision of a network's weights: half and int8 are faster, less exact.")
]
TASK = Annotated[
    choice(("", "multiple-choice")),
    typer.Option(help="Use a language model for this task: multiple-choice, the likeliest choice of each question."),
]


def evaluate(
    run: RUN,
    text: Annotated[str | None, typer.Option(help="Other text than the run's own: a file, a folder or -.")] = None,
    source: Annotated[str | None, typer.Option(help="Source texts, one per line, with --target.")] = None,
    target: Annotated[str | None, typer.Option(help="Reference texts, line by line with --source.")] = None,
    split: Annotated[str, typer.Option(help="Split of the run's own text: train, valid or test.")] = "",
    memory: Annotated[int | None, typer.Option(min=0, help="Memory length in tokens; by default as trained.")] = None,
    weights: WEIGHTS = "float32",
    threads: THREADS = 0,
    details: Annotated[
        bool, typer.Option("--details", help="Print scores by class, confusions and calibration too (labelled tasks).")
    ] = False,
    errors: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html", help="Write a page of all examples, ranked by their loss (labelled tasks)."),
    ] = None,
    task: TASK = "",
    verbose: VERBOSE = False,
    as_json: JSON = False,
) -> None:
    """Evaluate a model on held-out or other text; every score has a signature."""
    say_doing("loading the model")
    model = _for_task(api.load(run, weights=weights, threads=threads), task)
    if memory is not None:
        if not hasattr(model, "set_memory_length"):
            raise FirthError("this model has no memory", where=run, do="leave out --memory")
        model.set_memory_length(memory)
    examples = _read_pairs(model, source, target) if source or target else text
    to_save = examples is None and weights == "float32"  # scores of the run's own data and weights are kept
    if to_save:
        model.run.scores()  # refuses damaged ones before the work
    require_writable(errors)
    if details or errors:
        examples = _load_labelled(model, run, examples, split or "test")
    say_doing("scoring the text" if text else f"scoring the {split or 'test'} split")
    scores = [score.to_dict() for score in model.evaluate(examples, **({"split": split} if split else {}))]
    if to_save and (reason := model.run.offer_scores(scores)):
        print(f"note: the scores are not saved: {reason}", file=sys.stderr)
    analysis = model.error_analysis(examples) if details or errors else None
    if errors:
        page = error_page(model.run.path.name, analysis, format_scores(scores))
        atomic_files.replace_file(errors, page.encode())
        print(f"errors: {errors}", file=sys.stderr)
    tables = analysis.tables if details else {}
    if as_json:
        of_tables = {name: table.to_dicts() for name, table in tables.items()}
        print_json({"scores": scores, "details": of_tables} if details else scores)
        return
    for line in [*format_scores(scores, verbose), *format_tables(tables)]:
        print(printable(line))


def _load_labelled(model: Any, run: str, text: Any, split: str) -> Any:
    """The labelled examples that are evaluated, for a model that can analyse them."""
    if not hasattr(model, "error_analysis"):
        do = "give a classifier, a tagger, or a model that answers questions"
        raise FirthError("this model predicts no labels", where=run, do=do)
    return model.load_examples(text, split)


def _read_pairs(model: Any, source: str | None, target: str | None) -> list[Any]:
    """The pairs of two parallel files."""
    from firth.datasets.seq2seq_dataset import read_parallel

    if not hasattr(model, "translate"):
        do = "give one text with --text"
        raise FirthError("not a sequence-to-sequence model", where="--source and --target", do=do)
    files = [(path,) if path else () for path in (source, target)]
    return list(read_parallel(*files, "eval", model.config.data.empty_pairs))


def run(
    run: RUN,
    text: Annotated[str, typer.Argument(metavar="INPUT", help="The input, or - to read one per line.")] = "",
    score: Annotated[bool | None, typer.Option("--score", help="Print the log-probability of the input.")] = None,
    prefix: Annotated[
        bool | None, typer.Option("--prefix", help="With --score: of all texts that begin with the input.")
    ] = None,
    complete: Annotated[
        int | None, typer.Option(min=1, help="Print the n most probable next words and tokens.")
    ] = None,
    beam: Annotated[int | None, typer.Option(min=1, help="Beam size of a beam search.")] = None,
    length_penalty: Annotated[
        float | None, typer.Option(help="With --beam: length penalty; above 0 favours longer texts.")
    ] = None,
    repetition: Annotated[bool | None, typer.Option("--repetition", help="Print repetition rates too.")] = None,
    max_length: Annotated[int | None, typer.Option(help="Tokens to generate at most.", min=1)] = None,
    count: Annotated[int | None, typer.Option(help="Results per input: texts, neighbours, labels.", min=1)] = None,
    threshold: Annotated[float | None, typer.Option(help="Minimum probability of a label.")] = None,
    explain: Annotated[
        bool | None, typer.Option("--explain", help="Print the n-grams that decided (linear models).")
    ] = None,
    features: Annotated[
        bool | None, typer.Option("--features", help="Print each label's most informative n-grams (linear models).")
    ] = None,
    chat: Annotated[bool, typer.Option("--chat", help="Chat: each line is a turn of one conversation.")] = False,
    system: Annotated[str, typer.Option(metavar="TEXT", help="With --chat: the system prompt.")] = "",
    embed: Annotated[bool | None, typer.Option("--embed", help="Print the vector of the input.")] = None,
    next_sentence: Annotated[
        str | None,
        typer.Option(metavar="FIRST", help="Print the probability that the input continues this text (NSP)."),
    ] = None,
    word: Annotated[str | None, typer.Option(help="Print the translations of this word.")] = None,
    temperature: Annotated[float | None, typer.Option(help="Sampling temperature; 0: greedy.")] = None,
    top_k: Annotated[int | None, typer.Option(help="Sample from the k most probable tokens.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Nucleus sampling: the top tokens of probability p.")] = None,
    seed: Annotated[int | None, typer.Option(help="Random seed.", min=0)] = None,
    file: Annotated[
        str | None, typer.Option("--text", metavar="FILE", help="Predict for every record of a file (labelled tasks).")
    ] = None,
    form: Annotated[str, typer.Option("--to", help="With --text: tsv, jsonl, or conll (taggers).")] = "tsv",
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="With --text: write here.")] = None,
    file_format: Annotated[str, typer.Option("--format", help="With --text: the file's format (firth data).")] = "",
    columns: Annotated[
        str, typer.Option(metavar="ROLE=NAME,…", help="With --text: columns of a table, such as text=review.")
    ] = "",
    plot: Annotated[Path | None, typer.Option(help="Plot the attention weights to a .svg, .png or .html.")] = None,
    tree: Annotated[Path | None, typer.Option(help="Plot the beam search tree to a .svg, .png or .html.")] = None,
    ensemble: Annotated[
        str | None, typer.Option(metavar="RUN,…", help="Ensemble: average with the models of other runs.")
    ] = None,
    task: TASK = "",
    weights: WEIGHTS = "float32",
    threads: THREADS = 0,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any other option of the model: no_repeat_ngram_size=3"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per input.")] = False,
) -> None:
    """Use a model: generate, score, translate, classify, fill masks, embed."""
    named = {"score": score, "prefix": prefix, "max_length": max_length, "count": count, "temperature": temperature}
    named |= {"top_k": top_k, "top_p": top_p, "seed": seed, "threshold": threshold, "complete": complete}
    named |= {"explain": explain, "features": features}
    named |= {"word": word, "embed": embed, "beam": beam, "length_penalty": length_penalty, "repetition": repetition}
    named |= {"plot": plot and str(plot), "tree": tree and str(tree), "next_sentence": next_sentence}
    options = {name: value for name, value in named.items() if value is not None} | _parse_settings(settings or [])
    say_doing("loading the model")
    model = _for_task(_with_ensemble(api.load(run, weights=weights, threads=threads), ensemble, weights), task)
    say_doing("firth run")
    if out and file is None:
        raise FirthError("no file to predict for", where="--out", do="name one with --text")
    if system and not chat:
        raise FirthError("--system belongs to --chat", do="add --chat")
    if chat:
        if file is not None:
            do = "leave --chat out: every dialogue of the file gets its reply"
            raise FirthError("--chat reads turns, not a file", where="--text", do=do)
        run_chat(model, text, system, options, as_json)
        return
    if file is not None:
        source = Source(file, file_format, _parse_columns(columns))
        _predict_file(model, source, options, "jsonl" if as_json else form, out)
        return
    from_stdin = not text and getattr(model, "reads_lines", False)  # a model without prompts reads lines
    for lines in _batches("-" if from_stdin else text):
        answer_many = getattr(model, "answers", None)
        answers = answer_many(lines, options) if answer_many else (model.answer(line, options) for line in lines)
        for answer in answers:
            print_json(answer) if as_json else print(model.format_answer(answer), flush=True)


def _predict_file(model: Any, source: Source, options: Mapping[str, object], form: str, out: Path | None) -> None:
    """Predictions for a file, to another or to standard output."""
    require_writable(out)
    if out:
        print(f"predictions: {save_predictions(model, source, options, form, out)}", file=sys.stderr)
        return
    for line in predict_file(model, source, options, form):
        print(line)


def _for_task(model: Any, task: str) -> Any:
    """The model, as one for this task."""
    from firth.pipelines.choice_scoring import choose_by_likelihood

    return choose_by_likelihood(model) if task else model


def _parse_columns(columns: str) -> dict[str, str]:
    """Columns by role."""
    pairs = {}
    for part in split_commas(columns):
        role, _, name = part.partition("=")
        if not (role and name):
            raise FirthError(f"cannot read {part!r}", where="--columns", do="write role=name: text=review or text=2")
        pairs[role] = name
    return pairs


def _with_ensemble(model: Any, others: str | None, weights: str) -> Any:
    """The model, in an ensemble with those of other runs if there are any."""
    if not others:
        return model
    models = [api.load(other, weights=weights) for other in split_commas(others)]
    if not all(hasattr(each, "ensemble_with") for each in (model, *models)):
        do = "give sequence-to-sequence runs, such as those of transformer-mt"
        raise FirthError("these runs cannot form an ensemble", where="--ensemble", do=do)
    return model.ensemble_with(models)


def _parse_settings(settings: Sequence[str]) -> dict[str, str]:
    """Options by name, as text."""
    options = {}
    for setting in settings:
        name, _, value = setting.partition("=")
        if not (name and value):
            do = "write it as name=value, such as no_repeat_ngram_size=3"
            raise FirthError(f"cannot read {setting!r}", where="--set", do=do)
        options[name.replace("-", "_")] = core.as_text(value)
    return options


def _batches(text: str) -> Iterator[list[str]]:
    """The text itself, or with - the lines of standard input: one by one from a terminal, many from a file."""
    lines = read_inputs(text)
    while batch := list(islice(lines, 1 if text != "-" or sys.stdin.isatty() else _LINES_PER_BATCH)):
        yield batch
