"""Encoder and decoder against Hugging Face's BART and T5 with the same weights; and cached = uncached."""

import itertools

import pytest
import torch
from copying import put, put_attention

from firth.config import schema
from firth.errors import FirthError
from firth.models.build import build
from firth.pipelines.seq2seq_stepper import Seq2SeqStepper
from firth.types import Batch, Target, Tokens
from transformer_options import transformer

transformers = pytest.importorskip("transformers")
VOCABULARY = 50


def system(backbone, **change):
    config = schema.Neural(
        batching=schema.Bucketed(length=22),
        backbone=backbone,
        **{"head": schema.LMHead(), "objective": schema.Denoising(), **change},
    )
    return build(config, VOCABULARY).eval()


def both(**options):
    size = {"width": 32, "depth": 2, "heads": 4, "init_std": 0.2, **options}
    return schema.EncoderDecoder(transformer(mask="bidirectional", **size), transformer(**size))


def texts(time, lengths):
    ids = torch.randint(7, VOCABULARY, (len(lengths), time))
    return Tokens(ids, torch.arange(time) < torch.tensor(lengths)[:, None])


def random_weights(model):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.2)
    return model.eval()


# --- BART ----------------------------------------------------------------------------------------------------------


@torch.no_grad()
def copy_bart(his, mine):
    mine.inputs["text"].weight.copy_(his.model.shared.weight)
    mine.head.bias.copy_(his.final_logits_bias[0])
    for part, other in ((mine.backbone.encoder, his.model.encoder), (mine.backbone.decoder, his.model.decoder)):
        part.positions.weight.copy_(other.embed_positions.weight[2:])  # theirs begin at 2
        put(part.input_norm, other.layernorm_embedding)
        for block, layer in zip(part.blocks, other.layers, strict=True):
            own = layer.self_attn
            put_attention(block.attention.sublayer, own.q_proj, own.k_proj, own.v_proj, own.out_proj)
            put(block.attention.post_norm, layer.self_attn_layer_norm)
            if block.cross_attention is not None:
                own = layer.encoder_attn
                put_attention(block.cross_attention.sublayer, own.q_proj, own.k_proj, own.v_proj, own.out_proj)
                put(block.cross_attention.post_norm, layer.encoder_attn_layer_norm)
            put(block.feedforward.sublayer.up_proj, layer.fc1)
            put(block.feedforward.sublayer.down_proj, layer.fc2)
            put(block.feedforward.post_norm, layer.final_layer_norm)


def bart():
    config = transformers.BartConfig(
        vocab_size=VOCABULARY, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=24, dropout=0,
        activation_function="gelu",
    )  # fmt: skip
    his = random_weights(transformers.BartForConditionalGeneration(config))
    his.final_logits_bias.normal_()
    options = {"activation": "gelu", "norm_placement": "post", "norm_embeddings": True, "feedforward_width": 64}
    mine = system(both(**options))
    copy_bart(his, mine)
    return his, mine


# --- T5 ------------------------------------------------------------------------------------------------------------


@torch.no_grad()
def copy_t5(his, mine):
    mine.inputs["text"].weight.copy_(his.shared.weight)
    if mine.head.weight is not None:
        mine.head.weight.copy_(his.lm_head.weight)
    for part, other in ((mine.backbone.encoder, his.encoder), (mine.backbone.decoder, his.decoder)):
        first = other.block[0].layer[0].SelfAttention
        part.positions.weight.copy_(first.relative_attention_bias.weight)
        put(part.norm, other.final_layer_norm)
        for block, layer in zip(part.blocks, other.block, strict=True):
            for mine_part, his_part in ((block.attention, "SelfAttention"), (block.cross_attention, "EncDecAttention")):
                if mine_part is not None:
                    his_layer = next(each for each in layer.layer if hasattr(each, his_part))
                    own = getattr(his_layer, his_part)
                    put_attention(mine_part.sublayer, own.q, own.k, own.v, own.o)
                    put(mine_part.pre_norm, his_layer.layer_norm)
            dense = layer.layer[-1].DenseReluDense
            put(block.feedforward.pre_norm, layer.layer[-1].layer_norm)
            put(block.feedforward.sublayer.down_proj, dense.wo)
            if block.feedforward.sublayer.gate_proj is None:
                put(block.feedforward.sublayer.up_proj, dense.wi)
            else:
                put(block.feedforward.sublayer.gate_proj, dense.wi_0)
                put(block.feedforward.sublayer.up_proj, dense.wi_1)


def t5(gated=False):
    kind = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False} if gated else {"feed_forward_proj": "relu"}
    config = transformers.T5Config(
        vocab_size=VOCABULARY, d_model=32, d_kv=12, d_ff=64, num_layers=2, num_heads=4, dropout_rate=0, **kind
    )
    his = random_weights(transformers.T5ForConditionalGeneration(config))
    options = {
        "activation": "gelu-tanh" if gated else "relu", "gated": gated, "norm": "rms", "epsilon": 1e-6, "bias": False,
        "scaled": False, "positions": "t5", "head_width": 12, "feedforward_width": 64,
    }  # fmt: skip
    mine = system(both(**options), head=schema.LMHead(tied=not gated, bias=False, scale_states=not gated))
    copy_t5(his, mine)
    return his, mine


