"""Word vectors."""

from dataclasses import replace

from firth.config.schema import Counted, GloVe, Passes, System, Text, Tokenizer, Vectors, WordToVec

_WORDS = Vectors(
    data=Text(valid_share=0.02, test_share=0.0),
    tokenizer=Tokenizer(model="word", size=1_000_000, min_count=5, lower="yes"),
)


def _sizes(config: Vectors) -> dict[str, System]:
    """The same for little and for much text."""
    method = config.method
    return {
        "small": config,
        "tiny": replace(config, method=replace(method, width=50), tokenizer=replace(config.tokenizer, min_count=1)),
        "large": replace(config, method=replace(method, width=300)),
    }


SKIP_GRAM = _sizes(_WORDS)
CBOW = _sizes(replace(_WORDS, method=WordToVec(model="cbow", rate=0.05)))
FAST_TEXT = _sizes(replace(_WORDS, method=WordToVec(rate=0.05, sample=1e-4, least_part=3, most_part=6)))
GLOVE = _sizes(replace(_WORDS, method=GloVe(), train=Passes(epochs=25)))
PPMI = _sizes(replace(_WORDS, method=Counted(matrix="ppmi"), train=Passes(epochs=1)))
LSA = _sizes(replace(_WORDS, method=Counted(matrix="documents", power=1.0), train=Passes(epochs=1)))
HELLINGER = _sizes(replace(_WORDS, method=Counted(matrix="hellinger", power=1.0), train=Passes(epochs=1)))
ITEMS = _sizes(  # one line is one basket or visit: all of it is context, and the order matters little
    replace(
        _WORDS,
        data=replace(_WORDS.data, document="line"),
        tokenizer=replace(_WORDS.tokenizer, lower="no", split="whitespace", min_count=2),
        method=WordToVec(window=50, exponent=0.5, sample=0.0),
        train=Passes(epochs=20),
    )
)
