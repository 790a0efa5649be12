"""The memory of Transformer-XL: bits per byte over the length of its segment recurrence."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.harness import Options, Part, Row, make_row

LENGTHS = (4, 8, 16, 32, 64, 128)
TRAINED = 16  # tokens of a segment and of the memory in training; a document of the world has three times as many


def segment_recurrence(options: Options) -> Iterator[Row]:
    """One model, trained with a short memory; its score at each length beside the score without memory."""
    import firth

    settings = {
        "batching.length": TRAINED, "batching.batch_size": 32, "backbone.memory.length": TRAINED,
        "train.budget": f"{options.choose(400, 1000)} steps", "train.evaluate_every": 200,
        "train.threads": options.threads,
    }  # fmt: skip
    model = firth.train("transformer-xl:tiny", text="world", out=options.folder / "run", settings=settings)
    bits = {}
    for length in (0, *LENGTHS):
        model.set_memory_length(length)
        bits[length] = model.bits_per_byte()
    for length in LENGTHS:
        name = f"Transformer-XL, memory of {length} tokens: none"
        yield make_row(name, bits[length], bits[0], "bits/byte", lower_is_better=True, quality=True)


PARTS: dict[str, Part] = {"segment-recurrence": segment_recurrence}
