"""Adapters in peft: on top of the exported base they give the logits that they give here."""

from dataclasses import replace

import pytest
import torch
from test_huggingface import reachable
from test_preset_exports import CLASSES, LABELS, SETTINGS, image_logits, randomise, shrunk, token_logits

from firth.config import core, schema
from firth.errors import FirthError
from firth.interop import exporter, peft_adapter
from firth.models.build import build
from firth.nn.lora import add_adapters, is_adapter
from firth.presets import preset
from firth.tokenizers.tokenizer import Tokenizer
from firth.types import Sizes

peft = pytest.importorskip("peft")
transformers = pytest.importorskip("transformers")

# preset -> the preset of its base
BASES = {
    **{name: name for name in CLASSES if name not in ("xlnet", "text-to-text")},
    "bert-classifier": "bert",
    "gpt-classifier": "gpt-1",
}
ALL = ("query", "key", "value", "out", "up", "gate", "down")


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    words = [" ".join(f"w{n}" for n in range(start, start + 10)) for start in range(40)]
    return Tokenizer.train(schema.Tokenizer(model="word", vocabulary_size=60), words).with_special_tokens()


def make(name, tokenizer, **replaced):
    """A network of random weights, its configuration, and its tokenizer and labels, if it has any."""
    config = core.override(shrunk(preset(name)), SETTINGS.get(name, []))
    config = replace(config, **{key: value for key, value in replaced.items() if value is not None})
    images, labels = "image" in config.streams, LABELS if isinstance(config.objective, schema.Supervised) else ()
    sizes = Sizes(0 if images else tokenizer.vocab_size, labels={"label": len(labels) or 2})
    system = build(config, sizes).eval()
    randomise(system)
    return system, config, None if images else tokenizer, labels


def with_adapter(config, projections):
    adapter = schema.LoRA(rank=3, alpha=5.0, projections=projections)
    return replace(config, train=replace(config.train, adapter=adapter))


def export_both(name, tokenizer, folder, projections):
    """A base and an adapter in two folders; the network of both here, and the configuration."""
    torch.manual_seed(1)
    base, config, its_tokenizer, labels = make(BASES.get(name, name), tokenizer)
    family = exporter.select_family(config)
    exporter.save_pretrained(folder / "base", family, config, its_tokenizer, base.state_dict(), labels)
    system, own, its_tokenizer, labels = make(name, tokenizer, backbone=config.backbone, inputs=config.inputs)
    same = {key: tensor for key, tensor in base.state_dict().items() if key.startswith(("inputs.", "backbone."))}
    same = base.state_dict() if name == BASES.get(name, name) else same
    system.load_state_dict({**system.state_dict(), **same})
    own = with_adapter(own, projections)
    add_adapters(system.backbone, own.train.adapter)
    for key, parameter in system.named_parameters():
        if is_adapter(key):
            parameter.data.normal_(0.0, 0.3)
    new = [key for key in system.state_dict() if key not in same and not is_adapter(key)]
    family = exporter.select_family(own, family.model_type)
    peft_adapter.save_adapter(folder / "adapter", family, own, its_tokenizer, system, new, labels)
    return base, system


CASES = [*((name, ALL) for name in BASES), *((name, ("query", "value")) for name in ("bert", "gpt-2", "reformer"))]


@pytest.mark.parametrize(("name", "projections"), CASES, ids=[f"{name}-{len(parts)}" for name, parts in CASES])
def test_an_adapter_answers_there_as_here(name, projections, tokenizer, tmp_path):
    base, system = export_both(name, tokenizer, tmp_path, projections)
    more = {"num_labels": len(LABELS)} if name in ("bert-classifier", "gpt-classifier") else {}
    loaded = getattr(transformers, CLASSES[name]).from_pretrained(tmp_path / "base", **more)
    adapted = peft.PeftModel.from_pretrained(loaded, tmp_path / "adapter").eval().get_base_model()
    logits = image_logits if "image" in system.streams else token_logits
    mine, theirs = logits(system, reachable(adapted), tokenizer)
    torch.testing.assert_close(mine, theirs, atol=1e-4, rtol=1e-4)
    if name == BASES[name]:
        without, _ = logits(base, reachable(adapted), tokenizer)
        assert float((without - mine).abs().max()) > 0.05  # the adapter matters


def test_a_family_whose_attention_has_no_layers_is_refused(tokenizer, tmp_path):
    with pytest.raises(FirthError, match="peft adapts linear layers, and XLNet has none for query, value of attention"):
        export_both("xlnet", tokenizer, tmp_path, ("query", "value"))
    assert not (tmp_path / "adapter").exists()
