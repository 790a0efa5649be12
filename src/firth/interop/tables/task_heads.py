"""Heads of labelled tasks that Hugging Face names alike in several model families: spans of answers, choices."""

from __future__ import annotations

from firth.config import schema
from firth.interop.config_fields import Fields
from firth.interop.model_family import Names, imported_task
from firth.interop.tensor_steps import Conversion, layer

_SPANS = "qa_outputs.weight"
_QUESTION_TOKENS, _STRIDE = 384, 128  # of a row and of the step from one to the next, as transformers' examples have


def read_task(
    fields: Fields, names: Names, token_input: schema.TokenInput, stack: schema.Transformer, layout: schema.Layout
) -> schema.Neural | None:
    """The configuration of extractive question answering or multiple choice, if the folder has such a head."""
    if _SPANS in names:
        length = min(stack.context, _QUESTION_TOKENS)
        batching = schema.QuestionContext(length=length, stride=min(_STRIDE, max(1, length // 3)), layout=layout)
        return imported_task(batching, token_input, stack, schema.SpanHead(), schema.Questions(text=()))
    if str(next(iter(fields.get("architectures", [])), "")).endswith("ForMultipleChoice"):
        rows = schema.ChoiceRows(length=stack.context, layout=layout)
        return imported_task(rows, token_input, stack, schema.ChoiceHead(), schema.ChoiceQuestions(text=()))
    return None


def task_class(head: schema.Head) -> str:
    """The end of the class's name for such a head; empty for others."""
    classes = {schema.SpanHead: "ForQuestionAnswering", schema.ChoiceHead: "ForMultipleChoice"}
    return classes.get(type(head), "")


def task_conversions(head: schema.Head, pooler: str) -> list[Conversion]:
    """The tensors of such a head; `pooler` is the name of the dense layer before the score of a choice."""
    if isinstance(head, schema.SpanHead):
        return layer("head.classifier", "qa_outputs")
    return [*layer("head.pooler", pooler), *layer("head.classifier", "classifier")]
