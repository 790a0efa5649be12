"""Bracketed trees: text in and out, depth without limit, nltk and laws as oracles."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.datasets import numbered_lines
from firth.datasets.readers import trees
from firth.datasets.readers.trees import Trees
from firth.datasets.records import Tree
from firth.errors import FirthError

GOOD = (
    "((S (NP-SBJ-1 (DT The) (NN cat)) (VP (VBZ sits) (NP (-NONE- *-1))) (-LRB- -LRB-) (. .)))\n(3 (2 It) (4 works))\n"
)
words = st.text(alphabet="abcé\u00a0-*", min_size=1, max_size=4)


def all_trees(words):
    def inside(below):
        below = st.lists(below, min_size=1, max_size=4)
        return st.builds(lambda label, kids: Tree(label, tuple(kids)), words, below)

    return st.recursive(st.builds(lambda label, word: Tree(label, (), word), words, words), inside, max_leaves=12)


labelled = all_trees(words)


@pytest.fixture
def read(tmp_path):
    def call(text: str, form: Trees = Trees(), **more) -> list[Tree]:  # noqa: B008
        (tmp_path / "a.mrg").write_text(text)
        return list(form.read(tmp_path / "a.mrg", **more))

    return call


def test_bytes_come_back(tmp_path, read):
    result = read(GOOD)
    numbered_lines.save_lines(
        tmp_path / "b", Trees().rows(result), numbered_lines.detect_line_format(tmp_path / "a.mrg")
    )
    assert (tmp_path / "b").read_text() == GOOD


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("( (S (X a) (Y b)))\n", Trees(spacing="outer")),
        ("( ( a b ) c )\n", Trees(labels="no", spacing="wide")),
        ("(NP the (NN cat) sat)\n", Trees()),
        ("(NP a b)\n", Trees()),
    ],
)
def test_other_ways_to_write_come_back(read, text, form):
    assert "\n".join(form.rows(read(text, form))) + "\n" == text


def test_spread_over_lines_is_the_same_tree(read):
    flat, spread = (
        read("(S (NP (DT The) (NN cat)) (VP sits))\n")[0],
        read("\n( S\n  (NP (DT The)\n   (NN cat))\n (VP sits))\n")[0],
    )
    assert spread == flat._replace(line=2)


@settings(max_examples=60, deadline=None)
@given(st.lists(labelled, min_size=1, max_size=3))
def test_what_is_written_is_read(tmp_path_factory, given):
    path = tmp_path_factory.getbasetemp() / "trees.mrg"
    numbered_lines.save_lines(path, Trees().rows(given))
    assert [tree._replace(line=0) for tree in Trees().read(path)] == given


@settings(max_examples=60, deadline=None)
@given(all_trees(st.text(alphabet="abcé-*", min_size=1, max_size=4)))  # nltk takes a no-break space for a blank
def test_nltk_sees_the_same_tree(given):
    nltk = pytest.importorskip("nltk")
    text = trees.to_text(given)
    peer = nltk.Tree.fromstring(text, leaf_pattern=r"[^ ()]+", node_pattern=r"[^ ()]+")
    assert peer.leaves() == trees.leaves(given)
    assert peer.pos() == trees.tagged_words(given)
    assert peer.pformat(margin=10**6) == text
    inner = [part for part in peer.subtrees() if not isinstance(part[0], str)]
    result = trees.spans(given)
    assert [label for _, _, label in result] == [part.label() for part in inner]
    assert [end - start for start, end, _ in result] == [len(part.leaves()) for part in inner]
    assert all(trees.leaves(given)[a:b] == part.leaves() for (a, b, _), part in zip(result, inner, strict=True))


@settings(max_examples=60, deadline=None)
@given(labelled)
def test_binarise_there_and_back(given):
    binary = trees.binarise(given)
    assert all(len(node.children) <= 2 for node in trees.nodes(binary))
    assert trees.leaves(binary) == trees.leaves(given)
    assert trees.unbinarise(binary) == given


def test_traces_and_functional_tags_go(read):
    stripped = trees.strip_traces(read(GOOD)[0])
    assert trees.to_text(stripped) == "((S (NP (DT The) (NN cat)) (VP (VBZ sits)) (-LRB- -LRB-) (. .)))"
    assert trees.strip_traces(Tree("NP", (Tree("-NONE-", (), "*"),))) is None
    assert [trees.base_label(label) for label in ("NP-SBJ-1", "NP=2", "-NONE-", "PRP$", "")] == [
        "NP",
        "NP",
        "-NONE-",
        "PRP$",
        "",
    ]


BAD = {
    "(S (NP a)\n": ":1: an unclosed bracket; give it 1 more closing bracket",
    "(S a)\n\n(S (NP a)\n(S b)\n": ":3: an unclosed bracket",
    "(S a))\n": ":1: a closing bracket without an opening one",
    "(S a)\nb\n": ":2: 'b' outside of a tree",
    "(S a) b\n": ":1: 'b' after a tree",
    "(S a) (S b)\n": ":1: two trees on one line",
    "(S\n ())\n": ":2: an empty constituent",
    "(S (NP))\n": ":1: a constituent without a word",
    ")(\n": ":1: a closing bracket without an opening one",
}


@pytest.mark.parametrize("text", BAD)
def test_bad_input_names_its_line(read, text):
    with pytest.raises(FirthError) as error:
        read(text)
    assert f"a.mrg{BAD[text]}" in str(error.value)


def test_faults_are_reported_and_the_rest_is_read(read):
    faults = []
    assert len(read("(S a)\n(S ())\n(S b)\n(S (X c)\n", report=faults.append)) == 2
    assert [fault.where.rpartition(":")[2] for fault in faults] == ["2", "4"]


def test_no_depth_is_too_deep(read):
    deep = 20_000
    (tree,) = read("(a " * deep + "x" + ")" * deep + "\n")
    assert trees.leaves(tree) == ["x"] and len(trees.spans(tree)) == deep - 1
    assert len(trees.to_text(trees.unbinarise(trees.binarise(trees.strip_traces(tree))))) == 4 * deep + 1
    with pytest.raises(FirthError, match="an unclosed bracket"):
        read("(" * deep + "\n")


@settings(max_examples=100, deadline=None)
@given(
    st.binary(max_size=200) | st.text(alphabet="(() )a\n\t\r ", max_size=60).map(str.encode),
    st.sampled_from(["yes", "no"]),
)
def test_only_errors_meant_for_users(tmp_path_factory, content, labels):
    path = tmp_path_factory.getbasetemp() / "fuzz.mrg"
    path.write_bytes(content)
    form = Trees(labels=labels)
    try:
        result = [tree._replace(line=0) for tree in form.read(path)]
    except FirthError as error:
        assert "\n" not in str(error)
        return
    if result:
        numbered_lines.save_lines(path, form.rows(result))
        assert [tree._replace(line=0) for tree in form.read(path)] == result


@pytest.mark.parametrize("text", ["", " ", "(A b", "(A (B c)", "A", ")", "(A b) c"])
def test_no_tree_is_an_error_of_the_text(text):
    with pytest.raises(FirthError, match=r"^brackets:1: "):
        trees.from_text(text)


PHRASES = "(3 (2 It) (4 (3 works) (2 .)))\n(2 (2 It) (0 fails))\n"


def test_every_phrase_is_a_tree_of_its_own_and_read_once(read):
    found = read(PHRASES, Trees(unit="phrase"))
    assert [(tree.label, trees.leaves(tree), tree.line) for tree in found] == [
        ("3", ["It", "works", "."], 1),
        ("2", ["It"], 1),
        ("4", ["works", "."], 1),
        ("3", ["works"], 1),
        ("2", ["."], 1),
        ("2", ["It", "fails"], 2),
        ("0", ["fails"], 2),
    ]


def test_classes_rename_roots_and_leave_others_out(read):
    form = Trees(classes=("0:negative", "3:positive"))
    (tree,) = read(PHRASES, form)
    assert (tree.label, tree.children) == ("positive", read(PHRASES)[0].children)
    found = read(PHRASES, Trees(unit="phrase", classes=form.classes))
    assert [tree.label for tree in found] == ["positive", "positive", "negative"]


@pytest.mark.parametrize("wrong", ["3", "3:", ":positive"])
def test_a_class_without_label_or_name_is_an_error(read, wrong):
    with pytest.raises(FirthError, match="no label and class"):
        read(PHRASES, Trees(classes=("0:negative", wrong)))
