"""Source and target texts: tasks with their prefixes, each split by itself, truncated and padded."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.config import schema
from firth.datasets import labelled_dataset
from firth.datasets.collators.batches import corrupt_batches, make_batches
from firth.datasets.records import Labelled, Pair
from firth.datasets.seq2seq_dataset import add_prefix, read_pairs, to_source_target
from firth.datasets.training_data import ExampleSplit, read_training_data
from firth.errors import FirthError
from firth.runs.progress import Quiet
from firth.tokenizers.tokenizer import Tokenizer
from firth.types import Cursor

TOKENIZER = Tokenizer.train(schema.Tokenizer(model="word", vocabulary_size=60), [" ".join(f"w{n}" for n in range(40))])
SPECIAL = TOKENIZER.special


def test_translations_of_one_text_stay_together():
    result = [Pair(f"text {number % 40}", f"said {number}") for number in range(120)]
    config = schema.TextToText(valid_fraction=0.2, test_fraction=0.2)
    parts = labelled_dataset.split_examples({"train": result, "valid": [], "test": []}, config, 1, "here")
    texts = {name: {pair.left for pair in part.examples} for name, part in parts.items()}
    assert {name: len(each) for name, each in texts.items()} == {"train": 24, "valid": 8, "test": 8}
    assert not texts["train"] & texts["test"] and not texts["train"] & texts["valid"]
    assert sum(len(part.examples) for part in parts.values()) == 120


def test_every_kind_of_example_becomes_a_text_for_a_text():
    result = [
        Pair("a b", "c d"),
        Labelled("good film", ("positive",)),
        Pair("it rains", "it is wet", "entailment"),
        Pair("one", "two", None, 2.5),
    ]
    assert [(pair.left, pair.right) for pair in add_prefix(to_source_target(result), "do:")] == [
        ("do: a b", "c d"),
        ("do: good film", "positive"),
        ("do: first: it rains second: it is wet", "entailment"),
        ("do: first: one second: two", "2.5"),
    ]
    assert next(to_source_target(result)).left == "a b"


@pytest.fixture
def tables(tmp_path):
    one, two = tmp_path / "one.tsv", tmp_path / "two.tsv"
    one.write_text("left\tright\n" + "".join(f"a{n}\tb{n}\n" for n in range(20)))
    two.write_text("text\tlabel\n" + "".join(f"c{n}\t{'odd' if n % 2 else 'even'}\n" for n in range(30)))
    return str(one), str(two)


def test_tasks_are_split_each_by_itself_and_have_prefixes(tables):
    config = schema.TextToText(text=tables, prefixes=("turn:", "judge: "))
    result = read_pairs(config, 1)
    assert {name: len(part.examples) for name, part in result.items()} == {"train": 40, "valid": 5, "test": 5}
    for part in result.values():
        turned = [pair for pair in part.examples if pair.left.startswith("turn: ")]
        judged = [pair for pair in part.examples if pair.left.startswith("judge: ")]
        assert len(turned) + len(judged) == len(part.examples) and turned and judged
        assert all(pair.right == "b" + pair.left.removeprefix("turn: a") for pair in turned)
        assert {pair.right for pair in judged} <= {"odd", "even"}
    assert result["train"].key == read_pairs(config, 1)["train"].key
    assert result["train"].key != read_pairs(schema.TextToText(text=tables), 1)["train"].key


def test_held_out_files_belong_to_their_task(tables):
    config = schema.TextToText(text=tables, valid=tables[::-1], test=tables, prefixes=("x", "y"))
    result = read_pairs(config, 1)
    assert [pair.left for pair in result["valid"].examples[:2]] == ["x c0", "x c1"]
    assert len(result["train"].examples) == len(result["test"].examples) == 50


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prefixes": ("a", "b", "c")}, "3 prefixes for 2 texts"),
        ({"valid": ("one.tsv",)}, "1 files for 2 texts"),
    ],
)
def test_as_many_prefixes_and_files_as_tasks(tables, change, message):
    with pytest.raises(FirthError, match=message):
        read_pairs(schema.TextToText(text=tables, **change), 1)


def split_of(sizes):
    draw = np.random.default_rng(0)
    texts = [draw.integers(7, TOKENIZER.vocab_size, size) for pair in sizes for size in pair]
    ids = np.concatenate([[*text, SPECIAL.end] for text in texts])
    starts = np.cumsum([0, *(len(text) + 1 for text in texts)])
    return ExampleSplit("train", "key", ids, starts, None, texts_per_example=2), texts


@settings(max_examples=30, deadline=None)
@given(
    sizes=st.lists(st.tuples(st.integers(0, 30), st.integers(1, 30)), min_size=1, max_size=12),
    length=st.integers(2, 20),
    epoch=st.integers(0, 2),
)
def test_every_pair_is_read_and_written_once(sizes, length, epoch):
    split, texts = split_of(sizes)
    whole = make_batches(schema.SourceTarget(tokens_per_batch=60, length=length), split, SPECIAL, 1)
    made = corrupt_batches(whole, schema.Seq2Seq(decoder_start="pad"), TOKENIZER, 1)
    result = []
    for index in range(made.count(epoch)):
        batch = made.batch(Cursor(epoch, index))
        source, target, told = batch.streams["source"], batch.streams["target"], batch.targets["target"]
        assert (target.ids[:, 0] == SPECIAL.pad).all()
        for row in range(len(source.ids)):
            read, write = source.ids[row][source.mask[row]], told.values[row][target.mask[row]]
            assert read[-1] == write[-1] == SPECIAL.end
            result.append((tuple(read[:-1]), tuple(write[:-1])))
    cut = [tuple(text[:length]) for text in texts]
    assert sorted(result) == sorted(zip(cut[::2], cut[1::2], strict=True))


def test_noise_has_no_use_for_pairs():
    split, _ = split_of([(5, 5)])
    sentinels = TOKENIZER.with_sentinels(5)
    made = corrupt_batches(make_batches(schema.SourceTarget(), split, SPECIAL, 1), schema.Denoising(), sentinels, 1)
    with pytest.raises(FirthError, match="denoising needs plain text"):
        made.batch(Cursor())


def test_plain_text_is_no_pair():
    split, _ = split_of([(5, 5)])
    alone = ExampleSplit("train", "key", split.ids, split.starts, None, texts_per_example=1)
    with pytest.raises(FirthError, match="no source and target texts"):
        make_batches(schema.SourceTarget(), alone, SPECIAL, 1).count(0)


def test_pairs_are_read_by_their_settings(tables, tmp_path):
    config = schema.Neural(
        data=schema.TextToText(text=tables), tokenizer=schema.Tokenizer(model="word", vocabulary_size=100)
    )
    tokenizers, splits = read_training_data(config, {}, tmp_path, Quiet())
    tokenizer = tokenizers["text"]
    assert all(isinstance(split, ExampleSplit) and split.texts_per_example == 2 for split in splits.values())
    source, target = splits["train"].texts(0)
    first = read_pairs(config.data, config.seed)["train"].examples[0]
    assert tokenizer.encode(first.left) == source.tolist() and tokenizer.encode(first.right) == target.tolist()
    assert isinstance(labelled_dataset.make_split("x", [first]).texts, list)
