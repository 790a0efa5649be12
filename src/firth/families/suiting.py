"""How whole texts are read by a network that another run has trained."""

from __future__ import annotations

from dataclasses import replace

from firth.config import schema

COUNTED = ("learned", "axial")  # positions that have so many places and no more


def suited(config: schema.Neural, backbone: object) -> schema.Neural:
    """A preset on whole texts for the network it is to start from: no longer rows than that has places for; and where
    its tokens see only those before them, the last one stands for the text."""
    batching, head = config.batching, config.head
    if not isinstance(batching, (schema.Joined, schema.Apart)):
        return config
    if getattr(backbone, "positions", "") in COUNTED:
        batching = replace(batching, length=min(batching.length, backbone.context))
    if "left" in (getattr(backbone, "sees", ""), getattr(backbone, "directions", "")):
        batching = replace(batching, frame="last")
        head = replace(head, pool="last" if head.pool == "first" else head.pool)
    return replace(config, batching=batching, head=head)
