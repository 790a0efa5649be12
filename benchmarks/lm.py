"""Neural language models: training against plain PyTorch and transformers, generation against four programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks import texts
from benchmarks.harness import Measurement, Options, Part, Row, Settings, load_row, make_row, memory_row, speed_row
from benchmarks.lm_generation import generation
from benchmarks.processes import Comparison, Program, compare
from benchmarks.steps import STEPS, FixedBatches, our_steps, plain_steps, precisions, prepare_torch, train_config

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor, nn

VOCABULARY = 8000


class Shape(NamedTuple):
    """The size of a model and of its batches."""

    batch_size: int
    length: int
    width: int
    depth: int
    heads: int = 0


RECURRENT = Shape(20, 35, 200, 2)
SHAPES = {"lstm": RECURRENT, "gru": RECURRENT, "tanh": RECURRENT, "gpt": Shape(4, 256, 384, 6, 6)}
TARGETS = {"lstm": 1.1, "gru": 1.1, "tanh": 1.1, "gpt": 1.25}


# --- training: recurrent networks and a GPT-2 on random tokens ---


def random_batches(shape: Shape) -> list[tuple[np.ndarray, np.ndarray]]:
    """Inputs and next tokens (batch, length), sampled from a Zipf distribution as words have it."""
    import numpy as np

    text = (np.random.default_rng(0).zipf(1.2, (64, shape.batch_size, shape.length + 1)) - 1) % VOCABULARY
    return [(part[:, :-1].copy(), part[:, 1:].copy()) for part in text.astype(np.int64)]


def our_training(settings: Settings, kind: str) -> Callable[..., None]:
    """Our trainer."""
    import numpy as np

    from firth.config import schema
    from firth.models.build import build
    from firth.types import Batch, Target, Tokens

    shape, is_gpt = SHAPES[kind], kind == "gpt"
    made, weight = random_batches(shape), np.ones((shape.batch_size, shape.length), np.float32)
    size: dict[str, Any] = {"width": shape.width, "depth": shape.depth}
    backbone = (
        schema.Transformer(**size, heads=shape.heads, context=512) if is_gpt else schema.Recurrent(cell=kind, **size)
    )
    batching = (schema.Windows if is_gpt else schema.Contiguous)(batch_size=shape.batch_size, length=shape.length)
    config = schema.Neural(batching=batching, backbone=backbone, head=schema.LMHead(bias=not is_gpt))

    def batch(index: int) -> Batch:
        ids, values = made[index]
        targets = {"text": Target(values, weight)}
        return Batch({"text": Tokens(ids, weight > 0)}, targets, reset_state=is_gpt or index == 0)

    batches = FixedBatches(len(made), batch)
    return our_steps(build(config, VOCABULARY), train_config(settings.precision), batches, settings)


def plain_training(settings: Settings, kind: str) -> Callable[..., None]:
    """`torch.nn` for recurrent networks, transformers' GPT-2 with its own loss."""
    import torch

    prepare_torch(settings)
    model, loss = gpt2() if kind == "gpt" else plain_recurrent(kind, SHAPES[kind], VOCABULARY, tied=True)
    batches = [tuple(map(torch.from_numpy, pair)) for pair in random_batches(SHAPES[kind])]
    return plain_steps(model, loss, batches, settings)


def gpt2() -> tuple[nn.Module, Callable[..., Tensor]]:
    """transformers' GPT-2; it shifts the labels itself, so the last token of a row is not predicted."""
    import transformers

    shape = SHAPES["gpt"]
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY, n_positions=512, n_embd=shape.width, n_layer=shape.depth, n_head=shape.heads,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=None, pad_token_id=0,
    )  # fmt: skip
    model = transformers.GPT2LMHeadModel(config).train()
    return model, lambda ids, _: model(input_ids=ids, labels=ids, use_cache=False).loss


