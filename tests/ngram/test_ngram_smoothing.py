"""Every smoothing method against its definition, written with dictionaries; distributions sum to one."""

import math
from collections import Counter
from itertools import product
from typing import get_args, get_type_hints

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.config.schema import Ngram
from firth.errors import FirthError
from firth.ngram import distribution, fit, prune_by_entropy, score
from firth.ngram import smoothing as module
from firth.ngram.counts import count
from firth.ngram.discounts import good_turing_ratios, kneser_ney_discounts, modified_kneser_ney_discounts
from firth.ngram.pruning import count_thresholds
from firth.tokenizers.special_tokens import SpecialTokens

UNKNOWN, START, END = 0, 1, 2
SIZE = 7
SPECIAL = SpecialTokens(unknown=UNKNOWN, start=START, end=END)
PREDICTABLE = [0, 2, 3, 4, 5, 6]
METHODS = ["mle", "add-k", "katz", "stupid-backoff", "kneser-ney", "modified-kneser-ney"]
DOCUMENTS = st.lists(st.lists(st.sampled_from([0, 3, 4, 5, 6]), max_size=8), min_size=1, max_size=8)
PRUNE = st.sampled_from([(), (0, 1), (0, 0, 1), (0, 1, 2)])
SONG = [[3, 4, 3, 4, 5], [3, 4, 5], [4, 4, 3, 5], [5, 5, 5, 3, 4], [3], [], [3, 4, 6], [4, 3, 4, 3]]


def arrays(documents):
    closed = [[*document, END] for document in documents]
    return np.array([i for document in closed for i in document], np.uint32), np.cumsum([0, *map(len, closed)])


def trained(documents, **settings):
    return fit(*arrays(documents), SIZE, SPECIAL, Ngram(**settings), threads=1).model


class Oracle:
    """The definitions, literally; a context is the longest known suffix of the last order − 1 tokens."""

    def __init__(self, documents, order, smoothing, k=1.0, prune=()):
        self.smoothing, self.k = smoothing, k
        self.counts = Counter()
        for document in documents:
            tokens = (START, *document, END)
            for low, high in product(range(len(tokens)), range(1, len(tokens) + 1)):
                if low < high <= low + order and (low, high) != (0, 1):
                    self.counts[tokens[low:high]] += 1
        self.order = max(map(len, self.counts))
        thresholds = [*prune, *[prune[-1] if prune else 0] * order]
        self.kept = {gram for gram, n in self.counts.items() if len(gram) == 1 or n > thresholds[len(gram) - 1]}
        self.adjusted_counts = {gram: self._adjusted(gram) for gram in self.counts}
        self.discounts = {n: self._discounts(n) for n in range(1, self.order + 1)}

    def _adjusted(self, gram):
        if len(gram) == self.order or (gram[0] == START and len(gram) > 1):
            return self.counts[gram]
        return len({longer[0] for longer in self.counts if longer[1:] == gram})

    def _discounts(self, order):
        used = self.adjusted_counts if "kneser" in self.smoothing else self.counts
        n_r = np.array([sum(len(g) == order and n == i for g, n in used.items()) for i in range(8)], float)
        estimate = {"katz": good_turing_ratios, "kneser-ney": kneser_ney_discounts}.get(
            self.smoothing, modified_kneser_ney_discounts
        )
        return estimate(n_r, order, [])

    def after(self, context, counts):
        return {gram[-1]: n for gram, n in counts.items() if gram[:-1] == context}

    def __call__(self, word, context):
        """The probability; context: a tuple of at most order − 1 tokens."""
        return getattr(self, self.smoothing.replace("-", "_"))(word, context)

    def known(self, context):
        """The longest suffix of the context that is in the model."""
        while context and (context not in self.kept and context != (START,)):
            context = context[1:]
        return context

    def renormalised(self, word, context, probability):
        """Probabilities of the kept n-grams; the remaining mass as the shorter context distributes it."""
        context = self.known(context)
        if not context:
            return probability(word, ())
        kept = [w for w in self.after(context, self.counts) if (*context, w) in self.kept]
        if word in kept:
            return probability(word, context)
        left = 1 - sum(probability(w, context) for w in kept)
        below = sum(self.renormalised(w, context[1:], probability) for w in PREDICTABLE if w not in kept)
        return max(left, 0) / below * self.renormalised(word, context[1:], probability) if below else 0.0

    def mle(self, word, context):
        def probability(word, context):
            seen = self.after(context, self.counts)
            return seen.get(word, 0) / sum(seen.values())

        return self.renormalised(word, context, probability)

    def add_k(self, word, context):
        def probability(word, context):
            full = len(context) == self.order - 1 or context[:1] == (START,)
            seen = self.after(context, self.counts) if full else {}
            return (seen.get(word, 0) + self.k) / (sum(seen.values()) + self.k * len(PREDICTABLE))

        if self.counts.keys() == self.kept:
            return probability(word, self.known(context))
        return self.renormalised(word, context, probability)

    def stupid_backoff(self, word, context):
        context = self.known(context)
        seen = self.after(context, self.counts)
        if not context:
            return seen[word] / sum(seen.values()) if word in seen else 0.4 / len(PREDICTABLE)
        if (*context, word) in self.kept:
            return seen[word] / sum(seen.values())
        return self.stupid_backoff(word, context[1:]) * (0.4 if any((*context, w) in self.kept for w in seen) else 1.0)

    def katz(self, word, context):
        return self.renormalised(word, context, self._katz)

    def _katz(self, word, context):
        seen, order = self.after(context, self.counts), len(context) + 1
        discounted = {w: n * self.discounts[order][min(n, 6)] for w, n in seen.items()}
        total = sum(seen.values())
        if len(seen) == len(PREDICTABLE):
            total = sum(discounted.values())
        elif sum(discounted.values()) >= total:
            total += 1
        if word in discounted:
            return discounted[word] / total
        unseen = [w for w in PREDICTABLE if w not in seen]
        return (total - sum(discounted.values())) / total / len(unseen)

    def kneser_ney(self, word, context):
        seen = (
            self.after(context, self.adjusted_counts)
            if not context
            else self.after(self.known(context), self.adjusted_counts)
        )
        context = self.known(context)
        if not seen:
            return self.kneser_ney(word, context[1:])
        discounts = {w: self.discounts[len(context) + 1][min(n, 3)] for w, n in seen.items()}
        kept = {w for w in seen if (*context, w) in self.kept}
        discounted_mass = sum(discounts[w] if w in kept else n for w, n in seen.items())
        discounted = (seen[word] - discounts[word]) / sum(seen.values()) if word in kept else 0.0
        below = self.kneser_ney(word, context[1:]) if context else 1 / len(PREDICTABLE)
        return discounted + discounted_mass / sum(seen.values()) * below

    modified_kneser_ney = kneser_ney


