"""The table of splits: aligned, one example each, warnings that say what to do."""

from __future__ import annotations

from firth.config.schema import Text, Tokenizer
from firth.datasets.text_dataset import Part, documents, make_tokenizer, shorten, table, tokenise_splits, warnings

TRAIN = Part("train", 1900, 250_000, 1_000_000, "Once\nupon  a time")


def test_columns_are_aligned_and_examples_short():
    rows = table([TRAIN, Part("valid", 5, 20, 1000, "x" * 100)])
    assert rows == [
        'train  1,900 documents  250,000 tokens  1,000,000 bytes  "Once upon a time"',
        f'valid      5 documents       20 tokens      1,000 bytes  "{"x" * 59}…"',
    ]
    assert len(shorten("a b " * 1000)) == 62


def test_small_parts_are_warned_about_in_one_line():
    good = Part("valid", 20, 2000, 8000, "")
    assert warnings([TRAIN, good, good]) == []
    assert warnings([TRAIN, good, Part("test", 19, 5000, 8000, "")]) == [
        "warning: test is small (19 documents with 5,000 tokens): its scores are imprecise; "
        "give more text, raise data.test_fraction, or use --test"
    ]
    both = warnings([TRAIN, Part("valid", 3, 9, 80, "", own_files=True), Part("test", 30, 1999, 80, "")])
    assert both == [
        "warning: valid and test are small (3 documents with 9 tokens, 30 documents with 1,999 tokens): their scores "
        "are imprecise; give more text, raise data.test_fraction, or use --valid and --test"
    ]
    assert warnings([TRAIN._replace(tokens=100), good]) == ["warning: only 100 tokens to train on; give more text"]


def test_examples_are_counted_not_their_tokens():
    assert warnings([TRAIN, Part("valid", 20, 100, 500, "")], "examples") == []
    assert "19 examples" in warnings([TRAIN, Part("valid", 19, 100, 500, "")], "examples")[0]


def test_large_parts_are_warned_about():
    large = Part("valid", 2000, 9_000_000, 20_000_000, "")
    assert warnings([TRAIN._replace(bytes=10**9), large]) == [
        "warning: valid is large (20,000,000 bytes), so every score takes long; "
        "lower data.valid_fraction or data.max_heldout"
    ]
    assert warnings([TRAIN, large._replace(bytes=2_000_000, own_files=True)]) == [
        "warning: valid is larger than the training text; give a smaller --valid"
    ]


def test_a_limit_is_said(tmp_path):
    (tmp_path / "text.txt").write_text("\n".join(f"This is line {number} of many." for number in range(5000)))
    config = Text(text=(str(tmp_path / "text.txt"),), max_heldout=2000, test_fraction=0.01)
    parts, said = documents(config, 1, tmp_path), []
    tokenizer = make_tokenizer(Tokenizer(model="char"), parts["train"])
    tokenise_splits(parts, tokenizer, tmp_path, said.append)
    assert said[0].startswith("train  4,") and said[0].endswith('of many."')
    assert [line.split()[0] for line in said[:3]] == ["train", "valid", "test"]
    assert said[-1] == "valid is limited to 2,000 bytes (data.max_heldout)"
