"""The families, by the name that config.json gives them; of those that a run fits, the first is taken."""

from __future__ import annotations

from firth.interop.table import Table
from firth.interop.tables import bart, bert, distilbert, electra, gpt, longformer, reformer, roberta, t5, vit, xlnet

TABLES: dict[str, Table] = {
    table.model: table
    for table in (
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
