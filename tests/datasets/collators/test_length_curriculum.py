"""Length curriculum: equal stages, equally many tokens per batch, each batch a function of the cursor alone."""

import numpy as np
import pytest

from firth.config.schema import Bucketed, Contiguous, Packed, SegmentPairs, Windows
from firth.datasets.collators.batches import make_batches, next_cursor
from firth.datasets.collators.length_curriculum import LengthCurriculum, batches_per_stage, stage_configs
from firth.datasets.token_cache import Split, Tally
from firth.errors import FirthError
from firth.tokenizers.special_tokens import SpecialTokens
from firth.types import Cursor

SPECIAL = SpecialTokens(pad=0, unknown=1, start=2, end=3, mask=4, cls=5, sep=6)
KINDS = [Contiguous, Windows, Packed, SegmentPairs]


def text(tokens=4000, size=50):
    ids = np.random.default_rng(0).integers(7, 50, tokens).astype(np.uint16)
    ids[size - 1 :: size] = SPECIAL.end
    return Split("train", "key", ids, np.arange(0, tokens + 1, size), Tally(tokens // size, tokens, 0, ()))


def curriculum(config, steps, accumulate=1):
    configs = stage_configs(config)
    stages = [make_batches(stage, text(), SPECIAL, seed) for seed, stage in enumerate(configs)]
    return LengthCurriculum(stages, batches_per_stage(steps, len(configs), accumulate))


def walk(made, count):
    at, batches = Cursor(), []
    for _ in range(count):
        batches.append(made.batch(at))
        at = next_cursor(made, batches[-1].cursor)
    return batches


@pytest.mark.parametrize("kind", KINDS)
def test_each_stage_has_its_length_and_all_have_as_many_tokens(kind):
    config = kind(batch_size=4, length=48, length_curriculum=(12, 24))
    batches = walk(curriculum(config, 30), 30)
    shapes = [batch.streams["text"].ids.shape for batch in batches]
    for stage, (rows, length) in enumerate([(16, 12), (8, 24), (4, 48)]):
        here = shapes[10 * stage : 10 * stage + 10]
        assert all(shape[0] <= rows and shape[1] <= length for shape in here)
        assert (rows, length) in here
        assert [batch.cursor for batch in batches[10 * stage : 10 * stage + 10]] == [
            Cursor(stage, n) for n in range(10)
        ]
    if kind in (Contiguous, Windows):
        assert all(rows * length == 192 for rows, length in shapes)
    assert all(batch.reset_state for batch in batches if batch.cursor.index == 0)  # no state is carried to a new length


def test_without_a_curriculum_there_is_one_stage():
    assert stage_configs(Windows(batch_size=2, length=48)) == (Windows(batch_size=2, length=48),)


def test_a_token_budget_does_not_change():
    assert stage_configs(Bucketed(tokens_per_batch=96, length=48, length_curriculum=(16,))) == (
        Bucketed(tokens_per_batch=96, length=16),
        Bucketed(tokens_per_batch=96, length=48),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_any_batch_can_be_made_on_its_own(kind):
    config = kind(batch_size=4, length=48, length_curriculum=(12, 24))
    batches = walk(curriculum(config, 90), 95)  # several epochs in a stage, and beyond the end
    for expected in [*batches[::-17], batches[-1]]:
        batch = curriculum(config, 90).batch(expected.cursor)
        assert batch.cursor == expected.cursor and batch.reset_state == expected.reset_state
        assert np.array_equal(batch.streams["text"].ids, expected.streams["text"].ids)


def test_an_epoch_of_a_stage_has_every_token_once():
    made = curriculum(Packed(batch_size=4, length=48, length_curriculum=(16,)), 400)
    inner = made.stages[0]
    first, second = inner.count(0), inner.count(1)
    batches = [made.batch(Cursor(0, index)) for index in range(first + second)]
    for epoch in (batches[:first], batches[first:]):
        positions = np.concatenate(
            [batch.targets["text"].positions[batch.targets["text"].weight > 0] for batch in epoch]
        )
        assert sorted(positions) == list(range(4000))


@pytest.mark.parametrize(("steps", "stages", "accumulate"), [(10, 3, 1), (7, 2, 4), (2, 3, 1), (100, 1, 2)])
def test_stages_are_equal_and_end_where_steps_do(steps, stages, accumulate):
    counts = batches_per_stage(steps, stages, accumulate)
    assert sum(counts) == steps * accumulate and max(counts) - min(counts) <= accumulate
    assert all(count % accumulate == 0 for count in counts)


@pytest.mark.parametrize("wrong", [(48,), (64,), (24, 12), (24, 24)])
def test_lengths_that_do_not_increase_are_refused(wrong):
    with pytest.raises(FirthError, match="lengths must increase"):
        stage_configs(Windows(batch_size=2, length=48, length_curriculum=wrong))
