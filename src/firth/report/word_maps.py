"""Word maps (2-D projections of word vectors by PCA, t-SNE or UMAP) and analogy plots, as SVG, HTML or PNG.

word_map(store, words, method, groups, neighbours_of=…, top_n=…, neighbours=…, seed=…, perplexity=…, title=…) -> Figure
analogy_plot(store, pairs, title=…) -> Figure
Figure.save("map.svg" or "map.html" or "map.png") -> messages about text that could not be drawn; mostly none
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from firth.embeddings.lookup import l2_normalise
from firth.embeddings.projection import MIN_POINTS, Method, default_method, effective_perplexity, project
from firth.embeddings.word_vectors import WordVectors
from firth.errors import FirthError
from firth.report.drawing import Shape, arrow, group_style, marker
from firth.report.figure import Figure, FigureLayout, arrange_points
from firth.report.label_layout import Anchor, Label, place_labels

_MIN_DISTANCE = 50.0  # pixels between a label and the next arrow


def word_map(
    store: WordVectors,
    words: Sequence[str] | None = None,
    method: Method | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
    *,
    neighbours_of: Sequence[str] = (),
    top_n: int = 100,
    neighbours: int = 12,
    seed: int = 0,
    perplexity: float = 30.0,
    title: str = "",
) -> Figure:
    """Plot a 2-D projection of `words`, `groups` (each in its colour) and the nearest `neighbours` of some words.

    Without any of these, of the `top_n` most frequent words. The method is t-SNE, or PCA where openTSNE is missing. A
    word is shown once, in the first group that has it.
    """
    method = method or default_method()
    groups = _collect_groups(store, groups or {}, _as_list(neighbours_of), neighbours)
    selected = _select_words(store, _as_list(words or ()), groups, top_n)
    vectors = l2_normalise(store.matrix(selected))  # unit vectors, as for cosine similarity
    points = project(vectors, method, seed, perplexity)
    styles_of_group = {name: group_style(number) for number, name in enumerate(groups)}
    styles = [
        styles_of_group.get(name, ("soft" if styles_of_group else "group 1", "circle")) for name in selected.values()
    ]

    def place(layout: FigureLayout) -> list[Label | None]:
        items = zip(layout.positions, selected, styles, strict=True)
        return place_labels(
            [layout.anchor(position, word, shape) for position, word, (_, shape) in items], layout.area, layout.size
        )

    caption = _CAPTIONS["pca" if len(selected) < MIN_POINTS else method](vectors, points, seed, perplexity)
    layout, labels = arrange_points(
        _single_line(title) or f"{len(selected):,} words", caption, points, styles_of_group, place
    )
    tooltips = [f"{word} · {name}" if name else word for word, name in selected.items()]
    items = zip(layout.positions, styles, tooltips, strict=True)
    markers = [marker(*position, layout.radius, colour, shape, tooltip) for position, (colour, shape), tooltip in items]
    rows = [
        {"word": word, "x": float(x), "y": float(y), "group": name, "labelled": label is not None}
        for (word, name), (x, y), label in zip(selected.items(), points, labels, strict=True)
    ]
    colours = [colour if styles_of_group else "ink" for colour, _ in styles]
    return layout.figure(markers, labels, zip(colours, tooltips, strict=True), rows)


def analogy_plot(store: WordVectors, pairs: Sequence[tuple[str, str]], *, title: str = "") -> Figure:
    """Plot each pair's offset as an arrow in the PCA plane of all words, with its cosine to the mean offset."""
    pairs = _validate_pairs(pairs)
    words = list(dict.fromkeys(word for pair in pairs for word in pair))
    vectors = l2_normalise(store.matrix(words)).astype(np.float64)
    indices = np.array([[words.index(word) for word in pair] for pair in pairs])
    cosines = _offset_cosines(vectors[indices[:, 1]] - vectors[indices[:, 0]])
    points = project(vectors, "pca")
    caption = _analogy_caption(cosines, vectors, points)
    layout, labels = arrange_points(
        _single_line(title) or _default_title(pairs),
        caption,
        points,
        {},
        lambda layout: _place_analogy_labels(layout, words, indices, cosines),
    )
    first_words = {a for a, _ in pairs}
    styles = [("group 1" if word in first_words else "group 2", word) for word in words]
    markers = [
        marker(*position, layout.radius, colour, tooltip=word)
        for position, (colour, word) in zip(layout.positions, styles, strict=True)
    ]
    lines: list[Shape] = []
    for pair, (a, b), cosine in zip(pairs, indices, cosines, strict=True):
        styles.append(("soft", f"{' → '.join(pair)}: {_format_cosine(cosine)}"))
        lines += arrow(layout.positions[a], layout.positions[b], "soft", layout.radius + 2, styles[-1][1])
    rows = [{"from": a, "to": b, "cosine": _or_none(cosine)} for (a, b), cosine in zip(pairs, cosines, strict=True)]
    return layout.figure([*lines, *markers], labels, styles, rows)


def _place_analogy_labels(
    layout: FigureLayout, words: Sequence[str], indices: np.ndarray, cosines: np.ndarray
) -> list[Label | None]:
    """Place the labels of the words, then those of the arrows."""
    positions = np.array(layout.positions)
    lines = positions[indices].reshape(-1, 4)
    anchors = [layout.anchor(position, word) for position, word in zip(layout.positions, words, strict=True)]
    for index, cosine in enumerate(cosines):
        anchors.append(Anchor(*_label_position(lines[index], np.delete(lines, index, 0)), 0.0, _format_cosine(cosine)))
    return place_labels(anchors, layout.area, layout.size, lines)


