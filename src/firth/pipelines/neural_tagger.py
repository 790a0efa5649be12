"""Sequence tagging with a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
import torch

from firth.datasets import labelled_dataset
from firth.datasets.collators.batches import make_batches
from firth.datasets.word_dataset import WordSplit, encode_sentences
from firth.generation.structured.linear_chain import LinearChain
from firth.generation.structured.span_marginals import TagDistribution
from firth.models.build import System
from firth.pipelines.label_predictions import run_examples
from firth.pipelines.tag import BaseTagger, Sentence
from firth.pipelines.temperature_scaling import TemperatureScaling, best_temperature
from firth.runs.run_folder import Run
from firth.tokenizers.tokenizer import Tokenizer
from firth.training.loop import autocast


class NeuralTagger(TemperatureScaling, BaseTagger):
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

    def distribute(
        self, emissions: Sequence[np.ndarray], layer: str, forbidden: LinearChain | None
    ) -> list[TagDistribution]:
        """The distribution over taggings of each sentence, all scores divided by the temperature of the layer."""
        temperature = self._temperature(layer)
        if temperature == 1.0:
            return super().distribute(emissions, layer, forbidden)
        return self._scaled(emissions, self._chain(layer, forbidden), layer, temperature)

    def _temperature(self, layer: str) -> float:
        return self.temperature(layer if len(self.labels) > 1 else "")

    def _chain(self, layer: str, forbidden: LinearChain | None) -> LinearChain:
        chain = self.chain(layer)
        return chain if forbidden is None else chain + forbidden

    def _scaled(
        self, emissions: Sequence[np.ndarray], chain: LinearChain, layer: str, temperature: float
    ) -> list[TagDistribution]:
        parts = chain.transitions, chain.start, chain.end
        scaled = LinearChain.of(*(part / temperature for part in parts))
        scores = [np.asarray(each, np.float64) / temperature for each in emissions]
        return TagDistribution.of_sentences(scores, scaled, self.labels[layer])

    def fit_temperatures(self, split: labelled_dataset.Split) -> dict[str, float]:
        """The temperature of each layer that makes the marginal probabilities of the gold tags highest."""
        emissions = self.emissions([sentence.words for sentence in split.examples])
        several, result = len(self.labels) > 1, {}
        for number, layer in enumerate(self.labels):
            column = {tag: at for at, tag in enumerate(self.labels[layer])}
            gold = [np.array([column.get(tag, -1) for tag in each.tags[number]]) for each in split.examples]
            loss = partial(self._loss, [scores[layer] for scores in emissions], gold, layer)
            result[layer if several else ""] = best_temperature(loss)
        return result

    def _loss(
        self, emissions: Sequence[np.ndarray], gold: Sequence[np.ndarray], layer: str, temperature: float
    ) -> float:
        """The mean negative log-likelihood of the gold tags that training has, by their marginals."""
        losses = []
        scaled = self._scaled(emissions, self.chain(layer), layer, temperature)
        for distribution, tags in zip(scaled, gold, strict=True):
            known = np.flatnonzero(tags >= 0)
            losses.append(-np.log(np.maximum(distribution.marginals[known, tags[known]], 1e-300)))
        return float(np.concatenate(losses).mean())

    def read_calibration(self) -> labelled_dataset.Split:
        """The split that calibrates."""
        return run_examples(self, "calibration", self.read_splits)

    def signature_fields(self) -> dict[str, object]:
        """The tokenizers, for signatures."""
        parts = [f"{each.kind}/{each.hash[:8]}" for each in self.tokenizers.values()]
        return {"tok": "+".join(parts) or "none", "ctx": self.config.batching.kind}
