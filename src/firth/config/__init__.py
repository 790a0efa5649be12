"""Configuration: values, their files, and what may be set."""

from firth.config.core import bounded, from_dict, merge, override, read_toml, to_dict, to_json

__all__ = ["bounded", "from_dict", "merge", "override", "read_toml", "to_dict", "to_json"]
