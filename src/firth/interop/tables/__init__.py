"""The supported model families by model_type; a run is exported as the first that represents it by default."""

from __future__ import annotations

from firth.interop.model_family import ModelFamily
from firth.interop.tables import bart, bert, distilbert, electra, gpt, longformer, reformer, roberta, t5, vit, xlnet

MODEL_FAMILIES: dict[str, ModelFamily] = {
    family.model_type: family
    for family in (
        reformer.REFORMER,
        gpt.GPT_2,
        gpt.GPT_1,
        xlnet.XLNET,
        longformer.LONGFORMER,
        electra.ELECTRA,
        distilbert.DISTILBERT,
        bert.BERT,
        roberta.ROBERTA,
        bart.BART,
        t5.T5,
        vit.VIT,
    )
}
