"""The standard tests of word vectors, one by one or a whole folder of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firth.data.formats import FORMATS
from firth.data.records import Labelled, Pair
from firth.errors import FirthError
from firth.metrics.clustering import purity
from firth.metrics.correlation import spearman
from firth.metrics.score import Score
from firth.vectors.analogies import bats_questions, evaluate_analogies, google_questions
from firth.vectors.asking import Asking, Known, Result
from firth.vectors.choices import evaluate_choices, read_choices
from firth.vectors.classifying import evaluate_classification
from firth.vectors.clustering import k_means
from firth.vectors.contexts import evaluate_contexts, evaluate_wic, read_wic
from firth.vectors.kinds import Guess, guess
from firth.vectors.senses import Senses

if TYPE_CHECKING:
    from firth.vectors.store import WordVectors

STARTS = 10  # of the clustering of categories


def evaluate_similarity(
    vectors: WordVectors, pairs: Iterable[Pair], name: str = "similarity", asking: Asking | None = None
) -> Result:
    """Spearman's correlation of cosines with people's scores, over the pairs whose words both have vectors."""
    known, pairs = Known(vectors, asking), list(pairs)
    cosines, scores = [], []
    for pair in pairs:
        left, right = known.vector(pair.left), known.vector(pair.right)
        if left is not None and right is not None:
            cosines.append(float(left @ right))
            scores.append(pair.score)
    told = known.signature(name, [(pair.left, pair.right, pair.score) for pair in pairs])
    found = spearman(cosines, scores) if cosines else None
    return Result(name, "similarity", (Score("spearman", found, told),), len(pairs), len(cosines), known.report())


def evaluate_categories(
    vectors: WordVectors, members: Iterable[Labelled], name: str = "categories", asking: Asking | None = None
) -> Result:
    """The purity of as many clusters as there are categories, k-means over vectors of length 1.

    A word that is in several categories, or in one twice, is asked once: in the first.
    """
    known = Known(vectors, asking)
    first: dict[str, str] = {}
    for member in members:
        if member.text and member.labels and member.labels[0]:
            first.setdefault(member.text, member.labels[0])
    rows, places = known.matrix(first)
    classes = [list(first.values())[place] for place in places]
    found = None
    if classes:
        clusters = k_means(rows, len(set(classes)), starts=STARTS, seed=known.asking.seed)
        found = purity(clusters.labels.tolist(), classes)
    method = {"clusters": len(set(classes)), "starts": STARTS, "seed": known.asking.seed}
    told = known.signature(name, list(first.items()), **method)
    commonest = max(map(classes.count, set(classes)), default=0) / max(len(classes), 1)
    scores = (Score("purity", found, told), Score("one cluster", commonest if classes else None, told))
    return Result(name, "categories", scores, len(first), len(classes), known.report())


# --- a folder of sets -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    """The results of all sets of a folder, and the files that are none, with the reason."""

    results: tuple[Result, ...]
    skipped: tuple[tuple[str, str], ...]

    def rows(self, parts: bool = False) -> list[dict[str, Any]]:
        """A row for each set (and each part of it): what was asked, the scores, how much could be answered."""
        shown = [row for result in self.results for row in (result, *(result.parts if parts else ()))]
        return [
            {
                "set": result.name,
                "kind": result.kind,
                "score": result.scores[0].name,
                "value": result.value,
                "answered": result.answered,
                "asked": result.asked,
                "unknown words": len(result.unknown),
            }
            for result in shown
        ]


def evaluate_folder(
    vectors: WordVectors,
    folder: str | Path | Sequence[str | Path],
    asking: Asking | None = None,
    senses: Senses | None = None,
    done: Callable[[Result], None] | None = None,
) -> Table:
    """Every set of questions below a folder (or several, or files), its kind told from its content.

    `done` is told each result at once.
    """
    roots = [folder] if isinstance(folder, (str, Path)) else folder
    paths = list(dict.fromkeys(path for root in roots for path in _below(Path(root))))
    results, skipped, bats = [], [], {}
    for path in paths:
        try:
            found = guess(path)
            if found.kind == "bats":
                bats[path] = list(FORMATS["bats"].read(path))
                continue
            result = _evaluate(vectors, path, found, asking, senses, paths)
        except FirthError as error:
            skipped.append((str(path), str(error)))
            continue
        if result is None:
            skipped.append((str(path), "no questions about words"))
            continue
        results.append(result)
        if done:
            done(result)
    if bats:  # one set in many files
        questions = bats_questions(pair for pairs in bats.values() for pair in pairs)
        results.append(evaluate_analogies(vectors, questions, "BATS", asking))
        if done:
            done(results[-1])
    return Table(tuple(results), tuple(skipped))


def _below(root: Path) -> list[Path]:
    """The file itself, or those of a folder."""
    if not root.exists():
        raise FirthError("no such folder", where=root, do="give a folder or a file with questions about words")
    return sorted(path for path in root.rglob("*") if path.is_file()) if root.is_dir() else [root]


def _evaluate(
    vectors: WordVectors,
    path: Path,
    found: Guess,
    asking: Asking | None,
    senses: Senses | None,
    paths: Sequence[Path],
) -> Result | None:
    """The result of one file; None if it asks nothing by itself."""
    name = path.name.removesuffix(".gz").removesuffix(".xz").rpartition(".")[0] or path.name
    if found.kind == "similarity":
        return evaluate_similarity(vectors, found.form.read(path), name, asking)
    if found.kind == "contexts":
        return evaluate_contexts(vectors, FORMATS["contexts"].read(path), senses, name, asking)
    if found.kind == "wic":
        return evaluate_wic(vectors, read_wic(path), senses, name, asking)
    if found.kind == "analogy":
        return evaluate_analogies(vectors, google_questions(FORMATS["analogy"].read(path)), name, asking)
    if found.kind == "categories":
        return evaluate_categories(vectors, replace(FORMATS["categories"], empty="skip").read(path), name, asking)
    if found.kind == "choices":
        return evaluate_choices(vectors, read_choices(path), name, asking)
    beside = path.with_name(path.name.replace("train", "test", 1))
    if found.kind == "labels" and beside != path and beside in paths:
        read = FORMATS["labels"].read
        return evaluate_classification(vectors, read(path), read(beside), path.parent.name, asking)
    return None