@pytest.mark.parametrize("family", [bart, t5, lambda: t5(gated=True)], ids=["bart", "t5", "t5-v1.1"])
def test_logits_and_loss_equal_theirs_with_padding_at_two_lengths(family):
    torch.manual_seed(0)
    his, mine = family()
    for times in ((7, 5), (22, 20)):
        source, target = (texts(time, [time, time - 3]) for time in times)
        labels = torch.randint(7, VOCABULARY, target.ids.shape)
        actual = his(
            input_ids=source.ids,
            attention_mask=source.mask,
            decoder_input_ids=target.ids,
            labels=labels.masked_fill(~target.mask, -100),
        )
        batch = Batch({"source": source, "target": target}, {"target": Target(labels, target.mask.float())})
        logits = mine.log_probabilities(mine.encode(batch).states)[target.mask]
        expected = actual.logits.log_softmax(-1)[target.mask]
        torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-5)
        (term,), _ = mine(batch)
        torch.testing.assert_close(term.sum / term.count, actual.loss, atol=1e-5, rtol=1e-5)


# --- laws ----------------------------------------------------------------------------------------------------------

POSITIONS = ["learned", "sinusoidal", "rotary", "alibi", "t5", "none"]
OPTIONS = list(itertools.product(["pre", "post", "sandwich"], POSITIONS))


@pytest.mark.parametrize(("norm_placement", "positions"), OPTIONS)
def test_stepping_equals_teacher_forcing(norm_placement, positions):
    """Two inputs of different lengths, three hypotheses each: each is decoded as it would be alone."""
    torch.manual_seed(1)
    model = system(both(norm_placement=norm_placement, positions=positions))
    source, target = texts(9, [9, 6]), texts(7, [7] * 6)
    several = Tokens(*(part.repeat_interleave(3, 0) for part in (source.ids, source.mask)))
    with torch.no_grad():
        batch = Batch({"source": several, "target": target}, {})
        whole = model.log_probabilities(model.encode(batch).states)
        stepper, actual = Seq2SeqStepper(model, VOCABULARY), []
        first = Tokens(target.ids[::3, :1], target.mask[::3, :1])
        state = stepper.start(Batch({"source": source, "text": first}, {}))
        state = state.reorder(torch.tensor([0, 0, 0, 1, 1, 1]))  # hypotheses of an input stand together
        for position in range(7):
            row, state = stepper.step(target.ids[:, position], state)
            actual.append(row)
    torch.testing.assert_close(torch.stack(actual, 1), whole, atol=1e-5, rtol=1e-5)


def test_hypotheses_are_reordered_and_finished_inputs_dropped():
    torch.manual_seed(2)
    model = system(both())
    stepper, source = Seq2SeqStepper(model, VOCABULARY), texts(8, [8, 5, 7])
    begin = Tokens(torch.full((3, 2), 9), torch.ones(3, 2, dtype=torch.bool))
    with torch.no_grad():
        state = stepper.start(Batch({"source": source, "text": begin}, {}))
        rows, after = stepper.step(torch.tensor([9, 9, 9]), state)
        remaining = torch.tensor([2, 0])
        some, _ = stepper.step(torch.tensor([11, 12]), after.reorder(remaining).select_inputs(remaining))
        for position, row in ((0, 2), (1, 0)):
            alone = Batch(
                {
                    "source": Tokens(source.ids[row : row + 1], source.mask[row : row + 1]),
                    "target": Tokens(torch.tensor([[9, 9, [11, 12][position]]]), torch.ones(1, 3, dtype=torch.bool)),
                },
                {},
            )
            expected = model.log_probabilities(model.encode(alone).states)[0, -1]
            torch.testing.assert_close(some[position], expected, atol=1e-5, rtol=1e-5)
    assert rows.shape == (3, VOCABULARY)


def test_no_target_token_attends_to_later_ones_and_all_attend_to_the_source():
    model = system(both())
    source, target = texts(6, [6]), texts(8, [8])
    with torch.no_grad():
        before = model.encode(Batch({"source": source, "target": target}, {})).states
        later = target.ids.clone()
        later[:, 5:] = (later[:, 5:] + 1) % VOCABULARY
        after = model.encode(Batch({"source": source, "target": Tokens(later, target.mask)}, {})).states
        torch.testing.assert_close(before[:, :5], after[:, :5])
        other = Tokens((source.ids + 1) % VOCABULARY, source.mask)
        moved = model.encode(Batch({"source": other, "target": target}, {})).states
    assert (before - moved).abs().amax(-1).min() > 1e-4


@pytest.mark.parametrize(
    ("backbone", "message"),
    [
        (schema.Transformer(width=32, heads=4), "needs an encoder-decoder"),
        (both(context=22), "shorter than batching.length = 22 and 2 special tokens"),
    ],
)
def test_what_does_not_fit_together_is_refused(backbone, message):
    with pytest.raises(FirthError, match=message):
        system(backbone)
