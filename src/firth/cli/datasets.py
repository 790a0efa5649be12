"""`firth data`: lists sets, prints samples, checks files against a task, adds sets, converts files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from firth.cli import given
from firth.errors import FirthError

if TYPE_CHECKING:
    from firth.data.checks import Problem, Report
    from firth.data.sets import DataSet

app = typer.Typer(help="Look at data sets and check files.", add_completion=False, rich_markup_mode=None)
MANY = 12  # labels that a summary lists
Folder = Annotated[Path | None, typer.Option("--data", help="The folder of the public sets; else $FIRTH_DATA.")]
Json = Annotated[bool, typer.Option("--json", help="JSON for machines.")]
FormatName = Annotated[str, typer.Option("--format", help="Of the file; guessed from its name and content otherwise.")]
Settings = Annotated[list[str] | None, typer.Option("--set", help="Options of the format: columns=label,text …")]
Columns = Annotated[list[str] | None, typer.Option("--column", help="text=body: the column body is the text.")]
Encoding = Annotated[str, typer.Option("--encoding", help="Of the file's text; UTF-8 otherwise.")]
Split = Annotated[str, typer.Option(help="Of a set; the first one otherwise.")]
Source = Annotated[str, typer.Argument(metavar="NAME|FILE", help="A set, or a file (several with commas).")]


@app.callback(invoke_without_command=True)
def listing(context: typer.Context, data: Folder = None, as_json: Json = False) -> None:
    """List the data sets, or do one of the things below."""
    if context.invoked_subcommand is not None:
        return
    from firth.data import sets

    rows = [_about(found) for found in sets.all_sets(data).values()]
    rows += [_broken(name, error) for name, error in sets.own_sets()[1].items()]
    if as_json:
        print(json.dumps(rows, ensure_ascii=False))
        return
    root, own = sets.data_folder(data), sets.own_folder()
    kinds = {"": "built in", str(own): "own"}
    width = {key: max(len(row[key]) for row in rows) for key in ("name", "task", "format")}
    for row in rows:
        where = "missing" if not row["present"] else kinds.get(row["where"], "data")
        first = "  ".join(f"{row[key]:<{size}}" for key, size in width.items())
        last = f"{where:<8}  {_splits(row['splits'])}" if "broken" not in row else f"broken    {row['broken']}"
        print(f"{first}  {last}")
    print(f"\ndata: {root or 'not given; name the folder of the public sets with --data or FIRTH_DATA'}\nown:  {own}")


def _about(found: DataSet) -> dict[str, Any]:
    splits = {split: part.records for split, part in found.parts.items()}
    about = {"name": found.name, "task": found.task, "format": found.format, "splits": splits}
    return {**about, "about": found.about, "licence": found.licence, "where": found.folder, "present": found.present()}


def _broken(name: str, error: FirthError) -> dict[str, Any]:
    about = {"name": name, "task": "", "format": "", "splits": {}, "about": "", "licence": "", "where": ""}
    return {**about, "present": False, "broken": str(error)}


def _splits(splits: dict[str, int | None]) -> str:
    if len(splits) > 4:
        return f"{len(splits)} parts"
    return ", ".join(f"{split} {count:,}" if count else split for split, count in splits.items())


@app.command("show")
def show(
    source: Source,
    split: Split = "",
    count: Annotated[int, typer.Option(min=1, help="How many.")] = 3,
    form: FormatName = "",
    settings: Settings = None,
    encoding: Encoding = "",
    data: Folder = None,
    as_json: Json = False,
) -> None:
    """Print the first records of a set or a file."""
    from itertools import islice

    from firth.data import showing

    chosen = given.find(source, split, form, settings, encoding, data)
    for number, record in enumerate(islice(chosen.records(), count)):
        if as_json:
            print(json.dumps(showing.values(record), ensure_ascii=False))
        else:
            print(("\n" if number else "") + showing.shown(record))


@app.command("check")
def check(
    source: Source,
    task: Annotated[str, typer.Option(help="What the file is for: classification, tagging, parsing …")] = "",
    form: FormatName = "",
    settings: Settings = None,
    column: Columns = None,
    split: Split = "",
    encoding: Encoding = "",
    train: Annotated[Path | None, typer.Option(help="The train file that belongs to it: labels are compared.")] = None,
    most: Annotated[int, typer.Option(min=1, help="Problems to show.")] = 20,
    data: Folder = None,
    as_json: Json = False,
) -> None:
    """Read a file as data for a task and tell what is wrong with it; exit code 2 if something is."""
    from firth.data import checks

    chosen = given.find(source, split, form, settings, encoding, data)
    task, columns = task or chosen.task, {**chosen.columns, **given.columns_of(column)}
    if not task:
        raise FirthError("no task", where=source, do="say what it is for: --task classification, tagging, …")
    report = checks.check(chosen.paths, task, chosen.form, columns, most)
    problems, faults = list(report.problems), list(report.faults)
    if train:
        learned = checks.check(given.paths_of(str(train), encoding), task, chosen.form, columns, most)
        problems += learned.faults or checks.compare(learned, report)  # half of a file says little about labels
        faults += learned.faults
    _print_report(report, problems, as_json)
    if faults:
        raise typer.Exit(2)


def _print_report(report: Report, problems: list[Problem], as_json: bool) -> None:
    if as_json:
        values = {"file": report.file, "task": report.task, "format": report.format, "records": report.records}
        values |= {"labels": report.labels, "words": report.lengths, "cut": report.cut}
        print(json.dumps({**values, "problems": [vars(problem) for problem in problems]}, ensure_ascii=False))
        return
    for problem in problems:
        print(f"{'warning: ' if problem.warning else ''}{problem}")
    if report.cut:
        print("… and perhaps more; --most shows more of them")
    if report.faults:
        return
    print(f"{report.file}: {_count(report.records)} for {report.task}, format {report.format}")
    if report.lengths:
        least, mean, most = report.lengths
        print(f"words    {least:,} to {most:,}, {mean:.1f} on average")
    if report.labels:
        first = list(report.labels.items())[:MANY]
        more = f", and {len(report.labels) - MANY:,} more" if len(report.labels) > MANY else ""
        print(f"labels   {', '.join(f'{label} {count:,}' for label, count in first)}{more}")


def _count(records: int) -> str:
    return f"{records:,} record{'s' * (records != 1)}"


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the set is to be called.")],
    task: Annotated[str, typer.Option(help="What it is for.")],
    form: FormatName = "",
    train: Annotated[str, typer.Option(help="The train file (several with commas: one a language).")] = "",
    valid: Annotated[str, typer.Option(help="The validation file.")] = "",
    test: Annotated[str, typer.Option(help="The test file.")] = "",
    settings: Settings = None,
    column: Columns = None,
    about: Annotated[str, typer.Option(help="A line about it.")] = "",
    licence: Annotated[str, typer.Option(help="Its licence.")] = "",
    replace: Annotated[bool, typer.Option("--replace", help="In place of a set of this name.")] = False,
    as_json: Json = False,
) -> None:
    """Give a name to data of your own."""
    from firth.data import formats, sets

    named = {split: text for split, text in (("train", train), ("valid", valid), ("test", test)) if text}
    if not named:
        raise FirthError("no file", where=name, do="give at least one of --train, --valid and --test")
    form = form or formats.name_of(formats.guess(given.paths_of(next(iter(named.values())))))
    parts = {
        split: sets.Part(tuple(str(path.resolve()) for path in given.several(text))) for split, text in named.items()
    }
    found = sets.DataSet(name, task, form, parts, tuple(settings or ()), given.columns_of(column), about, licence)
    path = sets.save(found, replace)
    print(json.dumps({"name": name, "file": str(path)}) if as_json else f"{path}: {name}, {task}, {form}")


@app.command("convert")
def convert(
    source: Source,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write; .gz and .xz are packed.")],
    to: Annotated[str, typer.Option(help="Its format.")],
    split: Split = "",
    count: Annotated[int | None, typer.Option(min=1, help="No more records than this.")] = None,
    form: FormatName = "",
    settings: Settings = None,
    to_settings: Annotated[list[str] | None, typer.Option("--to-set", help="Options of the new format.")] = None,
    column: Columns = None,
    encoding: Encoding = "",
    scheme: Annotated[str, typer.Option(help="Of the last column of tags: iob1, iob2, bioes or bilou.")] = "",
    data: Folder = None,
    as_json: Json = False,
) -> None:
    """Write a file or a set in another format, where its records allow that."""
    from itertools import islice

    from firth.data import converting, formats

    chosen = given.find(source, split, form, settings, encoding, data)
    records, new = islice(chosen.records(), count), formats.named(to, to_settings or [])
    written = converting.convert(records, out, new, given.columns_of(column), scheme, chosen.task)
    print(json.dumps({"file": str(out), "records": written}) if as_json else f"{out}: {_count(written)}")
