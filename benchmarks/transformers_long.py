"""Long attention: Longformer's and Reformer's time and memory over length and depth, one thread, processor time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from benchmarks.harness import Measurement, Options, Row, Settings, make_row, memory_row, speed_row
from benchmarks.processes import Program, compare

if TYPE_CHECKING:
    from torch import Tensor

SETTINGS = Settings(1, clock="cpu")
# Memory goes back to the system as soon as it is free, so that the peak is what was needed at once.
TIGHT = {"MALLOC_MMAP_THRESHOLD_": "65536"}
WIDTH, HEADS, VOCABULARY = 256, 4, 1000
Work = Callable[[], None]


def forward_backward(states: Callable[[Tensor], Tensor], length: int) -> Work:
    """Forward and backward pass over one random text."""
    import torch

    torch.set_num_threads(SETTINGS.threads)
    ids = torch.randint(10, VOCABULARY, (1, length))
    return lambda: states(ids).sum().backward()


def measure(
    prepare: Callable[..., Work], rounds: int, tight: bool = False, package: str = "", **shape: int
) -> Measurement | None:
    """One program alone; None if it is a peer that is missing."""
    program = Program(prepare, SETTINGS, package, TIGHT if tight else {})
    return compare({"program": program}, rounds, **shape).get("program")


# --- Longformer ---

LENGTHS, SHORT, COMPARED = (1024, 2048, 4096, 8192, 16384), 16, 4096
WINDOW, DEPTH = 256, 2  # WINDOW: tokens on each side
MAX_EXPONENT, FASTER = 1.1, 2.0


def our_longformer(settings: Settings, length: int) -> Work:
    """Sliding-window attention, global attention of the first token."""
    from firth.config import schema
    from firth.models.build import build
    from firth.types import Batch, Tokens

    backbone = schema.Transformer(
        width=WIDTH, depth=DEPTH, heads=HEADS, mask="bidirectional",
        attention=schema.WindowAttention(window=(WINDOW,), global_tokens="first", global_projections=True),
        feedforward=schema.FeedForward(activation="gelu"), norm=schema.LayerNorm(placement="post", embeddings=True),
    )  # fmt: skip
    config = schema.Neural(
        batching=schema.SegmentPairs(length=max(LENGTHS)), backbone=backbone, objective=schema.MaskedLM()
    )
    system = build(config, VOCABULARY)
    return forward_backward(lambda ids: system.encode(Batch({"text": Tokens(ids, ids >= 0)}, {})).states, length)


def their_longformer(settings: Settings, length: int) -> Work:
    """The same by transformers."""
    import torch
    from transformers import LongformerConfig, LongformerModel

    config = LongformerConfig(
        vocab_size=VOCABULARY, hidden_size=WIDTH, num_hidden_layers=DEPTH, num_attention_heads=HEADS,
        intermediate_size=4 * WIDTH, max_position_embeddings=max(LENGTHS) + 2, attention_window=[2 * WINDOW] * DEPTH,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    model = LongformerModel(config, add_pooling_layer=False)
    mask = torch.zeros(1, length, dtype=torch.long)
    mask[:, 0] = 1
    return forward_backward(lambda ids: model(ids, global_attention_mask=mask).last_hidden_state, length)


def exponent(lengths: tuple[int, ...], values: list[float]) -> float:
    """The power of the length with which values grow: the slope of a line through their logarithms."""
    x, y = ([math.log(each) for each in part] for part in (lengths, values))
    mean = sum(x) / len(x)
    return sum((a - mean) * b for a, b in zip(x, y, strict=True)) / sum((a - mean) ** 2 for a in x)


def longformer(options: Options) -> Iterator[Row]:
    """Seconds and memory over lengths, how they grow, and both beside transformers' Longformer."""
    rounds = options.choose(2, 5)
    base = measure(our_longformer, 1, length=SHORT)
    lengths, seconds, memory = options.choose(LENGTHS[::2], LENGTHS), [], []
    for length in lengths:
        measured = measure(our_longformer, rounds, length=length)
        assert measured and measured.memory and base and base.memory
        seconds.append(min(measured.rounds))
        memory.append(measured.memory - base.memory)
        name = f"Longformer, {length:,} tokens"
        yield make_row(f"{name}, forward and backward", seconds[-1], None, "s", lower_is_better=True)
        yield make_row(f"{name}, memory above that of {SHORT} tokens", memory[-1], None, "MB", lower_is_better=True)
    for name, values in (("time", seconds), ("memory", memory)):
        label, power = f"Longformer, {name}: power of the length (limit)", exponent(lengths, values)
        yield make_row(label, power, MAX_EXPONENT, "", 1.0, lower_is_better=True)
    settings = SETTINGS
    programs = {"ours": Program(our_longformer, settings), "peer": Program(their_longformer, settings, "transformers")}
    pair = compare(programs, rounds, length=COMPARED)
    name = f"Longformer, {COMPARED:,} tokens, forward and backward: transformers"
    yield speed_row(name, pair["ours"], pair.get("peer"), COMPARED, "tokens/s", FASTER)
    yield memory_row(name, pair["ours"], pair.get("peer"))


# --- Reformer ---

REFORMER_DEPTHS, REFORMER_LENGTHS, REFORMER_SHORT = (2, 4, 8, 12), (1024, 2048, 4096, 8192), 64
REFORMER_DEPTH, REFORMER_LENGTH = 2, 2048  # of the rows over the other
CHUNK, HASH_ROUNDS = 64, 2
MAX_GROWTH = 1.1  # memory of the deepest model against the shallowest


