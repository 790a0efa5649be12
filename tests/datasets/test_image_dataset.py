"""Images as input of a network: sizes, channels, batches, folders; what is refused in one line."""

from __future__ import annotations

import gzip
import struct
from dataclasses import replace

import numpy as np
import pytest

from firth.config import schema
from firth.datasets import labelled_dataset, readers
from firth.datasets.collators.batches import make_batches
from firth.datasets.image_dataset import make_split
from firth.datasets.image_transforms import resize
from firth.datasets.readers.image_files import encode
from firth.datasets.records import Image
from firth.datasets.sets import open_set
from firth.datasets.training_data import read_training_data
from firth.errors import FirthError
from firth.models.build import build
from firth.runs.progress import Quiet
from firth.types import Cursor

CONFIG = schema.Neural(
    data=schema.LabelledImages(),
    tokenizer=schema.NoTokenizer(),
    batching=schema.ImageRows(batch_size=4),
    inputs=schema.Inputs(image=schema.PatchInput(image_size=8, patch_size=4)),
    backbone=schema.Transformer(width=16, depth=1, heads=2, mask="bidirectional"),
    head=schema.ClassificationHead(pooler=False),
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
    result = resize(pixels, 8, shape[2])
    assert result.shape == (shape[2], 8, 8) and result.dtype == np.float32
    assert abs(result.transpose(1, 2, 0) * 255 - wanted).max() <= 1.1  # it rounds twice


def test_a_image_of_the_right_size_is_itself_and_an_even_one_stays_even():
    pixels = noise((6, 6, 3))
    np.testing.assert_array_equal(resize(pixels, 6, 3), pixels.transpose(2, 0, 1).astype(np.float32) / 255)
    np.testing.assert_allclose(resize(np.full((7, 3, 3), 51, np.uint8), 5, 3), 0.2, rtol=1e-5)


def test_grey_and_colours():
    grey, coloured = noise((4, 4, 1)), noise((4, 4, 3), 1)
    assert (resize(grey, 4, 3) == resize(grey, 4, 1)).all()
    images = pytest.importorskip("PIL.Image")
    wanted = np.asarray(images.fromarray(coloured).convert("L"), np.float32)
    assert abs(resize(coloured, 4, 1)[0] * 255 - wanted).max() <= 0.51
    with pytest.raises(FirthError, match=r"2 channels, where inputs\.image\.channels = 3"):
        resize(noise((4, 4, 2)), 4, 3)


# --- batches ------------------------------------------------------------------------------------------------------


def made(count=11):
    result = [Image(noise((5 + n % 3, 6, 3), n), label="ab"[n % 2]) for n in range(count)]
    return make_split(labelled_dataset.make_split("train", result), ("b", "a"), CONFIG.inputs["image"])


def test_an_epoch_has_every_image_once_with_its_label():
    split = made()
    parts = make_batches(CONFIG.batching, split, None, 3)
    for epoch in (0, 1):
        result = [parts.batch(Cursor(epoch, index)) for index in range(parts.count(epoch))]
        assert sorted(batch.size for batch in result) == [3, 4, 4] and sum(batch.token_count for batch in result) == 11
        pixels = np.concatenate([batch.streams["image"].values for batch in result])
        labels = np.concatenate([batch.targets["label"].values for batch in result])
        for number in range(11):
            (position,) = [row for row in range(11) if (pixels[row] == split.pixels([number])[0]).all()]
            assert labels[position] == (1, 0)[number % 2]
    again = make_batches(CONFIG.batching, split, None, 3).batch(Cursor(1, 1))
    np.testing.assert_array_equal(again.streams["image"].values, parts.batch(Cursor(1, 1)).streams["image"].values)
    other = make_batches(CONFIG.batching, split, None, 4).batch(Cursor(1, 1))
    assert (other.streams["image"].values != again.streams["image"].values).any()


def test_labels_that_training_has_not_met_weigh_nothing():
    images = [Image(noise((4, 4, 3)), label=label) for label in "axb"]
    split = make_split(labelled_dataset.make_split("valid", images), ("b", "a"), CONFIG.inputs["image"])
    (batch,) = make_batches(CONFIG.batching, split, None, 0).evaluation_batches()
    assert sorted(zip(batch.targets["label"].values, batch.targets["label"].weight, strict=True)) == [
        (0, 0.0), (0, 1.0), (1, 1.0)
    ]  # fmt: skip


# --- where they come from -----------------------------------------------------------------------------------------


def read(tmp_path, *names, **change):
    config = schema.LabelledImages(text=tuple(map(str, names)), **change)
    return labelled_dataset.read(config, 1)


def every(splits):
    return {(image.name, image.label) for part in splits.values() for image in part.examples}


def test_the_world_has_images_of_one_thing_labelled_with_its_shape():
    result = list(zip(range(40), open_set("world-images", "test"), strict=False))
    assert {image.label for _, image in result} == {"circle", "square", "triangle", "cross", "ring", "bar"}
    assert all(image.pixels.shape == (32, 32, 3) and (image.pixels < 255).any() for _, image in result)


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
    with pytest.raises(FirthError, match="an image without a label"):
        read(tmp_path, path)
    labels = tmp_path / "train-labels-idx1-ubyte.gz"
    labels.write_bytes(gzip.compress(b"\0\0\x08\x01" + struct.pack(">I", 5) + bytes([7, 3, 7, 3, 7])))
    result = read(tmp_path, path)
    assert sorted(image.label for part in result.values() for image in part.examples) == ["3", "3", "7", "7", "7"]
    assert readers.input_paths(readers.guess(path), path) == (path, labels)


def test_the_content_decides_the_key(tmp_path):
    one, two = Image(noise((4, 4, 3)), label="a"), Image(noise((4, 4, 3), 1), label="a")
    keys = {labelled_dataset.make_split("train", [image]).key for image in (one, two, one._replace(label="b"))}
    assert len(keys) == 3 and labelled_dataset.make_split("test", [one._replace(name="other")]).key in keys


# --- what is refused ----------------------------------------------------------------------------------------------


def test_images_that_cannot_serve_are_refused(tmp_path):
    with pytest.raises(FirthError, match="no images in class folders"):
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
    with pytest.raises(FirthError, match="stream image, which holds pixels, and the input of text takes tokens"):
        read_training_data(replace(CONFIG, inputs=schema.Inputs(text=schema.TokenInput())), {}, tmp_path, Quiet())
    with pytest.raises(FirthError, match="the stream text, which holds tokens, and has no input; set"):
        build(replace(CONFIG, batching=schema.SentencePairs()), 0)
    with pytest.raises(FirthError, match="no images to train on"):
        make_batches(CONFIG.batching, None, None, 0).count(0)
    with pytest.raises(FirthError, match=r"1 label in the training examples \(b\)"):
        images = labelled_dataset.make_split("train", [Image(noise((4, 4, 3)), label="b")])
        make_split(images, ("b",), CONFIG.inputs["image"])
    with pytest.raises(FirthError, match=r"context = 4 is shorter than the 5 positions of an image"):
        build(replace(CONFIG, backbone=replace(CONFIG.backbone, context=4)), 0)
    with pytest.raises(FirthError, match=r"inputs.image.mean.*2 values for images of 3 channels"):
        build(replace(CONFIG, inputs=CONFIG.inputs.replace("image", mean=(0.5, 0.5))), 0)
