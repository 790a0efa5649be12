"""The token cache: what each document by itself would give, made once, whole or not at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.config.schema import Tokenizer as Config
from firth.datasets import token_cache
from firth.datasets.token_cache import tokenise_split
from firth.errors import FirthError
from firth.runs import atomic_files
from firth.tokenizers.tokenizer import Tokenizer

LEARNT = ["the cat sat on the mat", "the dog sat", "a mat and a cat", "naïve café"] * 5
DOCUMENTS = ["the cat", "a dog sat on café 日本", "x" * 300, "[END] [UNK]", "the\nmat  ", "\ttab"]
CONFIGS = [
    Config(model="byte"), Config(model="byte-bpe", vocabulary_size=300), Config(model="char"),
    Config(model="bpe", vocabulary_size=40), Config(model="word"),
    Config(model="wordpiece", vocabulary_size=60), Config(model="unigram", vocabulary_size=40),
    Config(model="word", lowercase="yes", split="whitespace"),
]  # fmt: skip
TOKENIZERS = [Tokenizer.train(config, LEARNT) for config in CONFIGS]
EACH = pytest.mark.parametrize("tokenizer", TOKENIZERS, ids=[f"{c.model}-{c.lowercase}" for c in CONFIGS])


def histogram(content: bytes) -> tuple[int, ...]:
    """How often each byte value occurs, counted the slow way."""
    return tuple(content.count(byte) for byte in range(256))


def counted(documents: list[str]):
    """An iterable that remembers how often it was read."""

    class Documents:
        read = 0

        def __iter__(self):
            self.read += 1
            return iter(documents)

    return Documents()


# --- content ----------------------------------------------------------------------------------------------


@EACH
@pytest.mark.parametrize("account", [False, True])
@pytest.mark.parametrize("block", [1, 20, 1 << 20])
def test_it_holds_each_documents_tokens_and_end(tokenizer, account, block, tmp_path, monkeypatch):
    monkeypatch.setattr(token_cache, "_BLOCK", block)
    split = tokenise_split(tmp_path, "train", "key", DOCUMENTS, tokenizer, account=account)
    assert split.name == "train" and len(split.starts) == len(DOCUMENTS) + 1 and split.starts[0] == 0
    for number, document in enumerate(DOCUMENTS):
        ids = split.ids[split.starts[number] : split.starts[number + 1]].tolist()
        assert ids == [*tokenizer.encode(document), tokenizer.special.end]
    assert split.starts[-1] == len(split.ids) == split.tally.tokens and split.tally.documents == len(DOCUMENTS)


@EACH
def test_it_counts_the_bytes_of_the_original_text(tokenizer, tmp_path):
    content = "".join(DOCUMENTS).encode()
    for account in (False, True):
        tally = tokenise_split(tmp_path, "train", "key", DOCUMENTS, tokenizer, account=account).tally
        assert tally.bytes == len(content) and tally.histogram == histogram(content)


@EACH
def test_it_keeps_account_of_what_is_unknown_or_lost(tokenizer, tmp_path):
    for documents in (DOCUMENTS, LEARNT):
        tally = tokenise_split(tmp_path, "test", str(len(documents)), documents, tokenizer, account=True).tally
        spans = [span for document in documents for span in tokenizer.oov_spans(document)]
        assert tally.unknown_count == len(spans) and tally.unknown == histogram("".join(spans).encode())
        assert tally.lossless == all(map(tokenizer.lossless, documents))
    assert tally.unknown_count == 0  # nothing that was learnt is unknown


def test_training_text_needs_no_account(tmp_path):
    tally = tokenise_split(tmp_path, "train", "key", DOCUMENTS, TOKENIZERS[4], account=False).tally
    assert (tally.unknown, tally.unknown_count) == ((), 0)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(min_size=1), min_size=1, max_size=8), st.sampled_from(TOKENIZERS), st.integers(1, 30))
def test_any_text_survives(documents, tokenizer, block):
    before = token_cache._BLOCK
    token_cache._BLOCK = block
    try:
        with tempfile.TemporaryDirectory() as folder:
            split = tokenise_split(Path(folder), "test", "key", documents, tokenizer, account=True)
            wanted = [i for document in documents for i in (*tokenizer.encode(document), tokenizer.special.end)]
            assert split.ids.tolist() == wanted
    finally:
        token_cache._BLOCK = before


def test_large_vocabularies_take_four_bytes(tmp_path):
    class Large:
        vocab_size, hash, special = 70_000, "large", TOKENIZERS[0].special

        def encode_batch(self, texts):
            return [[69_999, len(text)] for text in texts]

    split = tokenise_split(tmp_path, "train", "key", ["abc"], Large(), account=False)
    assert split.ids.dtype == np.uint32 and split.ids.tolist() == [69_999, 3, 3]
    assert tokenise_split(tmp_path, "train", "key", DOCUMENTS, TOKENIZERS[0], account=False).ids.dtype == np.uint16


# --- made once --------------------------------------------------------------------------------------------


def test_a_second_open_reads_no_text(tmp_path):
    documents, tokenizer = counted(DOCUMENTS), TOKENIZERS[1]
    first = tokenise_split(tmp_path, "valid", "key", documents, tokenizer, account=True)
    again = tokenise_split(tmp_path, "other", "key", documents, Tokenizer.from_json(tokenizer.to_json()), account=True)
    assert documents.read == 1 and again.name == "other"
    assert again.key == first.key and again.tally == first.tally
    assert np.array_equal(again.ids, first.ids) and np.array_equal(again.starts, first.starts)
    assert isinstance(again.ids, np.memmap) and not again.ids.flags.writeable


def test_other_text_another_tokenizer_or_an_account_is_another_cache(tmp_path):
    """But the data of a split is named by its text alone."""
    keys = {
        tokenise_split(tmp_path, "train", key, DOCUMENTS, tokenizer, account=account).key
        for key in ("a", "b") for tokenizer in TOKENIZERS[:2] for account in (False, True)
    }  # fmt: skip
    assert keys == {"a", "b"} and len(list((tmp_path / "tokens").iterdir())) == 8


def test_no_documents_are_refused_and_leave_nothing(tmp_path):
    with pytest.raises(FirthError, match=r"^no documents in this split; give more text"):
        tokenise_split(tmp_path, "test", "key", [], TOKENIZERS[0], account=True)
    assert list((tmp_path / "tokens").iterdir()) == []


def test_threads_that_make_the_same_cache_do_not_meet(tmp_path):
    wanted = tokenise_split(tmp_path / "alone", "train", "key", DOCUMENTS * 50, TOKENIZERS[0], account=False)
    result = []

    def make() -> None:
        result.append(tokenise_split(tmp_path, "train", "key", DOCUMENTS * 50, TOKENIZERS[0], account=False))

    work = [Thread(target=make) for _ in range(6)]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert len(result) == 6 and all(np.array_equal(split.ids, wanted.ids) for split in result)
    assert [p.name for p in (tmp_path / "tokens").iterdir()] == [p.name for p in (tmp_path / "alone/tokens").iterdir()]


# --- whole or not at all ----------------------------------------------------------------------------------


def test_an_error_in_the_middle_of_the_text_leaves_nothing(tmp_path):
    def documents():
        yield from DOCUMENTS
        raise FirthError("a bad byte")

    with pytest.raises(FirthError, match="a bad byte"):
        tokenise_split(tmp_path, "train", "key", documents(), TOKENIZERS[0], account=False)
    assert list((tmp_path / "tokens").iterdir()) == []
    assert tokenise_split(tmp_path, "train", "key", DOCUMENTS, TOKENIZERS[0], account=False).tally.documents == 6


@pytest.mark.parametrize("moment", ["in the text", "rename"])
def test_a_half_built_cache_is_never_used(tmp_path, moment):
    """The process is killed while it writes, or before it renames; the next one starts again."""
    code = f"""if True:
        import os, sys
        from pathlib import Path
        from firth.config.schema import Tokenizer as Config
        from firth.datasets import token_cache as cache
        from firth.runs import atomic_files as files
        from firth.tokenizers.tokenizer import Tokenizer
        def documents():
            yield "some text"
            if {moment == "in the text"}: os._exit(9)
        files.rename = lambda *_: os._exit(9)
        cache._BLOCK = 1
        tokenizer = Tokenizer.train(Config(model="byte"), ["x"])
        cache.tokenise_split(Path(sys.argv[1]), "train", "key", documents(), tokenizer, account=False)"""
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)]).returncode == 9
    assert all(path.name.startswith(".") for path in (tmp_path / "tokens").iterdir())
    documents = counted(DOCUMENTS)
    split = tokenise_split(tmp_path, "train", "key", documents, TOKENIZERS[0], account=False)
    assert documents.read == 1 and split.tally.documents == len(DOCUMENTS)


def test_a_full_disk_is_said_and_leaves_nothing(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(atomic_files, "sync", full)
        with pytest.raises(FirthError, match="the disk is full; free some space"):
            tokenise_split(tmp_path, "train", "key", DOCUMENTS, TOKENIZERS[0], account=False)
    assert list((tmp_path / "tokens").iterdir()) == []


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def lengthen(path: Path) -> None:
    path.write_bytes(path.read_bytes() + bytes(8))


def rewrite(**changes: object):
    return lambda path: path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def change(path: Path) -> None:
    """One bit in the middle."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def multiply_bytes(path: Path) -> None:
    values = json.loads(path.read_text())
    values["tally"]["bytes"] *= 10
    path.write_text(json.dumps(values))


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("ids.bin", cut), ("ids.bin", empty), ("ids.bin", lengthen), ("ids.bin", os.remove), ("ids.bin", change),
        ("starts.npy", cut), ("starts.npy", empty), ("starts.npy", os.remove), ("starts.npy", change),
        ("tally.json", cut), ("tally.json", empty), ("tally.json", rewrite(tally=[1])),
        ("tally.json", rewrite(dtype="object")), ("tally.json", rewrite(dtype="uint32")),
        ("tally.json", multiply_bytes), ("tally.json", rewrite(sha256={})),
    ],
)  # fmt: skip
def test_a_damaged_cache_is_rebuilt_with_a_note(tmp_path, name, damage):
    wanted, said = tokenise_split(tmp_path, "train", "key", DOCUMENTS, TOKENIZERS[0], account=False), []
    ids, digest, tally = wanted.ids.tolist(), wanted.digest, wanted.tally
    (folder,) = (tmp_path / "tokens").iterdir()
    del wanted  # a map of a file that was cut must not be read
    damage(folder / name)
    again = tokenise_split(tmp_path, "train", "key", DOCUMENTS, TOKENIZERS[0], account=False, say=said.append)
    assert len(said) == 1 and said[0].startswith("note: damaged token cache (") and said[0].endswith("it is rebuilt")
    assert (again.ids.tolist(), again.digest, again.tally) == (ids, digest, tally)
    assert [path.name for path in (tmp_path / "tokens").iterdir()] == [folder.name]


