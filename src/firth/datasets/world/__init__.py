"""The synthetic world: text from a probabilistic grammar with exact entropy, gold annotation, images and series."""

from firth.datasets.world.world_text import World

__all__ = ["World"]
