"""Pictures as a network reads them: sizes, channels, batches, folders; what is refused in one line."""

from __future__ import annotations

import gzip
import struct
from dataclasses import replace

import numpy as np
import pytest

from firth.build import build
from firth.config import schema
from firth.data import examples, formats
from firth.data.batching import batches
from firth.data.fitting import fit
from firth.data.formats.pictures import encode
from firth.data.material import read_material
from firth.data.pictured import make_split
from firth.data.records import Image
from firth.data.sets import open_set
from firth.errors import FirthError
from firth.types import Cursor

CONFIG = schema.Neural(
    data=schema.Pictures(),
    tokenizer=schema.NoTokenizer(),
    batching=schema.Pictured(rows=4),
    input=schema.PatchInput(size=8, patch=4),
    backbone=schema.Transformer(width=16, depth=1, heads=2, sees="all"),
    head=schema.ClassHead(layer=False),
    objective=schema.Supervised(),
)


def noise(shape, seed=0):
    return np.random.default_rng(seed).integers(0, 256, shape, np.uint8)


# --- sizes and channels -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(13, 9, 3), (5, 30, 3), (40, 41, 1), (8, 8, 3), (1, 1, 3)])
def test_sizes_are_changed_as_pillow_changes_them(shape):
    images = pytest.importorskip("PIL.Image")
    pixels = noise(shape)
    made = images.fromarray(pixels[:, :, 0] if shape[2] == 1 else pixels)
    wanted = np.asarray(made.resize((8, 8), images.Resampling.BILINEAR), np.float32).reshape(8, 8, shape[2])
    found = fit(pixels, 8, shape[2])
    assert found.shape == (shape[2], 8, 8) and found.dtype == np.float32
    assert abs(found.transpose(1, 2, 0) * 255 - wanted).max() <= 1.1  # it rounds twice


def test_a_picture_of_the_right_size_is_itself_and_an_even_one_stays_even():
    pixels = noise((6, 6, 3))
    np.testing.assert_array_equal(fit(pixels, 6, 3), pixels.transpose(2, 0, 1).astype(np.float32) / 255)
    np.testing.assert_allclose(fit(np.full((7, 3, 3), 51, np.uint8), 5, 3), 0.2, rtol=1e-5)


def test_grey_and_colours():
    grey, coloured = noise((4, 4, 1)), noise((4, 4, 3), 1)
    assert (fit(grey, 4, 3) == fit(grey, 4, 1)).all()
    images = pytest.importorskip("PIL.Image")
    wanted = np.asarray(images.fromarray(coloured).convert("L"), np.float32)
    assert abs(fit(coloured, 4, 1)[0] * 255 - wanted).max() <= 0.51
    with pytest.raises(FirthError, match="2 channels, where 3 are read"):
        fit(noise((4, 4, 2)), 4, 3)


# --- batches ------------------------------------------------------------------------------------------------------


def made(count=11):
    found = [Image(noise((5 + n % 3, 6, 3), n), label="ab"[n % 2]) for n in range(count)]
    return make_split(examples.make("train", found), ("b", "a"), CONFIG.input)


def test_an_epoch_has_every_picture_once_with_its_label():
    split = made()
    parts = batches(CONFIG.batching, split, None, 3)
    for epoch in (0, 1):
        found = [parts.batch(Cursor(epoch, index)) for index in range(parts.count(epoch))]
        assert sorted(batch.size for batch in found) == [3, 4, 4] and sum(batch.tokens for batch in found) == 11
        pixels = np.concatenate([batch.streams["image"].values for batch in found])
        labels = np.concatenate([batch.targets["label"].values for batch in found])
        for number in range(11):
            (place,) = [row for row in range(11) if (pixels[row] == split.pixels([number])[0]).all()]
            assert labels[place] == (1, 0)[number % 2]
    again = batches(CONFIG.batching, split, None, 3).batch(Cursor(1, 1))
    np.testing.assert_array_equal(again.streams["image"].values, parts.batch(Cursor(1, 1)).streams["image"].values)
    other = batches(CONFIG.batching, split, None, 4).batch(Cursor(1, 1))
    assert (other.streams["image"].values != again.streams["image"].values).any()


def test_labels_that_training_has_not_met_weigh_nothing():
    images = [Image(noise((4, 4, 3)), label=label) for label in "axb"]
    split = make_split(examples.make("valid", images), ("b", "a"), CONFIG.input)
    (batch,) = batches(CONFIG.batching, split, None, 0).once()
    assert sorted(zip(batch.targets["label"].values, batch.targets["label"].weight, strict=True)) == [
        (0, 0.0), (0, 1.0), (1, 1.0)
    ]  # fmt: skip


# --- where they come from -----------------------------------------------------------------------------------------


def read(tmp_path, *names, **change):
    config = schema.Pictures(text=tuple(map(str, names)), **change)
    return examples.read(config, 1)


