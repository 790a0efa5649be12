"""Labelled tasks: a BiLSTM-CRF tagger and its decoder against plain PyTorch with pytorch-crf."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.harness import Options, Part, Row, Settings, load_row, memory_row, speed_row
from benchmarks.processes import Comparison, Program
from benchmarks.steps import FixedBatches, our_steps, plain_steps, prepare_torch, train_config
from benchmarks.tasks_linear import linear
from benchmarks.tasks_tagging import tagging

if TYPE_CHECKING:
    from torch import Tensor

VOCABULARY, TAGS = 20_000, 17  # tags: BIOES of four labels
BATCH, WIDTH, HIDDEN = 32, 100, 200  # hidden: of each direction
BATCHES = 24  # of an epoch
DECODED = 320  # sentences of a round of decoding


class Sentences(NamedTuple):
    """A batch of sentences whose lengths are distributed as those of CoNLL-2003; each (batch, words)."""

    ids: Any
    tags: Any
    mask: Any


def sentences(batches: int = BATCHES, bucketed: bool = False) -> list[Sentences]:
    """Batches of random words; lengths with mean 14 and the longest about 60, in random order or bucketed."""
    import numpy as np

    rng, made = np.random.default_rng(0), []
    sizes = np.clip(rng.lognormal(2.4, 0.75, (batches, BATCH)), 1, 110).astype(int)
    for lengths in np.sort(sizes.ravel()).reshape(sizes.shape) if bucketed else sizes:
        mask = np.arange(lengths.max()) < lengths[:, None]
        ids = (rng.zipf(1.2, mask.shape) % (VOCABULARY - 10) + 10) * mask
        made.append(Sentences(ids.astype(np.int64), rng.integers(0, TAGS, mask.shape), mask))
    return made


# --- training ---


def our_training(settings: Settings, bucketed: bool = False) -> Callable[..., None]:
    """Our trainer."""
    import numpy as np

    from firth.config import schema
    from firth.config.streams import Streams
    from firth.models.build import build
    from firth.types import Batch, Sizes, Target, Words

    config = schema.Neural(
        batching=schema.WordRows(),
        inputs=Streams(words=schema.WordInput(schema.WordVectors(width=WIDTH), characters=schema.NoPart())),
        backbone=schema.Recurrent(cell="lstm", width=HIDDEN, depth=1, bidirectional="concatenate", dropout=0.0),
        head=schema.TaggingHead(decoder="crf"),
        objective=schema.Supervised(),
    )
    made = sentences(bucketed=bucketed)

    def batch(index: int) -> Batch:
        ids, tags, mask = made[index]
        return Batch({"words": Words(ids, mask)}, {"ner": Target(tags, mask.astype(np.float32))})

    system = build(config, Sizes(VOCABULARY, own={"words": VOCABULARY}, labels={"ner": TAGS}))
    return our_steps(system, train_config(settings.precision), FixedBatches(len(made), batch), settings)


def bucketed_training(settings: Settings) -> Callable[..., None]:
    """Our trainer, with batches of sentences of like lengths, as `firth train` has them."""
    return our_training(settings, bucketed=True)


def plain_training(settings: Settings) -> Callable[..., None]:
    """`torch.nn` with packed sequences, and pytorch-crf."""
    import torch
    import torchcrf
    from torch import nn
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

    prepare_torch(settings)
    embed, out = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(2 * HIDDEN, TAGS)
    lstm = nn.LSTM(WIDTH, HIDDEN, batch_first=True, bidirectional=True)
    crf = torchcrf.CRF(TAGS, batch_first=True)

    def loss(ids: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        packed = pack_padded_sequence(embed(ids), mask.sum(1), batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(lstm(packed)[0], batch_first=True, total_length=ids.shape[1])
        return -crf(out(states), tags, mask, reduction="sum") / mask.sum()

    batches = [tuple(map(torch.from_numpy, each)) for each in sentences()]
    model = nn.ModuleDict({"embed": embed, "lstm": lstm, "out": out, "crf": crf})
    return plain_steps(model, loss, batches, settings)


def training(options: Options) -> Iterator[Row]:
    """Sentences per second of training."""
    settings = Settings(options.threads)
    programs = {
        "ours": Program(our_training, settings),
        "bucketed": Program(bucketed_training, settings),
        "peer": Program(plain_training, settings, "torchcrf"),
    }
    with Comparison(programs) as comparison:
        measured = comparison.measure(options.choose(4, 12), steps=BATCHES)  # all sentences
    name = f"BiLSTM-CRF, {WIDTH} and 2 x {HIDDEN}, {TAGS} tags, training: PyTorch with pytorch-crf"
    pair = measured["ours"], measured.get("peer")
    yield speed_row(name, *pair, BATCHES * BATCH, "sentences/s", 2.0)
    faster = f"{name} [faster mode: batches of like lengths]"
    yield speed_row(faster, measured["bucketed"], pair[1], BATCHES * BATCH, "sentences/s")
    yield memory_row(name, *pair)
    yield load_row(name, *pair)


# --- the CRF by itself ---


def our_crf(settings: Settings) -> Callable[..., Any]:
    """Ours."""
    from firth.nn.crf import LinearChainCRF

    prepare_torch(settings)
    return crf_work(LinearChainCRF(TAGS), "log_likelihood")


def their_crf(settings: Settings) -> Callable[..., Any]:
    """pytorch-crf."""
    import torchcrf

    prepare_torch(settings)
    return crf_work(torchcrf.CRF(TAGS, batch_first=True), "forward")


def crf_work(crf: Any, likelihood: str) -> Callable[..., int]:
    """The best tags of all sentences, or the gradients of their likelihoods."""
    import torch

    rng = torch.Generator().manual_seed(0)
    made = [tuple(map(torch.from_numpy, each)) for each in sentences(DECODED // BATCH)]
    given = [(torch.randn(*ids.shape, TAGS, generator=rng), tags, mask) for ids, tags, mask in made]
    for parameter, value in zip(crf.parameters(), (0.1, 0.2, 0.3), strict=True):
        parameter.data.fill_(value)

    def run(decode: bool) -> int:
        count = 0
        for emissions, tags, mask in given:
            if decode:
                count += sum(sum(row) for row in crf.decode(emissions, mask))
            else:
                getattr(crf, likelihood)(emissions.requires_grad_(), tags, mask).sum().backward()
        return count

    return run


def crf(options: Options) -> Iterator[Row]:
    """Training of a BiLSTM-CRF; the CRF's own part of it; decoding."""
    yield from training(options)
    settings = Settings(options.threads)
    programs = {"ours": Program(our_crf, settings), "peer": Program(their_crf, settings, "torchcrf")}
    with Comparison(programs) as comparison:
        for decode, name, target in ((False, "likelihood and gradients", None), (True, "Viterbi", 5.0)):
            measured = comparison.measure(options.choose(5, 15), decode=decode)
            ours, peer = measured["ours"], measured.get("peer")
            assert peer is None or ours.result == peer.result
            yield speed_row(f"CRF, {TAGS} tags, {name}: pytorch-crf", ours, peer, DECODED, "sentences/s", target)


PARTS: dict[str, Part] = {"crf": crf, "tagging": tagging, "linear": linear}
