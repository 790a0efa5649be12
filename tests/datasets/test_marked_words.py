"""Words in context as training data, and as inputs of a trained model: marked in both, from a file or a set."""

from __future__ import annotations

import pytest

from firth.config import schema
from firth.datasets import labelled_dataset
from firth.datasets.readers import get_format
from firth.errors import FirthError
from firth.pipelines.file_inputs import read_texts

LINES = "bank\tN\t1-4\tThe bank lends money\tShe sat by the bank\tF\n"
MARKED = ('The " bank " lends money', 'She sat by the " bank "')
DATA = schema.TaskExamples(tasks=("pairs",), format="wic")


def test_the_words_of_a_file_are_marked(tmp_path):
    path = tmp_path / "pairs.wic"
    path.write_text(LINES)
    (pair,) = labelled_dataset.read_named(str(path), DATA)
    assert (pair.left, pair.right) == MARKED and pair.label == "F" and dict(pair.fields)["word"] == "bank"
    (record,) = get_format("wic").read(path)
    assert (record.left, record.right) == ("The bank lends money", "She sat by the bank")  # as it is in the file
    assert read_texts(record, 2, {}) == MARKED


def test_the_words_of_the_world_are_marked():
    pair = next(iter(labelled_dataset.read_named("world-words-in-context", schema.TaskExamples())))
    assert pair.left.count('"') == pair.right.count('"') == 2 and pair.label in ("T", "F")


def test_a_position_outside_of_a_sentence_names_file_and_line(tmp_path):
    path = tmp_path / "pairs.wic"
    path.write_text(LINES.replace("1-4", "1-5"))
    with pytest.raises(FirthError) as error:
        list(labelled_dataset.read_named(str(path), DATA))
    assert f"{path}:1: '1-5' are no positions in sentences of 4 and 5 words" in str(error.value)
