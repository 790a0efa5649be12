"""ARPA files: KenLM reads ours to the same scores, we read those of other programs; errors name the line."""

import gzip
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth import api
from firth.config.schema import Ngram
from firth.errors import FirthError
from firth.ngram import arpa_sections, distribution, fit, prune_by_entropy, read_arpa, score, write_arpa
from firth.tokenizers.special_tokens import SpecialTokens

VOCABULARY = ["[PAD]", "[UNK]", "[START]", "[END]", "the", "dog", "ran", "übel", "cat", "home"]
SPECIAL = SpecialTokens(pad=0, unknown=1, start=2, end=3)
SIZE = len(VOCABULARY)
TEXT = [
    "the dog ran home",
    "the cat ran",
    "the dog ran",
    "übel",
    "home the cat ran home",
    "dog dog dog cat",
    "the the cat",
]
TEST = ["the dog ran", "the cow ran home", "übel cat", "", "cow", "dog dog dog dog the cat ran home"]
METHODS = ["add-k", "katz", "stupid-backoff", "kneser-ney", "modified-kneser-ney"]
HAND = """
# made by hand: "a b" was pruned though "a b c" was not, and so was "b c"
\\data\\
ngram 1=5
ngram 2=2
ngram 3=1

\\1-grams:
-99\t<s>\t-0.5
-1.0\t</s>
-0.7\ta\t-0.2
-0.6\tb\t-0.1
-0.9\tc

\\2-grams:
-0.3\t<s> a\t-0.4
-0.2\tc </s>

\\3-grams:
-0.1\ta b c

\\end\\
"""


def encode(lines):
    index = {name: i for i, name in enumerate(VOCABULARY)}
    documents = [[*(index.get(word, 1) for word in line.split()), 3] for line in lines]
    return np.array([i for d in documents for i in d], np.uint32), np.cumsum([0, *map(len, documents)])


def trained(**settings):
    return fit(*encode(TEXT), SIZE, SPECIAL, Ngram(**settings)).model


def score_words(model, vocabulary, lines):
    index = {name: i for i, name in enumerate(vocabulary)}
    documents = [[*(index.get(w, index["<unk>"]) for w in line.split()), index["</s>"]] for line in lines]
    ids = np.array([i for d in documents for i in d], np.uint32)
    return score(model, ids, np.cumsum([0, *map(len, documents)]))


@pytest.mark.parametrize(
    ("smoothing", "options"),
    [
        *((method, {}) for method in METHODS),
        *((method, {"prune": (0, 0, 1)}) for method in METHODS),
        *((method, {"entropy_threshold": 1e-2}) for method in METHODS if method != "stupid-backoff"),
    ],
)
@pytest.mark.parametrize("order", [2, 3, 5])
def test_kenlm_gives_the_same_scores(smoothing, options, order, tmp_path):
    kenlm = pytest.importorskip("kenlm")
    model = trained(order=order, smoothing=smoothing, **options)
    write_arpa(model, VOCABULARY, tmp_path / "model.arpa")
    kenlm_config = kenlm.Config()
    kenlm_config.show_progress = False
    other = kenlm.Model(str(tmp_path / "model.arpa"), kenlm_config)
    ours = score(model, *encode(TEXT + TEST))
    theirs = [row for line in TEXT + TEST for row in other.full_scores(line)]
    assert np.allclose(ours.logprobs / math.log(10), [row[0] for row in theirs], atol=1e-5)
    unknown = encode(TEXT + TEST)[0] == 1
    assert np.array_equal(unknown, [row[2] for row in theirs])
    assert np.array_equal(ours.orders, [row[1] for row in theirs])


