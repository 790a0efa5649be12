"""The tagging head: its loss over words, the same whether words come from subwords or not; several layers of tags."""

import itertools

import pytest
import torch

from firth.config import schema
from firth.models.heads.tagging import TaggingHead
from firth.models.heads.task_head import METRIC
from firth.types import Encoded, Target, Tokens

LABELS = {"pos": 3, "ner": 4}


def head(decoder, **options):
    torch.manual_seed(1)
    made = TaggingHead(schema.TaggingHead(decoder=decoder, **options), LABELS, 5, 5)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_(std=0.7)
    return made.eval()


def targets(mask):
    values = {name: torch.randint(count, mask.shape, generator=torch.manual_seed(2)) for name, count in LABELS.items()}
    return {name: Target(each, mask.float()) for name, each in values.items()}


@pytest.mark.parametrize("decoder", ["softmax", "crf"])
def test_the_loss_is_that_of_all_taggings(decoder):
    made, states = head(decoder, hidden=6), torch.randn(2, 4, 5)
    mask = torch.tensor([[True] * 4, [True, True, False, False]])
    gold, encoded = targets(mask), Encoded(states, mask)
    found = {term.name: term for term in made.loss(encoded, gold)}
    assert {name: term.count for name, term in found.items()} == {"pos": 6.0, "ner": 6.0, METRIC: 12.0}
    with torch.no_grad():
        emissions, _ = made.emissions(encoded)
    hits = 0
    for name, count in LABELS.items():
        chain, loss = made.chain(name), 0.0
        for row, length in enumerate((4, 2)):
            scores = {}
            for tags in itertools.product(range(count), repeat=length):
                score = sum(float(emissions[name][row, at, tag]) for at, tag in enumerate(tags))
                score += chain.start[tags[0]] + chain.end[tags[-1]]
                scores[tags] = score + sum(chain.transitions[pair] for pair in itertools.pairwise(tags))
            right = tuple(gold[name].values[row, :length].tolist())
            loss += float(torch.tensor(list(scores.values())).logsumexp(0)) - scores[right]
            best = max(scores, key=scores.get)
            hits += sum(one == other for one, other in zip(best, right, strict=True))
        assert float(found[name].sum.detach()) == pytest.approx(loss, abs=1e-4)
    assert float(found[METRIC].sum) == hits


@pytest.mark.parametrize("decoder", ["softmax", "crf"])
def test_words_of_subwords_are_tagged_like_words(decoder):
    made, states = head(decoder), torch.randn(1, 3, 5)
    word_of = torch.tensor([[-1, 0, 0, 1, 2, 2, -1]])
    tokens = torch.randn(1, 7, 5)
    tokens[0, [1, 3, 4]] = states[0]
    stream = Tokens(torch.zeros_like(word_of), torch.ones_like(word_of, dtype=torch.bool), word_of=word_of)
    ours = made.scores(Encoded(tokens, stream.mask, tokens=stream))
    theirs = made.scores(Encoded(states, torch.ones(1, 3, dtype=torch.bool)))
    for name in LABELS:
        torch.testing.assert_close(ours[name], theirs[name])
        torch.testing.assert_close(ours[name].sum(-1), torch.ones(1, 3))


def test_a_word_whose_tag_is_unknown_may_have_any():
    made, mask = head("crf"), torch.ones(1, 3, dtype=torch.bool)
    states, gold = torch.randn(1, 3, 5), targets(mask)
    weight = torch.tensor([[1.0, 0.0, 1.0]])
    known = {name: Target(each.values, weight) for name, each in gold.items()}
    unknown = {term.name: term.sum for term in made.loss(Encoded(states, mask), known)}
    for name, count in LABELS.items():
        each = []
        for tag in range(count):
            values = gold[name].values.clone()
            values[0, 1] = tag
            given = {**gold, name: Target(values, torch.ones(1, 3))}
            each.append(-next(term.sum for term in made.loss(Encoded(states, mask), given) if term.name == name))
        torch.testing.assert_close(-unknown[name], torch.stack(each).logsumexp(0), atol=1e-4, rtol=1e-4)
