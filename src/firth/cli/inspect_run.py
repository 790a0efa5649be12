"""`firth inspect probe`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from firth.cli.console import print_json, print_table, require_writable, split_commas
from firth.cli.options import JSON, QUIET, RUN, SEED, choice

if TYPE_CHECKING:
    from firth.inspect.probing import LayerProbe


def probe(
    run: RUN,
    task: Annotated[
        str, typer.Option(help="pos, ner, chunking, or the name of a layer of tags: upos, feats, entity …")
    ] = "pos",
    text: Annotated[str, typer.Option(help="Tagged sentences to train probes on: files, sets, or world.")] = "world",
    test: Annotated[str, typer.Option(help="Tagged sentences to test them on; by default a part of the others.")] = "",
    columns: Annotated[str, typer.Option(help="Numbers of a file's columns: word=1,pos=2.")] = "",
    pooling: Annotated[
        choice(("mean", "first", "last")), typer.Option(help="A word's state, from those of its subwords.")
    ] = "mean",
    max_words: Annotated[int, typer.Option(min=100, help="Words to train on, and to test on, at most.")] = 10_000,
    l2: Annotated[float, typer.Option(help="L2 penalty of the probes' weights.")] = 1.0,
    seed: SEED = 0,
    out: Annotated[Path | None, typer.Option(help="A page to write: .html, with the figure.")] = None,
    quiet: QUIET = False,
    as_json: JSON = False,
) -> None:
    """Probe each layer of a network: how well a linear classifier reads tags from its frozen hidden states, and how
    much of it the same classifier could memorise (control task). Selectivity is the difference."""
    from firth.config import from_dict
    from firth.workflows.probe_run import ProbeConfig, probe_run

    require_writable(out)
    values = {"task": task, "text": split_commas(text), "test": split_commas(test), "columns": split_commas(columns),
              "pooling": pooling, "max_words": max_words, "l2": l2, "seed": seed}  # fmt: skip
    say = (lambda line: None) if quiet or as_json else lambda line: print(line, file=sys.stderr, flush=True)
    result = probe_run(run, from_dict(ProbeConfig, values), say)
    if out is not None:
        from firth.report.probe_page import probe_page
        from firth.runs import atomic_files

        atomic_files.replace_file(out, probe_page(result).encode())
    if as_json:
        print_json(result.to_dict() | ({"file": str(out)} if out else {}))
        return
    print_table([_row(layer) for layer in result.layers], full_width=True)
    print(f"most frequent tag: {result.majority:.1%}; most frequent tag of each word: {result.word_type:.1%}")
    if result.mix_weights:
        print("weights of the mix: " + ", ".join(f"{name} {share:.2f}" for name, share in result.mix_weights.items()))
    if out is not None:
        print(f"{out}: accuracy by layer")


def _row(layer: LayerProbe) -> dict[str, str]:
    low, high = layer.accuracy_interval
    least, most = layer.selectivity_interval
    return {
        "layer": layer.layer,
        "accuracy": f"{layer.accuracy:.1%}",
        "95% CI": f"{low:.1%} to {high:.1%}",
        "control task": f"{layer.control_accuracy:.1%}",
        "selectivity": f"{100 * layer.selectivity:.1f}",
        "95% CI ": f"{100 * least:.1f} to {100 * most:.1f}",
    }
