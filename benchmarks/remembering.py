"""What a memory is worth: bits per byte of a small Transformer-XL that looks back further and further."""

from __future__ import annotations

import tempfile

from sides import row

MEMORIES = (4, 8, 16, 32, 64, 128)
TRAINED = 16  # tokens of a row, and of the memory in training: a document of the world has three times as many


def memory(rounds: int) -> list[dict]:
    """One model, trained with a short memory; scored with each length beside the score without any."""
    import firth

    settings = {
        "batching.length": TRAINED, "batching.rows": 32, "backbone.memory": TRAINED,
        "train.budget": f"{200 * rounds} steps", "train.evaluate": 200,
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        model = firth.train("transformer-xl:tiny", text="world", out=f"{folder}/run", settings=settings)
        bits = {}
        for length in (0, *MEMORIES):
            model.remember(length)
            bits[length] = model.bits_per_byte()
    return [
        row(f"Transformer-XL, {length} remembered (peer: none)", bits[length], bits[0], None, "bits/byte", faster=False)
        for length in MEMORIES
    ]
