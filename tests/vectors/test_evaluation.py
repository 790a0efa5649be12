"""Evaluations against the store's answers, SciPy, scikit-learn, and sets whose answers are known by construction."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad
from scipy.stats import spearmanr
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression

from firth.data.records import Labelled, Pair
from firth.errors import FirthError
from firth.metrics.score import parts
from firth.vectors.analogies import Question, bats_questions, best, evaluate_analogies, is_syntactic
from firth.vectors.asking import Asking, Known, rarity, unit
from firth.vectors.choices import Choice, evaluate_choices, read_choices
from firth.vectors.classifying import evaluate_classification, fit, loss, mean_vectors
from firth.vectors.clustering import k_means
from firth.vectors.contexts import bound, evaluate_contexts, evaluate_wic, read_wic, spot
from firth.vectors.evaluation import evaluate_categories, evaluate_folder, evaluate_similarity
from firth.vectors.kinds import guess
from firth.vectors.store import WordVectors


def store(count=60, width=8, seed=0, counts=None):
    rows = np.random.default_rng(seed).normal(size=(count, width)).astype(np.float32)
    return WordVectors([f"w{n}" for n in range(count)], rows, counts=counts)


def plane(**words):
    return WordVectors(list(words), np.array(list(words.values()), np.float32))


# --- analogies --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["additive", "multiplicative"])
@pytest.mark.parametrize(("words", "block"), [(4096, 128), (7, 5), (1, 1)])
def test_analogies_in_blocks_are_those_of_the_store(how, words, block):
    vectors = store()
    triples = np.random.default_rng(1).integers(0, 60, (40, 3))
    found = best(Known(vectors, Asking(how=how)), triples, words, block)
    expected = [vectors.analogy(*(f"w{n}" for n in triple), how=how)[0].word for triple in triples]
    assert [f"w{n}" for n in found] == expected


def test_asking_more_words_than_there_are_asks_all():
    vectors = WordVectors([f"w{i}" for i in range(9)], np.random.default_rng(0).normal(size=(9, 5)).astype(np.float32))
    questions = [Question("", "w0", "w1", "w2", ("w3",)), Question("", "w4", "w5", "w6", ("w7",))]
    more, every = (evaluate_analogies(vectors, questions, asking=Asking(restrict=count)) for count in (99, 0))
    assert more == every


def test_analogies_restricted_to_the_most_frequent_words():
    counts = np.random.default_rng(5).permutation(60)
    vectors = store(counts=counts)
    common = [f"w{n}" for n in np.argsort(-counts)[:20]]
    smaller = WordVectors(common, vectors.matrix(common))
    questions = [Question("s", f"w{a}", f"w{b}", f"w{c}", (f"w{d}",)) for a, b, c, d in
                 np.random.default_rng(2).integers(0, 60, (500, 4))]  # fmt: skip
    one = evaluate_analogies(vectors, questions, asking=Asking(restrict=20))
    other = evaluate_analogies(smaller, questions)
    assert (one.answered, one.value, one.unknown) == (other.answered, other.value, other.unknown)
    assert 0 < one.answered < 500


def test_analogies_are_counted_by_section_and_by_kind():
    vectors = plane(man=[1, 0, 0], woman=[1, 1, 0], king=[1, 0, 1], queen=[1, 1, 1], far=[-1, -1, -1])
    questions = [
        Question("family", "man", "woman", "king", ("queen",)),
        Question("family", "man", "woman", "king", ("far",)),
        Question("family", "man", "woman", "king", ("nobody",)),
        Question("gram1", "king", "queen", "man", ("nobody", "woman")),
    ]
    found = evaluate_analogies(vectors, questions, "toy")
    assert (found.asked, found.answered, found.coverage) == (4, 3, 0.75)
    assert found.unknown == ("nobody",)
    assert [score.value for score in found.scores] == [2 / 3, 2 / 4]
    by_part = {part.name: (part.value, part.answered, part.asked) for part in found.parts}
    assert by_part == {"semantic": (0.5, 2, 3), "syntactic": (1, 1, 1), "family": (0.5, 2, 3), "gram1": (1, 1, 1)}
    assert parts(found.scores[0].signature)["how"] == "additive"


def test_three_words_leave_no_answer():
    vectors = plane(a=[1, 0], b=[0, 1], c=[1, 1])
    assert best(Known(vectors), np.array([[0, 1, 2]])).tolist() == [-1]
    assert evaluate_analogies(vectors, [Question("", "a", "b", "c", ("a",))]).value == 0
    empty = evaluate_analogies(vectors, [])
    assert (empty.value, empty.asked, empty.coverage) == (None, 0, 0.0)


def test_bats_takes_any_answer_of_the_second_pair():
    pairs = [Pair("cat", "animal/beast", "L01 [hypernyms]"), Pair("oak", "tree/plant", "L01 [hypernyms]")]
    pairs.append(Pair("run", "runs", "I05 [verb]"))
    found = bats_questions(pairs)
    assert found[0] == Question("L01 [hypernyms]", "cat", "animal", "oak", ("tree", "plant"))
    assert len(found) == 2
    assert [is_syntactic(s) for s in ("L01 [x]", "I05 [x]", "D10 [x]", "E1", "gram3-comparative", "family")] == [
        *(False, True, True, False, True, False)
    ]


# --- looking words up -------------------------------------------------------------------------------------------------


def test_words_are_found_as_written_else_in_lower_case():
    vectors = plane(Turkey=[1, 0], turkey=[0, 1], paris=[1, 1])
    known = Known(vectors)
    assert [known.index(word) for word in ("Turkey", "turkey", "Paris", "Rome", "Rome")] == [0, 1, 2, -1, -1]
    assert known.report() == ("Rome",)
    assert Known(vectors, Asking(case="exact")).index("Paris") == -1
    with pytest.raises(FirthError, match="restrict = -1"):
        Asking(restrict=-1)


class Spelling:
    """Subwords that know words of three letters and more."""

    def hashes(self, word):
        return np.arange(max(0, len(word) - 2))

    def vector(self, word):
        return np.array([len(word), 1.0], np.float32)


def test_unseen_words_are_asked_of_their_subwords_and_still_counted_as_unknown():
    vectors = WordVectors(["one", "two"], np.array([[1, 0], [0, 1]], np.float32), subwords=Spelling())
    pairs = [Pair("one", "two", score=1), Pair("one", "three", score=2), Pair("two", "seven", score=0)]
    pairs.append(Pair("one", "x", score=0))
    found = evaluate_similarity(vectors, pairs)
    assert (found.answered, found.unknown) == (3, ("three", "seven", "x"))
    assert "|unseen:subwords|" in found.scores[0].signature
    skipped = evaluate_similarity(vectors, pairs, asking=Asking(unseen="skip"))
    assert (skipped.answered, skipped.value) == (1, None)


def test_rare_words_weigh_more():
    assert np.all(np.diff(rarity(store(counts=np.arange(60, 0, -1)))) > 0)
    assert np.all(np.diff(rarity(store())) > 0)


# --- similarity, categories, choices ----------------------------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 70)] * 2, st.integers(0, 10)), min_size=3, max_size=40))
def test_similarity_is_the_rank_correlation_over_known_pairs(asked):
    vectors = store()
    pairs = [Pair(f"w{a}", f"W{b}", score=float(score)) for a, b, score in asked]
    known = [(vectors.similarity(f"w{a}", f"w{b}"), score) for a, b, score in asked if max(a, b) < 60]
    found = evaluate_similarity(vectors, pairs, "toy|set")
    assert found.answered == len(known)
    assert parts(found.scores[0].signature)["set"] == "toy/set"
    rounded = [(round(cosine, 5), score) for cosine, score in known]  # equal cosines differ in their last digits
    if len({c for c, _ in rounded}) == len(known) > 1 and len({s for _, s in known}) > 1:
        assert found.value == pytest.approx(spearmanr(*zip(*known, strict=True)).statistic, abs=1e-9)


def test_clusters_are_as_tight_as_scikit_learns():
    points = np.random.default_rng(3).normal(size=(150, 5))
    ours = k_means(points, 6)
    theirs = KMeans(6, n_init=10, random_state=0).fit(points)
    assert ours.inertia <= theirs.inertia_ * 1.02
    distances = ((points[:, None] - ours.centres) ** 2).sum(2)
    assert ours.labels.tolist() == distances.argmin(1).tolist()  # nobody would rather be elsewhere
    assert ours.inertia == pytest.approx(distances.min(1).sum())
    again = k_means(points, 6)
    assert again.labels.tolist() == ours.labels.tolist()


def test_clusters_of_doubles_and_of_too_few_points():
    assert sorted(k_means(np.ones((4, 2)), 4).labels) == [0, 1, 2, 3]
    assert k_means(np.array([[0.0], [1.0]]), 1).inertia == 0.5
    with pytest.raises(FirthError, match="2 points cannot make 3 clusters"):
        k_means(np.ones((2, 2)), 3)


def test_categories_that_lie_apart_are_found():
    random, rows, members = np.random.default_rng(0), [], []
    for group in range(4):
        for n in range(8):
            rows.append(10 * np.eye(4)[group] + random.normal(size=4))
            members.append(Labelled(f"g{group}n{n}", (f"c{group}",)))
    vectors = WordVectors([member.text for member in members], np.array(rows, np.float32))
    more = [*members, Labelled("g0n0", ("c3",)), Labelled("", ("c1",)), Labelled("stranger", ("c2",))]
    found = evaluate_categories(vectors, more)
    assert (found.value, found.answered, found.asked, found.unknown) == (1.0, 32, 33, ("stranger",))
    assert found.scores[1].value == 0.25
    assert evaluate_categories(vectors, []).value is None


def test_choices_and_odd_ones_out(tmp_path):
    vectors = plane(apple=[1, 0.1], pear=[1, 0.2], plum=[1, 0], hammer=[0, 1], saw=[0.1, 1])
    file = tmp_path / "toefl.txt"
    file.write_text("# fruit\nplum | apple | hammer | saw\n\nplum | hammer | apple\nplum | saw | melon\n")
    found = evaluate_choices(vectors, read_choices(file))
    assert (found.kind, found.value, found.answered, found.asked) == ("choice", 0.5, 2, 3)
    assert found.scores[1].value == pytest.approx(1 / 3)
    odd = [Choice(("hammer", "apple", "pear", "plum")), Choice(("apple", "pear", "hammer"))]
    found = evaluate_choices(vectors, odd)
    assert (found.kind, found.value) == ("odd one out", 0.5)
    assert vectors.doesnt_match(["apple", "pear", "plum", "hammer"]) == "hammer"
    file.write_text("plum | apple | saw\nplum apple\n")
    with pytest.raises(FirthError, match=r"toefl\.txt:2: no question"):
        list(read_choices(file))


def test_a_tie_is_no_answer():
    vectors = plane(a=[1, 0], b=[1, 0], c=[0, 1])
    assert evaluate_choices(vectors, [Choice(("a", "b"), "c")]).value == 0


# --- a classifier -----------------------------------------------------------------------------------------------------


def test_the_gradient_of_the_classifier():
    random = np.random.default_rng(0)
    inputs, gold = np.c_[random.normal(size=(20, 3)), np.ones(20)], random.integers(0, 3, 20)
    flat = random.normal(size=12)
    at = (inputs, gold, 0.7)
    assert check_grad(lambda x: loss(x, *at)[0], lambda x: loss(x, *at)[1], flat) < 1e-4


@pytest.mark.parametrize("classes", [2, 3])
def test_the_classifier_is_scikit_learns(classes):
    random = np.random.default_rng(1)
    inputs, gold = random.normal(size=(60, 4)) * [1, 5, 0.1, 1] + 3, random.integers(0, classes, 60)
    model = fit(inputs, [f"c{n}" for n in gold], penalty=0.5)
    scaled = (inputs - inputs.mean(0)) / inputs.std(0)
    peer = LogisticRegression(C=2.0, tol=1e-8, max_iter=1000)
    if classes == 2:  # ours has weights for both classes, so each pays half: a softmax of ±w/2
        peer = LogisticRegression(C=4.0, tol=1e-8, max_iter=1000)
    peer.fit(scaled, gold)
    logits = model.logits(inputs)
    chances = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    assert np.allclose(chances, peer.predict_proba(scaled), atol=1e-4)
    with pytest.raises(FirthError, match="1 label in the training data"):
        fit(inputs, ["x"] * 60)


def test_texts_are_classified_by_their_mean_vectors():
    vectors = plane(good=[1, 0], great=[1, 0.2], bad=[0, 1], awful=[0.1, 1], the=[1, 1])
    train = [Labelled(text, (label,)) for text, label in
             [("the good", "+"), ("great great", "+"), ("bad the", "-"), ("Awful", "-")]]  # fmt: skip
    test = [Labelled("good great", ("+",)), Labelled("bad, awful", ("-",)), Labelled("zzz", ("-",))]
    found = evaluate_classification(vectors, train, test)
    assert found.value >= 2 / 3
    assert (found.asked, found.answered, found.unknown) == (3, 2, (",", "zzz"))
    rows, counts = mean_vectors(Known(vectors), [["good", "zzz", "bad"], []])
    assert np.allclose(rows[0], [0.5, 0.5]) and not rows[1].any()
    assert counts.tolist() == [2, 0]
    with pytest.raises(FirthError, match="no texts"):
        evaluate_classification(vectors, [], test)


# --- words in context -------------------------------------------------------------------------------------------------


def test_the_word_is_where_it_is_marked():
    found = spot("bank", "the river <b> bank </b> was <b>wet</b>")
    assert found == ("bank", ["the", "river"], ["was", "wet"])
    with pytest.raises(FirthError, match=r"scws:3: 'bank' is not marked"):
        spot("bank", "no mark", "scws:3")


def test_contexts_without_senses_are_words_and_surroundings():
    vectors = store()
    line = (("left_context", "w1 w2 <b>w3</b> w4"), ("right_context", "w5 <b>w6</b>"))
    pairs = [Pair(f"w{n}", f"w{n + 9}", score=float(n % 5), fields=line) for n in range(20)]
    found = evaluate_contexts(vectors, pairs)
    expected = spearmanr([vectors.similarity(p.left, p.right) for p in pairs], [p.score for p in pairs]).statistic
    assert found.scores[0].value == pytest.approx(expected)
    assert found.scores[1].value is None  # all contexts are the same


def test_wic_is_read_and_judged(tmp_path):
    vectors = plane(bank=[1, 1], river=[1, 0], water=[1, 0.1], money=[0, 1], loan=[0.1, 1])
    rows, labels = [], []
    for n in range(10):
        same = n % 3 == 0
        rows.append("bank\tN\t1-1\triver bank\t" + ("water bank" if same else "loan bank"))
        labels.append("T" if same else "F")
    data = tmp_path / "dev.data.txt"
    data.write_text("\n".join(rows) + "\n")
    (tmp_path / "dev.gold.txt").write_text("\n".join(labels) + "\n")
    found = evaluate_wic(vectors, read_wic(data))
    assert (found.value, found.answered, found.scores[-1].value) == (1.0, 10, 0.6)
    data.write_text("bank\tN\t1-7\triver bank\twater bank\n" * 10)
    with pytest.raises(FirthError, match=r"dev\.data\.txt:1: place 7"):
        list(read_wic(data))
    (tmp_path / "dev.gold.txt").write_text("T\nmaybe\n")
    with pytest.raises(FirthError, match=r"dev\.gold\.txt: 2 labels for 10 pairs"):
        list(read_wic(data))


@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=20))
def test_the_bound_is_the_best(pairs):
    values, gold = (np.array(side) for side in zip(*pairs, strict=True))
    right = ((values >= bound(values, gold)) == gold).sum()
    assert right == max(((values >= tried) == gold).sum() for tried in np.arange(-1, 8) + 0.5)


# --- a folder ---------------------------------------------------------------------------------------------------------

FILES = {
    "sim.txt": ("similarity", "w1\tw2\t3.5\nw3\tw4\t1\nw5\tw6\t2\n"),
    "sim.csv": ("similarity", "Word 1,Word 2,Human (mean)\nw1,w2,3.5\nw3,w4,1\n"),
    "verbs.txt": ("similarity", "w1\tw2\tV\t3.5\tSYNONYMS\nw3\tw4\tV\t1\tNONE\n"),
    "men": ("similarity", "w1 w2 3\nw3 w4 1\n"),
    "google.txt": ("analogy", ": family\nw1 w2 w3 w4\n"),
    "ap.csv": ("categories", ",category,word\n0,x,w1\n1,y,w2\n2,y,\n"),
    "bats/I01 [noun].txt": ("bats", "w1\tw2/w3\nw4\tw5\n"),
    "toefl.txt": ("choices", "w1 | w2 | w3\n"),
    "news/train.txt": ("labels", "__label__a w1 w2\n__label__b w3\n"),
    "news/test.txt": ("labels", "__label__a w1\n"),
    "dev.data.txt": ("wic", "w1\tN\t0-0\tw1 w2\tw1 w3\n"),
    "README.md": ("", "# words\nsome text about the sets\n"),
    "empty.txt": ("", ""),
}
SCWS = "\t".join(["1", "w1", "n", "w2", "n", "a <b> w1 </b> w3", "w4 <b> w2 </b>", "5.0", *["5"] * 10]) + "\n"


@pytest.fixture
def folder(tmp_path):
    for name, (_, text) in FILES.items():
        path = tmp_path / "sets" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "sets" / "scws.txt.gz").write_bytes(gzip.compress(SCWS.encode()))
    (tmp_path / "sets" / "broken.txt").write_text(": family\nw1 w2 w3\n")
    return tmp_path / "sets"


def test_kinds_are_told_from_the_content(folder):
    assert {name: guess(folder / name).kind for name in FILES if name != "empty.txt"} == {
        name: kind for name, (kind, _) in FILES.items() if name != "empty.txt"
    }
    assert guess(folder / "scws.txt.gz").kind == "contexts"
    assert [pair.score for pair in guess(folder / "verbs.txt").form.read(folder / "verbs.txt")] == [3.5, 1.0]


def test_a_whole_folder_in_one_go(folder):
    seen = []
    table = evaluate_folder(store(), folder, done=seen.append)
    assert table.results == tuple(seen)
    kinds = sorted((result.kind, result.asked) for result in table.results)
    assert kinds == [
        *(("analogy", 1), ("analogy", 2), ("categories", 2), ("choice", 1), ("classification", 1), ("contexts", 1)),
        *(("similarity", 2), ("similarity", 2), ("similarity", 2), ("similarity", 3)),
    ]
    reasons = {path.removeprefix(str(folder))[1:]: why for path, why in table.skipped}
    assert set(reasons) == {"README.md", "empty.txt", "broken.txt", "news/test.txt", "dev.data.txt"}
    assert "broken.txt:2: 3 words, expected 4" in reasons["broken.txt"]
    assert "no file with the labels" in reasons["dev.data.txt"]
    assert len(table.rows()) == len(table.results) < len(table.rows(parts=True))
    one = evaluate_folder(store(), folder / "sim.txt")
    assert one.rows()[0] == {"set": "sim", "kind": "similarity", "score": "spearman", "value": one.results[0].value,
                             "answered": 3, "asked": 3, "unknown words": 0}  # fmt: skip
    with pytest.raises(FirthError, match="no such folder"):
        evaluate_folder(store(), folder / "nowhere")


def test_unit_rows_leave_zeros():
    assert unit(np.array([[3, 4], [0, 0]])).tolist() == [[np.float32(0.6), np.float32(0.8)], [0, 0]]
