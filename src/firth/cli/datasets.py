"""`firth data`: lists sets, prints samples, checks files against a task, adds sets, converts files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from firth.errors import FirthError, unknown

if TYPE_CHECKING:
    from firth.data.checks import Problem, Report
    from firth.data.formats import Format
    from firth.data.records import Record
    from firth.data.sets import DataSet

app = typer.Typer(help="Look at data sets and check files.", add_completion=False, rich_markup_mode=None)
MANY = 12  # labels that a summary lists
Folder = Annotated[Path | None, typer.Option("--data", help="The folder of the public sets; else $FIRTH_DATA.")]
Json = Annotated[bool, typer.Option("--json", help="JSON for machines.")]
FormatName = Annotated[str, typer.Option("--format", help="Of the file; guessed from its name and content otherwise.")]
Settings = Annotated[list[str] | None, typer.Option("--set", help="Options of the format: columns=label,text …")]
Columns = Annotated[list[str] | None, typer.Option("--column", help="text=body: the column body is the text.")]
Source = Annotated[str, typer.Argument(metavar="NAME|FILE", help="A set, or a file (several with commas).")]


@app.callback(invoke_without_command=True)
def listing(context: typer.Context, data: Folder = None, as_json: Json = False) -> None:
    """List the data sets, or do one of the things below."""
    if context.invoked_subcommand is not None:
        return
    from firth.data import sets

    rows = [_about(found) for found in sets.all_sets(data).values()]
    if as_json:
        print(json.dumps(rows, ensure_ascii=False))
        return
    root, own = sets.data_folder(data), sets.own_folder()
    kinds = {"": "built in", str(own): "own"}
    width = {key: max(len(row[key]) for row in rows) for key in ("name", "task", "format")}
    for row in rows:
        where = "missing" if not row["present"] else kinds.get(row["where"], "data")
        first = "  ".join(f"{row[key]:<{size}}" for key, size in width.items())
        print(f"{first}  {where:<8}  {_splits(row['splits'])}")
    print(f"\ndata: {root or 'not given; name the folder of the public sets with --data or FIRTH_DATA'}\nown:  {own}")


def _about(found: DataSet) -> dict[str, Any]:
    splits = {split: part.records for split, part in found.parts.items()}
    about = {"name": found.name, "task": found.task, "format": found.format, "splits": splits}
    return {**about, "about": found.about, "licence": found.licence, "where": found.folder, "present": found.present()}


def _splits(splits: dict[str, int | None]) -> str:
    if len(splits) > 4:
        return f"{len(splits)} parts"
    return ", ".join(f"{split} {count:,}" if count else split for split, count in splits.items())


@app.command("show")
def show(
    source: Source,
    split: Annotated[str, typer.Option(help="Of a set; the first one otherwise.")] = "",
    count: Annotated[int, typer.Option(min=1, help="How many.")] = 3,
    form: FormatName = "",
    settings: Settings = None,
    data: Folder = None,
    as_json: Json = False,
) -> None:
    """Print the first records of a set or a file."""
    from itertools import islice

    from firth.data import showing

    records = _records(source, split, form, settings, data)
    for number, record in enumerate(islice(records, count)):
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
    split: Annotated[str, typer.Option(help="Of a set; the first one otherwise.")] = "",
    train: Annotated[Path | None, typer.Option(help="The train file that belongs to it: labels are compared.")] = None,
    most: Annotated[int, typer.Option(min=1, help="Problems to show.")] = 20,
    data: Folder = None,
    as_json: Json = False,
) -> None:
    """Read a file as data for a task and tell what is wrong with it; exit code 2 if something is."""
    from firth.data import checks, sets

    if _is_file(source):
        if not task:
            raise FirthError("no task", where=source, do="say what it is for: --task classification, tagging, …")
        use, columns, paths = _format(source, form, settings), _pairs(column), _paths(source)
    else:
        found = sets.find(source, data)
        split, task = split or next(iter(found.parts)), task or found.task
        use, columns, paths = found.form(split), {**found.columns, **_pairs(column)}, found.source(split)
    report = checks.check(paths, task, use, columns, most)
    extra = checks.compare(checks.check(train, task, use, columns, most), report) if train else []
    problems = [*report.problems, *extra]
    _print_report(report, problems, as_json)
    if report.faults:
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
    print(f"{report.file}: {report.records:,} records for {report.task}, format {report.format}")
    if report.lengths:
        least, mean, most = report.lengths
        print(f"words    {least:,} to {most:,}, {mean:.1f} on average")
    if report.labels:
        first = list(report.labels.items())[:MANY]
        more = f", and {len(report.labels) - MANY:,} more" if len(report.labels) > MANY else ""
        print(f"labels   {', '.join(f'{label} {count:,}' for label, count in first)}{more}")


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
    as_json: Json = False,
) -> None:
    """Give a name to data of your own."""
    from firth.data import formats, sets

    given = {split: text for split, text in (("train", train), ("valid", valid), ("test", test)) if text}
    if not given:
        raise FirthError("no file", where=name, do="give at least one of --train, --valid and --test")
    for path in (path for text in given.values() for path in _several(text)):
        if not _exists(path):
            from firth.data.packed import missing

            raise missing(str(path))
    form = form or formats.name_of(formats.guess(_several(next(iter(given.values())))[0]))
    parts = {split: sets.Part(tuple(str(path.resolve()) for path in _several(text))) for split, text in given.items()}
    found = sets.DataSet(name, task, form, parts, tuple(settings or ()), _pairs(column), about, licence)
    path = sets.save(found)
    print(json.dumps({"name": name, "file": str(path)}) if as_json else f"{path}: {name}, {task}, {form}")


@app.command("convert")
def convert(
    source: Source,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write; .gz and .xz are packed.")],
    to: Annotated[str, typer.Option(help="Its format.")],
    split: Annotated[str, typer.Option(help="Of a set; the first one otherwise.")] = "",
    count: Annotated[int | None, typer.Option(min=1, help="No more records than this.")] = None,
    form: FormatName = "",
    settings: Settings = None,
    to_settings: Annotated[list[str] | None, typer.Option("--to-set", help="Options of the new format.")] = None,
    column: Columns = None,
    scheme: Annotated[str, typer.Option(help="Of the last column of tags: iob1, iob2, bioes or bilou.")] = "",
    data: Folder = None,
    as_json: Json = False,
) -> None:
    """Write a file or a set in another format, where its records allow that."""
    from itertools import islice

    from firth.data import converting, formats

    records = islice(_records(source, split, form, settings, data), count)
    written = converting.convert(records, out, formats.named(to, to_settings or []), _pairs(column), scheme)
    print(json.dumps({"file": str(out), "records": written}) if as_json else f"{out}: {written:,} records")


# --- arguments --------------------------------------------------------------------------------------------------------


def _records(source: str, split: str, form: str, settings: list[str] | None, data: Path | None) -> Iterator[Record]:
    """The records of a file, or of a split of a set."""
    from firth.data import sets

    if _is_file(source):
        return _format(source, form, settings).read(_paths(source))
    found = sets.find(source, data)
    return found.examples(split or next(iter(found.parts)))


def _is_file(source: str) -> bool:
    """Whether this is a file (or should be one), not the name of a set."""
    from firth.data import packed, sets

    if any(map(_exists, _several(source))):
        return True
    if "/" in source or "," in source:
        raise packed.missing(source)
    if source not in (known := sets.all_sets()):
        beside = [path.name for path in Path().iterdir()] if "." in source else []
        raise unknown("data set or file", source, [*known, *beside])
    return False


def _several(text: str) -> list[Path]:
    return [Path(text)] if _exists(Path(text)) else [Path(part) for part in text.split(",")]


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _paths(source: str) -> Path | tuple[Path, ...]:
    found = _several(source)
    return found[0] if len(found) == 1 else tuple(found)


def _format(source: str, name: str, settings: list[str] | None) -> Format:
    from firth.config import core
    from firth.data import formats

    if name:
        return formats.named(name, settings or [])
    paths = _several(source)
    found = formats.guess(paths[0]) if len(paths) == 1 else formats.FORMATS["parallel"]
    return core.override(found, settings or [])


def _pairs(settings: list[str] | None) -> dict[str, str]:
    found = {}
    for setting in settings or []:
        role, equals, name = setting.partition("=")
        if not equals or not role or not name:
            raise FirthError(f"cannot read --column {setting!r}", do="write it as text=body")
        found[role] = name
    return found
