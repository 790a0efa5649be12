"""The base of models trained on text: tokenised splits of their own text or of other text, signatures of scores."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from firth.datasets.sources import keep_documents, open_source
from firth.datasets.text_dataset import Documents, documents, find_overlaps
from firth.datasets.token_cache import Split, tokenise_split, usable_cache
from firth.errors import FirthError, unknown
from firth.metrics.perplexity import perplexity
from firth.metrics.score import signature
from firth.runs.run_folder import Run
from firth.runs.trained_model import TrainedModel, given_text
from firth.tokenizers.tokenizer import Tokenizer


class TextModel(TrainedModel):
    """A trained model with its run and its tokenizer."""

    weight_format = ""  # of its matrices (half, int8), where it is not that of training
    metric_value = staticmethod(perplexity)  # logged during training, from the sum and count of the objective's metric

    def __init__(self, run: Run, tokenizer: Tokenizer, context: str, precision: str) -> None:
        self.run, self.tokenizer, self._context, self._precision = run, tokenizer, context, precision
        self.config = run.record.config

    def tokenised_split(
        self, text: str | Iterable[str] | None = None, split: str = "test", cache: Path | None = None
    ) -> Split:
        """A split of the run's own text, or other text (a name or documents), tokenised."""
        cache = cache or usable_cache()
        return self._own_split(split, cache) if text is None else self._other_text(text, cache)

    def documents(self, cache: Path | None = None) -> dict[str, Documents]:
        """The splits of the run's own text; refused if the text has changed since training."""
        known = self.run.record.data["splits"]
        splits = documents(self.config.data, self.config.seed, cache or usable_cache())
        for name, key in known.items():
            if splits[name].key != key:
                do = "restore it, or give the new text with --text"
                where = splits[name].source.describe()
                raise FirthError("the text has changed since the run was trained", where=where, do=do)
        return splits

    def _own_split(self, name: str, cache: Path) -> Split:
        known = self.run.record.data["splits"]
        if not known:
            raise FirthError("an imported model has no text of its own", where=self.run.path, do="give it with --text")
        if name not in known:
            raise unknown("split", name, known)
        splits = self.documents(cache)
        own = replace(splits[name], every=self.sample_every)
        tokenised = tokenise_split(cache, self.sampled(name), own.key, own, self.tokenizer, account=True)
        return replace(tokenised, overlap=find_overlaps(splits, cache).get(name))

    def _other_text(self, text: str | Iterable[str], cache: Path) -> Split:
        text = given_text(text)
        names = text.split(",") if isinstance(text, str) else (keep_documents(text, cache / "spool"),)
        source = open_source(names, self.config.data, cache / "spool")
        return tokenise_split(cache, "given", Documents(source).key, source, self.tokenizer, account=True)

    def _signature(self, split: Split) -> str:
        return self.signed(**split.signed_fields)

    def signed(self, **fields: object) -> str:
        """The signature of a score: tokenizer, context, precision, and the fields given."""
        model = {"tok": f"{self.tokenizer.kind}/{self.tokenizer.hash[:8]}", "ctx": self._context}
        return signature({**model, **fields, "prec": self.weight_format or self._precision})
