"""N-best lists: headers, several scores, references; lines of an utterance that do not go together."""

import pytest

from firth.datasets import numbered_lines, readers
from firth.datasets.readers.nbest_lists import NBestLists
from firth.datasets.records import Hypothesis, NBest
from firth.errors import FirthError


@pytest.fixture
def read(tmp_path):
    def read(content, **options):
        (tmp_path / "n.nbest").write_text(content)
        return list(NBestLists(**options).read(tmp_path / "n.nbest"))

    return read


def test_without_a_header_all_further_columns_are_scores(read):
    first, second = read("u1\ta boat\t-1.5\t2\nu1\ta goat\t-2\t0\n\nu2\t\t0\t1\n")
    assert first == NBest(
        "u1", (Hypothesis("a boat", (-1.5, 2.0)), Hypothesis("a goat", (-2.0, 0.0))), names=("score", "score2"), line=1
    )
    assert second.hypotheses == (Hypothesis("", (0.0, 1.0)),) and second.reference is None


def test_a_header_names_scores_reference_and_context(read):
    content = "id\treference\tacoustic\thypothesis\tcontext\nu1\ta boat\t-1\ta goat\tWe saw\n"
    expected = NBest("u1", (Hypothesis("a goat", (-1.0,)),), "a boat", "We saw", ("acoustic",), 2)
    assert read(content) == [expected]
    assert read(content.partition("\n")[2], columns=tuple(content.split("\n")[0].split("\t"))) == [
        expected._replace(line=1)
    ]


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("", "n.nbest: no hypotheses in it|n.nbest: .*empty"),
        ("u1\ta\t-1\nu1\ta\n", "n.nbest:2: 2 columns, expected 3 .id, hypothesis, score."),
        ("u1\ta\tloud\n", "n.nbest:1: score 'loud' is not a finite number"),
        ("u1\ta\tnan\n", "score 'nan'"),
        ("\ta\t1\n", "n.nbest:1: an empty id"),
        ("u1\ta\t1\nu2\ta\t1\nu1\tb\t0\n", r"n.nbest:3: id 'u1' occurs before .line 1., with others between"),
        ("id\thypothesis\nu1\ta\n", "n.nbest:1: no column with a score"),
        ("id\ttext\tscore\nu1\ta\t1\n", "columns id, text, score: id and hypothesis are needed"),
        (
            "id\thypothesis\tscore\treference\nu\ta\t1\tb\nu\tb\t0\tc\n",
            "n.nbest:3: another reference than in the first",
        ),
    ],
)
def test_what_is_wrong(read, content, error):
    with pytest.raises(FirthError, match=error):
        read(content)


def test_lists_are_written_with_a_header(read, tmp_path):
    lists = read("u1\ta boat\t-1.5\nu2\tnoon\t0\n")
    numbered_lines.save_lines(tmp_path / "w.nbest", NBestLists().rows(lists))
    assert (tmp_path / "w.nbest").read_text() == "id\thypothesis\tscore\nu1\ta boat\t-1.5\nu2\tnoon\t0\n"
    assert isinstance(readers.guess(tmp_path / "w.nbest"), NBestLists)
    with pytest.raises(
        FirthError, match=r"list u2: a context, but there is no column .* columns=id,hypothesis,score,con"
    ):
        list(NBestLists().rows([lists[0], lists[1]._replace(context="One.")]))
    uneven = [lists[0], lists[1]._replace(names=("a", "b"))]
    with pytest.raises(FirthError, match="2 scores, but the first list has 1"):
        list(NBestLists().rows(uneven))
