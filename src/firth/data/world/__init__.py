"""A small world that can be written about: text from a grammar of our own, whose exact probability is known."""

from firth.data.world.text import World

__all__ = ["World"]
