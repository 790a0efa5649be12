"""Weights that are NaN are refused by every family that is trained without torch."""

from __future__ import annotations

import json
import shutil
import struct

import numpy as np
import pytest

import firth
from firth import FirthError

WORDS = [" ".join(f"w{n * m % 17}" for m in range(1, 20)) for n in range(1, 60)]
PAIRS = "".join(f"a{n % 7} b{n % 5}\tc{n % 7} d{n % 5}\n" for n in range(60))
LABELLED = "".join(f"__label__{'xy'[n % 2]} {'left' if n % 2 else 'right'} word{n % 9}\n" for n in range(60))
TRAIN = {"train.epochs": 1, "train.threads": 1}
RUNS = {  # preset -> text, settings, a tensor
    "skipgram:tiny": (WORDS, {**TRAIN, "tokenizer.min_count": 1}, "vectors"),
    "ngram-lm:tiny": (WORDS, {}, "nodes"),
    "ibm-1": (PAIRS, TRAIN, "forward.probabilities"),
    "fasttext-classifier:tiny": (LABELLED, {**TRAIN, "tokenizer.min_count": 1}, "inputs"),
    "naive-bayes": (LABELLED, {}, "weights"),
}


@pytest.fixture(scope="module", params=RUNS)
def trained(request, tmp_path_factory):
    """A run, and the name of one of its tensors."""
    folder = tmp_path_factory.mktemp("run")
    text, settings, name = RUNS[request.param]
    if isinstance(text, str):
        (folder / "examples.txt").write_text(text)
        text = str(folder / "examples.txt")
    firth.train(request.param, text=text, out=folder / "run", settings=settings)
    return folder / "run", name


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_number_that_is_none_is_refused_with_its_tensor(trained, tmp_path, number):

    run, name = shutil.copytree(trained[0], tmp_path / "run"), trained[1]
    assert firth.load(run)
    path = run / "model.safetensors"
    data = bytearray(path.read_bytes())
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    found = next(each for each in header if name in each)
    low, _ = header[found]["data_offsets"]
    at = 8 + length + low + (8 if name == "nodes" else 0)  # of an n-gram: its log-probability
    data[at : at + 4] = np.float32(number).tobytes()
    path.write_bytes(data)
    with pytest.raises(FirthError, match=f"NaN or infinite, in {found}"):
        firth.load(run)


@pytest.mark.parametrize("content", ["[" * 100_000, '{"config": [1]}', '{"config": {"kind": 3}}', "null"])
def test_vectors_of_a_damaged_run_are_refused(tmp_path, content):
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(FirthError, match="damaged"):
        firth.load_vectors(tmp_path)
    (tmp_path / "config.json").write_text('{"config": {"kind": "word-embeddings"}}')
    (tmp_path / "model.safetensors").symlink_to("/dev/zero")
    with pytest.raises(FirthError, match="a link"):
        firth.load_vectors(tmp_path)