def test_tokens_beyond_the_vocabulary_are_refused(tmp_path):
    """Even where the digests have been made to fit."""
    tokenizer = TOKENIZERS[0]
    ids = tokenise_split(tmp_path, "train", "key", DOCUMENTS, tokenizer, account=False).ids.tolist()
    (folder,) = (tmp_path / "tokens").iterdir()
    np.array([tokenizer.vocab_size, *ids[1:]], np.uint16).tofile(folder / "ids.bin")
    digests = json.loads((folder / "tally.json").read_text())["sha256"]
    rewrite(sha256=digests | {"ids.bin": atomic_files.digest_file(folder / "ids.bin")})(folder / "tally.json")
    said = []
    again = tokenise_split(tmp_path, "train", "key", DOCUMENTS, tokenizer, account=False, say=said.append)
    assert again.ids.tolist() == ids and f"token {tokenizer.vocab_size} is not in a vocabulary" in said[0]


def test_other_tokens_or_another_tally_are_another_digest(tmp_path):
    """What makes a cache consistent again after a change cannot make its digest the same: scores are signed by it."""
    tokenizer = TOKENIZERS[0]
    first = tokenise_split(tmp_path, "train", "key", DOCUMENTS, tokenizer, account=False)
    (folder,), ids = (tmp_path / "tokens").iterdir(), first.ids.tolist()
    np.array([*reversed(ids)], np.uint16).tofile(folder / "ids.bin")
    digests = json.loads((folder / "tally.json").read_text())["sha256"]
    rewrite(sha256=digests | {"ids.bin": atomic_files.digest_file(folder / "ids.bin")})(folder / "tally.json")
    changed = tokenise_split(tmp_path, "train", "key", DOCUMENTS, tokenizer, account=False)
    assert changed.ids.tolist() == ids[::-1] and changed.digest != first.digest and changed.key == first.key


def test_the_rest_of_a_broken_cache_is_made_anew(tmp_path):
    """A folder without its tally is rebuilt; something in its place is no obstacle."""
    split = tokenise_split(tmp_path, "train", "key", DOCUMENTS, TOKENIZERS[0], account=False)
    (folder,) = (tmp_path / "tokens").iterdir()
    (folder / "tally.json").unlink()
    again = tokenise_split(tmp_path, "train", "key", DOCUMENTS, TOKENIZERS[0], account=False)
    assert np.array_equal(again.ids, split.ids)


def test_the_cache_is_where_the_environment_says(monkeypatch):
    monkeypatch.setenv("FIRTH_CACHE", "/somewhere")
    assert token_cache.default_cache() == Path("/somewhere")
    monkeypatch.delenv("FIRTH_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    assert token_cache.default_cache() == Path("/elsewhere/firth")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert token_cache.default_cache() == Path.home() / ".cache" / "firth"
