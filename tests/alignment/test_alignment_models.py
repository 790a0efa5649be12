"""Word alignment: posteriors by enumeration of all alignments, laws of EM, nltk's Models 1 and 2, reference kernels."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.special import digamma

from firth import alignment
from firth.alignment import em_kernels, ibm_models
from firth.alignment.bitext import Bitext, Side, encode
from firth.alignment.distortion import DISTORTIONS
from firth.alignment.symmetrisation import HEURISTICS, symmetrise
from firth.alignment.translation_table import build_table
from firth.config.schema import Aligner, Tokenizer
from firth.datasets import memory_map
from firth.datasets.text_dataset import make_tokenizer
from firth.errors import FirthError

DISTORTION_NAMES = tuple(DISTORTIONS)
VOCABULARY = 9


def side(texts):
    lengths = [len(text) for text in texts]
    ids = np.array([word for text in texts for word in text], np.int32)
    positions = np.array([position for length in lengths for position in range(length)], np.int32)
    return Side(ids, np.append(0, np.cumsum(lengths)).astype(np.int64), positions)


def pairs(seed, count=12, max_length=4, repeat=True):
    """Random texts; with or without repeated words."""
    random = np.random.default_rng(seed)

    def text():
        return random.choice(VOCABULARY, random.integers(1, max_length + 1), replace=repeat).tolist()

    return Bitext(side([text() for _ in range(count)]), side([text() for _ in range(count)]))


def texts_of(part):
    return [part.ids[low:high].tolist() for low, high in zip(part.starts[:-1], part.starts[1:], strict=True)]


def random_model(bitext, config, seed=0):
    """A model whose parameters are random, so that no two are alike."""
    random = np.random.default_rng(seed)
    table, distortion = build_table(bitext, VOCABULARY), DISTORTIONS[config.distortion](config)
    table.update(random.random(len(table.targets)), "additive", 0.01)
    grid = distortion.layout(bitext)
    distortion.initialise(grid)
    distortion.update(grid, random.random(grid.offsets[-1]))
    return ibm_models.AlignmentModel(table, distortion)


# --- all alignments, one by one -------------------------------------------------------------------------------------


def translation_probability(model, source, target):
    """P(target word | source word), None being NULL."""
    row = model.table.null if source is None else source
    targets, probabilities = model.table.row(row)
    at = np.flatnonzero(targets == target)
    return float(probabilities[at[0]]) if len(at) else float(model.table.unseen[row])


def distortion_probability(model, config, alignment, source_length, target_length):
    """The distortion probability of an alignment (0: NULL), as the papers write it."""
    arrays, value = model.distortion.arrays, 1.0
    if config.distortion == "hmm":
        jumps, max_jump, last = arrays["jumps"].astype(float), config.max_jump, 0

        def weight(before, position):
            if position == 0:  # the end
                return jumps[3 * max_jump + 2 + min(source_length - before, max_jump)]
            if before == 0:
                return jumps[2 * max_jump + 1 + min(position - 1, max_jump)]
            return jumps[max(-max_jump, min(max_jump, position - before)) + max_jump]

        for position in alignment:
            if position == 0:
                value *= config.null_probability
            else:
                value *= (
                    (1 - config.null_probability)
                    * weight(last, position)
                    / sum(weight(last, any_) for any_ in range(source_length + 1))
                )
                last = position
        return (
            (1 - config.null_probability)
            * value
            * weight(last, 0)
            / sum(weight(last, any_) for any_ in range(source_length + 1))
        )
    for j, position in enumerate(alignment, 1):
        if config.distortion == "uniform":
            value *= 1 / (source_length + 1)
        elif config.distortion == "table":
            shapes = arrays["shapes"].tolist()
            at = sum(b * (a + 1) for a, b in shapes[: shapes.index([source_length, target_length])])
            value *= float(arrays["positions"][at + (j - 1) * (source_length + 1) + position])
        elif position == 0:
            value *= config.null_probability
        else:
            weights = [
                np.exp(-float(arrays["tension"][0]) * abs(i / source_length - j / target_length))
                for i in range(1, source_length + 1)
            ]
            value *= (1 - config.null_probability) * weights[position - 1] / sum(weights)
    return value


def enumerate_alignments(model, config, source, target):
    """The probability of a text, the posterior of each cell, and the most probable alignment."""
    cells, total, best = np.zeros((len(target), len(source) + 1)), 0.0, (0.0, None)
    for positions in product(range(len(source) + 1), repeat=len(target)):
        value = distortion_probability(model, config, positions, len(source), len(target))
        for word, position in zip(target, positions, strict=True):
            value *= translation_probability(model, source[position - 1] if position else None, word)
        total += value
        for j, position in enumerate(positions):
            cells[j, position] += value
        best = max(best, (value, positions))
    return total, cells / total, best


@pytest.mark.parametrize("distortion_name", DISTORTION_NAMES)
@pytest.mark.parametrize("seen", [True, False])
def test_likelihood_posteriors_and_viterbi_alignment_are_those_of_enumeration(distortion_name, seen):
    config, learned = Aligner(distortion=distortion_name, max_jump=2, null_probability=0.2), pairs(1)
    model = random_model(learned, config)
    bitext = learned if seen else pairs(2)  # with pairs of words, and lengths, not seen in training
    if distortion_name == "table" and not seen:
        bitext = bitext.select(
            np.isin(
                bitext.source.lengths * 10 + bitext.target.lengths, learned.source.lengths * 10 + learned.target.lengths
            )
        )
    texts = model.index(bitext)
    posteriors, best, nll = model.posteriors(texts), model.viterbi(texts), 0.0
    for n, (source, target) in enumerate(zip(texts_of(bitext.source), texts_of(bitext.target), strict=True)):
        total, expected, (best_probability, _) = enumerate_alignments(model, config, source, target)
        assert posteriors[n] == pytest.approx(expected, abs=1e-9)
        alignment = best[bitext.target.starts[n] : bitext.target.starts[n + 1]] + 1
        value = distortion_probability(model, config, alignment, len(source), len(target))
        value *= np.prod(
            [
                translation_probability(model, source[position - 1] if position else None, w)
                for w, position in zip(target, alignment, strict=True)
            ]
        )
        assert value == pytest.approx(best_probability)
        nll -= np.log(total)
    assert model.loss(texts) == (len(bitext.target.ids), pytest.approx(nll))


@pytest.mark.parametrize("distortion_name", DISTORTION_NAMES)
def test_probabilities_of_all_texts_sum_to_one(distortion_name):
    """Given the lengths; the HMM is normalised over all lengths, so there over lengths, of which most are short."""
    config = Aligner(distortion=distortion_name, null_probability=0.2)
    learned = Bitext(side([[0, 1], [1]]), side([[0, 1, 2], [2, 0]]))
    table, distortion = (
        replace(build_table(learned, 3), num_targets=3),
        DISTORTIONS[distortion_name](config),
    )  # no other words than these three
    table.update(np.random.default_rng(0).random(len(table.targets)), "additive", 0.5)
    model, total, missing = ibm_models.AlignmentModel(table, distortion), 0.0, 0.0
    if distortion_name == "hmm":
        distortion.arrays["jumps"][-config.max_jump - 1 :] = 5.0
        continue_probability = 1 - 0.8 * 5 / 7  # of one more word: two words have weight 1 each, the end 5
        total, missing = 1 - continue_probability, continue_probability**7
    for length in range(1, 7) if distortion_name == "hmm" else (3,):
        all_targets = list(product(range(3), repeat=length))
        texts = model.index(Bitext(side([[0, 1]] * len(all_targets)), side(all_targets)))
        for task in model.tasks(texts):
            for n in range(task.low, task.high):
                total += np.exp(-task._replace(low=n, high=n + 1).e_step().nll)
    assert total + missing == pytest.approx(1, abs=1e-6)


# --- laws of EM ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("distortion_name", DISTORTION_NAMES)
@pytest.mark.parametrize("seed", range(4))
def test_the_likelihood_never_falls(distortion_name, seed):
    config = Aligner(
        distortion=distortion_name, model1_epochs=2, smoothing="none", agreement=False, max_jump=2, identical_bonus=3.0
    )
    training = alignment.start_training(pairs(seed, 30, 6), VOCABULARY, config)
    losses = [training.em_step(epoch, 1).total for epoch in range(12)]
    for phase in (losses[:2], losses[2:]):  # the iterations of Model 1 train another model
        assert all(after <= before + 1e-5 * before for before, after in pairwise(phase))
    assert losses[-1] < losses[2]


def test_with_added_counts_the_likelihood_times_the_prior_never_falls():
    config = Aligner(distortion="table", model1_epochs=0, smoothing="additive", smoothing_strength=0.3, agreement=False)
    training = alignment.start_training(pairs(3, 30, 6), VOCABULARY, config)
    values = []
    for epoch in range(8):
        prior = 0.0
        for model in training.models:
            table = model.table
            sizes = np.diff(table.starts)
            prior += np.log(table.probabilities.astype(float)).sum()
            prior += ((table.num_targets - sizes) * np.log(table.unseen.astype(float)))[sizes > 0].sum()
        values.append(0.3 * prior - training.em_step(epoch, 1).total)
    assert all(after >= before - 1e-5 * abs(before) for before, after in pairwise(values))


@pytest.mark.parametrize("distortion_name", DISTORTION_NAMES)
def test_the_m_step_gives_relative_frequencies_of_expected_counts(distortion_name):
    config = Aligner(
        distortion=distortion_name, model1_epochs=0, smoothing="none", agreement=False, max_jump=2, identical_bonus=1.0
    )
    bitext = pairs(5)
    training = alignment.start_training(bitext, VOCABULARY, config)
    before, expected = training.models[0], np.zeros((VOCABULARY + 1, VOCABULARY))
    for left, right in zip(texts_of(bitext.source), texts_of(bitext.target), strict=True):
        _, cells, _ = enumerate_alignments(before, config, left, right)
        for j, word in enumerate(right):
            for i, source in enumerate([VOCABULARY, *left]):
                expected[source, word] += cells[j, i]
    training.em_step(0, 1)
    for row in range(VOCABULARY + 1):
        targets, probabilities = before.table.row(row)
        if len(targets):
            assert probabilities == pytest.approx(expected[row, targets] / expected[row].sum(), rel=1e-5)


def test_the_tension_is_the_best_for_the_counts():
    config, bitext = Aligner(distortion="diagonal"), pairs(7, 20, 6)
    distortion = DISTORTIONS["diagonal"](config)
    grid = distortion.layout(bitext)
    counts = np.random.default_rng(1).random(grid.offsets[-1]) * np.where(grid.column == grid.line + 1, 9.0, 1.0)

    def value(tension):
        distortion.arrays["tension"][0] = tension
        return float((counts * np.log(distortion.table(grid))).sum())

    distortion.update(grid, counts)
    best = float(distortion.arrays["tension"][0])
    assert 0.1 < best < 20 and value(best) > max(value(best * 1.01), value(best / 1.01))


@pytest.mark.parametrize("threads", [2, 5])
@pytest.mark.parametrize("distortion_name", ["table", "hmm"])
def test_threads_and_cached_entries_change_nothing(threads, distortion_name, monkeypatch):
    def learned(threads):
        training = alignment.start_training(pairs(9, 60, 8), VOCABULARY, Aligner(distortion=distortion_name))
        losses = [training.em_step(epoch, threads) for epoch in range(7)]
        return losses, {name: array.tobytes() for name, array in training.arrays.items()}

    monkeypatch.setattr(ibm_models, "MIN_CHUNK_CELLS", 100)
    once = learned(1)
    monkeypatch.setattr(ibm_models, "MAX_CACHED_CELLS", 0)
    assert learned(threads) == once


# --- other programs and reference implementations ------------------------------------------------------------------


def test_models_1_and_2_are_those_of_nltk():
    from nltk.translate import AlignedSent, IBMModel1, IBMModel2

    bitext = pairs(11, 15, 5, repeat=False)  # nltk counts a repeated word as one of twice the weight
    text_pairs = list(zip(texts_of(bitext.source), texts_of(bitext.target), strict=True))

    def corpus():
        return [AlignedSent([str(w) for w in right], [str(w) for w in left]) for left, right in text_pairs]

    plain = {"smoothing": "none", "agreement": False, "identical_bonus": 1.0}
    ours = alignment.fit(
        bitext, VOCABULARY, Aligner(distortion="uniform", model1_epochs=0, **plain), iterations=6
    ).forward
    theirs = IBMModel1(corpus(), 6)
    second = alignment.fit(
        bitext, VOCABULARY, Aligner(distortion="table", model1_epochs=6, **plain), iterations=3
    ).forward
    theirs_2 = IBMModel2(corpus(), 3)  # after twice as many iterations of Model 1
    for model, reference in ((ours, theirs), (second, theirs_2)):
        for left, right in text_pairs:
            for source, target in product([None, *left], right):
                name = None if source is None else str(source)
                assert translation_probability(model, source, target) == pytest.approx(
                    reference.translation_table[str(target)][name], abs=1e-5
                )
    sources = second.viterbi(second.index(bitext))
    aligned = corpus()
    theirs_2.align_all(aligned)
    flat = [dict(pair.alignment).get(j) for pair in aligned for j in range(len(pair.words))]
    assert [None if i < 0 else i for i in sources.tolist()] == flat


def test_the_table_has_the_cooccurring_word_pairs():
    bitext = pairs(13, 20, 5)
    table, cooccurring = build_table(bitext, VOCABULARY, same=4.0), {row: set() for row in range(VOCABULARY + 1)}
    for left, right in zip(texts_of(bitext.source), texts_of(bitext.target), strict=True):
        for source in [*left, VOCABULARY]:
            cooccurring[source] |= set(right)
    for row, words in cooccurring.items():
        targets, probabilities = table.row(row)
        assert targets.tolist() == sorted(words)
        ratio = probabilities[targets == row] / probabilities[targets != row][:1]
        assert ratio.tolist() in ([4.0], [])
        assert probabilities.sum() + (table.num_targets - len(targets)) * table.unseen[row] == pytest.approx(1)
    entries = ibm_models.IndexedBitext(pairs(14), table).entries(0, 12)
    at = 0
    for left, right in zip(texts_of(pairs(14).source), texts_of(pairs(14).target), strict=True):
        for word, source in product(right, [VOCABULARY, *left]):
            assert (entries[at] >= 0) == (word in cooccurring[source])
            if entries[at] >= 0:
                assert table.starts[source] <= entries[at] < table.starts[source + 1]
                assert table.targets[entries[at]] == word
            at += 1


@pytest.mark.parametrize("smoothing", ["none", "additive", "variational"])
def test_the_m_step_normalises_counts(smoothing):
    table = build_table(pairs(15), VOCABULARY)
    counts, strength = np.random.default_rng(2).random(len(table.targets)) * 20, 0.0 if smoothing == "none" else 0.3
    table.update(counts, smoothing, 0.3)
    for row in range(VOCABULARY + 1):
        low, high = table.starts[row : row + 2]
        total = counts[low:high].sum() + strength * table.num_targets
        if low == high:
            assert table.unseen[row] == pytest.approx(1 / table.num_targets)
        elif smoothing == "variational":
            assert table.probabilities[low:high] == pytest.approx(
                np.exp(digamma(counts[low:high] + 0.3) - digamma(total)), rel=1e-5
            )
            assert table.unseen[row] == pytest.approx(
                max(em_kernels.MIN_UNSEEN, np.exp(digamma(0.3) - digamma(total))), rel=1e-4
            )
        else:
            assert table.probabilities[low:high] == pytest.approx((counts[low:high] + strength) / total, rel=1e-5)
            assert table.unseen[row] == pytest.approx(max(em_kernels.MIN_UNSEEN, strength / total))


def test_agreement_is_the_product_of_both_posteriors():
    bitext = pairs(17)
    models = [random_model(text, Aligner(max_jump=2), seed) for seed, text in enumerate((bitext, bitext.reversed))]
    posteriors = [
        model.posteriors(model.index(text)) for model, text in zip(models, (bitext, bitext.reversed), strict=True)
    ]
    cells = [np.concatenate([one.ravel() for one in each]) for each in posteriors]
    em_kernels.agree(*cells, bitext.source.lengths, bitext.target.lengths)
    expected = [], []
    for forward, backward in zip(*posteriors, strict=True):
        model = forward[:, 1:] * backward[:, 1:].T
        for result, words in zip(expected, (model, model.T), strict=True):
            result.append(np.c_[1 - words.sum(1), words].ravel())
    for result, right in zip(cells, expected, strict=True):
        assert result == pytest.approx(np.concatenate(right), abs=1e-12)


# --- symmetrisation ---------------------------------------------------------------------------------------------------


def reference_symmetrise(forward, backward, source_length, target_length, heuristic):
    """The definitions, on sets of links."""
    if heuristic in ("forward", "backward"):
        return {"forward": forward, "backward": backward}[heuristic]
    if heuristic == "union":
        return forward | backward
    links = forward & backward
    if heuristic == "intersection":
        return links
    links = set(links)

    def unaligned(link):
        return link[0] not in {i for i, _ in links}, link[1] not in {j for _, j in links}

    grown = True
    while grown:
        grown = False
        for i, j in product(range(source_length), range(target_length)):
            for a, b in ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)):
                neighbour = (i + a, j + b)
                if (
                    (i, j) in links
                    and neighbour in forward | backward
                    and neighbour not in links
                    and any(unaligned(neighbour))
                ):
                    links.add(neighbour)
                    grown = True
    for direction in (forward, backward) if heuristic != "grow-diag" else ():
        for link in sorted(direction):
            if (all if heuristic.endswith("and") else any)(unaligned(link)):
                links.add(link)
    return links


@pytest.mark.parametrize("heuristic", HEURISTICS)
def test_symmetrisation_follows_the_definitions(heuristic):
    random, forward, backward, sizes = np.random.default_rng(5), [], [], []
    for _ in range(200):
        source_length, target_length = random.integers(1, 7, 2).tolist()
        sizes.append((source_length, target_length))
        forward.append(random.integers(-1, source_length, target_length))
        backward.append(random.integers(-1, target_length, source_length))
    source_lengths, target_lengths = np.array(sizes).T
    symmetrised = symmetrise(
        np.concatenate(forward), np.concatenate(backward), source_lengths, target_lengths, heuristic
    ).lists()
    for links, here, there, size in zip(symmetrised, forward, backward, sizes, strict=True):
        directions = (
            {(int(i), j) for j, i in enumerate(here) if i >= 0},
            {(i, int(j)) for i, j in enumerate(there) if j >= 0},
        )
        assert links == sorted(reference_symmetrise(*directions, *size, heuristic))


def test_a_known_case_of_grow_diag():
    forward, backward = np.array([0, 1, 1, -1]), np.array([0, 1, 3])  # 0-0 1-1 1-2 | 0-0 1-1 2-3
    lengths = np.array([3]), np.array([4])
    links = {heuristic: symmetrise(forward, backward, *lengths, heuristic).lists()[0] for heuristic in HEURISTICS}
    assert links["intersection"] == [(0, 0), (1, 1)] and links["union"] == [(0, 0), (1, 1), (1, 2), (2, 3)]
    assert links["grow-diag"] == links["union"]  # 1-2 is beside 1-1, 2-3 is diagonal to 1-2
    with pytest.raises(FirthError, match="unknown symmetrisation heuristic 'unoin'"):
        symmetrise(forward, backward, *lengths, "unoin")


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
    config = Tokenizer(model=request.param, lowercase="yes")
    return make_tokenizer(config, [text for pair in TEXTS for text in pair])


def test_links_are_between_whitespace_separated_words(tokenizer):
    bitext = encode(TEXTS, tokenizer)
    model = alignment.fit(bitext, tokenizer.vocab_size, iterations=5)
    alignments = model.align(bitext, "union")
    assert alignments[3] == [] and len(alignments) == 5
    for links, (left, right) in zip(alignments, TEXTS, strict=True):
        assert links == sorted(set(links)) and all(i < len(left.split()) and j < len(right.split()) for i, j in links)
    if tokenizer.kind == "word":
        assert alignments[0] == [(0, 0), (1, 1), (2, 2)] and alignments[2] == [
            (0, 0),
            (1, 1),
            (1, 2),
        ]  # house and . are one word


def test_a_file_of_an_earlier_version_is_loaded(tokenizer, tmp_path):
    old = {"probabilities": "chances", "unseen": "rests", "positions": "places", "metadata": "note"}
    bitext, config, path = encode(TEXTS, tokenizer), Aligner(distortion="table"), tmp_path / "model"
    model = alignment.fit(bitext, tokenizer.vocab_size, config, iterations=2)
    alignment.save(model, path, {"whose": "mine"})
    arrays, about = memory_map.read(path, "model", lambda *_: None)
    sides = {name: name.partition(".") for name in arrays}
    renamed = {f"{side}.{old.get(key, key)}": np.array(arrays[name]) for name, (side, _, key) in sides.items()}
    memory_map.write(path, renamed, {old.get(key, key): value for key, value in about.items()})
    repeat = alignment.load(path, config)
    assert repeat.losses(bitext) == model.losses(bitext) and alignment.read_metadata(path) == {"whose": "mine"}


def test_saving_and_loading_is_the_identity(tokenizer, tmp_path):
    bitext, path = encode(TEXTS, tokenizer), tmp_path / "model"
    for distortion_name in DISTORTION_NAMES:
        config = Aligner(distortion=distortion_name)
        model = alignment.fit(bitext, tokenizer.vocab_size, config, iterations=2)
        alignment.save(model, path, {"whose": "mine"})
        repeat = alignment.load(path, config)
        assert repeat.losses(bitext) == model.losses(bitext) and alignment.read_metadata(path) == {"whose": "mine"}
        assert repeat.align(bitext, "union") == model.align(bitext, "union")


def test_a_damaged_file_is_refused(tokenizer, tmp_path):
    path = tmp_path / "model"
    alignment.save(alignment.fit(encode(TEXTS, tokenizer), tokenizer.vocab_size, iterations=1), path)
    whole = path.read_bytes()
    array = alignment.load(path, Aligner()).forward.table.targets
    foreign = whole.replace(array.tobytes(), (array + tokenizer.vocab_size).tobytes())
    assert foreign != whole
    for spoiled in (whole[:-9], whole[:40], b"", whole.replace(b"alignment", b"alignnent"), foreign):
        path.write_bytes(spoiled)
        with pytest.raises(FirthError, match="not a word alignment model"):
            alignment.load(path, Aligner())


def test_unseen_words_and_lengths(tokenizer):
    model = alignment.fit(encode(TEXTS, tokenizer), tokenizer.vocab_size, Aligner(distortion="table"), iterations=2)
    other = encode([("quite unheard of words here", "the"), ("", ""), ("x", "")], tokenizer)
    assert [len(links) <= 5 for links in model.align(other, "union")] == [True] * 3
    assert all(np.isfinite(loss.total) for loss in model.losses(other))
    empty = encode([("", "")], tokenizer)
    assert model.align(empty, "union") == [[]] and model.losses(empty) == ((0, 0.0), (0, 0.0))


def test_no_usable_pairs_is_an_error(tokenizer):
    with pytest.raises(FirthError, match="none of 1 pairs has 1 to 100 words on each side"):
        alignment.fit(encode([("", "nichts")], tokenizer), tokenizer.vocab_size)
    with pytest.raises(FirthError, match="none of 2 pairs has 1 to 1 words on each side"):
        alignment.fit(encode(TEXTS[:2], tokenizer), tokenizer.vocab_size, Aligner(max_length=1))
