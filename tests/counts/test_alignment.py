"""Alignment by counting: posteriors by trying all alignments, EM's laws, nltk's Models 1 and 2, kernels' twins."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.special import digamma

from firth.config.schema import Aligner, Tokenizer
from firth.counts import alignment
from firth.counts.alignment import kernels, model
from firth.counts.alignment.bitext import Bitext, Side, encode
from firth.counts.alignment.joining import JOINS, join
from firth.counts.alignment.lexicon import gather
from firth.counts.alignment.placing import PLACINGS
from firth.data.corpus import make_tokenizer
from firth.errors import FirthError

PLACES = tuple(PLACINGS)
VOCABULARY = 9


def side(texts):
    lengths = [len(text) for text in texts]
    ids = np.array([word for text in texts for word in text], np.int32)
    places = np.array([place for length in lengths for place in range(length)], np.int32)
    return Side(ids, np.append(0, np.cumsum(lengths)).astype(np.int64), places)


def pairs(seed, count=12, longest=4, again=True):
    """Random texts; with or without words that come twice."""
    random = np.random.default_rng(seed)

    def text():
        return random.choice(VOCABULARY, random.integers(1, longest + 1), replace=again).tolist()

    return Bitext(side([text() for _ in range(count)]), side([text() for _ in range(count)]))


def texts_of(part):
    return [part.ids[low:high].tolist() for low, high in zip(part.starts[:-1], part.starts[1:], strict=True)]


def scrambled(bitext, config, seed=0):
    """A model whose parameters are random, so that no two are alike."""
    random = np.random.default_rng(seed)
    lexicon, placing = gather(bitext, VOCABULARY), PLACINGS[config.places](config)
    lexicon.update(random.random(len(lexicon.targets)), "additive", 0.01)
    cells = placing.lay(bitext)
    placing.begin(cells)
    placing.learn(cells, random.random(cells.borders[-1]))
    return model.Direction(lexicon, placing)


# --- all alignments, one by one -------------------------------------------------------------------------------------


def chance(found, source, target):
    """P(target word | source word), None being NULL."""
    row = found.lexicon.null if source is None else source
    targets, chances = found.lexicon.row(row)
    at = np.flatnonzero(targets == target)
    return float(chances[at[0]]) if len(at) else float(found.lexicon.rests[row])


def place_chances(found, config, chosen, left, right):
    """The probability of the places of an alignment (0: NULL), as the papers write it."""
    arrays, value = found.placing.arrays, 1.0
    if config.places == "jumps":
        jumps, reach, last = arrays["jumps"].astype(float), config.jump, 0

        def weight(before, to):
            if to == 0:  # the end
                return jumps[3 * reach + 2 + min(left - before, reach)]
            if before == 0:
                return jumps[2 * reach + 1 + min(to - 1, reach)]
            return jumps[max(-reach, min(reach, to - before)) + reach]

        for to in chosen:
            if to == 0:
                value *= config.null
            else:
                value *= (1 - config.null) * weight(last, to) / sum(weight(last, any_) for any_ in range(left + 1))
                last = to
        return (1 - config.null) * value * weight(last, 0) / sum(weight(last, any_) for any_ in range(left + 1))
    for j, to in enumerate(chosen, 1):
        if config.places == "even":
            value *= 1 / (left + 1)
        elif config.places == "table":
            shapes = arrays["shapes"].tolist()
            at = sum(b * (a + 1) for a, b in shapes[: shapes.index([left, right])])
            value *= float(arrays["places"][at + (j - 1) * (left + 1) + to])
        elif to == 0:
            value *= config.null
        else:
            weights = [np.exp(-float(arrays["tension"][0]) * abs(i / left - j / right)) for i in range(1, left + 1)]
            value *= (1 - config.null) * weights[to - 1] / sum(weights)
    return value


def by_trying(found, config, left, right):
    """The probability of a text, of each cell given the text, and of the best alignment."""
    cells, total, best = np.zeros((len(right), len(left) + 1)), 0.0, (0.0, None)
    for chosen in product(range(len(left) + 1), repeat=len(right)):
        value = place_chances(found, config, chosen, len(left), len(right))
        for word, to in zip(right, chosen, strict=True):
            value *= chance(found, left[to - 1] if to else None, word)
        total += value
        for j, to in enumerate(chosen):
            cells[j, to] += value
        best = max(best, (value, chosen))
    return total, cells / total, best


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("seen", [True, False])
def test_likelihood_posteriors_and_best_alignment_are_those_of_trying_all(places, seen):
    config, learned = Aligner(places=places, jump=2, null=0.2), pairs(1)
    found = scrambled(learned, config)
    bitext = learned if seen else pairs(2)  # with pairs of words, and lengths, that were never met
    if places == "table" and not seen:
        bitext = bitext.chosen(
            np.isin(bitext.left.lengths * 10 + bitext.right.lengths, learned.left.lengths * 10 + learned.right.lengths)
        )
    texts = found.texts(bitext)
    soft, best, nats = found.posteriors(texts), found.best(texts), 0.0
    for n, (left, right) in enumerate(zip(texts_of(bitext.left), texts_of(bitext.right), strict=True)):
        total, cells, (top, _) = by_trying(found, config, left, right)
        assert soft[n] == pytest.approx(cells, abs=1e-9)
        chosen = best[bitext.right.starts[n] : bitext.right.starts[n + 1]] + 1
        value = place_chances(found, config, chosen, len(left), len(right))
        value *= np.prod([chance(found, left[to - 1] if to else None, w) for w, to in zip(right, chosen, strict=True)])
        assert value == pytest.approx(top)
        nats -= np.log(total)
    assert found.loss(texts) == (len(bitext.right.ids), pytest.approx(nats))


@pytest.mark.parametrize("places", PLACES)
def test_probabilities_of_all_texts_add_up_to_one(places):
    """Given the lengths; the HMM knows by itself where to end, so there over all lengths, of which most are short."""
    config = Aligner(places=places, null=0.2)
    learned = Bitext(side([[0, 1], [1]]), side([[0, 1, 2], [2, 0]]))
    lexicon, placing = replace(gather(learned, 3), size=3), PLACINGS[places](config)  # no other words than these three
    lexicon.update(np.random.default_rng(0).random(len(lexicon.targets)), "additive", 0.5)
    found, total, missing = model.Direction(lexicon, placing), 0.0, 0.0
    if places == "jumps":
        placing.arrays["jumps"][-config.jump - 1 :] = 5.0
        on = 1 - 0.8 * 5 / 7  # that a word more comes: two words are one wide each, the end five
        total, missing = 1 - on, on**7
    for length in range(1, 7) if places == "jumps" else (3,):
        every = list(product(range(3), repeat=length))
        texts = found.texts(Bitext(side([[0, 1]] * len(every)), side(every)))
        for call in found.calls(texts):
            for n in range(call.low, call.high):
                total += np.exp(-call._replace(low=n, high=n + 1).expect().nats)
    assert total + missing == pytest.approx(1, abs=1e-6)


# --- laws of EM ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("seed", range(4))
def test_the_likelihood_never_falls(places, seed):
    config = Aligner(places=places, first=2, smoothing="none", agree=False, jump=2, same=3.0)
    training = alignment.begin(pairs(seed, 30, 6), VOCABULARY, config)
    losses = [training.work(epoch, 1).total for epoch in range(12)]
    for phase in (losses[:2], losses[2:]):  # the passes of Model 1 are about another model
        assert all(after <= before + 1e-5 * before for before, after in pairwise(phase))
    assert losses[-1] < losses[2]


def test_with_added_counts_the_likelihood_times_the_prior_never_falls():
    config = Aligner(places="table", first=0, smoothing="additive", strength=0.3, agree=False)
    training = alignment.begin(pairs(3, 30, 6), VOCABULARY, config)
    values = []
    for epoch in range(8):
        prior = 0.0
        for found in training.models:
            lexicon = found.lexicon
            sizes = np.diff(lexicon.starts)
            prior += np.log(lexicon.chances.astype(float)).sum()
            prior += ((lexicon.size - sizes) * np.log(lexicon.rests.astype(float)))[sizes > 0].sum()
        values.append(0.3 * prior - training.work(epoch, 1).total)
    assert all(after >= before - 1e-5 * abs(before) for before, after in pairwise(values))


@pytest.mark.parametrize("places", PLACES)
def test_the_new_lexicon_has_the_expected_shares(places):
    config = Aligner(places=places, first=0, smoothing="none", agree=False, jump=2, same=1.0)
    bitext = pairs(5)
    training = alignment.begin(bitext, VOCABULARY, config)
    before, expected = training.models[0], np.zeros((VOCABULARY + 1, VOCABULARY))
    for left, right in zip(texts_of(bitext.left), texts_of(bitext.right), strict=True):
        _, cells, _ = by_trying(before, config, left, right)
        for j, word in enumerate(right):
            for i, source in enumerate([VOCABULARY, *left]):
                expected[source, word] += cells[j, i]
    training.work(0, 1)
    for row in range(VOCABULARY + 1):
        targets, chances = before.lexicon.row(row)
        if len(targets):
            assert chances == pytest.approx(expected[row, targets] / expected[row].sum(), rel=1e-5)


def test_the_tension_is_the_best_for_the_counts():
    config, bitext = Aligner(places="diagonal"), pairs(7, 20, 6)
    placing = PLACINGS["diagonal"](config)
    cells = placing.lay(bitext)
    counts = np.random.default_rng(1).random(cells.borders[-1]) * np.where(cells.column == cells.line + 1, 9.0, 1.0)

    def value(tension):
        placing.arrays["tension"][0] = tension
        return float((counts * np.log(placing.table(cells))).sum())

    placing.learn(cells, counts)
    best = float(placing.arrays["tension"][0])
    assert 0.1 < best < 20 and value(best) > max(value(best * 1.01), value(best / 1.01))


@pytest.mark.parametrize("threads", [2, 5])
@pytest.mark.parametrize("places", ["table", "jumps"])
def test_threads_and_kept_places_change_nothing(threads, places, monkeypatch):
    def learned(threads):
        training = alignment.begin(pairs(9, 60, 8), VOCABULARY, Aligner(places=places))
        losses = [training.work(epoch, threads) for epoch in range(7)]
        return losses, {name: array.tobytes() for name, array in training.arrays.items()}

    monkeypatch.setattr(model, "PIECE", 100)
    once = learned(1)
    monkeypatch.setattr(model, "KEPT", 0)
    assert learned(threads) == once


# --- other programs and twins -------------------------------------------------------------------------------------


def test_models_1_and_2_are_those_of_nltk():
    from nltk.translate import AlignedSent, IBMModel1, IBMModel2

    bitext = pairs(11, 15, 5, again=False)  # nltk takes a word that comes twice for one of twice the weight
    both = list(zip(texts_of(bitext.left), texts_of(bitext.right), strict=True))

    def corpus():
        return [AlignedSent([str(w) for w in right], [str(w) for w in left]) for left, right in both]

    plain = {"smoothing": "none", "agree": False, "same": 1.0}
    ours = alignment.fit(bitext, VOCABULARY, Aligner(places="even", first=0, **plain), passes=6).forward
    theirs = IBMModel1(corpus(), 6)
    second = alignment.fit(bitext, VOCABULARY, Aligner(places="table", first=6, **plain), passes=3).forward
    theirs_2 = IBMModel2(corpus(), 3)  # after twice as many passes of Model 1
    for found, other in ((ours, theirs), (second, theirs_2)):
        for left, right in both:
            for source, target in product([None, *left], right):
                name = None if source is None else str(source)
                assert chance(found, source, target) == pytest.approx(
                    other.translation_table[str(target)][name], abs=1e-5
                )
    sources = second.best(second.texts(bitext))
    aligned = corpus()
    theirs_2.align_all(aligned)
    flat = [dict(pair.alignment).get(j) for pair in aligned for j in range(len(pair.words))]
    assert [None if i < 0 else i for i in sources.tolist()] == flat


def test_the_table_has_the_pairs_of_words_that_occur_together():
    bitext = pairs(13, 20, 5)
    lexicon, met = gather(bitext, VOCABULARY, same=4.0), {row: set() for row in range(VOCABULARY + 1)}
    for left, right in zip(texts_of(bitext.left), texts_of(bitext.right), strict=True):
        for source in [*left, VOCABULARY]:
            met[source] |= set(right)
    for row, words in met.items():
        targets, chances = lexicon.row(row)
        assert targets.tolist() == sorted(words)
        ratio = chances[targets == row] / chances[targets != row][:1]
        assert ratio.tolist() in ([4.0], [])
        assert chances.sum() + (lexicon.size - len(targets)) * lexicon.rests[row] == pytest.approx(1)
    places = model.Texts(pairs(14), lexicon).places(0, 12)
    at = 0
    for left, right in zip(texts_of(pairs(14).left), texts_of(pairs(14).right), strict=True):
        for word, source in product(right, [VOCABULARY, *left]):
            assert (places[at] >= 0) == (word in met[source])
            if places[at] >= 0:
                assert lexicon.starts[source] <= places[at] < lexicon.starts[source + 1]
                assert lexicon.targets[places[at]] == word
            at += 1


@pytest.mark.parametrize("smoothing", ["none", "additive", "variational"])
def test_counts_become_probabilities(smoothing):
    lexicon = gather(pairs(15), VOCABULARY)
    counts, strength = np.random.default_rng(2).random(len(lexicon.targets)) * 20, 0.0 if smoothing == "none" else 0.3
    lexicon.update(counts, smoothing, 0.3)
    for row in range(VOCABULARY + 1):
        low, high = lexicon.starts[row : row + 2]
        total = counts[low:high].sum() + strength * lexicon.size
        if low == high:
            assert lexicon.rests[row] == pytest.approx(1 / lexicon.size)
        elif smoothing == "variational":
            assert lexicon.chances[low:high] == pytest.approx(
                np.exp(digamma(counts[low:high] + 0.3) - digamma(total)), rel=1e-5
            )
            assert lexicon.rests[row] == pytest.approx(
                max(kernels.UNSEEN, np.exp(digamma(0.3) - digamma(total))), rel=1e-4
            )
        else:
            assert lexicon.chances[low:high] == pytest.approx((counts[low:high] + strength) / total, rel=1e-5)
            assert lexicon.rests[row] == pytest.approx(max(kernels.UNSEEN, strength / total))


def test_agreement_is_the_product():
    bitext = pairs(17)
    ways = [scrambled(text, Aligner(jump=2), seed) for seed, text in enumerate((bitext, bitext.turned))]
    soft = [way.posteriors(way.texts(text)) for way, text in zip(ways, (bitext, bitext.turned), strict=True)]
    cells = [np.concatenate([one.ravel() for one in each]) for each in soft]
    kernels.agree(*cells, bitext.left.lengths, bitext.right.lengths)
    expected = [], []
    for here, there in zip(*soft, strict=True):
        both = here[:, 1:] * there[:, 1:].T
        for found, words in zip(expected, (both, both.T), strict=True):
            found.append(np.c_[1 - words.sum(1), words].ravel())
    for found, right in zip(cells, expected, strict=True):
        assert found == pytest.approx(np.concatenate(right), abs=1e-12)


# --- joining --------------------------------------------------------------------------------------------------------


def joined(here, there, left, right, how):
    """The definitions, on sets of links."""
    if how in ("forward", "backward"):
        return {"forward": here, "backward": there}[how]
    if how == "union":
        return here | there
    found = here & there
    if how == "intersection":
        return found
    found = set(found)

    def bare(link):
        return link[0] not in {i for i, _ in found}, link[1] not in {j for _, j in found}

    grown = True
    while grown:
        grown = False
        for i, j in product(range(left), range(right)):
            for a, b in ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)):
                near = (i + a, j + b)
                if (i, j) in found and near in here | there and near not in found and any(bare(near)):
                    found.add(near)
                    grown = True
    for given in (here, there) if how != "grow-diag" else ():
        for link in sorted(given):
            if (all if how.endswith("and") else any)(bare(link)):
                found.add(link)
    return found


@pytest.mark.parametrize("how", JOINS)
def test_joining_follows_the_definitions(how):
    random, forward, backward, sizes = np.random.default_rng(5), [], [], []
    for _ in range(200):
        left, right = random.integers(1, 7, 2).tolist()
        sizes.append((left, right))
        forward.append(random.integers(-1, left, right))
        backward.append(random.integers(-1, right, left))
    lefts, rights = np.array(sizes).T
    found = join(np.concatenate(forward), np.concatenate(backward), lefts, rights, how).lists()
    for links, here, there, size in zip(found, forward, backward, sizes, strict=True):
        ways = {(int(i), j) for j, i in enumerate(here) if i >= 0}, {(i, int(j)) for i, j in enumerate(there) if j >= 0}
        assert links == sorted(joined(*ways, *size, how))


def test_a_known_case_of_growing():
    forward, backward = np.array([0, 1, 1, -1]), np.array([0, 1, 3])  # 0-0 1-1 1-2 | 0-0 1-1 2-3
    lengths = np.array([3]), np.array([4])
    shown = {how: join(forward, backward, *lengths, how).lists()[0] for how in JOINS}
    assert shown["intersection"] == [(0, 0), (1, 1)] and shown["union"] == [(0, 0), (1, 1), (1, 2), (2, 3)]
    assert shown["grow-diag"] == shown["union"]  # 1-2 is beside 1-1, 2-3 is across from 1-2
    with pytest.raises(FirthError, match="unknown way to join links 'unoin'"):
        join(forward, backward, *lengths, "unoin")


# --- whole texts ----------------------------------------------------------------------------------------------------

TEXTS = [
    ("the house .", "das Haus ."),
    ("the book .", "das Buch ."),
    ("a house.", "ein Haus ."),
    ("", "nichts"),
    ("a book .", "ein Buch ."),
]


@pytest.fixture(scope="module", params=["word", "char"])
def tokenizer(request):
    config = Tokenizer(model=request.param, lower="yes")
    return make_tokenizer(config, [text for pair in TEXTS for text in pair])


def test_links_are_told_in_words_between_blanks(tokenizer):
    bitext = encode(TEXTS, tokenizer)
    both = alignment.fit(bitext, tokenizer.size, passes=5)
    found = both.align(bitext, "union")
    assert found[3] == [] and len(found) == 5
    for links, (left, right) in zip(found, TEXTS, strict=True):
        assert links == sorted(set(links)) and all(i < len(left.split()) and j < len(right.split()) for i, j in links)
    if tokenizer.kind == "word":
        assert found[0] == [(0, 0), (1, 1), (2, 2)] and found[2] == [(0, 0), (1, 1), (1, 2)]  # house and . are one word


def test_saving_and_loading_is_the_identity(tokenizer, tmp_path):
    bitext, path = encode(TEXTS, tokenizer), tmp_path / "model"
    for places in PLACES:
        config = Aligner(places=places)
        both = alignment.fit(bitext, tokenizer.size, config, passes=2)
        alignment.save(both, path, {"whose": "mine"})
        again = alignment.load(path, config)
        assert again.losses(bitext) == both.losses(bitext) and alignment.read_note(path) == {"whose": "mine"}
        assert again.align(bitext, "union") == both.align(bitext, "union")


def test_a_damaged_file_is_refused(tokenizer, tmp_path):
    path = tmp_path / "model"
    alignment.save(alignment.fit(encode(TEXTS, tokenizer), tokenizer.size, passes=1), path)
    whole = path.read_bytes()
    array = alignment.load(path, Aligner()).forward.lexicon.targets
    foreign = whole.replace(array.tobytes(), (array + tokenizer.size).tobytes())
    assert foreign != whole
    for spoiled in (whole[:-9], whole[:40], b"", whole.replace(b"alignment", b"alignnent"), foreign):
        path.write_bytes(spoiled)
        with pytest.raises(FirthError, match="not a model of alignment"):
            alignment.load(path, Aligner())


def test_words_and_lengths_that_were_never_met(tokenizer):
    both = alignment.fit(encode(TEXTS, tokenizer), tokenizer.size, Aligner(places="table"), passes=2)
    other = encode([("quite unheard of words here", "the"), ("", ""), ("x", "")], tokenizer)
    assert [len(links) <= 5 for links in both.align(other, "union")] == [True] * 3
    assert all(np.isfinite(loss.total) for loss in both.losses(other))
    empty = encode([("", "")], tokenizer)
    assert both.align(empty, "union") == [[]] and both.losses(empty) == ((0, 0.0), (0, 0.0))


def test_nothing_to_learn_from(tokenizer):
    with pytest.raises(FirthError, match="none of 1 pairs has words on both sides, and at most 100"):
        alignment.fit(encode([("", "nichts")], tokenizer), tokenizer.size)
    with pytest.raises(FirthError, match="at most 1 of them"):
        alignment.fit(encode(TEXTS[:2], tokenizer), tokenizer.size, Aligner(longest=1))
