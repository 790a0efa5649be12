"""Encoder-decoders: training of a translation model, greedy decoding and beam search; transformers and CTranslate2."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.harness import (
    Measurement,
    Options,
    Part,
    Row,
    Settings,
    is_installed,
    load_row,
    make_row,
    memory_row,
    speed_row,
)
from benchmarks.pretrained import END, PAD, SPECIAL, load_ours, save_ctranslate2, save_hugging_face, vocabulary
from benchmarks.processes import Comparison, Program, compare
from benchmarks.steps import STEPS, FixedBatches, our_steps, plain_steps, precisions, prepare_torch, train_config

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from firth.config import schema


# --- training ---

VOCABULARY, WIDTH, DEPTH, HEADS = 8000, 256, 3, 4
TOKENS = 2048  # of a batch, about; a round has as many batches as steps, so that all rounds are alike


def random_pairs() -> list[tuple[np.ndarray, np.ndarray]]:
    """Source and target ids (pairs, longest), closed by END and padded, of lengths as a bucketed corpus has."""
    import numpy as np

    rng, made = np.random.default_rng(0), []
    for _ in range(STEPS):
        middle = int(np.clip(rng.lognormal(2.6, 0.4), 6, 40))
        lengths = rng.integers(middle - 2, middle + 3, (2, TOKENS // (middle + 3)))
        made.append((_padded(rng, lengths[0]), _padded(rng, lengths[1])))
    return made


def _padded(rng: np.random.Generator, lengths: np.ndarray) -> np.ndarray:
    import numpy as np

    mask = np.arange(lengths.max() + 1) < lengths[:, None]
    ids = np.where(mask, rng.zipf(1.2, mask.shape) % (VOCABULARY - 10) + 10, PAD)
    ids[np.arange(len(lengths)), lengths] = END
    return ids.astype(np.int64)


def our_bart(width: int, depth: int, heads: int, context: int) -> schema.Neural:
    """BART's layers."""
    from firth.config import schema

    decoder = schema.Transformer(
        width=width,
        depth=depth,
        heads=heads,
        context=context,
        feedforward=schema.FeedForward(activation="gelu"),
        norm=schema.LayerNorm(placement="post", embeddings=True),
    )
    backbone = schema.EncoderDecoder(replace(decoder, mask="bidirectional"), decoder)
    objective = schema.Seq2Seq(decoder_start="end")
    return schema.Neural(batching=schema.SourceTarget(length=48), backbone=backbone, objective=objective)


def our_training(settings: Settings) -> Callable[..., None]:
    """Our trainer."""
    import numpy as np

    from firth.models.build import build
    from firth.types import Batch, Target, Tokens

    made = random_pairs()

    def batch(index: int) -> Batch:
        source, target = made[index]
        shifted = np.roll(target, 1, axis=1)  # teacher forcing
        shifted[:, 0] = END
        mask = target != PAD
        streams = {"source": Tokens(source, source != PAD), "target": Tokens(shifted, mask)}
        return Batch(streams, {"target": Target(target, mask.astype(np.float32))})

    system = build(our_bart(WIDTH, DEPTH, HEADS, 64), VOCABULARY)
    batches = FixedBatches(len(made), batch)
    return our_steps(system, train_config(settings.precision), batches, settings)


def bart(vocabulary_size: int, width: int, depth: int, heads: int, context: int) -> Any:
    """transformers' BART without dropout."""
    import transformers

    layers = {"layers": depth, "attention_heads": heads, "ffn_dim": 4 * width}
    sizes = {f"{part}_{name}": value for part in ("encoder", "decoder") for name, value in layers.items()}
    config = transformers.BartConfig(
        vocab_size=vocabulary_size, d_model=width, max_position_embeddings=context, dropout=0.0, pad_token_id=PAD,
        bos_token_id=0, eos_token_id=END, decoder_start_token_id=END, forced_eos_token_id=None,
        normalize_before=False, normalize_embedding=True, **sizes,
    )  # fmt: skip
    return transformers.BartForConditionalGeneration(config)


