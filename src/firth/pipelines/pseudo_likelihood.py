"""Pseudo-log-likelihood of texts under a masked language model (Wang and Cho 2019; Salazar et al. 2020): each token is
masked by itself and predicted from all others, and the log-probabilities are summed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from firth.datasets.token_cache import byte_histogram
from firth.errors import FirthError
from firth.metrics.perplexity import ByteModel
from firth.pipelines.continuations import Group, Likelihoods, common_prefix, join_context
from firth.pipelines.encode_texts import group_by_length
from firth.training.loop import autocast

if TYPE_CHECKING:
    from firth.pipelines.fill_mask import MaskedLMModel


class _Masked(NamedTuple):
    """A sequence with special tokens, the position that is masked, and whose text it is."""

    ids: list[int]
    position: int
    text: int


def pseudo_likelihoods(model: MaskedLMModel, groups: Sequence[Group]) -> list[Likelihoods]:
    """The pseudo-log-likelihood of each text of each group: of its tokens after those that all of the group share with
    the context, given these too."""
    sequences = list(_sequences(model, groups))
    masked = [
        _Masked(ids, position, number)
        for number, (ids, start) in enumerate(sequences)
        for position in range(start, len(ids) - 1)
    ]
    sums = np.zeros(len(sequences))
    np.add.at(sums, [each.text for each in masked], _log_probabilities(model, masked))
    sums -= _oov_nll(model, [text for _, texts in groups for text in texts])
    counts = np.array([len(ids) - 1 - start for ids, start in sequences])
    ends = np.cumsum([len(texts) for _, texts in groups])[:-1]
    return [Likelihoods(*pair) for pair in zip(np.split(sums, ends), np.split(counts, ends), strict=True)]


def _sequences(model: MaskedLMModel, groups: Sequence[Group]) -> Iterator[tuple[list[int], int]]:
    """For each text [CLS] context text [SEP] and where the text starts; a long context loses its beginning."""
    special, limit = model.tokenizer.special, model.system.backbone.max_length
    for context, texts in groups:
        before, *rows = model.tokenizer.encode_batch([context, *(join_context(context, text) for text in texts)])
        start = common_prefix(before, rows) if context else 0
        for row in rows:
            lost = max(0, len(row) + 2 - limit) if limit else 0
            if lost > start:
                what = f"{len(row) - start:,} tokens of a text, and this model takes at most {limit:,} at once"
                raise FirthError(what, do="give shorter texts")
            yield [special.cls, *row[lost:], special.sep], start - lost + 1


@torch.no_grad()
def _log_probabilities(model: MaskedLMModel, masked: Sequence[_Masked]) -> np.ndarray:
    """The log-probability of the token at each masked position (masked,)."""
    values = np.zeros(len(masked))
    for indices in group_by_length([len(each.ids) for each in masked]):
        rows = [masked[index] for index in indices]
        batch = model.batch([_with_mask(each, model.tokenizer.special.mask) for each in rows])
        positions = torch.tensor([each.position for each in rows])
        with autocast(model.config.train):
            log_probs = model.log_probs_at(batch, positions)
        gold = torch.tensor([each.ids[each.position] for each in rows])
        values[indices] = log_probs.gather(1, gold[:, None])[:, 0].double().numpy()
    return values


def _with_mask(each: _Masked, mask: int) -> list[int]:
    return [*each.ids[: each.position], mask, *each.ids[each.position + 1 :]]


def _oov_nll(model: MaskedLMModel, texts: Sequence[str]) -> np.ndarray:
    """NLL (nats) of each text's out-of-vocabulary words, spelled in bytes."""
    byte_model = ByteModel(model.run.record.data["byte_counts"])
    encoded = model.tokenizer.encode_batch_with_oov(list(texts))
    return np.array([byte_model.nll(byte_histogram([each.oov_bytes]), each.oov_count) for each in encoded])