def plain_recurrent(
    kind: str, shape: Shape, vocabulary: int, tied: bool
) -> tuple[nn.ModuleDict, Callable[..., Tensor]]:
    """A recurrent language model and its loss, the state carried from batch to batch (truncated BPTT)."""
    from torch import nn
    from torch.nn import functional as F

    embed, out = nn.Embedding(vocabulary, shape.width), nn.Linear(shape.width, vocabulary)
    if tied:
        out.weight = embed.weight
    layers = {"lstm": nn.LSTM, "gru": nn.GRU, "tanh": nn.RNN}[kind](
        shape.width, shape.width, shape.depth, batch_first=True
    )
    carried: Any = None

    def loss(ids: Tensor, values: Tensor, start: bool = False) -> Tensor:
        nonlocal carried
        states, state = layers(embed(ids), None if start else carried)
        carried = tuple(part.detach() for part in state) if isinstance(state, tuple) else state.detach()
        return F.cross_entropy(out(states).flatten(0, 1), values.flatten())

    return nn.ModuleDict({"input": embed, "layers": layers, "head": out}), loss


def training(options: Options) -> Iterator[Row]:
    """Tokens per second, memory and load time of training steps, float32 and, where the CPU has it, bf16."""
    for kind, shape in SHAPES.items():
        package = "transformers" if kind == "gpt" else "torch"
        programs = {}
        for precision in precisions():
            settings = Settings(options.threads, precision)
            programs[f"ours {precision}"] = Program(our_training, settings)
            programs[f"{package} {precision}"] = Program(plain_training, settings, package)
        measured = compare(programs, options.choose(3, 7), kind=kind)
        for precision in precisions():
            name = f"{kind} {shape.depth} x {shape.width}, training, {precision}: {package}"
            pair = measured[f"ours {precision}"], measured.get(f"{package} {precision}")
            yield speed_row(name, *pair, STEPS * shape.batch_size * shape.length, "tokens/s", TARGETS[kind])
            yield memory_row(name, *pair, 1.0)
            yield load_row(name, *pair)


# --- LSTM: the same weights on the same text; speed, memory and loss ---

WORDS = 10_000  # of the vocabulary
WIDTHS = (200, 650)
LEARNING_RATE, CLIP = 1.0, 5.0  # SGD
TARGET, BF16_TARGET, LOSS_TARGET = 1.1, 1.8, 0.999