def contexts(order):
    """All possible contexts: up to order − 1 tokens, START only in front."""
    inside = [c for n in range(order) for c in product([0, 3, 4, 5, 6], repeat=n)]
    started = [(START, *c) for c in inside if len(c) < order - 1]
    return inside + started


def table(model, wanted):
    width = max(map(len, wanted))
    rows = [(-1,) * (width - len(context)) + tuple(context) for context in wanted]
    return np.exp(distribution(model, np.array(rows).reshape(len(rows), width)))


@given(DOCUMENTS, st.integers(1, 3), st.sampled_from(METHODS), PRUNE)
@settings(deadline=None, max_examples=120)
def test_every_method_follows_its_definition(documents, order, smoothing, prune):
    model = trained(documents, order=order, smoothing=smoothing, prune=prune, k=0.5)
    oracle, wanted = Oracle(documents, order, smoothing, 0.5, prune), contexts(order)
    truth = [[oracle(word, context) if word in PREDICTABLE else 0.0 for word in range(SIZE)] for context in wanted]
    assert np.allclose(table(model, wanted), truth, rtol=2e-5, atol=1e-7)


@given(
    DOCUMENTS,
    st.integers(1, 6),
    st.sampled_from([m for m in METHODS if m != "stupid-backoff"]),
    PRUNE,
    st.floats(0, 0.1),
)
@settings(deadline=None, max_examples=150)
def test_every_distribution_sums_to_one(documents, order, smoothing, prune, entropy):
    model = trained(documents, order=order, smoothing=smoothing, prune=prune, entropy_threshold=entropy)
    wanted = [(START,), (), *((START, *d[:i]) for d in documents for i in range(len(d))), *product([0, 3, 6], repeat=3)]
    assert np.allclose(table(model, wanted).sum(1), 1, atol=1e-5)
    assert model.normalised


