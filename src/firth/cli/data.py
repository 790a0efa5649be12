"""`firth data`: lists, previews, checks, registers and converts data sets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from firth.cli import data_arguments
from firth.cli.console import print_json, print_with_details
from firth.cli.options import DATA, JSON, choice
from firth.datasets.readers import FORMATS
from firth.datasets.readers.tag_schemes import ALIASES, SCHEMES
from firth.datasets.tasks import TASKS
from firth.errors import FirthError, printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from firth.datasets.checks import Problem, Report
    from firth.datasets.leakage import Overlap
    from firth.datasets.sets import Dataset

app = typer.Typer(help="List, check and convert data sets.", add_completion=False, rich_markup_mode=None)
_MAX_LABELS = 12  # that a summary lists
Task, FormatName, Scheme = choice(TASKS), choice(FORMATS), choice([*SCHEMES, *ALIASES])
FORMAT = Annotated[FormatName | None, typer.Option("--format", help="File format; by default detected.")]
FORMAT_SETTINGS = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="An option of the format: columns=label,text")
]
COLUMNS = Annotated[
    list[str] | None, typer.Option("--column", metavar="ROLE=NAME", help="text=body: the column body is the text.")
]
ENCODING = Annotated[str, typer.Option("--encoding", help="Character encoding of the file; UTF-8.")]
SPLIT = Annotated[str, typer.Option(help="Split of a data set; the first by default.")]
SOURCE = Annotated[str, typer.Argument(metavar="NAME|FILE", help="A data set, or a file (several with commas).")]


@app.callback(invoke_without_command=True)
def list_datasets(context: typer.Context, data: DATA = None, as_json: JSON = False) -> None:
    """List the data sets."""
    if context.invoked_subcommand is not None:
        return
    from firth.datasets import sets

    rows = [_describe(dataset) for dataset in sets.all_sets(data).values()]
    rows += [_describe_broken(name, error) for name, error in sets.user_sets()[1].items()]
    if as_json:
        print_json(rows)
        return
    root, own = sets.data_folder(data), sets.user_folder()
    kinds = {"": "built in", str(own): "user"}
    widths = {key: max(len(row[key]) for row in rows) for key in ("name", "task", "format")}
    lines = []
    for row in rows:
        where = "missing" if not row["present"] else kinds.get(row["where"], "data")
        left = "  ".join(f"{row[key]:<{width}}" for key, width in widths.items())
        where, rest = ("broken", row["broken"]) if "broken" in row else (where, _format_splits(row["splits"]))
        lines.append((f"{left}  {where:<8}", rest))
    print_with_details(lines)
    print(
        f"\ndata: {root or 'not set; give the folder of the public data sets with --data or FIRTH_DATA'}\nuser: {own}"
    )


def _describe(dataset: Dataset) -> dict[str, Any]:
    splits = {split: part.records for split, part in dataset.splits.items()}
    about = {"name": dataset.name, "task": dataset.task, "format": dataset.format, "splits": splits}
    return {
        **about,
        "about": dataset.about,
        "licence": dataset.licence,
        "where": dataset.folder,
        "present": dataset.is_present(),
    }


def _describe_broken(name: str, error: FirthError) -> dict[str, Any]:
    about = {"name": name, "task": "", "format": "", "splits": {}, "about": "", "licence": "", "where": ""}
    return {**about, "present": False, "broken": str(error)}


def _format_splits(splits: dict[str, int | None]) -> str:
    if len(splits) > 4:
        return f"{len(splits)} splits"
    return ", ".join(f"{split} {count:,}" if count else split for split, count in splits.items())


@app.command("show")
def show(
    source: SOURCE,
    split: SPLIT = "",
    count: Annotated[int, typer.Option(min=1, help="Number of records.")] = 3,
    format_name: FORMAT = None,
    settings: FORMAT_SETTINGS = None,
    encoding: ENCODING = "",
    data: DATA = None,
    as_json: JSON = False,
) -> None:
    """Print the first records of a data set or file."""
    from itertools import islice

    from firth.datasets import preview

    chosen = data_arguments.find(source, split, format_name, settings, encoding, data)
    for number, record in enumerate(islice(chosen.records(), count)):
        if as_json:
            print_json(preview.record_to_json(record))
        else:
            print(("\n" if number else "") + preview.format_record(record))


@app.command("check")
def check(
    source: SOURCE,
    task: Annotated[Task | None, typer.Option(help="The task; by default that of the data set.")] = None,
    format_name: FORMAT = None,
    settings: FORMAT_SETTINGS = None,
    column: COLUMNS = None,
    split: SPLIT = "",
    encoding: ENCODING = "",
    train: Annotated[Path | None, typer.Option(help="The training file, to compare the labels.")] = None,
    leakage: Annotated[
        bool, typer.Option("--leakage", help="List the texts that are in the training file too, also nearly.")
    ] = False,
    max_problems: Annotated[int, typer.Option(min=1, help="Problems to print at most.")] = 20,
    data: DATA = None,
    as_json: JSON = False,
) -> None:
    """Check a file as data for a task; exit code 2 if there are errors."""
    from firth.datasets import checks, table_columns

    if leakage and train is None:
        raise FirthError("no training file to compare with", where="--leakage", do="give it with --train")
    if leakage and not task and data_arguments.is_file(source):
        _print_leakage(*_text_leakage(source, str(train), encoding, max_problems), source, str(train), as_json)
        return
    chosen = data_arguments.find(source, split, format_name, settings, encoding, data)
    task, columns = task or chosen.task, {**chosen.columns, **data_arguments.parse_columns(column)}
    if not task:
        raise FirthError("no task", where=source, do="give one with --task")
    form, guessed = chosen.form, {}
    if not columns and not chosen.task:
        form, guessed = table_columns.guess_table(form, chosen.paths, task)
        columns = guessed
    if leakage:
        paths = data_arguments.open_paths(str(train), encoding)
        both = (checks.read_examples(each, task, form, columns) for each in (paths, chosen.paths))
        _print_leakage(*checks.check_leakage(*both, str(train), max_problems), source, str(train), as_json)
        return
    report = checks.check(chosen.paths, task, form, columns, max_problems)
    problems, faults = list(report.problems), list(report.faults)
    if train:
        train_report = checks.check(data_arguments.open_paths(str(train), encoding), task, form, columns, max_problems)
        problems += train_report.faults or checks.compare(train_report, report)  # no labels from a file with errors
        faults += train_report.faults
    _print_report(report, problems, as_json, guessed)
    if faults:
        raise typer.Exit(2)


def _text_leakage(source: str, train: str, encoding: str, max_problems: int) -> tuple[Overlap, list[Problem]]:
    """The documents of a plain text that are in the training text too."""
    from firth.config.schema import Text
    from firth.datasets import checks
    from firth.datasets.sources import open_source
    from firth.datasets.token_cache import default_cache

    config = Text(encoding=encoding or Text.encoding)
    texts = (open_source(name.split(","), config, default_cache() / "spool") for name in (train, source))
    both = (checks.read_documents(text, name) for text, name in zip(texts, (train, source), strict=True))
    return checks.check_leakage(*both, train, max_problems)


def _print_leakage(overlap: Overlap, warnings: list[Problem], source: str, train: str, as_json: bool) -> None:
    if as_json:
        counts = {"texts": overlap.texts, "overlapping": overlap.overlapping, "near": overlap.near}
        problems = [vars(problem) for problem in warnings]
        print_json({"file": source, "train": train, **counts, "fraction": overlap.fraction, "problems": problems})
        return
    for problem in warnings:
        print(f"warning: {problem}")
    if overlap.overlapping > len(warnings):
        print("…; --max-problems prints more of them")
    near = f", {overlap.near:,} of them nearly" if overlap.near else ""
    share = f"{overlap.overlapping:,} of {overlap.texts:,} texts ({overlap.fraction:.1%} of the bytes)"
    print(f"{source}: {share} are in {train} too{near}")


def _print_report(report: Report, problems: list[Problem], as_json: bool, guessed: Mapping[str, str]) -> None:
    if as_json:
        values = {"file": report.file, "task": report.task, "format": report.format, "records": report.records}
        values |= {"labels": report.labels, "words": report.lengths, "cut": report.truncated}
        print_json({**values, "problems": [vars(problem) for problem in problems]})
        return
    for problem in problems:
        print(f"{'warning: ' if problem.warning else ''}{problem}")
    if report.truncated:
        print("… and perhaps more; --max-problems prints more of them")
    if report.faults:
        return
    print(f"{report.file}: {_count(report.records)} for {report.task}, format {report.format}")
    if any(role != name.lower() for role, name in guessed.items()):
        print(f"columns  {', '.join(f'{role}={name}' for role, name in guessed.items())}")
    if report.lengths:
        minimum, mean, maximum = report.lengths
        print(f"words    {minimum:,} to {maximum:,}, {mean:.1f} on average")
    if report.labels:
        first = list(report.labels.items())[:_MAX_LABELS]
        more = f", and {len(report.labels) - _MAX_LABELS:,} more" if len(report.labels) > _MAX_LABELS else ""
        print(f"labels   {', '.join(f'{printable(label)} {count:,}' for label, count in first)}{more}")


def _count(records: int) -> str:
    return f"{records:,} record{'s' * (records != 1)}"


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the data set.")],
    task: Annotated[Task, typer.Option(help="Its task.")],
    format_name: FORMAT = None,
    train: Annotated[str, typer.Option(help="Training file (several with commas, one per language).")] = "",
    valid: Annotated[str, typer.Option(help="Validation file.")] = "",
    test: Annotated[str, typer.Option(help="Test file.")] = "",
    settings: FORMAT_SETTINGS = None,
    column: COLUMNS = None,
    about: Annotated[str, typer.Option(help="A one-line description.")] = "",
    licence: Annotated[str, typer.Option(help="Its licence.")] = "",
    replace: Annotated[bool, typer.Option("--replace", help="Replace a data set of this name.")] = False,
    as_json: JSON = False,
) -> None:
    """Register your own files as a named data set."""
    from firth.datasets import readers, sets

    named = {split: text for split, text in (("train", train), ("valid", valid), ("test", test)) if text}
    if not named:
        raise FirthError("no file", where=name, do="give at least one of --train, --valid and --test")
    if not format_name:
        first = data_arguments.open_paths(next(iter(named.values())))
        format_name = readers.format_name(readers.guess(first))
    parts = {
        split: sets.SplitFiles(tuple(str(path.resolve()) for path in data_arguments.split_paths(text)))
        for split, text in named.items()
    }
    dataset = sets.Dataset(
        name, task, format_name, parts, tuple(settings or ()), data_arguments.parse_columns(column), about, licence
    )
    path = sets.save(dataset, replace)
    if as_json:
        print_json({"name": name, "file": str(path)})
    else:
        print(f"{path}: {name}, {task}, {format_name}")


@app.command("convert")
def convert(
    source: SOURCE,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write; .gz and .xz are compressed.")],
    to: Annotated[FormatName, typer.Option(help="Its format.")],
    split: SPLIT = "",
    count: Annotated[int | None, typer.Option(min=1, help="Number of records at most.")] = None,
    format_name: FORMAT = None,
    settings: FORMAT_SETTINGS = None,
    to_settings: Annotated[
        list[str] | None, typer.Option("--to-set", metavar="KEY=VALUE", help="An option of the new format.")
    ] = None,
    column: COLUMNS = None,
    encoding: ENCODING = "",
    scheme: Annotated[Scheme | None, typer.Option(help="Tagging scheme of the last column.")] = None,
    data: DATA = None,
    as_json: JSON = False,
) -> None:
    """Convert a file or data set to another format."""
    from itertools import islice

    from firth.datasets import conversion, readers

    chosen = data_arguments.find(source, split, format_name, settings, encoding, data)
    records, new = islice(chosen.records(), count), readers.get_format(to, to_settings or [])
    columns = data_arguments.parse_columns(column)
    same_format = "" if encoding else chosen.single_file(to)
    written = conversion.convert(records, out, new, columns, scheme or "", chosen.task, same_format)
    print_json({"file": str(out), "records": written}) if as_json else print(f"{out}: {_count(written)}")