def their_training(settings: Settings) -> Callable[..., None]:
    """BART of the same size with its own loss."""
    import torch

    prepare_torch(settings)
    model = bart(VOCABULARY, WIDTH, DEPTH, HEADS, 64).train()

    def loss(source: Tensor, target: Tensor) -> Tensor:
        labels = target.masked_fill(target == PAD, -100)
        return model(input_ids=source, attention_mask=source != PAD, labels=labels).loss

    batches = [(torch.from_numpy(source), torch.from_numpy(target)) for source, target in random_pairs()]
    return plain_steps(model, loss, batches, settings)


def training(options: Options) -> Iterator[Row]:
    """Target tokens per second, the optimizer's step included; memory and load time."""
    count, programs = sum(int((target != PAD).sum()) for _, target in random_pairs()), {}
    for precision in precisions():
        settings = Settings(options.threads, precision)
        programs[f"ours {precision}"] = Program(our_training, settings)
        programs[f"peer {precision}"] = Program(their_training, settings, "transformers")
    measured = compare(programs, options.choose(2, 5))
    for precision in precisions():
        name = f"translation {DEPTH} + {DEPTH} x {WIDTH}, training, {precision}: transformers"
        pair = measured[f"ours {precision}"], measured.get(f"peer {precision}")
        yield speed_row(name, *pair, count, "tokens/s", 1.25)
        yield memory_row(name, *pair, 1.0)
        yield load_row(name, *pair)


# --- decoding: one BART with random weights in three programs, one thread, processor time ---

SIZE, DECODED = 16_000, {"width": 512, "depth": 6, "heads": 8}
SOURCE, NEW = 20, 32  # tokens of a source, and to be generated
CASES = ((1, 1), (1, 5), (32, 1), (32, 5))  # texts at a time, beam size
PAIRS = (  # precision of ours, the peer and its precision, target
    ("float32", "transformers", "float32", 2.0),
    ("float32", "ctranslate2", "float32", 0.7),
    ("int8", "ctranslate2", "int8", None),
    ("float16", "transformers", "float32", 2.0),
    ("int8", "transformers", "float32", 2.0),
)
Ids = list[list[int]]


def sources(batch: int) -> Tensor:
    """Random source texts (batch, SOURCE)."""
    import torch

    return torch.randint(len(SPECIAL), SIZE, (batch, SOURCE), generator=torch.Generator().manual_seed(3))


def our_decoding(settings: Settings, folder: str) -> Callable[..., Ids]:
    """Our own greedy decoding and beam search."""
    import torch

    from firth.generation.generate import GenerationConfig, generate
    from firth.pipelines.seq2seq_stepper import Seq2SeqStepper
    from firth.types import Batch, Tokens

    stepper = Seq2SeqStepper(load_ours(Path(folder, "model"), settings, our_bart(**DECODED, context=256), SIZE), SIZE)

    def run(batch: int, beam: int, new: int) -> Ids:
        source, first = sources(batch), torch.full((batch, 1), END)
        inputs = Batch({"source": Tokens(source, source >= 0), "text": Tokens(first, first >= 0)}, {})
        config = GenerationConfig(beam=beam, early_stopping="length")
        hypotheses = generate(stepper, inputs, new, config, end=END, banned=list(range(len(SPECIAL))))
        return [best.ids for best, *_ in hypotheses]

    return run


def transformers_decoding(settings: Settings, folder: str) -> Callable[..., Ids]:
    """`generate` of transformers."""
    import torch
    import transformers

    torch.set_num_threads(settings.threads)
    model = transformers.BartForConditionalGeneration.from_pretrained(Path(folder, "model")).eval()
    options = {"do_sample": False, "early_stopping": False, "suppress_tokens": list(range(len(SPECIAL)))}

    def run(batch: int, beam: int, new: int) -> Ids:
        source = sources(batch)
        lengths = {"num_beams": beam, "max_new_tokens": new, "min_new_tokens": new}
        with torch.inference_mode():
            output = model.generate(source, attention_mask=torch.ones_like(source), **lengths, **options)
        return output[:, 1:].tolist()

    return run


