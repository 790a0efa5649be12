"""BLEU and chrF, counted by sacrebleu and signed as it signs them (Papineni et al. 2002; Popović 2015; Post 2018).

References are given as sacrebleu takes them: one sequence of texts for each reader of the source, all of one length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from firth.config import bounded
from firth.errors import FirthError, unknown
from firth.metrics.counted import Counted, digest, ratio
from firth.metrics.score import Score, parts, signature

if TYPE_CHECKING:
    from collections.abc import Callable

# Those of sacrebleu that need nothing from the net, and the package that some of them need.
TOKENIZATIONS = {"13a": "", "intl": "", "char": "", "zh": "", "none": "", "ja-mecab": "ja", "ko-mecab": "ko"}
SMOOTHINGS = ("exp", "floor", "add-k", "none")
_TOKENIZED = 0.5  # share of texts that end in a mark after a space, from which on they look cut into tokens


@dataclass(frozen=True)
class Manner:
    """How texts are compared."""

    tokenize: str = ""  # of TOKENIZATIONS; without one, what is usual for the metric (BLEU: 13a, ROUGE: words)
    lowercase: bool = False
    order: int = bounded(4, least=1, most=9)  # of BLEU: the longest runs of words
    smooth: Literal["exp", "floor", "add-k", "none"] = "exp"  # of BLEU: runs that never match (Chen and Cherry 2014)


USUAL = Manner()


def count_bleu(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], manner: Manner = USUAL, effective: bool = False
) -> Counted:
    """BLEU's counts of each text: lengths, clipped matches, runs. Corpus BLEU sums them before it divides.

    With `effective` order only runs that the texts are long enough for count, as fits single sentences.
    """
    metric = _bleu(manner, effective)
    rows = _rows(metric, hypotheses, references)
    further = {} if manner.order == 4 else {"order": manner.order}

    def details(sums: np.ndarray) -> dict[str, float]:
        found = metric._compute_score_from_stats(sums.tolist())
        each = {f"p{order}": value for order, value in enumerate(found.precisions, 1)}
        return {**each, "brevity_penalty": found.bp, "length": float(sums[0]), "reference_length": float(sums[1])}

    return Counted("BLEU", rows, _value(metric), _signature(metric, references, further), details)


def count_chrf(hypotheses: Sequence[str], references: Sequence[Sequence[str]], manner: Manner = USUAL) -> Counted:
    """chrF2's counts of each text: runs of up to six characters in it, in the nearest reference, and in both."""
    from sacrebleu.metrics import CHRF

    metric = CHRF(lowercase=manner.lowercase)
    rows = _rows(metric, hypotheses, references)
    return Counted("chrF2", rows, _value(metric), _signature(metric, references))


def count_length(bleu: Counted) -> Counted:
    """Tokens written over those of the nearest reference: below 1, BLEU is multiplied by its brevity penalty."""
    return Counted("length", bleu.rows[:, :2], ratio, bleu.signature)


def bleu(hypotheses: Sequence[str], references: Sequence[Sequence[str]], manner: Manner = USUAL) -> Score:
    """Corpus BLEU from 0 to 100."""
    return count_bleu(hypotheses, references, manner).score()


def chrf(hypotheses: Sequence[str], references: Sequence[Sequence[str]], manner: Manner = USUAL) -> Score:
    """Corpus chrF2 from 0 to 100."""
    return count_chrf(hypotheses, references, manner).score()


def sentence_bleu(hypothesis: str, references: Sequence[str], manner: Manner = USUAL) -> Score:
    """BLEU of one sentence against its references, smoothed and of effective order (`eff:yes` in the signature)."""
    return count_bleu([hypothesis], [[text] for text in references], manner, effective=True).score()


def tokens(texts: Sequence[str], manner: Manner = USUAL) -> list[list[str]]:
    """The tokens that BLEU counts."""
    metric = _bleu(manner, False)
    return [metric._preprocess_segment(text).split() for text in texts]


def looks_tokenized(texts: Sequence[str], manner: Manner) -> bool:
    """Whether texts seem to have been cut into tokens already, which another tokenisation would cut again."""
    ends = sum(text.rstrip().endswith((" .", " !", " ?")) for text in texts)
    return (manner.tokenize or "13a") not in ("none", "char") and ends > _TOKENIZED * len(texts)


def check(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """An error unless there are references, as many of each as there are texts."""
    if not references or not hypotheses:
        raise FirthError("nothing to compare", do="give at least one text and one reference")
    for texts in references:
        if len(texts) != len(hypotheses):
            what = f"texts and references differ in number: {len(hypotheses):,} and {len(texts):,}"
            raise FirthError(what, do="give one reference for each text, in their order")


def _bleu(manner: Manner, effective: bool) -> Any:
    """sacrebleu's metric; an unknown name, or a package that is not there, is an error."""
    from sacrebleu.metrics import BLEU

    name = manner.tokenize or "13a"
    if name not in TOKENIZATIONS:
        raise unknown("tokenisation", name, TOKENIZATIONS)
    if manner.smooth not in SMOOTHINGS:
        raise unknown("smoothing", manner.smooth, SMOOTHINGS)
    try:
        return BLEU(lowercase=manner.lowercase, force=True, tokenize=name, smooth_method=manner.smooth,
                    max_ngram_order=manner.order, effective_order=effective)  # fmt: skip
    except (RuntimeError, ImportError) as error:
        do = f'pip install "sacrebleu[{TOKENIZATIONS[name]}]", or choose another'
        raise FirthError(f"the tokenisation {name} needs another package", do=do) from error


# sacrebleu has no public name for what it counts; its own tests of significance use these two, and ours see that they
# give its public scores.


def _rows(metric: Any, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> np.ndarray:
    check(hypotheses, references)
    return np.array(metric._extract_corpus_statistics(list(hypotheses), [list(texts) for texts in references]), float)


def _value(metric: Any) -> Callable[[np.ndarray], float]:
    return lambda sums: float(metric._compute_score_from_stats(sums.tolist()).score)


def _signature(metric: Any, references: Sequence[Sequence[str]], further: dict[str, object] | None = None) -> str:
    """sacrebleu's signature as it is, then what it does not say."""
    told = parts(metric.get_signature().format())
    return signature({**told, **(further or {}), "data": digest(references)})
