"""Rows for examples of tasks: what stands where, every example once, any batch by itself; and how tables are read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.config.schema import Apart, Joined, Neural, TaskExamples, Text, Tokenizer
from firth.data import examples
from firth.data.batches.examples import framed
from firth.data.batching import batches
from firth.data.material import read_material
from firth.data.numbered import OTHER
from firth.data.records import Labelled, Pair
from firth.errors import FirthError
from firth.text.special import Special
from firth.types import Cursor

SPECIAL = Special(pad=0, unknown=1, start=2, end=3, mask=4, cls=5, sep=6)
CHAR = Tokenizer(model="char", size=100)
texts = st.lists(st.integers(7, 30), max_size=20)


@settings(max_examples=80, deadline=None)
@given(left=texts, right=texts, length=st.integers(8, 30))
def test_a_pair_is_framed_as_bert_reads_it(left, right, length):
    found = framed([left, right], Joined(length=length), SPECIAL)
    ids = found.ids.tolist()
    assert len(ids) <= length and ids[0] == 5 and ids[-1] == 6 and ids.count(6) == 2
    middle = ids.index(6)
    one, two = ids[1:middle], ids[middle + 1 : -1]
    assert one == left[: len(one)] and two == right[: len(two)]
    assert found.segment.tolist() == [0] * (middle + 1) + [1] * (len(two) + 1)
    if len(ids) < length:
        assert (one, two) == (left, right)
    elif len(left) + len(right) > length - 3:  # what is cut is what is longer, until both are as long
        assert len(one) == len(left) or len(one) >= len(two)
        assert len(two) == len(right) or len(two) >= len(one) - 1


@settings(max_examples=40, deadline=None)
@given(left=texts, right=texts, length=st.integers(8, 30))
def test_where_tokens_see_only_the_left_the_last_one_is_extracted(left, right, length):
    config = Joined(length=length, frame="last")
    pair, single = framed([left, right], config, SPECIAL).ids.tolist(), framed([left], config, SPECIAL).ids.tolist()
    assert pair[0] == single[0] == 2 and pair[-1] == single[-1] == 5  # start, extract
    assert pair.count(6) == 1 and single[1:-1] == left[: length - 2]  # delimiter
    assert not framed([left], config, SPECIAL).segment.any()


def rows(count=50):
    random = np.random.default_rng(0)
    made = ("".join(random.choice(list("abcdef"), random.integers(1, 12))) for _ in range(2 * count))
    return list(zip(made, made, strict=True))


def material(tmp_path, name, lines, batching, data=None, **more):
    path = Path(tmp_path, name)
    path.write_text("\n".join(lines) + "\n")
    data = data or TaskExamples(text=(str(path),), **{"valid_share": 0.2, "test_share": 0.2, **more})
    config = Neural(data=data, tokenizer=CHAR, batching=batching)
    tokenizers, splits = read_material(config, {}, tmp_path / "cache", lambda _: None)
    return tokenizers["text"], splits


def test_every_labelled_example_is_read_once_an_epoch(tmp_path):
    lines = ["text\tlabel", *(f"{one}\t{'xyz'[n % 3]}" for n, (one, _) in enumerate(rows()))]
    config = Joined(rows=7, length=10)
    tokenizer, splits = material(tmp_path, "t.tsv", lines, config)
    split = splits["train"]
    assert set(split.names) == set("xyz") and split.notes == {"labels": list(split.names), "parts": 1}
    wanted = sorted(
        (tokenizer.decode(split.texts(n)[0].tolist())[:8], split.names[split.labels[n]]) for n in range(len(split))
    )

    def read(parts):
        found = []
        for batch in parts:
            text, target = batch.streams["text"], batch.targets["label"]
            assert target.weight.all() and text.segment is None
            for ids, mask, label in zip(text.ids, text.mask, target.values, strict=True):
                found.append((tokenizer.decode(ids[mask][1:-1].tolist()), split.names[label]))
        return sorted(found)

    made = batches(config, split, tokenizer.special, seed=3)
    for epoch in (0, 1):
        parts = [made.batch(Cursor(epoch, index)) for index in range(made.count(epoch))]
        assert read(parts) == wanted and sorted(part.size for part in parts)[1:] == [7] * (len(parts) - 1)
    assert read(made.once()) == wanted
    again = batches(config, split, tokenizer.special, seed=3).batch(Cursor(1, 2))  # by itself, in another order
    assert (again.streams["text"].ids == made.batch(Cursor(1, 2)).streams["text"].ids).all()
    other = batches(config, split, tokenizer.special, seed=4)
    pairs = [[each.batch(Cursor(1, n)).streams["text"].ids for each in (made, other)] for n in range(3)]
    assert any(not np.array_equal(one, two) for one, two in pairs)


def test_a_label_that_training_does_not_have_weighs_nothing(tmp_path):
    Path(tmp_path, "v.tsv").write_text("text\tlabel\nab\tnew\ncd\tx\n")
    lines = ["text\tlabel", *(f"{one}\t{'xy'[n % 2]}" for n, (one, _) in enumerate(rows()))]
    tokenizer, splits = material(tmp_path, "t.tsv", lines, Joined(), valid=(str(tmp_path / "v.tsv"),))
    assert splits["valid"].labels.tolist() == [OTHER, splits["valid"].names.index("x")]
    (batch,) = batches(Joined(), splits["valid"], tokenizer.special, 0).once()
    assert sorted(batch.targets["label"].weight.tolist()) == [0.0, 1.0]


@pytest.mark.parametrize(
    ("lines", "config", "kept"),
    [
        ([f"{one}\t{two}" for one, two in rows()], Apart(), lambda n: True),
        ([f"{one}\t{two}\t{n % 6}" for n, (one, two) in enumerate(rows())], Apart(least=3), lambda n: n % 6 >= 3),
        (
            ["left\tright\tlabel", *(f"{one}\t{two}\t{'yn'[n % 2]}" for n, (one, two) in enumerate(rows()))],
            Apart(labels=("y",)),
            lambda n: n % 2 == 0,
        ),
    ],
)
def test_pairs_that_belong_together_stand_side_by_side(tmp_path, lines, config, kept):
    kinds = ("similarity", "pairs", "translation")
    tokenizer, splits = material(tmp_path, "p.tsv", lines, config, tasks=kinds)
    found = set()
    for split in splits.values():
        for batch in batches(config, split, tokenizer.special, 0).once():
            sides = [batch.streams[name] for name in ("left", "right")]
            for parts in zip(sides[0].ids, sides[0].mask, sides[1].ids, sides[1].mask, strict=True):
                one, two = (tokenizer.decode(parts[at][parts[at + 1]][1:-1].tolist()) for at in (0, 2))
                found.add((one, two))
    assert found == {pair for n, pair in enumerate(rows()) if kept(n)}


def test_plain_text_belongs_to_itself(tmp_path):
    data = Text(text=(str(tmp_path / "t.txt"),), document="line", valid_share=0.1, test_share=0.1)
    tokenizer, splits = material(tmp_path, "t.txt", [one for one, _ in rows()], Apart(), data)
    for batch in batches(Apart(rows=8), splits["train"], tokenizer.special, 0).once():
        assert (batch.streams["left"].ids == batch.streams["right"].ids).all()


@pytest.mark.parametrize(
    ("lines", "batching", "more", "message"),
    [
        (["text\tlabel", "a\tx", "b\tx", "c\tx", "d\tx"], Joined(), {}, r"1 label in the training examples \(x\)"),
        (["a\tx", "b\ty", "c\tx"], Joined(), {}, r"no column 'text' .*data.columns=text=1,label=2"),
        (["a\tb", "c\td", "e\tf"], Joined(), {"tasks": ("translation",)}, "no labels to learn from"),
        (["left\tright\tlabel", *["a\tb\tx"] * 9], Apart(), {"tasks": ("pairs",)}, "no pairs with the label .*=x"),
        ([f"a\tb\t{n % 3}" for n in range(9)], Apart(), {"tasks": ("similarity",)}, "no pairs with a score of at lea"),
        (["text\tlabel", "a\tx", "b\t", "c\tx"], Joined(), {}, "an empty label"),
        (["a\tb", "c\td", "e\tf"], Apart(), {"tasks": ("guessing",)}, "unknown task 'guessing'"),
        (["a\tb", "c\td", "e\tf"], Apart(), {"tasks": ()}, "no task is named"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(tmp_path, lines, batching, more, message):
    with pytest.raises(FirthError, match=message):
        tokenizer, splits = material(tmp_path, "t.tsv", lines, batching, **more)
        batches(batching, splits["train"], tokenizer.special, 0).count(0)


def test_several_labels_and_mixed_examples_are_refused(tmp_path):
    lines = ["__label__a __label__b text", "__label__a more", "__label__b other", "__label__b last"]
    with pytest.raises(FirthError, match=r"a text with 2 labels \(a, b\)"):
        material(tmp_path, "t.ft", lines, Joined(), valid_share=0.0, test_share=0.0)
    with pytest.raises(FirthError, match="some examples are single texts and some are pairs"):
        examples.make("given", [Labelled("a", ("x",)), Pair("a", "b", "x")])
    one, two = (examples.make("given", [Pair("a", "b", "x", score)]) for score in (1.0, 2.0))
    assert one.key != two.key


def test_the_world_stands_for_what_it_has_for_the_task():
    found = examples._small_world("similarity", "valid")
    assert all(isinstance(each, Pair) and each.score is not None for each in found)
    with pytest.raises(FirthError, match="unknown task of the world 'guess'"):
        examples._small_world("guess", "valid")
