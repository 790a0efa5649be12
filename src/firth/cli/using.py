"""`firth eval` and `firth run`: what a trained model says."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from firth import api
from firth.cli.stores import print_json
from firth.config import core
from firth.errors import FirthError

_AT_ONCE = 256  # lines of a file
Weights = Annotated[
    str, typer.Option(help="half or int8: a network's matrices in fewer bytes, faster and a little less exact.")
]


def evaluate(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder.")],
    text: Annotated[str | None, typer.Option(help="Other text than the run's own: a file, a folder or -.")] = None,
    source: Annotated[
        str | None, typer.Option(help="A file of texts to read, with --target instead of --text.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="What should be written for each line of --source.")] = None,
    split: Annotated[str, typer.Option(help="Of the run's own text: train, valid or test; what it has.")] = "",
    memory: Annotated[
        int | None, typer.Option(min=0, help="Tokens that are remembered, in models with a memory; as trained.")
    ] = None,
    weights: Weights = "float32",
    as_json: Annotated[bool, typer.Option("--json", help="JSON for machines.")] = False,
) -> None:
    """Score a model on held-out or other text, each score signed."""
    model = api.load(run, weights=weights)
    if memory is not None:
        if not hasattr(model, "remember"):
            raise FirthError("this model has no memory", where=run, do="leave out --memory")
        model.remember(memory)
    given = _pairs(model, source, target) if source or target else text
    scores = [score.to_dict() for score in model.evaluate(given, **({"split": split} if split else {}))]
    if given is None and weights == "float32":  # what a run is compared by is said of its own weights
        model.run.add_scores(scores)
    if as_json:
        print_json(scores)
        return
    lost = all(score["value"] is not None for score in scores if score["name"] == "perplexity")
    why = "the tokenizer loses text" if lost else "its scores are not probabilities"
    for score in scores:
        value = f"n/a ({why})" if score["value"] is None else f"{score['value']:.4f}"
        print(f"{score['name'].replace('_', ' '):<14} {value}  [{score['signature']}]")


def _pairs(model: Any, source: str | None, target: str | None) -> list[Any]:
    """The lines of two files that belong together."""
    from firth.data.written import parallel

    if not hasattr(model, "translate"):
        do = "give one text with --text"
        raise FirthError("this model reads no pairs of texts", where="--source and --target", do=do)
    files = [(path,) if path else () for path in (source, target)]
    return list(parallel(*files, "eval", model.config.data.empty))


def run(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder.")],
    text: Annotated[str, typer.Argument(metavar="INPUT", help="A prompt, or - to read one per line.")] = "",
    score: Annotated[bool | None, typer.Option("--score", help="Give the log-probability of the input.")] = None,
    prefix: Annotated[bool | None, typer.Option("--prefix", help="With --score: the input need not end here.")] = None,
    complete: Annotated[
        int | None, typer.Option(min=1, help="Give the so many most probable next words and tokens.")
    ] = None,
    beam: Annotated[int | None, typer.Option(min=1, help="Search the most probable text, so many at a time.")] = None,
    length_penalty: Annotated[float | None, typer.Option(help="With --beam: above 0 favours longer texts.")] = None,
    repetition: Annotated[
        bool | None, typer.Option("--repetition", help="Also tell how much each text repeats itself.")
    ] = None,
    length: Annotated[int | None, typer.Option(help="Tokens to generate at most; 100.", min=1)] = None,
    count: Annotated[
        int | None, typer.Option(help="Continuations of a prompt; neighbours of a word; labels.", min=1)
    ] = None,
    threshold: Annotated[float | None, typer.Option(help="Only labels that are at least so probable.")] = None,
    embed: Annotated[bool | None, typer.Option("--embed", help="Give the vector of the input.")] = None,
    word: Annotated[str | None, typer.Option(help="Give the translations of this word.")] = None,
    temperature: Annotated[float | None, typer.Option(help="0: always the most probable token; 0.8.")] = None,
    top_k: Annotated[int | None, typer.Option(help="Choose among the k most probable.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Choose among the most probable that reach p together.")] = None,
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same text.", min=0)] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw where in the input a model looked while it wrote: a .svg, .png or .html.")
    ] = None,
    tree: Annotated[Path | None, typer.Option(help="Draw the tree of a beam search: a .svg, .png or .html.")] = None,
    together: Annotated[
        str | None, typer.Option("--with", help="Other runs that write with this one, an ensemble; with commas.")
    ] = None,
    weights: Weights = "float32",
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Any other option of the model: --set no_repeat=3")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per input.")] = False,
) -> None:
    """Use a model: continue a prompt or score it; tell the neighbours of a word; label a text."""
    options = {"score": score, "prefix": prefix, "length": length, "count": count, "temperature": temperature}
    options |= {"top_k": top_k, "top_p": top_p, "seed": seed, "threshold": threshold, "complete": complete}
    options |= {"word": word, "embed": embed, "beam": beam, "length_penalty": length_penalty, "repetition": repetition}
    options |= {"picture": picture and str(picture), "tree": tree and str(tree)}
    given = {name: value for name, value in options.items() if value is not None} | _further(set_ or [])
    model = _joined(api.load(run, weights=weights), together, weights)
    reads = getattr(model, "reads_lines", False)  # without an input, it answers lines
    for lines in blocks("-" if reads and not text else text):
        several = getattr(model, "answers", None)
        answers = several(lines, given) if several else (model.answer(line, given) for line in lines)
        for found in answers:
            print_json(found) if as_json else print(model.shown(found), flush=True)


def _joined(model: Any, others: str | None, weights: str) -> Any:
    """The model, writing with other runs if there are any."""
    if not others:
        return model
    models = [api.load(other, weights=weights) for other in others.split(",")]
    if not all(hasattr(each, "joined_by") for each in (model, *models)):
        do = "name runs that write texts for texts, such as those of transformer-mt"
        raise FirthError("these runs cannot write together", where="--with", do=do)
    return model.joined_by(models)


def _further(settings: Sequence[str]) -> dict[str, str]:
    """Options by name, as text."""
    given = [setting.partition("=") for setting in settings]
    for name, equals, value in given:
        if not (name and equals and value):
            raise FirthError(f"cannot read {name!r}", where="--set", do="write it as name=value, such as no_repeat=3")
    return {name.replace("-", "_"): core.as_text(value) for name, _, value in given}


def blocks(text: str) -> Iterator[list[str]]:
    """The text itself, or with - the lines of standard input: one at a time from a person, many from a file."""
    lines = inputs(text)
    while block := list(islice(lines, 1 if text != "-" or sys.stdin.isatty() else _AT_ONCE)):
        yield block


def inputs(text: str) -> Iterator[str]:
    """The text itself, or with - the lines of standard input."""
    if text != "-":
        yield text
        return
    sys.stdin.reconfigure(errors="replace")
    for line in sys.stdin:
        yield line.rstrip("\n")
