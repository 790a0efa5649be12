"""Links between the words of two files that belong together line by line, learned from these files or by a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from firth import api
from firth.config.schema import AlignmentModel
from firth.counts import alignment
from firth.counts.alignment.joining import check_join
from firth.data import links
from firth.data.corpus import make_tokenizer
from firth.data.formats.parallel import Parallel
from firth.data.records import Pair
from firth.errors import FirthError
from firth.families.linker import Linker
from firth.metrics.alignment import Agreement, agreement
from firth.metrics.language import perplexity
from firth.training import passes

Link = tuple[int, int]
Say = Callable[[str], None]


@dataclass(frozen=True)
class Linked:
    """Pairs of texts, their links, and how these agree with right ones, where they were given."""

    pairs: Sequence[Pair]
    links: Sequence[Sequence[Link]]
    told: Agreement | None = None


def link_files(
    source: str | Path,
    target: str | Path,
    choice: api.Choice | None = None,
    *,
    run: str | Path = "",
    join: str = "",
    gold: str = "",
    possible: str = "",
    say: Say = lambda _: None,
) -> Linked:
    """Link line n of one file with line n of the other: by a trained run, else by a model learned from all lines."""
    if join:
        check_join(join)
    pairs = list(Parallel().read((source, target)))
    sure = links.read(gold, pairs) if gold else []
    allowed = links.read(possible, pairs) if possible else None
    texts = [(pair.left, pair.right) for pair in pairs]
    found = _by_run(texts, run, join) if run else _learned(texts, choice or api.choose("hmm-aligner"), join, say)
    return Linked(pairs, found, agreement(found, sure, allowed) if gold else None)


def _by_run(texts: list[tuple[str, str]], run: str | Path, join: str) -> list[list[Link]]:
    model = api.load(run)
    if hasattr(model, "links"):  # a network that translates, and looks at words
        if join:
            raise FirthError("it looks one way, so that there is nothing to join", where=run, do="leave out --join")
        return model.links(texts)
    if not isinstance(model, Linker):
        do = "name a run of hmm-aligner, ibm-1, ibm-2 or fast-align, or none to learn from the files themselves"
        raise FirthError("this run does not align words", where=run, do=do)
    return model.align(texts, join)


def _learned(texts: list[tuple[str, str]], choice: api.Choice, join: str, say: Say) -> list[list[Link]]:
    config = choice.config
    if not isinstance(config, AlignmentModel):
        raise FirthError(f"{choice.name} does not align words", do="choose hmm-aligner, ibm-1, ibm-2 or fast-align")
    tokenizer = make_tokenizer(config.tokenizer, [text for pair in texts for text in pair])
    bitext, threads = alignment.encode(texts, tokenizer), passes.threads(config.train)
    training = alignment.begin(bitext, tokenizer.size, config.method)
    for epoch in range(config.method.first + config.train.epochs):
        loss = training.work(epoch, threads)
        say(f"pass {epoch + 1}: perplexity {perplexity(loss.total, loss.count):.2f} before it")
    return alignment.Both(*training.models).align(bitext, join or config.method.join, threads)
