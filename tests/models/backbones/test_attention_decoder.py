"""Laws of RNN decoders with attention: over cells, score functions, attention spans and bridges."""

import itertools
from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from firth.config import schema
from firth.errors import FirthError
from firth.models.build import build
from firth.pipelines.seq2seq_stepper import Seq2SeqStepper
from firth.types import ALIGNMENT, Batch, Sizes, Target, Tokens

SIZE = 40  # of the vocabulary
WIDTH = 12
SCORES = ["additive", "dot", "scaled", "general", "concat", "cosine", "location"]


def system(encoder=None, decoder=None, **change):
    cell = {"cell": "gru", "width": WIDTH, "depth": 2, "init_range": 0.4}
    encoder_config = schema.Recurrent(
        **{**cell, "width": WIDTH // 2, "bidirectional": "concatenate", **(encoder or {})}
    )
    decoder_config = schema.Recurrent(**{**cell, **(decoder or {})})
    options = {name: change.pop(name) for name in ("attention", "bridge", "reverse_source") if name in change}
    settings = {"head": schema.LMHead(), "objective": schema.Seq2Seq(), **change}
    backbone = schema.EncoderDecoder(encoder_config, decoder_config, **options)
    config = schema.Neural(batching=schema.SourceTarget(length=14), backbone=backbone, **settings)
    return build(config, SIZE).eval()


def texts(time, lengths, seed):
    ids = torch.randint(7, SIZE, (len(lengths), time), generator=torch.Generator().manual_seed(seed))
    mask = torch.arange(time) < torch.tensor(lengths)[:, None]
    return Tokens(ids * mask, mask)


def batch(sources=(9, 4, 6), targets=(5, 7, 3)):
    target = texts(max(targets), targets, 2)
    labels = Target(target.ids, target.mask.float())
    return Batch({"source": texts(max(sources), sources, 1), "target": target}, {"target": labels})


def attention(**options):
    return {"attention": schema.RNNAttention(**options)}


WAYS = [
    attention(score=score, query_state=when, input_feeding=feeding)
    for score, when, feeding in itertools.product(SCORES, ("previous", "current"), (False, True))
]
WAYS += [
    attention(attention_span=reach, window=2, query_state=when)
    for reach in ("local-m", "local-p")
    for when in ("previous", "current")
]
WAYS += [
    attention(score="additive", coverage=True),
    attention(score="none"),
    attention(score="none") | {"reverse_source": True},
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: str(way)[-60:])
@torch.no_grad()
def test_stepping_equals_teacher_forcing_whatever_else_is_in_the_batch(way):
    made, given = system(**way), batch()
    source, target = given.streams["source"], given.streams["target"]
    whole = made.objective.log_probabilities(made, given)
    stepper = Seq2SeqStepper(made, SIZE)
    state = stepper.start(Batch({"source": source, "text": Tokens(target.ids[:, :1], target.mask[:, :1])}, {}))
    for position in range(target.ids.shape[1]):
        actual, state = stepper.step(target.ids[:, position], state)
        here = target.mask[:, position]
        torch.testing.assert_close(actual[here], whole[here, position], atol=1e-5, rtol=1e-5)
    for row in range(3):
        source_length, target_length = int(source.mask[row].sum()), int(target.mask[row].sum())
        streams = {"source": (source, source_length), "target": (target, target_length)}
        alone = Batch(
            {n: Tokens(t.ids[row : row + 1, :k], t.mask[row : row + 1, :k]) for n, (t, k) in streams.items()}, {}
        )
        torch.testing.assert_close(
            made.objective.log_probabilities(made, alone)[0], whole[row, :target_length], atol=1e-5, rtol=1e-5
        )


@pytest.mark.parametrize("way", WAYS, ids=lambda way: str(way)[-60:])
def test_weights_are_of_real_tokens_and_sum_to_one(way):
    made, given = system(**way), batch()
    actual = made.encode(given).alignment
    if way["attention"].score == "none":
        assert actual is None
        return
    assert not actual[~given.streams["source"].mask[:, None].expand_as(actual)].any()
    if way["attention"].attention_span == "local-p":  # the Gaussian lowers weights away from the centre
        assert (actual.sum(-1) <= 1 + 1e-5).all() and (actual.sum(-1) > 0.1).all()
    else:
        torch.testing.assert_close(actual.sum(-1), torch.ones(actual.shape[:2]))


def test_a_local_m_window_moves_with_the_target_and_stops_at_the_end_of_the_source():
    given = batch(sources=(9, 3), targets=(8, 8))
    actual = system(**attention(attention_span="local-m", window=1)).encode(given).alignment
    for row, last in ((0, 8), (1, 2)):
        for position in range(8):
            middle = min(position, last)
            near = {n for n in range(last + 1) if abs(n - middle) <= 1}
            assert {*actual[row, position].nonzero().flatten().tolist()} == near


def test_additive_scores_are_those_of_the_paper():
    made, given = system(**attention(score="additive", query_state="previous")), batch()
    decoder, source = made.backbone.decoder, given.streams["source"]
    read = made.backbone.encode(made.embed("source", source), source)
    query, score = decoder.initial_state(read).live["hidden"][:, -1], decoder.attention.score
    for row, position in itertools.product(range(3), range(4)):
        inner = (
            score.query_proj.weight @ query[row]
            + score.query_proj.bias
            + score.key_proj.weight @ read.states[row, position]
        )
        expected = score.score.weight[0] @ torch.tanh(inner)
        actual = score(query[:, None], score.keys(read.states), None)[row, 0, position]
        torch.testing.assert_close(actual, expected)


def test_the_encoder_is_torchs_on_packed_sequences():
    made, source = system(encoder={"cell": "lstm"}), batch().streams["source"]
    theirs = torch.nn.LSTM(WIDTH // 2, WIDTH // 2, 2, batch_first=True, bidirectional=True)
    theirs.load_state_dict(made.backbone.encoder.layers.state_dict())
    vectors = made.embed("source", source)
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        vectors, source.mask.sum(1), batch_first=True, enforce_sorted=False
    )
    states, (hidden, cell) = theirs(packed)
    states, _ = torch.nn.utils.rnn.pad_packed_sequence(states, batch_first=True)
    actual = made.backbone.encoder.encode(vectors, source)
    torch.testing.assert_close(actual.states * source.mask[..., None], states)
    torch.testing.assert_close(actual.state.live["hidden"], hidden.transpose(0, 1))
    torch.testing.assert_close(actual.state.live["cell"], cell.transpose(0, 1))


def test_a_reversed_source_is_encoded_from_its_end_and_attended_to_in_its_order():
    alike = {"cell": "lstm", "width": WIDTH, "bidirectional": "no"}
    settings = {"encoder": alike, "decoder": alike, "bridge": "copy", **attention(score="dot")}
    plain, turned = system(**settings), system(**settings, reverse_source=True)
    source = texts(6, (6, 4), 3)
    backwards = torch.stack([torch.cat([row[:n].flip(0), row[n:]]) for row, n in zip(source.ids, (6, 4), strict=True)])
    one = turned.backbone.encode(turned.embed("source", source), source)
    other = plain.backbone.encode(plain.embed("source", Tokens(backwards, source.mask)), Tokens(backwards, source.mask))
    torch.testing.assert_close(one.live, other.live)
    torch.testing.assert_close(one.states[0], other.states[0].flip(0))
    torch.testing.assert_close(one.states[1, :4], other.states[1, :4].flip(0))


def test_several_hypotheses_share_a_source():
    made, given = system(**attention(input_feeding=True)), batch()
    stepper, source = Seq2SeqStepper(made, SIZE), given.streams["source"]
    start = torch.full((3, 1), 5)
    state = stepper.start(Batch({"source": source, "text": Tokens(start, start > 0)}, {}))
    _, state = stepper.step(start[:, 0], state)
    twice = state.reorder(torch.tensor([0, 0, 1, 1, 2, 2]))
    tokens = torch.tensor([8, 9, 10, 11, 12, 13])
    together, after = stepper.step(tokens, twice)
    assert after.live[ALIGNMENT].shape == (6, 9)
    for column in (0, 1):
        alone, _ = stepper.step(tokens[column::2], state)
        torch.testing.assert_close(together[column::2], alone)


# --- copying, coverage, label smoothing -----------------------------------------------------------------------------


def test_copied_tokens_are_mixed_in_by_their_attention_weights():
    made, given = system(head=schema.PointerGeneratorHead(), **attention(score="additive")), batch()
    encoded, ids = made.encode(given), given.streams["source"].ids
    probabilities = made.objective.log_probabilities(made, given).exp()
    torch.testing.assert_close(probabilities.sum(-1), torch.ones(3, 7))
    gate = torch.sigmoid(made.head.gate(encoded.states)).squeeze(-1)
    own = F.linear(made.head.project_states(encoded.states), made.embedding_weight, made.head.bias).softmax(-1)
    for row, position, token in itertools.product(range(3), range(3), range(7, SIZE)):
        copied = encoded.alignment[row, position][ids[row] == token].sum()
        expected = gate[row, position] * own[row, position, token] + (1 - gate[row, position]) * copied
        torch.testing.assert_close(probabilities[row, position, token], expected)
    target = given.targets["target"]
    loss = -(probabilities.gather(-1, target.values[..., None]).squeeze(-1).log() * target.weight).sum()
    torch.testing.assert_close(made(given)[0][0].sum, loss)


@pytest.mark.parametrize("bias", [False, True])
def test_label_smoothing_is_torchs(bias):
    made, given = system(head=schema.LMHead(bias=bias), objective=schema.Seq2Seq(label_smoothing=0.2)), batch()
    made.train()  # there is no dropout
    if bias:
        torch.nn.init.normal_(made.head.bias)
    terms, target = made(given)[0], given.targets["target"]
    logits = F.linear(made.head.project_states(made.encode(given).states), made.embedding_weight, made.head.bias)
    real = target.weight > 0
    expected = F.cross_entropy(logits[real], target.values[real], label_smoothing=0.2, reduction="sum")
    torch.testing.assert_close(sum(term.weight * term.sum for term in terms), expected)
    assert made.objective.counts(given) == {"tokens": 15.0, "smoothing": 15.0}
    assert [term.name for term in made.eval()(given)[0]] == [
        "tokens"
    ]  # evaluation reports the negative log-likelihood alone


def test_the_coverage_loss_is_a_term():
    made, given = (
        system(objective=schema.Seq2Seq(coverage_weight=0.5), **attention(score="additive", coverage=True)),
        batch(),
    )
    made.train()
    terms = {term.name: term for term in made(given)[0]}
    weights, total = made.encode(given).alignment, 0.0
    for row, length in enumerate((5, 7, 3)):
        for position in range(length):
            total += torch.minimum(weights[row, position], weights[row, :position].sum(0)).sum()
    torch.testing.assert_close(terms["coverage"].sum, total)
    assert terms["coverage"].weight == 0.5


# --- what does not fit ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"decoder": {"bidirectional": "average"}}, "cannot generate"),
        ({"bridge": "copy"}, "cannot be copied to the decoder"),
        ({"bridge": "none", **attention(score="none")}, "does not depend on the source"),
        (attention(score="none", input_feeding=True), "need attention"),
        (attention(score="dot") | {"encoder": {"width": 5}}, "needs equal widths"),
        (attention(score="dot", coverage=True), "coverage needs the additive score"),
        ({"head": schema.PointerGeneratorHead(), **attention(score="none")}, "need an RNN decoder with attention"),
        (
            {"head": schema.PointerGeneratorHead(), "objective": schema.Seq2Seq(label_smoothing=0.1)},
            "does not support label smoothing",
        ),
        ({"head": schema.PointerGeneratorHead(sampled_softmax=9)}, "needs the full softmax"),
        (
            {"head": schema.PointerGeneratorHead(), "data": schema.TextToText(vocabularies="separate")},
            "needs one vocabulary for source and target",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(settings, message):
    with pytest.raises(FirthError, match=message):
        system(**settings)


def test_a_source_beyond_the_positions_of_the_location_score_is_refused():
    made = system(**attention(score="location"))
    with pytest.raises(FirthError, match="the source has 17 tokens"):
        made.encode(batch(sources=(17, 3, 3)))


def test_a_transformer_may_decode_what_a_recurrent_network_encodes():
    reader = schema.Recurrent(cell="gru", width=8, bidirectional="concatenate", depth=1)
    writer = schema.Transformer(width=16, depth=1, heads=2)
    config = schema.Neural(
        batching=schema.SourceTarget(length=14),
        backbone=schema.EncoderDecoder(reader, writer),
        inputs=schema.Inputs(text=schema.TokenInput(width=16)),
        objective=schema.Seq2Seq(),
    )
    made, given = build(config, SIZE).eval(), batch()
    (term,) = made(given)[0]
    assert torch.isfinite(term.sum)
    backbone = replace(
        config.backbone, encoder=schema.Transformer(width=16, depth=1, heads=2, mask="bidirectional"), decoder=reader
    )
    backbone = replace(backbone, decoder=replace(reader, bidirectional="no", width=16))
    other = build(replace(config, backbone=backbone), SIZE).eval()
    assert torch.isfinite(other(given)[0][0].sum)


def test_each_side_may_have_its_own_embeddings():
    config = schema.Neural(
        batching=schema.SourceTarget(length=14),
        backbone=schema.EncoderDecoder(schema.Recurrent(width=8), schema.Recurrent(width=8)),
        objective=schema.Seq2Seq(),
    )
    made = build(config, Sizes(SIZE, {"source": 90})).eval()
    assert made.inputs["source"].weight.shape == (90, 8) and made.inputs["text"].weight.shape == (SIZE, 8)
    given = batch()
    moved = replace(given.streams["source"], ids=given.streams["source"].ids + 45)
    assert torch.isfinite(made(replace(given, streams={**given.streams, "source": moved}))[0][0].sum)


def test_a_stream_may_have_an_input_of_its_own():
    own = {"source": schema.TokenInput(dropout=0.5), "target": schema.TokenInput(table_size=40)}
    config = schema.Neural(
        batching=schema.SourceTarget(length=14),
        backbone=schema.EncoderDecoder(schema.Recurrent(width=8), schema.Recurrent(width=8)),
        objective=schema.Seq2Seq(),
    )
    both = replace(config, inputs=schema.Inputs(own, text=schema.TokenInput()))
    made = build(both, SIZE)
    assert list(made.inputs) == ["source", "target"]
    assert made.embedding_weight is made.inputs["target"].weight and len(made.embedding_weight) == 40
    assert made.head.bias.shape == (40,)
    (term,) = made(batch())[0]
    term.sum.backward()
    assert all(parameter.grad is not None for parameter in made.parameters())
    one = build(replace(config, inputs=schema.Inputs(text=schema.TokenInput(), source=own["source"])), SIZE)
    assert list(one.inputs) == ["text", "source"] and one.input_of("target") is one.inputs["text"]
    with pytest.raises(FirthError, match=r"both inputs.text.width = 8 and inputs.source.width = 4; give them the same"):
        build(replace(config, inputs=schema.Inputs(text=schema.TokenInput(), source=schema.TokenInput(width=4))), SIZE)
