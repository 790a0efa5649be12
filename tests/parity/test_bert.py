"""BERT's pre-training loss against Hugging Face's, with the same weights: masked tokens and next sentence."""

import pytest
import torch
from copying import put, put_block

from firth.config import schema
from firth.errors import FirthError
from firth.models.build import build
from firth.types import Batch, Target, Tokens
from transformer_options import transformer

transformers = pytest.importorskip("transformers")


def bert(pairs="next-sentence", **change):
    backbone = transformer(
        width=32,
        depth=2,
        heads=4,
        activation="gelu",
        norm_placement="post",
        norm_embeddings=True,
        epsilon=1e-12,
        mask="bidirectional",
    )
    config = schema.Neural(
        batching=schema.SegmentPairs(length=24, pairs=pairs),
        inputs=schema.Inputs(text=schema.TokenInput(segments=2)),
        backbone=backbone,
        head=schema.LMHead(transform=True),
        objective=schema.MaskedLM(**{"next_sentence": True, **change}),
    )
    return build(config, 50).eval()


def theirs():
    config = transformers.BertConfig(
        vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
        max_position_embeddings=24, hidden_dropout_prob=0, attention_probs_dropout_prob=0,
    )  # fmt: skip
    model = transformers.BertForPreTraining(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3)
    return model


@torch.no_grad()
def copy_bert(his, mine):
    embeddings = his.bert.embeddings
    mine.inputs["text"].weight.copy_(embeddings.word_embeddings.weight)
    mine.inputs["text"].segments.copy_(embeddings.token_type_embeddings.weight)
    mine.backbone.positions.weight.copy_(embeddings.position_embeddings.weight)
    put(mine.backbone.input_norm, embeddings.LayerNorm)
    for block, layer in zip(mine.backbone.blocks, his.bert.encoder.layer, strict=True):
        put_block(block, layer)
    put(mine.head.projection.dense, his.cls.predictions.transform.dense)
    put(mine.head.projection.norm, his.cls.predictions.transform.LayerNorm)
    mine.head.bias.copy_(his.cls.predictions.bias)
    put(mine.objective.next_sentence.pooler, his.bert.pooler.dense)
    # theirs says 0 where the second segment goes on, ours 1
    mine.objective.next_sentence.classifier.weight.copy_(his.cls.seq_relationship.weight.flip(0))
    mine.objective.next_sentence.classifier.bias.copy_(his.cls.seq_relationship.bias.flip(0))


@pytest.mark.parametrize("time", [9, 24])
def test_the_loss_of_pre_training_equals_theirs(time):
    torch.manual_seed(time)
    his, mine = theirs(), bert()
    copy_bert(his, mine)
    ids = torch.randint(7, 50, (3, time))
    mask = torch.arange(time) < torch.tensor([time, time - 3, time - 1])[:, None]
    segment = (torch.arange(time) >= 4).long().expand(3, -1)
    masked = (torch.rand(3, time) < 0.3) & mask
    masked[0, 1] = True
    goes_on = torch.tensor([1, 0, 1])
    follows, is_cls = torch.zeros(3, time, dtype=torch.long), torch.zeros(3, time)
    follows[:, 0], is_cls[:, 0] = goes_on, 1.0
    targets = {"text": Target(ids.roll(1, 0), masked.float()), "next": Target(follows, is_cls)}
    batch = Batch({"text": Tokens(ids, mask, segment=segment)}, targets)
    actual = his(ids, mask, segment, labels=ids.roll(1, 0).masked_fill(~masked, -100), next_sentence_label=1 - goes_on)
    terms, _ = mine(batch)
    assert [term.name for term in terms] == ["tokens", "next"]
    loss = sum(term.weight * term.sum / term.count for term in terms)
    torch.testing.assert_close(loss, actual.loss, atol=1e-5, rtol=1e-5)
    logits = mine.log_probabilities(mine.encode(batch).states)[mask]
    torch.testing.assert_close(logits, actual.prediction_logits.log_softmax(-1)[mask], atol=1e-5, rtol=1e-5)


def test_several_pairs_in_a_sequence_are_predicted_each_at_its_own_cls():
    system = bert()
    ids = torch.randint(7, 50, (1, 20))
    documents = torch.tensor([[1] * 12 + [2] * 8])
    follows, is_cls = torch.zeros(1, 20, dtype=torch.long), torch.zeros(1, 20)
    is_cls[0, [0, 12]], follows[0, 12] = 1.0, 1
    nothing = Target(ids, torch.zeros(1, 20))

    def batch(first, last, document):
        rows = slice(first, last)
        text = Tokens(ids[:, rows], torch.ones(1, last - first, dtype=torch.bool), document)
        targets = {"text": Target(nothing.values[:, rows], nothing.weight[:, rows])}
        return Batch({"text": text}, {**targets, "next": Target(follows[:, rows], is_cls[:, rows])})

    with torch.no_grad():
        together = system(batch(0, 20, documents))[0][1]
        apart = [system(batch(first, last, None))[0][1] for first, last in ((0, 12), (12, 20))]
    assert together.count == 2
    torch.testing.assert_close(together.sum, sum(term.sum for term in apart), atol=1e-5, rtol=1e-5)


def test_next_sentence_prediction_needs_pairs():
    with pytest.raises(FirthError, match="needs segment pairs"):
        bert(pairs="none")
