"""Attention within a window, in time and memory linear in the length, exactly as dense attention with a mask has it.

Places that a dilated window steps over never meet, so each class of them is a text of its own. A text is cut into
blocks of queries; each block meets the keys of its own places and of a window on either side, and the central tokens.
"""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from firth.nn.central import Chosen, chosen, look_at_all
from firth.nn.dense import dense
from firth.nn.patterns import Marks, View

BLOCK = 128  # queries at most: more of them compute more that nobody sees, fewer copy more keys


def banded(
    queries: Tensor, keys: Tensor, values: Tensor, view: View, bias: Tensor | None, dropout: float, scale: float
) -> Tensor:
    """Near keys only; all are (batch, heads, time, head width). Where little would be left out, every key."""
    time = keys.shape[2]
    if bias is not None or queries.shape[2] != time or time <= 2 * view.window:
        return dense(queries, keys, values, view, bias, dropout, scale)
    found, first = [], 0
    for step, heads in groupby(view.steps or (1,) * queries.shape[1]):
        last = first + len(list(heads))
        parts = (part[:, first:last] for part in (queries, keys, values))
        found.append(_in_blocks(*parts, view, step, dropout, scale))
        first = last
    joined = found[0] if len(found) == 1 else torch.cat(found, 1)
    who = chosen(view)
    if who is None:
        return joined
    return who.put(joined, look_at_all(who.take(queries), keys, values, who, view, dropout, scale))


def _in_blocks(
    queries: Tensor, keys: Tensor, values: Tensor, view: View, step: int, dropout: float, scale: float
) -> Tensor:
    cut, visible = _layout(view, step)
    who = chosen(view)
    q, k, v = cut.blocks(queries), cut.spans(keys), cut.spans(values)
    if who is not None:  # everyone sees them, in one softmax with the near ones
        k, v = (torch.cat([near, cut.repeated(who.take(all_))], 4) for near, all_ in ((k, keys), (v, values)))
    found = F.scaled_dot_product_attention(q, k.flatten(0, 2), v.flatten(0, 2), visible, dropout, scale=scale)
    return cut.joined(found)


class Cut(NamedTuple):
    """How a text is cut: into as many classes as there are steps, each into blocks of queries."""

    time: int
    step: int
    block: int
    before: int  # keys that stand before a block, in its class
    after: int

    @property
    def span(self) -> int:
        """Keys that a block meets."""
        return self.before + self.block + self.after

    @property
    def count(self) -> int:
        """Blocks of a class."""
        return -(-self.time // (self.step * self.block))

    def classes(self, x: Tensor) -> Tensor:
        """x (batch, heads, time, width) -> (batch, step, heads, places of a class, width)."""
        more = self.count * self.block * self.step - self.time
        x = F.pad(x, (0, 0, 0, more)) if more else x
        return x.unflatten(2, (-1, self.step)).permute(0, 3, 1, 2, 4)

    def blocks(self, x: Tensor) -> Tensor:
        """x (batch, heads, time, width) -> (batch × step × blocks, heads, block, width)."""
        return self.classes(x).unflatten(3, (self.count, self.block)).transpose(2, 3).flatten(0, 2)

    def spans(self, x: Tensor) -> Tensor:
        """x (batch, heads, time, width) -> (batch, step, blocks, heads, span, width), nothing copied yet."""
        x = F.pad(self.classes(x), (0, 0, self.before, self.after))
        return x.unfold(3, self.span, self.block).permute(0, 1, 3, 2, 5, 4)

    def repeated(self, x: Tensor) -> Tensor:
        """x (batch, …) for each block of each class (batch, step, blocks, …)."""
        return x[:, None, None].expand(-1, self.step, self.count, *x.shape[1:])

    def joined(self, x: Tensor) -> Tensor:
        """What `blocks` cut, in one (batch, heads, time, width)."""
        x = x.unflatten(0, (-1, self.step, self.count)).permute(0, 3, 2, 4, 1, 5)  # batch, heads, count, block, step
        return x.flatten(2, 4)[:, :, : self.time]

    def mark(self, mark: Tensor | None, *, spans: bool) -> Tensor | None:
        """A mark (batch, time) of the blocks' queries or keys (batch × step × blocks, …)."""
        if mark is None:
            return None
        x = mark.float()[:, None, :, None]  # documents are small numbers
        found = self.spans(x).flatten(0, 2) if spans else self.blocks(x)
        return found[:, 0, :, 0].to(mark.dtype)


def _layout(view: View, step: int) -> tuple[Cut, Tensor]:
    """The cut for a step, and which keys a block's queries see (blocks, 1, block, keys); once for all layers."""
    if ("banded", step) not in view.kept:
        time, window = view.keys.place.shape[0], view.window
        block = min(BLOCK, -(-time // step))
        cut = Cut(time, step, block, window, 0 if view.sees == "left" else window)
        view.kept["banded", step] = cut, _visible(view, cut)[:, None]
    return view.kept["banded", step]


def _visible(view: View, cut: Cut) -> Tensor:
    """Which keys of its span, and which central tokens, each query of a block sees (blocks, block, keys)."""
    who = chosen(view)
    real = torch.ones_like(view.keys.mask) if who is None else ~view.keys.central  # False beyond the text
    place = torch.arange(cut.span, device=real.device)
    q = Marks(place[cut.before : cut.before + cut.block], *(cut.mark(mark, spans=False) for mark in view.queries[1:]))
    k = Marks(place, *(cut.mark(mark, spans=True) for mark in view.keys[1:]))
    near = view.visible(q._replace(central=None), k) & cut.mark(real, spans=True)[:, None]
    if who is None:
        return near
    return torch.cat([near, _far(view, cut, who)], 2)


def _far(view: View, cut: Cut, who: Chosen) -> Tensor:
    """Which central tokens each query of a block sees (blocks, block, chosen)."""
    seen = view.visible(view.queries, who.marks(view.keys)) & who.real[:, None]  # (batch, time, chosen)
    return cut.blocks(seen[:, None].float())[:, 0] > 0