def _label_position(line: np.ndarray, others: np.ndarray) -> tuple[float, float]:
    """The position of an arrow's label: near its middle, far from other arrows, so that it is not ambiguous."""
    fractions = np.array([0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74])[:, None]
    candidates = line[:2] + fractions * (line[2:] - line[:2])
    directions = others[:, 2:] - others[:, :2]
    along = ((candidates[:, None] - others[:, :2]) * directions).sum(2) / np.maximum((directions**2).sum(1), 1e-9)
    nearest = others[:, :2] + np.clip(along, 0, 1)[..., None] * directions  # (spots, others, 2)
    distances = np.linalg.norm(candidates[:, None] - nearest, axis=2).min(1, initial=_MIN_DISTANCE)
    return tuple(map(float, candidates[distances.argmax()]))


# --- selection of words ---


def _as_list(words: str | Iterable[str]) -> list[str]:
    return [words] if isinstance(words, str) else list(words)


def _collect_groups(
    store: WordVectors, requested: Mapping[str, Sequence[str]], neighbours_of: Sequence[str], neighbours: int
) -> dict[str, list[str]]:
    """The words of each group, by its name."""
    groups = {_single_line(name): _as_list(words) for name, words in requested.items()}
    for name, words in groups.items():
        if not words:
            raise FirthError(f"the group {name!r} has no words", do="leave it out")
    for word in neighbours_of:
        nearest = [neighbour.word for neighbour in store.most_similar(word, topn=neighbours)]
        groups.setdefault(_single_line(word), []).extend([word, *nearest])
    return groups


def _select_words(
    store: WordVectors, words: Sequence[str], groups: Mapping[str, Sequence[str]], top_n: int
) -> dict[str, str]:
    """The words of the map with their group or "", requested words first."""
    group_of: dict[str, str] = {}
    for name, members in groups.items():
        for word in members:
            group_of.setdefault(word, name)
    if words or groups:
        return {word: group_of.get(word, "") for word in (*words, *group_of)}
    if top_n < 1:
        raise FirthError(f"a map of {top_n} words is empty", do="show at least one word")
    order = range(len(store)) if store.counts is None else np.argsort(-store.counts, kind="stable")
    return {store.words[int(index)]: "" for index in order[:top_n]}


def _validate_pairs(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    validated = [tuple(pair) if not isinstance(pair, str) else (pair,) for pair in pairs]
    if not validated:
        raise FirthError("no pairs of words", do="give at least one, such as king and queen")
    for pair in validated:
        if len(pair) != 2 or pair[0] == pair[1]:
            raise FirthError(f"no arrow from {' to '.join(map(repr, pair))}", do="give pairs of two different words")
    return list(dict.fromkeys(validated))


# --- captions ---


def _offset_cosines(offsets: np.ndarray) -> np.ndarray:
    """The cosine of each offset with the mean offset; NaN where one of them is zero."""
    mean = offsets.mean(0)
    lengths = np.linalg.norm(offsets, axis=1) * np.linalg.norm(mean)
    return np.divide(offsets @ mean, lengths, out=np.full(len(offsets), np.nan), where=lengths > 1e-12)


def _explained_variance(vectors: np.ndarray, points: np.ndarray) -> float:
    """The fraction of the variance explained by the two plotted components."""
    total = vectors.astype(np.float64).var(0).sum()
    return float(points.var(0).sum() / total) if total > 0 else 1.0


def _pca_caption(vectors: np.ndarray, points: np.ndarray, seed: int, perplexity: float) -> str:
    return (
        f"PCA of unit vectors: the two components explain {_explained_variance(vectors, points):.0%} of their variance."
    )


def _tsne_caption(vectors: np.ndarray, points: np.ndarray, seed: int, perplexity: float) -> str:
    return (
        f"t-SNE, perplexity {effective_perplexity(perplexity, len(points)):.3g}, seed {seed}: near neighbours are "
        "meaningful; the axes, cluster sizes and distances between clusters are not."
    )


def _umap_caption(vectors: np.ndarray, points: np.ndarray, seed: int, perplexity: float) -> str:
    return f"UMAP, seed {seed}: near neighbours are meaningful; the axes and large distances are not."


_CAPTIONS: dict[str, Callable[[np.ndarray, np.ndarray, int, float], str]] = {
    "pca": _pca_caption,
    "tsne": _tsne_caption,
    "umap": _umap_caption,
}


def _analogy_caption(cosines: np.ndarray, vectors: np.ndarray, points: np.ndarray) -> str:
    known = cosines[~np.isnan(cosines)]
    mean = f"{known.mean():.2f}" if len(known) else "n/a"
    expected = f"; unrelated pairs would have about {len(cosines) ** -0.5:.2f}" if len(cosines) > 1 else ", as it must"
    plane = f"PCA: the two components explain {_explained_variance(vectors, points):.0%} of the variance."
    return f"Beside each arrow: its cosine with the mean offset, {mean} on average{expected}. {plane}"


def _default_title(pairs: Sequence[tuple[str, str]]) -> str:
    return f"{pairs[0][0]} to {pairs[0][1]}" + (f" and {len(pairs) - 1} more" if len(pairs) > 1 else "")


def _single_line(text: str) -> str:
    return " ".join(text.split())


def _or_none(cosine: float) -> float | None:
    return None if np.isnan(cosine) else float(cosine)


def _format_cosine(cosine: float) -> str:
    return "n/a" if np.isnan(cosine) else f"{cosine:z.2f}"