@pytest.mark.parametrize("smoothing", [*METHODS, "mle"])
@pytest.mark.parametrize("order", [1, 2, 5])
def test_what_is_written_is_read_again(smoothing, order, tmp_path):
    model = trained(order=order, smoothing=smoothing)
    write_arpa(model, VOCABULARY, tmp_path / "model.arpa.gz")
    arpa = read_arpa(tmp_path / "model.arpa.gz")
    assert set(arpa.vocabulary) == {"<unk>", "<s>", "</s>", *VOCABULARY[4:]}
    again, first = score_words(arpa.model, arpa.vocabulary, TEXT + TEST), score(model, *encode(TEXT + TEST))
    assert np.allclose(again.logprobs, first.logprobs, atol=2e-6)
    assert np.array_equal(again.orders, first.orders)
    assert arpa.model.sizes[1:] == model.sizes[1:]
    write_arpa(arpa.model, arpa.vocabulary, tmp_path / "second.arpa")
    text = gzip.decompress((tmp_path / "model.arpa.gz").read_bytes()).decode()
    third = read_arpa(tmp_path / "second.arpa")
    assert np.allclose(third.model.unpack().logprobs, arpa.model.unpack().logprobs, atol=2e-6)
    assert text.startswith("\\data\\\nngram 1=9\n") and text.endswith("\n\\end\\\n")


def test_pruned_models_are_read_again(tmp_path):
    model = prune_by_entropy(trained(order=4), 0.01)
    write_arpa(model, VOCABULARY, tmp_path / "model.arpa")
    arpa = read_arpa(tmp_path / "model.arpa")
    again = score_words(arpa.model, arpa.vocabulary, TEXT + TEST)
    assert np.allclose(again.logprobs, score(model, *encode(TEXT + TEST)).logprobs, atol=2e-6)


def test_one_token_for_start_and_end(tmp_path):
    special = SpecialTokens(unknown=1, end=3)
    model = fit(*encode(TEXT), SIZE, special, Ngram(order=3)).model
    write_arpa(model, VOCABULARY, tmp_path / "model.arpa")
    arpa = read_arpa(tmp_path / "model.arpa")
    again = score_words(arpa.model, arpa.vocabulary, TEXT + TEST)
    assert np.allclose(again.logprobs, score(model, *encode(TEXT + TEST)).logprobs, atol=2e-6)


def test_a_file_by_hand(tmp_path):
    """Prefixes and suffixes that were pruned, backoff weights left out, no unknown word."""
    (tmp_path / "hand.arpa").write_text(HAND)
    model, vocabulary = read_arpa(tmp_path / "hand.arpa")
    assert vocabulary == ["<s>", "</s>", "a", "b", "c", "<unk>"]
    log10 = score_words(model, vocabulary, ["a b c", "b c", "what"]).logprobs / math.log(10)
    truth = [-0.3, -0.4 - 0.2 - 0.6, -0.1, -0.2, -0.5 - 0.6, -0.1 - 0.9, -0.2, -0.5 - 100, -1.0]
    assert np.allclose(log10, truth, atol=1e-5)


def test_blanks_instead_of_tabs(tmp_path):
    (tmp_path / "tabs.arpa").write_text(HAND)
    (tmp_path / "blanks.arpa").write_text(HAND.replace("\t", "  ").replace("\n", "\r\n"))
    one, other = read_arpa(tmp_path / "tabs.arpa"), read_arpa(tmp_path / "blanks.arpa")
    assert one.vocabulary == other.vocabulary
    contexts = np.array([[0, 2], [2, 3], [-1, 4]])
    assert np.array_equal(distribution(one.model, contexts), distribution(other.model, contexts))


