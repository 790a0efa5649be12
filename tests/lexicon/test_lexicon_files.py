"""Files of lexicons: what is wrong with them is one clear line, and XML that could do harm is refused."""

from __future__ import annotations

import gzip
import os
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from miniature_wordnet import lmf_text, write_database, write_lmf

from firth.datasets import compression
from firth.errors import FirthError
from firth.lexicon import open_lexicon
from firth.lexicon.lmf import MAX_DEPTH, MAX_SILENT, MAX_TEXT, read_lmf
from firth.lexicon.princeton import Princeton
from firth.lexicon.sorted_lines import SortedLines

QUICK = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
LEXICON = '<LexicalResource><Lexicon id="x">{}</Lexicon></LexicalResource>'
ENTRY = '<LexicalEntry id="e"><Lemma writtenForm="a" partOfSpeech="n"/><Sense id="s" synset="{}"/></LexicalEntry>'


# --- binary search ----------------------------------------------------------------------------------------------------


@QUICK
@given(
    st.dictionaries(st.binary(min_size=1, max_size=3).map(lambda b: b.hex().encode()), st.integers(0, 9), max_size=40)
)
def test_every_line_is_found_and_no_other(tmp_path_factory, lines):
    path = tmp_path_factory.getbasetemp() / "sorted"
    content = b"".join(b"%s %d\n" % (key, lines[key]) for key in sorted(lines))
    path.write_bytes(content)
    file = SortedLines(path, b" ")
    assert list(file.lines()) == content.splitlines()
    for key in (*lines, b"", b"0", b"zz", b"7f"):
        assert file.find(key) == (b"%s %d" % (key, lines[key]) if key in lines else None)


def test_a_large_file_is_searched_from_sampled_lines(tmp_path):
    keys = sorted(b"%06d" % (n * 7) for n in range(20_000))
    (tmp_path / "large").write_bytes(b"".join(key + b"\tx\n" for key in keys))
    file = SortedLines(tmp_path / "large", b"\t")
    assert all(file.find(key) for key in keys[::97]) and not file.find(b"000001") and not file.find(b"999999")


# --- Princeton's files ------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    return write_database(tmp_path / "dict")


def test_changed_line_ends_are_noticed(folder):
    for file in folder.glob("data.*"):
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    with pytest.raises(FirthError, match=r"data\.noun: no synset at byte \d+; get the files again; line ends must not"):
        open_lexicon(folder).synsets("dog")


@pytest.mark.parametrize("file", ["index.noun", "data.noun"])
def test_a_damaged_line_is_shown(folder, file):
    text = (folder / file).read_text()
    changed = (
        text.replace("puppy n 1", "puppy n x")
        if file.startswith("index")
        else text.replace(" n 01 puppy", " n zz puppy")
    )
    (folder / file).write_text(changed)
    with pytest.raises(FirthError, match=rf"{file}: cannot read the line '.*puppy.*'; get the files again"):
        open_lexicon(folder).synsets("puppy")


def test_a_part_of_the_files_is_a_smaller_lexicon(folder):
    for name in ("index.verb", "noun.exc", "verb.exc", "adj.exc", "adv.exc", "cntlist.rev", "index.sense"):
        (folder / name).unlink()
    lexicon = open_lexicon(folder)
    assert lexicon.synsets("dogs") and not lexicon.synsets("geese") and not lexicon.synsets("run")
    assert not Princeton(folder).has_exceptions and [sense.count for sense in lexicon.senses("dog")] == [0]


def test_counts_come_from_either_file(folder):
    assert [sense.count for sense in open_lexicon(folder).senses("bank")] == [5, 3, 0]
    (folder / "cntlist.rev").unlink()
    (folder / "index.sense").write_text("bank%1:00:01:: 00000000 1 4\n")
    assert [sense.count for sense in open_lexicon(folder).senses("bank")] == [4, 0, 0]


