"""Columns and tagging schemes: bytes in and out, conversion there and back, seqeval and brute force as oracles."""

from __future__ import annotations

from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.datasets import numbered_lines
from firth.datasets.readers import tag_schemes
from firth.datasets.readers.columns import Columns
from firth.datasets.readers.tag_schemes import Span
from firth.errors import FirthError

GOOD = (
    "-DOCSTART- -X- O O\n\nAnna NNP I-NP I-PER\nsings VBZ I-VP O\n\nShe PRP I-NP O\n\n"
    "-DOCSTART- -X- O O\n\nRio NNP I-NP I-LOC\n\n\n"
)


@pytest.mark.parametrize("text", [GOOD, GOOD.rstrip("\n"), GOOD.rstrip("\n") + "\n", GOOD.replace("\n", "\r\n")])
def test_bytes_come_back(tmp_path, text):
    old, new = tmp_path / "a", tmp_path / "b"
    old.write_bytes(text.encode())
    numbered_lines.save_lines(new, Columns().rows(Columns().read(old)), numbered_lines.detect_line_format(old))
    assert new.read_bytes() == old.read_bytes()


def test_tabs_come_back_where_they_are_asked_for(tmp_path):
    (tmp_path / "a").write_text("New York\tLOC\nis\tO\n\n")
    form = Columns(separator="tab", layers=("entity",))
    (result,) = form.read(tmp_path / "a")
    assert result.words == ("New York", "is") and "\n".join(form.rows([result])) == "New York\tLOC\nis\tO\n"
    with pytest.raises(FirthError, match="separator inside"):
        list(Columns(separator="blank").rows([result]))


def test_openings_go_with_the_next_sentence(tmp_path):
    (tmp_path / "a").write_text(GOOD)
    result = list(Columns().read(tmp_path / "a"))
    assert [bool(sentence.opening) for sentence in result] == [True, False, True]
    assert [sentence.line for sentence in result] == [3, 6, 10]
    assert result[0].words == ("Anna", "sings") and result[0].layers[2] == ("I-PER", "O")
    assert Columns().names(4) == ("pos", "chunk", "entity")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a X\nb\n", ":2: 1 column, expected 2"),
        ("a X\n\nb X Y\n", ":3: 3 columns, expected 2"),
        ("a\tX\nb\t\n", ":2: an empty column"),
        ("a X\n  \nb X\n", ":2: a line of blanks"),
        ("a X\n\n-DOCSTART- X\n", ":3: a document without a sentence"),
    ],
)
def test_bad_input_names_its_line(tmp_path, text, message):
    (tmp_path / "a").write_text(text)
    with pytest.raises(FirthError) as error:
        list(Columns().read(tmp_path / "a"))
    assert message in str(error.value)


def test_named_layers_are_demanded(tmp_path):
    (tmp_path / "a").write_text("a X Y\n")
    with pytest.raises(FirthError, match=":1: 3 columns, expected 2"):
        list(Columns(layers=("pos",)).read(tmp_path / "a"))


# --- schemes ----------------------------------------------------------------------------------------------------------

NAMES = list(tag_schemes.SCHEMES)


@st.composite
def sentences(draw):
    length = draw(st.integers(0, 9))
    cuts = sorted(draw(st.sets(st.integers(0, length), max_size=7)))
    candidates = [Span(a, b, draw(st.sampled_from(["A", "B-x", ""]))) for a, b in pairwise(cuts)]
    return length, [span for span in candidates if draw(st.booleans())]


@settings(deadline=None)
@given(sentences(), st.sampled_from(NAMES), st.sampled_from(NAMES))
def test_spans_and_schemes_there_and_back(given, old, new):
    length, spans = given
    tags = tag_schemes.spans_to_tags(spans, length, old)
    assert tag_schemes.tags_to_spans(tags) == spans
    assert tag_schemes.faults(tags, old) == []
    assert tag_schemes.convert(tag_schemes.convert(tags, new), old) == tags
    assert tag_schemes.detect([tags]) == (old if spans else None)


@pytest.mark.parametrize("scheme", NAMES)
def test_exactly_the_right_sequences_are_right(scheme):
    """All sequences of up to four tags; right are those that some set of spans is written as."""
    prefixes = sorted({"B", *tag_schemes.SCHEMES[scheme][0], *tag_schemes.SCHEMES[scheme][1]})
    tags = ["O", *(f"{prefix}-{label}" for prefix in prefixes for label in "XY")]
    for length in range(4):
        wanted = {tuple(tag_schemes.spans_to_tags(spans, length, scheme)) for spans in all_spans(length)}
        for sequence in product(tags, repeat=length):
            assert (not tag_schemes.faults(sequence, scheme)) == (sequence in wanted)


def all_spans(length: int, start: int = 0):
    """Every set of spans that do not overlap, labels X and Y."""
    if start >= length:
        yield []
        return
    yield from all_spans(length, start + 1)
    for end, label in product(range(start + 1, length + 1), "XY"):
        for rest in all_spans(length, end):
            yield [Span(start, end, label), *rest]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(["O", *(f"{a}-{b}" for a in "BIES" for b in ("X", "Y"))]), max_size=8))
def test_seqeval_finds_the_same_spans_even_in_wrong_sequences(tags):
    labeling = pytest.importorskip("seqeval.metrics.sequence_labeling")
    theirs = [Span(start, end + 1, label) for label, start, end in labeling.get_entities(tags)]
    assert tag_schemes.tags_to_spans(tags) == theirs


def test_faults_say_what_was_expected():
    assert tag_schemes.faults(["O", "I-PER"], "bio") == [(1, "'I-PER' between O and the end in iob2, expected 'B-PER'")]
    assert tag_schemes.faults(["B-PER", "O"], "iob1") == [
        (0, "'B-PER' between the beginning and O in iob1, expected 'I-PER'")
    ]
    assert tag_schemes.faults(["X-PER"], "bioes") == [(0, "'X-PER' is not a tag of bioes")]
    assert tag_schemes.detect([["B-A"], ["I-A"]]) is None
    with pytest.raises(FirthError, match="unknown tagging scheme"):
        tag_schemes.scheme_name("bix")
    with pytest.raises(FirthError, match="overlaps"):
        tag_schemes.spans_to_tags([Span(0, 2, "A"), Span(1, 3, "A")], 3, "bio")


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200) | st.text(alphabet="ab \t\n\r-DOCSTART", max_size=200).map(str.encode))
def test_only_errors_meant_for_users(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "fuzz.conll"
    path.write_bytes(content)
    try:
        for sentence in Columns().read(path):
            assert all(len(layer) == len(sentence.words) > 0 for layer in sentence.layers)
    except FirthError as error:
        assert "\n" not in str(error)
