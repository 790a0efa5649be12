"""Word alignment of two parallel files, by a trained run or by a model trained on the files themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from firth import alignment, api
from firth.alignment.symmetrisation import check_heuristic
from firth.config.schema import AlignmentModel
from firth.datasets import gold_alignments
from firth.datasets.readers.parallel import Parallel
from firth.datasets.records import Pair
from firth.datasets.text_dataset import make_tokenizer
from firth.errors import FirthError
from firth.metrics.alignment_error_rate import AlignmentCounts, count_links
from firth.metrics.perplexity import perplexity
from firth.pipelines.align_words import WordAligner
from firth.training import pass_loop

Link = tuple[int, int]
Log = Callable[[str], None]


@dataclass(frozen=True)
class AlignedFiles:
    """Sentence pairs, their alignment links, and counts for the alignment error rate if gold links were given."""

    pairs: Sequence[Pair]
    links: Sequence[Sequence[Link]]
    counts: AlignmentCounts | None = None


def align_files(
    source: str | Path,
    target: str | Path,
    choice: api.NamedConfig | None = None,
    *,
    run: str | Path = "",
    symmetrisation: str = "",
    gold: str = "",
    possible: str = "",
    log: Log = lambda _: None,
) -> AlignedFiles:
    """Align the words of line n of both files: with a trained run, else with a model trained on all lines."""
    if symmetrisation:
        check_heuristic(symmetrisation)
    pairs = list(Parallel().read((source, target)))
    sure_links = gold_alignments.read_links(gold, pairs) if gold else []
    possible_links = gold_alignments.read_links(possible, pairs) if possible else None
    texts = [(pair.left, pair.right) for pair in pairs]
    links = (
        _align_with_run(texts, run, symmetrisation)
        if run
        else _train_and_align(texts, choice or api.resolve_config("hmm-aligner"), symmetrisation, log)
    )
    return AlignedFiles(pairs, links, count_links(links, sure_links, possible_links) if gold else None)


def _align_with_run(texts: list[tuple[str, str]], run: str | Path, symmetrisation: str) -> list[list[Link]]:
    model = api.load(run)
    if hasattr(model, "links"):  # a translation network with attention weights
        if symmetrisation:
            raise FirthError("attention gives links in one direction only", where=run, do="leave out --symmetrisation")
        return model.links(texts)
    if not isinstance(model, WordAligner):
        do = "name a run of hmm-aligner, ibm-1, ibm-2 or fast-align, or leave out --run to train on the files"
        raise FirthError("this run does not align words", where=run, do=do)
    return model.align(texts, symmetrisation)


def _train_and_align(
    texts: list[tuple[str, str]], choice: api.NamedConfig, symmetrisation: str, log: Log
) -> list[list[Link]]:
    config = choice.config
    if not isinstance(config, AlignmentModel):
        raise FirthError(f"{choice.name} does not align words", do="choose hmm-aligner, ibm-1, ibm-2 or fast-align")
    tokenizer = make_tokenizer(config.tokenizer, [text for pair in texts for text in pair])
    bitext, threads = alignment.encode(texts, tokenizer), pass_loop.thread_count(config.train)
    training = alignment.start_training(bitext, tokenizer.vocab_size, config.method)
    for epoch in range(config.method.model1_epochs + config.train.epochs):
        loss = training.em_step(epoch, threads)
        log(f"epoch {epoch + 1}: perplexity {perplexity(loss.total, loss.count):.2f} before it")
    return alignment.BidirectionalModel(*training.models).align(
        bitext, symmetrisation or config.method.symmetrisation, threads
    )