def our_reformer(settings: Settings, depth: int, length: int, **changes: Any) -> Work:
    """Local and LSH attention in turn, reversible residuals; or with other fields of the backbone."""
    from firth.config import schema
    from firth.models.build import build
    from firth.types import Batch, Tokens

    local, lsh = schema.Local(chunk=CHUNK), schema.LSH(chunk=CHUNK, rounds=HASH_ROUNDS)
    backbone = schema.Transformer(
        width=WIDTH, depth=depth, heads=HEADS, positions=schema.AxialPositions(), residual="reversible",
        attention=schema.ReformerAttention(local=local, lsh=lsh), feedforward=schema.FeedForward(activation="relu"),
    )  # fmt: skip
    backbone = replace(backbone, **changes)
    system = build(schema.Neural(batching=schema.Windows(length=length), backbone=backbone), VOCABULARY).train()
    return forward_backward(lambda ids: system.encode(Batch({"text": Tokens(ids, ids >= 0)}, {})).states, length)


def plain_residuals(settings: Settings, depth: int, length: int) -> Work:
    """The same without reversible residuals."""
    return our_reformer(settings, depth, length, residual="plain")


def dense_attention(settings: Settings, depth: int, length: int) -> Work:
    """An ordinary Transformer of this size."""
    from firth.config import schema

    return our_reformer(settings, depth, length, residual="plain", attention=schema.FullAttention())


def their_reformer(settings: Settings, depth: int, length: int) -> Work:
    """The Reformer of transformers."""
    from transformers import ReformerConfig, ReformerModel

    config = ReformerConfig(
        attn_layers=["local", "lsh"] * (depth // 2), num_hidden_layers=depth, vocab_size=VOCABULARY, hidden_size=WIDTH,
        num_attention_heads=HEADS, attention_head_size=WIDTH // HEADS, feed_forward_size=4 * WIDTH,
        axial_pos_shape=(length // 32, 32), axial_pos_embds_dim=(WIDTH // 2, WIDTH // 2), lsh_attn_chunk_length=CHUNK,
        local_attn_chunk_length=CHUNK, num_hashes=HASH_ROUNDS, num_buckets=max(2, 2 * length // CHUNK), is_decoder=True,
        hidden_dropout_prob=0.0, lsh_attention_probs_dropout_prob=0.0, local_attention_probs_dropout_prob=0.0,
        max_position_embeddings=length, use_cache=False,
    )  # fmt: skip
    model = ReformerModel(config).train()
    return forward_backward(lambda ids: model(ids).last_hidden_state, length)


def extra_memory(prepare: Callable[..., Work], depth: int, length: int, package: str = "") -> float | None:
    """MB above what a short text takes, weights and their gradients included."""
    sizes = (length, REFORMER_SHORT)
    peaks = [measure(prepare, 1, True, package, depth=depth, length=each) for each in sizes]
    if None in peaks:
        return None
    most, least = (peak.memory for peak in peaks if peak)
    assert most and least
    return most - least


def reformer(options: Options) -> Iterator[Row]:
    """Memory over depth and length beside plain residuals, dense attention and transformers' Reformer; time too."""
    depths = options.choose((REFORMER_DEPTHS[0], REFORMER_DEPTHS[-1]), REFORMER_DEPTHS)
    memory: dict[int, float] = {}
    for depth in depths:
        memory[depth], plain = (extra_memory(each, depth, REFORMER_LENGTH) for each in (our_reformer, plain_residuals))
        yield make_row(f"Reformer, {depth} layers: plain residuals", memory[depth], plain, "MB", lower_is_better=True)
    growth, deepest = memory[depths[-1]] / memory[depths[0]], depths[-1]
    label = f"Reformer, memory of {deepest} layers / {depths[0]} layers (limit)"
    yield make_row(label, growth, MAX_GROWTH, "", 1.0, lower_is_better=True)
    theirs = extra_memory(their_reformer, deepest, REFORMER_LENGTH, "transformers")
    yield make_row(f"Reformer, {deepest} layers: transformers", memory[deepest], theirs, "MB", lower_is_better=True)
    yield from _reformer_lengths(options)


def _reformer_lengths(options: Options) -> Iterator[Row]:
    rounds, sides = options.choose(2, 5), (our_reformer, dense_attention)
    for length in options.choose(REFORMER_LENGTHS[1::2], REFORMER_LENGTHS):
        name = f"Reformer, {length:,} tokens: dense attention"
        programs = {each.__name__: Program(each, SETTINGS) for each in sides}
        measured = compare(programs, rounds, depth=REFORMER_DEPTH, length=length)
        yield speed_row(name, *(measured[each.__name__] for each in sides), length, "tokens/s")
        if not options.quick:
            sizes = [extra_memory(each, REFORMER_DEPTH, length) for each in sides]
            yield make_row(f"{name}, memory", sizes[0], sizes[1], "MB", lower_is_better=True)
    programs = {"ours": Program(our_reformer, SETTINGS), "peer": Program(their_reformer, SETTINGS, "transformers")}
    pair = compare(programs, rounds, depth=REFORMER_DEPTH, length=REFORMER_LENGTH)
    name = f"Reformer, {REFORMER_LENGTH:,} tokens, forward and backward: transformers"
    yield speed_row(name, pair["ours"], pair.get("peer"), REFORMER_LENGTH, "tokens/s")
