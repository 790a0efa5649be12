"""`firth lexicon disambiguate | evaluate | gloss-pairs`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from firth.cli import data_arguments
from firth.cli.console import print_json, print_table, read_inputs, sanitise
from firth.cli.lexicon_queries import LEXICON, POS, open_named
from firth.cli.options import DATA, JSON, SEED, choice
from firth.errors import FirthError
from firth.lexicon.lesk import FUNCTION_WORDS, METHODS, ScoredSense, Target, rank_senses

if TYPE_CHECKING:
    from firth.datasets.records import WordSense
    from firth.lexicon import Lexicon
    from firth.lexicon.sense_evaluation import Choose, SenseAccuracy

GLOSS_VECTORS, SENSE_VECTORS = "gloss-vectors", "sense-vectors"
SENSE_EMBEDDINGS, GLOSS_EMBEDDINGS, GLOSS_PAIRS = "sense-embeddings", "gloss-embeddings", "gloss-pairs"
BY_ENCODER = (SENSE_EMBEDDINGS, GLOSS_EMBEDDINGS, GLOSS_PAIRS)
Rank = Callable[[Target], list[ScoredSense]]
RankAll = Callable[[Sequence[Target]], list[list[ScoredSense]]]
WORLD_SENSES = "world-senses"
EXACT = "exact posterior"
ENCODER = Annotated[str, typer.Option(metavar="RUN", help="A network's run, for the methods by an encoder.")]
MASK_TARGET = Annotated[
    bool, typer.Option("--mask-target", help="sense-embeddings: mask the word, so that only its context counts.")
]
VECTORS = Annotated[Path | None, typer.Option(help="Word vectors (a file or run), for the methods that need them.")]


def disambiguate(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="A text, or - to read lines.")],
    word: Annotated[list[str] | None, typer.Option(help="Only this word of the text; repeatable.")] = None,
    method: Annotated[
        choice((*METHODS, GLOSS_VECTORS, *BY_ENCODER)), typer.Option(help="How senses are chosen.")
    ] = "lesk",
    vectors: VECTORS = None,
    encoder: ENCODER = "",
    train: Annotated[str, typer.Option(help="sense-embeddings: labelled file, or set, to learn senses from.")] = "",
    max_train: Annotated[int, typer.Option(min=1, help="Words to learn from at most.")] = 5000,
    mask_target: MASK_TARGET = False,
    pos: POS = "",
    lexicon: LEXICON = "",
    data: DATA = None,
    as_json: JSON = False,
) -> None:
    """Word-sense disambiguation: the best sense of each word of a text, by glosses, vectors or an encoder."""
    from firth.tokenizers.split import split_sentences, split_words

    opened = open_named(lexicon)
    if method in BY_ENCODER:
        examples = _training(train, data, max_train) if method == SENSE_EMBEDDINGS else []
        rank_all = _by_encoder(opened, method, encoder, examples, mask_target)
    else:
        rank_all = _one_by_one(_ranking(opened, method, vectors))
    for line in read_inputs(text):
        targets = [
            Target(words, position, pos=pos)
            for words in map(split_words, split_sentences(line))
            for position in _positions(opened, words, word or [])
        ]
        ranked = zip(targets, rank_all(targets), strict=True)
        rows = [(target.words[target.position], senses) for target, senses in ranked if senses]
        _print_ranked(opened, line, rows, as_json)


def _ranking(lexicon: Lexicon, method: str, vectors: Path | None) -> Rank:
    if method != GLOSS_VECTORS:
        return lambda target: rank_senses(lexicon, target, method)
    from firth.cli.vectors_arguments import load_vectors
    from firth.embeddings.sense_disambiguation import GlossVectors

    if vectors is None:
        raise FirthError(f"--method {GLOSS_VECTORS} needs word vectors", do="name a file or a run with --vectors")
    glosses = GlossVectors(load_vectors(vectors), lexicon)
    return lambda target: glosses.rank(target.words, target.position, pos=target.pos)


def _one_by_one(rank: Rank) -> RankAll:
    return lambda targets: [rank(target) for target in targets]


def _by_encoder(lexicon: Lexicon, method: str, encoder: str, examples: list[WordSense], mask_target: bool) -> RankAll:
    """The ranking of senses of many words by an encoder."""
    from firth import api
    from firth.workflows import contextual_senses

    if not encoder:
        raise FirthError(f"--method {method} needs an encoder", do="name the run of a network with --encoder")
    model = api.load(encoder)
    if method == SENSE_EMBEDDINGS:
        from firth.pipelines.word_states import WordStates

        states = WordStates(model, mask_target=mask_target)
        return contextual_senses.SenseEmbeddings(states, examples, lexicon).rank
    serves = contextual_senses.gloss_method(model)
    if serves != method:
        do = f"use --method {serves}" if serves else f"use --method {SENSE_EMBEDDINGS}"
        raise FirthError(f"this model does not serve --method {method}", where=encoder, do=do)
    return contextual_senses.rank_by_glosses(lexicon, model)


def _training(source: str, data: Path | None, max_train: int) -> list[WordSense]:
    """The labelled words of a file, or of the training split of a set."""
    if not source:
        raise FirthError(f"--method {SENSE_EMBEDDINGS} needs labelled words", do="name a file or set with --train")
    return _read(source, "" if data_arguments.is_file(source) else "train", data, max_train)


def _positions(lexicon: Lexicon, words: list[str], only: list[str]) -> list[int]:
    """The positions of the words to disambiguate: those asked for, else all that the lexicon has but function words."""
    if only:
        wanted = {word.lower() for word in only}
        return [at for at, word in enumerate(words) if word.lower() in wanted]
    return [at for at, word in enumerate(words) if word.lower() not in FUNCTION_WORDS and lexicon.lemmas(word)]


def _print_ranked(lexicon: Lexicon, line: str, rows: list[tuple[str, list[ScoredSense]]], as_json: bool) -> None:
    if as_json:
        words = [{"word": word, "senses": [_to_json(lexicon, each) for each in ranked]} for word, ranked in rows]
        print_json({"text": line, "words": words})
        return
    if not rows:
        print("no word of the lexicon")
    print_table([_ranked_row(lexicon, word, ranked) for word, ranked in rows], full_width=True)


def _ranked_row(lexicon: Lexicon, word: str, ranked: list[ScoredSense]) -> dict[str, str]:
    synset, score = ranked[0].sense.synset, f"{ranked[0].score:z.3g}"
    about = {"word": sanitise(word), "sense": lexicon.sense_name(synset), "score": score, "of": str(len(ranked))}
    return about | {"definition": sanitise(synset.definition)}


def _to_json(lexicon: Lexicon, scored: ScoredSense) -> dict[str, Any]:
    sense = scored.sense
    about = {"sense": sense.name, "synset": lexicon.sense_name(sense.synset), "key": sense.key, "score": scored.score}
    return {**about, "definition": sense.synset.definition}


# --- evaluate -------------------------------------------------------------------------------------------------------


def evaluate(
    data_set: Annotated[str, typer.Argument(metavar="SET|FILE", help="Words with senses: a data set, or a file.")] = (
        "world-senses"
    ),
    split: Annotated[str, typer.Option(help="Split of a data set that is scored.")] = "test",
    train: Annotated[str, typer.Option(help="Labelled file to train on; of a data set its training split.")] = "",
    vectors: VECTORS = None,
    encoder: ENCODER = "",
    mask_target: MASK_TARGET = False,
    max_words: Annotated[int, typer.Option(min=1, help="Words to score at most.")] = 2000,
    max_train: Annotated[int, typer.Option(min=1, help="Words to train on at most.")] = 5000,
    lexicon: LEXICON = "",
    data: DATA = None,
    seed: SEED = 0,
    as_json: JSON = False,
) -> None:
    """Score word-sense disambiguation on words with known senses, beside its baselines."""
    from firth.lexicon.sense_evaluation import evaluate_senses, random_baseline

    is_file = data_arguments.is_file(data_set)
    opened = open_named(lexicon or ("world" if data_set == WORLD_SENSES else ""))
    records = _read(data_set, "" if is_file else split, data, max_words)
    training = _read(train or data_set, "" if train else "train", data, max_train) if train or not is_file else []
    methods = _methods(opened, training, vectors)
    methods |= _encoder_methods(opened, records, training, encoder, mask_target) if encoder else {}
    methods |= _exact_posterior(split, len(records)) if data_set == WORLD_SENSES else {}
    results = [random_baseline(opened, records, data_set), *evaluate_senses(records, methods, data_set, seed)]
    if as_json:
        print_json([result.to_dict() for result in results])
        return
    print_table(list(map(_row, results)), full_width=True)


def _read(source: str, split: str, data: Path | None, count: int) -> list[WordSense]:
    from firth.datasets import tasks
    from firth.datasets.readers import word_senses

    chosen = data_arguments.find(source, split, None, None, "", data)
    form = word_senses.Senses.task
    return list(tasks.examples(islice(chosen.records(), count), form))


def _methods(lexicon: Lexicon, training: list[WordSense], vectors: Path | None) -> dict[str, Choose]:
    """The methods that can be scored with what is there."""
    from firth.lexicon.sense_evaluation import FREQUENT, by_lexicon, is_sense, most_frequent_sense

    methods = {method: by_lexicon(lexicon, method) for method in METHODS}
    if training:
        methods = {FREQUENT: most_frequent_sense(training), **methods}
    if vectors:
        from firth.cli.vectors_arguments import load_vectors
        from firth.embeddings.sense_disambiguation import GlossVectors, SenseVectors

        store = load_vectors(vectors)
        glosses = GlossVectors(store, lexicon)

        def by_glosses(record: WordSense) -> bool | None:
            ranked = glosses.rank(record.words, record.position, record.word)
            return is_sense(lexicon, ranked[0].sense, record.sense) if ranked else None

        methods[GLOSS_VECTORS] = by_glosses
        methods |= {SENSE_VECTORS: SenseVectors(store, training).choose} if training else {}
    return methods


def _encoder_methods(
    lexicon: Lexicon, records: list[WordSense], training: list[WordSense], encoder: str, mask_target: bool
) -> dict[str, Choose]:
    """The methods that a run serves: senses from examples, and glosses."""
    from firth import api
    from firth.pipelines.word_states import WordStates
    from firth.workflows import contextual_senses

    model, methods = api.load(encoder), {}
    if training:
        embeddings = contextual_senses.SenseEmbeddings(WordStates(model, mask_target=mask_target), training, lexicon)
        methods[SENSE_EMBEDDINGS] = embeddings.evaluator(records)
    if name := contextual_senses.gloss_method(model):
        ranking = contextual_senses.rank_by_glosses(lexicon, model)
        methods[name] = contextual_senses.choose_by_rank(lexicon, ranking, records)
    if not methods:
        raise FirthError("nothing to learn senses from", where=encoder, do="name labelled words with --train")
    return methods


def _exact_posterior(split: str, words: int) -> dict[str, Choose]:
    """The most probable sense of the first so many words of a split of the world: the best that is possible."""
    from firth.datasets.builtin import DOCUMENTS
    from firth.datasets.world import default_world
    from firth.datasets.world.ambiguous_words import sense_posteriors

    stories = (sense_posteriors(default_world(), number) for number in count(DOCUMENTS[split][0]))
    best = {record: max(shares, key=lambda sense: shares[sense])
            for record, shares in islice(chain.from_iterable(stories), words)}  # fmt: skip
    return {EXACT: lambda record: best[record] == record.sense}


def gloss_pairs(
    data_set: Annotated[str, typer.Argument(metavar="SET|FILE", help="Words with senses: a data set, or a file.")],
    out: Annotated[Path, typer.Option(metavar="FILE.tsv", help="The table to write: left, right, label.")],
    split: Annotated[str, typer.Option(help="Split of a data set.")] = "train",
    max_words: Annotated[int, typer.Option(min=1, help="Words at most.")] = 20_000,
    lexicon: LEXICON = "",
    data: DATA = None,
    as_json: JSON = False,
) -> None:
    """Write pairs of context and gloss, to train a classifier of senses (GlossBERT) or a bi-encoder on."""
    from firth.datasets import numbered_lines
    from firth.datasets.readers.values import require_cell
    from firth.lexicon.gloss_pairs import labelled_pairs

    opened = open_named(lexicon or ("world" if data_set == WORLD_SENSES else ""))
    is_file = data_arguments.is_file(data_set)
    records = _read(data_set, "" if is_file else split, data, max_words)
    pairs = list(labelled_pairs(opened, records))
    rows = ["left\tright\tlabel", *("\t".join(map(require_cell, (p.left, p.right, p.label or ""))) for p in pairs)]
    numbered_lines.save_lines(out, rows)
    if as_json:
        print_json({"file": str(out), "words": len(records), "pairs": len(pairs)})
        return
    print(f"{out}: {len(pairs):,} pairs of {len(records):,} words")


def _row(result: SenseAccuracy) -> dict[str, str]:
    interval = f"{result.interval.low:.1%} to {result.interval.high:.1%}" if result.interval else ""
    return {"method": result.method, "accuracy": f"{result.score.value or 0.0:.1%}", "95% CI": interval,
            "answered": f"{result.answered:,}", "words": f"{result.words:,}"}  # fmt: skip
