"""Chunk scores against seqeval in both modes, and conlleval's counting by worked examples."""

import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.errors import FirthError
from firth.metrics.bootstrap import paired_bootstrap
from firth.metrics.label_counts import AVERAGES
from firth.metrics.tagging import COUNTINGS, Chunk, chunk_f1, chunks, count_chunks, sentence_accuracy, token_accuracy

PREFIXES = {"iob1": "BI", "iob2": "BI", "bioes": "BIES", "bilou": "BILU"}


def sentences(prefixes):
    """Pairs of gold and predicted tags of the same length, mostly broken."""
    tags = st.sampled_from(["O", *(f"{prefix}-{label}" for prefix in prefixes for label in "XY")])
    pair = st.lists(st.tuples(tags, tags), min_size=1, max_size=7)
    return st.lists(pair, min_size=1, max_size=4).map(
        lambda found: tuple([[tags[side] for tags in pairs] for pairs in found] for side in (0, 1))
    )


@pytest.mark.parametrize(
    ("scheme", "strict"), [("iob2", False), ("bioes", False), *((name, True) for name in PREFIXES)]
)
@settings(max_examples=25)
@given(data=st.data())
def test_scores_are_those_of_seqeval(scheme, strict, data):
    pytest.importorskip("seqeval")
    from seqeval import scheme as schemes
    from seqeval.metrics import sequence_labeling, v1

    gold, predicted = data.draw(sentences(PREFIXES[scheme]))
    ours = count_chunks(gold, predicted, "seqeval-strict" if strict else "seqeval", scheme)
    mode = {"scheme": getattr(schemes, "IOBES" if scheme == "bioes" else scheme.upper())} if strict else {}
    for average in AVERAGES if ours.labels else ():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # seqeval warns of scores that are undefined
            theirs = (v1 if strict else sequence_labeling).precision_recall_fscore_support(
                gold, predicted, average=average, zero_division=0, **mode
            )[:3]
        scores = [value or 0.0 for value in ours.scores(average).values()]
        assert scores == pytest.approx([float(value) for value in theirs])


@given(sentences("BI"))
def test_conlleval_and_seqeval_agree_on_bio(pair):
    for tags in (*pair[0], *pair[1]):
        assert chunks(tags, "conlleval") == chunks(tags, "seqeval")


@pytest.mark.parametrize(
    ("tags", "conlleval", "seqeval", "strict"),
    [
        # well formed
        (["B-PER", "I-PER", "O", "B-PER"], [(0, 2), (3, 4)], [(0, 2), (3, 4)], [(0, 2), (3, 4)]),
        # an I that continues nothing begins a chunk, but not strictly
        (["O", "I-PER", "I-PER"], [(1, 3)], [(1, 3)], []),
        (["B-PER", "I-LOC"], [(0, 1), (1, 2)], [(0, 1), (1, 2)], [(0, 1)]),
    ],
)
def test_the_three_countings_of_bio(tags, conlleval, seqeval, strict):
    for counting, expected in zip(COUNTINGS, (conlleval, seqeval, strict), strict=True):
        assert [(start, end) for start, end, _ in chunks(tags, counting, "bio")] == expected


@pytest.mark.parametrize(
    ("tags", "conlleval", "seqeval", "strict"),
    [
        # conlleval does not know S: chunks of one word that touch are one chunk
        (["S-PER", "S-PER"], [(0, 2)], [(0, 1), (1, 2)], [(0, 1), (1, 2)]),
        (["B-PER", "E-PER", "B-PER", "E-PER"], [(0, 4)], [(0, 2), (2, 4)], [(0, 2), (2, 4)]),
        # no E: not a chunk, strictly
        (["B-PER", "I-PER", "O"], [(0, 2)], [(0, 2)], []),
    ],
)
def test_the_three_countings_of_bioes(tags, conlleval, seqeval, strict):
    for counting, expected in zip(COUNTINGS, (conlleval, seqeval, strict), strict=True):
        assert [(start, end) for start, end, _ in chunks(tags, counting, "bioes")] == expected


