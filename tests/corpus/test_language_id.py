"""Language identification: naive Bayes against Bayes' rule by hand, on artificial languages, as a file; py3langid."""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.corpus import clean, language_id
from firth.corpus.filters import LanguageFilter
from firth.corpus.language_id import NgramLanguageIdentifier, Py3LangidIdentifier, default_identifier
from firth.errors import FirthError

ENGLISH = [
    "the cat sat on the mat and the dog ran to the house with a ball; what do you think of that?",
    "we have been there before, and nothing of this was known to us when they came through the door",
]
GERMAN = [
    "die Katze sitzt auf der Matte und der Hund läuft mit einem Ball zum Haus; was denkst du darüber?",
    "wir sind schon dort gewesen, und nichts davon war uns bekannt, als sie durch die Tür kamen",
]
TURKISH = [
    "kedi halının üstünde oturuyor ve köpek topla eve koşuyor; bunun hakkında ne düşünüyorsun?",
    "daha önce orada bulunduk, kapıdan girdiklerinde bunların hiçbirini bilmiyorduk",
]
TEXTS = {"en": ENGLISH, "de": GERMAN, "tr": TURKISH}
TRAINED = NgramLanguageIdentifier.train(TEXTS)


@pytest.fixture
def languages():
    return TRAINED


def make_sentence(syllables, rng):
    return " ".join("".join(rng.choices(syllables, k=rng.randint(1, 3))) for _ in range(8))


def test_unseen_sentences_of_artificial_languages_are_identified():
    """Languages of the same letters with different syllables, in lines that were not in the training texts."""
    rng = random.Random(3)
    syllables = {"p": ["ba", "do", "gi", "lu"], "q": ["ab", "od", "ig", "ul"], "r": ["bo", "da", "gu", "li"]}
    found = NgramLanguageIdentifier.train(
        {name: [make_sentence(s, rng) for _ in range(50)] for name, s in syllables.items()}
    )
    right = [found.identify(make_sentence(s, rng)).language == name for name, s in syllables.items() for _ in range(50)]
    assert sum(right) >= 148


def test_real_words(languages):
    sentences = {"en": "the dog and the house", "de": "der Hund und das Haus", "tr": "köpek ve bunun kapısı"}
    for name, text in sentences.items():
        guess = languages.identify(text)
        assert guess.language == name and guess.confidence > 0.9


def test_scores_are_bayes_rule_by_hand():
    """Languages "a" and "ab": every n-gram probability counted by hand."""
    found = NgramLanguageIdentifier.train({"one": ["a"], "two": ["ab"]})
    # n-grams of " a ": a | " a" "a " | " a ". n-grams of " ab ": a b | " a" "ab" "b " | " ab" "ab " | " ab "
    kinds = {1: 2, 2: 4, 3: 3, 4: 1}  # distinct n-grams of each length in both

    def log(count, total, length):
        return math.log((count + 0.1) / (total + 0.1 * kinds[length]))

    one = log(1, 1, 1) + 2 * log(1, 2, 2) + log(1, 1, 3)
    two = log(1, 2, 1) + log(1, 3, 2) + log(0, 3, 2) + log(0, 2, 3)
    assert found.scores("A!") == pytest.approx([one, two])
    assert found.identify("a").confidence == pytest.approx(1 / (1 + math.exp((two - one) / 4)))


@given(st.text(max_size=50))
def test_any_text_has_a_guess(text):
    guess = TRAINED.identify(text)
    assert guess.language in TRAINED.languages
    assert 1 / 3 - 1e-9 <= guess.confidence <= 1 or guess.confidence == 0


@pytest.mark.parametrize("text", ["", " \n", "12 34!", "你好"])
def test_of_a_text_without_known_letters_nothing_is_said(languages, text):
    assert languages.identify(text).confidence == 0
    for name in languages.languages:
        assert list(clean([text], [LanguageFilter((name,), languages, 0.0)])) == []


@given(st.text(alphabet="abc ğ", min_size=1, max_size=20), st.sampled_from(["!", "  ", "7", "_", "…"]))
def test_case_digits_and_marks_do_not_matter(text, mark):
    assert TRAINED.scores(f"{mark}{text.upper().lower()}{mark}") == TRAINED.scores(text)


