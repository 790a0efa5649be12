"""Heads of labelled tasks that Hugging Face names alike in several model families: spans of answers, tags, choices."""

from __future__ import annotations

from firth.config import schema
from firth.interop.config_fields import Fields
from firth.interop.label_names import read_labels, tag_layer
from firth.interop.model_family import Names, imported_task
from firth.interop.tensor_steps import Conversion, layer

_SPANS = "qa_outputs.weight"
_QUESTION_TOKENS, _STRIDE = 384, 128  # of a row and of the step from one to the next, as transformers' examples have
_CLASSES: dict[type, str] = {
    schema.SpanHead: "ForQuestionAnswering",
    schema.TaggingHead: "ForTokenClassification",
    schema.ChoiceHead: "ForMultipleChoice",
}


def read_task(
    fields: Fields, names: Names, token_input: schema.TokenInput, stack: schema.Transformer, layout: schema.Layout
) -> schema.Neural | None:
    """The configuration of extractive question answering, tagging or multiple choice, if the folder has such a head."""
    name = fields.architecture
    if _SPANS in names:
        length = min(stack.context, _QUESTION_TOKENS)
        batching = schema.QuestionContext(length=length, stride=min(_STRIDE, max(1, length // 3)), layout=layout)
        return imported_task(batching, token_input, stack, schema.SpanHead(), schema.Questions(text=()))
    if name.endswith("ForTokenClassification"):
        sentences = schema.SubwordRows(length=stack.context, layout=layout)
        data = schema.TaggedWords(text=(), layers=(tag_layer(read_labels(fields)),))
        return imported_task(sentences, token_input, stack, schema.TaggingHead(decoder="softmax"), data)
    if name.endswith("ForMultipleChoice"):
        rows = schema.ChoiceRows(length=stack.context, layout=layout)
        return imported_task(rows, token_input, stack, schema.ChoiceHead(), schema.ChoiceQuestions(text=()))
    return None


def task_class(head: schema.Head) -> str:
    """The end of the class's name for such a head; empty for others."""
    return _CLASSES.get(type(head), "")


def task_conversions(config: schema.Neural, pooler: str = "") -> list[Conversion]:
    """The tensors of such a head; `pooler` is the name of the dense layer before the score of a choice."""
    if isinstance(config.head, schema.SpanHead):
        return layer("head.classifier", "qa_outputs")
    if isinstance(config.head, schema.TaggingHead):
        layers = config.data.layers if isinstance(config.data, schema.TaggedWords) else ()
        return [each for name in layers for each in layer(f"head.emission.{name}", "classifier")]
    return [*layer("head.pooler", pooler), *layer("head.classifier", "classifier")]
