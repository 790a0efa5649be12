"""Noise by property: what is read and what is written give back the text; shares and lengths of spans are as asked."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.config import schema
from firth.data.batching import batches
from firth.data.cache import Split, Tally
from firth.data.corrupt import corrupted, noises
from firth.data.corrupt.choosing import Span, even_spans, placed, poisson_spans, runs, some
from firth.data.corrupt.denoising import MISSING, WHOLE, Denoising
from firth.errors import FirthError
from firth.text.sentences import sentence_ends
from firth.text.tokenizer import Tokenizer
from firth.types import Cursor

WORDS = [f"w{n}" for n in range(40)]
TEXT = " ".join([*WORDS, ". ! ?"])
TOKENIZER = Tokenizer.train(schema.Tokenizer(model="word", size=120, sentinels=60), [TEXT])
SPECIAL, MASK, SENTINELS = TOKENIZER.special, TOKENIZER.special.mask, TOKENIZER.sentinels
ORDINARY = sorted({*TOKENIZER.vocabulary().values()} - SPECIAL.ids - {*SENTINELS})
texts = st.lists(st.sampled_from(ORDINARY), min_size=1, max_size=80).map(lambda ids: np.array(ids, np.int64))
seeds = st.integers(0, 10_000)
shares = st.floats(0.02, 0.9)


def noise(*names, share=0.15, **change):
    return Denoising(schema.Denoise(noise=names, share=share, **change), TOKENIZER)


def damaged(names, text, seed, share=0.15, **change):
    names = (names,) if isinstance(names, str) else names
    return noise(*names, share=share, **change).damaged(text, np.random.default_rng(seed))


def wanted(text, share):
    return min(len(text), max(1, round(share * len(text))))


# --- the table of Raffel et al. 2020, with the same choices ----------------------------------------------------------

SENTENCE = ["Thank", "you", "for", "inviting", "me", "to", "your", "party", "last", "week", "."]
M, X, Y, Z, APPLE = 101, 201, 202, 203, 99


def spelled(ids):
    names = {M: "<M>", X: "<X>", Y: "<Y>", Z: "<Z>", APPLE: "apple"}
    return " ".join(names.get(int(n)) or SENTENCE[int(n)] for n in ids)


def test_the_table_of_objectives():
    text, whole = np.arange(len(SENTENCE)), " ".join(SENTENCE)
    told = np.isin(text, [2, 3, 8])
    found = noises.cut(text, 4)
    assert tuple(map(spelled, found)) == ("Thank you for inviting", "me to your party last week .")
    bert = noises.masked(np.where(text == 8, APPLE, text), told & (text != 8), M)
    assert spelled(bert) == "Thank you <M> <M> me to your party apple week ."
    shuffled = text[[7, 4, 2, 6, 5, 10, 8, 1, 3, 9, 0]]
    assert spelled(shuffled) == "party me for your to . last you inviting week Thank"
    assert spelled(noises.masked(text, told, M)) == "Thank you <M> <M> me to your party <M> week ."
    assert spelled(text) == whole
    found = noises.gapped(text, runs(told, 99), [X, Y, Z])
    assert tuple(map(spelled, found)) == (
        "Thank you <X> me to your party <Y> week .",
        "<X> for inviting <Y> last <Z>",
    )
    assert tuple(map(spelled, noises.dropped(text, told))) == ("Thank you me to your party week .", "for inviting last")
    found = noises.gapped(text, [Span(2, 3), Span(6, 3)], [X, Y, Z])
    assert tuple(map(spelled, found)) == ("Thank you <X> to <Y> week .", "<X> for inviting me <Y> your party last <Z>")


# --- what is read and what is written give back the text ----------------------------------------------------------


def reassembled(source, target):
    """The source with each mark replaced by what stands after it in the target."""
    marks = {*SENTINELS}
    gaps, mark = {}, None
    for token in target.tolist():
        if token in marks:
            mark, gaps[token] = token, []
        else:
            gaps[mark].append(token)
    found = [piece for token in source.tolist() for piece in (gaps[token] if token in marks else [token])]
    return found, gaps


@pytest.mark.parametrize("name", ["spans", "sentinels"])
@settings(max_examples=80, deadline=None)
@given(text=texts, seed=seeds, share=shares)
def test_gaps_and_what_fills_them_give_back_the_text(name, text, seed, share):
    source, target = damaged(name, text, seed, share)
    found, gaps = reassembled(source, target)
    assert found == text.tolist()
    used = [token for token in source.tolist() if token in SENTINELS]
    assert used == list(SENTINELS[: len(used)])  # in their order
    assert [*gaps] == [*used, SENTINELS[len(used)]] and gaps[SENTINELS[len(used)]] == []  # the last gap is empty
    assert all(gaps[mark] for mark in used)
    assert not any(a in SENTINELS and b in SENTINELS for a, b in pairwise(source))
    if len(used) < len(SENTINELS) - 1:  # enough marks for all gaps
        assert sum(map(len, gaps.values())) == wanted(text, share)


@settings(max_examples=80, deadline=None)
@given(text=texts, seed=seeds, share=shares)
def test_what_is_dropped_and_what_is_left_are_the_text_in_its_order(text, seed, share):
    source, target = damaged("drop", text, seed, share)
    assert len(target) == wanted(text, share)
    told = some(len(text), share, np.random.default_rng(seed))
    back = np.empty_like(text)
    back[told], back[~told] = target, source
    assert (back == text).all()


@settings(max_examples=80, deadline=None)
@given(text=texts, seed=seeds)
def test_a_beginning_and_its_rest_are_the_text(text, seed):
    source, target = damaged("prefix", text, seed)
    assert np.concatenate([source, target]).tolist() == text.tolist()
    assert len(target) >= 1 and (len(source) >= 1 or len(text) == 1)


@settings(max_examples=80, deadline=None)
@given(text=texts, seed=seeds, share=shares)
def test_masks_stand_where_tokens_stood(text, seed, share):
    source, target = damaged("mask", text, seed, share)
    assert (target == text).all()
    hidden = source == MASK
    assert hidden.sum() == wanted(text, share)
    assert (source[~hidden] == text[~hidden]).all()


def test_in_berts_style_a_tenth_of_the_chosen_become_any_token_and_none_stays():
    text = np.full(4000, ORDINARY[0])
    source, target = damaged("bert", text, 3, 0.5)
    assert (target == text).all()
    masks, other = (source == MASK).sum(), ((source != MASK) & (source != text)).sum()
    unseen = 2000 - masks - other  # replaced by the same token: one in the vocabulary's size
    assert unseen <= 30
    assert masks / 2000 == pytest.approx(0.9, abs=4 * np.sqrt(0.09 / 2000))
    assert set(np.unique(source)) <= {MASK, *ORDINARY} and len(np.unique(source)) > 30


@settings(max_examples=80, deadline=None)
@given(text=texts, seed=seeds, share=shares)
def test_deletion_leaves_the_others_in_their_order(text, seed, share):
    source, target = damaged("delete", text, seed, share)
    assert (target == text).all()
    assert len(source) == len(text) - wanted(text, share)
    rest = iter(text.tolist())
    assert all(token in rest for token in source.tolist())  # a subsequence


@settings(max_examples=120, deadline=None)
@given(size=st.integers(1, 80), seed=seeds, share=shares, span=st.floats(1.0, 6.0))
def test_infilling_puts_one_mask_for_each_span_and_loses_nothing_else(size, seed, share, span):
    text = np.array([ORDINARY[0]] * size)
    text[:] = np.resize(ORDINARY, size)
    source, target = damaged("infill", text, seed, share, span=span)
    spans = poisson_spans(size, share, span, np.random.default_rng(seed))
    assert (target == text).all()
    assert sum(each.size for each in spans) == wanted(text, share)
    assert (source == MASK).sum() == len(spans)
    assert len(source) <= len(text)
    pieces, here = [], iter(spans)
    for token in source.tolist():
        if token == MASK:
            each = next(here)
            pieces += text[each.start : each.stop].tolist()
        else:
            pieces.append(token)
    assert pieces == text.tolist()


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
@given(size=st.integers(1, 300), seed=seeds, share=shares, mean=st.floats(1.0, 10.0))
def test_random_spans_are_as_many_and_as_long_as_asked_and_never_touch(size, seed, share, mean):
    spans = even_spans(size, share, mean, 10_000, np.random.default_rng(seed))
    tokens = wanted(range(size), share)
    assert sum(span.size for span in spans) == tokens
    assert len(spans) == min(max(1, round(tokens / mean)), size - tokens + 1)
    assert all(span.size >= 1 for span in spans)
    assert all(a.stop < b.start for a, b in pairwise(spans))
    assert spans[0].start >= 0 and spans[-1].stop <= size


def test_t5s_shares_give_spans_of_three_on_average():
    sizes = [s.size for n in range(50) for s in even_spans(512, 0.15, 3.0, 100, np.random.default_rng(n))]
    assert np.mean(sizes) == pytest.approx(77 / 26)  # 15 % of 512 tokens in a third as many spans
    assert min(sizes) == 1 and max(sizes) > 6


@settings(max_examples=80, deadline=None)
@given(text=texts, seed=seeds)
def test_permuted_sentences_are_the_same_sentences(text, seed):
    source, target = damaged("permute", text, seed)
    assert (target == text).all()
    ends = sentence_ends(TOKENIZER)
    before, after = (sorted(map(tuple, noises.sentences(part, ends))) for part in (text, source))
    if ends[text[-1]]:  # else the unfinished sentence may join another
        assert before == after
    assert sorted(source) == sorted(text)


@settings(max_examples=80, deadline=None)
@given(text=texts, seed=seeds)
def test_a_rotated_text_is_turned_back(text, seed):
    source, target = damaged("rotate", text, seed)
    assert any((np.roll(source, turn) == text).all() for turn in range(len(text)))
    source, target = damaged("shuffle", text, seed)
    assert sorted(source) == sorted(text) and (target == text).all()


def test_every_turn_and_order_is_as_probable():
    text = np.array(ORDINARY[:4])
    firsts = [damaged("rotate", text, seed).source[0] for seed in range(800)]
    assert np.unique(firsts, return_counts=True)[1] == pytest.approx([200] * 4, abs=55)


@settings(max_examples=60, deadline=None)
@given(text=texts, seed=seeds, share=shares)
def test_kinds_that_keep_the_text_combine(text, seed, share):
    """Sentences are permuted, then spans hidden: what is not hidden is of the permuted text."""
    source, target = damaged(("permute", "infill"), text, seed, share)
    assert (target == text).all()
    seen = source[source != MASK]
    assert len(seen) == len(text) - wanted(text, share)
    counts = np.bincount(text, minlength=200) - np.bincount(seen, minlength=200)
    assert (counts >= 0).all() and counts.sum() == wanted(text, share)
    for names in (("mask", "delete", "rotate"), ("shuffle", "infill"), ("rotate", "permute", "bert")):
        assert (damaged(names, text, seed, share).target == text).all()


# --- choosing ---------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(told=st.lists(st.booleans(), max_size=40), most=st.integers(0, 12))
def test_runs_are_the_stretches_of_chosen_places(told, most):
    spans = runs(np.array(told, bool), most)
    assert len(spans) <= most
    covered = {place for span in spans for place in range(span.start, span.stop)}
    everywhere = {place for span in runs(np.array(told, bool), 99) for place in range(span.start, span.stop)}
    assert everywhere == set(np.flatnonzero(told)) and covered <= everywhere


def test_spans_are_placed_anywhere():
    starts = [placed([2], 5, np.random.default_rng(seed))[0].start for seed in range(800)]
    assert np.unique(starts, return_counts=True)[1] == pytest.approx([200] * 4, abs=55)


def test_more_gaps_than_marks_leave_the_last_as_they_are():
    few = Tokenizer.train(schema.Tokenizer(model="word", size=60, sentinels=3), [TEXT])
    text = np.array([few.id_of(word) for word in WORDS])
    for name in ("spans", "sentinels"):
        made = Denoising(schema.Denoise(noise=(name,), share=0.4), few)
        source, target = made.damaged(text, np.random.default_rng(0))
        assert np.isin(source, few.sentinels).sum() == 2
        assert len(source) + len(target) == len(text) + 2 + 3


def test_ends_of_sentences_are_found_in_every_kind_of_token():
    for model in ("word", "wordpiece", "byte-bpe", "unigram", "char"):
        tokenizer = Tokenizer.train(schema.Tokenizer(model=model, size=300), ["He said: Go! Why? Well. So it is."] * 5)
        ids = np.array(tokenizer.ids("Go! Why? Well. So"))
        parts = noises.sentences(ids, sentence_ends(tokenizer))
        assert [tokenizer.decode(part.tolist()).strip() for part in parts] == ["Go!", "Why?", "Well.", "So"], model


# --- batches ----------------------------------------------------------------------------------------------------------


def split_of(sizes):
    draw = np.random.default_rng(0)
    ids = np.concatenate([[*draw.choice(ORDINARY, size), SPECIAL.end] for size in sizes]).astype(np.uint16)
    return Split("train", "key", ids, np.cumsum([0, *(size + 1 for size in sizes)]), Tally(len(sizes), len(ids), 0, ()))


@pytest.mark.parametrize("kind", [schema.Bucketed(tokens=60, length=20), schema.Windows(rows=3, length=16)])
@pytest.mark.parametrize("opened", [False, True])
@settings(max_examples=15, deadline=None)
@given(sizes=st.lists(st.integers(0, 40), min_size=3, max_size=12))
def test_streams_are_shifted_framed_and_padded(kind, opened, sizes):
    split = split_of(sizes)
    objective = schema.Denoise(noise=("spans",), share=0.3, opened=opened, first="pad")
    whole = batches(kind, split, SPECIAL, 1)
    made = corrupted(whole, objective, TOKENIZER, 1)
    for index in range(made.count(0)):
        batch, before = made.batch(Cursor(0, index)), whole.batch(Cursor(0, index))
        source, target, told = batch.streams["source"], batch.streams["target"], batch.targets["target"]
        assert (target.mask == (told.weight > 0)).all()
        assert (target.ids[:, 0] == SPECIAL.pad).all()
        for row in range(len(source.ids)):
            read, written = source.ids[row][source.mask[row]], told.values[row][target.mask[row]]
            assert target.ids[row][target.mask[row]][1:].tolist() == written[:-1].tolist()
            assert read[-1] == written[-1] == SPECIAL.end
            if opened:
                assert read[0] == written[0] == SPECIAL.start
            text = before.targets["text"].values[row][before.streams["text"].mask[row]]
            text = text[text != SPECIAL.end].tolist()
            inner = slice(int(opened), -1)
            assert not len(text) or reassembled(read[inner], written[inner])[0] == text
            limit = kind.length + 2
            assert len(read) <= limit and len(written) <= limit


def test_noise_depends_on_the_seed_and_the_place_alone():
    whole = batches(schema.Bucketed(tokens=60, length=20), split_of([18] * 12), SPECIAL, 1)
    made = corrupted(whole, schema.Denoise(), TOKENIZER, 1)
    one, again = (made.batch(Cursor(1, 0)).streams["source"].ids.tolist() for _ in range(2))
    assert one == again
    assert one != corrupted(whole, schema.Denoise(), TOKENIZER, 2).batch(Cursor(1, 0)).streams["source"].ids.tolist()
    first, second = ([batch.streams["source"].ids.tolist() for batch in made.once()] for _ in range(2))
    assert first == second


def test_every_name_has_its_noise():
    import typing

    hint = typing.get_type_hints(schema.Denoise)["noise"]
    assert set(typing.get_args(typing.get_args(hint)[0])) == {*WHOLE, *MISSING}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ((), "no noise to undo"),
        (("permute", "spans"), "spans stands alone"),
        (("prefix", "mask"), "prefix stands alone"),
    ],
)
def test_noise_that_cannot_be_is_refused(names, message):
    with pytest.raises(FirthError, match=message):
        noise(*names)


def test_gaps_want_a_tokenizer_that_marks_them():
    plain = Tokenizer.train(schema.Tokenizer(model="word", size=60), [TEXT])
    with pytest.raises(FirthError, match="no tokens that mark gaps"):
        Denoising(schema.Denoise(), plain)
    assert Denoising(schema.Denoise(noise=("infill",)), plain)
