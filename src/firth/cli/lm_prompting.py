"""`firth lm few-shot` and `firth lm prompts`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from firth.cli import data_arguments
from firth.cli.console import print_json, print_table, require_writable, sanitise
from firth.cli.data import COLUMNS, ENCODING, FORMAT, FORMAT_SETTINGS
from firth.cli.options import DATA, JSON, RUN, SEED
from firth.errors import FirthError

if TYPE_CHECKING:
    from firth.datasets.records import Record
    from firth.report.figure import Figure
    from firth.workflows.few_shot import FewShotConfig, FewShotResult, Outcome
    from firth.workflows.prompt_comparison import Comparison, Word

_MAX_LABELS = 12  # of a printed confusion matrix
_NO_LABEL = "(other)"  # the generated text is not a label


def few_shot(
    run: RUN,
    template: Annotated[
        str, typer.Option(help=r'A file, or the text: "Review: {text}\nSentiment: {label}", with columns in braces.')
    ],
    examples: Annotated[str, typer.Option(help="Test examples: a table (TSV, CSV, JSONL, …) or a data set, sst2:dev.")],
    demonstrations: Annotated[str, typer.Option(help="Source of the demonstrations; by default the examples.")] = "",
    shots: Annotated[str, typer.Option(metavar="N,…", help="Demonstrations per prompt.")] = "0,1,4",
    scoring: Annotated[
        str,
        typer.Option(
            metavar="A,B,…",
            help="How a label is chosen, by likelihood: total, token, byte, calibrated; or by generation.",
        ),
    ] = "",
    verbalizer: Annotated[
        list[str] | None, typer.Option(metavar="LABEL=WORDS", help="1=positive: the words for a label; repeatable.")
    ] = None,
    column: COLUMNS = None,
    separator: Annotated[str, typer.Option(help="Text between demonstrations.")] = r"\n\n",
    max_examples: Annotated[int, typer.Option(min=0, help="A random sample of the examples; 0: all.")] = 0,
    format_name: FORMAT = None,
    settings: FORMAT_SETTINGS = None,
    encoding: ENCODING = "",
    data: DATA = None,
    show_prompts: Annotated[bool, typer.Option("--show-prompts", help="Print the first prompt of each kind.")] = False,
    seed: SEED = 0,
    as_json: JSON = False,
) -> None:
    """Zero-, one- and few-shot evaluation (in-context learning) on a labelled task."""
    from firth import api
    from firth.datasets.prompt_templates import examples as make_examples
    from firth.datasets.prompt_templates import parse_template
    from firth.workflows.few_shot import evaluate, scoring_methods

    parsed = parse_template(_read_template(template))
    config = _config(shots, scoring, separator, max_examples, seed)
    words = _parse_verbalizer(verbalizer or [])
    names = [name for name in (examples, demonstrations) if name]
    records = {name: _open_records(name, format_name, settings, encoding, data) for name in names}
    model = api.load(run)
    scoring_methods(model, config)  # refuses other models before the tables are read
    columns = data_arguments.parse_columns(column)
    made = {name: make_examples(rows, parsed, columns, name) for name, rows in records.items()}
    result = evaluate(
        model, parsed, made[examples], demonstrations=made.get(demonstrations), verbalizer=words, config=config
    )
    print_json(_to_json(result)) if as_json else _print(result, show_prompts)


def _read_template(text: str) -> str:
    r"""The content of the file of this name, else the text itself, in which \n and \t are escapes."""
    path = Path(text)
    if "{" not in text and (path.is_file() or "/" in text):
        from firth.datasets import numbered_lines

        return numbered_lines.read_whole(path).removesuffix("\n")
    return _unescape(text)


def _unescape(text: str) -> str:
    return text.replace("\\n", "\n").replace("\\t", "\t")


def _config(shots: str, scoring: str, separator: str, max_examples: int, seed: int) -> FewShotConfig:
    from dataclasses import replace

    from firth.config import core
    from firth.workflows.few_shot import FewShotConfig

    settings = [f"shots={shots}", f"max_examples={max_examples}", f"seed={seed}"]
    settings += [f"scoring={scoring}"] if scoring else []
    return replace(core.override(FewShotConfig(), settings), separator=_unescape(separator))


def _open_records(
    name: str, format_name: str | None, settings: list[str] | None, encoding: str, data: Path | None
) -> Iterator[Record]:
    """The records of a file, or of a split of a data set: world-classification:test."""
    dataset, _, split = ("", "", "") if Path(name).exists() else name.partition(":")
    return data_arguments.find(dataset or name, split, format_name, settings, encoding, data).records()


def _parse_verbalizer(settings: list[str]) -> dict[str, str]:
    verbalizer = {}
    for setting in settings:
        label, _, words = setting.partition("=")
        if not label or not words:
            raise FirthError(f"cannot read --verbalizer {setting!r}", do="write it as 1=positive")
        verbalizer[label] = words
    return verbalizer


def _to_json(result: FewShotResult) -> dict[str, Any]:
    outcomes = [
        {
            "shots": each.shots,
            "scoring": each.scoring,
            **each.accuracy.to_dict(),
            "interval": each.interval._asdict(),
            "predictions": each.predictions,
            "confusion_matrix": {
                gold: {_NO_LABEL if label is None else label: count for label, count in row.items() if count}
                for gold, row in result.confusion_matrix(each).items()
            },
        }
        for each in result.outcomes
    ]
    label, accuracy = result.majority
    return {
        "examples": len(result.gold),
        "gold": result.gold,
        "verbalizer": result.verbalizer,
        "majority": {"label": label, "accuracy": accuracy},
        "outcomes": outcomes,
        "prompts": {str(shots): text for shots, text in result.prompts.items()},
        "notes": result.notes,
    }


def _print(result: FewShotResult, show_prompts: bool) -> None:
    for shots, text in result.prompts.items() if show_prompts else ():
        print(f"--- first {shots}-shot prompt")
        print("\n".join(map(sanitise, text.split("\n"))))
    if show_prompts:
        print("---")
    print_table([_outcome_row(each) for each in result.outcomes], full_width=True)
    label, accuracy = result.majority
    print(f"{len(result.gold):,} examples; majority baseline {sanitise(label)!r}: {accuracy:.1%}")
    print(f"[{_common_signature(result)}]")
    for note in result.notes:
        print(f"note: {sanitise(note)}")
    last = result.outcomes[-1]
    if len(result.labels) <= _MAX_LABELS:
        print(f"\nconfusion matrix, {last.shots}-shot, {last.scoring}:")
        print_table(_confusion_rows(result), full_width=True)


def _outcome_row(each: Outcome) -> dict[str, str]:
    low, high = each.interval
    return {"shots": str(each.shots), "scoring": each.scoring, "accuracy": f"{each.accuracy.value:.1%}",
            "95% CI": f"{low:.1%} to {high:.1%}"}  # fmt: skip


def _common_signature(result: FewShotResult) -> str:
    """The fields of the signature that all outcomes share."""
    fields = result.outcomes[0].accuracy.signature.split("|")
    return "|".join(field for field in fields if not field.startswith(("shots:", "scoring:")))


def _confusion_rows(result: FewShotResult) -> list[dict[str, str]]:
    """A row for each gold label, a column for each predicted one."""
    rows = result.confusion_matrix(result.outcomes[-1]).items()
    name = {label: _NO_LABEL if label is None else sanitise(label) for _, row in rows for label in row}
    return [
        {"gold": sanitise(gold), **{name[label]: f"{count:,}" for label, count in row.items()}} for gold, row in rows
    ]


# --- prompts ----------------------------------------------------------------------------------------------------------

_NOTE = "Probabilities of the {count:,} words that are among the {top_k:,} most probable with one of the prompts."
_SIDES = {"a": "A", "b": "B", "both": "both"}


def prompts(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run of a masked or causal language model.")],
    a: Annotated[str, typer.Argument(metavar="A", help="A text with one [MASK]; for a causal model, the text before.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The text to compare it with.")],
    count: Annotated[int, typer.Option(min=1, help="Words of each prompt, and of both, to print.")] = 10,
    top_k: Annotated[int, typer.Option(min=1, help="Compare the k most probable words of each.")] = 50,
    plot: Annotated[Path | None, typer.Option(help="Plot them too: .svg, .html or .png.")] = None,
    as_json: JSON = False,
) -> None:
    """Compare the next-word or [MASK] distributions of two prompts."""
    from firth import api
    from firth.report.figure import figure_format
    from firth.workflows.prompt_comparison import compare_prompts

    if plot:
        require_writable(plot)
        figure_format(plot)
    comparison = compare_prompts(api.load(run), a, b, top_k=top_k)
    notes = _figure(comparison, top_k).save(plot) if plot else []
    if as_json:
        print_json(_comparison_json(comparison, plot, notes))
        return
    _print_comparison(comparison, count)
    if plot:
        print(f"{plot}: {len(comparison.words):,} words")
    for note in notes:
        print(f"note: {note}")


def _figure(comparison: Comparison, top_k: int) -> Figure:
    from firth.report.prompt_plot import Point, scatter_plot

    order = sorted(comparison.words, key=lambda word: -abs(word.difference))
    points = [Point(word.text, math.exp(word.log_a), math.exp(word.log_b), word.side) for word in order]
    return scatter_plot(comparison.a, comparison.b, points, _NOTE.format(count=len(points), top_k=top_k))


def _comparison_json(comparison: Comparison, plot: Path | None, notes: list[str]) -> dict[str, Any]:
    words = [
        {"word": word.text, "log_a": word.log_a, "log_b": word.log_b, "difference": word.difference, "side": word.side}
        for side in _SIDES
        for word in comparison.side(side)
    ]
    about = {"a": comparison.a, "b": comparison.b, "divergence": comparison.divergence, "words": words}
    return {**about, "file": str(plot), "notes": notes} if plot else about


def _print_comparison(comparison: Comparison, count: int) -> None:
    print(f"A  {sanitise(comparison.a)}\nB  {sanitise(comparison.b)}")
    rows = [_word_row(side, word) for side in _SIDES for word in comparison.side(side, count)]
    print_table(rows, full_width=True)
    print(f"Jensen-Shannon divergence {comparison.divergence:.3f} bits (0: same distribution, 1: disjoint)")


def _word_row(side: str, word: Word) -> dict[str, str]:
    return {"more with": _SIDES[side], "word": sanitise(word.text), "log p A": f"{word.log_a:.2f}",
            "log p B": f"{word.log_b:.2f}", "difference": f"{word.difference:+.2f}"}  # fmt: skip
