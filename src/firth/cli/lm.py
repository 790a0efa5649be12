"""`firth lm rank | correct | authorship | surprisal`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from firth.cli.console import (
    print_json,
    print_table,
    read_inputs,
    read_words,
    require_writable,
    sanitise,
    split_commas,
)
from firth.cli.options import JSON, LANGUAGE_MODEL, SEED, SETTINGS, DocumentUnit
from firth.errors import FirthError

if TYPE_CHECKING:
    from firth.pipelines.language_model import LanguageModel
    from firth.workflows.authorship import Attribution, Candidate
    from firth.workflows.rank import Ranked

# --- rank -------------------------------------------------------------------------------------------------------------


def rank(
    run: LANGUAGE_MODEL,
    texts: Annotated[list[str], typer.Argument(metavar="TEXT", help="The alternatives, or - for one per line.")],
    context: Annotated[str, typer.Option(help="Text before each alternative.")] = "",
    prefix: Annotated[bool, typer.Option("--prefix", help="The alternatives need not end where they stop.")] = False,
    as_json: JSON = False,
) -> None:
    """Rank alternative texts by their probability."""
    from firth.workflows.open_language_model import load_language_model
    from firth.workflows.rank import rank

    ranking = rank(load_language_model(run), list(read_words(texts, "text")), whole=not prefix, context=context)
    if as_json:
        print_json([asdict(row) for row in ranking])
        return
    print_table([_ranking_row(row) for row in ranking], full_width=True)
    for row in ranking:
        if row.oov:
            print(f"note: out of vocabulary in {sanitise(row.text)!r}: {sanitise(', '.join(row.oov))}")


def _ranking_row(row: Ranked) -> dict[str, str]:
    per_token = "n/a" if row.per_token is None else f"{row.per_token:.3f}"
    return {"probability": f"{row.relative_probability:.2%}", "nats": f"{row.log_probability:.2f}",
            "bits": f"{row.bits:.2f}", "tokens": str(row.tokens), "nats/token": per_token,
            "text": sanitise(row.text)}  # fmt: skip


# --- correct ----------------------------------------------------------------------------------------------------------


def correct(
    run: LANGUAGE_MODEL,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text, or - to read lines.")],
    max_distance: Annotated[int, typer.Option(min=1, max=2, help="Maximum edit distance of a correction.")] = 1,
    error_rate: Annotated[
        float | None, typer.Option(help="Prior probability of an error; 0.001, with --confusion-set 0.05.")
    ] = None,
    min_count: Annotated[int, typer.Option(min=1, help="Rarer words of the training text are unknown.")] = 2,
    confusion_set: Annotated[
        list[str] | None,
        typer.Option(help="Correct only among these: there,their,they're, or a file with a set per line; repeatable."),
    ] = None,
    as_json: JSON = False,
) -> None:
    """Correct spelling, or confused words, with a language model (noisy channel)."""
    from firth.workflows import correction
    from firth.workflows.open_language_model import load_language_model
    from firth.workflows.word_counts import training_lexicon

    sets = list(_read_confusion_sets(confusion_set or []))
    model = load_language_model(run)
    lexicon = None if sets else training_lexicon(model, min_count)
    for line in read_inputs(text):
        corrected = correction.correct(
            model, line, max_distance=max_distance, error_rate=error_rate, confusion_sets=sets, lexicon=lexicon
        )
        if as_json:
            print_json({"input": line, **asdict(corrected)})
            continue
        print(corrected.text)
        for each in corrected.corrections:
            print(f"  {each.start}: {sanitise(each.typed)} → {sanitise(each.intended)}  {each.probability:.1%}")


def _read_confusion_sets(texts: Iterable[str]) -> Iterable[list[str]]:
    """Sets of words between commas, or of a file's lines."""
    for text in texts:
        path = Path(text)
        lines = _read_lines(path) if path.is_file() else [text]
        for number, line in enumerate(lines, 1):
            words = split_commas(line)
            if len(words) == 1:
                where = f"{path}:{number}" if path.is_file() else "--confusion-set"
                raise FirthError(f"{line.strip()!r} is a single word", where=where, do="write there,their,they're")
            if words:
                yield words


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise FirthError(f"cannot read ({error})", where=path) from None


# --- authorship -------------------------------------------------------------------------------------------------------


