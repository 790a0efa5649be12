"""Denoising by property: source and target give back the text; noise density and span lengths are as configured."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.config import schema
from firth.datasets.collators.batches import corrupt_batches, make_batches
from firth.datasets.collators.corruption import noise as noise_functions
from firth.datasets.collators.corruption.denoising import FULL_TARGET_NOISE, MISSING_TARGET_NOISE, Denoising
from firth.datasets.collators.corruption.noise_spans import (
    Span,
    contiguous_spans,
    place_spans,
    poisson_spans,
    random_spans,
    sample_positions,
)
from firth.datasets.token_cache import Split, Tally
from firth.errors import FirthError
from firth.tokenizers.sentence_boundaries import sentence_ends
from firth.tokenizers.tokenizer import Tokenizer
from firth.types import Cursor

WORDS = [f"w{n}" for n in range(40)]
TEXT = " ".join([*WORDS, ". ! ?"])
TOKENIZER = Tokenizer.train(schema.Tokenizer(model="word", vocabulary_size=120, sentinels=60), [TEXT])
SPECIAL, MASK, SENTINELS = TOKENIZER.special, TOKENIZER.special.mask, TOKENIZER.sentinels
ORDINARY = sorted({*TOKENIZER.vocabulary().values()} - SPECIAL.ids - {*SENTINELS})
texts = st.lists(st.sampled_from(ORDINARY), min_size=1, max_size=80).map(lambda ids: np.array(ids, np.int64))
seeds = st.integers(0, 10_000)
densities = st.floats(0.02, 0.9)


def noise(*names, density=0.15, **change):
    return Denoising(schema.Denoising(noise=names, noise_density=density, **change), TOKENIZER)


def corrupted(names, text, seed, density=0.15, **change):
    names = (names,) if isinstance(names, str) else names
    return noise(*names, density=density, **change).corrupt(text, np.random.default_rng(seed))


def noise_count(text, density):
    return min(len(text), max(1, round(density * len(text))))


# --- the table of Raffel et al. 2020, with the same choices ----------------------------------------------------------

SENTENCE = ["Thank", "you", "for", "inviting", "me", "to", "your", "party", "last", "week", "."]
M, X, Y, Z, APPLE = 101, 201, 202, 203, 99


def to_words(ids):
    names = {M: "<M>", X: "<X>", Y: "<Y>", Z: "<Z>", APPLE: "apple"}
    return " ".join(names.get(int(n)) or SENTENCE[int(n)] for n in ids)


def test_the_table_of_objectives():
    text, whole = np.arange(len(SENTENCE)), " ".join(SENTENCE)
    selected = np.isin(text, [2, 3, 8])
    pair = noise_functions.split_prefix(text, 4)
    assert tuple(map(to_words, pair)) == ("Thank you for inviting", "me to your party last week .")
    bert = noise_functions.mask_tokens(np.where(text == 8, APPLE, text), selected & (text != 8), M)
    assert to_words(bert) == "Thank you <M> <M> me to your party apple week ."
    shuffled = text[[7, 4, 2, 6, 5, 10, 8, 1, 3, 9, 0]]
    assert to_words(shuffled) == "party me for your to . last you inviting week Thank"
    assert to_words(noise_functions.mask_tokens(text, selected, M)) == "Thank you <M> <M> me to your party <M> week ."
    assert to_words(text) == whole
    pair = noise_functions.corrupt_spans(text, contiguous_spans(selected, 99), [X, Y, Z])
    assert tuple(map(to_words, pair)) == (
        "Thank you <X> me to your party <Y> week .",
        "<X> for inviting <Y> last <Z>",
    )
    assert tuple(map(to_words, noise_functions.drop_tokens(text, selected))) == (
        "Thank you me to your party week .",
        "for inviting last",
    )
    pair = noise_functions.corrupt_spans(text, [Span(2, 3), Span(6, 3)], [X, Y, Z])
    assert tuple(map(to_words, pair)) == ("Thank you <X> to <Y> week .", "<X> for inviting me <Y> your party last <Z>")


# --- source and target give back the text -------------------------------------------------------------------------


def fill_spans(source, target):
    """The source with each sentinel replaced by the tokens after it in the target."""
    sentinels = {*SENTINELS}
    spans, sentinel = {}, None
    for token in target.tolist():
        if token in sentinels:
            sentinel, spans[token] = token, []
        else:
            spans[sentinel].append(token)
    tokens = [part for token in source.tolist() for part in (spans[token] if token in sentinels else [token])]
    return tokens, spans


@pytest.mark.parametrize("name", ["span-corruption", "sentinel-tokens"])
@settings(max_examples=80, deadline=None)
@given(text=texts, seed=seeds, density=densities)
def test_sentinels_and_their_spans_give_back_the_text(name, text, seed, density):
    source, target = corrupted(name, text, seed, density)
    tokens, spans = fill_spans(source, target)
    assert tokens == text.tolist()
    used = [token for token in source.tolist() if token in SENTINELS]
    assert used == list(SENTINELS[: len(used)])  # in their order
    assert [*spans] == [*used, SENTINELS[len(used)]] and spans[SENTINELS[len(used)]] == []  # the last span is empty
    assert all(spans[sentinel] for sentinel in used)
    assert not any(a in SENTINELS and b in SENTINELS for a, b in pairwise(source))
    if len(used) < len(SENTINELS) - 1:  # enough sentinels for all spans
        assert sum(map(len, spans.values())) == noise_count(text, density)


@settings(max_examples=80, deadline=None)
@given(text=texts, seed=seeds, density=densities)
def test_what_is_dropped_and_what_is_left_are_the_text_in_its_order(text, seed, density):
    source, target = corrupted("token-dropping", text, seed, density)
    assert len(target) == noise_count(text, density)
    selected = sample_positions(len(text), density, np.random.default_rng(seed))
    back = np.empty_like(text)
    back[selected], back[~selected] = target, source
    assert (back == text).all()


@settings(max_examples=80, deadline=None)
@given(text=texts, seed=seeds)
def test_a_beginning_and_its_rest_are_the_text(text, seed):
    source, target = corrupted("prefix-lm", text, seed)
    assert np.concatenate([source, target]).tolist() == text.tolist()
    assert len(target) >= 1 and (len(source) >= 1 or len(text) == 1)


@settings(max_examples=80, deadline=None)
@given(text=texts, seed=seeds, density=densities)
def test_token_masking_replaces_tokens_in_their_positions(text, seed, density):
    source, target = corrupted("token-masking", text, seed, density)
    assert (target == text).all()
    masked = source == MASK
    assert masked.sum() == noise_count(text, density)
    assert (source[~masked] == text[~masked]).all()


def test_in_berts_style_a_tenth_of_the_chosen_become_any_token_and_none_stays():
    text = np.full(4000, ORDINARY[0])
    source, target = corrupted("bert-style", text, 3, 0.5)
    assert (target == text).all()
    masks, other = (source == MASK).sum(), ((source != MASK) & (source != text)).sum()
    unseen = 2000 - masks - other  # replaced by the same token: one in the vocabulary's size
    assert unseen <= 30
    assert masks / 2000 == pytest.approx(0.9, abs=4 * np.sqrt(0.09 / 2000))
    assert set(np.unique(source)) <= {MASK, *ORDINARY} and len(np.unique(source)) > 30


@settings(max_examples=80, deadline=None)
@given(text=texts, seed=seeds, density=densities)
def test_deletion_leaves_the_others_in_their_order(text, seed, density):
    source, target = corrupted("token-deletion", text, seed, density)
    assert (target == text).all()
    assert len(source) == len(text) - noise_count(text, density)
    rest = iter(text.tolist())
    assert all(token in rest for token in source.tolist())  # a subsequence


@settings(max_examples=120, deadline=None)
@given(size=st.integers(1, 80), seed=seeds, density=densities, span=st.floats(1.0, 6.0))
def test_infilling_puts_one_mask_for_each_span_and_loses_nothing_else(size, seed, density, span):
    text = np.array([ORDINARY[0]] * size)
    text[:] = np.resize(ORDINARY, size)
    source, target = corrupted("text-infilling", text, seed, density, mean_span_length=span)
    spans = poisson_spans(size, density, span, np.random.default_rng(seed))
    assert (target == text).all()
    assert sum(each.size for each in spans) == noise_count(text, density)
    assert (source == MASK).sum() == len(spans)
    assert len(source) <= len(text)
    restored, here = [], iter(spans)
    for token in source.tolist():
        if token == MASK:
            each = next(here)
            restored += text[each.start : each.stop].tolist()
        else:
            restored.append(token)
    assert restored == text.tolist()


def test_lengths_of_filled_spans_are_poisson_and_some_are_empty():
    random, sizes = np.random.default_rng(0), []
    for _ in range(300):
        sizes += [span.size for span in poisson_spans(200, 0.3, 3.0, random)]
    sizes = np.array(sizes)
    # the last span of a text is cut to fit: about one in twenty
    assert sizes.mean() == pytest.approx(3.0, abs=0.15)
    assert (sizes == 0).mean() == pytest.approx(np.exp(-3), abs=0.02)
    assert sizes.var() == pytest.approx(3.0, abs=0.4)


@settings(max_examples=80, deadline=None)
@given(size=st.integers(1, 300), seed=seeds, density=densities, mean=st.floats(1.0, 10.0))
def test_random_spans_are_as_many_and_as_long_as_asked_and_never_touch(size, seed, density, mean):
    spans = random_spans(size, density, mean, 10_000, np.random.default_rng(seed))
    tokens = noise_count(range(size), density)
    assert sum(span.size for span in spans) == tokens
    assert len(spans) == min(max(1, round(tokens / mean)), size - tokens + 1)
    assert all(span.size >= 1 for span in spans)
    assert all(a.stop < b.start for a, b in pairwise(spans))
    assert spans[0].start >= 0 and spans[-1].stop <= size


def test_t5s_shares_give_spans_of_three_on_average():
    sizes = [s.size for n in range(50) for s in random_spans(512, 0.15, 3.0, 100, np.random.default_rng(n))]
    assert np.mean(sizes) == pytest.approx(77 / 26)  # 15 % of 512 tokens in a third as many spans
    assert min(sizes) == 1 and max(sizes) > 6


@settings(max_examples=80, deadline=None)
@given(text=texts, seed=seeds)
def test_permuted_sentences_are_the_same_sentences(text, seed):
    source, target = corrupted("sentence-permutation", text, seed)
    assert (target == text).all()
    ends = sentence_ends(TOKENIZER)
    before, after = (sorted(map(tuple, noise_functions.split_sentences(part, ends))) for part in (text, source))
    if ends[text[-1]]:  # else the unfinished sentence may join another
        assert before == after
    assert sorted(source) == sorted(text)


@settings(max_examples=80, deadline=None)
@given(text=texts, seed=seeds)
def test_a_rotated_text_is_turned_back(text, seed):
    source, target = corrupted("document-rotation", text, seed)
    assert any((np.roll(source, turn) == text).all() for turn in range(len(text)))
    source, target = corrupted("token-shuffling", text, seed)
    assert sorted(source) == sorted(text) and (target == text).all()


def test_every_turn_and_order_is_as_probable():
    text = np.array(ORDINARY[:4])
    firsts = [corrupted("document-rotation", text, seed).source[0] for seed in range(800)]
    assert np.unique(firsts, return_counts=True)[1] == pytest.approx([200] * 4, abs=55)


@settings(max_examples=60, deadline=None)
@given(text=texts, seed=seeds, density=densities)
def test_kinds_that_keep_the_text_combine(text, seed, density):
    """Sentences are permuted, then spans masked: what is not masked is of the permuted text."""
    source, target = corrupted(("sentence-permutation", "text-infilling"), text, seed, density)
    assert (target == text).all()
    visible = source[source != MASK]
    assert len(visible) == len(text) - noise_count(text, density)
    counts = np.bincount(text, minlength=200) - np.bincount(visible, minlength=200)
    assert (counts >= 0).all() and counts.sum() == noise_count(text, density)
    for names in (
        ("token-masking", "token-deletion", "document-rotation"),
        ("token-shuffling", "text-infilling"),
        ("document-rotation", "sentence-permutation", "bert-style"),
    ):
        assert (corrupted(names, text, seed, density).target == text).all()


# --- choosing ---------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(selected=st.lists(st.booleans(), max_size=40), max_spans=st.integers(0, 12))
def test_contiguous_spans_cover_the_selected_positions(selected, max_spans):
    spans = contiguous_spans(np.array(selected, bool), max_spans)
    assert len(spans) <= max_spans
    covered = {position for span in spans for position in range(span.start, span.stop)}
    everywhere = {
        position for span in contiguous_spans(np.array(selected, bool), 99) for position in range(span.start, span.stop)
    }
    assert everywhere == set(np.flatnonzero(selected)) and covered <= everywhere


def test_spans_are_placed_anywhere():
    starts = [place_spans([2], 5, np.random.default_rng(seed))[0].start for seed in range(800)]
    assert np.unique(starts, return_counts=True)[1] == pytest.approx([200] * 4, abs=55)


def test_more_spans_than_sentinels_leave_the_last_as_they_are():
    few = Tokenizer.train(schema.Tokenizer(model="word", vocabulary_size=60, sentinels=3), [TEXT])
    text = np.array([few.token_to_id(word) for word in WORDS])
    for name in ("span-corruption", "sentinel-tokens"):
        made = Denoising(schema.Denoising(noise=(name,), noise_density=0.4), few)
        source, target = made.corrupt(text, np.random.default_rng(0))
        assert np.isin(source, few.sentinels).sum() == 2
        assert len(source) + len(target) == len(text) + 2 + 3


def test_ends_of_sentences_are_found_in_every_kind_of_token():
    for model in ("word", "wordpiece", "byte-bpe", "unigram", "char"):
        tokenizer = Tokenizer.train(
            schema.Tokenizer(model=model, vocabulary_size=300), ["He said: Go! Why? Well. So it is."] * 5
        )
        ids = np.array(tokenizer.encode("Go! Why? Well. So"))
        parts = noise_functions.split_sentences(ids, sentence_ends(tokenizer))
        assert [tokenizer.decode(part.tolist()).strip() for part in parts] == ["Go!", "Why?", "Well.", "So"], model


# --- batches ----------------------------------------------------------------------------------------------------------


def split_of(sizes):
    draw = np.random.default_rng(0)
    ids = np.concatenate([[*draw.choice(ORDINARY, size), SPECIAL.end] for size in sizes]).astype(np.uint16)
    return Split("train", "key", ids, np.cumsum([0, *(size + 1 for size in sizes)]), Tally(len(sizes), len(ids), 0, ()))


@pytest.mark.parametrize(
    "kind", [schema.Bucketed(tokens_per_batch=60, length=20), schema.Windows(batch_size=3, length=16)]
)
@pytest.mark.parametrize("opened", [False, True])
@settings(max_examples=15, deadline=None)
@given(sizes=st.lists(st.integers(0, 40), min_size=3, max_size=12))
def test_decoder_inputs_are_shifted_and_padded(kind, opened, sizes):
    split = split_of(sizes)
    objective = schema.Denoising(
        noise=("span-corruption",), noise_density=0.3, add_start_token=opened, decoder_start="pad"
    )
    whole = make_batches(kind, split, SPECIAL, 1)
    made = corrupt_batches(whole, objective, TOKENIZER, 1)
    for index in range(made.count(0)):
        batch, before = made.batch(Cursor(0, index)), whole.batch(Cursor(0, index))
        source, target, predicted = batch.streams["source"], batch.streams["target"], batch.targets["target"]
        assert (target.mask == (predicted.weight > 0)).all()
        assert (target.ids[:, 0] == SPECIAL.pad).all()
        for row in range(len(source.ids)):
            encoded, decoded = source.ids[row][source.mask[row]], predicted.values[row][target.mask[row]]
            assert target.ids[row][target.mask[row]][1:].tolist() == decoded[:-1].tolist()
            assert encoded[-1] == decoded[-1] == SPECIAL.end
            if opened:
                assert encoded[0] == decoded[0] == SPECIAL.start
            text = before.targets["text"].values[row][before.streams["text"].mask[row]]
            text = text[text != SPECIAL.end].tolist()
            inner = slice(int(opened), -1)
            assert not len(text) or fill_spans(encoded[inner], decoded[inner])[0] == text
            limit = kind.length + 2
            assert len(encoded) <= limit and len(decoded) <= limit


def test_noise_depends_on_the_seed_and_the_place_alone():
    whole = make_batches(schema.Bucketed(tokens_per_batch=60, length=20), split_of([18] * 12), SPECIAL, 1)
    made = corrupt_batches(whole, schema.Denoising(), TOKENIZER, 1)
    one, again = (made.batch(Cursor(1, 0)).streams["source"].ids.tolist() for _ in range(2))
    assert one == again
    assert (
        one
        != corrupt_batches(whole, schema.Denoising(), TOKENIZER, 2).batch(Cursor(1, 0)).streams["source"].ids.tolist()
    )
    first, second = ([batch.streams["source"].ids.tolist() for batch in made.evaluation_batches()] for _ in range(2))
    assert first == second


def test_every_name_has_its_noise():
    import typing

    hint = typing.get_type_hints(schema.Denoising)["noise"]
    assert set(typing.get_args(typing.get_args(hint)[0])) == {*FULL_TARGET_NOISE, *MISSING_TARGET_NOISE}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ((), "no noise is named"),
        (("sentence-permutation", "span-corruption"), "span-corruption cannot be combined"),
        (("prefix-lm", "token-masking"), "prefix-lm cannot be combined"),
    ],
)
def test_noise_that_cannot_be_is_refused(names, message):
    with pytest.raises(FirthError, match=message):
        noise(*names)


def test_span_corruption_needs_a_tokenizer_with_sentinels():
    plain = Tokenizer.train(schema.Tokenizer(model="word", vocabulary_size=60), [TEXT])
    with pytest.raises(FirthError, match="the tokenizer has no sentinel tokens"):
        Denoising(schema.Denoising(), plain)
    assert Denoising(schema.Denoising(noise=("text-infilling",)), plain)
