"""Laws of recurrent networks that write what they have read: over cells, ways of looking, bridges."""

import itertools
from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from firth.build import build
from firth.config import schema
from firth.errors import FirthError
from firth.families.writer import Writer
from firth.types import ALIGNMENT, Batch, Target, Tokens

SIZE = 40  # of the vocabulary
WIDTH = 12
SCORES = ["additive", "dot", "scaled", "general", "concat", "cosine", "location"]


def system(encoder=None, decoder=None, **change):
    cell = {"cell": "gru", "width": WIDTH, "depth": 2, "spread": 0.4}
    both = schema.Recurrent(**{**cell, "width": WIDTH // 2, "directions": "concatenated", **(encoder or {})})
    written = schema.Recurrent(**{**cell, **(decoder or {})})
    joined = {name: change.pop(name) for name in ("looks", "bridge", "reverse") if name in change}
    settings = {"head": schema.LanguageHead(), "objective": schema.Written(), **change}
    backbone = schema.EncoderDecoder(both, written, **joined)
    config = schema.Neural(batching=schema.Pairs(length=14), backbone=backbone, **settings)
    return build(config, SIZE).eval()


def texts(time, lengths, seed):
    ids = torch.randint(7, SIZE, (len(lengths), time), generator=torch.Generator().manual_seed(seed))
    mask = torch.arange(time) < torch.tensor(lengths)[:, None]
    return Tokens(ids * mask, mask)


def batch(sources=(9, 4, 6), targets=(5, 7, 3)):
    target = texts(max(targets), targets, 2)
    told = Target(target.ids, target.mask.float())
    return Batch({"source": texts(max(sources), sources, 1), "target": target}, {"target": told})


def looking(**options):
    return {"looks": schema.Looking(**options)}


WAYS = [
    looking(score=score, when=when, feeding=feeding)
    for score, when, feeding in itertools.product(SCORES, ("before", "after"), (False, True))
]
WAYS += [
    looking(reach=reach, window=2, when=when) for reach in ("monotonic", "predicted") for when in ("before", "after")
]
WAYS += [looking(score="additive", coverage=True), looking(score="none"), looking(score="none") | {"reverse": True}]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: str(way)[-60:])
@torch.no_grad()
def test_what_is_written_step_by_step_is_what_is_written_at_once_whatever_the_company(way):
    made, given = system(**way), batch()
    source, target = given.streams["source"], given.streams["target"]
    whole = made.objective.chances(made, given)
    stepper = Writer(made, SIZE)
    state = stepper.start(Batch({"source": source, "text": Tokens(target.ids[:, :1], target.mask[:, :1])}, {}))
    for place in range(target.ids.shape[1]):
        found, state = stepper.step(target.ids[:, place], state)
        here = target.mask[:, place]
        torch.testing.assert_close(found[here], whole[here, place], atol=1e-5, rtol=1e-5)
    for row in range(3):
        read, told = int(source.mask[row].sum()), int(target.mask[row].sum())
        streams = {"source": (source, read), "target": (target, told)}
        alone = Batch(
            {n: Tokens(t.ids[row : row + 1, :k], t.mask[row : row + 1, :k]) for n, (t, k) in streams.items()}, {}
        )
        torch.testing.assert_close(made.objective.chances(made, alone)[0], whole[row, :told], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: str(way)[-60:])
def test_weights_are_of_real_tokens_and_sum_to_one(way):
    made, given = system(**way), batch()
    found = made.encode(given).alignment
    if way["looks"].score == "none":
        assert found is None
        return
    assert not found[~given.streams["source"].mask[:, None].expand_as(found)].any()
    if way["looks"].reach == "predicted":  # a bell takes from what is not in its middle
        assert (found.sum(-1) <= 1 + 1e-5).all() and (found.sum(-1) > 0.1).all()
    else:
        torch.testing.assert_close(found.sum(-1), torch.ones(found.shape[:2]))


def test_a_window_moves_on_with_what_is_written_and_stops_at_the_end_of_the_source():
    given = batch(sources=(9, 3), targets=(8, 8))
    found = system(**looking(reach="monotonic", window=1)).encode(given).alignment
    for row, last in ((0, 8), (1, 2)):
        for place in range(8):
            middle = min(place, last)
            near = {n for n in range(last + 1) if abs(n - middle) <= 1}
            assert {*found[row, place].nonzero().flatten().tolist()} == near


def test_additive_scores_are_those_of_the_paper():
    made, given = system(**looking(score="additive", when="before")), batch()
    decoder, source = made.backbone.decoder, given.streams["source"]
    read = made.backbone.read(made.vectors("source", source), source)
    query, score = decoder.begin(read).live["hidden"][:, -1], decoder.look.score
    for row, place in itertools.product(range(3), range(4)):
        inner = (
            score.of_state.weight @ query[row] + score.of_state.bias + score.of_source.weight @ read.states[row, place]
        )
        wanted = score.score.weight[0] @ torch.tanh(inner)
        found = score(query[:, None], score.keys(read.states), None)[row, 0, place]
        torch.testing.assert_close(found, wanted)


def test_the_encoder_is_torchs_on_packed_rows():
    made, source = system(encoder={"cell": "lstm"}), batch().streams["source"]
    theirs = torch.nn.LSTM(WIDTH // 2, WIDTH // 2, 2, batch_first=True, bidirectional=True)
    theirs.load_state_dict(made.backbone.encoder.layers.state_dict())
    vectors = made.vectors("source", source)
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        vectors, source.mask.sum(1), batch_first=True, enforce_sorted=False
    )
    states, (hidden, cell) = theirs(packed)
    states, _ = torch.nn.utils.rnn.pad_packed_sequence(states, batch_first=True)
    found = made.backbone.encoder.read(vectors, source)
    torch.testing.assert_close(found.states * source.mask[..., None], states)
    torch.testing.assert_close(found.state.live["hidden"], hidden.transpose(0, 1))
    torch.testing.assert_close(found.state.live["cell"], cell.transpose(0, 1))


def test_a_reversed_source_is_read_from_its_end_and_looked_at_in_its_order():
    alike = {"cell": "lstm", "width": WIDTH, "directions": "left"}
    settings = {"encoder": alike, "decoder": alike, "bridge": "same", **looking(score="dot")}
    plain, turned = system(**settings), system(**settings, reverse=True)
    source = texts(6, (6, 4), 3)
    backwards = torch.stack([torch.cat([row[:n].flip(0), row[n:]]) for row, n in zip(source.ids, (6, 4), strict=True)])
    one = turned.backbone.read(turned.vectors("source", source), source)
    other = plain.backbone.read(plain.vectors("source", Tokens(backwards, source.mask)), Tokens(backwards, source.mask))
    torch.testing.assert_close(one.live, other.live)
    torch.testing.assert_close(one.states[0], other.states[0].flip(0))
    torch.testing.assert_close(one.states[1, :4], other.states[1, :4].flip(0))


def test_several_hypotheses_share_a_source():
    made, given = system(**looking(feeding=True)), batch()
    stepper, source = Writer(made, SIZE), given.streams["source"]
    start = torch.full((3, 1), 5)
    state = stepper.start(Batch({"source": source, "text": Tokens(start, start > 0)}, {}))
    _, state = stepper.step(start[:, 0], state)
    twice = state.pick(torch.tensor([0, 0, 1, 1, 2, 2]))
    tokens = torch.tensor([8, 9, 10, 11, 12, 13])
    together, after = stepper.step(tokens, twice)
    assert after.live[ALIGNMENT].shape == (6, 9)
    for column in (0, 1):
        alone, _ = stepper.step(tokens[column::2], state)
        torch.testing.assert_close(together[column::2], alone)


# --- copying, coverage, smoothing -----------------------------------------------------------------------------------


def test_copied_tokens_are_mixed_in_by_how_much_they_are_looked_at():
    made, given = system(head=schema.CopyingHead(), **looking(score="additive")), batch()
    encoded, ids = made.encode(given), given.streams["source"].ids
    chances = made.objective.chances(made, given).exp()
    torch.testing.assert_close(chances.sum(-1), torch.ones(3, 7))
    gate = torch.sigmoid(made.head.gate(encoded.states)).squeeze(-1)
    own = F.linear(made.head.before(encoded.states), made.table, made.head.bias).softmax(-1)
    for row, place, token in itertools.product(range(3), range(3), range(7, SIZE)):
        copied = encoded.alignment[row, place][ids[row] == token].sum()
        wanted = gate[row, place] * own[row, place, token] + (1 - gate[row, place]) * copied
        torch.testing.assert_close(chances[row, place, token], wanted)
    told = given.targets["target"]
    loss = -(chances.gather(-1, told.values[..., None]).squeeze(-1).log() * told.weight).sum()
    torch.testing.assert_close(made(given)[0][0].sum, loss)


@pytest.mark.parametrize("bias", [False, True])
def test_smoothed_labels_are_torchs(bias):
    made, given = system(head=schema.LanguageHead(bias=bias), objective=schema.Written(smoothing=0.2)), batch()
    made.train()  # there is no dropout
    if bias:
        torch.nn.init.normal_(made.head.bias)
    terms, told = made(given)[0], given.targets["target"]
    logits = F.linear(made.head.before(made.encode(given).states), made.table, made.head.bias)
    real = told.weight > 0
    wanted = F.cross_entropy(logits[real], told.values[real], label_smoothing=0.2, reduction="sum")
    torch.testing.assert_close(sum(term.weight * term.sum for term in terms), wanted)
    assert made.objective.counts(given) == {"tokens": 15.0, "smoothing": 15.0}
    assert [term.name for term in made.eval()(given)[0]] == ["tokens"]  # what is told is surprise alone


def test_looking_twice_at_the_same_tokens_is_a_term():
    made, given = system(objective=schema.Written(coverage=0.5), **looking(score="additive", coverage=True)), batch()
    made.train()
    terms = {term.name: term for term in made(given)[0]}
    weights, total = made.encode(given).alignment, 0.0
    for row, length in enumerate((5, 7, 3)):
        for place in range(length):
            total += torch.minimum(weights[row, place], weights[row, :place].sum(0)).sum()
    torch.testing.assert_close(terms["coverage"].sum, total)
    assert terms["coverage"].weight == 0.5


# --- what does not fit ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"decoder": {"directions": "averaged"}}, "cannot write"),
        ({"bridge": "same"}, "does not fit the decoder"),
        ({"bridge": "none", **looking(score="none")}, "knows nothing of it"),
        (looking(score="none", feeding=True), "nothing is looked at"),
        (looking(score="dot") | {"encoder": {"width": 5}}, "cannot be multiplied"),
        (looking(score="dot", coverage=True), "know nothing of what was looked at"),
        ({"head": schema.CopyingHead(), **looking(score="none")}, "does not tell where it looks"),
        ({"head": schema.CopyingHead(), "objective": schema.Written(smoothing=0.1)}, "no share for all others"),
        ({"head": schema.CopyingHead(sampled=9)}, "needs every token's probability"),
        (
            {"head": schema.CopyingHead(), "data": schema.TaskTexts(vocabularies="separate")},
            "only into their own vocabulary",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(settings, message):
    with pytest.raises(FirthError, match=message):
        system(**settings)


def test_a_source_beyond_the_places_that_location_knows_is_refused():
    made = system(**looking(score="location"))
    with pytest.raises(FirthError, match="the source has 17 tokens"):
        made.encode(batch(sources=(17, 3, 3)))


def test_a_transformer_may_write_what_a_recurrent_network_reads():
    reader = schema.Recurrent(cell="gru", width=8, directions="concatenated", depth=1)
    writer = schema.Transformer(width=16, depth=1, heads=2)
    config = schema.Neural(
        batching=schema.Pairs(length=14),
        backbone=schema.EncoderDecoder(reader, writer),
        input=schema.TokenInput(width=16),
        objective=schema.Written(),
    )
    made, given = build(config, SIZE).eval(), batch()
    (term,) = made(given)[0]
    assert torch.isfinite(term.sum)
    backbone = replace(
        config.backbone, encoder=schema.Transformer(width=16, depth=1, heads=2, sees="all"), decoder=reader
    )
    backbone = replace(backbone, decoder=replace(reader, directions="left", width=16))
    other = build(replace(config, backbone=backbone), SIZE).eval()
    assert torch.isfinite(other(given)[0][0].sum)


def test_each_side_may_have_its_own_table():
    config = schema.Neural(
        batching=schema.Pairs(length=14),
        backbone=schema.EncoderDecoder(schema.Recurrent(width=8), schema.Recurrent(width=8)),
        objective=schema.Written(),
    )
    made = build(config, SIZE, source=90).eval()
    assert made.source_input.weight.shape == (90, 8) and made.input.weight.shape == (SIZE, 8)
    given = batch()
    moved = replace(given.streams["source"], ids=given.streams["source"].ids + 45)
    assert torch.isfinite(made(replace(given, streams={**given.streams, "source": moved}))[0][0].sum)
