"""Maps of words and arrows of analogies, as SVG, HTML or PNG.

word_map(store, words, how, groups, near=…, top=…, neighbours=…, seed=…, perplexity=…, title=…) -> Figure
arrows(store, pairs, title=…) -> Figure
Figure.save("map.svg" or "map.html" or "map.png") -> what the file could not show, a line each; mostly none
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from firth.errors import FirthError
from firth.report.figure import Figure, Paper, arrange
from firth.report.labels import Anchor, Label, place
from firth.report.scene import Shape, arrow, group, mark
from firth.vectors.asking import unit
from firth.vectors.projection import FEW, How, fitting, project
from firth.vectors.store import WordVectors

_ENOUGH = 50.0  # pixels between a number and the next arrow


def word_map(
    store: WordVectors,
    words: Sequence[str] | None = None,
    how: How = "tsne",
    groups: Mapping[str, Sequence[str]] | None = None,
    *,
    near: Sequence[str] = (),
    top: int = 100,
    neighbours: int = 12,
    seed: int = 0,
    perplexity: float = 30.0,
    title: str = "",
) -> Figure:
    """A map of `words`, of `groups` (each in its colour) and of `near` words with their `neighbours` (a group each).

    Without any of these, of the `top` most frequent words. A word is shown once, in the first group that has it.
    """
    groups = _groups(store, groups or {}, _several(near), neighbours)
    chosen = _chosen(store, _several(words or ()), groups, top)
    directions = unit(store.matrix(chosen))  # as `similarity` sees them
    points = project(directions, how, seed, perplexity)
    kinds = {name: group(number) for number, name in enumerate(groups)}
    looks = [kinds.get(name, ("soft" if kinds else "group 1", "circle")) for name in chosen.values()]

    def labelled(paper: Paper) -> list[Label | None]:
        each = zip(paper.at, chosen, looks, strict=True)
        return place([paper.anchor(at, word, kind) for at, word, (_, kind) in each], paper.area, paper.size)

    note = _NOTES["pca" if len(chosen) < FEW else how](directions, points, seed, perplexity)
    paper, labels = arrange(_line(title) or f"{len(chosen):,} words", note, points, kinds, labelled)
    abouts = [f"{word} · {name}" if name else word for word, name in chosen.items()]
    each = zip(paper.at, looks, abouts, strict=True)
    marks = [mark(*at, paper.radius, colour, kind, about) for at, (colour, kind), about in each]
    rows = [
        {"word": word, "x": float(x), "y": float(y), "group": name, "labelled": label is not None}
        for (word, name), (x, y), label in zip(chosen.items(), points, labels, strict=True)
    ]
    colours = [colour if kinds else "ink" for colour, _ in looks]
    return paper.figure(marks, labels, zip(colours, abouts, strict=True), rows)


def arrows(store: WordVectors, pairs: Sequence[tuple[str, str]], *, title: str = "") -> Figure:
    """An arrow from a to b of each pair in the plane of the PCA of all the words, and its cosine with their mean."""
    pairs = _pairs(pairs)
    words = list(dict.fromkeys(word for pair in pairs for word in pair))
    directions = unit(store.matrix(words)).astype(np.float64)
    ends = np.array([[words.index(word) for word in pair] for pair in pairs])
    cosines = _agreement(directions[ends[:, 1]] - directions[ends[:, 0]])
    points = project(directions, "pca")
    note = _arrows_note(cosines, directions, points)
    paper, labels = arrange(
        _line(title) or _titled(pairs), note, points, {}, lambda paper: _beside_arrows(paper, words, ends, cosines)
    )
    begins = {a for a, _ in pairs}
    looks = [("group 1" if word in begins else "group 2", word) for word in words]
    dots = [mark(*at, paper.radius, colour, about=word) for at, (colour, word) in zip(paper.at, looks, strict=True)]
    lines: list[Shape] = []
    for pair, (a, b), cosine in zip(pairs, ends, cosines, strict=True):
        looks.append(("soft", f"{' → '.join(pair)}: {_two(cosine)}"))
        lines += arrow(paper.at[a], paper.at[b], "soft", paper.radius + 2, looks[-1][1])
    rows = [{"from": a, "to": b, "cosine": _number(cosine)} for (a, b), cosine in zip(pairs, cosines, strict=True)]
    return paper.figure([*lines, *dots], labels, looks, rows)


def _beside_arrows(paper: Paper, words: Sequence[str], ends: np.ndarray, cosines: np.ndarray) -> list[Label | None]:
    """Labels of the words, then of the arrows."""
    at = np.array(paper.at)
    lines = at[ends].reshape(-1, 4)
    anchors = [paper.anchor(place, word) for place, word in zip(paper.at, words, strict=True)]
    for number, cosine in enumerate(cosines):
        anchors.append(Anchor(*_lonely(lines[number], np.delete(lines, number, 0)), 0.0, _two(cosine)))
    return place(anchors, paper.area, paper.size, lines)


def _lonely(line: np.ndarray, others: np.ndarray) -> tuple[float, float]:
    """Where on a line a number stands that shall not be taken for another's: near its middle, far from the others."""
    shares = np.array([0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74])[:, None]
    spots = line[:2] + shares * (line[2:] - line[:2])
    ways = others[:, 2:] - others[:, :2]
    along = ((spots[:, None] - others[:, :2]) * ways).sum(2) / np.maximum((ways**2).sum(1), 1e-9)
    nearest = others[:, :2] + np.clip(along, 0, 1)[..., None] * ways  # (spots, others, 2)
    room = np.linalg.norm(spots[:, None] - nearest, axis=2).min(1, initial=_ENOUGH)
    return tuple(map(float, spots[room.argmax()]))