def ctranslate2_decoding(settings: Settings, folder: str) -> Callable[..., Ids]:
    """CTranslate2's translator."""
    import ctranslate2

    model = ctranslate2.Translator(
        str(Path(folder, "ctranslate2")), intra_threads=settings.threads, compute_type=settings.precision
    )
    tokens = vocabulary(SIZE)
    numbers = {token: number for number, token in enumerate(tokens)}
    banned = [[token] for number, token in enumerate(SPECIAL) if number != END]

    def run(batch: int, beam: int, new: int) -> Ids:
        texts = [[tokens[number] for number in row] for row in sources(batch).tolist()]
        lengths = {"beam_size": beam, "max_decoding_length": new, "min_decoding_length": new}
        results = model.translate_batch(texts, max_batch_size=0, suppress_sequences=banned, **lengths)
        return [[numbers[token] for token in result.hypotheses[0]] for result in results]

    return run


PROGRAMS = {  # precisions, package
    our_decoding: (("float32", "float16", "int8"), ""),
    transformers_decoding: (("float32",), "transformers"),
    ctranslate2_decoding: (("float32", "int8"), "ctranslate2"),
}


def decoding(options: Options) -> Iterator[Row]:
    """Tokens per second of greedy decoding and a beam of 5, one text and 32; and how many tokens are the same."""
    import torch

    folder = options.folder / "bart"
    if is_installed("transformers"):
        torch.manual_seed(0)
        save_hugging_face(bart(SIZE, **DECODED, context=256), folder / "model")
        save_ctranslate2(folder / "model", folder / "ctranslate2")
    programs = {
        f"{package or 'ours'} {precision}": Program(prepare, Settings(1, precision, "cpu"), package)
        for prepare, (precisions, package) in PROGRAMS.items()
        for precision in precisions
    }
    with Comparison(programs, folder=str(folder)) as comparison:
        for batch, beam in CASES:
            new = options.choose(NEW if batch == 1 else NEW // 2, NEW)
            measured = comparison.measure(options.choose(2, 5), batch=batch, beam=beam, new=new)
            label = f"{'greedy' if beam == 1 else f'beam {beam}'}, {batch} at a time"
            yield from _decoding_rows(measured, label, batch * new)


def _decoding_rows(measured: dict[str, Measurement], label: str, tokens: int) -> Iterator[Row]:
    for precision, package, peer_precision, target in PAIRS:
        own, peer = measured[f"ours {precision}"], measured.get(f"{package} {peer_precision}")
        mode = "" if precision == peer_precision else f"{precision} weights"
        name = f"decoding, {label}, {precision}: {package} {peer_precision}"
        yield speed_row(name, own, peer, tokens, "tokens/s", target, mode)
        if label == "greedy, 1 at a time" and not mode:
            yield memory_row(name, own, peer)
            yield load_row(name, own, peer)
    # in float32 the programs must agree with each other; at lower precision each with its own float32
    exact = measured["ours float32"].result
    for package, precision in (("transformers", "float32"), ("ctranslate2", "float32")):
        peer = measured.get(f"{package} {precision}")
        same = None if peer is None else _agreement(exact, peer.result)
        yield Row(f"decoding, {label}, tokens the same: {package}", same, None, None, None, "fraction", True)
    for precision in ("float16", "int8"):
        own, peer = measured[f"ours {precision}"], measured.get(f"ctranslate2 {precision}")
        values = [None if side is None else _agreement(exact, side.result) for side in (own, peer)]
        name = f"decoding, {label}, tokens of {precision} as in float32"
        yield make_row(f"{name}: ctranslate2" if peer else name, values[0], values[1], "fraction", quality=True)


def _agreement(one: Ids, other: Ids) -> float:
    """The fraction of tokens that are the same at the same position."""
    pairs = [pair for texts in zip(one, other, strict=True) for pair in zip(*texts, strict=True)]
    return sum(a == b for a, b in pairs) / len(pairs)


PARTS: dict[str, Part] = {"training": training, "decoding": decoding}