def every(splits):
    return {(image.name, image.label) for part in splits.values() for image in part.examples}


def test_the_world_has_pictures_of_one_thing_labelled_with_its_shape():
    found = list(zip(range(40), open_set("world-images", "test"), strict=False))
    assert {image.label for _, image in found} == {"circle", "square", "triangle", "cross", "ring", "bar"}
    assert all(image.pixels.shape == (32, 32, 3) and (image.pixels < 255).any() for _, image in found)


def write(path, pixels):
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_bytes(encode(pixels))


def test_a_folder_for_each_label(tmp_path):
    for number in range(6):
        write(tmp_path / ("cat", "dog")[number % 2] / "deeper" / f"{number}.ppm", noise((3 + number, 4, 3), number))
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "cat" / "notes.txt").write_text("no picture")
    splits = read(tmp_path, tmp_path)
    assert {name: len(part.examples) for name, part in splits.items()} == {"train": 4, "valid": 1, "test": 1}
    assert every(splits) == {(f"{('cat', 'dog')[n % 2]}/deeper/{n}.ppm", ("cat", "dog")[n % 2]) for n in range(6)}


def test_a_folder_with_a_table(tmp_path):
    for number in range(4):
        write(tmp_path / f"{number}.ppm", noise((3 + number, 4, 3), number))
    (tmp_path / "labels.tsv").write_text("".join(f"{n}.ppm\tkind {n % 2}\n" for n in range(4)))
    assert every(read(tmp_path, tmp_path)) == {(f"{n}.ppm", f"kind {n % 2}") for n in range(4)}


def test_idx_files_find_their_labels(tmp_path):
    pixels, path = noise((5, 4, 4)), tmp_path / "train-images-idx3-ubyte.gz"
    path.write_bytes(gzip.compress(b"\0\0\x08\x03" + struct.pack(">3I", 5, 4, 4) + pixels.tobytes()))
    with pytest.raises(FirthError, match="a picture without a label"):
        read(tmp_path, path)
    labels = tmp_path / "train-labels-idx1-ubyte.gz"
    labels.write_bytes(gzip.compress(b"\0\0\x08\x01" + struct.pack(">I", 5) + bytes([7, 3, 7, 3, 7])))
    found = read(tmp_path, path)
    assert sorted(image.label for part in found.values() for image in part.examples) == ["3", "3", "7", "7", "7"]
    assert formats.whole(formats.guess(path), path) == (path, labels)


def test_the_content_decides_the_key(tmp_path):
    one, two = Image(noise((4, 4, 3)), label="a"), Image(noise((4, 4, 3), 1), label="a")
    keys = {examples.make("train", [image]).key for image in (one, two, one._replace(label="b"))}
    assert len(keys) == 3 and examples.make("test", [one._replace(name="other")]).key in keys


# --- what is refused ----------------------------------------------------------------------------------------------


def test_pictures_that_cannot_serve_are_refused(tmp_path):
    with pytest.raises(FirthError, match="no pictures in folders named by their labels"):
        read(tmp_path, tmp_path)
    (tmp_path / "cat").mkdir()
    (tmp_path / "cat" / "a.ppm").write_bytes(b"P6\n2 2\n255\nxx")
    with pytest.raises(FirthError, match=r"a\.ppm.*declares"):
        read(tmp_path, tmp_path)
    table = tmp_path / "table.tsv"
    table.write_text("text\tlabel\na\tb\n")
    with pytest.raises(FirthError, match="needs Image, but the file has Row"):
        read(tmp_path, table)
    with pytest.raises(FirthError, match="no such file"):
        read(tmp_path, tmp_path / "nowhere.npz")


def test_parts_of_a_configuration_that_do_not_belong_together_are_refused(tmp_path):
    with pytest.raises(FirthError, match="reads no pictures"):
        read_material(replace(CONFIG, input=schema.TokenInput()), {}, tmp_path, print)
    with pytest.raises(FirthError, match="gives tokens, and the input reads patches"):
        build(replace(CONFIG, batching=schema.Joined()), 0)
    with pytest.raises(FirthError, match="no pictures to learn from"):
        batches(CONFIG.batching, None, None, 0).count(0)
    with pytest.raises(FirthError, match=r"1 label in the training pictures \(b\)"):
        batches(CONFIG.batching, replace(made(), names=("b",)), None, 0).count(0)
    with pytest.raises(FirthError, match=r"context = 4 is shorter than a picture's 5 places"):
        build(replace(CONFIG, backbone=replace(CONFIG.backbone, context=4)), 0)
    with pytest.raises(FirthError, match=r"input.mean.*2 numbers for pictures of 3 channels"):
        build(replace(CONFIG, input=replace(CONFIG.input, mean=(0.5, 0.5))), 0)
