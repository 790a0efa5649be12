"""Transformer encoders: BERT training and encoding, long attention (Longformer), Reformer; against transformers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from benchmarks.harness import Options, Part, Row, Settings, is_installed, load_row, memory_row, speed_row
from benchmarks.processes import Comparison, Program, compare
from benchmarks.steps import STEPS, FixedBatches, our_steps, plain_steps, precisions, prepare_torch, train_config
from benchmarks.transformers_long import longformer, reformer

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from firth.config import schema

VOCABULARY, MASK, MASK_PROBABILITY = 8000, 4, 0.15
BATCH, LENGTH = 16, 128
SMALL = {"width": 256, "depth": 4, "heads": 4}  # the trained model
ENCODER = {"width": 384, "depth": 6, "heads": 12}  # the size of a small sentence encoder
TEXTS = 32  # of an encoded batch


# --- the models ---


def our_config(width: int, depth: int, heads: int) -> schema.Neural:
    """BERT."""
    from firth.config import schema

    backbone = schema.Transformer(
        width=width, depth=depth, heads=heads, mask="bidirectional", context=512,
        feedforward=schema.FeedForward(activation="gelu"),
        norm=schema.LayerNorm(placement="post", embeddings=True, epsilon=1e-12),
    )  # fmt: skip
    return schema.Neural(
        batching=schema.SegmentPairs(batch_size=BATCH, length=LENGTH),
        inputs=schema.Inputs(text=schema.TokenInput(segments=2)),
        backbone=backbone, head=schema.LMHead(transform=True), objective=schema.MaskedLM(),
    )  # fmt: skip


def their_bert(kind: str, width: int, depth: int, heads: int) -> Any:
    """The same by transformers."""
    import transformers

    config = transformers.BertConfig(
        vocab_size=VOCABULARY, hidden_size=width, num_hidden_layers=depth, num_attention_heads=heads,
        intermediate_size=4 * width, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        position_embedding_type="absolute",  # CTranslate2's converter asks for it
    )  # fmt: skip
    return getattr(transformers, kind)(config)


# --- masked language modelling ---


def masked_batches() -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Masked ids, original ids, and where they are masked; each (batch, length)."""
    import numpy as np

    rng = np.random.default_rng(0)
    text = (rng.zipf(1.2, (32, BATCH, LENGTH)) % (VOCABULARY - 10) + 10).astype(np.int64)
    masked = rng.random(text.shape) < MASK_PROBABILITY
    return list(zip(np.where(masked, MASK, text), text, masked, strict=True))


def our_training(settings: Settings) -> Callable[..., None]:
    """Our trainer."""
    import numpy as np

    from firth.models.build import build
    from firth.types import Batch, Target, Tokens

    made = masked_batches()

    def batch(index: int) -> Batch:
        ids, values, masked = made[index]
        targets = {"text": Target(values, masked.astype(np.float32))}
        return Batch({"text": Tokens(ids, np.ones(ids.shape, bool))}, targets)

    system = build(our_config(**SMALL), VOCABULARY)
    return our_steps(system, train_config(settings.precision), FixedBatches(len(made), batch), settings)


def their_training(settings: Settings) -> Callable[..., None]:
    """BertForMaskedLM with its own loss."""
    import numpy as np
    import torch

    prepare_torch(settings)
    model = their_bert("BertForMaskedLM", **SMALL).train()
    batches = [
        (torch.from_numpy(ids), torch.from_numpy(np.where(masked, values, -100)))
        for ids, values, masked in masked_batches()
    ]
    return plain_steps(model, lambda ids, labels: model(input_ids=ids, labels=labels).loss, batches, settings)


def masked_lm(options: Options) -> Iterator[Row]:
    """Tokens per second of BERT's training, memory and load time."""
    programs = {}
    for precision in precisions():
        settings = Settings(options.threads, precision)
        programs[f"ours {precision}"] = Program(our_training, settings)
        programs[f"peer {precision}"] = Program(their_training, settings, "transformers")
    measured = compare(programs, options.choose(2, 5))
    for precision in precisions():
        name = f"BERT {SMALL['depth']} x {SMALL['width']}, masked LM training, {precision}: transformers"
        pair = measured[f"ours {precision}"], measured.get(f"peer {precision}")
        yield speed_row(name, *pair, STEPS * BATCH * LENGTH, "tokens/s", 1.25)
        yield memory_row(name, *pair, 1.0)
        yield load_row(name, *pair)


