"""The input layout of whole texts for a pre-trained network: sequence length, position of [CLS], pooling."""

from __future__ import annotations

from dataclasses import replace

from firth.config import schema
from firth.objectives.requirements import is_causal

FIXED_POSITIONS = (schema.LearnedPositions, schema.AxialPositions)  # position encodings with a maximum length
_OF_TEXTS = (
    schema.SentencePairs,
    schema.TwoTowers,
    schema.QuestionContext,
    schema.ChoiceRows,
    schema.SubwordRows,
)


def adapt_batching(config: schema.Neural, backbone: schema.Backbone) -> schema.Neural:
    """A preset on whole texts for a pre-trained network: sequences within its number of positions; with causal
    attention [CLS] comes last, and a text's or word's state is that of its last token."""
    batching, head = config.batching, config.head
    if not isinstance(batching, (*_OF_TEXTS, schema.DialogueRows)):
        return config
    stack = backbone.encoder if isinstance(backbone, schema.EncoderDecoder) else backbone
    if isinstance(stack, schema.Transformer) and isinstance(stack.positions, FIXED_POSITIONS):
        batching = replace(batching, length=min(batching.length, stack.context))
    if isinstance(backbone, schema.EncoderDecoder) and head.pooling == "first":
        head = replace(head, pooling="last")  # BART; the first state of a decoder has read the text, but not twice
    if is_causal(backbone) and isinstance(batching, _OF_TEXTS):
        batching = replace(batching, layout="cls-last")
        batching = replace(batching, question_with="context") if isinstance(batching, schema.ChoiceRows) else batching
        head = replace(head, pooling="last") if head.pooling == "first" else head
        head = replace(head, subwords="last") if isinstance(head, schema.TaggingHead) else head
    return replace(config, batching=batching, head=head)
