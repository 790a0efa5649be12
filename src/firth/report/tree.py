"""The tree of a beam search, drawn from left to right, its best path thick: SVG, HTML or PNG."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from firth.errors import FirthError, unknown
from firth.report.figure import Figure
from firth.report.labels import shortened, text_width, wrapped
from firth.report.plot import apart
from firth.report.scene import Line, Role, Scene, Shape, Text, mark

if TYPE_CHECKING:
    from firth.decoding.tree import Tree

_LETTERS, _SMALL = 12.0, 9.5
_LONGEST = 110.0  # a longer token is shortened
_MARGIN, _ROW, _BAND = 20.0, 19.0, 44.0  # around all; between nodes of a step; for the edges between two steps
_RADIUS, _BEFORE = 4.0, 9.0  # of a node; from its middle to its text
_MOST = 14_000.0  # height or width of a picture that programs still open
# How a node looks: the colour of its mark, the mark, the colour of its text.
LOOKS: dict[str, tuple[Role, str, Role]] = {
    "kept": ("group 1", "circle", "ink"),
    "pruned": ("soft", "circle", "soft"),
    "ended": ("group 3", "square", "ink"),
}
_BEST: Role = "group 2"


class Node(NamedTuple):
    """A token that the search looked at, after that of its parent."""

    id: int
    parent: int | None  # None: it stands first
    text: str
    log_probability: float  # of the token, given those before it
    step: int  # one more than the parent's
    state: Literal["kept", "pruned", "ended"]
    best: bool = False  # on the way to the best result


def beam_tree(nodes: Sequence[Node], title: str = "Beam search", note: str = "") -> Figure:
    """The nodes in a column for each step; of one parent, the more probable stands higher. No two edges cross."""
    _check(nodes)
    drawn = _Drawing(_rooted(nodes))
    width = max(drawn.width, 420.0)
    shapes: list[Shape] = [Text(_MARGIN, 30.0, shortened(title, 16.0, width - 2 * _MARGIN), 16.0, weight="bold")]
    shapes += [*_legend(), *drawn.edges(), *drawn.marks()]
    notes = wrapped(note, 11.0, width - 2 * _MARGIN)
    shapes += [Text(_MARGIN, drawn.bottom + 24.0 + 15.0 * n, line, 11.0, "soft") for n, line in enumerate(notes)]
    scene = Scene(width, drawn.bottom + 16.0 + 15.0 * len(notes), title, tuple(shapes))
    if max(scene.width, scene.height) > _MOST:
        raise FirthError(
            f"a tree of {len(nodes):,} nodes is too large to draw", do="draw fewer steps, or a narrower beam"
        )
    rows = tuple(_row(node, drawn.totals[node.id]) for node in nodes)
    return Figure(scene, note, rows, 0, own_size=True)


def of_search(tree: Tree, text: Callable[[int], str]) -> list[Node]:
    """The nodes of a search, its first result as the best path; `text` says how a token is written."""
    best = {*tree.path(tree.best[0])} if tree.best else set()
    found = []
    for number, (token, log_probability, _, parent, step, fate) in enumerate(tree.nodes):
        above = parent if parent >= 0 else None
        found.append(Node(number, above, text(token), log_probability, step, fate, number in best))
    return found


def _rooted(nodes: Sequence[Node]) -> list[Node]:
    """The nodes; where several stand first, after a start of their own."""
    first = [node for node in nodes if node.parent is None]
    if len(first) == 1:
        return list(nodes)
    start = Node(min(node.id for node in nodes) - 1, None, "start", 0.0, min(node.step for node in first) - 1, "kept",
                 any(node.best for node in first))  # fmt: skip
    return [start, *(node._replace(parent=start.id) if node.parent is None else node for node in nodes)]


def _check(nodes: Sequence[Node]) -> None:
    if not nodes:
        raise FirthError("a tree without nodes", do="ask the search to return its tree")
    known = {node.id: node for node in nodes}
    if len(known) != len(nodes):
        raise FirthError("two nodes of a tree have the same id")
    for node in nodes:
        if node.state not in LOOKS:
            raise unknown("state of a node", node.state, LOOKS)
        if node.parent is not None and (node.parent not in known or known[node.parent].step != node.step - 1):
            raise FirthError(f"node {node.id} does not follow its parent {node.parent}", do="give both, a step apart")
    if len({node.step for node in nodes if node.parent is None}) > 1:
        raise FirthError("nodes without a parent at several steps", do="give them all the same step")


class _Drawing:
    """Where everything stands."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes, self.known = nodes, {node.id: node for node in nodes}
        self.steps: dict[int, list[Node]] = defaultdict(list)
        for node in nodes:
            self.steps[node.step].append(node)
        self.totals: dict[int, float] = {}
        for step in sorted(self.steps):
            for node in self.steps[step]:
                before = 0.0 if node.parent is None else self.totals[node.parent]
                self.totals[node.id] = before + node.log_probability
        self.texts = {node.id: shortened(_visible(node.text), _LETTERS, _LONGEST) for node in nodes}
        self.x, self.ends = self._columns()
        self.y = self._heights()
        self.bottom = max(self.y.values()) + _ROW

    def _columns(self) -> tuple[dict[int, float], dict[int, float]]:
        """Where the marks of each step stand, and where its texts end; each column is as wide as its widest text."""
        found, ends, x = {}, {}, _MARGIN + _RADIUS
        for step in sorted(self.steps):
            found[step] = x
            ends[step] = x + _BEFORE + max(map(self._wide, self.steps[step]))
            x = ends[step] + _BAND
        self.width = x - _BAND + _MARGIN
        return found, ends

    def _heights(self) -> dict[int, float]:
        """Each node as near to the height of its parent as the others of its step let it, in the order of parents."""
        most = max(map(len, self.steps.values()))
        low, high = 84.0, 84.0 + (most - 1) * _ROW
        found: dict[int, float] = {}
        for step in sorted(self.steps):
            column = sorted(self.steps[step], key=lambda node: self._order(node, found))
            wished = self._wishes(column, found, (low + high) / 2)
            ordered = apart(wished, _ROW, low, high)
            found |= {node.id: y for node, y in zip(column, ordered, strict=True)}
        return found

    def _order(self, node: Node, above: dict[int, float]) -> tuple[float, float]:
        return (0.0 if node.parent is None else above[node.parent]), -node.log_probability

    def _wishes(self, column: Sequence[Node], above: dict[int, float], middle: float) -> list[float]:
        """Children of one parent wish to stand around its height, a row apart; never before those of a parent above."""
        family: dict[int | None, list[int]] = defaultdict(list)
        for place, node in enumerate(column):
            family[node.parent].append(place)
        found, last = [0.0] * len(column), float("-inf")
        for parent, places in family.items():
            centre = middle if parent is None else above[parent]
            for number, place in enumerate(places):
                last = max(last + 1e-6, centre + (number - (len(places) - 1) / 2) * _ROW)
                found[place] = last
        return found

    def _wide(self, node: Node) -> float:
        return text_width(self.texts[node.id], _LETTERS) + 8.0 + text_width(_chance(node), _SMALL)

    def edges(self) -> list[Shape]:
        """Between the columns, so that no line runs over a text; the best path over the others."""
        found: list[tuple[bool, Line]] = []
        for node in self.nodes:
            if node.parent is None:
                continue
            parent = self.known[node.parent]
            start = (self.ends[parent.step] + 4.0, self.y[parent.id])
            points = (start, (self.x[node.step] - _RADIUS - 1.0, self.y[node.id]))
            colour, width = (_BEST, 3.0) if node.best else ("line" if node.state == "pruned" else "soft", 1.0)
            found.append((node.best, Line(points, colour, width)))
        return [line for _, line in sorted(found, key=lambda pair: pair[0])]

    def marks(self) -> list[Shape]:
        """Marks with the token and its log-probability behind."""
        found: list[Shape] = []
        for node in self.nodes:
            colour, kind, ink = LOOKS[node.state]
            x, y, text = self.x[node.step], self.y[node.id], self.texts[node.id]
            about = f"{_visible(node.text)}: {node.log_probability:.3f}, with all before it {self.totals[node.id]:.3f}"
            found.append(mark(x, y, _RADIUS, _BEST if node.best and node.state == "kept" else colour, kind, about))
            weight = "bold" if node.best else "normal"
            found.append(Text(x + _BEFORE, y + 4.0, text, _LETTERS, ink, weight=weight, about=about))
            found.append(Text(self.ends[node.step], y + 4.0, _chance(node), _SMALL, "soft", "end"))
        return found


def _legend() -> list[Shape]:
    shapes, x = [], _MARGIN + _RADIUS
    for state, (colour, kind, _) in LOOKS.items():
        shapes += [mark(x, 50.0, _RADIUS, colour, kind), Text(x + _BEFORE, 54.0, state, 11.0, "soft")]
        x += _BEFORE + text_width(state, 11.0) + 20.0
    text = "best path; numbers: log p of each token"
    return [*shapes, Line(((x, 50.0), (x + 18.0, 50.0)), _BEST, 3.0), Text(x + 24.0, 54.0, text, 11.0, "soft")]


def _chance(node: Node) -> str:
    return f"{node.log_probability:z.2f}"


def _visible(text: str) -> str:
    """A token in one line; white space alone is shown as such."""
    return " ".join(text.split()) or "␣" * bool(text)


def _row(node: Node, total: float) -> dict[str, Any]:
    return {"id": node.id, "parent": node.parent, "token": node.text, "log p": node.log_probability, "total": total,
            "step": node.step, "state": node.state, "best": node.best}  # fmt: skip
