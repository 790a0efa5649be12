"""Judged pairs, analogies, categories."""

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.datasets import numbered_lines
from firth.datasets.readers import get_format
from firth.datasets.readers.wordlists import CONTEXTS, Analogies, Bats, Categories, Similarity, analogies, answers
from firth.datasets.records import Analogy, Labelled, Pair
from firth.errors import FirthError

word = st.text(st.characters(whitelist_categories=["L", "N"]), min_size=1, max_size=5)


@pytest.fixture
def file(tmp_path):
    def file(text, name="w.txt"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8", newline="")
        return path

    return file


@pytest.mark.parametrize(
    "text", ["boat\tship\t9.5\n", "boat ship 9.5\n", "boat,ship,9.5\n", "boat   ship\t9.5".replace("   ", "\t")]
)
@pytest.mark.parametrize("header", ["", "x{0}y{0}z\n"])
def test_separators_and_headers_are_found(file, text, header):
    mark = next(mark for mark in "\t, " if mark in text)
    path = file(header.format(mark) + text)
    (pair,) = Similarity().read(path)
    assert (pair.left, pair.right, pair.score, pair.line) == ("boat", "ship", 9.5, 2 if header else 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\t1\na\tb\n", r"w\.txt:2: 2 columns, expected 3 \(left, right, score\)"),
        ("a\tb\t1\na\tb\tmuch\n", r"w\.txt:2: score 'much' is not a finite number"),
        ("a\tb\t1\na\tb\tnan\n", "not a finite number"),
        ("a\tb\t1\na\tb\t1e999\n", "not a finite number"),
        ("a\tb\t1\na\tb\t1_0\n", "not a finite number"),
        ("a\tb\t1\na\tb\t²\n", "not a finite number"),
        ("a\tb\t1\n\tb\t1\n", r"w\.txt:2: a pair without a word"),
        ("a\tb\t7,5\na\tb\t1\n", r"w\.txt:1: score '7,5' is not a finite number"),
        ("a\tb\tnan\na\tb\t1\n", r"w\.txt:1: score 'nan' is not a finite number"),
        ("a\tb\t-\na\tb\t1\n", r"w\.txt:1: score '-' is not a finite number"),
    ],
)
def test_bad_pairs(file, text, message):
    with pytest.raises(FirthError, match=message):
        list(Similarity().read(file(text)))


def test_columns_that_make_no_pair_are_refused(file):
    with pytest.raises(FirthError, match="left, right and score"):
        get_format("similarity", ["columns=left,score"]).read(file("a\t1\n"))


def test_contexts_keep_all_they_have(file):
    text = "7\tboat\tn\tship\tn\ta <b>boat</b> left\tthe <b>ship</b>\t4.10\t" + "\t".join("1234567890") + "\n"
    path = file(text)
    (pair,) = CONTEXTS.read(path)
    told = dict(pair.fields)
    assert (pair.left, pair.right, pair.score) == ("boat", "ship", 4.1)
    assert told["left_context"] == "a <b>boat</b> left" and told["rating10"] == "0"
    assert "".join(CONTEXTS.rows([pair])) + "\n" == text


scores = (
    st.floats(-1e6, 1e6).map(repr) | st.integers(-100, 100).map(str) | st.sampled_from(["10.00", "4.000", "+1", "1e1"])
)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(word, word, scores), min_size=1, max_size=6), st.sampled_from(["tab", "comma", "blank"]))
def test_pairs_come_back_byte_for_byte(tmp_path_factory, rows, separator):
    folder = tmp_path_factory.mktemp("w")
    mark = {"tab": "\t", "comma": ",", "blank": " "}[separator]
    numbered_lines.save_lines(folder / "w", [mark.join(row) for row in rows])
    form = Similarity(separator=separator, header="no")
    numbered_lines.save_lines(folder / "again", form.rows(form.read(folder / "w")))
    assert (folder / "again").read_bytes() == (folder / "w").read_bytes()


def test_analogies_have_sections(file):
    path = file("A B C D\n: plural\na b c d\n\ne f g h\n: other\ni j k l\n")
    result = list(Analogies().read(path))
    assert [(q.section, q.words[0], q.line) for q in result] == [
        ("", "A", 1),
        ("plural", "a", 3),
        ("plural", "e", 5),
        ("other", "i", 7),
    ]
    assert list(Analogies().rows(result)) == path.read_text().replace("\n\n", "\n").split("\n")[:-1]


def test_an_analogy_has_four_words(file):
    told = []
    assert len(list(Analogies().read(file(": s\na b c\na b c d\na b c d e\n"), told.append))) == 1
    assert [str(error).rpartition("/")[2].partition(";")[0] for error in told] == [
        "w.txt:2: 3 words, expected 4",
        "w.txt:4: 5 words, expected 4",
    ]


def test_bats_gives_pairs_and_all_their_analogies(file):
    path = file("boat\tboats\nchild\tchildren/kids\nox\toxen\n", "I01 [noun - plural].txt")
    pairs = list(Bats().read(path))
    assert pairs[1] == Pair("child", "children/kids", "I01 [noun - plural]", line=2)
    assert answers(pairs[1]) == ("children", "kids")
    known = {"boat": "boats", "child": "children", "ox": "oxen"}
    wanted = {(a, known[a], b, known[b]) for a, b in permutations(known, 2)}
    made = list(analogies(pairs))
    assert {question.words for question in made} == wanted and len(made) == len(wanted)
    assert isinstance(made[0], Analogy) and made[0].section == "I01 [noun - plural]"
    assert "\n".join(Bats().rows(pairs)) + "\n" == path.read_text()
    with pytest.raises(FirthError, match=r"w\.txt:2: an empty word"):
        list(Bats().read(file("a\tb\nc\td//e\n")))


def test_categories(file):
    path = file(',category,word\n0,ship,boat\n1,"day, time",noon\n')
    result = list(Categories().read(path))
    assert result == [Labelled("boat", ("ship",), 2), Labelled("noon", ("day, time",), 3)]
    assert "\n".join(Categories().rows(result)) + "\n" == path.read_text()


def test_categories_without_words(file):
    path = file(",category,word\n0,ship,\n1,ship,boat\n")
    with pytest.raises(FirthError, match=r"w\.txt:2: an empty word or category"):
        list(Categories().read(path))
    assert len(list(Categories(empty="skip").read(path))) == 1
    assert "\n".join(Categories().rows(Categories(empty="keep").read(path))) + "\n" == path.read_text()
    for text, message in ((",kind,word\n", r"w\.txt:1: the header"), (",category,word\n0,a\n", r"w\.txt:2: 2 columns")):
        with pytest.raises(FirthError, match=message):
            list(Categories().read(file(text)))
    with pytest.raises(FirthError, match=r"w\.txt:2: not CSV"):
        list(Categories().read(file(',category,word\n0,"a,b\n')))
