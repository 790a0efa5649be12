"""Scores of texts: incremental = whole text, in memory = from a file, for any number of threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.config.schema import Ngram
from firth.errors import FirthError
from firth.ngram import document_sums, fit, load, save, score
from firth.ngram.context_state import advance, distribution, get_states, initial_states, next_logprobs
from firth.ngram.ngram_model import read_metadata
from firth.ngram.scoring import score_lines
from firth.tokenizers.special_tokens import SpecialTokens

UNKNOWN, START, END = 0, 1, 2
VOCABULARY = ["<unk>", "<s>", "</s>", *(f"w{i}" for i in range(40))]
SIZE = len(VOCABULARY)
SPECIAL = SpecialTokens(unknown=UNKNOWN, start=START, end=END)
TEXTS = st.lists(st.lists(st.sampled_from([0, *range(3, 9)]), max_size=12), min_size=1, max_size=6)


def arrays(documents, kind=np.uint32):
    closed = [[*document, END] for document in documents]
    return np.array([i for document in closed for i in document], kind), np.cumsum([0, *map(len, closed)])


def random_documents(seed, documents, length):
    random = np.random.default_rng(seed)
    weights = 1 / np.arange(1, SIZE - 2)
    sampled = random.choice(np.arange(3, SIZE), (documents, length), p=weights / weights.sum())
    return [row[: random.integers(0, length + 1)].tolist() for row in sampled]


@pytest.fixture(scope="module")
def trained():
    """A model whose frequent contexts have so many continuations that they go into the hash table."""
    return fit(*arrays(random_documents(1, 300, 30)), SIZE, SPECIAL, Ngram(order=4)).model


def score_incrementally(model, documents):
    """Token by token, from next-token distributions."""
    logprobs = []
    for document in documents:
        state = initial_states(model, 1)
        for token in [*document, END]:
            logprobs.append(next_logprobs(model, state)[0, token])
            state = advance(model, state, [token])
        assert state[0] == model.initial_state  # an end begins a new document
    return np.array(logprobs, np.float32)


@given(TEXTS, TEXTS, st.integers(1, 5), st.sampled_from(["modified-kneser-ney", "katz", "stupid-backoff", "mle"]))
@settings(deadline=None, max_examples=60)
def test_incremental_scores_are_exactly_those_of_the_whole(train, test, order, smoothing):
    model = fit(*arrays(train), SIZE, SPECIAL, Ngram(order=order, smoothing=smoothing), threads=1).model
    assert np.array_equal(score(model, *arrays(test)).logprobs, score_incrementally(model, test))


def test_incremental_scores_where_contexts_are_in_the_hash_table(trained):
    assert len(trained.slots) > 1000
    test = random_documents(2, 20, 30)
    assert np.array_equal(score(trained, *arrays(test)).logprobs, score_incrementally(trained, test))


def test_orders_are_those_of_the_longest_ngram(trained):
    trie = trained.unpack().trie
    known = set()
    for order in range(1, 5):
        known |= set(map(tuple, trie.tokens(order, *map(int, trie.levels[order - 1 : order + 1])).tolist()))
    test = random_documents(3, 30, 20)
    truth = []
    for document in test:
        tokens = (START, *document, END)
        for at in range(1, len(tokens)):
            truth.append(max(n for n in range(1, 5) if at + 1 >= n and tokens[at + 1 - n : at + 1] in known))
    assert score(trained, *arrays(test)).orders.tolist() == truth


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("kind", [np.uint16, np.uint32])
def test_threads_and_blocks_change_nothing(trained, threads, kind):
    """Long documents are scored from several positions at once."""
    documents = [*random_documents(4, 4, 90_000), [], [3], [], *random_documents(5, 2000, 9)]
    ids, starts = arrays(documents, kind)
    scores = score(trained, ids, starts, threads=threads)
    alone = [score(trained, *arrays([document]), threads=1) for document in documents]
    assert np.array_equal(scores.logprobs, np.concatenate([piece.logprobs for piece in alone]))
    assert np.array_equal(scores.orders, np.concatenate([piece.orders for piece in alone]))
    few = next(d for d in documents if len(d) > 3000)[:3000]
    assert np.array_equal(score(trained, *arrays([few])).logprobs, score_incrementally(trained, [few]))


def test_a_part_of_the_documents_and_documents_without_an_end(trained):
    ids, starts = arrays([[3, 4], [5], [6, 7, 8]])
    whole, part = score(trained, ids, starts).logprobs, score(trained, ids, starts[1:3]).logprobs
    assert np.array_equal(part[3:5], whole[3:5])
    assert not part[:3].any() and not part[5:].any()
    prefix = score(trained, np.array([3, 4], np.uint32), [0, 2]).logprobs
    assert np.array_equal(prefix, whole[:2])


def test_sums_of_documents():
    logs, starts = np.array([-1, -2, -4, -8], np.float32), [0, 1, 1, 4]
    assert document_sums(logs, starts).tolist() == [-1, 0, -14]
    assert document_sums(np.array([-1, -np.inf, -4, -8], np.float32), starts).tolist() == [-1, 0, -np.inf]


def test_contexts_may_be_padded_and_longer_than_needed(trained):
    rows = np.array([[-1, -1, START, 3], [-1, START, 9, 9], [7, 8, 9, 3], [5, END, 4, 3]])
    short = [[START, 3], [START, 9, 9], [8, 9, 3], [START, 4, 3]]
    for row, context in zip(distribution(trained, rows), short, strict=True):
        assert np.array_equal(row, distribution(trained, np.array([context]))[0])
    assert np.array_equal(get_states(trained, np.empty((2, 0), int)), [-1, -1])


def test_plain_lines_are_scored_as_their_tokens(trained):
    documents = [[3, 4, 5], [UNKNOWN, 3], [9], [UNKNOWN, 4]]
    text = "w0 w1  w2\n\n\tnever w0\nw6\n</s> w1"
    for pieces in ([text], list(text), [text.encode()]):
        scores = score_lines(trained, VOCABULARY, pieces, threads=2)
        ids, starts = arrays(documents)
        assert np.array_equal(scores.starts, starts)
        assert np.array_equal(scores.logprobs, score(trained, ids, starts).logprobs)
        assert np.array_equal(scores.orders, score(trained, ids, starts).orders)
    assert score_lines(trained, VOCABULARY, []).starts.tolist() == [0]
    long = "w0 w1 w2 w3\n" * 300_000
    scores = score_lines(trained, VOCABULARY, [long])
    assert np.array_equal(scores.logprobs, np.tile(scores.logprobs[:5], 300_000))


def test_invalid_tokens_are_an_error(trained):
    for ids in ([SIZE], [-1]):
        with pytest.raises(FirthError, match=r"below"):
            score(trained, np.array(ids), [0, 1])
    with pytest.raises(FirthError, match="not below"):
        distribution(trained, np.array([[SIZE]]))
    with pytest.raises(FirthError, match="state"):
        next_logprobs(trained, np.array([len(trained.words)]))
    with pytest.raises(FirthError, match="do not fit"):
        score(trained, np.array([3], np.uint32), [0, 2])


# --- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2, 4])
def test_a_file_gives_the_same_model(order, tmp_path):
    trained = fit(
        *arrays(random_documents(1, 50, 9)), SIZE, SPECIAL, Ngram(order=order, smoothing="stupid-backoff")
    ).model
    save(trained, tmp_path / "model", {"name": "ö"})
    save(trained, tmp_path / "again", {"name": "ö"})
    loaded = load(tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == (tmp_path / "again").read_bytes()
    assert read_metadata(tmp_path / "model") == {"name": "ö"}
    for name in ("levels", "words", "nodes", "leaves", "slots"):
        assert np.array_equal(getattr(loaded, name), getattr(trained, name))
    fields = [(m.special_ids, m.smoothing, m.normalised, m.order, m.size, m.sizes) for m in (loaded, trained)]
    assert fields[0] == fields[1]
    test = arrays(random_documents(2, 50, 9))
    assert np.array_equal(score(loaded, *test).logprobs, score(trained, *test).logprobs)


def test_a_damaged_file_is_an_error_or_harmless(trained, tmp_path):
    """Whatever byte is changed, no kernel reads outside its arrays."""
    path, random = tmp_path / "model", np.random.default_rng(1)
    save(trained, path)
    whole, test = path.read_bytes(), arrays(random_documents(2, 20, 9))
    errors = 0
    for trial in range(300):
        data = bytearray(whole)
        at = int(random.integers(0, 700 if trial % 2 else len(data)))
        data[at] ^= 1 << int(random.integers(0, 8))
        path.write_bytes(data if trial % 5 else data[: int(random.integers(0, len(data)))])
        try:
            score(load(path), *test)
        except FirthError as error:
            errors += "damaged" in str(error)
    assert errors > 100


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(FirthError, match="check the path"):
        load(tmp_path / "none")
