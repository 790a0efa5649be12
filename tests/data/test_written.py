"""Pairs of texts: tasks told apart by prefixes, each split by itself, cut and padded in rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.config import schema
from firth.data import examples
from firth.data.batching import batches
from firth.data.corrupt import corrupted
from firth.data.material import ExampleSplit, read_material
from firth.data.records import Labelled, Pair
from firth.data.written import pairs, prefixed, written
from firth.errors import FirthError
from firth.text.tokenizer import Tokenizer
from firth.types import Cursor

TOKENIZER = Tokenizer.train(schema.Tokenizer(model="word", size=60), [" ".join(f"w{n}" for n in range(40))])
SPECIAL = TOKENIZER.special


def test_translations_of_one_text_stay_together():
    found = [Pair(f"text {number % 40}", f"said {number}") for number in range(120)]
    config = schema.TaskTexts(valid_share=0.2, test_share=0.2)
    parts = examples.split({"train": found, "valid": [], "test": []}, config, 1, "here")
    texts = {name: {pair.left for pair in part.examples} for name, part in parts.items()}
    assert {name: len(each) for name, each in texts.items()} == {"train": 24, "valid": 8, "test": 8}
    assert not texts["train"] & texts["test"] and not texts["train"] & texts["valid"]
    assert sum(len(part.examples) for part in parts.values()) == 120


def test_every_kind_of_example_becomes_a_text_for_a_text():
    found = [
        Pair("a b", "c d"),
        Labelled("good film", ("positive",)),
        Pair("it rains", "it is wet", "entailment"),
        Pair("one", "two", None, 2.5),
    ]
    assert [(pair.left, pair.right) for pair in prefixed(written(found), "do:")] == [
        ("do: a b", "c d"),
        ("do: good film", "positive"),
        ("do: first: it rains second: it is wet", "entailment"),
        ("do: first: one second: two", "2.5"),
    ]
    assert next(written(found)).left == "a b"


@pytest.fixture
def tables(tmp_path):
    one, two = tmp_path / "one.tsv", tmp_path / "two.tsv"
    one.write_text("left\tright\n" + "".join(f"a{n}\tb{n}\n" for n in range(20)))
    two.write_text("text\tlabel\n" + "".join(f"c{n}\t{'odd' if n % 2 else 'even'}\n" for n in range(30)))
    return str(one), str(two)


def test_tasks_are_split_each_by_itself_and_told_apart(tables):
    config = schema.TaskTexts(text=tables, prefixes=("turn:", "judge: "))
    found = pairs(config, 1)
    assert {name: len(part.examples) for name, part in found.items()} == {"train": 40, "valid": 5, "test": 5}
    for part in found.values():
        turned = [pair for pair in part.examples if pair.left.startswith("turn: ")]
        judged = [pair for pair in part.examples if pair.left.startswith("judge: ")]
        assert len(turned) + len(judged) == len(part.examples) and turned and judged
        assert all(pair.right == "b" + pair.left.removeprefix("turn: a") for pair in turned)
        assert {pair.right for pair in judged} <= {"odd", "even"}
    assert found["train"].key == pairs(config, 1)["train"].key
    assert found["train"].key != pairs(schema.TaskTexts(text=tables), 1)["train"].key


def test_held_out_files_belong_to_their_task(tables):
    config = schema.TaskTexts(text=tables, valid=tables[::-1], test=tables, prefixes=("x", "y"))
    found = pairs(config, 1)
    assert [pair.left for pair in found["valid"].examples[:2]] == ["x c0", "x c1"]
    assert len(found["train"].examples) == len(found["test"].examples) == 50


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prefixes": ("a", "b", "c")}, "3 prefixes for 2 texts"),
        ({"valid": ("one.tsv",)}, "1 files for 2 texts"),
    ],
)
def test_as_many_prefixes_and_files_as_tasks(tables, change, message):
    with pytest.raises(FirthError, match=message):
        pairs(schema.TaskTexts(text=tables, **change), 1)


def split_of(sizes):
    draw = np.random.default_rng(0)
    texts = [draw.integers(7, TOKENIZER.size, size) for pair in sizes for size in pair]
    ids = np.concatenate([[*text, SPECIAL.end] for text in texts])
    starts = np.cumsum([0, *(len(text) + 1 for text in texts)])
    return ExampleSplit("train", "key", ids, starts, None, parts=2), texts


@settings(max_examples=30, deadline=None)
@given(
    sizes=st.lists(st.tuples(st.integers(0, 30), st.integers(1, 30)), min_size=1, max_size=12),
    length=st.integers(2, 20),
    epoch=st.integers(0, 2),
)
def test_every_pair_is_read_and_written_once(sizes, length, epoch):
    split, texts = split_of(sizes)
    whole = batches(schema.Pairs(tokens=60, length=length), split, SPECIAL, 1)
    made = corrupted(whole, schema.Written(first="pad"), TOKENIZER, 1)
    found = []
    for index in range(made.count(epoch)):
        batch = made.batch(Cursor(epoch, index))
        source, target, told = batch.streams["source"], batch.streams["target"], batch.targets["target"]
        assert (target.ids[:, 0] == SPECIAL.pad).all()
        for row in range(len(source.ids)):
            read, write = source.ids[row][source.mask[row]], told.values[row][target.mask[row]]
            assert read[-1] == write[-1] == SPECIAL.end
            found.append((tuple(read[:-1]), tuple(write[:-1])))
    cut = [tuple(text[:length]) for text in texts]
    assert sorted(found) == sorted(zip(cut[::2], cut[1::2], strict=True))


def test_noise_has_no_use_for_pairs():
    split, _ = split_of([(5, 5)])
    sentinels = TOKENIZER.with_sentinels(5)
    made = corrupted(batches(schema.Pairs(), split, SPECIAL, 1), schema.Denoise(), sentinels, 1)
    with pytest.raises(FirthError, match="written as they are, without noise"):
        made.batch(Cursor())


def test_plain_text_is_no_pair():
    split, _ = split_of([(5, 5)])
    alone = ExampleSplit("train", "key", split.ids, split.starts, None, parts=1)
    with pytest.raises(FirthError, match="no pairs of texts"):
        batches(schema.Pairs(), alone, SPECIAL, 1).count(0)


def test_pairs_are_read_by_their_settings(tables, tmp_path):
    config = schema.Neural(data=schema.TaskTexts(text=tables), tokenizer=schema.Tokenizer(model="word", size=100))
    tokenizers, splits = read_material(config, {}, tmp_path, lambda _: None)
    tokenizer = tokenizers["text"]
    assert all(isinstance(split, ExampleSplit) and split.parts == 2 for split in splits.values())
    source, target = splits["train"].texts(0)
    first = pairs(config.data, config.seed)["train"].examples[0]
    assert tokenizer.ids(first.left) == source.tolist() and tokenizer.ids(first.right) == target.tolist()
    assert isinstance(examples.make("x", [first]).texts, list)
