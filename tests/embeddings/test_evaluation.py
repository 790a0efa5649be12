"""Evaluations against WordVectors' answers, SciPy, scikit-learn, and test sets with answers known by construction."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad
from scipy.stats import spearmanr
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression

from firth.datasets.records import Labelled, Pair
from firth.embeddings.analogies import Question, bats_questions, evaluate_analogies, is_syntactic, solve_analogies
from firth.embeddings.contextual_similarity import (
    best_threshold,
    evaluate_contextual_similarity,
    evaluate_wic,
    parse_context,
    read_wic,
)
from firth.embeddings.evaluation import evaluate_categorization, evaluate_folder, evaluate_similarity
from firth.embeddings.extrinsic import evaluate_classification, fit_logistic_regression, logistic_loss, mean_vectors
from firth.embeddings.kmeans import k_means
from firth.embeddings.lookup import EvaluationOptions, VocabularyLookup, l2_normalise, sif_weights
from firth.embeddings.multiple_choice import Choice, evaluate_choices, read_choices
from firth.embeddings.question_files import detect_format
from firth.embeddings.word_vectors import WordVectors
from firth.errors import FirthError
from firth.metrics.score import parse_signature


def random_vectors(count=60, width=8, seed=0, counts=None):
    rows = np.random.default_rng(seed).normal(size=(count, width)).astype(np.float32)
    return WordVectors([f"w{n}" for n in range(count)], rows, counts=counts)


def plane(**words):
    return WordVectors(list(words), np.array(list(words.values()), np.float32))


# --- analogies --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["additive", "multiplicative"])
@pytest.mark.parametrize(("word_block", "question_block"), [(4096, 128), (7, 5), (1, 1)])
def test_analogies_in_blocks_are_those_of_word_vectors(method, word_block, question_block):
    vectors = random_vectors()
    triples = np.random.default_rng(1).integers(0, 60, (40, 3))
    lookup = VocabularyLookup(vectors, EvaluationOptions(method=method))
    answers = solve_analogies(lookup, triples, word_block, question_block)
    expected = [vectors.analogy(*(f"w{n}" for n in triple), method=method)[0].word for triple in triples]
    assert [f"w{n}" for n in answers] == expected


def test_restricting_to_more_words_than_there_are_takes_all():
    vectors = WordVectors([f"w{i}" for i in range(9)], np.random.default_rng(0).normal(size=(9, 5)).astype(np.float32))
    questions = [Question("", "w0", "w1", "w2", ("w3",)), Question("", "w4", "w5", "w6", ("w7",))]
    more, unrestricted = (
        evaluate_analogies(vectors, questions, options=EvaluationOptions(restrict_vocab=count)) for count in (99, 0)
    )
    assert more == unrestricted


def test_analogies_restricted_to_the_most_frequent_words():
    counts = np.random.default_rng(5).permutation(60)
    vectors = random_vectors(counts=counts)
    common = [f"w{n}" for n in np.argsort(-counts)[:20]]
    smaller = WordVectors(common, vectors.matrix(common))
    questions = [Question("s", f"w{a}", f"w{b}", f"w{c}", (f"w{d}",)) for a, b, c, d in
                 np.random.default_rng(2).integers(0, 60, (500, 4))]  # fmt: skip
    restricted = evaluate_analogies(vectors, questions, options=EvaluationOptions(restrict_vocab=20))
    expected = evaluate_analogies(smaller, questions)
    assert (restricted.answered, restricted.value) == (expected.answered, expected.value)
    assert restricted.oov_words == expected.oov_words
    assert 0 < restricted.answered < 500


def test_analogies_are_counted_by_section_and_by_kind():
    vectors = plane(man=[1, 0, 0], woman=[1, 1, 0], king=[1, 0, 1], queen=[1, 1, 1], far=[-1, -1, -1])
    questions = [
        Question("family", "man", "woman", "king", ("queen",)),
        Question("family", "man", "woman", "king", ("far",)),
        Question("family", "man", "woman", "king", ("nobody",)),
        Question("gram1", "king", "queen", "man", ("nobody", "woman")),
    ]
    result = evaluate_analogies(vectors, questions, "toy")
    assert (result.total, result.answered, result.coverage) == (4, 3, 0.75)
    assert result.oov_words == ("nobody",)
    assert [score.value for score in result.scores] == [2 / 3, 2 / 4]
    sections = {section.name: (section.value, section.answered, section.total) for section in result.sections}
    assert sections == {"semantic": (0.5, 2, 3), "syntactic": (1, 1, 1), "family": (0.5, 2, 3), "gram1": (1, 1, 1)}
    assert parse_signature(result.scores[0].signature)["method"] == "additive"
    assert parse_signature(result.sections[0].scores[0].signature)["section"] == "semantic"


def test_three_words_leave_no_answer():
    vectors = plane(a=[1, 0], b=[0, 1], c=[1, 1])
    assert solve_analogies(VocabularyLookup(vectors), np.array([[0, 1, 2]])).tolist() == [-1]
    assert evaluate_analogies(vectors, [Question("", "a", "b", "c", ("a",))]).value == 0
    empty = evaluate_analogies(vectors, [])
    assert (empty.value, empty.total, empty.coverage) == (None, 0, 0.0)


def test_bats_takes_any_answer_of_the_second_pair():
    pairs = [Pair("cat", "animal/beast", "L01 [hypernyms]"), Pair("oak", "tree/plant", "L01 [hypernyms]")]
    pairs.append(Pair("run", "runs", "I05 [verb]"))
    questions = bats_questions(pairs)
    assert questions[0] == Question("L01 [hypernyms]", "cat", "animal", "oak", ("tree", "plant"))
    assert len(questions) == 2
    assert [is_syntactic(s) for s in ("L01 [x]", "I05 [x]", "D10 [x]", "E1", "gram3-comparative", "family")] == [
        *(False, True, True, False, True, False)
    ]


# --- vocabulary lookup ------------------------------------------------------------------------------------------------


def test_words_are_found_as_written_else_in_lower_case():
    vectors = plane(Turkey=[1, 0], turkey=[0, 1], paris=[1, 1])
    lookup = VocabularyLookup(vectors)
    assert [lookup.index(word) for word in ("Turkey", "turkey", "Paris", "Rome", "Rome")] == [0, 1, 2, -1, -1]
    assert lookup.list_oov_words() == ("Rome",)
    assert VocabularyLookup(vectors, EvaluationOptions(case="exact")).index("Paris") == -1
    with pytest.raises(FirthError, match="restrict_vocab = -1"):
        EvaluationOptions(restrict_vocab=-1)


class FakeSubwords:
    """Subwords of words of three characters and more."""

    def bucket_ids(self, word):
        return np.arange(max(0, len(word) - 2))

    def vector(self, word):
        return np.array([len(word), 1.0], np.float32)


def test_oov_words_are_composed_of_their_subwords_and_still_counted_as_oov():
    vectors = WordVectors(["one", "two"], np.array([[1, 0], [0, 1]], np.float32), subwords=FakeSubwords())
    pairs = [Pair("one", "two", score=1), Pair("one", "three", score=2), Pair("two", "seven", score=0)]
    pairs.append(Pair("one", "x", score=0))
    result = evaluate_similarity(vectors, pairs)
    assert (result.answered, result.oov_words) == (3, ("three", "seven", "x"))
    assert "|oov:subwords|" in result.scores[0].signature
    skipped = evaluate_similarity(vectors, pairs, options=EvaluationOptions(oov="skip"))
    assert (skipped.answered, skipped.value) == (1, None)


def test_rare_words_weigh_more():
    assert np.all(np.diff(sif_weights(random_vectors(counts=np.arange(60, 0, -1)))) > 0)
    assert np.all(np.diff(sif_weights(random_vectors())) > 0)


# --- similarity, categories, choices ----------------------------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 70)] * 2, st.integers(0, 10)), min_size=3, max_size=40))
def test_similarity_is_the_rank_correlation_over_known_pairs(rated):
    vectors = random_vectors()
    pairs = [Pair(f"w{a}", f"W{b}", score=float(score)) for a, b, score in rated]
    known = [(vectors.similarity(f"w{a}", f"w{b}"), score) for a, b, score in rated if max(a, b) < 60]
    result = evaluate_similarity(vectors, pairs, "toy|set")
    assert result.answered == len(known)
    assert parse_signature(result.scores[0].signature)["set"] == "toy/set"
    rounded = [(round(cosine, 5), score) for cosine, score in known]  # equal cosines differ in their last digits
    if len({c for c, _ in rounded}) == len(known) > 1 and len({s for _, s in known}) > 1:
        assert result.value == pytest.approx(spearmanr(*zip(*known, strict=True)).statistic, abs=1e-9)


def test_clusters_are_as_tight_as_scikit_learns():
    points = np.random.default_rng(3).normal(size=(150, 5))
    ours = k_means(points, 6)
    theirs = KMeans(6, n_init=10, random_state=0).fit(points)
    assert ours.inertia <= theirs.inertia_ * 1.02
    distances = ((points[:, None] - ours.centres) ** 2).sum(2)
    assert ours.labels.tolist() == distances.argmin(1).tolist()  # each point is with its nearest centre
    assert ours.inertia == pytest.approx(distances.min(1).sum())
    again = k_means(points, 6)
    assert again.labels.tolist() == ours.labels.tolist()


def test_clusters_of_duplicates_and_of_too_few_points():
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
    result = evaluate_categorization(vectors, more)
    assert (result.value, result.answered, result.total, result.oov_words) == (1.0, 32, 33, ("stranger",))
    assert (result.scores[1].name, result.scores[1].value) == ("majority class", 0.25)
    assert evaluate_categorization(vectors, []).value is None


def test_choices_and_odd_ones_out(tmp_path):
    vectors = plane(apple=[1, 0.1], pear=[1, 0.2], plum=[1, 0], hammer=[0, 1], saw=[0.1, 1])
    file = tmp_path / "toefl.txt"
    file.write_text("# fruit\nplum | apple | hammer | saw\n\nplum | hammer | apple\nplum | saw | melon\n")
    result = evaluate_choices(vectors, read_choices(file))
    assert (result.kind, result.value, result.answered, result.total) == ("choice", 0.5, 2, 3)
    assert result.scores[1].value == pytest.approx(1 / 3)
    odd = [Choice(("hammer", "apple", "pear", "plum")), Choice(("apple", "pear", "hammer"))]
    result = evaluate_choices(vectors, odd)
    assert (result.kind, result.value) == ("odd one out", 0.5)
    assert vectors.doesnt_match(["apple", "pear", "plum", "hammer"]) == "hammer"
    file.write_text("plum | apple | saw\nplum apple\n")
    with pytest.raises(FirthError, match=r"toefl\.txt:2: not a multiple-choice question"):
        list(read_choices(file))


def test_a_tie_counts_as_wrong():
    vectors = plane(a=[1, 0], b=[1, 0], c=[0, 1])
    assert evaluate_choices(vectors, [Choice(("a", "b"), "c")]).value == 0


# --- logistic regression ----------------------------------------------------------------------------------------------


def test_the_gradient_of_the_classifier():
    random = np.random.default_rng(0)
    inputs, gold = np.c_[random.normal(size=(20, 3)), np.ones(20)], random.integers(0, 3, 20)
    flat = random.normal(size=12)
    data = (inputs, gold, 0.7)
    assert check_grad(lambda x: logistic_loss(x, *data)[0], lambda x: logistic_loss(x, *data)[1], flat) < 1e-4


@pytest.mark.parametrize("classes", [2, 3])
def test_the_classifier_is_scikit_learns(classes):
    random = np.random.default_rng(1)
    inputs, gold = random.normal(size=(60, 4)) * [1, 5, 0.1, 1] + 3, random.integers(0, classes, 60)
    model = fit_logistic_regression(inputs, [f"c{n}" for n in gold], l2_penalty=0.5)
    scaled = (inputs - inputs.mean(0)) / inputs.std(0)
    peer = LogisticRegression(C=2.0, tol=1e-8, max_iter=1000)
    if classes == 2:  # ours has weights for both classes, so each pays half: a softmax of ±w/2
        peer = LogisticRegression(C=4.0, tol=1e-8, max_iter=1000)
    peer.fit(scaled, gold)
    logits = model.logits(inputs)
    probabilities = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    assert np.allclose(probabilities, peer.predict_proba(scaled), atol=1e-4)
    with pytest.raises(FirthError, match="1 label in the training data"):
        fit_logistic_regression(inputs, ["x"] * 60)


def test_texts_are_classified_by_their_mean_vectors():
    vectors = plane(good=[1, 0], great=[1, 0.2], bad=[0, 1], awful=[0.1, 1], the=[1, 1])
    train = [Labelled(text, (label,)) for text, label in
             [("the good", "+"), ("great great", "+"), ("bad the", "-"), ("Awful", "-")]]  # fmt: skip
    test = [Labelled("good great", ("+",)), Labelled("bad, awful", ("-",)), Labelled("zzz", ("-",))]
    result = evaluate_classification(vectors, train, test)
    assert result.value >= 2 / 3
    assert (result.total, result.answered, result.oov_words) == (3, 2, (",", "zzz"))
    rows, counts = mean_vectors(VocabularyLookup(vectors), [["good", "zzz", "bad"], []])
    assert np.allclose(rows[0], [0.5, 0.5]) and not rows[1].any()
    assert counts.tolist() == [2, 0]
    with pytest.raises(FirthError, match="no training texts or no test texts"):
        evaluate_classification(vectors, [], test)


# --- words in context -------------------------------------------------------------------------------------------------


def test_the_word_is_where_it_is_marked():
    occurrence = parse_context("bank", "the river <b> bank </b> was <b>wet</b>")
    assert occurrence == ("bank", ["the", "river"], ["was", "wet"])
    with pytest.raises(FirthError, match=r"scws:3: 'bank' is not marked"):
        parse_context("bank", "no mark", "scws:3")


def test_without_senses_there_are_word_and_context_similarities():
    vectors = random_vectors()
    line = (("left_context", "w1 w2 <b>w3</b> w4"), ("right_context", "w5 <b>w6</b>"))
    pairs = [Pair(f"w{n}", f"w{n + 9}", score=float(n % 5), fields=line) for n in range(20)]
    result = evaluate_contextual_similarity(vectors, pairs)
    expected = spearmanr([vectors.similarity(p.left, p.right) for p in pairs], [p.score for p in pairs]).statistic
    assert [score.name for score in result.scores] == ["spearman (word)", "spearman (context)"]
    assert result.scores[0].value == pytest.approx(expected)
    assert result.scores[1].value is None  # all contexts are the same


def test_wic_is_read_and_evaluated(tmp_path):
    vectors = plane(bank=[1, 1], river=[1, 0], water=[1, 0.1], money=[0, 1], loan=[0.1, 1])
    rows, labels = [], []
    for n in range(10):
        same = n % 3 == 0
        rows.append("bank\tN\t1-1\triver bank\t" + ("water bank" if same else "loan bank"))
        labels.append("T" if same else "F")
    data = tmp_path / "dev.data.txt"
    data.write_text("\n".join(rows) + "\n")
    (tmp_path / "dev.gold.txt").write_text("\n".join(labels) + "\n")
    result = evaluate_wic(vectors, read_wic(data))
    assert (result.value, result.answered, result.scores[-1].value) == (1.0, 10, 0.6)
    data.write_text("bank\tN\t1-7\triver bank\twater bank\n" * 10)
    with pytest.raises(FirthError, match=r"dev\.data\.txt:1: '1-7' are no positions"):
        list(read_wic(data))
    data.write_text("\n".join(rows) + "\n")
    for content, error in (("T\nF\n", "it ends before line 3 of the other file"), ("T\nno\n", "2: label 'no'")):
        (tmp_path / "dev.gold.txt").write_text(content)
        with pytest.raises(FirthError, match=rf"dev\.gold\.txt:? ?{error}"):
            list(read_wic(data))


@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=20))
def test_the_threshold_is_the_best(pairs):
    values, gold = (np.array(side) for side in zip(*pairs, strict=True))
    correct = ((values >= best_threshold(values, gold)) == gold).sum()
    assert correct == max(((values >= threshold) == gold).sum() for threshold in np.arange(-1, 8) + 0.5)


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


def test_kinds_are_detected_by_the_content(folder):
    assert {name: detect_format(folder / name).kind for name in FILES if name != "empty.txt"} == {
        name: kind for name, (kind, _) in FILES.items() if name != "empty.txt"
    }
    assert detect_format(folder / "scws.txt.gz").kind == "contexts"
    assert [pair.score for pair in detect_format(folder / "verbs.txt").columns.read(folder / "verbs.txt")] == [3.5, 1.0]


def test_a_whole_folder_at_once(folder):
    seen = []
    table = evaluate_folder(random_vectors(), folder, on_result=seen.append)
    assert table.results == tuple(seen)
    kinds = sorted((result.kind, result.total) for result in table.results)
    assert kinds == [
        *(("analogy", 1), ("analogy", 2), ("categories", 2), ("choice", 1), ("classification", 1), ("contexts", 1)),
        *(("similarity", 2), ("similarity", 2), ("similarity", 2), ("similarity", 3)),
    ]
    reasons = {path.removeprefix(str(folder))[1:]: why for path, why in table.skipped}
    assert set(reasons) == {"README.md", "empty.txt", "broken.txt", "news/test.txt", "dev.data.txt"}
    assert "broken.txt:2: 3 words, expected 4" in reasons["broken.txt"]
    assert "no file with the labels" in reasons["dev.data.txt"]
    assert len(table.rows()) == len(table.results) < len(table.rows(sections=True))
    single = evaluate_folder(random_vectors(), folder / "sim.txt")
    assert single.rows()[0] == {"set": "sim", "kind": "similarity", "score": "spearman",
                                "value": single.results[0].value, "answered": 3, "asked": 3,
                                "unknown words": 0}  # fmt: skip
    with pytest.raises(FirthError, match="no such folder"):
        evaluate_folder(random_vectors(), folder / "nowhere")


def test_normalisation_leaves_zero_rows():
    assert l2_normalise(np.array([[3, 4], [0, 0]])).tolist() == [[np.float32(0.6), np.float32(0.8)], [0, 0]]
