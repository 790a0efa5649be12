"""Every format both ways: our files in gensim, fastText and safetensors, theirs in ours; damaged files are reported."""

import gzip
import re
import struct

import fasttext
import gensim
import numpy as np
import pytest
from gensim.models.fasttext import load_facebook_vectors
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file

from firth.datasets import memory_map
from firth.embeddings import formats
from firth.embeddings.formats import fasttext_bin as models
from firth.embeddings.formats import safetensors_store, vector_lines, word2vec_files
from firth.embeddings.formats.fasttext_bin import Options
from firth.embeddings.subwords import Subwords
from firth.embeddings.word_vectors import WordVectors
from firth.errors import FirthError

WORDS = ["the", "naïve", "東京", "x-1", "</s>", "0.5", "12"]
UNSEEN = ["unseen", "東", "naïveté", "a", "1"]
TEXTS = ("word2vec-text", "glove")


def made(words=WORDS, width=5, seed=0, **more):
    vectors = np.random.default_rng(seed).normal(size=(len(words), width)).astype(np.float32)
    return WordVectors(words, vectors, **more)


def with_subwords(words=WORDS, width=5):
    """Word vectors with subwords, as after training."""
    random = np.random.default_rng(1)
    word_rows, buckets = (random.normal(size=(rows, width)).astype(np.float32) for rows in (len(words), 97))
    subwords = Subwords(buckets, 2, 4, word_rows)
    context = random.normal(size=word_rows.shape).astype(np.float32)
    vectors, counts = subwords.compose(words, word_rows), range(len(words), 0, -1)
    return WordVectors(words, vectors, counts=counts, context=context, subwords=subwords)


def saved(store, folder, format):
    path = folder / f"a file of {format}"
    store.save(path, format)
    return path


def assert_equal(found, expected):
    assert list(found.words) == list(expected.words)
    assert np.array_equal(found.vectors, expected.vectors)


# --- save, then load ---


@pytest.mark.parametrize("format", formats.FORMATS)
def test_saved_then_loaded_is_the_same(tmp_path, format):
    store = made(counts=range(9, 2, -1))
    path = saved(store, tmp_path, format)
    found = WordVectors.load(path)
    assert_equal(found, store)
    assert found.most_similar("the") == store.most_similar("the")
    if format in ("firth", "fasttext", "projector"):
        assert found.counts.tolist() == [9, 8, 7, 6, 5, 4, 3]


ORDINARY = st.floats(width=32, allow_nan=False, allow_infinity=False)
NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1, max_size=6)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_words_and_numbers_come_back(tmp_path, data):
    words = data.draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    width = data.draw(st.integers(2, 4))
    rows = st.lists(ORDINARY, min_size=width, max_size=width)
    vectors = np.array(data.draw(st.lists(rows, min_size=len(words), max_size=len(words))), np.float32)
    store = WordVectors(words, vectors)
    for format in ("firth", "word2vec-text", "glove", "fasttext", "projector"):
        assert_equal(WordVectors.load(saved(store, tmp_path, format)), store)
    path = saved(store, tmp_path, "word2vec")  # detected by bytes that no text has: here there may be none
    with path.open("rb") as file:
        assert_equal(word2vec_files.read_binary(file, str(path), path.stat().st_size), store)


@pytest.mark.parametrize(
    "name, format", [("a.txt", "word2vec-text"), ("a.vec.gz", "word2vec-text"), ("a.bin", "word2vec")]
)
def test_the_extension_decides_the_format(tmp_path, name, format):
    made().save(tmp_path / name)
    assert formats.detect_format(tmp_path / name) == format
    assert_equal(WordVectors.load(tmp_path / name), made())


def test_with_ngrams_bin_is_fasttexts(tmp_path):
    with_subwords().save(tmp_path / "a.bin")
    assert formats.detect_format(tmp_path / "a.bin") == "fasttext"
    (tmp_path / "folder").mkdir()
    made().save(tmp_path / "folder")
    assert_equal(WordVectors.load(tmp_path / "folder"), made())


# --- gensim ---


@pytest.mark.parametrize(
    "format, binary, header", [("word2vec", True, True), ("word2vec-text", False, True), ("glove", False, False)]
)
def test_gensim_reads_ours(tmp_path, format, binary, header):
    store = made()
    path = saved(store, tmp_path, format)
    found = gensim.models.KeyedVectors.load_word2vec_format(path, binary=binary, no_header=not header)
    assert found.index_to_key == WORDS and np.array_equal(found.vectors, store.vectors)


