"""`firth ladder`."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from firth.cli.config_options import ConfigOptions
from firth.cli.console import print_json
from firth.cli.stopping import Stopped, resume_line, same_command
from firth.errors import FirthError
from firth.ladder.settings import Settings
from firth.ladder.task_settings import ALL_SECTIONS, TaskSettings

if TYPE_CHECKING:
    from firth.runs.ladder_folder import Ladder, Row
    from firth.runs.task_ladder import TaskLadder, TaskRow

_FILE_WIDTH = 130  # columns of a table that does not go to a terminal
# the least important first
_OPTIONAL = ("tokens", "tokens/s", "ms/item", "parameters", "p best", "p below", "seconds", "perplexity")
_SAMPLE = "sample"
_MIN_SAMPLE = 12  # columns; a narrower sample is left out


@ConfigOptions(ALL_SECTIONS, (Settings, TaskSettings)).add_to
def ladder(
    values: dict[str, str],
    file: Annotated[str | None, typer.Argument(help="The text, or the labelled examples; as --text.")] = None,
    out: Annotated[Path | None, typer.Option(help="The folder; runs/ladder. A stopped ladder is resumed.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print the final table only.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table and the advice as JSON.")] = False,
) -> None:
    """Train language models from n-gram to Transformer on one text and recommend one."""
    import firth
    from firth.runs.checkpoints import Interrupted
    from firth.runs.ladder_folder import LadderFolder

    if file is not None and "text" in values:
        raise FirthError("the text is named twice", where="--text", do=f"leave out --text or {file}")
    values = values if file is None else {**values, "text": file}
    arguments = {name.replace("-", "_"): value for name, value in values.items()}
    try:
        result = firth.run_ladder(out=out, progress="quiet" if quiet or as_json else "auto", **arguments)
    except Interrupted as stop:
        raise Stopped(resume_line(_resume(out)), 128 + stop.signal_number) from None
    except KeyboardInterrupt:
        if out and LadderFolder(out).exists:
            raise Stopped(resume_line(_resume(out))) from None
        raise
    if as_json:
        print_json(result.to_dict())
        return
    _PRINTERS[type(result).__name__](result)


def _resume(out: Path | None) -> list[str]:
    """The command that goes on: without a folder, the same settings find the same ladder."""
    return ["firth", "ladder", "--out", str(out)] if out else same_command()


def _print(result: Ladder) -> None:
    _print_rows([_cells(row, result) for row in result.rows])
    if "test" in result.floors:
        print(f"entropy of the true distribution: {result.floors['test']:.3f} {result.metric}")
    _print_sentences(result)
    best = next(row for row in result.rows if row.rung == result.advice.rung)
    print(f"\na text that {best.rung} generates:\n{textwrap.indent(best.sample.strip(), '    ')}\n")
    lines = {f"train {result.advice.next_rung} alone": result.advice.command}
    if result.about["text"] == ["python-docs"]:
        lines["your own text"] = "firth ladder --text FILE --budget 20m"
    _print_lines({**lines, "model": str(result.recommended), "report": str(result.report)})


def _print_task(result: TaskLadder) -> None:
    _print_rows([_task_cells(row, result) for row in result.rows])
    _print_sentences(result)
    lines = {f"train {result.advice.rung} alone": result.advice.command, "model": str(result.recommended)}
    print()
    _print_lines({**lines, "report": str(result.report)})


# What prints a ladder, by its type, which is imported late.
_PRINTERS: dict[str, Callable[[Any], None]] = {"Ladder": _print, "TaskLadder": _print_task}


def _print_rows(rows: Sequence[Mapping[str, str]]) -> None:
    for line in _aligned(rows, shutil.get_terminal_size().columns if sys.stdout.isatty() else _FILE_WIDTH):
        print(line)


def _print_sentences(result: Ladder | TaskLadder) -> None:
    print()
    for sentence in (*result.advice.sentences, *(f"note: {note}" for note in result.notes)):
        print(textwrap.fill(sentence, shutil.get_terminal_size().columns) if sys.stdout.isatty() else sentence)


def _print_lines(lines: Mapping[str, str]) -> None:
    width = max(map(len, lines))
    for name, line in lines.items():
        print(f"{name + ':':<{width + 1}}  {line}")


def _task_cells(row: TaskRow, result: TaskLadder) -> dict[str, str]:
    from firth.report.axes import format_number

    metric = result.measure
    half = metric.format((row.score.high - row.score.low) / 2, unit=False)
    return {
        "rung": f"{'*' if row.rung == result.advice.rung else ' '} {row.rung}",
        "parameters": format_number(row.parameters),
        "seconds": f"{row.seconds:.1f}",
        "ms/item": f"{row.milliseconds:.2g}",
        "p best": "" if row.p_best is None else f"{row.p_best:.3f}",
        "p below": "" if row.p_below is None else f"{row.p_below:.3f}",
        result.metric: f"{metric.format(row.score.value)} ± {half}",
    }


def _cells(row: Row, result: Ladder) -> dict[str, str]:
    from firth.report.axes import format_number

    return {
        "rung": f"{'*' if row.rung == result.advice.rung else ' '} {row.rung}",
        "parameters": format_number(row.parameters),
        "seconds": f"{row.seconds:.1f}",
        "tokens/s": format_number(row.tokens_per_second),
        "tokens": format_number(row.tokens),
        "perplexity": f"{row.perplexity:,.1f}",
        result.metric: f"{row.bits.value:.3f} ± {(row.bits.high - row.bits.low) / 2:.3f}",
        "sample": " ".join(row.sample.split()),
    }


def _aligned(rows: Sequence[Mapping[str, str]], width: int) -> Iterator[str]:
    """Numbers right-aligned; a sample takes the rest of the line, or is left out if that is too narrow, as are then
    the least important of the numbers."""
    names = [name for name in rows[0] if name != _SAMPLE]
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in names}
    for name in [each for each in _OPTIONAL if each in names]:
        if sum(widths[name] + 2 for name in names) - 2 > width:
            names.remove(name)
    rest = width - sum(widths[name] + 2 for name in names)
    for row in [{name: name for name in rows[0]}, *rows]:
        first, *numbers = names
        cells = [row[first].ljust(widths[first]), *(row[name].rjust(widths[name]) for name in numbers)]
        if _SAMPLE in row and rest >= _MIN_SAMPLE:
            text = row[_SAMPLE]
            cells.append(text if len(text) <= rest else f"{text[: rest - 1]}…")
        yield "  ".join(cells).rstrip()
