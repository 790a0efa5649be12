"""Document filters and their pipeline: what each keeps, that the counts add up, and that cleaning is idempotent."""

from __future__ import annotations

import sys
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.corpus import clean, most_common_words, read_word_list
from firth.corpus.cleaning import SAMPLE_LENGTH, WordTokenizer
from firth.corpus.filters import (
    BlockedWordsFilter,
    CharacterCountFilter,
    ExactDeduplicator,
    LanguageFilter,
    LetterFractionFilter,
    NearDeduplicator,
    RequiredWordsFilter,
    StopWordFractionFilter,
    StopWordRemover,
    WordCountFilter,
    WordSegmenter,
    letter_fraction,
)
from firth.corpus.language_id import LanguagePrediction
from firth.errors import FirthError
from firth.tokenizers import segmenter

texts = st.lists(st.text(alphabet="abcde .,1Ğ\n", max_size=30), max_size=30)
STOP = ("the", "a", "of")


class Shouting:
    """An identifier for tests: capital letters are one language, small ones the other."""

    languages = ("loud", "quiet")

    def identify(self, text):
        loud = sum(map(str.isupper, text)) / max(1, len(text))
        return LanguagePrediction("loud", loud) if loud >= 0.5 else LanguagePrediction("quiet", 1 - loud)


# --- each filter --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "kept", "dropped"),
    [
        (CharacterCountFilter(3), ["abc", "abcd"], ["", "ab"]),
        (CharacterCountFilter(0, 3), ["", "abc"], ["abcd"]),
        (WordCountFilter(2), ["two words", "it's 7", "你好"], ["one", "one !!! ...", "", "mother-in-law's"]),
        (WordCountFilter(1, 2), ["a", "a b"], ["", "a b c"]),
        (LetterFractionFilter(0.5), ["ab12", "a b", "हिन्दी", "naïve"], ["a123", "!!!", "", "12"]),
        (LanguageFilter(("loud",), Shouting(), 0.8), ["AAAA", "AAAAb"], ["AAAbb", "aaaa"]),
        (LanguageFilter(("loud", "quiet"), Shouting(), 0.0), ["AA", "aa"], []),
        (RequiredWordsFilter(("sea", "ship", "New York"), 2), ["The Sea: a SHIP", "a ship in new york"], ["sea sea"]),
        (RequiredWordsFilter(("sea", "ship", "New York"), 2), ["sea ship"], ["new ship"]),
        (BlockedWordsFilter(("cat", "New York")), ["category", "York is new"], ["The cat's... CAT!", "In New  York."]),
        (StopWordFractionFilter(STOP, 0.25, 0.5), ["the dog", "the b c d"], ["dog", "the a dog", "", "the b c d e"]),
        (ExactDeduplicator(), ["one", "One", "one "], []),
        (NearDeduplicator(0.8), ["a b c d e f", "", "!"], []),
    ],
)  # fmt: skip
def test_what_each_keeps(step, kept, dropped):
    assert list(clean(kept + dropped, [step])) == kept


def test_repeated_texts_are_dropped_but_the_first():
    assert list(clean(["a", "b", "a", "a ", "b"], [ExactDeduplicator()])) == ["a", "b", "a "]
    long = "one two three four five six seven eight nine ten eleven twelve"
    near = [long, long.upper() + "!", long + " thirteen", long[::-1], "", ""]
    assert list(clean(near, [NearDeduplicator(0.6)])) == [long, long[::-1], ""]


def test_phrases_do_not_cross_sentences():
    documents = ["Something new. York is old", "new? York", "A new, York", "New York", "New\nYork"]
    assert list(clean(documents, [BlockedWordsFilter(("New York",))])) == documents[:2]
    assert list(clean(["St. Louis", "St Louis", "It is St. He"], [BlockedWordsFilter(("St. Louis",))])) == [
        "It is St. He"
    ]
    assert list(clean(["to St. Louis by car. New"], [StopWordRemover(("St. Louis", "car new"))])) == ["to by car. New"]


@pytest.mark.parametrize(("text", "found"), [("New York", 2), ("a b c", 3), ("York", 1), ("new york new york", 2)])
def test_every_entry_that_occurs_counts_also_within_another(text, found):
    entries = ("New York", "York", "york", "a b", "b c", "a b c")
    for least in range(1, 5):
        assert list(clean([text], [RequiredWordsFilter(entries, least)])) == ([text] if least <= found else [])


@given(st.text())
def test_the_share_of_letters_is_a_share(text):
    assert 0 <= letter_fraction(text) <= 1
    assert letter_fraction("".join(filter(str.isalpha, "x" + text))) == 1


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("The top of the hill", "top hill"),
        ("a dog\nof\nthe house, of a man.", "dog\n\nhouse, man."),
        ("the-art (of) it", "the-art () it"),
        ("theft of a", "theft"),
        ("nothing here", "nothing here"),
    ],
)
def test_stop_words_are_taken_out(text, left):
    assert list(clean([text], [StopWordRemover(STOP)])) == [left]