def word_ids(options: Options) -> tuple[np.ndarray, np.ndarray]:
    """Training and validation text: Penn Treebank, else python-docs; the most frequent words, others are word 0."""
    import numpy as np

    paths = [texts.find(options, f"ptb-lm/{name}") for name in ("ptb.train.txt.gz", "ptb.valid.txt")]
    if None in paths:
        from firth.datasets.python_docs import documents

        content = "\n".join(documents())
        parts = [content[: len(content) * 9 // 10], content[len(content) * 9 // 10 :]]
    else:
        parts = [texts.read(path) for path in paths if path]
    train, valid = (part.replace("\n", " <eos> ").split() for part in parts)
    ids = {word: number for number, (word, _) in enumerate(Counter(train).most_common(WORDS))}
    return tuple(np.array([ids.get(word, 0) for word in part]) for part in (train, valid))


def contiguous_batches(path: str, shape: Shape) -> list[tuple[Tensor, Tensor]]:
    """Inputs and next words (batch, length) of a text; a row goes on where it stopped."""
    import numpy as np
    import torch

    text = np.load(path)
    columns = torch.from_numpy(text[: len(text) // shape.batch_size * shape.batch_size].reshape(shape.batch_size, -1))
    starts = range(0, columns.shape[1] - shape.length - 1, shape.length)
    return [(columns[:, s : s + shape.length], columns[:, s + 1 : s + shape.length + 1]) for s in starts]


def initialise(model: nn.Module) -> None:
    """Weights that are a function of the parameters' names: the same for both programs."""
    import torch

    with torch.no_grad():
        for name, parameter in model.named_parameters():
            generator = torch.Generator().manual_seed(sum(name.replace("backbone.", "").encode()))
            parameter.uniform_(-0.1, 0.1, generator=generator)


def our_lstm(settings: Settings, folder: str, width: int) -> Callable[..., float | None]:
    """Our trainer; `validate`: the mean loss of so many batches of validation text."""
    import torch

    from firth.config import schema
    from firth.models.build import build
    from firth.types import Batch, Target, Tokens

    shape = RECURRENT._replace(width=width)
    backbone = schema.Recurrent(width=width, depth=shape.depth)
    system = build(schema.Neural(backbone=backbone, head=schema.LMHead(tied=False)), WORDS)
    initialise(system)
    train, valid = (contiguous_batches(f"{folder}/{name}.npy", shape) for name in ("train", "valid"))
    weight = torch.ones(shape.batch_size, shape.length)

    def batch(ids: Tensor, values: Tensor, first: bool) -> Batch:
        return Batch({"text": Tokens(ids, weight > 0)}, {"text": Target(values, weight)}, reset_state=first)

    made = FixedBatches(len(train), lambda index: batch(*train[index], index == 0))
    config = train_config(settings.precision, "sgd", LEARNING_RATE, CLIP)
    steps = our_steps(system, config, made, settings)

    def run(step_count: int = 0, validate: int = 0) -> float | None:
        steps(step_count)
        state, losses = None, []
        for pair in valid[:validate]:
            with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=settings.precision == "bf16"):
                (term,), state = system(batch(*pair, state is None), state)
            losses.append(float(term.sum) / term.count)
        return sum(losses) / len(losses) if losses else None

    return run


def plain_lstm(settings: Settings, folder: str, width: int) -> Callable[..., float | None]:
    """The same in plain PyTorch."""
    import torch

    prepare_torch(settings)
    shape = RECURRENT._replace(width=width)
    model, loss = plain_recurrent("lstm", shape, WORDS, tied=False)
    initialise(model)
    train, valid = (contiguous_batches(f"{folder}/{name}.npy", shape) for name in ("train", "valid"))
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE, fused=True)
    steps = plain_steps(model, loss, train, settings, optimizer, CLIP)

    def run(step_count: int = 0, validate: int = 0) -> float | None:
        steps(step_count)
        losses = []
        for index, pair in enumerate(valid[:validate]):
            with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=settings.precision == "bf16"):
                losses.append(float(loss(*pair, index == 0)))
        return sum(losses) / len(losses) if losses else None

    return run


def lstm(options: Options) -> Iterator[Row]:
    """LSTMs of two widths: speed, memory, and validation loss after the same steps from the same weights."""
    import numpy as np

    for name, ids in zip(("train", "valid"), word_ids(options), strict=True):
        np.save(options.folder / f"{name}.npy", ids)
    for width in WIDTHS:
        programs = {}
        for precision in precisions():
            settings = Settings(options.threads, precision)
            programs[f"ours {precision}"] = Program(our_lstm, settings)
            programs[f"torch {precision}"] = Program(plain_lstm, settings, "torch")
        steps = options.choose(6 if width == WIDTHS[0] else 3, 20)
        with Comparison(programs, folder=str(options.folder), width=width) as comparison:
            measured = comparison.measure(options.choose(3, 12), step_count=steps)
            scored = comparison.measure(0, validate=options.choose(20, 90))
        yield from _lstm_rows(measured, scored, width, steps * RECURRENT.batch_size * RECURRENT.length)


def _lstm_rows(
    measured: dict[str, Measurement], scored: dict[str, Measurement], width: int, tokens: int
) -> Iterator[Row]:
    for precision in precisions():
        name = f"LSTM 2 x {width}, training, {precision}: torch"
        ours, peer = f"ours {precision}", f"torch {precision}"
        yield speed_row(name, measured[ours], measured.get(peer), tokens, "tokens/s", TARGET)
        yield memory_row(name, measured[ours], measured.get(peer), 1.0)
        losses = [scored[side].result if side in scored else None for side in (ours, peer)]
        label, unit = f"{name}, validation loss", "nats/word"
        yield make_row(label, losses[0], losses[1], unit, LOSS_TARGET, lower_is_better=True, quality=True)
    if "ours bf16" in measured:
        name = f"LSTM 2 x {width}, training: torch float32"
        pair = measured["ours bf16"], measured.get("torch float32")
        yield speed_row(name, *pair, tokens, "tokens/s", BF16_TARGET if width == WIDTHS[0] else TARGET, "bf16")


PARTS: dict[str, Part] = {"training": training, "lstm": lstm, "generation": generation}
