"""`firth lm rescore`."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from firth.cli import data_arguments
from firth.cli.console import print_json, print_table, require_writable, sanitise, split_commas
from firth.cli.data import ENCODING
from firth.cli.options import DATA, JSON, SEED, choice
from firth.errors import FirthError

if TYPE_CHECKING:
    from firth.datasets.records import NBest
    from firth.pipelines.continuations import ContinuationScorer
    from firth.workflows.rescoring import ErrorRates, Rescoring, Weight

WORLD = "world"  # in place of a run: the exact language model of the world
METRICS = {"wer": "word_error_rate", "ser": "sentence_error_rate", "cer": "character_error_rate"}


def rescore(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A language model's run; world: the world's exact one.")],
    nbest: Annotated[
        str, typer.Argument(metavar="FILE", help="N-best lists: a file, or a data set: world-nbest:test.")
    ],
    dev: Annotated[str, typer.Option(help="Development lists to fit weights on; by default cross-validation.")] = "",
    ensemble: Annotated[str, typer.Option(metavar="RUN,…", help="Further language models, each with its weight.")] = "",
    weight: Annotated[
        str, typer.Option(metavar="auto|N,…", help="Weight of each language model; auto: fitted to the references.")
    ] = "auto",
    length_bonus: Annotated[
        str, typer.Option(metavar="auto|N", help="Added for each word of a hypothesis; auto: fitted.")
    ] = "0",
    metric: Annotated[
        choice(METRICS), typer.Option(help="Error rate that is minimised: of words, sentences or characters.")
    ] = "wer",
    prefix: Annotated[bool, typer.Option("--prefix", help="The text may go on after an utterance.")] = False,
    no_context: Annotated[bool, typer.Option("--no-context", help="Leave out the text before an utterance.")] = False,
    costs: Annotated[bool, typer.Option("--costs", help="The recogniser's scores are costs: lower is better.")] = False,
    folds: Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")] = 5,
    max_lists: Annotated[int, typer.Option(min=0, help="The first so many lists; 0: all.")] = 0,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the lists in their new order here.")] = None,
    add_scores: Annotated[
        bool, typer.Option("--add-scores", help="With --out: write the models' log-probabilities and the sum too.")
    ] = False,
    encoding: ENCODING = "",
    data: DATA = None,
    seed: SEED = 0,
    as_json: JSON = False,
) -> None:
    """Rescore n-best lists of a recogniser with language models; fit the weights, print error rates."""
    from firth.workflows.rescoring import RescoringConfig
    from firth.workflows.rescoring import rescore as rescore_lists

    require_writable(out)
    weights = tuple(_parse_weight(part, "--weight") for part in split_commas(weight))
    config = RescoringConfig(
        weights or ("auto",), _parse_weight(length_bonus, "--length-bonus"), METRICS[metric], whole=not prefix,
        context=not no_context, costs=costs, folds=folds, seed=seed,
    )  # fmt: skip
    is_fitted = "auto" in (*config.weights, config.length_bonus)
    lists = _read(nbest, encoding, data, max_lists, is_fitted and not dev)
    fitted_on = _read(dev, encoding, data, 0, is_fitted) if dev else None
    models = _open_models([run, *split_commas(ensemble)])
    result = rescore_lists(models, lists, dev=fitted_on, config=config, add_scores=add_scores)
    if out:
        _write(result, out)
    elif not result.rates:
        raise FirthError("no list has a reference, so there are no error rates", where=nbest, do="give --out FILE")
    print_json({**result.to_dict(), "file": str(out) if out else None}) if as_json else _print(result, out)


def _parse_weight(text: str, option: str) -> Weight:
    from firth.datasets.readers.values import parse_number

    if text == "auto":
        return "auto"
    number = parse_number(text)
    if number is None:
        raise FirthError(f"{text!r} is neither auto nor a number", where=option, do="write auto, or 0.5")
    return number


def _read(source: str, encoding: str, data: Path | None, count: int, is_fitted: bool) -> list[NBest]:
    """The lists of a file, or of a split of a data set: world-nbest:test; weights are fitted to their references."""
    from firth.datasets import numbered_lines
    from firth.datasets.records import NBest

    name, _, split = source.partition(":") if not Path(source).exists() else (source, "", "")
    given = data_arguments.find(name, split, "" if _is_set(name) else "nbest", None, encoding, data)
    records = list(islice(given.records(), count or None))
    if not all(isinstance(each, NBest) for each in records):
        raise FirthError("not n-best lists", where=source, do="give a file of id<tab>hypothesis<tab>score")
    missing = next((each for each in records if is_fitted and not each.reference), None)
    if missing:
        do = "add a column reference, name lists that have one with --dev, or give --weight 0.5"
        what = f"n-best list {missing.id!r} has no reference to fit weights on"
        raise FirthError(what, where=numbered_lines.at(source, missing.line), do=do)
    return records


def _is_set(name: str) -> bool:
    return not data_arguments.is_file(name)


def _open_models(names: list[str]) -> dict[str, ContinuationScorer]:
    """The language models by the names of their runs."""
    models: dict[str, ContinuationScorer] = {}
    for name in names:
        short = name if name == WORLD else Path(name).name or name
        if short in models:
            raise FirthError(f"two language models with the name {short!r}", where="--ensemble", do="rename a run")
        models[short] = _open(name)
    return models


def _open(name: str) -> ContinuationScorer:
    from firth import api
    from firth.datasets.world import default_world
    from firth.pipelines.continuations import ExactLanguageModel

    if name == WORLD:
        return ExactLanguageModel(default_world())
    model = api.load(name)
    if not hasattr(model, "continuation_scores"):
        do = "give a causal, masked or n-gram language model"
        raise FirthError("this model gives no probability of texts", where=name, do=do)
    return model


def _write(result: Rescoring, out: Path) -> None:
    from firth.datasets import numbered_lines
    from firth.datasets.readers.nbest_lists import NBestLists

    numbered_lines.save_lines(out, NBestLists().rows(result.lists))


def _print(result: Rescoring, out: Path | None) -> None:
    print_table([_row(each) for each in result.rates], full_width=True)
    weights = "  ".join(f"{sanitise(name)} {value:.4g}" for name, value in result.weights.items())
    print(f"weights, {result.fitted}: {weights}")
    if result.fold_weights:
        print(f"of the folds: {_fold_ranges(result)}")
    print(f"{len(result.lists):,} lists, {result.changed:,} with another best hypothesis")
    for note in result.notes:
        print(f"note: {sanitise(note)}")
    if out:
        print(f"lists: {out}")


def _row(each: ErrorRates) -> dict[str, str]:
    low, high = each.test.interval
    return {"error rate": each.before.name.removesuffix("_error_rate"), "before": _percent(each.before.value),
            "after": _percent(each.after.value), "oracle": _percent(each.oracle.value),
            "difference (95% CI)": f"{each.test.difference:+.2%} ({low:+.2%} to {high:+.2%})",
            "p": f"{each.test.p_value:.3f}"}  # fmt: skip


def _percent(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.2%}"


def _fold_ranges(result: Rescoring) -> str:
    """The range of each fitted weight over the folds."""
    columns: dict[str, Any] = {name: [fold[name] for fold in result.fold_weights] for name in result.weights}
    varying = {name: values for name, values in columns.items() if min(values) != max(values)}
    return "  ".join(f"{sanitise(name)} {min(v):.4g} to {max(v):.4g}" for name, v in varying.items()) or "all equal"
