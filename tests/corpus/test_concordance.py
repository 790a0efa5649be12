"""Concordance (KWIC) lines against plain Python: hits, sort order, sampling, display width; queries with wildcards."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.corpus import concordance, index, index_documents
from firth.corpus.display_width import display_width, pad, sanitise, truncate, truncate_left
from firth.corpus.query import find_hits, parse_query, require_hits, suggest_spellings
from firth.datasets.world import World
from firth.errors import FirthError
from firth.tokenizers import split

TEXTS = list(World().documents(120))
DOCUMENTS = [split.split_words(text) for text in TEXTS]


@pytest.fixture(scope="module")
def world():
    return index_documents(TEXTS)


def brute(query, same=lambda word, slot: word == slot):
    """(document, place in it) of every hit."""
    return [
        (d, at)
        for d, words in enumerate(DOCUMENTS)
        for at in range(len(words) - len(query) + 1)
        if all(same(word, slot) for word, slot in zip(words[at:], query, strict=False))
    ]


def found(index, text):
    starts = [at for chunk in find_hits(index, parse_query(index, text)) for at in chunk.tolist()]
    documents = index.document_of(starts)
    return [(d, at - index.document_starts[d]) for d, at in zip(documents.tolist(), starts, strict=True)]


@pytest.mark.parametrize("text", ["the", "The", "is a", "from the", ". The", "that is", "nowhere", "the nowhere"])
def test_words_and_phrases_are_found_where_they_stand(world, text):
    assert found(world, text) == brute(split.split_words(text))


@pytest.mark.parametrize("text", ["t*", "*s", "s*r", "the *", "* is a", "th* * is", "h*p*y"])
def test_stars_stand_for_any_characters_and_alone_for_any_word(world, text):
    def same(word, slot):
        return re.fullmatch(".*".join(map(re.escape, slot.split("*"))), word) is not None

    assert found(world, text) == brute(text.split(), same)


def test_a_star_can_be_meant_as_itself():
    index = index_documents(["a * b *c ab"])
    assert found(index, "\\*") == [(0, 1), (0, 3)] and found(index, "a*") == [(0, 0), (0, 5)]


def test_case_can_be_ignored(world):
    assert found(world.fold_case(), "THE king") == brute(["the", "king"], lambda word, slot: word.casefold() == slot)
    assert found(world.fold_case(), "TH*") == brute(["th"], lambda word, slot: word.casefold().startswith(slot))


def test_many_hits_come_in_pieces(world, monkeypatch):
    whole = found(world, "the"), concordance(world, "the", sort="right", limit=9).lines
    monkeypatch.setattr("firth.corpus.query.CHUNK", 7)
    assert (found(world, "the"), concordance(world, "the", sort="right", limit=9).lines) == whole


# --- order ----------------------------------------------------------------------------------------------------------


def context(hit, length, sort, depth):
    d, at = hit
    words = DOCUMENTS[d]
    near = words[max(0, at - depth) : at][::-1] if sort == "left" else words[at + length : at + length + depth]
    return [word.casefold() for word in near]


@pytest.mark.parametrize("sort", ["left", "right"])
@pytest.mark.parametrize("text", ["the", "is a", "."])
@settings(max_examples=8, deadline=None)
@given(limit=st.integers(1, 400), depth=st.integers(1, 4))
def test_lines_are_the_first_of_all_in_the_order_of_their_context(world, text, sort, limit, depth):
    length = len(split.split_words(text))
    all_hits = brute(split.split_words(text))
    wanted = sorted(all_hits, key=lambda hit: (context(hit, length, sort, depth), hit))[:limit]
    kwic = concordance(world, text, sort=sort, depth=depth, limit=limit)
    assert [(line.document, line.position - world.document_starts[line.document]) for line in kwic.lines] == wanted
    assert kwic.total == len(all_hits)


def test_lines_by_a_column_come_in_its_alphabet(tmp_path):
    path = tmp_path / "table.tsv"
    authors = ["Zoe", "Ann", "Émile", "Ann"]
    path.write_text("author\ttext\n" + "".join(f"{a}\tthe end {n}\n" for n, a in enumerate(authors)))
    kwic = concordance(index(str(path), column="text"), "end", by="author", limit=3)
    assert [(line.values["author"], line.right) for line in kwic.lines] == [("Ann", "1"), ("Ann", "3"), ("Zoe", "0")]
    assert str(kwic).splitlines()[2].startswith("Zoe")


def test_a_sample_is_drawn_from_all_hits_and_repeats(world):
    draws = [concordance(world, "the", sample=True, limit=30, seed=seed) for seed in (1, 1, 2)]
    places = [[line.position for line in draw.lines] for draw in draws]
    assert places[0] == places[1] != places[2] and all(draw.total == len(brute(["the"])) for draw in draws)
    assert len(set(places[0])) == 30 and places[0] == sorted(places[0])
    first = [line.position for line in concordance(world, "the", limit=30).lines]
    assert places[0] != first
    everyone = concordance(world, "the", sample=True, limit=10**6)
    assert len(everyone.lines) == everyone.total


def test_a_sample_is_fair():
    """Every place is drawn about equally often."""
    index = index_documents(["a b " * 10])
    seen = [
        line.position // 2
        for seed in range(300)
        for line in concordance(index, "a", sample=True, limit=2, seed=seed).lines
    ]
    counts = [seen.count(n) for n in range(10)]
    assert sum(counts) == 600 and min(counts) > 30 and max(counts) < 95


# --- lines ----------------------------------------------------------------------------------------------------------


def test_a_line_is_cut_from_its_document(world):
    for line in concordance(world, "is a", width=25, limit=40).lines:
        text = TEXTS[line.document]
        assert f"{line.left} {line.word} {line.right}" in text or not line.left
        assert display_width(line.left) <= 25 and display_width(line.right) <= 25 and line.word == "is a"
    first = concordance(world, DOCUMENTS[3][0], width=30, limit=1000)
    assert any(line.left == "" and line.document == 3 for line in first.lines)


def test_lines_are_aligned_whatever_the_script():
    index = index_documents(
        ["東京の町 Q は大きい", "e\u0301tude e\u0301 Q fin", "plain text Q here", "Q", "한국어 Q 문장"]
    )
    rows = concordance(index, "Q", width=8).format_lines()
    columns = [display_width(row[: row.index("Q")]) for row in rows]
    assert columns == [10] * 5


def test_what_would_steer_a_terminal_is_not_printed():
    line = concordance(index_documents(["a \x1b[31m x \u202e b\tc"]), "x").lines[0]
    assert line.left == "a ·[31m" and line.right == "· b c"
    assert not any(unicodedata.category(c) == "Cc" for c in line.left + line.right)


texts = st.text(st.sampled_from("ab 東e\u0301\u200dx한"), max_size=20)


@given(texts, st.integers(0, 12))
def test_heads_and_tails_are_the_longest_that_fit(text, columns):
    assert text.startswith(truncate(text, columns)) and text.endswith(truncate_left(text, columns))
    assert display_width(truncate(text, columns)) <= columns and display_width(truncate_left(text, columns)) <= columns
    rest = text[len(truncate(text, columns)) :]
    assert not rest or display_width(truncate(text, columns)) + display_width(rest[0]) > columns
    assert not truncate_left(text, columns) or display_width(truncate_left(text, columns)[0]) > 0
    assert (
        display_width(pad(truncate(text, columns), columns))
        == columns
        == display_width(pad(truncate_left(text, columns), columns, left=True))
    )


def test_width_counts_columns():
    assert [display_width(text) for text in ("abc", "東京", "e\u0301", "한", "", "ﾊ")] == [3, 4, 1, 2, 0, 1]
    assert (
        display_width(unicodedata.normalize("NFD", "한국어 x")) == display_width("한국어 x") == 8
        and display_width("\u1100\ud7b0") == 2
    )
    assert sanitise("a\n\n b\u3000c") == "a b c"


# --- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sort": "rigth"}, "unknown order 'rigth'; did you mean 'right'"),
        ({"by": "author"}, "unknown column 'author'"),
        ({"limit": 0}, "limit is 0; give 1 or more"),
        ({"width": -3}, "width is -3"),
    ],
)
def test_bad_settings_are_refused(world, settings, message):
    with pytest.raises(FirthError, match=message):
        concordance(world, "the", **settings)


@pytest.mark.parametrize("text", ["", "*", "* *", "  "])
def test_a_query_must_name_a_word(world, text):
    with pytest.raises(FirthError, match="names no word"):
        parse_query(world, text)


def test_a_word_that_is_not_there_gets_the_nearest(world):
    index = index_documents(["colour color colour harbour Harbour theatre"])
    assert suggest_spellings(index, "colur") == ["colour", "color"] and suggest_spellings(index, "olor") == ["color"]
    assert suggest_spellings(index, "cloour") == ["colour"] and suggest_spellings(index, "HARBOUR") == [
        "Harbour",
        "harbour",
    ]
    assert suggest_spellings(index, "theaters") == ["theatre"] and suggest_spellings(index, "zzz") == []
    assert suggest_spellings(index, "q" * 65) == suggest_spellings(index, "c" * 10**6) == []
    assert (
        suggest_spellings(index.fold_case(), "HARBOR") == ["harbour"]
        and suggest_spellings(index.fold_case(), "Colour")[0] == "colour"
    )
    composed, apart = (unicodedata.normalize(form, "café") for form in ("NFC", "NFD"))
    cafes = index_documents([f"{composed} cafe cafe cafes cafes caf caf"])
    assert suggest_spellings(cafes, apart)[0] == composed and suggest_spellings(index_documents([apart]), composed) == [
        apart
    ]
    with pytest.raises(FirthError, match="'colur' does not occur; did you mean 'colour', 'color'"):
        require_hits(index, "colur")
    with pytest.raises(FirthError, match="'theatre colour' does not occur; try another spelling, or fewer words"):
        require_hits(index, "theatre colour")
    with pytest.raises(FirthError, match=r"'x\*' does not occur"):
        require_hits(index, "x*")


def test_a_query_with_half_a_surrogate_pair_does_not_occur(world):
    for text in ("\udcff", "\udcff*", "a*\udcff", "boat \udc80"):
        with pytest.raises(FirthError, match=r"does not occur|names no word") as error:
            require_hits(world, text)
        assert str(error.value).isprintable()


def test_many_wildcards_take_time_in_proportion_to_the_words():
    """With backtracking this takes hours; the result is that of the greedy match."""
    index = index_documents(["a" * 60 + "b " + "a" * 60 + "c"])
    assert [index.types.word(n) for n in parse_query(index, "*a" * 20 + "*b").slots[0]] == ["a" * 60 + "b"]
    assert not len(parse_query(index, "a*" * 20 + "x*d").slots[0])
    assert len(parse_query(index, "*a" * 20 + "**").slots[0]) == 2
