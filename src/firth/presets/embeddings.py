"""Word vectors."""

from dataclasses import replace

from firth.config.schema import CountVectors, EpochTraining, GloVe, System, Text, Tokenizer, Word2Vec, WordEmbeddings

_WORDS = WordEmbeddings(
    data=Text(valid_fraction=0.02, test_fraction=0.0),
    tokenizer=Tokenizer(model="word", vocabulary_size=1_000_000, min_count=5, lowercase="yes"),
)


def _sizes(config: WordEmbeddings) -> dict[str, System]:
    """The same for little and for much text."""
    method = config.method
    return {
        "tiny": replace(config, method=replace(method, width=50), tokenizer=replace(config.tokenizer, min_count=1)),
        "small": config,
        "large": replace(config, method=replace(method, width=300)),
    }


SKIP_GRAM = _sizes(_WORDS)
CBOW = _sizes(replace(_WORDS, method=Word2Vec(model="cbow", learning_rate=0.05)))
FAST_TEXT = _sizes(replace(_WORDS, method=Word2Vec(learning_rate=0.05, subsample=1e-4, min_n=3, max_n=6)))
GLOVE = _sizes(replace(_WORDS, method=GloVe(), train=EpochTraining(epochs=25)))
PPMI = _sizes(replace(_WORDS, method=CountVectors(matrix="ppmi"), train=EpochTraining(epochs=1)))
LSA = _sizes(
    replace(_WORDS, method=CountVectors(matrix="lsa", singular_value_power=1.0), train=EpochTraining(epochs=1))
)
HELLINGER = _sizes(
    replace(_WORDS, method=CountVectors(matrix="hellinger", singular_value_power=1.0), train=EpochTraining(epochs=1))
)
ITEMS = _sizes(  # one line is one basket or visit: all of it is context, and the order matters little
    replace(
        _WORDS,
        data=replace(_WORDS.data, document="line"),
        tokenizer=replace(_WORDS.tokenizer, lowercase="no", split="whitespace", min_count=2),
        method=Word2Vec(window=50, noise_exponent=0.5, subsample=0.0),
        train=EpochTraining(epochs=20),
    )
)