def test_worked_example():
    """Three gold chunks, three predicted, two of them right: the second sentence has the wrong label."""
    gold = [["B-PER", "I-PER", "O", "B-LOC"], ["B-ORG", "O"]]
    predicted = [["B-PER", "I-PER", "O", "B-LOC"], ["B-LOC", "O"]]
    counts = count_chunks(gold, predicted)
    assert counts.labels == ("LOC", "ORG", "PER")
    assert counts.counts.sum(0).tolist() == [[1, 2, 1], [0, 0, 1], [1, 1, 1]]  # correct, predicted, gold
    assert counts.precision() == counts.recall() == counts.f1() == pytest.approx(2 / 3)
    assert counts.f1("macro") == pytest.approx((2 / 3 + 0 + 1) / 3)
    assert [row["label"] for row in counts.table()] == [
        "LOC", "ORG", "PER", "micro average", "macro average", "weighted average"
    ]  # fmt: skip
    assert counts.table()[1] == {"label": "ORG", "precision": None, "recall": 0.0, "f1": 0.0, "support": 1}
    assert token_accuracy(gold, predicted).score().value == pytest.approx(5 / 6)
    assert sentence_accuracy(gold, predicted).score().value == 0.5
    score = chunk_f1(gold, predicted).score()
    assert score.name == "f1" and score.value == pytest.approx(2 / 3) and "counting:conlleval" in score.signature


def test_subsets_and_the_bootstrap_are_of_summed_counts():
    gold = [["B-X", "O"], ["B-Y", "I-Y"], ["O", "B-X"]]
    first, second = ([["B-X", "O"], ["B-Y", "O"], ["O", "O"]], gold)
    statistics = chunk_f1(gold, first)
    assert statistics.score_subset([0, 1]) == pytest.approx(count_chunks(gold[:2], first[:2]).f1())
    assert statistics.details(statistics.total) == pytest.approx({"precision": 1 / 2, "recall": 1 / 3, "f1": 2 / 5})
    with pytest.raises(ValueError):
        paired_bootstrap(statistics, chunk_f1(gold, first, "seqeval"), resamples=9)  # another counting
    assert paired_bootstrap(statistics, chunk_f1(gold, second), resamples=50).difference == pytest.approx(3 / 5)


def test_nothing_to_count():
    counts = count_chunks([["O", "O"]], [["O", "O"]])
    assert counts.f1() is counts.precision("macro") is counts.recall("weighted") is None
    assert chunk_f1([["O"]], [["O"]]).score().value is None
    assert count_chunks([], []).f1() is None and token_accuracy([], []).score().value is None
    assert chunks([], "seqeval-strict", "bio") == [] == chunks([])
    assert count_chunks([["B-X"]], [["O"]]).scores() == {"precision": None, "recall": 0.0, "f1": 0.0}


def test_tags_without_labels():
    assert chunks(["B", "I", "O", "I"]) == [Chunk(0, 2, "_"), Chunk(3, 4, "_")]


def test_mistakes_are_named():
    with pytest.raises(FirthError, match="sentence 1: 2 gold and 1 predicted tags"):
        count_chunks([["O"], ["O", "O"]], [["O"], ["O"]])
    with pytest.raises(FirthError, match="1 gold and 2 predicted sentences"):
        token_accuracy([["O"]], [["O"], ["O"]])
    with pytest.raises(FirthError, match="unknown counting 'seqevil'"):
        chunks(["O"], "seqevil")
    with pytest.raises(FirthError, match="unknown tagging scheme"):
        chunks(["O"], "seqeval-strict")
    with pytest.raises(FirthError, match="'S-X' is not a tag of iob2"):
        chunks(["S-X"], "seqeval-strict", "bio")
    with pytest.raises(FirthError, match="unknown average"):
        count_chunks([["O"]], [["O"]]).f1("mean")