def test_what_only_has_stop_words_is_dropped():
    assert list(clean(["The, of!", "..."], [StopWordRemover(STOP)])) == []


@given(st.lists(st.sampled_from(["the", "dog", "of", "Cat", "a", ",", "x"]), max_size=12).map(" ".join))
def test_taking_words_out_is_the_filter_of_the_words(text):
    expected = [word for word in WordTokenizer().words(text) if word not in STOP]
    left = list(clean([text], [StopWordRemover(STOP)]))
    assert [WordTokenizer().words(found) for found in left] == ([expected] if expected else [])


def test_turkish_letters_are_compared_as_turkish():
    listed = [BlockedWordsFilter(("ışık", "iyi"))]
    documents = ["IŞIK", "İyi", "işik"]
    assert list(clean(documents, listed, word_tokenizer=WordTokenizer(lowercase="turkish"))) == ["işik"]
    assert list(clean(documents, listed, word_tokenizer=WordTokenizer(lowercase="no"))) == documents


def test_text_is_spaced_as_it_is_cut():
    cut = WordTokenizer(
        split=lambda text: [word[at : at + 2] for word in text.split() for at in range(0, len(word), 2)]
    )
    assert list(clean(["abcde\nfg"], [WordSegmenter()], word_tokenizer=cut)) == ["ab cd e\nfg"]


