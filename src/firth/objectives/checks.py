"""What objectives on whole texts ask of the rest of a configuration."""

from __future__ import annotations

from firth.config import schema
from firth.errors import FirthError


def require(config: schema.Neural, head: type, *batching: type) -> None:
    """Refuse parts that do not belong to the objective, and a token that stands for a text without seeing it."""
    kind = config.objective.kind
    for name, wanted in (("head", (head,)), ("batching", batching)):
        if not isinstance(getattr(config, name), wanted):
            kinds = " or ".join(each.kind for each in wanted)
            what = f"the objective {kind} needs {name}.kind = {kinds}"
            raise FirthError(what, where=name, do=f"set {name}.kind={wanted[0].kind}")
    backbone = config.backbone
    if isinstance(backbone, schema.EncoderDecoder):
        do = "start from a run of one stack, such as bert or gpt"
        raise FirthError(f"the objective {kind} is for one stack of layers", where="backbone", do=do)
    blind = "left" in (getattr(backbone, "sees", ""), getattr(backbone, "directions", ""))
    if blind and config.head.pool == "first":
        what = "the first token sees nothing of the text that it stands for"
        raise FirthError(what, where="head.pool", do="set head.pool=last and batching.frame=last")
