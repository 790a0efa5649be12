"""Rows that grow during a run: equal parts, equally many tokens, each batch a function of the cursor alone."""

import numpy as np
import pytest

from firth.config.schema import Bucketed, Contiguous, Framed, Packed, Windows
from firth.data.batches.staged import Staged, shares, stages
from firth.data.batching import batches
from firth.data.cache import Split, Tally
from firth.data.stream import following
from firth.errors import FirthError
from firth.text.special import Special
from firth.types import Cursor

SPECIAL = Special(pad=0, unknown=1, start=2, end=3, mask=4, cls=5, sep=6)
KINDS = [Contiguous, Windows, Packed, Framed]


def text(tokens=4000, size=50):
    ids = np.random.default_rng(0).integers(7, 50, tokens).astype(np.uint16)
    ids[size - 1 :: size] = SPECIAL.end
    return Split("train", "key", ids, np.arange(0, tokens + 1, size), Tally(tokens // size, tokens, 0, ()))


def staged(config, steps, accumulate=1):
    parts = stages(config)
    made = [batches(part, text(), SPECIAL, seed) for seed, part in enumerate(parts)]
    return Staged(made, shares(steps, len(parts), accumulate))


def walked(made, count):
    at, found = Cursor(), []
    for _ in range(count):
        found.append(made.batch(at))
        at = following(made, found[-1].at)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_each_part_has_its_length_and_all_have_as_many_tokens(kind):
    config = kind(rows=4, length=48, stages=(12, 24))
    found = walked(staged(config, 30), 30)
    shapes = [batch.streams["text"].ids.shape for batch in found]
    for part, (rows, length) in enumerate([(16, 12), (8, 24), (4, 48)]):
        here = shapes[10 * part : 10 * part + 10]
        assert all(shape[0] <= rows and shape[1] <= length for shape in here)
        assert (rows, length) in here
        assert [batch.at for batch in found[10 * part : 10 * part + 10]] == [Cursor(part, n) for n in range(10)]
    if kind in (Contiguous, Windows):
        assert all(rows * length == 192 for rows, length in shapes)
    assert all(batch.fresh for batch in found if batch.at.index == 0)  # no state goes from one length to another


def test_without_stages_there_is_one_part():
    assert stages(Windows(rows=2, length=48)) == (Windows(rows=2, length=48),)


def test_a_budget_of_tokens_stays_one():
    assert stages(Bucketed(tokens=96, length=48, stages=(16,))) == (
        Bucketed(tokens=96, length=16),
        Bucketed(tokens=96, length=48),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_any_batch_can_be_made_on_its_own(kind):
    config = kind(rows=4, length=48, stages=(12, 24))
    made = walked(staged(config, 90), 95)  # several epochs in a part, and beyond the end
    for wanted in [*made[::-17], made[-1]]:
        found = staged(config, 90).batch(wanted.at)
        assert found.at == wanted.at and found.fresh == wanted.fresh
        assert np.array_equal(found.streams["text"].ids, wanted.streams["text"].ids)


def test_an_epoch_of_a_part_shows_every_token_once():
    made = staged(Packed(rows=4, length=48, stages=(16,)), 400)
    inner = made.parts[0]
    first, second = inner.count(0), inner.count(1)
    found = [made.batch(Cursor(0, index)) for index in range(first + second)]
    for part in (found[:first], found[first:]):
        places = np.concatenate([batch.targets["text"].place[batch.targets["text"].weight > 0] for batch in part])
        assert sorted(places) == list(range(4000))


@pytest.mark.parametrize(("steps", "parts", "accumulate"), [(10, 3, 1), (7, 2, 4), (2, 3, 1), (100, 1, 2)])
def test_parts_are_equal_and_end_where_steps_do(steps, parts, accumulate):
    found = shares(steps, parts, accumulate)
    assert sum(found) == steps * accumulate and max(found) - min(found) <= accumulate
    assert all(share % accumulate == 0 for share in found)


@pytest.mark.parametrize("wrong", [(48,), (64,), (24, 12), (24, 24)])
def test_rows_that_do_not_grow_are_refused(wrong):
    with pytest.raises(FirthError, match="rows must grow"):
        stages(Windows(rows=2, length=48, stages=wrong))