@pytest.mark.parametrize("binary", [True, False])
def test_we_read_gensims(tmp_path, binary):
    peer = gensim.models.KeyedVectors(5)
    peer.add_vectors(WORDS, made().vectors)
    peer.save_word2vec_format(tmp_path / "theirs", binary=binary)
    assert_equal(WordVectors.load(tmp_path / "theirs"), made())


def test_a_pickle_is_refused(tmp_path):
    peer = gensim.models.KeyedVectors(5)
    peer.add_vectors(WORDS, made().vectors)
    peer.save(str(tmp_path / "theirs"))
    with pytest.raises(FirthError, match="save_word2vec_format"):
        WordVectors.load(tmp_path / "theirs")


# --- variants of other programs ---


def test_binary_with_newlines_after_the_vectors(tmp_path):
    vectors = made().vectors
    rows = b"".join(word.encode() + b" " + row.tobytes() + b"\n" for word, row in zip(WORDS, vectors, strict=True))
    (tmp_path / "c").write_bytes(b"7 5\n" + rows)
    assert_equal(WordVectors.load(tmp_path / "c"), made())


def test_binary_is_the_same_whatever_the_blocks(tmp_path, monkeypatch):
    path = saved(made(), tmp_path, "word2vec")
    for size in (1, 7, 30, 100):
        monkeypatch.setattr(word2vec_files, "BLOCK", size)
        assert_equal(WordVectors.load(path), made())


def test_text_is_the_same_whatever_the_blocks(tmp_path, monkeypatch):
    for format in TEXTS:
        path = saved(made(), tmp_path, format)
        for size in (50, 64, 100, 1000):
            monkeypatch.setattr(vector_lines, "BLOCK", size)
            assert_equal(WordVectors.load(path), made())


def test_text_with_extra_spaces_and_blank_lines(tmp_path):
    (tmp_path / "t").write_bytes(b"2 3\r\na 1 2.5  -3e-1 \r\n\nb\t1e30 .5 +7.\n\n")
    found = WordVectors.load(tmp_path / "t")
    assert list(found.words) == ["a", "b"]
    assert np.array_equal(found.vectors, np.array([[1, 2.5, -0.3], [1e30, 0.5, 7]], np.float32))


def test_glove_words_may_have_spaces_and_unk_is_not_counted(tmp_path):
    text = "the 1 2\n. . . 3 4\nat name@domain.com 5 6\n<unk> 7 8\n"
    (tmp_path / "g").write_text(text)
    found = WordVectors.load(tmp_path / "g")
    assert list(found.words) == ["the", ". . .", "at name@domain.com", "<unk>"]
    assert found.vectors.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]
    (tmp_path / "h").write_text("3 2\n" + text)
    assert_equal(WordVectors.load(tmp_path / "h"), found)
    found.save(tmp_path / "again", "glove")
    assert_equal(WordVectors.load(tmp_path / "again"), found)


def test_words_truncated_within_a_character(tmp_path):
    (tmp_path / "w").write_bytes(b"2 1\ncaf\xc3 \0\0\x80?b \0\0\0\0")
    assert list(WordVectors.load(tmp_path / "w").words) == ["caf�", "b"]


NUMBER = st.one_of(
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map("{:.9g}".format),
    st.decimals(-10, 10, places=6).map(str),
    st.from_regex(r"[+-]?[0-9]{1,25}(\.[0-9]{0,25})?(e[+-]?[0-9]{1,2})?", fullmatch=True, alphabet="0123456789.e+-"),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(NUMBER, min_size=3, max_size=3))
def test_compiled_numbers_are_the_references(numbers):
    line = f"word {' '.join(numbers)}".encode()
    if any(abs(float(number)) > 3e38 for number in numbers):
        return
    words, vectors = vector_lines.parse_block(line + b"\n", 3, "x", 1)
    word, expected = vector_lines.parse_line(line, 3, "x")
    assert words == [word] == [b"word"]
    assert np.array_equal(vectors[0], np.array(expected, np.float32))


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from([b"a", b" ", b"\t", b"1.5", b"-2", b"\r", b"nan", b"1e5"]), max_size=9), st.integers(1, 3)
)
def test_compiled_lines_are_the_references(fields, width):
    line = b"".join(fields)
    if not line.strip(b" \t\r"):
        return
    try:
        expected = vector_lines.parse_line(line, width, "x:4")
    except FirthError as error:
        with pytest.raises(FirthError, match=re.escape(str(error))):
            vector_lines.parse_block(line + b"\n", width, "x", 4)
    else:
        words, vectors = vector_lines.parse_block(line + b"\n", width, "x", 4)
        assert (words[0], vectors[0].tolist()) == expected