def authorship(
    text: Annotated[list[str], typer.Option(help="The text in question: a file or folder; repeatable.")],
    author: Annotated[
        list[str] | None, typer.Option(metavar="NAME=TEXT", help="austen=emma.txt: text of an author; repeatable.")
    ] = None,
    run: Annotated[
        list[str] | None, typer.Option(metavar="NAME=RUN", help="austen=runs/a: a trained model of an author.")
    ] = None,
    preset: Annotated[str, typer.Option(help="Preset to train; a character n-gram model by default.")] = "",
    settings: SETTINGS = None,
    no_normalise: Annotated[
        bool, typer.Option("--no-normalise", help="Keep line breaks, quotation marks and dashes as they are.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for the authors' runs.")] = Path("runs/authors"),
    seed: SEED = 0,
    quiet: Annotated[bool, typer.Option("--quiet", help="No output while training.")] = False,
    as_json: JSON = False,
) -> None:
    """Authorship attribution: one language model per author, compared by bits per byte."""
    from firth.workflows import authorship

    texts = _parse_named(author or [], "--author austen=emma.txt")
    runs = _parse_named(run or [], "--run austen=runs/a")
    if both := set(texts) & set(runs):
        raise FirthError(f"{min(both)} has both a text and a model", do="give --author or --run, not both")
    if len(texts) + len(runs) < 2:
        raise FirthError("fewer than two authors", do="give at least two with --author or --run")
    for name, paths in runs.items():
        if len(paths) > 1:
            raise FirthError(f"{name} has two models", do="give one --run for each author")
    models = authorship.load_models({name: paths[0] for name, paths in runs.items()})
    if texts:
        style = "quiet" if quiet or as_json else "auto"
        models |= authorship.train(
            texts, preset=preset, settings=settings or [], normalise=not no_normalise, out=out, style=style
        )
    attributions = [authorship.attribute(models, each, normalise=not no_normalise, seed=seed) for each in text]
    if as_json:
        print_json([{**asdict(attribution), "author": attribution.author} for attribution in attributions])
        return
    for attribution in attributions:
        _print_attribution(attribution)


def _parse_named(options: Sequence[str], example: str) -> dict[str, list[str]]:
    """The paths of each author; an author named twice has both."""
    named: dict[str, list[str]] = {}
    for option in options:
        name, _, paths = option.partition("=")
        if not name.strip() or not paths.strip():
            raise FirthError(f"cannot read {option!r}", do=f"write it as {example}")
        named.setdefault(name.strip(), []).extend(split_commas(paths))
    return named


def _print_attribution(attribution: Attribution) -> None:
    best = attribution.candidates[0]
    print(f"{sanitise(attribution.text)}: {sanitise(best.author)}, best in {best.win_rate:.1%} of bootstrap resamples")
    print_table([_candidate_row(each) for each in attribution.candidates], full_width=True)
    for note in attribution.notes:
        print(f"note: {sanitise(note)}")


def _candidate_row(each: Candidate) -> dict[str, str]:
    margin, low, high = each.margin
    difference = "" if not margin and not high else f"+{margin:.4f} ({low:+.4f} to {high:+.4f})"
    return {"author": sanitise(each.author), "bits/byte": f"{each.bits_per_byte:.4f}",
            "above the best (95% CI)": difference, "wins": f"{each.win_rate:.1%}"}  # fmt: skip


# --- surprisal --------------------------------------------------------------------------------------------------------


def surprisal(
    run: LANGUAGE_MODEL,
    text: Annotated[str, typer.Option(help="Human text: a file or folder; the run's own test text by default.")] = "",
    out: Annotated[Path, typer.Option(help="The page or plot to write: .html or .svg.")] = Path("surprisal.html"),
    passages: Annotated[int, typer.Option(min=1, help="Number of documents that are continued.")] = 8,
    prompt_length: Annotated[int, typer.Option(min=1, help="Tokens of the prompt, from each document.")] = 20,
    max_length: Annotated[int, typer.Option(min=10, help="Tokens after the prompt.")] = 80,
    beam: Annotated[int, typer.Option(min=1, help="Beam size.")] = 5,
    top_p: Annotated[float, typer.Option(help="Top-p of the nucleus sampling.")] = 0.95,
    document: Annotated[DocumentUnit | None, typer.Option(help="With --text: what a document is.")] = None,
    seed: SEED = 0,
    as_json: JSON = False,
) -> None:
    """Plot the surprisal of each token, in human text and in what the model generates."""
    from firth.config import from_dict
    from firth.report.surprisal_plot import figure_format, format_cell
    from firth.workflows.open_language_model import load_language_model, require_probabilities
    from firth.workflows.surprisal import SurprisalConfig, study_surprisal

    require_writable(out)
    figure_format(out)
    values = {"passages": passages, "prompt_length": prompt_length, "length": max_length, "beam_size": beam,
              "top_p": top_p, "seed": seed}  # fmt: skip
    config = from_dict(SurprisalConfig, values)
    model = load_language_model(run)
    require_probabilities(model, run)
    study = study_surprisal(model, _read_documents(model, text, document), config, model.run.path.name)
    study.save(out)
    if as_json:
        print_json({"file": str(out), **asdict(study)})
        return
    print_table([{key: format_cell(value) for key, value in row.items()} for row in study.rows], full_width=True)
    print(f"{out}: {len(study.passages)} passages")


def _read_documents(model: LanguageModel, text: str, document: str | None) -> list[str]:
    """The documents of a text, or of the run's own test text."""
    from firth.datasets.sources import open_source
    from firth.datasets.token_cache import default_cache

    if text:
        data = replace(model.config.data, **({"document": document} if document else {}))
        return list(open_source(split_commas(text), data, default_cache() / "spool"))
    if document:
        raise FirthError("--document has no effect without --text", do="give a text with --text")
    splits = model.documents() if model.run.record.data["splits"] else {}
    if "test" not in splits:
        raise FirthError("this run has no test text", where=model.run.path, do="give a text with --text")
    return list(splits["test"])
