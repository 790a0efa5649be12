"""BLEU and chrF through sacrebleu, with its signatures (Papineni et al. 2002; Popović 2015; Post 2018).

References are given as sacrebleu takes them: one sequence of texts per reference set, each as long as the hypotheses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from firth.config import bounded
from firth.errors import FirthError, unknown
from firth.metrics.corpus_metric import CorpusStatistics, digest, ratio
from firth.metrics.score import Score, parse_signature, signature

if TYPE_CHECKING:
    from collections.abc import Callable

# sacrebleu's tokenisations that download nothing, and the sacrebleu extra that some of them need.
TOKENIZATIONS = {"13a": "", "intl": "", "char": "", "zh": "", "none": "", "ja-mecab": "ja", "ko-mecab": "ko"}
SMOOTHINGS = ("exp", "floor", "add-k", "none")
_TOKENIZED = 0.5  # texts look tokenised if more than this fraction ends in a space and a full stop, ! or ?


@dataclass(frozen=True)
class MetricOptions:
    """How hypotheses are compared with references."""

    tokenize: str = ""  # of TOKENIZATIONS; empty: the metric's default (BLEU: 13a, ROUGE: words)
    lowercase: bool = False
    max_ngram_order: int = bounded(4, least=1, most=9)  # of BLEU
    smooth_method: Literal["exp", "floor", "add-k", "none"] = "exp"  # of BLEU, for zero counts (Chen and Cherry 2014)


DEFAULT_OPTIONS = MetricOptions()


def count_bleu(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    options: MetricOptions = DEFAULT_OPTIONS,
    effective_order: bool = False,
) -> CorpusStatistics:
    """BLEU's statistics of each text: lengths, clipped n-gram matches, n-grams. Corpus BLEU sums them, then divides.

    With `effective_order`, only n-gram orders that the texts are long enough for count, as suits single sentences.
    """
    metric = _bleu(options, effective_order)
    counts = _counts(metric, hypotheses, references)
    extra = {} if options.max_ngram_order == 4 else {"order": options.max_ngram_order}

    def details(sums: np.ndarray) -> dict[str, float]:
        score = metric._compute_score_from_stats(sums.tolist())
        precisions = {f"p{order}": value for order, value in enumerate(score.precisions, 1)}
        lengths = {"length": float(sums[0]), "reference_length": float(sums[1])}
        return {**precisions, "brevity_penalty": score.bp, **lengths}

    return CorpusStatistics("BLEU", counts, _compute(metric), _signature(metric, references, extra), details)


def count_chrf(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], options: MetricOptions = DEFAULT_OPTIONS
) -> CorpusStatistics:
    """chrF2's statistics of each text: character n-grams up to 6 in it, in the closest reference, and in both."""
    from sacrebleu.metrics import CHRF

    metric = CHRF(lowercase=options.lowercase)
    counts = _counts(metric, hypotheses, references)
    return CorpusStatistics("chrF2", counts, _compute(metric), _signature(metric, references))


def count_length(bleu: CorpusStatistics) -> CorpusStatistics:
    """The length ratio, hypothesis over closest reference; below 1, BLEU's brevity penalty applies."""
    return CorpusStatistics("length", bleu.counts[:, :2], ratio, bleu.signature)


def bleu(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], options: MetricOptions = DEFAULT_OPTIONS
) -> Score:
    """Corpus BLEU from 0 to 100."""
    return count_bleu(hypotheses, references, options).score()


def chrf(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], options: MetricOptions = DEFAULT_OPTIONS
) -> Score:
    """Corpus chrF2 from 0 to 100."""
    return count_chrf(hypotheses, references, options).score()


def sentence_bleu(hypothesis: str, references: Sequence[str], options: MetricOptions = DEFAULT_OPTIONS) -> Score:
    """Sentence BLEU against one or more references, smoothed, of effective order (`eff:yes` in the signature)."""
    return count_bleu([hypothesis], [[text] for text in references], options, effective_order=True).score()


def tokenize(texts: Sequence[str], options: MetricOptions = DEFAULT_OPTIONS) -> list[list[str]]:
    """The tokens that BLEU counts."""
    metric = _bleu(options, False)
    return [metric._preprocess_segment(text).split() for text in texts]


def looks_tokenized(texts: Sequence[str], options: MetricOptions) -> bool:
    """Whether texts seem to be tokenised already, so that `options.tokenize` would tokenise them twice."""
    ends = sum(text.rstrip().endswith((" .", " !", " ?")) for text in texts)
    return (options.tokenize or "13a") not in ("none", "char") and ends > _TOKENIZED * len(texts)


def check_references(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """Raise an error unless there are references, and as many in each set as there are hypotheses."""
    if not references or not hypotheses:
        raise FirthError("nothing to compare", do="give at least one text and one reference")
    for texts in references:
        if len(texts) != len(hypotheses):
            what = f"texts and references differ in number: {len(hypotheses):,} and {len(texts):,}"
            raise FirthError(what, do="give one reference for each text, in the same order")


def _bleu(options: MetricOptions, effective_order: bool) -> Any:
    """sacrebleu's BLEU; an unknown option or a missing package is an error."""
    from sacrebleu.metrics import BLEU

    name = options.tokenize or "13a"
    if name not in TOKENIZATIONS:
        raise unknown("tokenisation", name, TOKENIZATIONS)
    if options.smooth_method not in SMOOTHINGS:
        raise unknown("smoothing", options.smooth_method, SMOOTHINGS)
    try:
        return BLEU(lowercase=options.lowercase, force=True, tokenize=name, smooth_method=options.smooth_method,
                    max_ngram_order=options.max_ngram_order, effective_order=effective_order)  # fmt: skip
    except (RuntimeError, ImportError) as error:
        do = f'pip install "sacrebleu[{TOKENIZATIONS[name]}]", or choose another'
        raise FirthError(f"the tokenisation {name} needs another package", do=do) from error


# sacrebleu has no public name for its sufficient statistics. Its own significance tests use these two methods, and
# our tests check that they give its public scores.


def _counts(metric: Any, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> np.ndarray:
    check_references(hypotheses, references)
    return np.array(metric._extract_corpus_statistics(list(hypotheses), [list(texts) for texts in references]), float)


def _compute(metric: Any) -> Callable[[np.ndarray], float]:
    return lambda sums: float(metric._compute_score_from_stats(sums.tolist()).score)


def _signature(metric: Any, references: Sequence[Sequence[str]], extra: dict[str, object] | None = None) -> str:
    """sacrebleu's signature unchanged, then what it leaves out."""
    fields = parse_signature(metric.get_signature().format())
    return signature({**fields, **(extra or {}), "data": digest(references)})
