"""Sequence tagging with a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import torch

from firth.datasets.collators.batches import make_batches
from firth.datasets.word_dataset import WordSplit, encode_sentences
from firth.generation.structured.linear_chain import LinearChain
from firth.models.build import System
from firth.pipelines.tag import BaseTagger, Sentence
from firth.runs.run_folder import Run
from firth.tokenizers.tokenizer import Tokenizer
from firth.training.loop import autocast


class NeuralTagger(BaseTagger):
    """A trained neural tagger: what `firth.load` returns for one."""

    def __init__(self, run: Run, tokenizer: Tokenizer | None, system: System) -> None:
        self.run, self.system, self.config = run, system, run.record.config
        self.tokenizers = run.tokenizers()
        self.tokenizer = tokenizer

    @property
    def metric(self) -> str:
        """The metric that is logged during training."""
        return str(self.system.head.metric)

    @staticmethod
    def metric_value(total: float, count: float) -> float:
        """The metric that is logged during training, from its sum and count."""
        return total / count

    def emissions(self, sentences: Sequence[Sentence]) -> list[Mapping[str, np.ndarray]]:
        """The score of each tag at each word by layer, (words, tags), for each sentence."""
        split = encode_sentences(sentences, self.labels, self.tokenizers, self.config)
        whole = self._emissions(split)
        edges = np.cumsum([0, *map(len, sentences)]).tolist()
        return [{layer: scores[first:last] for layer, scores in whole.items()} for first, last in pairwise(edges)]

    @torch.inference_mode()
    def _emissions(self, split: WordSplit) -> dict[str, np.ndarray]:
        """The scores at every word of a split (words, tags), whatever the rows that they are computed in."""
        whole = {layer: np.zeros((len(split.ids), len(names))) for layer, names in self.labels.items()}
        special = next(iter(self.tokenizers.values())).special if self.tokenizers else None
        for batch in make_batches(self.config.batching, split, special, 0).evaluation_batches():
            with autocast(self.config.train):
                result, mask = self.system.head.emissions(self.system.encode(batch.to()))
            real = mask.numpy()
            for layer, scores in result.items():
                positions = batch.targets[layer].positions[:, : real.shape[1]]
                whole[layer][positions[real]] = scores.numpy()[real]
        return whole

    def chain(self, layer: str) -> LinearChain:
        """The scores of neighbouring tags of a layer."""
        result: LinearChain = self.system.head.chain(layer)
        return result

    def signature_fields(self) -> dict[str, object]:
        """The tokenizers, for signatures."""
        parts = [f"{each.kind}/{each.hash[:8]}" for each in self.tokenizers.values()]
        return {"tok": "+".join(parts) or "none", "ctx": self.config.batching.kind}