@QUICK
@given(st.data())
def test_any_change_of_the_files_gives_answers_or_one_line(folder, data):
    name = data.draw(st.sampled_from(["index.noun", "data.noun", "noun.exc", "cntlist.rev"]))
    good = (folder / name).read_bytes()
    start = data.draw(st.integers(0, len(good)))
    end = data.draw(st.integers(start, min(len(good), start + 30)))
    middle = data.draw(st.binary(max_size=6) | st.just(good[start:end] * 2))
    try:
        (folder / name).write_bytes(good[:start] + middle + good[end:])
        lexicon = open_lexicon(folder)
        for word in ("dog", "geese", "bank"):
            lexicon.senses(word)
            lexicon.relation(word, "animal")
        lexicon.max_depth("n")
    except FirthError as error:
        assert str(error) and "\n" not in str(error)
    finally:
        (folder / name).write_bytes(good)


def test_files_without_the_licence_have_the_folders_name(folder):
    (folder / "data.noun").write_text("00000000 03 n 01 dog 0 000 | a tame animal  \n")
    assert Princeton(folder).name == folder.name


# --- WN-LMF -----------------------------------------------------------------------------------------------------------


def test_a_compressed_file_is_read_and_a_changed_one_anew(tmp_path):
    path = tmp_path / "tiny.xml.gz"
    path.write_bytes(gzip.compress(lmf_text().encode()))
    assert open_lexicon(path).relation("geese", "goose") == "form"
    path.write_bytes(gzip.compress(lmf_text().replace("a tame animal that barks", "it barks").encode()))
    os.utime(path, ns=(1, 1))
    assert open_lexicon(path).synsets("dog")[0].definition == "it barks"


def test_senses_are_ordered_by_their_number(tmp_path):
    numbered = (
        lmf_text()
        .replace('id="s-slope-0" ', 'id="s-slope-0" n="1" ')
        .replace('id="s-money-0" ', 'id="s-money-0" n="2" ')
    )
    (tmp_path / "n.xml").write_text(numbered)
    assert [s.synset.definition for s in open_lexicon(tmp_path / "n.xml").senses("bank", "n")] == [
        "the land beside a river", "a house that keeps money",
    ]  # fmt: skip


def test_members_order_the_words_of_a_synset(tmp_path):
    text = lmf_text().replace('<Synset id="y-dog" ', '<Synset id="y-dog" members="e-dog-1 e-dog-0" ')
    (tmp_path / "m.xml").write_text(text)
    assert open_lexicon(tmp_path / "m.xml").synsets("dog")[0].words == ("hound", "dog")


BOMB = '<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (BOMB + LEXICON.format("&b;"), r"1: it declares an entity \('a'\), which no lexicon needs"),
        ('<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + LEXICON.format("&a;"), "it declares an entity"),
        ('<!DOCTYPE r [<!ENTITY % a SYSTEM "http://x.org/a"> %a;]>' + LEXICON.format(""), "it declares an entity"),
        (LEXICON.format("&nbsp;"), "not well-formed XML .undefined entity."),
        ("<html><body/></html>", "the first element is 'html', not LexicalResource"),
        ("<LexicalResource/>", "no Lexicon in it"),
        ("{}", "not well-formed XML"),
        (LEXICON.format("<Synset/>"), "Synset has no id"),
        (LEXICON.format('<Synset id="a"/><Synset id="a"/>'), "id 'a' occurs twice"),
        (LEXICON.format('<Synset id="a b"/>'), "id 'a b' has a blank in it"),
        (LEXICON.format(ENTRY.format("t")), r"1: sense 's' has a synset 't' that is not there"),
        (LEXICON.format('<Sense id="s" synset="t"/>'), "a sense before the lemma of its entry"),
        (LEXICON.format('<SynsetRelation relType="hypernym" target="t"/>'), "a relation outside a synset"),
        (LEXICON.format("<a>" * MAX_DEPTH), "nested more than 32 deep"),
        (
            LEXICON.format(f"<Synset id='a'><Example>{'x' * (MAX_TEXT + 1)}</Example></Synset>"),
            "a text of more than 64 k",
        ),
        (LEXICON.format(f"<Synset id='{'x' * (MAX_SILENT + (1 << 17))}'/>"), "a tag of more than 4 MB"),
    ],
)
def test_what_is_wrong_with_a_file(tmp_path, text, error):
    (tmp_path / "l.xml").write_text(text)
    with pytest.raises(FirthError, match=error):
        open_lexicon(tmp_path / "l.xml")