# --- encoding texts ---


def random_texts(ragged: bool) -> tuple[Tensor, Tensor]:
    """Ids and mask (texts, longest): texts of one length, or of lengths as sentences have."""
    import numpy as np
    import torch

    rng = np.random.default_rng(0)
    sizes = np.clip(rng.lognormal(3.3, 0.6, TEXTS), 5, LENGTH).astype(int) if ragged else np.full(TEXTS, LENGTH)
    mask = torch.from_numpy(np.arange(sizes.max()) < sizes[:, None])
    return torch.from_numpy(rng.integers(10, VOCABULARY, mask.shape)) * mask, mask


def our_encoding(settings: Settings, folder: str) -> Callable[..., None]:
    """Hidden states, without gradients."""
    import torch

    from firth.models.build import build
    from firth.types import Batch, Tokens

    torch.set_num_threads(settings.threads)
    system = build(our_config(**ENCODER), VOCABULARY).eval()

    @torch.inference_mode()
    def run(ragged: bool, passes: int) -> None:
        ids, mask = random_texts(ragged)
        for _ in range(passes):
            system.encode(Batch({"text": Tokens(ids, mask)}, {}))

    return run


def their_encoding(settings: Settings, folder: str) -> Callable[..., None]:
    """The same by transformers."""
    import torch

    prepare_torch(settings)
    model = their_bert("BertModel", **ENCODER).eval()

    @torch.inference_mode()
    def run(ragged: bool, passes: int) -> None:
        ids, mask = random_texts(ragged)
        for _ in range(passes):
            model(input_ids=ids, attention_mask=mask.long())

    return run


def ctranslate2_encoding(settings: Settings, folder: str) -> Callable[..., None]:
    """The same by CTranslate2, which leaves padding out too."""
    import ctranslate2

    model = ctranslate2.Encoder(folder, intra_threads=settings.threads, compute_type=settings.precision)

    def run(ragged: bool, passes: int) -> None:
        ids, mask = random_texts(ragged)
        rows = [row[real].tolist() for row, real in zip(ids, mask, strict=True)]
        for _ in range(passes):
            model.forward_batch(rows)

    return run


def encoding(options: Options) -> Iterator[Row]:
    """Texts per second of BERT without gradients: texts of equal lengths, and of many, where padding is left out."""
    from benchmarks.pretrained import save_ctranslate2, save_hugging_face

    folder = options.folder / "bert"
    if is_installed("transformers"):
        save_hugging_face(their_bert("BertModel", **ENCODER), folder / "model")
        save_ctranslate2(folder / "model", folder / "ctranslate2")
    settings = Settings(options.threads)
    programs = {
        "ours": Program(our_encoding, settings),
        "transformers": Program(their_encoding, settings, "transformers"),
        "ctranslate2": Program(ctranslate2_encoding, settings, "ctranslate2"),
    }
    passes = options.choose(1, 4)  # of a round
    with Comparison(programs, folder=str(folder / "ctranslate2")) as comparison:
        for ragged, lengths, target in ((False, "equal lengths", 1.0), (True, "ragged lengths", 1.5)):
            measured = comparison.measure(options.choose(3, 5), ragged=ragged, passes=passes)
            for peer in ("transformers", "ctranslate2"):
                name = f"BERT {ENCODER['depth']} x {ENCODER['width']}, encoding, {lengths}: {peer}"
                pair = measured["ours"], measured.get(peer)
                yield speed_row(name, *pair, passes * TEXTS, "texts/s", target if peer == "transformers" else None)
                if not ragged:
                    yield memory_row(name, *pair)
                    yield load_row(name, *pair)


PARTS: dict[str, Part] = {
    "masked-lm": masked_lm,
    "encoding": encoding,
    "longformer": longformer,
    "reformer": reformer,
}