def test_text_that_is_spaced_twice_is_as_text_that_is_spaced_once():
    """Also where a word is cut further when it stands alone."""

    def halved(text):
        return [half for word in text.split() for half in (word[: len(word) // 2], word[len(word) // 2 :]) if half]

    (once,) = clean(["abcdefghijk"], [WordSegmenter()], word_tokenizer=WordTokenizer(split=halved))
    assert list(clean([once], [WordSegmenter()], word_tokenizer=WordTokenizer(split=halved))) == [once]


# --- the row ------------------------------------------------------------------------------------------------------

ROW = [
    CharacterCountFilter(2, 25),
    WordCountFilter(1),
    LetterFractionFilter(0.4),
    BlockedWordsFilter(("ab", "b c")),
    ExactDeduplicator(),
    NearDeduplicator(0.7, 2),
]


@given(texts, st.permutations(ROW))
def test_counts_add_up(documents, row):
    cleaned = clean(documents, row)
    kept = list(cleaned)
    assert cleaned.seen == len(documents) and cleaned.kept == len(kept)
    assert cleaned.kept + sum(tally.dropped for tally in cleaned.filter_stats) == cleaned.seen
    assert [tally.name for tally in cleaned.filter_stats] == [step.name for step in row]


@given(texts, st.permutations(ROW))
def test_cleaning_the_cleaned_drops_nothing(documents, row):
    once = list(clean(documents, row))
    again = clean(once, row)
    assert list(again) == once
    assert not any(tally.dropped for tally in again.filter_stats)


@given(texts)
def test_a_row_is_its_filters_one_after_the_other(documents):
    after = documents
    for step in ROW:
        after = list(clean(after, [step]))
    assert list(clean(documents, ROW)) == after


@given(texts)
def test_reading_twice_gives_the_same(documents):
    cleaned = clean(documents, ROW)
    first, report = list(cleaned), cleaned.report()
    assert list(cleaned) == first and cleaned.report() == report


def test_nothing_is_read_before_it_is_asked_for():
    def endless():
        while True:
            yield "word"

    stream = iter(clean(endless(), [WordCountFilter(1)]))
    assert [next(stream), next(stream)] == ["word", "word"]


@pytest.mark.parametrize("count", [0, 2, 3, 4, 6, 100])
def test_samples_are_the_first_few_and_others_in_their_places(count):
    pairs = [(f"file, document {n}", f"{n}") for n in range(count)]
    cleaned = clean(pairs, [WordCountFilter(2)], samples=3)
    assert list(cleaned) == []
    samples = cleaned.filter_stats[0].samples
    assert len(samples) == min(count, 6) and len(set(samples)) == len(samples)
    assert [tuple(sample) for sample in samples[:3]] == pairs[:3]
    assert all(tuple(sample) in pairs for sample in samples)


def test_every_document_has_the_same_chance_to_be_a_sample():
    """Of ten that the lot decides about, each is among the three in about three tenths of 1000 readings."""
    counts = Counter()
    for seed in range(1000):
        cleaned = clean([str(n) for n in range(13)], [WordCountFilter(2)], samples=3, seed=seed)
        list(cleaned)
        counts.update(sample.text for sample in cleaned.filter_stats[0].reservoir)
    late = [counts[str(n)] for n in range(3, 13)]
    assert sum(late) == 3000
    assert all(abs(times - 300) < 5 * (1000 * 0.3 * 0.7) ** 0.5 for times in late)


def test_the_same_seed_draws_the_same_samples():
    def samples(seed):
        cleaned = clean([str(n) for n in range(500)], [WordCountFilter(2)], seed=seed)
        list(cleaned)
        return cleaned.report()

    assert samples(4) == samples(4)
    assert len({str(samples(seed)) for seed in range(5)}) > 1


def test_samples_are_short():
    cleaned = clean(["word\n\n " * 10_000], [WordCountFilter(0, 5)])
    list(cleaned)
    (sample,) = cleaned.filter_stats[0].samples
    assert len(sample.text) <= SAMPLE_LENGTH and "\n" not in sample.text and sample.text.endswith("…")


# --- lists --------------------------------------------------------------------------------------------------------


def test_lists_are_read_line_by_line(tmp_path):
    path = tmp_path / "list.txt"
    path.write_bytes("\ufeffone\r\n\r\n  New York \nışık".encode())
    assert read_word_list(path) == ("one", "New York", "ışık")


@pytest.mark.parametrize(
    ("content", "message"), [(b" \n\n", "the word list is empty"), (b"a\nb\n\xff", ":3: the word list is not")]
)
def test_a_list_that_is_none_is_refused(tmp_path, content, message):
    path = tmp_path / "list.txt"
    path.write_bytes(content)
    with pytest.raises(FirthError) as caught:
        read_word_list(path)
    assert str(path) in str(caught.value) and message in str(caught.value)


def test_a_missing_list_is_refused(tmp_path):
    with pytest.raises(FirthError, match="cannot read: No such file"):
        read_word_list(tmp_path / "none.txt")


@given(st.lists(st.sampled_from(["a b", "A", "c c b", "d!"]), max_size=20), st.integers(1, 5))
def test_common_words_are_the_commonest(documents, count):
    every = " ".join(documents).lower().replace("!", "").split()
    found = most_common_words(documents, count)
    assert len(found) == min(count, len(set(every)))
    assert all((-every.count(one), one) < (-every.count(two), two) for one, two in pairwise(found))
    assert all(every.count(word) <= every.count(found[-1]) for word in set(every) - set(found))


# --- bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CharacterCountFilter(5, 3), "no number lies between 5 and 3"),
        (lambda: WordCountFilter(-1), "no number lies between"),
        (lambda: LetterFractionFilter(1.5), "1.5 is not a fraction"),
        (lambda: StopWordFractionFilter(STOP, 0.6, 0.2), "no number lies between"),
        (lambda: StopWordFractionFilter(STOP, 0.0, 2.0), "2 is not a fraction"),
        (lambda: LanguageFilter(("laud",), Shouting()), "unknown language 'laud'; did you mean 'loud'?"),
        (lambda: LanguageFilter(("loud",), Shouting(), 7), "7 is not a fraction"),
        (lambda: NearDeduplicator(0), "not in (0, 1]"),
        (lambda: NearDeduplicator(0.8, 0), "at least one word"),
        (lambda: WordTokenizer(lowercase="klingon"), "unknown lower case 'klingon'"),
        (lambda: list(clean(["a"], [BlockedWordsFilter(("!",))])), "entry '!' has no word"),
        (lambda: list(clean([b"a"], [WordCountFilter(1)])), "document 1: a bytes, not a string"),
        (lambda: most_common_words(["a"], 0), "0 stop words are too few"),
        (lambda: segmenter("klingon"), "unknown language to segment 'klingon'; known: chinese, japanese"),
    ],
)
def test_bad_input_is_refused(make, message):
    with pytest.raises(FirthError) as caught:
        make()
    assert message in str(caught.value)


# --- words of languages without spaces ----------------------------------------------------------------------------


@pytest.mark.parametrize(("language", "package"), [("chinese", "jieba"), ("japanese", "janome.tokenizer")])
def test_a_missing_package_says_how_to_get_it(monkeypatch, language, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(FirthError, match=r'pip install "firth\[cjk\]"'):
        segmenter(language)


def test_chinese_words():
    pytest.importorskip("jieba")
    cut = segmenter("chinese")
    assert cut("我们 去北京。") == ["我们", "去", "北京", "。"]
    word_tokenizer = WordTokenizer(split=cut)
    assert list(
        clean(
            ["我们去北京。", "去上海"], [BlockedWordsFilter(("上海",)), WordSegmenter()], word_tokenizer=word_tokenizer
        )
    ) == ["我们 去 北京 。"]


def test_japanese_words():
    pytest.importorskip("janome")
    cut = segmenter("japanese")
    assert "".join(cut("私は東京に 行く。")) == "私は東京に行く。"
    assert "東京" in cut("私は東京に行く。")
