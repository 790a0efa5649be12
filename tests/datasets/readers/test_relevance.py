"""Cranfield, TREC, lines of passages, judgements, and the collection they make."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.datasets import numbered_lines
from firth.datasets.readers.cranfield import Cranfield
from firth.datasets.readers.relevance import Judgements, Passages, collect
from firth.datasets.readers.trec import Trec
from firth.datasets.records import Judgement, Passage
from firth.errors import FirthError

plain = st.text(st.characters(whitelist_categories=["L", "N"]), min_size=1, max_size=8)


@pytest.fixture
def file(tmp_path):
    def file(text, name="c.txt"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8", newline="")
        return path

    return file


def test_cranfield_records_and_their_bytes(file):
    text = ".I 001\n.T\nred\nboats .\n.A\nme\t\n.B\n.W\nred boats\n  sail .\n.A\n.I 004\n.T\n.W\n"
    path = file(text)
    first, second = Cranfield().read(path)
    assert first == Passage("001", "red boats\n  sail .\n.A", "red\nboats .", (("A", "me\t"), ("B", "")), 1)
    assert second == Passage("004", "", "", (("T", ""),), 12)
    assert "\n".join(Cranfield().rows([first, second])) + "\n" == text
    counted = list(Cranfield(ids="counted").read(path))
    assert [passage.id for passage in counted] == ["1", "2"]
    assert "\n".join(Cranfield().rows(counted)) + "\n" == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".W\nx\n", r"c\.txt:1: '.W' does not begin a record"),
        (".I 1\nx\n.W\n", r"c\.txt:2: 'x' before any section"),
        (".I 1\n.W\nx\n.I 1\n.W\ny\n", r"c\.txt:4: id '1' occurs twice, first at line 1"),
    ],
)
def test_bad_cranfield(file, text, message):
    with pytest.raises(FirthError, match=message):
        list(Cranfield().read(file(text)))


def test_trec_documents_and_topics(file):
    documents = file(
        "<DOC>\n<DOCNO> FT-1 </DOCNO>\n<DATE>today</DATE>\n<HEADLINE>Boats</HEADLINE>\n"
        "<TEXT>\n<P>\nred <b>boats</b>\n</P>\n</TEXT>\n<TEXT>more</TEXT>\n</DOC>\n"
        "\n<doc><docno>2</docno><text>x</text></doc>\n"
    )
    assert list(Trec().read(documents)) == [
        Passage("FT-1", "<P>\nred <b>boats</b>\n</P>\nmore", "Boats", (("date", "today"),), 1),
        Passage("2", "x", "", (), 13),
    ]
    topics = file(
        "<top>\n\n<num> Number: 301\n<title> Boats\n\n<desc> Description:\nred ones\n\n<narr> Narrative:\nany\n</top>\n"
    )
    assert list(Trec().read(topics)) == [Passage("301", "red ones", "Boats", (("narr", "any"),), 1)]


def test_only_topics_say_what_their_tags_say(file):
    """A headline that begins with such a word is a headline."""
    inside = "<DOCNO>Number: 1</DOCNO>\n<HEADLINE>Description: of a battle</HEADLINE>\n<TEXT>Topic: x</TEXT>"
    assert list(Trec().read(file(f"<DOC>\n{inside}\n</DOC>\n"))) == [
        Passage("Number: 1", "Topic: x", "Description: of a battle", (), 1)
    ]
    topic = file("<top>\n<num>Number: 1\n<title>Description: of a battle\n<con>Topic: x\n</top>\n")
    assert list(Trec().read(topic)) == [Passage("1", "", "Description: of a battle", (("con", "Topic: x"),), 1)]


@pytest.mark.parametrize("name", ["doc", "TOP", "a_b", "a b", ""])
def test_fields_that_trec_cannot_mark_are_refused(name):
    with pytest.raises(FirthError, match="cannot be a TREC tag"):
        list(Trec().rows([Passage("1", "x", fields=((name, "y"),))]))


@pytest.mark.parametrize(
    "passage",
    [
        Passage("1", "x", fields=(("author", "me"),)),
        Passage("1", "x", fields=(("a", "me"),)),
        Passage("1", "x", fields=(("W", "y"),)),
        Passage("1", "x", "title", (("T", "y"),)),
        Passage("1", "x\n.I 2\n.W"),
        Passage("1", "x", "title\n.A\nme"),
        Passage("1", ".B "),
        Passage(" 1", "x"),
        Passage("", "x"),
        Passage("a\nb", "x"),
    ],
)
def test_cranfield_does_not_write_what_it_could_not_read(passage):
    with pytest.raises(FirthError):
        list(Cranfield().rows([passage]))


def test_counted_ids_are_counts():
    with pytest.raises(FirthError, match="text 2 has the id 'b', not its count; write it with ids=written"):
        list(Cranfield(ids="counted").rows([Passage("1", "x"), Passage("b", "y")]))


section = st.lists(st.sampled_from(["x", "", ".I", ".I 2", ".T", ".W", ".A ", "..", ".x"]), max_size=4).map("\n".join)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(section, section, st.dictionaries(st.sampled_from("TABWI") | st.just("ab"), section)), max_size=3
    )
)
def test_cranfield_comes_back_or_is_refused(tmp_path_factory, made):
    path = tmp_path_factory.getbasetemp() / "cranfield"
    made = [Passage(str(n), text, title, tuple(more.items())) for n, (text, title, more) in enumerate(made, 1)]
    try:
        numbered_lines.save_lines(path, Cranfield(ids="counted").rows(made) if made else [".I 1"])
    except FirthError:
        return
    again = [passage._replace(line=0) for passage in Cranfield(ids="counted").read(path)]
    assert [p[:3] for p in again] == [p[:3] for p in made or [Passage("1", "")]]
    assert [set(p.fields) for p in again if made] == [set(p.fields) - {("I", p.id)} for p in made]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<DOC>\n<TEXT>x</TEXT>\n</DOC>\n", r"c\.txt:1: a text without <DOCNO>"),
        ("x\n<DOC>\n", r"c\.txt:1: 'x' is outside"),
        ("<DOC>\n<DOCNO>1</DOCNO>\n<DOC>\n", r"c\.txt:1: not closed before the next <doc>"),
        ("\n<DOC>\n<DOCNO>1</DOCNO>\n", r"c\.txt:2: not closed: no </doc>"),
        ("<DOC>\n<DOCNO>1</DOCNO>\n</DOC>\n" * 2, r"c\.txt:4: id '1' occurs twice"),
    ],
)
def test_bad_trec(file, text, message):
    with pytest.raises(FirthError, match=message):
        list(Trec().read(file(text)))


def test_many_open_tags_take_no_long_time(file):
    """A scan for a closing tag from every open one would take hours."""
    (result,) = Trec().read(file("<DOC>\n<DOCNO>1</DOCNO>\n" + "<a>\n" * 100_000 + "</DOC>\n"))
    assert result.id == "1"


fields = st.dictionaries(st.sampled_from(["a", "b"]), plain).map(lambda found: tuple(found.items()))
passage = st.builds(lambda *parts: Passage(*parts), plain, plain, st.just("") | plain, fields)
passages = st.lists(passage, unique_by=lambda passage: passage.id, max_size=4)


@settings(max_examples=30, deadline=None)
@given(passages, st.sampled_from([Trec(), Passages(), Passages("jsonl")]))
def test_what_is_written_is_read_again(tmp_path_factory, made, form):
    path = tmp_path_factory.mktemp("c") / "c"
    numbered_lines.save_lines(path, form.rows(made) if made else ["\n"])
    assert [passage._replace(line=0) for passage in form.read(path)] == made


def test_trec_does_not_write_what_it_could_not_read():
    with pytest.raises(FirthError, match="contains the tag </DOC>"):
        list(Trec().rows([Passage("1", "a </DOC> b")]))


def test_lines_of_passages(file):
    path = file('{"_id": "a", "title": null, "text": "x", "year": 3}\nb\ty\nc\tT\tz\n{"id": 4, "text": "w"}\n')
    assert list(Passages().read(path)) == [
        Passage("a", "x", "", (("year", "3"),), 1),
        Passage("b", "y", "", (), 2),
        Passage("c", "z", "T", (), 3),
        Passage("4", "w", "", (), 4),
    ]
    assert [type(p.id).__name__ for p in Passages().read(path)] == ["str", "str", "str", "Json"]
    reported = []
    bad = ['{"text": "x"}', '{"_id": "1"}', "[1]", "{", "\tx", "a\tb\tc\td", '{"_id": "1", "text": 2}']
    assert not list(Passages().read(file("\n".join(bad)), reported.append))
    assert [str(error).split(": ")[0].rpartition(":")[2] for error in reported] == [
        str(n) for n in range(1, len(bad) + 1)
    ]


def test_values_of_passages_keep_their_types(file):
    text = '{"_id": 3, "title": "", "text": "x", "metadata": {}, "n": 1.50, "s": "1", "list": [null, true]}\n'
    assert "\n".join(Passages().rows(Passages().read(file(text)))) + "\n" == text


def test_what_trec_has_between_query_and_document_stays(file):
    path = file("1 Q0 d1 2\n1 0 d2 0\n")
    assert "\n".join(Judgements().rows(Judgements().read(path))) + "\n" == path.read_text()


def test_judgements_in_three_layouts(file):
    wanted = [Judgement("1", "d1", 2, 1), Judgement("1", "d2", -1, 2)]
    assert list(Judgements().read(file("1 0 d1 2\n1\t0\td2 -1\n"))) == wanted
    assert list(Judgements().read(file("1 d1 2 \n1 d2 -1\n"))) == wanted
    beir = file("query-id\tcorpus-id\tscore\n1\td1\t2\n")
    assert list(Judgements().read(beir)) == [Judgement("1", "d1", 2, 2)]
    assert "\n".join(Judgements(layout="beir").rows(wanted[:1])) + "\n" == beir.read_text()
    assert list(Judgements().rows(wanted)) == ["1 0 d1 2", "1 0 d2 -1"]


def test_cranfields_codes_become_grades(file):
    path = file("".join(f"1 {code + 9} {code}\n" for code in (1, 2, 3, 4, -1)))
    form = Judgements(grades="cranfield", layout="plain")
    assert [judged.grade for judged in form.read(path)] == [4, 3, 2, 1, 5]
    assert "\n".join(form.rows(form.read(path))) + "\n" == path.read_text()
    with pytest.raises(FirthError, match=r"c\.txt:1: code 0, expected 1 to 4 or -1"):
        list(form.read(file("1 2 0\n")))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2\n", r"c\.txt:1: 2 columns, expected 4"),
        ("1 0 2 x\n", "grade 'x' is not an integer"),
        ("1 0 2 ²\n", "not an integer"),
        ("1 0 2 " + "9" * 5000 + "\n", "not an integer"),
        ("1 0 2 1\n1 0 2 2\n", r"c\.txt:2: query '1' and document '2' are judged twice"),
    ],
)
def test_bad_judgements(file, text, message):
    with pytest.raises(FirthError, match=message):
        list(Judgements().read(file(text)))


def test_a_collection_knows_its_ids():
    documents, queries = [Passage("a", "x"), Passage("b", "y")], [Passage("1", "q")]
    judged = [Judgement("1", "a", 3, 1), Judgement("1", "b", 0, 2)]
    result = collect(documents, queries, judged)
    assert (
        result.relevant("1") == {"a": 3} and result.relevant("1", 0) == {"a": 3, "b": 0} and result.relevant("9") == {}
    )
    wrong = [*judged, Judgement("1", "c", 1, 3)]
    with pytest.raises(FirthError, match=r"q\.rels:3: a judgement of document 'c', which is not there"):
        collect(documents, queries, wrong, "q.rels")
    with pytest.raises(FirthError, match="a judgement of query '2'"):
        collect(documents, queries, [Judgement("2", "a", 1)])
    assert collect(documents, queries, wrong, unknown="drop") == result
    with pytest.raises(FirthError, match="id 'a' occurs twice"):
        collect([*documents, Passage("a", "z")], queries, judged)
