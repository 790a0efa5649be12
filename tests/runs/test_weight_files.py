"""The weights of every family that is trained without torch: damage is found by their checksum; what somebody wrote
with a checksum of its own is refused, or harmless."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load, save

import firth
from firth import FirthError
from firth.runs.weights import CHECKSUM, METADATA_KEY, checksum, read_header

WORDS = [" ".join(f"w{n * m % 17}" for m in range(1, 20)) for n in range(1, 60)]
PAIRS = "".join(f"a{n % 7} b{n % 5}\tc{n % 7} d{n % 5}\n" for n in range(60))
LABELLED = "".join(f"__label__{'xy'[n % 2]} {'left' if n % 2 else 'right'} word{n % 9}\n" for n in range(60))
TAGGED = "".join(f"the DT\nword{n % 9} NN\nis{n % 3} VB\n\n" for n in range(60))
TRAIN = {"train.epochs": 1, "train.threads": 1}
RUNS = {  # preset -> text, settings, a tensor, what is asked
    "skipgram:tiny": (WORDS, {**TRAIN, "tokenizer.min_count": 1}, "vectors", "w1"),
    "fasttext:tiny": (WORDS, {**TRAIN, "tokenizer.min_count": 1}, "buckets", "w1"),
    "ngram-lm:tiny": (WORDS, {}, "nodes", "w1 w2"),
    "ibm-1": (PAIRS, TRAIN, "forward.probabilities", "a1 b1 ||| c1 d1"),
    "ibm-2": (PAIRS, TRAIN, "forward.positions", "a1 b1 ||| c1 d1"),
    "fast-align": (PAIRS, TRAIN, "forward.tension", "a1 b1 ||| c1 d1"),
    "hmm-aligner": (PAIRS, TRAIN, "backward.jumps", "a1 b1 ||| c1 d1"),
    "fasttext-classifier:tiny": (LABELLED, {**TRAIN, "tokenizer.min_count": 1}, "inputs", "left word1"),
    "naive-bayes": (LABELLED, {}, "weights", "left word1"),
    "most-frequent-tag": (TAGGED, {}, "tag_counts", "the word1 is1"),
    "hmm-tagger": (TAGGED, {}, "transitions", "the word1 is1"),
    "crf-tagger": (TAGGED, {}, "weights.data", "the word1 is1"),
}
Arrays = dict[str, np.ndarray]


@pytest.fixture(scope="module", params=RUNS)
def trained(request, tmp_path_factory):
    """A run, the name of one of its tensors, and something to ask it."""
    folder = tmp_path_factory.mktemp("run")
    text, settings, name, question = RUNS[request.param]
    if isinstance(text, str):
        path = folder / ("examples.conll" if text is TAGGED else "examples.txt")
        path.write_text(text)
        text = str(path)
    firth.train(request.param, text=text, out=folder / "run", settings=settings)
    return folder / "run", name, question


def rewrite(path: Path, change: Callable[[Arrays], object]) -> None:
    """Other arrays, with a checksum that agrees."""
    data = path.read_bytes()
    arrays = {name: array.copy() for name, array in load(data).items()}
    metadata = json.loads(read_header(io.BytesIO(data)).metadata[METADATA_KEY])
    change(arrays)
    header = read_header(file := io.BytesIO(save(arrays)))
    metadata[CHECKSUM] = checksum(header.tensors, metadata, [file.read()])
    path.write_bytes(save(arrays, {METADATA_KEY: json.dumps(metadata)}))


@pytest.mark.parametrize("place", [0.01, 0.5, 0.99])
def test_a_bit_that_differs_is_found(trained, tmp_path, place):
    """Anywhere in the arrays."""
    run = shutil.copytree(trained[0], tmp_path / "run")
    path = run / "model.safetensors"
    data = bytearray(path.read_bytes())
    start = 8 + int.from_bytes(data[:8], "little")
    data[start + int(place * (len(data) - start))] ^= 1
    path.write_bytes(data)
    with pytest.raises(FirthError, match="damaged"):
        firth.load(run)


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_number_that_is_none_is_refused_with_its_tensor(trained, tmp_path, number):
    run, name = shutil.copytree(trained[0], tmp_path / "run"), trained[1]
    assert firth.load(run)
    path = run / "model.safetensors"
    found = next(each for each in load(path.read_bytes()) if name in each)

    def change(arrays: Arrays) -> None:
        flat = arrays[found].reshape(-1)
        flat[2 if name == "nodes" else 0] = np.float32(number).view("i4") if name == "nodes" else number

    rewrite(path, change)
    with pytest.raises(FirthError, match=f"NaN or infinite, in {found}"):
        firth.load(run)


def changes(arrays: Arrays) -> Iterator[tuple[str, Arrays]]:
    """Every array without its end, empty, of another shape, of another type, with indices that lead out, or missing."""
    for name, array in arrays.items():
        yield f"{name} is shorter", {**arrays, name: array[:-1]}
        yield f"{name} is empty", {**arrays, name: array[:0]}
        yield f"{name} has another shape", {**arrays, name: np.zeros((3, 5), array.dtype)}
        yield f"{name} has another type", {**arrays, name: array.astype("f8" if array.dtype.kind == "i" else "i4")}
        yield f"{name} is missing", {other: each for other, each in arrays.items() if other != name}
        for value in (-1, 1 << 30) if array.dtype.kind == "i" and array.size else ():
            for place in (0, -1):
                changed = array.copy()
                changed.reshape(-1)[place] = value
                yield f"{name}[{place}] is {value}", {**arrays, name: changed}


@pytest.mark.filterwarnings("error")
def test_arrays_that_do_not_fit_are_refused_or_harmless(trained, tmp_path):
    """One line or an answer, and nothing that reads beyond an array."""
    run, question = shutil.copytree(trained[0], tmp_path / "run"), trained[2]
    path = run / "model.safetensors"
    good = load(path.read_bytes())
    for what, other in changes(good):

        def change(arrays: Arrays, other: Arrays = other) -> None:
            arrays.clear()
            arrays.update({name: np.ascontiguousarray(array) for name, array in other.items()})

        rewrite(path, change)
        try:
            model = firth.load(run)
            model.format_answer(model.answer(question, {}))
        except FirthError as error:
            assert "\n" not in str(error), what
        except Exception as error:
            raise AssertionError(what) from error


@pytest.mark.parametrize("content", ["[" * 100_000, '{"config": [1]}', '{"config": {"kind": 3}}', "null"])
def test_vectors_of_a_damaged_run_are_refused(tmp_path, content):
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(FirthError, match="damaged"):
        firth.load_vectors(tmp_path)
    (tmp_path / "config.json").write_text('{"config": {"kind": "word-embeddings"}}')
    (tmp_path / "model.safetensors").symlink_to("/dev/zero")
    with pytest.raises(FirthError, match="a link"):
        firth.load_vectors(tmp_path)
