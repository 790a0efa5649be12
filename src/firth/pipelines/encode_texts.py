"""Encoding of whole texts in batches of similar length; a text's result does not depend on the others in its batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from firth.config import schema
from firth.datasets.collators.sentence_pairs import InputSequence, build_input_sequence, pad_examples, sequences_of
from firth.models.build import System
from firth.tokenizers.special_tokens import SpecialTokens
from firth.tokenizers.tokenizer import Tokenizer
from firth.training.loop import autocast
from firth.types import Batch, Encoded

MAX_BATCH_TOKENS = 8192  # padding counted


@torch.no_grad()
def encode_texts(
    system: System,
    examples: Sequence[Sequence[InputSequence]],
    special: SpecialTokens,
    train: schema.Train,
    head: Callable[[Encoded], Tensor],
    *,
    segments: bool = False,
) -> np.ndarray:
    """The output of `head` for each example of one or more sequences (examples, …); it maps the hidden states of a
    batch to its outputs."""
    outputs: list[Tensor] = []
    order: list[int] = []
    for indices in group_by_length([max(len(sequence.ids) for sequence in example) for example in examples]):
        text = pad_examples([examples[index] for index in indices], special, segments=segments)
        with autocast(train):
            outputs.append(head(system.encode(Batch({"text": text}, {}).to("cpu"))).float())
        order += indices
    values = torch.cat(outputs).numpy()
    in_order = np.empty_like(values)
    in_order[order] = values
    return in_order


def build_inputs(
    texts: Sequence[Sequence[str]], tokenizer: Tokenizer, config: schema.SentencePairs | schema.TwoTowers
) -> list[list[InputSequence]]:
    """The sequences of each example, texts or pairs of texts with the special tokens that the network was trained
    with."""
    counts = [len(sides) for sides in texts]
    ids = iter(tokenizer.encode_batch([text for sides in texts for text in sides]))
    examples = ([next(ids) for _ in range(count)] for count in counts)
    return [
        [build_input_sequence(sides, config, tokenizer.special) for sides in sequences_of(example, config)]
        for example in examples
    ]


def group_by_length(lengths: Sequence[int]) -> list[list[int]]:
    """Indices of sequences to encode together: of similar length, within a budget of tokens."""
    groups: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if not groups or (len(groups[-1]) + 1) * lengths[index] > MAX_BATCH_TOKENS:
            groups.append([])
        groups[-1].append(index)
    return groups
