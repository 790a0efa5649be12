"""Templates of prompts, and the examples that fill them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.datasets import readers
from firth.datasets.prompt_templates import Example, examples, parse_template
from firth.datasets.records import Analogy, Labelled, Pair, Row, Tree
from firth.errors import FirthError

TEXT = st.text(st.sampled_from("ab {}\n:!.é"), max_size=12)
REVIEW = parse_template("Review: {text}\nFeeling: {label}.")


def escaped(text):
    return text.replace("{", "{{").replace("}", "}}")


@given(TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT)
def test_a_template_is_filled_as_python_would_fill_it(first, second, third, tail, a, b, words):
    text = f"{escaped(first)}{{a}}{escaped(second)}{{b}}{escaped(third)}{{label}}{escaped(tail)}"
    form, example = parse_template(text), Example({"a": a, "b": b}, "x")
    assert form.with_label(example, words) == text.format(a=a, b=b, label=words)
    assert form.with_label(example, words) == form.prompt(example) + words + tail
    assert (form.columns, form.cue, form.tail) == (("a", "b"), third.lstrip(), tail)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Review: {text}", r"no {label} in the template; write it as"),
        ("{label} or {label}", r"{label} more than once in the template"),
        ("{label}: {text}", r"{text} after {label}: a causal language model cannot attend to it"),
        ("{text} { {label}", "a { or } without its other half; write {{ and }} for braces"),
        ("{text} } {label}", "a { or } without its other half"),
        ("{} {label}", "cannot read {} in the template; write the name of a column"),
        ("{text!r} {label}", "cannot read {text!r} in the template"),
        ("{text:>9} {label}", "cannot read {text:>9} in the template"),
    ],
)
def test_bad_templates_are_refused(text, said):
    with pytest.raises(FirthError) as error:
        parse_template(text)
    assert said in str(error.value)


# --- examples -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "record",
    [
        Row(("fine", "good"), 3, ("text", "label")),
        Row(("good", "fine"), 3, ("Label", "TEXT")),
        Row(("good", "fine", "more"), 3, ("class", "sentence", "id")),  # names that are often used for them
        Labelled("fine", ("good",), 3),
        Tree("good", (Tree("1", word="fine"),)),
        {"text": "fine", "label": "good", "more": 1},
    ],
)
def test_examples_come_from_all_kinds_of_records(record):
    assert examples([record], REVIEW) == [Example({"text": "fine"}, "good")]


def test_columns_can_be_chosen_by_name_or_number():
    pair = parse_template("{left} {right}: {label}")
    assert examples([Pair("a", "b", "yes")], pair) == [Example({"left": "a", "right": "b"}, "yes")]
    french = parse_template("{left} = {label}")
    assert examples([Pair("a", "b")], french, {"label": "right"}) == [Example({"left": "a"}, "b")]
    assert examples([Row(("a", "b"))], french, {"left": "2", "label": "1"}) == [Example({"left": "b"}, "a")]


def test_examples_of_files(tmp_path):
    contents = {
        "t.tsv": "text\tlabel\nfine\tgood\n",
        "t.csv": 'text,label\n"fine",good\n',
        "t.jsonl": '{"text": "fine", "label": "good"}\n',
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
        records = readers.guess(tmp_path / name).read(tmp_path / name)
        assert examples(records, REVIEW) == [Example({"text": "fine"}, "good")]


@pytest.mark.parametrize(
    ("record", "columns", "said"),
    [
        (Row(("a", "b"), 7, ("said", "label")), {}, "t.tsv:7: no column 'text' (there are said, label); use one of"),
        (Row(("a", "b"), 7, ("text", "label")), {"text": "no"}, "t.tsv:7: no column 'no' (there are text, label)"),
        (Row(("a", "b"), 7, ("text", "label")), {"txt": "text"}, "unknown name in the template 'txt'; did you mean"),
        (Row(("a", " "), 7, ("text", "label")), {}, "t.tsv:7: an empty label; fill it in"),
        (Labelled("a", ("x", "y"), 7), {}, "t.tsv:7: 2 labels, but a prompt needs one"),
        (Pair("a", "b", line=7), {}, "t.tsv:7: no column 'text' (there are left, right)"),
        (Analogy("", ("a", "b", "c", "d"), 7), {}, "t.tsv:7: Analogy has no columns; prompts need Row"),
    ],
)
def test_records_that_cannot_serve_are_refused(record, columns, said):
    with pytest.raises(FirthError) as error:
        examples([record], REVIEW, columns, "t.tsv")
    assert said in str(error.value)


def test_null_is_no_value_and_no_records_are_no_examples(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"text": "null", "label": null}\n')
    with pytest.raises(FirthError, match=r"no column 'label' \(there are text\)"):
        examples(readers.guess(path).read(path), REVIEW)
    with pytest.raises(FirthError, match="no examples in it"):
        examples([], REVIEW, where="t.tsv")
