"""Sentence pairs and two towers: special tokens, every example once, any batch by itself; and how tables are read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.config.schema import Neural, SentencePairs, TaskExamples, Text, Tokenizer, TwoTowers
from firth.datasets import labelled_dataset
from firth.datasets.collators.batches import make_batches
from firth.datasets.collators.sentence_pairs import build_input_sequence
from firth.datasets.example_reader import small_world
from firth.datasets.label_ids import UNKNOWN_LABEL
from firth.datasets.records import Labelled, Pair
from firth.datasets.training_data import read_training_data
from firth.errors import FirthError
from firth.runs.progress import Quiet
from firth.tokenizers.special_tokens import SpecialTokens
from firth.types import Cursor

SPECIAL = SpecialTokens(pad=0, unknown=1, start=2, end=3, mask=4, cls=5, sep=6)
CHAR = Tokenizer(model="char", vocabulary_size=100)
texts = st.lists(st.integers(7, 30), max_size=20)


@settings(max_examples=80, deadline=None)
@given(left=texts, right=texts, length=st.integers(8, 30))
def test_a_pair_has_the_special_tokens_of_bert(left, right, length):
    sequence = build_input_sequence([left, right], SentencePairs(length=length), SPECIAL)
    ids = sequence.ids.tolist()
    assert len(ids) <= length and ids[0] == 5 and ids[-1] == 6 and ids.count(6) == 2
    middle = ids.index(6)
    one, two = ids[1:middle], ids[middle + 1 : -1]
    assert one == left[: len(one)] and two == right[: len(two)]
    assert sequence.segment.tolist() == [0] * (middle + 1) + [1] * (len(two) + 1)
    if len(ids) < length:
        assert (one, two) == (left, right)
    elif len(left) + len(right) > length - 3:  # the longer one is truncated, until both are as long
        assert len(one) == len(left) or len(one) >= len(two)
        assert len(two) == len(right) or len(two) >= len(one) - 1


@settings(max_examples=40, deadline=None)
@given(left=texts, right=texts, length=st.integers(8, 30))
def test_for_causal_models_the_last_token_is_extracted(left, right, length):
    config = SentencePairs(length=length, layout="cls-last")
    pair, single = (
        build_input_sequence([left, right], config, SPECIAL).ids.tolist(),
        build_input_sequence([left], config, SPECIAL).ids.tolist(),
    )
    assert pair[0] == single[0] == 2 and pair[-1] == single[-1] == 5  # start, extract
    assert pair.count(6) == 1 and single[1:-1] == left[: length - 2]  # delimiter
    assert not build_input_sequence([left], config, SPECIAL).segment.any()


def rows(count=50):
    random = np.random.default_rng(0)
    made = ("".join(random.choice(list("abcdef"), random.integers(1, 12))) for _ in range(2 * count))
    return list(zip(made, made, strict=True))


def training_data(tmp_path, name, lines, batching, data=None, **more):
    path = Path(tmp_path, name)
    path.write_text("\n".join(lines) + "\n")
    data = data or TaskExamples(text=(str(path),), **{"valid_fraction": 0.2, "test_fraction": 0.2, **more})
    config = Neural(data=data, tokenizer=CHAR, batching=batching)
    tokenizers, splits = read_training_data(config, {}, tmp_path / "cache", Quiet())
    return tokenizers["text"], splits


def test_every_labelled_example_is_read_once_an_epoch(tmp_path):
    lines = ["text\tlabel", *(f"{one}\t{'xyz'[n % 3]}" for n, (one, _) in enumerate(rows()))]
    config = SentencePairs(batch_size=7, length=10)
    tokenizer, splits = training_data(tmp_path, "t.tsv", lines, config)
    split = splits["train"]
    assert set(split.label_names) == set("xyz") and split.metadata == {"labels": list(split.label_names), "parts": 1}
    expected = sorted(
        (tokenizer.decode(split.texts(n)[0].tolist())[:8], split.label_names[split.labels[n]])
        for n in range(len(split))
    )

    def read(parts):
        examples = []
        for batch in parts:
            text, target = batch.streams["text"], batch.targets["label"]
            assert target.weight.all() and text.segment is None
            for ids, mask, label in zip(text.ids, text.mask, target.values, strict=True):
                examples.append((tokenizer.decode(ids[mask][1:-1].tolist()), split.label_names[label]))
        return sorted(examples)

    made = make_batches(config, split, tokenizer.special, seed=3)
    for epoch in (0, 1):
        parts = [made.batch(Cursor(epoch, index)) for index in range(made.count(epoch))]
        assert read(parts) == expected and sorted(part.size for part in parts)[1:] == [7] * (len(parts) - 1)
    assert read(made.evaluation_batches()) == expected
    again = make_batches(config, split, tokenizer.special, seed=3).batch(Cursor(1, 2))  # by itself, in another order
    assert (again.streams["text"].ids == made.batch(Cursor(1, 2)).streams["text"].ids).all()
    other = make_batches(config, split, tokenizer.special, seed=4)
    pairs = [[each.batch(Cursor(1, n)).streams["text"].ids for each in (made, other)] for n in range(3)]
    assert any(not np.array_equal(one, two) for one, two in pairs)


def test_a_label_that_training_does_not_have_weighs_nothing(tmp_path):
    Path(tmp_path, "v.tsv").write_text("text\tlabel\nab\tnew\ncd\tx\n")
    lines = ["text\tlabel", *(f"{one}\t{'xy'[n % 2]}" for n, (one, _) in enumerate(rows()))]
    tokenizer, splits = training_data(tmp_path, "t.tsv", lines, SentencePairs(), valid=(str(tmp_path / "v.tsv"),))
    assert splits["valid"].labels.tolist() == [UNKNOWN_LABEL, splits["valid"].label_names.index("x")]
    (batch,) = make_batches(SentencePairs(), splits["valid"], tokenizer.special, 0).evaluation_batches()
    assert sorted(batch.targets["label"].weight.tolist()) == [0.0, 1.0]


@pytest.mark.parametrize(
    ("lines", "config", "is_positive"),
    [
        ([f"{one}\t{two}" for one, two in rows()], TwoTowers(), lambda n: True),
        (
            [f"{one}\t{two}\t{n % 6}" for n, (one, two) in enumerate(rows())],
            TwoTowers(min_score=3),
            lambda n: n % 6 >= 3,
        ),
        (
            ["left\tright\tlabel", *(f"{one}\t{two}\t{'yn'[n % 2]}" for n, (one, two) in enumerate(rows()))],
            TwoTowers(positive_labels=("y",)),
            lambda n: n % 2 == 0,
        ),
    ],
)
def test_positive_pairs_are_left_and_right_of_a_row(tmp_path, lines, config, is_positive):
    kinds = ("similarity", "pairs", "translation")
    tokenizer, splits = training_data(tmp_path, "p.tsv", lines, config, tasks=kinds)
    pairs = set()
    for split in splits.values():
        for batch in make_batches(config, split, tokenizer.special, 0).evaluation_batches():
            sides = [batch.streams[name] for name in ("left", "right")]
            for parts in zip(sides[0].ids, sides[0].mask, sides[1].ids, sides[1].mask, strict=True):
                one, two = (tokenizer.decode(parts[at][parts[at + 1]][1:-1].tolist()) for at in (0, 2))
                pairs.add((one, two))
    assert pairs == {pair for n, pair in enumerate(rows()) if is_positive(n)}


def test_plain_text_is_its_own_partner(tmp_path):
    data = Text(text=(str(tmp_path / "t.txt"),), document="line", valid_fraction=0.1, test_fraction=0.1)
    tokenizer, splits = training_data(tmp_path, "t.txt", [one for one, _ in rows()], TwoTowers(), data)
    for batch in make_batches(TwoTowers(batch_size=8), splits["train"], tokenizer.special, 0).evaluation_batches():
        assert (batch.streams["left"].ids == batch.streams["right"].ids).all()


@pytest.mark.parametrize(
    ("lines", "batching", "more", "message"),
    [
        (
            ["text\tlabel", "a\tx", "b\tx", "c\tx", "d\tx"],
            SentencePairs(),
            {},
            r"1 label in the training examples \(x\)",
        ),
        (["a\tx", "b\ty", "c\tx"], SentencePairs(), {}, r"no column 'text' .*data.columns=text=1,label=2"),
        (["a\tb", "c\td", "e\tf"], SentencePairs(), {"tasks": ("translation",)}, "no labels to train on"),
        (
            ["left\tright\tlabel", *["a\tb\tx"] * 9],
            TwoTowers(),
            {"tasks": ("pairs",)},
            "no label is named as positive.*positive_labels=x",
        ),
        (
            [f"a\tb\t{n % 3}" for n in range(9)],
            TwoTowers(),
            {"tasks": ("similarity",)},
            "no pairs with a score of at lea",
        ),
        (["text\tlabel", "a\tx", "b\t", "c\tx"], SentencePairs(), {}, "an empty label"),
        (["a\tb", "c\td", "e\tf"], TwoTowers(), {"tasks": ("guessing",)}, "unknown task 'guessing'"),
        (["a\tb", "c\td", "e\tf"], TwoTowers(), {"tasks": ()}, "no task is named"),
    ],
)
def test_examples_that_cannot_be_used_are_refused(tmp_path, lines, batching, more, message):
    with pytest.raises(FirthError, match=message):
        tokenizer, splits = training_data(tmp_path, "t.tsv", lines, batching, **more)
        make_batches(batching, splits["train"], tokenizer.special, 0).count(0)


def test_several_labels_and_mixed_examples_are_refused(tmp_path):
    lines = ["__label__a __label__b text", "__label__a more", "__label__b other", "__label__b last"]
    with pytest.raises(FirthError, match=r"a text with 2 labels \(a, b\)"):
        training_data(tmp_path, "t.ft", lines, SentencePairs(), valid_fraction=0.0, test_fraction=0.0)
    with pytest.raises(FirthError, match="some examples are single texts and some are pairs"):
        labelled_dataset.make_split("given", [Labelled("a", ("x",)), Pair("a", "b", "x")])
    one, two = (labelled_dataset.make_split("given", [Pair("a", "b", "x", score)]) for score in (1.0, 2.0))
    assert one.key != two.key


def test_the_world_stands_for_what_it_has_for_the_task():
    result = small_world("similarity", "valid")
    assert all(isinstance(each, Pair) and each.score is not None for each in result)
    with pytest.raises(FirthError, match="unknown task of the world 'guess'"):
        small_world("guess", "valid")