@pytest.mark.parametrize("smoothing", ["kneser-ney", "modified-kneser-ney"])
def test_a_count_equal_to_the_threshold_is_pruned_and_gives_its_mass_to_the_backoff(smoothing):
    documents = [[3, 4], [3, 4], [3, 5], [3, 6]]  # after 3: 4 twice, 5 and 6 once each
    model = trained(documents, order=2, smoothing=smoothing, prune=(0, 1))
    assert np.allclose(table(model, contexts(2)).sum(1), 1, atol=1e-5)


def test_the_table_has_the_names_of_the_configuration():
    assert list(module.METHODS) == list(get_args(get_type_hints(Ngram)["smoothing"])) == METHODS


@pytest.mark.parametrize("documents", [[[3]], [[]], [[3, 3, 3]], [[3], [3]], [[3, 4, 5, 6, 0]]])
@pytest.mark.parametrize("smoothing", METHODS)
def test_nothing_fails_on_a_tiny_text(documents, smoothing):
    estimate = fit(*arrays(documents), SIZE, SPECIAL, Ngram(order=10, smoothing=smoothing), threads=1)
    assert estimate.model.order <= len(max(documents, key=len)) + 2
    logprobs = score(estimate.model, *arrays(documents)).logprobs
    assert np.isfinite(logprobs).all()
    assert bool(estimate.notes) == (smoothing in ("katz", "kneser-ney", "modified-kneser-ney"))
    unseen = score(estimate.model, *arrays([[6, 6]])).logprobs
    assert np.isfinite(unseen).all() or smoothing == "mle"


def test_discounts_are_those_of_the_papers():
    notes = []
    assert np.allclose(kneser_ney_discounts(np.array([0.0, 10, 4, 2, 1]), 2, notes), [0, 10 / 18, 10 / 18, 10 / 18])
    y = 10 / 18
    truth = [0, 1 - 2 * y * 4 / 10, 2 - 3 * y * 2 / 4, 3 - 4 * y * 1 / 2]
    assert np.allclose(modified_kneser_ney_discounts(np.array([0.0, 10, 4, 2, 1]), 2, notes), truth)
    assert not notes
    assert np.allclose(modified_kneser_ney_discounts(np.array([0.0, 10, 4, 0, 1]), 3, notes), [0, 0.5, 1, 1.5])
    assert "3-gram" in notes[0]
    n_r = np.array([0.0, 100, 40, 20, 12, 8, 6])
    excess = 6 * 6 / 100
    truth = [((r + 1) * n_r[r + 1] / n_r[r] / r - excess) / (1 - excess) for r in range(1, 6)]
    assert np.allclose(good_turing_ratios(n_r, 1, [])[1:6], truth)


# --- other programs -------------------------------------------------------------------------------------------------


def nltk_model(kind, order, documents, *arguments):
    lm, preprocessing = pytest.importorskip("nltk.lm"), pytest.importorskip("nltk.lm.preprocessing")
    texts = [[f"w{i}" for i in document] for document in documents]
    grams, words = preprocessing.padded_everygram_pipeline(order, texts)
    model = getattr(lm, kind)(*arguments, order)
    model.fit(grams, words)
    return model


@pytest.mark.parametrize("order", [2, 3])
def test_nltk_has_the_same_relative_frequencies_and_add_k(order):
    """Its vocabulary has one word more or less than ours: add-k is compared after taking that out."""
    mle, lidstone = (nltk_model(kind, order, SONG, *k) for kind, k in (("MLE", ()), ("Lidstone", (0.5,))))
    ours, added = trained(SONG, order=order, smoothing="mle"), trained(SONG, order=order, smoothing="add-k", k=0.5)
    names = {END: "</s>", **{i: f"w{i}" for i in (3, 4, 5, 6)}}
    for document in SONG:
        padded = ["<s>"] * (order - 1) + [names[i] for i in document]
        for at, word in enumerate([*document, END]):
            context, theirs = (START, *document[:at])[-(order - 1) :], tuple(padded[at : at + order - 1])
            counted = sum(mle.counts[theirs].values())
            assert math.isclose(table(ours, [context])[0, word], mle.score(names[word], theirs), rel_tol=1e-5)
            mine = table(added, [context])[0, word] * (counted + 0.5 * len(PREDICTABLE))
            other = lidstone.score(names[word], theirs) * (counted + 0.5 * len(lidstone.vocab))
            assert math.isclose(mine, other, rel_tol=1e-5)


