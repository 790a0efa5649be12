"""What every model that was trained on text can do with it: find its own splits again, read others, sign scores."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from firth.data.cache import Split, default_cache, tokenised
from firth.data.corpus import Documents, documents
from firth.data.sources import kept, open_source
from firth.errors import FirthError, unknown
from firth.metrics.language import perplexity
from firth.metrics.score import signature
from firth.runs.folder import Run
from firth.text.tokenizer import Tokenizer


class TextModel:
    """A trained model with its run and its tokenizer."""

    lightened = ""  # the form that its matrices have, where it is not that of training
    figure = staticmethod(perplexity)  # what is told while it is trained, of the objective's yardstick: sum and count

    def __init__(self, run: Run, tokenizer: Tokenizer, context: str, precision: str) -> None:
        self.run, self.tokenizer, self._context, self._precision = run, tokenizer, context, precision
        self.config = run.record.config

    def part(self, text: str | Iterable[str] | None = None, split: str = "test", cache: Path | None = None) -> Split:
        """A split of the run's own text, or other text (a name or documents), tokenised."""
        cache = cache or default_cache()
        return self._split(split, cache) if text is None else self._other(text, cache)

    def documents(self, cache: Path | None = None) -> dict[str, Documents]:
        """The splits of the run's own text; refused if it is no longer the one that it was trained on."""
        known = self.run.record.data["splits"]
        found = documents(self.config.data, self.config.seed, cache or default_cache())
        for name, key in known.items():
            if found[name].key != key:
                do = "restore it, or give the new text with --text"
                where = found[name].source.describe()
                raise FirthError("the text has changed since the run was trained", where=where, do=do)
        return found

    def _split(self, name: str, cache: Path) -> Split:
        known = self.run.record.data["splits"]
        if not known:
            raise FirthError("an imported model has no text of its own", where=self.run.path, do="give it with --text")
        if name not in known:
            raise unknown("split", name, known)
        found = self.documents(cache)[name]
        return tokenised(cache, name, found.key, found, self.tokenizer, account=True)

    def _other(self, text: str | Iterable[str], cache: Path) -> Split:
        names = str(text).split(",") if isinstance(text, (str, Path)) else (kept(text, cache / "spool"),)
        source = open_source(names, self.config.data, cache / "spool")
        return tokenised(cache, "given", Documents(source).key, source, self.tokenizer, account=True)

    def _signature(self, part: Split) -> str:
        return self.signed(split=part.name, data=part.key[:8])

    def signed(self, **parts: object) -> str:
        """The signature of a score of this model: how it came about, and what the model reads."""
        about = {"tok": f"{self.tokenizer.kind}/{self.tokenizer.hash[:8]}", "ctx": self._context}
        return signature({**about, **parts, "prec": self.lightened or self._precision})
