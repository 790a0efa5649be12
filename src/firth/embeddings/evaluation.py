"""Intrinsic evaluation of word vectors on the standard test sets, one by one or a whole folder of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firth.datasets.readers import FORMATS
from firth.datasets.records import Labelled, Pair
from firth.embeddings.analogies import bats_questions, evaluate_analogies, google_questions
from firth.embeddings.contextual_similarity import evaluate_contextual_similarity, evaluate_wic, read_wic
from firth.embeddings.extrinsic import evaluate_classification
from firth.embeddings.kmeans import k_means
from firth.embeddings.lookup import EvaluationOptions, Result, VocabularyLookup
from firth.embeddings.multiple_choice import evaluate_choices, read_choices
from firth.embeddings.question_files import DetectedFormat, detect_format
from firth.embeddings.senses import WordSenses
from firth.errors import FirthError
from firth.metrics.clustering import purity
from firth.metrics.correlation import spearman
from firth.metrics.score import Score

if TYPE_CHECKING:
    from firth.embeddings.word_vectors import WordVectors

KMEANS_INITS = 10  # k-means restarts (n_init) of categorization


def evaluate_similarity(
    vectors: WordVectors, pairs: Iterable[Pair], name: str = "similarity", options: EvaluationOptions | None = None
) -> Result:
    """Spearman's correlation of cosines with human similarity ratings, over the pairs whose words both have vectors."""
    lookup, pairs = VocabularyLookup(vectors, options), list(pairs)
    cosines, gold = [], []
    for pair in pairs:
        left, right = lookup.vector(pair.left), lookup.vector(pair.right)
        if left is not None and right is not None:
            cosines.append(float(left @ right))
            gold.append(pair.score)
    signature = lookup.signature(name, [(pair.left, pair.right, pair.score) for pair in pairs])
    score = Score("spearman", spearman(cosines, gold) if cosines else None, signature)
    return Result(name, "similarity", (score,), len(pairs), len(cosines), lookup.list_oov_words())


def evaluate_categorization(
    vectors: WordVectors,
    members: Iterable[Labelled],
    name: str = "categories",
    options: EvaluationOptions | None = None,
) -> Result:
    """Concept categorization: the purity of k-means over unit vectors, with as many clusters as categories.

    A word of several categories, or twice in one, counts once: in the first.
    """
    lookup = VocabularyLookup(vectors, options)
    category_of: dict[str, str] = {}
    for member in members:
        if member.text and member.labels and member.labels[0]:
            category_of.setdefault(member.text, member.labels[0])
    rows, positions = lookup.matrix(category_of)
    categories = list(category_of.values())
    gold = [categories[position] for position in positions]
    value = None
    if gold:
        clusters = k_means(rows, len(set(gold)), n_init=KMEANS_INITS, seed=lookup.options.seed)
        value = purity(clusters.labels.tolist(), gold)
    method = {"clusters": len(set(gold)), "n_init": KMEANS_INITS, "seed": lookup.options.seed}
    signature = lookup.signature(name, list(category_of.items()), **method)
    majority = max(map(gold.count, set(gold)), default=0) / max(len(gold), 1)
    scores = (Score("purity", value, signature), Score("majority class", majority if gold else None, signature))
    return Result(name, "categories", scores, len(category_of), len(gold), lookup.list_oov_words())


# --- a folder of test sets --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    """The results of all test sets of a folder, and the files that were skipped, with the reason."""

    results: tuple[Result, ...]
    skipped: tuple[tuple[str, str], ...]

    def rows(self, sections: bool = False) -> list[dict[str, Any]]:
        """A row for each test set (and for each of its sections): its main score and how many questions it covers."""
        results = [row for result in self.results for row in (result, *(result.sections if sections else ()))]
        return [
            {
                "set": result.name,
                "kind": result.kind,
                "score": result.scores[0].name,
                "value": result.value,
                "answered": result.answered,
                "asked": result.total,
                "unknown words": len(result.oov_words),
            }
            for result in results
        ]


def evaluate_folder(
    vectors: WordVectors,
    folder: str | Path | Sequence[str | Path],
    options: EvaluationOptions | None = None,
    senses: WordSenses | None = None,
    on_result: Callable[[Result], None] | None = None,
) -> Table:
    """Evaluate on every test set below a folder (or several, or files); the kind of each is detected by its content.

    `on_result` is called with each result as soon as it is there.
    """
    roots = [folder] if isinstance(folder, (str, Path)) else folder
    paths = list(dict.fromkeys(path for root in roots for path in _list_files(Path(root))))
    results, skipped, bats = [], [], {}
    for path in paths:
        try:
            detected = detect_format(path)
            if detected.kind == "bats":
                bats[path] = list(FORMATS["bats"].read(path))
                continue
            result = _evaluate_file(vectors, path, detected, options, senses, paths)
        except FirthError as error:
            skipped.append((str(path), str(error)))
            continue
        if result is None:
            skipped.append((str(path), "no questions about words"))
            continue
        results.append(result)
        if on_result:
            on_result(result)
    if bats:  # one test set in many files
        questions = bats_questions(pair for pairs in bats.values() for pair in pairs)
        results.append(evaluate_analogies(vectors, questions, "BATS", options))
        if on_result:
            on_result(results[-1])
    return Table(tuple(results), tuple(skipped))


def _list_files(root: Path) -> list[Path]:
    """The file itself, or all files below a folder."""
    if not root.exists():
        raise FirthError("no such folder", where=root, do="give a folder or a file with questions about words")
    return sorted(path for path in root.rglob("*") if path.is_file()) if root.is_dir() else [root]


def _evaluate_file(
    vectors: WordVectors,
    path: Path,
    detected: DetectedFormat,
    options: EvaluationOptions | None,
    senses: WordSenses | None,
    paths: Sequence[Path],
) -> Result | None:
    """The result of one file; None if it is not a test set by itself."""
    name = path.name.removesuffix(".gz").removesuffix(".xz").rpartition(".")[0] or path.name
    if detected.kind == "similarity":
        return evaluate_similarity(vectors, detected.columns.read(path), name, options)
    if detected.kind == "contexts":
        return evaluate_contextual_similarity(vectors, FORMATS["contexts"].read(path), senses, name, options)
    if detected.kind == "wic":
        return evaluate_wic(vectors, read_wic(path), senses, name, options)
    if detected.kind == "analogy":
        return evaluate_analogies(vectors, google_questions(FORMATS["analogy"].read(path)), name, options)
    if detected.kind == "categories":
        return evaluate_categorization(vectors, replace(FORMATS["categories"], empty="skip").read(path), name, options)
    if detected.kind == "choices":
        return evaluate_choices(vectors, read_choices(path), name, options)
    test = path.with_name(path.name.replace("train", "test", 1))
    if detected.kind == "labels" and test != path and test in paths:
        read = FORMATS["labels"].read
        return evaluate_classification(vectors, read(path), read(test), path.parent.name, options)
    return None