def test_words_that_the_format_cannot_have_are_escaped(tmp_path):
    vocabulary = [*VOCABULARY[:4], " ", "a\nb", "<unk>", "\\", "</s>", "home"]
    write_arpa(trained(order=2), vocabulary, tmp_path / "model.arpa")
    escaped = ["<unk>", "<s>", "</s>", "▁", "a␊b", "\\<unk>", "\\", "\\</s>", "home"]
    assert read_arpa(tmp_path / "model.arpa").vocabulary == escaped
    write_arpa(trained(order=2), [*VOCABULARY[:4], " ", "▁", *VOCABULARY[6:]], tmp_path / "model.arpa")
    assert read_arpa(tmp_path / "model.arpa").vocabulary[3:5] == ["▁", "\\▁"]
    with pytest.raises(FirthError, match="2 words for 10 tokens"):
        write_arpa(trained(order=2), ["a", "b"], tmp_path / "model.arpa")


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("\\data\\", "data", 3, "not an ARPA file"),
        ("ngram 2=2", "ngram 3=2", 5, "expected ngram 2="),
        ("ngram 2=2", "ngram 2=x", 5, "expected ngram 2="),
        ("ngram 1=5", "ngram 1=4", 13, "expected \\\\2-grams:"),
        ("ngram 1=5", "ngram 1=6", 14, "expected a number, 1 words"),
        ("-0.7\ta", "x\ta", 11, "not a number"),
        ("-0.7\ta", "0.7\ta", 11, "above 0"),
        ("-0.7\ta", "nan\ta", 11, "not a number or above 0"),
        ("a\t-0.2", "a\tinf", 11, "finite"),
        ("-0.6\tb", "-0.6\ta", 12, "twice"),
        ("<s> a", "<s> d", 16, "not among the 1-grams"),
        ("-0.2\tc </s>", "-0.2\t<s> a", 17, "twice"),
        ("a b c", "a b", 20, "expected a number, 3 words"),
        ("\\3-grams:", "\\4-grams:", 19, "expected \\\\3-grams:"),
        ("\\end\\\n", "", 21, "ends too early"),
        ("</s>", "</t>", 0, "no </s>"),
    ],
)
def test_errors_name_the_line(old, new, line, message, tmp_path):
    (tmp_path / "bad.arpa").write_text(HAND.replace(old, new))
    with pytest.raises(FirthError, match=message) as caught:
        read_arpa(tmp_path / "bad.arpa")
    assert str(caught.value).startswith(f"{tmp_path / 'bad.arpa'}:{line}:" if line else str(tmp_path / "bad.arpa"))


@given(st.data())
@settings(deadline=None, max_examples=300)
def test_any_file_is_read_or_raises_a_one_line_error(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "fuzzed.arpa"
    text = HAND.encode()
    for _ in range(data.draw(st.integers(1, 3))):
        low = data.draw(st.integers(0, len(text)))
        high = data.draw(st.integers(low, min(len(text), low + 8)))
        insertion = data.draw(
            st.binary(max_size=3) | st.sampled_from([b"\t", b"\n", b"9", b"-", b"a", b"\\", b"1-grams:"])
        )
        text = text[:low] + insertion + text[high:]
    path.write_bytes(text[: data.draw(st.integers(0, len(text)))] if data.draw(st.booleans()) else text)
    try:
        model, vocabulary = read_arpa(path)
    except FirthError as error:
        assert "\n" not in str(error)
    else:
        assert model.size == len(vocabulary)
        distribution(model, np.array([[0, 1, 2]]))


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(FirthError, match=r"none\.arpa"):
        read_arpa(tmp_path / "none.arpa")


CLOSED = """\\data\\
ngram 1=5
ngram 2=2

\\1-grams:
-99\t<unk>\t0
-99\t<s>\t-0.3
-1\t</s>\t0
-0.5\ta\t-0.2
-0.6\tb\t-0.1

\\2-grams:
-0.2\t<s> a
-0.3\ta b

\\end\\
"""


def test_unknown_words_of_log_probability_minus_99_score_as_in_kenlm(tmp_path):
    """SRILM writes −99 for <unk> in a model of a closed vocabulary: KenLM takes it as it stands."""
    path, notes = tmp_path / "closed.arpa", []
    path.write_text(CLOSED)
    mine = api.import_model(path, out=tmp_path / "run", say=notes.append)
    assert len(notes) == 1 and "as in KenLM" in notes[0]
    # <s> a; b after a; <unk> backs off from a by -0.2, </s> from <unk> by 0 and from b by -0.1, <unk> from <s> by -0.3
    by_hand = {"a b": -0.2 - 0.3 - 0.1 - 1, "a x b": -0.2 - 0.2 - 99 - 0.6 - 0.1 - 1, "x": -0.3 - 99 - 1}
    for text, log10 in by_hand.items():
        assert mine.score(text) == pytest.approx(log10 * math.log(10), rel=1e-6)
    kenlm = pytest.importorskip("kenlm")
    theirs = kenlm.Model(str(path))
    for text in by_hand:
        assert mine.score(text) == pytest.approx(theirs.score(text) * math.log(10), rel=1e-6)


def test_a_long_file_says_how_much_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(arpa_sections, "_PROGRESS_SECONDS", 0.0)
    said = []
    (tmp_path / "closed.arpa").write_text(CLOSED)
    read_arpa(tmp_path / "closed.arpa", say=said.append)
    assert said == ["5 of 5 1-grams are read", "2 of 2 2-grams are read"]
