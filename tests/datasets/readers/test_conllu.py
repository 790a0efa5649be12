"""CoNLL-U: bytes in and out, every check with its line, trees against brute force, the conllu package as an oracle."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.datasets import numbered_lines
from firth.datasets.readers import conllu
from firth.datasets.readers.conllu import Conllu
from firth.datasets.records import Sentence
from firth.errors import FirthError

GOOD = (
    "# sent_id = 1\n# text = Du pain, vite !\n"
    "1-2\tDu\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "1\tDe\tde\tADP\t_\t_\t3\tcase\t3:case\t_\n"
    "2\tle\tle\tDET\t_\tDefinite=Def|Gender=Masc\t3\tdet\t3:det\t_\n"
    "3\tpain\tpain\tNOUN\t_\t_\t0\troot\t0:root\tSpaceAfter=No\n"
    "3.1\tviens\tvenir\tVERB\t_\t_\t_\t_\t0:root|3:conj\t_\n"
    "4\t,\t,\tPUNCT\t_\t_\t5\tpunct\t5:punct\t_\n"
    "5\tvite\tvite\tADV\t_\t_\t3\tadvmod\t3:advmod\t_\n"
    "6\t!\t!\tPUNCT\t_\t_\t3\tpunct\t3:punct\t_\n\n"
    "1\tNon\tnon\tINTJ\t_\t_\t0\troot\t_\t_\n\n"
)


def rows(*heads: object) -> str:
    return "".join(f"{n}\tw{n}\t_\tX\t_\t_\t{head}\tdep\t_\t_\n" for n, head in enumerate(heads, 1)) + "\n"


@pytest.fixture
def read(tmp_path):
    def call(text: str, form: Conllu = Conllu(), **more) -> list[Sentence]:  # noqa: B008
        (tmp_path / "a.conllu").write_bytes(text.encode())
        return list(form.read(tmp_path / "a.conllu", **more))

    return call


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_bytes_come_back(tmp_path, newline):
    old, new = tmp_path / "a.conllu", tmp_path / "b.conllu"
    old.write_bytes(GOOD.replace("\n", newline).encode())
    numbered_lines.save_lines(new, Conllu().rows(Conllu().read(old)), numbered_lines.detect_line_format(old))
    assert new.read_bytes() == old.read_bytes()


def test_what_is_in_a_sentence(read):
    first, second = read(GOOD)
    assert (first.line, second.line) == (1, 12)
    assert [row[0] for row in first.words] == ["1", "2", "3", "4", "5", "6"]
    assert conllu.heads(first) == [3, 3, 0, 5, 3, 3]
    assert conllu.comment(first, "sent_id") == "1" and conllu.comment(first, "nothing") is None
    assert conllu.text(first) == "Du pain, vite !" == conllu.text(first._replace(comments=()))
    assert conllu.features(first.words[1][conllu.FEATS]) == {"Definite": "Def", "Gender": "Masc"}
    assert conllu.deps(first.rows[4][conllu.DEPS]) == [("0", "root"), ("3", "conj")]
    assert conllu.features("_") == {} and conllu.deps("_") == []


def test_the_conllu_package_sees_the_same(read):
    peer = pytest.importorskip("conllu")
    for ours, theirs in zip(read(GOOD), peer.parse(GOOD), strict=True):
        whole = [word for word in theirs if isinstance(word["id"], int)]
        assert [row[conllu.FORM] for row in ours.words] == [word["form"] for word in whole]
        assert conllu.heads(ours) == [word["head"] for word in whole]


BAD = {
    "nine columns": (rows(0, 1).replace("w2\t_\t", "w2\t"), ":2: 9 columns, expected 10"),
    "an empty column": (rows(0, 1).replace("w2", ""), ":2: column 2 is empty"),
    "a cycle": (rows(0, 3, 4, 2), ":2: a cycle: 2 > 3 > 4 > 2"),
    "its own head": (rows(0, 2), ":2: a cycle: 2 > 2"),
    "two roots": (rows(0, 1, 0), ":3: a second root (the first is word 1)"),
    "no root": (rows(2, 1), ":1: a cycle: 1 > 2 > 1"),
    "a head beyond": (rows(0, 7), ":2: head 7, but the last word is 2"),
    "no number": (rows(0, "²"), ":2: head '²' is not a number"),
    "an Arabic digit": (rows(0, "١"), ":2: head '١' is not a number"),
    "an underscore": (rows(0, "1_0"), ":2: head '1_0' is not a number"),
    "a huge head": (rows(0, "9" * 5000), ":2: head '99999999999999999999' is not a number"),
    "a gap in ids": (rows(0, 1).replace("\n2\t", "\n3\t"), ":2: id '3', expected 2"),
    "a wrong range": ("2-3\ta" + "\t_" * 8 + "\n" + rows(0, 1, 1), ":1: range 2-3 is misplaced"),
    "a range backwards": ("1-0\ta" + "\t_" * 8 + "\n" + rows(0), ":1: id '1-0', expected 1"),
    "a range beyond": ("1-4\ta" + "\t_" * 8 + "\n" + rows(0, 1), ":1: range 1-4 exceeds the last word"),
    "an empty node out of place": (rows(0, 1).replace("\n2\t", "\n5.1" + "\t_" * 9 + "\n2\t"), ":2: id '5.1'"),
    "only comments": ("# a\n\n" + rows(0), ":1: comments without a word"),
    "a comment inside": (rows(0, 1).replace("\n2\t", "\n# b\n2\t"), ":2: a comment inside a sentence"),
    "only empty nodes": ("0.1" + "\t_" * 9 + "\n\n", ":1: a sentence without words"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_names_its_line(read, name):
    text, message = BAD[name]
    with pytest.raises(FirthError) as error:
        read(text)
    assert f"a.conllu{message}" in str(error.value) and "\n" not in str(error.value)


def test_faults_are_reported_and_the_rest_is_read(read):
    faults = []
    result = read(rows(0, 1) + rows(2, 1) + rows(0) + rows(0, 0), report=faults.append)
    assert [len(sentence.rows) for sentence in result] == [2, 1]
    assert [str(fault).split(": ")[0].rpartition(":")[2] for fault in faults] == ["4", "10"]


def test_without_trees_heads_may_be_anything(read):
    (sentence,) = read(rows("_", "_"), Conllu(tree="keep"))
    with pytest.raises(FirthError, match="without heads"):
        conllu.heads(sentence)


def is_tree(heads: tuple[int, ...]) -> bool:
    """Exactly one root, and every word comes to it: word by word."""

    def rooted(word: int) -> bool:
        for _ in heads:
            if word == 0:
                return True
            word = heads[word - 1]
        return word == 0

    return heads.count(0) == 1 and all(rooted(word) for word in range(1, len(heads) + 1))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_exactly_the_trees_are_accepted(size):
    for heads in product(range(size + 1), repeat=size):
        table = [tuple(line.split("\t")) for line in rows(*heads).strip().split("\n")]
        assert (conllu._fault(table, True) is None) == is_tree(heads)
        if is_tree(heads):
            assert conllu.is_projective(heads) == no_arcs_cross(heads)
            assert not conllu.find_cycle(heads)


def no_arcs_cross(heads: tuple[int, ...]) -> bool:
    """The definition: every word between the ends of an arc is below its head."""

    def below(word: int, above: int) -> bool:
        while word not in (0, above):
            word = heads[word - 1]
        return word == above

    arcs = [(head, word) for word, head in enumerate(heads, 1) if head]
    return all(below(k, head) for head, word in arcs for k in range(min(head, word) + 1, max(head, word)))


def test_long_sentences_are_checked_too(read):
    chain = [0, *range(1, 1500)]
    assert conllu.heads(read(rows(*chain))[0]) == chain
    with pytest.raises(FirthError, match=":1500: head 1501"):
        read(rows(*chain[:-1], 1501))


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300) | st.text(alphabet="0123._-#\t\n \r²é", max_size=200).map(str.encode))
def test_only_errors_meant_for_users(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "fuzz.conllu"
    path.write_bytes(content)
    try:
        for sentence in Conllu().read(path):
            assert is_tree(tuple(conllu.heads(sentence)))
            conllu.text(sentence)
    except FirthError as error:
        assert "\n" not in str(error)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_spoiled_files_are_read_or_refused(tmp_path_factory, data):
    spot = data.draw(st.integers(0, len(GOOD) - 1))
    text = GOOD[:spot] + data.draw(st.sampled_from(["", "\t", "\n", "7", "-", "é"])) + GOOD[spot + 1 :]
    path = tmp_path_factory.getbasetemp() / "spoiled.conllu"
    path.write_text(text)
    try:
        result = list(Conllu().read(path))
    except FirthError:
        return
    assert "\n".join(Conllu().rows(result)).rstrip("\n") == text.strip("\n").replace("\n\n\n", "\n\n")


@pytest.mark.parametrize("heads", [[2, 1], [1], [0, 3, 4, 2], [2, 3, 1, 0]])
def test_what_has_a_cycle_is_not_projective(heads):
    assert not conllu.is_projective(heads)


def test_long_chains_take_no_long_time():
    """Walking from every word to the root would take minutes."""
    assert conllu.is_projective([*range(2, 200_001), 0])