def test_an_error_names_the_line(tmp_path):
    text = lmf_text()
    (tmp_path / "l.xml").write_text(text.replace('synset="y-puppy"', 'synset="y-none"'))
    line = text[: text.index('synset="y-puppy"')].count("\n") + 1
    with pytest.raises(FirthError, match=rf"l\.xml:{line}: sense 's-puppy-0' has a synset 'y-none'"):
        open_lexicon(tmp_path / "l.xml")


def test_relations_to_what_is_not_there_are_left_out(tmp_path):
    (tmp_path / "l.xml").write_text(lmf_text().replace('target="y-animal"', 'target="other-1"'))
    assert not open_lexicon(tmp_path / "l.xml").hypernyms(open_lexicon(tmp_path / "l.xml").synsets("dog")[0])


@QUICK
@given(st.data())
def test_any_change_of_a_file_gives_a_lexicon_or_one_line(tmp_path, data):
    good = lmf_text().encode()
    start = data.draw(st.integers(0, len(good)))
    end = data.draw(st.integers(start, min(len(good), start + 40)))
    middle = data.draw(st.binary(max_size=4) | st.sampled_from([b"<", b'"', b"&", b"]]>", b"<!--", b"\xff", b"\0"]))
    (tmp_path / "l.xml").write_bytes(good[:start] + middle + good[end:])
    try:
        read_lmf(tmp_path / "l.xml")
    except FirthError as error:
        assert str(error) and "\n" not in str(error)


def test_a_damaged_cache_is_said(tmp_path):
    lexicon = open_lexicon(write_lmf(tmp_path / "d.xml"))
    folder = lexicon.reader._folder
    (folder / "synsets.tsv").write_bytes((folder / "synsets.tsv").read_bytes().replace(b'["dog"', b'["dog'))
    with pytest.raises(FirthError, match="the cached lexicon is damaged; remove this folder"):
        open_lexicon(tmp_path / "d.xml").synsets("dog")


def test_what_is_no_archive_or_file(tmp_path):
    (tmp_path / "empty.xml").write_text("")
    with pytest.raises(FirthError):
        open_lexicon(tmp_path / "empty.xml")
    (tmp_path / "bad.zip").write_bytes(b"PK\5\6" + bytes(18))
    with pytest.raises(FirthError, match="no database files of WordNet"):
        open_lexicon(tmp_path / "bad.zip")


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "lexicon.zip")
    with pytest.raises(FirthError, match="a device or a pipe"):
        open_lexicon(tmp_path / "lexicon.zip")


def make_archive(path, files, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def test_an_archive_writes_nothing_outside_its_folder(folder, tmp_path):
    files = {f"../../../{path.name}": path.read_bytes() for path in folder.iterdir() if path.is_file()}
    place = Path(open_lexicon(make_archive(tmp_path / "a.zip", {**files, "../../evil": b"x"})).reader.place)
    assert {path.name for path in place.iterdir()} <= {path.name for path in folder.iterdir()}
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["a.zip"]


def test_an_archive_that_is_a_bomb_is_refused(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(compression, "FREE", 1 << 20)
    with pytest.raises(FirthError, match="as no text does"):
        open_lexicon(make_archive(tmp_path / "a.zip", {"data.noun": b" " * (1 << 22), "index.noun": b""}))


@pytest.mark.parametrize("place", range(0, 400, 7))
def test_a_damaged_archive_is_one_line(folder, tmp_path, place):
    """A byte that differs, in the compressed data or in what the archive says of it."""
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    content = bytearray(make_archive(tmp_path / "a.zip", files).read_bytes())
    for at in (place, -1 - place):
        content[at % len(content)] ^= 0xFF
    (tmp_path / "a.zip").write_bytes(content)
    try:
        open_lexicon(tmp_path / "a.zip").synsets("dog")
    except FirthError as error:
        assert "\n" not in str(error)
