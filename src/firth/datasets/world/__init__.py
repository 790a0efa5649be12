"""The synthetic world: text from a probabilistic grammar with exact entropy, gold annotation, images and series."""

from firth.datasets.world.world_text import World, default_world

__all__ = ["World", "default_world"]
