"""Batches of words: every word once with its own tag, bytes, casing and subwords, within the limits of a batch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.datasets.collators.batches import make_batches
from firth.datasets.collators.word_rows import cut
from firth.datasets.label_ids import UNKNOWN_LABEL
from firth.datasets.word_vocabulary import WordLookup
from firth.errors import FirthError
from firth.tokenizers.casing import casing_class
from firth.tokenizers.characters import decode_word, encode_word
from firth.types import Cursor
from word_samples import READS, SPECIAL, TAGS, config, sentences, split, tagged

some = settings(max_examples=30)


def batches(part, system, **fields):
    return make_batches(replace(system.batching, **fields), part, SPECIAL, 1)


def epoch(made, number=0):
    return [made.batch(Cursor(number, index)) for index in range(made.count(number))]


def stream(batch):
    return next(iter(batch.streams.values()))


def positions(batch):
    """The number in the split of each word of a row."""
    words = stream(batch).mask if "words" in batch.streams else None
    counts = words.sum(1) if words is not None else stream(batch).word_of.max(1) + 1
    return [row[:count].tolist() for row, count in zip(batch.targets["upos"].positions, counts, strict=True)]


@pytest.mark.parametrize("reads", READS)
@given(each=sentences())
@some
def test_evaluation_has_whole_sentences_once(reads, each):
    system = config(reads)
    part = split(each, system)
    made = batches(part, system, length=8, tokens_per_batch=20)
    rows = [row for batch in made.evaluation_batches() for row in positions(batch)]
    assert sorted(rows) == [list(range(a, b)) for a, b in zip(part.starts[:-1], part.starts[1:], strict=True)]


@pytest.mark.parametrize("reads", READS)
@given(each=sentences(), length=st.integers(8, 20), budget=st.integers(1, 60), most=st.integers(0, 3))
@some
def test_training_has_every_word_once_within_the_limits(reads, each, length, budget, most):
    system = config(reads)
    part = split(each, system)
    made = batches(part, system, length=length, tokens_per_batch=budget, batch_size=most)
    done = epoch(made)
    assert sorted(n for batch in done for row in positions(batch) for n in row) == list(range(len(part.ids)))
    for batch in done:
        height, width = stream(batch).ids.shape
        assert width <= length and (height == 1 or height * width <= budget) and (not most or height <= most)
    assert all(np.array_equal(*pair) for pair in zip(map(stream_ids, done), map(stream_ids, epoch(made)), strict=True))


def stream_ids(batch):
    return stream(batch).ids


@given(each=sentences())
@some
def test_a_row_holds_what_its_words_are(each):
    system = config()
    part, lookup = split(each, system), None
    words = [word for sentence in each for word in sentence]
    for batch in batches(part, system).evaluation_batches():
        row = batch.words("words")
        assert row.ids[~row.mask].sum() == row.characters[~row.mask].sum() == row.shape[~row.mask].sum() == 0
        spelled = [words[n] for n in batch.targets["upos"].positions[row.mask]]
        for word, characters, shape in zip(spelled, row.characters[row.mask], row.shape[row.mask], strict=True):
            whole = encode_word(word)
            assert np.array_equal(characters, whole[: len(characters)]) and not whole[len(characters) :].any()
            assert shape == casing_class(word)
            assert len(word.encode()) >= 96 or decode_word(characters.tolist()) == word
        same = row.spelling[row.mask][:, None] == row.spelling[row.mask]
        assert np.array_equal(same, np.array(spelled)[:, None] == np.array(spelled))
        lookup = lookup or {}
        for word, i in zip(spelled, row.ids[row.mask], strict=True):
            assert lookup.setdefault(word, i) == i


@given(each=sentences())
@some
def test_subwords_are_those_of_each_word(each):
    system = config("subwords")
    part = split(each, system)
    before, after = part.around
    for batch in batches(part, system).evaluation_batches():
        text = batch.tokens("text")
        for ids, word_of, mask, row in zip(text.ids, text.word_of, text.mask, positions(batch), strict=True):
            assert ids[mask].tolist()[:1] == before and ids[mask].tolist()[-1:] == after
            assert set(word_of[~mask]) <= {-1} and (word_of[mask][0], word_of[mask][-1]) == (-1, -1)
            for number, position in enumerate(row):
                first, last = part.token_starts[position : position + 2]
                assert ids[word_of == number].tolist() == part.token_ids[first:last].tolist()


def test_targets_are_the_tags_and_unknown_ones_weigh_nothing():
    system = config()
    each = [["a", "bb", "ccc"], ["dd"]]
    part = split(each, system, labels=TAGS[:2])
    gold = [tag for sentence in tagged(each) for tag in sentence.tags[0]]
    assert part.tags["upos"].tolist() == [TAGS[:2].index(tag) if tag in TAGS[:2] else UNKNOWN_LABEL for tag in gold]
    for batch in batches(part, system).evaluation_batches():
        target = batch.targets["upos"]
        mask = batch.words("words").mask
        weighted = [gold[n] in TAGS[:2] for n in target.positions[mask]]
        assert target.weight[mask].tolist() == weighted and not target.weight[~mask].any()
        known = target.weight > 0
        assert [TAGS[i] for i in target.values[known]] == [gold[n] for n in target.positions[known]]


def test_a_word_that_is_too_long_for_a_row_loses_its_end():
    system = config("subwords", tokenizer=replace(config().tokenizer, model="byte", vocabulary_size=300))
    part = split([["a", "x" * 40, "b"]], system)
    rows = [row for batch in epoch(batches(part, system, length=10)) for row in zip(*arrays(batch), strict=True)]
    kept = sorted((int((word_of >= 0).sum()), int(mask.sum())) for word_of, mask in rows)
    assert kept == [(2, 4), (2, 4), (8, 10)]


def arrays(batch):
    return batch.tokens("text").word_of, batch.tokens("text").mask


def test_a_network_with_a_limit_is_evaluated_in_pieces():
    system = config()
    part = replace(split([["a"] * 20, ["b"] * 3], system), context=8)
    rows = [row for batch in batches(part, system).evaluation_batches() for row in positions(batch)]
    assert sorted(map(len, rows)) == [3, 4, 8, 8] and sorted(n for row in rows for n in row) == list(range(23))


@given(
    sizes=st.lists(st.lists(st.integers(1, 9), max_size=8), min_size=1, max_size=6).filter(any), room=st.integers(1, 12)
)
def test_sentences_are_cut_between_words_as_late_as_possible(sizes, room):
    starts = np.cumsum([0, *map(len, sizes)])
    units = np.cumsum([0, *(size for sentence in sizes for size in sentence)])
    first, last = cut(starts, units, room)
    assert [n for a, b in zip(first, last, strict=True) for n in range(a, b)] == list(range(starts[-1]))
    for a, b in zip(first.tolist(), last.tolist(), strict=True):
        assert a < b and (units[b] - units[a] <= room or b == a + 1)
        assert b in starts or units[b + 1] - units[a] > room


def test_the_vocabulary_of_words():
    part = split([["The", "river", "[SEP]"]], config())
    assert WordLookup(words_of(["The", "river"]))(["The", "the", "[SEP]", "[UNK]"]).tolist() == [7, 1, 1, 1]
    assert part.word_ids.tolist().count(1) == 1  # [SEP], which is a special token's name
    lowercase = words_of(["The", "river", "the"], lowercase="yes")
    assert WordLookup(lowercase)(["THE", "rıver", "River"]).tolist() == [7, 1, 8]


def words_of(words, **settings):
    from firth.config.schema import WordVectors
    from firth.datasets.word_vocabulary import train_words

    return train_words(WordVectors(**settings), [words])


def test_other_data_are_refused(tmp_path):
    system = config()
    from firth.datasets.token_cache import tokenise_split

    plain = tokenise_split(tmp_path, "train", "key", ["a b"], words_of(["a"]), account=False)
    with pytest.raises(FirthError, match="no words to train on"):
        batches(plain, system).count(0)