def test_the_file_gives_the_same_scores(languages, tmp_path):
    path = tmp_path / "languages.json"
    languages.save(path)
    with pytest.raises(FirthError, match="no such folder"):
        languages.save(tmp_path / "none" / "languages.json")
    again = NgramLanguageIdentifier.load(path)
    assert again.to_json().encode() == path.read_bytes()
    assert again.languages == languages.languages == ("de", "en", "tr")
    for text in (*ENGLISH, *GERMAN, "köpek", "x"):
        assert again.scores(text) == languages.scores(text)


def test_the_same_texts_give_the_same_bytes_in_another_process(languages):
    texts = dict(reversed(TEXTS.items()))
    code = f"from firth.corpus import NgramLanguageIdentifier as Own; print(Own.train({texts!r}).to_json())"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, encoding="utf-8").stdout
    assert out == languages.to_json() + "\n"


def test_only_a_part_of_a_large_text_is_read(monkeypatch):
    monkeypatch.setattr(language_id, "MAX_TRAINING_CHARACTERS", 1000)
    read = []

    def texts(word):
        for number in range(1000):
            read.append(number)
            yield word * 20

    NgramLanguageIdentifier.train({"a": texts("hello "), "b": texts("hallo ")})
    assert len(read) == 2 * math.ceil(1000 / 120)


def test_one_language_is_refused():
    with pytest.raises(FirthError, match=r"1 language to identify; give texts of two or more"):
        NgramLanguageIdentifier.train({"en": ENGLISH})


@pytest.mark.parametrize("texts", [[], [""], ["123 !!!"]])
def test_a_language_without_letters_is_refused_by_name(texts):
    with pytest.raises(FirthError, match="language 'de': no letters"):
        NgramLanguageIdentifier.train({"en": ENGLISH, "de": texts})


def corrupt(change):
    content = json.loads(TRAINED.to_json())
    change(content)
    return json.dumps(content)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{",
        '{"format": "other"}',
        corrupt(lambda c: c.pop("totals")),
        corrupt(lambda c: c["counts"].pop("de")),
        corrupt(lambda c: c["counts"]["de"].update(abcde=3)),
        corrupt(lambda c: c["counts"]["de"].update(ab=-3)),
        corrupt(lambda c: c["counts"]["de"].update(ab="x")),
        corrupt(lambda c: c["totals"]["de"].pop()),
        corrupt(lambda c: c["totals"].update(de=[1, 2, 3, "4"])),
    ],
)
def test_a_file_that_is_none_is_refused(content, tmp_path):
    path = tmp_path / "languages.json"
    path.write_text(content)
    with pytest.raises(FirthError, match="not a language identifier file") as caught:
        NgramLanguageIdentifier.load(path)
    assert str(path) in str(caught.value)


@pytest.fixture
def no_py3langid(monkeypatch):
    monkeypatch.setitem(sys.modules, "py3langid", None)
    default_identifier.cache_clear()
    yield
    default_identifier.cache_clear()


@pytest.mark.parametrize("make", [Py3LangidIdentifier, default_identifier, lambda: LanguageFilter(("en",))])
def test_a_missing_package_says_how_to_get_it(no_py3langid, make):
    with pytest.raises(FirthError, match=r'needs the package py3langid; pip install "firth\[language\]"'):
        make()


def test_a_trained_identifier_needs_no_package(no_py3langid, languages):
    assert list(clean(["der Hund und das Haus"], [LanguageFilter(("de",), languages)])) == ["der Hund und das Haus"]


def test_importing_the_corpus_does_not_import_py3langid():
    code = "import sys, firth.corpus, firth.corpus.filters; sys.exit('py3langid' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_pretrained_identifier_knows_many_languages():
    pytest.importorskip("py3langid")
    pretrained = Py3LangidIdentifier()
    assert {"en", "de", "tr"} <= set(pretrained.languages)
    assert pretrained.identify(GERMAN[0]).language == "de"
    assert pretrained.identify("").confidence == pretrained.identify("12 34!").confidence == 0


def test_the_pretrained_identifier_is_the_default():
    pytest.importorskip("py3langid")
    assert default_identifier() is default_identifier()
    assert LanguageFilter(("de",)) == LanguageFilter(("de",), default_identifier())
    assert list(clean([*ENGLISH, *GERMAN, *TURKISH], [LanguageFilter(("de",))])) == GERMAN
    with pytest.raises(FirthError, match="unknown language 'klingon'"):
        LanguageFilter(("klingon",))