def test_nltk_has_the_same_kneser_ney_bigrams():
    """It does not discount its unigrams; with that taken over, bigrams agree."""
    theirs = nltk_model("KneserNeyInterpolated", 2, SONG)
    counts = count(*arrays(SONG), SIZE, SPECIAL, order=2, threads=1)
    discounts = [np.zeros(4), np.array([0, 0.1, 0.1, 0.1])]
    tables = module.interpolate_kneser_ney(counts, counts.adjusted_counts(), count_thresholds((), 2), discounts)
    level = counts.trie.level(2)
    names = {START: "<s>", END: "</s>", **{i: f"w{i}" for i in (3, 4, 5, 6)}}
    grams = counts.trie.tokens(2, level.start, level.stop).tolist()
    for (context, word), probability in zip(grams, tables.probabilities[level], strict=True):
        assert math.isclose(probability, theirs.score(names[word], (names[context],)), rel_tol=1e-9)


# --- pruning --------------------------------------------------------------------------------------------------------


def relative_entropies(model):
    """Stolcke's relative change of perplexity for every n-gram, from whole distributions."""
    trie, logprobs, _ = model.unpack()
    changes = {}
    for order in range(2, model.order + 1):
        level = trie.level(order)
        grams = trie.tokens(order, level.start, level.stop).tolist()
        for node, (*context, word) in enumerate(map(tuple, grams), level.start):
            context_probability = 1.0
            for at, token in enumerate(context):
                if token != START:
                    context_probability *= table(model, [tuple(context[:at])])[0, token]
            own, below = table(model, [tuple(context)])[0].astype(float), table(model, [tuple(context[1:])])[0]
            seen = [g[-1] for g in grams if g[:-1] == context and g[-1] != word]
            rest = [w for w in PREDICTABLE if w not in seen]
            weight = (1 - sum(own[w] for w in seen)) / sum(below[w] for w in rest)
            other = own.copy()
            other[rest] = weight * below[rest]
            used = own > 0
            change = context_probability * np.sum(own[used] * np.log(own[used] / other[used]))
            changes[(*context, word)] = np.expm1(change)
            assert np.isclose(np.log(own[word]), logprobs[node], atol=1e-5)
    return changes


@pytest.mark.parametrize("threshold", [1e-4, 1e-3, 1e-2, 1e-1])
@pytest.mark.parametrize("smoothing", ["kneser-ney", "katz"])
def test_entropy_pruning_drops_ngrams_below_the_threshold(smoothing, threshold):
    model = trained(SONG, order=3, smoothing=smoothing)
    pruned = prune_by_entropy(model, threshold)
    changes = relative_entropies(model)
    above_threshold = {gram for gram, change in changes.items() if change >= threshold}
    kept = above_threshold | {part for gram in above_threshold if len(gram) == 3 for part in (gram[:2], gram[1:])}
    trie = pruned.unpack().trie
    orders = range(2, pruned.order + 1)
    left = {tuple(g) for n in orders for g in trie.tokens(n, *map(int, trie.levels[n - 1 : n + 1])).tolist()}
    assert left == kept
    assert np.allclose(table(pruned, contexts(3)).sum(1), 1, atol=1e-5)
    assert threshold < 1e-1 or len(left) < len(changes)


def test_pruning_by_no_entropy_keeps_the_model():
    model = trained(SONG, order=4)
    pruned = prune_by_entropy(model, 0.0)
    assert np.allclose(table(pruned, contexts(4)), table(model, contexts(4)), rtol=1e-4)


@pytest.mark.parametrize(("prune", "message"), [((1,), "unigrams cannot"), ((0, 2, 1), "do not decrease")])
def test_invalid_thresholds_are_an_error(prune, message):
    with pytest.raises(FirthError, match=message):
        trained(SONG, prune=prune)


def test_scores_that_are_not_probabilities_are_not_normalised():
    model = trained(SONG, smoothing="stupid-backoff")
    assert not model.normalised
    with pytest.raises(FirthError, match="by counts"):
        prune_by_entropy(model, 0.1)


def test_an_unknown_method_is_an_error():
    with pytest.raises(FirthError, match="did you mean 'katz'"):
        trained(SONG, smoothing="kats")