# --- fastText ---


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text"
    path.write_text("the cat sat on the naïve mat\n東京 の cat x-1 sat the dog\nthe dog and the cat on 12 mats\n" * 40)
    return path


def trained(corpus, folder, how="skipgram", **more):
    # fastText starts its matrix in ten parts, one per thread: with fewer, the rest is whatever the memory held.
    options = dict(dim=10, bucket=50, minCount=1, epoch=1, thread=10, verbose=0) | more
    train = fasttext.train_supervised if how == "supervised" else fasttext.train_unsupervised
    model = train(str(corpus), *([how] if how != "supervised" else []), **options)
    model.save_model(str(folder / "theirs.bin"))
    return model, folder / "theirs.bin"


@pytest.mark.parametrize("more", [{}, {"minn": 1, "maxn": 3}, {"minn": 0, "maxn": 0}, {"loss": "hs"}, {"how": "cbow"}])
def test_we_read_fasttexts_and_write_the_same_bytes(tmp_path, corpus, more):
    model, path = trained(corpus, tmp_path, **more)
    store = WordVectors.load(path)
    assert list(store.words) == model.get_words()
    for word in store.words:
        assert np.array_equal(store.vector(word), model.get_word_vector(word)), word
    for word in UNSEEN if more.get("maxn") != 0 else []:
        if len(store.subwords.bucket_ids(word)):
            assert np.array_equal(store.vector(word), model.get_word_vector(word)), word
    assert (store.context is None) == (more.get("loss") == "hs")
    models.write_model(models.read(path), tmp_path / "ours.bin")
    assert (tmp_path / "ours.bin").read_bytes() == path.read_bytes()


def test_fasttext_reads_ours_also_oov_words(tmp_path):
    store = with_subwords()
    path = saved(store, tmp_path, "fasttext")
    model = fasttext.load_model(str(path))
    assert model.get_words() == WORDS
    for word in WORDS + UNSEEN:
        assert np.array_equal(model.get_word_vector(word), store.vector(word)), word
    again = WordVectors.load(path)
    assert_equal(again, store)
    assert np.array_equal(again.context, store.context) and again.counts.tolist() == store.counts.tolist()
    peer = load_facebook_vectors(str(path))
    for word in {*WORDS, *UNSEEN} - {"</s>"}:  # gensim gives it n-grams, fastText does not
        assert peer.get_vector(word) == pytest.approx(store.vector(word), abs=1e-6)


def test_fasttext_reads_ours_without_word_rows(tmp_path):
    store = with_subwords()
    store = WordVectors(store.words, store.vectors, subwords=Subwords(store.subwords.buckets, 2, 4))
    model = fasttext.load_model(str(saved(store, tmp_path, "fasttext")))
    for word in WORDS + UNSEEN:
        assert model.get_word_vector(word) == pytest.approx(store.vector(word), abs=1e-6)


@pytest.mark.parametrize("loss", ["softmax", "hs", "ova", "ns"])
def test_supervised_models_keep_their_labels_and_output(tmp_path, corpus, loss):
    text = tmp_path / "labelled"
    rows = corpus.read_text().splitlines()
    text.write_text("".join(f"__label__{number % 3} {row}\n" for number, row in enumerate(rows)))
    model, path = trained(text, tmp_path, "supervised", loss=loss, wordNgrams=2, lr=0.5, epoch=5)
    found = models.read(path)
    assert list(found.labels) == model.get_labels() and found.labels[0].startswith("__label__")
    assert np.array_equal(found.output, model.get_output_matrix())
    assert np.array_equal(found.input, model.get_input_matrix())
    assert found.options.loss == models.LOSSES[loss] and found.options.wordNgrams == 2
    models.write_model(found, tmp_path / "ours.bin")
    ours = fasttext.load_model(str(tmp_path / "ours.bin"))
    assert ours.predict(rows[:3], k=3)[0] == model.predict(rows[:3], k=3)[0]
    assert np.array_equal(WordVectors.load(path).vector("cat"), model.get_word_vector("cat"))


def test_a_quantised_model_is_refused_by_name(tmp_path, corpus):
    text = tmp_path / "labelled"
    text.write_text("".join(f"__label__{n % 2} w{n % 300} w{n % 7}\n" for n in range(600)))
    model, _ = trained(text, tmp_path, "supervised")
    model.quantize()
    model.save_model(str(tmp_path / "small.ftz"))
    with pytest.raises(FirthError, match="quantised"):
        WordVectors.load(tmp_path / "small.ftz")


