"""Conversation: decoders and encoder-decoders that learn the replies of dialogues."""

from __future__ import annotations

from dataclasses import replace

from firth.config.schema import DialogueRows, Dialogues, Neural, SourceTarget
from firth.presets.transformer import TRANSFORMER_LM_SIZES
from firth.presets.translation import MODERN_SIZES


def _decoder(base: Neural, batching: DialogueRows, rate: float, budget: str) -> Neural:
    train = replace(base.train, budget=budget, optimizer=replace(base.train.optimizer, learning_rate=rate))
    return replace(base, data=Dialogues(), batching=batching, train=train)


CHAT_LM_SIZES = {
    "tiny": _decoder(TRANSFORMER_LM_SIZES["tiny"], DialogueRows(tokens_per_batch=1024, length=256), 3e-3, "5m"),
    "small": _decoder(TRANSFORMER_LM_SIZES["small"], DialogueRows(tokens_per_batch=4096, length=512), 1e-3, "20m"),
}
CHAT_SEQ2SEQ_SIZES = {
    size: replace(MODERN_SIZES[size], data=Dialogues(), batching=SourceTarget(tokens_per_batch=tokens, length=length))
    for size, tokens, length in (("tiny", 2048, 256), ("small", 4096, 512))
}