# --- which words ---


def _several(words: str | Iterable[str]) -> list[str]:
    return [words] if isinstance(words, str) else list(words)


def _groups(
    store: WordVectors, given: Mapping[str, Sequence[str]], near: Sequence[str], neighbours: int
) -> dict[str, list[str]]:
    """The words of each group, by its name."""
    groups = {_line(name): _several(words) for name, words in given.items()}
    for name, words in groups.items():
        if not words:
            raise FirthError(f"the group {name!r} has no words", do="leave it out")
    for word in near:
        found = [neighbour.word for neighbour in store.most_similar(word, count=neighbours)]
        groups.setdefault(_line(word), []).extend([word, *found])
    return groups


def _chosen(store: WordVectors, words: Sequence[str], groups: Mapping[str, Sequence[str]], top: int) -> dict[str, str]:
    """The words of the map, each with its group or "": those that were asked for first."""
    belongs: dict[str, str] = {}
    for name, members in groups.items():
        for word in members:
            belongs.setdefault(word, name)
    if words or groups:
        return {word: belongs.get(word, "") for word in (*words, *belongs)}
    if top < 1:
        raise FirthError(f"a map of {top} words", do="show at least one")
    order = range(len(store)) if store.counts is None else np.argsort(-store.counts, kind="stable")
    return {store.words[int(place)]: "" for place in order[:top]}


def _pairs(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    found = [tuple(pair) if not isinstance(pair, str) else (pair,) for pair in pairs]
    if not found:
        raise FirthError("no pairs of words", do="give at least one, such as king and queen")
    for pair in found:
        if len(pair) != 2 or pair[0] == pair[1]:
            raise FirthError(f"no arrow from {' to '.join(map(repr, pair))}", do="give pairs of two different words")
    return list(dict.fromkeys(found))


# --- what is said of it ---


def _agreement(offsets: np.ndarray) -> np.ndarray:
    """The cosine of each offset with their mean; NaN where one of them has no direction."""
    mean = offsets.mean(0)
    lengths = np.linalg.norm(offsets, axis=1) * np.linalg.norm(mean)
    return np.divide(offsets @ mean, lengths, out=np.full(len(offsets), np.nan), where=lengths > 1e-12)


def _share(directions: np.ndarray, points: np.ndarray) -> float:
    """How much of the variance two directions show."""
    whole = directions.astype(np.float64).var(0).sum()
    return float(points.var(0).sum() / whole) if whole > 0 else 1.0


def _pca_note(directions: np.ndarray, points: np.ndarray, seed: int, perplexity: float) -> str:
    return f"PCA of the words' directions: what is seen here is {_share(directions, points):.0%} of their variance."


def _tsne_note(directions: np.ndarray, points: np.ndarray, seed: int, perplexity: float) -> str:
    return (
        f"t-SNE, perplexity {fitting(perplexity, len(points)):.3g}, seed {seed}: near neighbours tell something; "
        "the axes, the sizes of clusters and the distances between them do not."
    )


def _umap_note(directions: np.ndarray, points: np.ndarray, seed: int, perplexity: float) -> str:
    return f"UMAP, seed {seed}: near neighbours tell something; the axes and large distances do not."


_NOTES: dict[str, Callable[[np.ndarray, np.ndarray, int, float], str]] = {
    "pca": _pca_note,
    "tsne": _tsne_note,
    "umap": _umap_note,
}


def _arrows_note(cosines: np.ndarray, directions: np.ndarray, points: np.ndarray) -> str:
    known = cosines[~np.isnan(cosines)]
    mean = f"{known.mean():.2f}" if len(known) else "n/a"
    chance = f"; unrelated ones would have about {len(cosines) ** -0.5:.2f}" if len(cosines) > 1 else ", as it must"
    plane = f"PCA: what is seen here is {_share(directions, points):.0%} of the variance."
    return f"Beside each arrow, its cosine with the mean of all: {mean} on average{chance}. {plane}"


def _titled(pairs: Sequence[tuple[str, str]]) -> str:
    return f"{pairs[0][0]} to {pairs[0][1]}" + (f" and {len(pairs) - 1} more" if len(pairs) > 1 else "")


def _line(text: str) -> str:
    return " ".join(text.split())


def _number(cosine: float) -> float | None:
    return None if np.isnan(cosine) else float(cosine)


def _two(cosine: float) -> str:
    return "n/a" if np.isnan(cosine) else f"{cosine:z.2f}"
