"""A figure of the search tree of a beam search, from left to right, with the best path highlighted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from firth.errors import FirthError, unknown
from firth.report.axes import spread_apart
from firth.report.drawing import ColourName, Drawing, Line, Shape, Text, marker
from firth.report.figure import Figure
from firth.report.label_layout import text_width, truncate_text, wrap_text

if TYPE_CHECKING:
    from firth.generation.search_tree import SearchTree

_TOKEN_SIZE, _NUMBER_SIZE = 12.0, 9.5
_MAX_TOKEN_WIDTH = 110.0  # longer tokens are truncated
_MARGIN, _ROW_HEIGHT, _COLUMN_GAP = (
    20.0,
    19.0,
    44.0,
)  # around the figure; between nodes of a step; for the edges between two steps
_RADIUS, _TEXT_OFFSET = 4.0, 9.0  # of a node; from its centre to its text
_MAX_EXTENT = 14_000.0  # height or width that programs still open
# The style of a node by state: marker colour, marker shape, text colour.
STATE_STYLES: dict[str, tuple[ColourName, str, ColourName]] = {
    "kept": ("group 1", "circle", "ink"),
    "pruned": ("soft", "circle", "soft"),
    "ended": ("group 3", "square", "ink"),
}
_BEST_COLOUR: ColourName = "group 2"


class Node(NamedTuple):
    """A hypothesis of the search: a token after that of its parent."""

    id: int
    parent: int | None  # None: a first token
    text: str
    log_probability: float  # of the token, given those before it
    step: int  # one more than the parent's
    state: Literal["kept", "pruned", "ended"]
    best: bool = False  # on the path of the best hypothesis


def beam_tree(nodes: Sequence[Node], title: str = "Beam search", caption: str = "") -> Figure:
    """Draw the nodes in a column per step, siblings sorted by probability; no two edges cross."""
    _validate(nodes)
    layout = _TreeLayout(_add_root(nodes))
    width = max(layout.width, 420.0)
    shapes: list[Shape] = [Text(_MARGIN, 30.0, truncate_text(title, 16.0, width - 2 * _MARGIN), 16.0, weight="bold")]
    shapes += [*_legend(), *layout.edges(), *layout.markers()]
    lines = wrap_text(caption, 11.0, width - 2 * _MARGIN)
    shapes += [Text(_MARGIN, layout.bottom + 24.0 + 15.0 * n, line, 11.0, "soft") for n, line in enumerate(lines)]
    drawing = Drawing(width, layout.bottom + 16.0 + 15.0 * len(lines), title, tuple(shapes))
    if max(drawing.width, drawing.height) > _MAX_EXTENT:
        raise FirthError(f"a tree of {len(nodes):,} nodes is too large to draw", do="use fewer steps or a smaller beam")
    rows = tuple(_row(node, layout.totals[node.id]) for node in nodes)
    return Figure(drawing, caption, rows, 0, fixed_size=True)


def search_nodes(tree: SearchTree, text: Callable[[int], str]) -> list[Node]:
    """The nodes of a search tree, with its first result as the best path; `text` gives the text of a token."""
    best = {*tree.path(tree.best[0])} if tree.best else set()
    nodes = []
    for index, (token, log_probability, _, parent, step, state) in enumerate(tree.nodes):
        parent_id = parent if parent >= 0 else None
        nodes.append(Node(index, parent_id, text(token), log_probability, step, state, index in best))
    return nodes


def _add_root(nodes: Sequence[Node]) -> list[Node]:
    """Return the nodes with a common root if there are several first tokens."""
    first = [node for node in nodes if node.parent is None]
    if len(first) == 1:
        return list(nodes)
    start = Node(min(node.id for node in nodes) - 1, None, "start", 0.0, min(node.step for node in first) - 1, "kept",
                 any(node.best for node in first))  # fmt: skip
    return [start, *(node._replace(parent=start.id) if node.parent is None else node for node in nodes)]


def _validate(nodes: Sequence[Node]) -> None:
    if not nodes:
        raise FirthError("the search tree has no nodes", do="have the search return its tree")
    known = {node.id: node for node in nodes}
    if len(known) != len(nodes):
        raise FirthError("two nodes of the search tree have the same id", do="give each node its own id")
    for node in nodes:
        if node.state not in STATE_STYLES:
            raise unknown("state of a node", node.state, STATE_STYLES)
        if node.parent is not None and (node.parent not in known or known[node.parent].step != node.step - 1):
            raise FirthError(f"node {node.id} does not follow its parent {node.parent}", do="give both, a step apart")
    if len({node.step for node in nodes if node.parent is None}) > 1:
        raise FirthError("nodes without a parent at several steps", do="give them all the same step")


class _TreeLayout:
    """The positions of nodes and texts."""

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
        self.texts = {node.id: truncate_text(_visible_text(node.text), _TOKEN_SIZE, _MAX_TOKEN_WIDTH) for node in nodes}
        self.x, self.ends = self._columns()
        self.y = self._rows()
        self.bottom = max(self.y.values()) + _ROW_HEIGHT

    def _columns(self) -> tuple[dict[int, float], dict[int, float]]:
        """The x of the markers and of the text ends of each step; a column is as wide as its widest text."""
        columns, ends, x = {}, {}, _MARGIN + _RADIUS
        for step in sorted(self.steps):
            columns[step] = x
            ends[step] = x + _TEXT_OFFSET + max(map(self._text_extent, self.steps[step]))
            x = ends[step] + _COLUMN_GAP
        self.width = x - _COLUMN_GAP + _MARGIN
        return columns, ends

    def _rows(self) -> dict[int, float]:
        """The y of each node: as near to its parent as the others of its step allow, in the order of parents."""
        max_nodes = max(map(len, self.steps.values()))
        low, high = 84.0, 84.0 + (max_nodes - 1) * _ROW_HEIGHT
        y_of: dict[int, float] = {}
        for step in sorted(self.steps):
            column = sorted(self.steps[step], key=lambda node: self._order(node, y_of))
            preferred = self._preferred_positions(column, y_of, (low + high) / 2)
            ordered = spread_apart(preferred, _ROW_HEIGHT, low, high)
            y_of |= {node.id: y for node, y in zip(column, ordered, strict=True)}
        return y_of

    def _order(self, node: Node, parent_y: dict[int, float]) -> tuple[float, float]:
        return (0.0 if node.parent is None else parent_y[node.parent]), -node.log_probability

    def _preferred_positions(self, column: Sequence[Node], parent_y: dict[int, float], middle: float) -> list[float]:
        """Siblings are centred on their parent, a row apart, and never above the children of a higher parent."""
        siblings: dict[int | None, list[int]] = defaultdict(list)
        for index, node in enumerate(column):
            siblings[node.parent].append(index)
        positions, last = [0.0] * len(column), float("-inf")
        for parent, indices in siblings.items():
            centre = middle if parent is None else parent_y[parent]
            for number, index in enumerate(indices):
                last = max(last + 1e-6, centre + (number - (len(indices) - 1) / 2) * _ROW_HEIGHT)
                positions[index] = last
        return positions

    def _text_extent(self, node: Node) -> float:
        return (
            text_width(self.texts[node.id], _TOKEN_SIZE) + 8.0 + text_width(_format_log_probability(node), _NUMBER_SIZE)
        )

    def edges(self) -> list[Shape]:
        """Edges between the columns, so that no line crosses a text; the best path on top."""
        edges: list[tuple[bool, Line]] = []
        for node in self.nodes:
            if node.parent is None:
                continue
            parent = self.known[node.parent]
            start = (self.ends[parent.step] + 4.0, self.y[parent.id])
            points = (start, (self.x[node.step] - _RADIUS - 1.0, self.y[node.id]))
            colour, width = (_BEST_COLOUR, 3.0) if node.best else ("line" if node.state == "pruned" else "soft", 1.0)
            edges.append((node.best, Line(points, colour, width)))
        return [line for _, line in sorted(edges, key=lambda pair: pair[0])]

    def markers(self) -> list[Shape]:
        """Markers, each followed by the token and its log-probability."""
        shapes: list[Shape] = []
        for node in self.nodes:
            colour, shape, text_colour = STATE_STYLES[node.state]
            x, y, text = self.x[node.step], self.y[node.id], self.texts[node.id]
            tooltip = f"{_visible_text(node.text)}: {node.log_probability:.3f}, total {self.totals[node.id]:.3f}"
            shapes.append(
                marker(x, y, _RADIUS, _BEST_COLOUR if node.best and node.state == "kept" else colour, shape, tooltip)
            )
            weight = "bold" if node.best else "normal"
            shapes.append(
                Text(x + _TEXT_OFFSET, y + 4.0, text, _TOKEN_SIZE, text_colour, weight=weight, tooltip=tooltip)
            )
            shapes.append(
                Text(self.ends[node.step], y + 4.0, _format_log_probability(node), _NUMBER_SIZE, "soft", "end")
            )
        return shapes


def _legend() -> list[Shape]:
    shapes, x = [], _MARGIN + _RADIUS
    for state, (colour, shape, _) in STATE_STYLES.items():
        shapes += [marker(x, 50.0, _RADIUS, colour, shape), Text(x + _TEXT_OFFSET, 54.0, state, 11.0, "soft")]
        x += _TEXT_OFFSET + text_width(state, 11.0) + 20.0
    text = "best path; numbers: log p of each token"
    return [*shapes, Line(((x, 50.0), (x + 18.0, 50.0)), _BEST_COLOUR, 3.0), Text(x + 24.0, 54.0, text, 11.0, "soft")]


def _format_log_probability(node: Node) -> str:
    return f"{node.log_probability:z.2f}"


def _visible_text(text: str) -> str:
    """A token on one line; whitespace alone is shown as ␣."""
    return " ".join(text.split()) or "␣" * bool(text)


def _row(node: Node, total: float) -> dict[str, Any]:
    return {"id": node.id, "parent": node.parent, "token": node.text, "log p": node.log_probability, "total": total,
            "step": node.step, "state": node.state, "best": node.best}  # fmt: skip
