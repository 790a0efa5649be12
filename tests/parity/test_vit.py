"""The Transformer over patches against Hugging Face's ViT, with the same weights."""

import pytest
import torch

from firth.config import schema
from firth.errors import FirthError
from firth.models.backbones.transformer import TransformerBackbone
from firth.models.inputs.image_patches import PatchEmbedding
from firth.types import Pixels
from transformer_options import transformer

transformers = pytest.importorskip("transformers")
INPUT = schema.PatchInput(image_size=12, patch_size=4, mean=(0.0,), std=(1.0,))


def copied(mine, theirs):
    mine.weight.copy_(theirs.weight.reshape(mine.weight.shape))
    mine.bias.copy_(theirs.bias)


def test_states_equal_vits():
    config = transformers.ViTConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=12, patch_size=4,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    theirs = transformers.ViTModel(config, add_pooling_layer=False).eval()
    patches = PatchEmbedding(INPUT, 0, 32)
    options = transformer(
        width=32,
        depth=2,
        heads=4,
        feedforward_width=64,
        activation="gelu",
        epsilon=1e-12,
        mask="bidirectional",
        context=patches.positions,
    )
    ours = TransformerBackbone(options, 32).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.normal_(std=0.3)
        copied(patches.projection, theirs.embeddings.patch_embeddings.projection)
        patches.cls_token.copy_(theirs.embeddings.cls_token.flatten())
        ours.positions.weight.copy_(theirs.embeddings.position_embeddings[0])
        copied(ours.norm, theirs.layernorm)
        layers = [
            module
            for name, module in theirs.named_modules()
            if name.endswith(("layer.0", "layer.1", "layers.0", "layers.1"))
        ]
        for block, layer in zip(ours.blocks, layers, strict=True):
            named = dict(layer.named_modules())
            inputs, (query, key, value) = block.attention.sublayer.qkv_proj, _qkv(named)
            inputs.weight.copy_(torch.cat([query.weight, key.weight, value.weight]))
            inputs.bias.copy_(torch.cat([query.bias, key.bias, value.bias]))
            copied(block.attention.pre_norm, named["layernorm_before"])
            copied(block.feedforward.pre_norm, named["layernorm_after"])
            feedforward = block.feedforward.sublayer
            for mine, his in zip(
                (block.attention.sublayer.out_proj, feedforward.up_proj, feedforward.down_proj),
                _others(named), strict=True,
            ):  # fmt: skip
                copied(mine, his)
        images = torch.randn(3, 3, 12, 12)
        actual = ours(*patches.backbone_inputs(Pixels(images))).states
        expected = theirs(pixel_values=images).last_hidden_state
    torch.testing.assert_close(actual, expected, atol=1e-5, rtol=1e-5)


def _linears(named):
    return {name: module for name, module in named.items() if isinstance(module, torch.nn.Linear)}


def _qkv(named):
    linears = _linears(named)
    return [
        next(m for n, m in linears.items() if n.split(".")[-1] in (word, f"{word[0]}_proj"))
        for word in ("query", "key", "value")
    ]


def _others(named):
    """The remaining linear layers in order: attention output, feed-forward up and down."""
    used = {id(module) for module in _qkv(named)}
    return [module for module in _linears(named).values() if id(module) not in used]


def test_images_that_do_not_fit_are_refused():
    with pytest.raises(FirthError, match="cannot be split into patches of 5"):
        PatchEmbedding(schema.PatchInput(image_size=12, patch_size=5), 0, 8)
    with pytest.raises(FirthError, match="images of shape 3 × 8 × 8, not 3 × 12 × 12"):
        PatchEmbedding(INPUT, 0, 8)(Pixels(torch.zeros(1, 3, 8, 8)))
