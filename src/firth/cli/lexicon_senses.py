"""`firth lexicon disambiguate | evaluate`."""

from __future__ import annotations

from itertools import islice
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
VECTORS = Annotated[Path | None, typer.Option(help="Word vectors (a file or run), for the methods that need them.")]


def disambiguate(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="A text, or - to read lines.")],
    word: Annotated[list[str] | None, typer.Option(help="Only this word of the text; repeatable.")] = None,
    method: Annotated[choice((*METHODS, GLOSS_VECTORS)), typer.Option(help="How senses are chosen.")] = "lesk",
    vectors: VECTORS = None,
    pos: POS = "",
    lexicon: LEXICON = "",
    as_json: JSON = False,
) -> None:
    """Word-sense disambiguation: the best sense of each word of a text, by glosses (Lesk) or vectors."""
    from firth.tokenizers.split import split_sentences, split_words

    opened = open_named(lexicon)
    rank = _ranking(opened, method, vectors)
    for line in read_inputs(text):
        rows = []
        for words in map(split_words, split_sentences(line)):
            for position in _positions(opened, words, word or []):
                ranked = rank(Target(words, position, pos=pos))
                rows += [(words[position], ranked)] if ranked else []
        _print_ranked(opened, line, rows, as_json)


def _ranking(lexicon: Lexicon, method: str, vectors: Path | None) -> Any:
    if method != GLOSS_VECTORS:
        return lambda target: rank_senses(lexicon, target, method)
    from firth.cli.vectors_arguments import load_vectors
    from firth.embeddings.sense_disambiguation import GlossVectors

    if vectors is None:
        raise FirthError(f"--method {GLOSS_VECTORS} needs word vectors", do="name a file or a run with --vectors")
    glosses = GlossVectors(load_vectors(vectors), lexicon)
    return lambda target: glosses.rank(target.words, target.position, pos=target.pos)


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
    opened = open_named(lexicon or ("world" if data_set == "world-senses" else ""))
    records = _read(data_set, "" if is_file else split, data, max_words)
    training = _read(train or data_set, "" if train else "train", data, max_train) if train or not is_file else []
    methods = _methods(opened, training, vectors)
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


def _row(result: SenseAccuracy) -> dict[str, str]:
    interval = f"{result.interval.low:.1%} to {result.interval.high:.1%}" if result.interval else ""
    return {"method": result.method, "accuracy": f"{result.score.value or 0.0:.1%}", "95% CI": interval,
            "answered": f"{result.answered:,}", "words": f"{result.words:,}"}  # fmt: skip