def test_version_11_had_no_ngrams_in_supervised_models(tmp_path):
    store = with_subwords()
    model = models.from_word_vectors(store, Options(5, model=models.MODELS["supervised"]))
    models.write_model(model, tmp_path / "m")
    data = (tmp_path / "m").read_bytes()
    (tmp_path / "m").write_bytes(data[:4] + struct.pack("<i", 11) + data[8:])
    assert models.read(tmp_path / "m").options.maxn == 0
    (tmp_path / "m").write_bytes(data[:4] + struct.pack("<i", 13) + data[8:])
    with pytest.raises(FirthError, match="version 13"):
        models.read(tmp_path / "m")


# --- our own format ---


def test_our_file_is_mapped_and_safetensors_reads_it(tmp_path):
    store = with_subwords()
    store.save(tmp_path / "a.safetensors")
    found = WordVectors.load(tmp_path / "a.safetensors")
    assert isinstance(found.vectors, np.memmap) and found.vectors.ctypes.data % 8 == 0
    assert_equal(found, store)
    tensors = load_file(tmp_path / "a.safetensors")
    for name, array in [("vectors", store.vectors), ("context", store.context), ("buckets", store.subwords.buckets)]:
        assert np.array_equal(tensors[name], array)
    assert tensors["words"].tobytes().decode() == "".join(f"{word}\n" for word in WORDS)
    assert np.array_equal(found.vector("unseen"), store.vector("unseen"))
    assert saved(found, tmp_path, "fasttext").read_bytes() == saved(store, tmp_path, "fasttext").read_bytes()


def test_our_file_carries_metadata_and_is_deterministic(tmp_path):
    for name in "ab":
        safetensors_store.write(made(), tmp_path / name, {"seed": 3})
    assert safetensors_store.read_metadata(tmp_path / "a") == {"seed": 3}
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


# --- bad files ---


def file_of(tmp_path, content):
    (tmp_path / "bad").write_bytes(content)
    return tmp_path / "bad"


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "empty"),
        (b"\n\n", "empty"),
        (b"2 2\na 1 2\n", "too few|1 vectors, not the 2"),
        (b"3 2\na 1 2.00\nb 3.00 4\n", "2 vectors, not the 3"),
        (b"1 2\na 1 2\nb 3 4\n", "more than the 1 vectors"),
        (b"2 2\na 1 2\nb 3\n", "bad:3: 1 numbers after the word, not 2"),
        (b"2 2\na 1 2 3\nb 3 4 5\n", "bad:2: 3 numbers after the word, not the 2"),
        (b"2 2\na 1 2\nb 3 nan\n", "bad:3: 'nan' in a vector"),
        (b"2 2\na 1 2\nb 3 1e99\n", "bad:3: '1e99' in a vector|infinity"),
        (b"2 2\na 1 2\nb 3 four\n", "bad:3: 'four' is not a number"),
        (b"2 0\na\nb\n", "2 vectors of width 0"),
        (b"0 2\n", "0 vectors of width 2"),
        (b"999999999999 300\na 1 2\n", "too few for the 999999999999"),
        (b"a 1 2\nb 3\nc 5 6\n", "bad:2: 1 numbers after the word, not 2"),
        (b"just some words\nof a text\n", "bad:1: .* is not a number"),
        (b"alone\n", "bad:1: no line with a word and numbers"),
        (b"a 1 2\nb 3 inf\n", "bad:2: 'inf' in a vector"),
        (b"\x89PNG\r\n\x1a\n\0\0\0", "not a file of word vectors"),
        (b"2 1\na \0\0\x80?", "too few|1 vectors, not the 2"),
        (b"1 1\na \0\0\x80?more", "unexpected data after its 1 vectors"),
        (b"1 1\na \0\0\xc0\x7f", "'a' has NaN"),
        (b"1 1\n \0\0\x80?\0", "no word where vector 1 begins"),
        (b"\xba\x16\x4f\x2f\x0c\0\0\0", "unexpected end of file"),
        (struct.pack("<Q", 40) + b'{"vectors": 1}' + b" " * 26, "damaged"),
    ],
)
def test_a_bad_file_says_what_is_wrong(tmp_path, content, message):
    with pytest.raises(FirthError, match=message) as caught:
        WordVectors.load(file_of(tmp_path, content))
    assert str(caught.value).startswith(str(tmp_path / "bad")) and "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    made().save(tmp_path / "vectors.bin")
    with pytest.raises(FirthError, match="did you mean"):
        WordVectors.load(tmp_path / "vector.bin")
    (tmp_path / "folder").mkdir()
    with pytest.raises(FirthError, match="no vectors in it"):
        WordVectors.load(tmp_path / "folder")


