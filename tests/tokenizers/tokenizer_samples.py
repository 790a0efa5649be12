"""Texts and strategies shared by the tests of firth.tokenizers."""

from __future__ import annotations

import unicodedata
from itertools import product

from hypothesis import strategies as st

from firth.config.schema import Tokenizer as Config
from firth.tokenizers.special_tokens import SPECIAL_TOKENS

ENGLISH = [
    "The old mill stands by the river, and the river runs past the old town.\n",
    "Don't walk on the grass! It's wet; the keeper's dog isn't kind...  He said: \"Well-known facts.\"\n\n",
    "In 1957 the price was $3.14 (or 1,000 lira), but [END] of story: see chapter [MASK] and <unk>.\r\n",
    "    def mill(river):\n        return river + 1  # the river runs\n",
]
TURKISH = [
    "Işık ılık süt içti. İstanbul'da ırmak kıyısında İpek ile Irmak oturuyordu.\n",
    "DİYARBAKIR'IN IŞIKLARI PARLIYOR; çocuklar şarkı söylüyor.\n",
]
CHINESE = ["日本語の文章です。东京是日本的首都！「はい」と言った。\n"]
CORPUS = (ENGLISH * 3 + TURKISH * 2 + CHINESE) * 4

KINDS = ("char", "byte", "word", "bpe", "byte-bpe", "wordpiece", "unigram")
SPLITS = ("words", "whitespace")
PLAIN = [Config(model=kind, vocabulary_size=400, split=split) for kind, split in product(KINDS, SPLITS)]
CHANGING = [
    Config(model=kind, vocabulary_size=400, unicode_form=normal, lowercase=lower, split=split)
    for kind, normal, lower, split in (
        ("char", "nfkc", "turkish", "words"),
        ("byte", "nfc", "no", "words"),
        ("word", "nfkc", "no", "whitespace"),
        ("word", "none", "yes", "words"),
        ("bpe", "nfc", "yes", "words"),
        ("byte-bpe", "none", "turkish", "whitespace"),
        ("wordpiece", "nfkc", "yes", "words"),
        ("wordpiece", "nfc", "no", "whitespace"),
        ("unigram", "nfkc", "no", "whitespace"),
    )
]

ODD = [
    *SPECIAL_TOKENS, " [END]", "x[MASK]", "[UNK] ", "[[END]]", "［END］", "##a", "##", "▁", "Ġ", "<unk>", "</s>",
    " ", "  ", "\n", "\r\n", "\t", "\0", "\x1c", "\x85", "\xa0", "\u200b", "\u2028", "\u3000", "\ufeff",
    "\uffff", "I\u0307", "I\u0307\u0307", "İ", "ı", "i\u0307", "Σ", "ΣΑΣ", "ﬁ", "\u212b", "A\u030a",
    "e\u0301", "\u0327", "¨", "\u1100\u1161\u11a8", "👩‍👩‍👧", "👍🏽", "don't", "l’homme", "'tis",
    "well-known",
    "--", "...", "3.14", "1,000", "the", "river", " mill", "日本", "カ\u3099", "ｶﾞ", "한국", "שלום",
    "हिन्दी",
    "\U0010ffff", "\ue000", "a" * 70, "." * 70, " " * 70,
]  # fmt: skip


def texts() -> st.SearchStrategy[str]:
    """Any text, with the odd and the dangerous more often than chance would have them."""
    return st.lists(st.sampled_from(ODD) | st.text(max_size=8), max_size=8).map("".join)


def settled_texts() -> st.SearchStrategy[str]:
    """Texts of characters that were in Unicode 3.2 already: everybody's tables agree on them."""
    old = unicodedata.ucd_3_2_0
    return texts().map(lambda text: "".join(c for c in text if old.category(c) != "Cn"))


def name(config: Config) -> str:
    """A readable name for a test's parameter."""
    return f"{config.model}-{config.unicode_form}-{config.lowercase}-{config.split}"
