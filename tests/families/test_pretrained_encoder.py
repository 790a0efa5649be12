"""A run as the encoder of another: its network, tokenizer and weights; and a tagger that starts from a run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import firth
from firth.config import schema
from firth.config.streams import Streams
from firth.errors import FirthError
from firth.families import pretrained_encoder
from firth.families.initialisation import _match_labels, configure_from_run, initialise_weights
from firth.families.pretrained_encoder import configure_encoder, encoder_tokenizers, initialise_encoder
from firth.models.build import build
from firth.runs.weights import read_metadata
from firth.training.checkpoint import read_tensors
from firth.types import Sizes
from word_samples import config, split

TEXT = ["the cat sat on the mat", "a dog sat on a mat", "the dog and the cat sat"] * 20
LABELS = {"upos": ("A", "B", "C")}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A left-to-right language model."""
    settings = {"data.document": "line", "data.group_duplicates": False, "train.checkpoint_every": 9}
    common = {"text": TEXT, "tokenizer": "word", "settings": settings, "budget": "1 steps", "width": 8}
    firth.train("lstm-lm:tiny", out=(out := tmp_path_factory.mktemp("runs") / "lstm"), **common)
    return out


def with_encoder(run, **settings):
    words = schema.WordInput(schema.NoPart(), schema.NoPart(), encoder=schema.SubwordEncoder(str(run), **settings))
    return config(inputs=Streams(words=words))


def test_the_network_of_the_run_is_part_of_the_configuration_and_its_weights_of_the_network(run):
    system = configure_encoder(with_encoder(run, layers="last"))
    encoder, tokenizers = system.inputs["words"].encoder, encoder_tokenizers(system)
    assert (encoder.backbone.kind, encoder.backbone.width, encoder.layout) == ("recurrent", 8, "cls-last")
    assert encoder.input.table_size == tokenizers["text"].vocab_size
    network = build(system, Sizes.of(tokenizers, LABELS))
    assert initialise_encoder(network, system).startswith("5 tensors of the encoder initialised from")
    source = read_tensors(run / "model.safetensors")
    ours = {name: tensor.numpy() for name, tensor in network.inputs["words"].encoder.state_dict().items()}
    assert np.array_equal(ours["embedding.weight"], source["inputs.text.weight"])
    assert all(np.array_equal(ours[name], source[name]) for name in ours if name.startswith("backbone."))
    assert read_metadata(run / "model.safetensors")


def test_other_runs_are_refused(run, monkeypatch):
    with pytest.raises(FirthError, match="no such run folder"):
        configure_encoder(with_encoder(run / "none"))
    with monkeypatch.context() as patched:
        patched.setattr(pretrained_encoder, "resolve_backbone", lambda _: schema.EncoderDecoder())
        with pytest.raises(FirthError, match="not the run of a recurrent network or a Transformer that reads text"):
            configure_encoder(with_encoder(run))
    plain = config()
    assert configure_encoder(plain) is plain and encoder_tokenizers(plain) == {}
    assert initialise_encoder(build(plain, Sizes(20, {"words": 20}, {"upos": 3})), plain) == ""


def test_a_tagger_starts_from_a_language_model(run):
    tagger = configure_from_run(replace(config("subwords"), init_from=str(run)), str(run))
    assert (tagger.batching.layout, tagger.head.subwords) == ("cls-last", "last")  # it reads from left to right
    part = split([["the", "cat"], ["mat"]], config("subwords"))
    tokenizer = firth.load(run).tokenizer.with_special_tokens()
    network = build(tagger, Sizes.of({"text": tokenizer}, LABELS))
    said = initialise_weights(network, tagger, tokenizer, part.metadata["labels"])
    assert said.startswith("5 of 7 tensors") and "new: head.emission.upos.bias, head.emission.upos.weight" in said


def test_tags_keep_their_rows_by_name(tmp_path):
    """From a tagger to one with other tags, in another order."""
    system = config(head=schema.TaggingHead(decoder="crf"))
    old, new = {"upos": ("A", "B", "C")}, {"upos": ("C", "D", "A", "E"), "entity": ("O", "B-X")}
    source, target = (
        build(system, Sizes(20, {"words": 20}, {layer: len(names) for layer, names in each.items()}))
        for each in (old, new)
    )
    for parameter in source.parameters():
        torch.nn.init.normal_(parameter)
    source, target = source.state_dict(), target.state_dict()
    matched = _match_labels(source, target, old, new)
    for name in ("head.emission.upos.weight", "head.decoder.upos.start", "head.decoder.upos.end"):
        assert torch.equal(matched[name][[0, 2]], source[name][[2, 0]])
        assert torch.equal(matched[name][[1, 3]], target[name][[1, 3]])
    transitions = matched["head.decoder.upos.transitions"]
    assert torch.equal(transitions[[0, 2]][:, [0, 2]], source["head.decoder.upos.transitions"][[2, 0]][:, [2, 0]])
    assert not any("entity" in name for name in matched)