def test_a_truncated_compressed_file(tmp_path):
    made().save(tmp_path / "a.txt")
    packed = gzip.compress((tmp_path / "a.txt").read_bytes() * 50)
    with pytest.raises(FirthError, match="truncated"):
        WordVectors.load(file_of(tmp_path, packed[: len(packed) // 2]))


def test_a_table_without_its_words(tmp_path):
    made().save(tmp_path, "projector")
    (tmp_path / "metadata.tsv").write_text("a\nb\n")
    with pytest.raises(FirthError, match="more vectors than the 2 words"):
        WordVectors.load(tmp_path)
    (tmp_path / "metadata.tsv").write_text("a\n" * 9)
    with pytest.raises(FirthError, match="7 vectors for the 9 words"):
        WordVectors.load(tmp_path)
    (tmp_path / "metadata.tsv").unlink()
    with pytest.raises(FirthError, match="no words"):
        WordVectors.load(tmp_path)


@pytest.mark.parametrize("format", ["word2vec", "word2vec-text", "projector", "fasttext"])
def test_words_a_format_cannot_hold(tmp_path, format):
    for word in {"projector": ["a\tb"], "fasttext": ["a\0b"]}.get(format, ["new york"]):
        with pytest.raises(FirthError, match="cannot hold"):
            made(["a", word]).save(tmp_path / "x", format)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize("format", formats.FORMATS)
def test_nan_reaches_no_file(tmp_path, format):
    store = WordVectors(["a", "b"], np.array([[1, 2], [3, np.nan]]))
    with pytest.raises(FirthError, match="'b' has NaN"):
        store.save(tmp_path / "x", format)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "metadata.tsv"]


def test_names_without_a_format(tmp_path):
    with pytest.raises(FirthError, match="no known extension"):
        made().save(tmp_path / "a.xyz")
    with pytest.raises(FirthError, match="did you mean 'glove'"):
        made().save(tmp_path / "a", "glov")
    with pytest.raises(FirthError, match="no such folder"):
        made().save(tmp_path / "none" / "a.bin")


@pytest.mark.parametrize("format", formats.FORMATS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_is_an_error_or_word_vectors_never_a_crash(tmp_path, format, data):
    path = saved(with_subwords(), tmp_path, format)
    path = path / "vectors.tsv" if path.is_dir() else path
    good = path.read_bytes()
    bad = bytearray(good[: data.draw(st.integers(0, len(good)))] if data.draw(st.booleans()) else good)
    for position, byte in data.draw(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=4)):
        if position < len(bad):
            bad[position] = byte
    path.write_bytes(bad)
    try:
        store = WordVectors.load(path)
        assert len(store.most_similar(store.words[0], topn=2)) <= 2
    except FirthError as error:
        assert "\n" not in str(error)


# --- what fuzzing found -----------------------------------------------------------------------------------------------


def test_a_projector_file_that_begins_with_blank_lines_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(vector_lines, "BLOCK", 2)  # the first block is blank
    (tmp_path / "vectors.tsv").write_bytes(b"\n \n1\t2\n3\t4\n")
    (tmp_path / "metadata.tsv").write_bytes(b"a\nb\n")
    assert formats.projector.read((tmp_path / "vectors.tsv").open("rb"), str(tmp_path / "vectors.tsv"), None)[
        "b"
    ].tolist() == [3, 4]


def test_a_fasttext_file_without_vectors_is_one_line(tmp_path):
    options = struct.pack("<12id", 4, 5, 5, 1, 5, 1, 2, 2, 0, 0, 0, 100, 1e-4)
    words = struct.pack("<3i2q", 1, 1, 0, 1, -1) + b"a\0" + struct.pack("<qb", 1, 0)
    (tmp_path / "a.bin").write_bytes(struct.pack("<2i", 793712314, 12) + options + words + struct.pack("<?2q", 0, 0, 4))
    with pytest.raises(FirthError, match=r"unexpected end of file"):
        formats.read(tmp_path / "a.bin")


@pytest.mark.parametrize("ngrams", [["2", "4"], [2.5, 4], [True, 4], None, [2]])
def test_lengths_of_ngrams_that_are_no_whole_numbers_are_one_line(tmp_path, ngrams):
    safetensors_store.write(with_subwords(), path := tmp_path / "a.safetensors")
    arrays, about = safetensors_store._open(path)
    memory_map.write(path, {name: np.array(array) for name, array in arrays.items()}, {**about, "ngrams": ngrams})
    with pytest.raises(FirthError, match="not a file of word vectors that firth wrote"):
        safetensors_store.read(path)
