"""Image classifiers (ViT): training, answers, exact resume, errors."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import firth
from firth import FirthError, api
from firth.datasets.readers.image_files import encode
from firth.datasets.sets import open_set
from firth.models.build import build
from firth.presets import preset
from firth.runs.summary import summary
from firth.types import Sizes

SMALL = {"train.threads": 1, "train.evaluate_every": 1000, "train.checkpoint_every": 1000, "batching.batch_size": 16}


def trained(out, budget, **settings):
    return firth.train("vit:tiny", out=out, budget=budget, settings={**SMALL, **settings})


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """The tiny size after a few seconds, and its run's folder."""
    return trained(tmp_path_factory.mktemp("runs") / "vit", "110 steps")


def test_the_tiny_size_learns_shapes(learned):
    (score, *_) = learned.evaluate()
    assert score.name == "accuracy" and score.value > 0.4  # of six labels
    assert "ctx:image/32x32x3" in score.signature


def test_predictions_do_not_depend_on_the_batch(learned):
    images = [image.pixels for image, _ in zip(open_set("world-images", "test"), range(70), strict=False)]
    together = learned.predict_proba(images)
    assert together.shape == (70, 6) and abs(together.sum(1) - 1).max() < 1e-5
    alone = np.concatenate([learned.predict_proba([one]) for one in images[:3]])
    np.testing.assert_allclose(alone, together[:3], atol=1e-6)
    assert learned.predict_proba([]).shape == (0, 6)


def test_an_image_file_has_a_label(learned, tmp_path):
    image = next(open_set("world-images", "test"))
    (tmp_path / "a.ppm").write_bytes(encode(image.pixels))
    answer = learned.answer(str(tmp_path / "a.ppm"), {"count": 2})
    (best,) = learned.predict([image.pixels], 2)
    assert [tuple(each) for each in answer["labels"]] == best
    assert learned.format_answer(answer).splitlines()[0].endswith(best[0][0])
    assert len(learned.samples(1)) == 12 and "picture 44000" in learned.samples(1)[0]


def test_loading_gives_the_same_and_a_folder_can_be_scored(learned, tmp_path):
    again = firth.load(learned.run.path)
    images = [image for image, _ in zip(open_set("world-images", "valid"), range(9), strict=False)]
    mine, its = (model.predict_proba([image.pixels for image in images]) for model in (again, learned))
    assert (mine == its).all()
    for number, image in enumerate(images):
        (tmp_path / image.label).mkdir(exist_ok=True)
        (tmp_path / image.label / f"{number}.ppm").write_bytes(encode(image.pixels))
    predictions = zip(again.predict([image.pixels for image in images]), images, strict=True)
    correct = [label == image.label for ((label, _),), image in predictions]
    assert again.evaluate(str(tmp_path))[0].value == pytest.approx(sum(correct) / 9)
    assert summary(learned.run.path)["tokenizer"] is None


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """A folder of a few images of two labels."""
    root = tmp_path_factory.mktemp("images")
    for number in range(16):
        pixels = np.random.default_rng(number).integers(0, 100 + 60 * (number % 2), (9, 7, 3), np.uint8)
        (root / "ab"[number % 2]).mkdir(exist_ok=True)
        (root / "ab"[number % 2] / f"{number}.ppm").write_bytes(encode(pixels))
    return root


LITTLE = {**SMALL, "inputs.image.image_size": 8, "backbone.width": 16, "backbone.depth": 1}
LITTLE |= {"batching.batch_size": 4, "train.checkpoint_every": 2}


def test_an_interrupted_run_ends_with_the_same_weights(images, tmp_path):
    """The progress callback interrupts it; it resumes from the last checkpoint."""
    options = {"text": str(images), "budget": "6 steps", "settings": {**LITTLE, "backbone.dropout": 0.1}}
    whole = firth.train("vit:tiny", out=tmp_path / "whole", **options)

    class Stop:
        def __getattr__(self, name):
            return lambda *_: None

        def step(self, line):
            if line["step"] == 3:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        firth.train("vit:tiny", out=tmp_path / "cut", progress=Stop(), **options)
    api.resume(tmp_path / "cut")
    assert (tmp_path / "cut" / "model.safetensors").read_bytes() == whole.run.weights.read_bytes()


def test_another_run_is_initialised_from_it_and_keeps_its_labels(images, tmp_path):
    first = firth.train("vit:tiny", text=str(images), out=tmp_path / "one", budget="2 steps", settings=LITTLE)
    settings = [f"{name}={value}" for name, value in SMALL.items()]
    short = {"init-from": str(first.run.path), "text": str(images), "budget": "1 steps", "lr": "1e-9"}
    model = api.train_config(api.resolve_config("vit:tiny", settings, short), tmp_path / "on")
    paths = [str(path) for path in sorted(images.rglob("*.ppm"))]
    assert first.labels == model.labels and {*model.labels} == {"a", "b"}
    np.testing.assert_allclose(model.predict_proba(paths), first.predict_proba(paths), atol=1e-5)


@pytest.mark.parametrize("what", ["classifier:tiny", "bert:tiny"])
def test_text_models_cannot_be_initialised_from_images(learned, what):
    with pytest.raises(FirthError, match="that run reads pixels, and here it is tokens"):
        api.resolve_config(what, [], {"init-from": str(learned.run.path)})


def test_text_needs_a_tokenizer(tmp_path):
    with pytest.raises(FirthError, match="needs a tokenizer"):
        firth.train("bert:tiny", text=["a b c"] * 20, out=tmp_path / "no", settings={"tokenizer.kind": "none"})


def test_what_is_no_image_is_refused(learned, tmp_path):
    (tmp_path / "a.png").write_bytes(b"no image")
    for path, message in ((tmp_path / "a.png", "a.png"), (tmp_path / "b.png", "b.png"), ("", "no such file")):
        with pytest.raises(FirthError, match=message):
            learned.answer(str(path), {})
    with pytest.raises(FirthError, match="images: a value of type int"):
        learned.predict(3)
    with pytest.raises(FirthError, match=r"shape \(4, 4, 3\) and type float64"):
        learned.predict([np.zeros((4, 4, 3))])
    with pytest.raises(FirthError, match="has no setting 'vocab-size'"):
        api.resolve_config("vit:tiny", [], {"vocab-size": "100"})
    with pytest.raises(FirthError, match="has no --beam"):
        learned.answer("a.png", {"beam": 3})


def test_sizes_of_the_paper():
    with torch.device("meta"):
        made = [build(preset(f"vit:{size}"), Sizes(labels={"label": 1000})) for size in ("base", "large")]
    counts = [sum(tensor.numel() for tensor in system.parameters()) for system in made]
    assert counts == [86_567_656, 304_326_632]  # ViT-B/16 and ViT-L/16 with 1000 labels
