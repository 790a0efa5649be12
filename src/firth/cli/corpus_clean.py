"""`firth corpus clean`: filters over documents, with the number and a sample of what each dropped."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from firth.cli.console import print_table, require_writable, sanitise, split_commas
from firth.cli.options import DOCUMENT, ENCODING, ENCODING_ERRORS, JSON, TEXT, Lowercase, choice
from firth.errors import FirthError
from firth.tokenizers.word_segmentation import SEGMENTERS

if TYPE_CHECKING:
    from firth.corpus.cleaning import Filter, FilteredDocuments, WordTokenizer
    from firth.corpus.language_id import LanguageIdentifier
    from firth.datasets.sources import Source

_MIN_CHARACTERS = Annotated[int | None, typer.Option(min=0, help="Minimum length of a document in characters.")]
_MAX_CHARACTERS = Annotated[int | None, typer.Option(min=0, help="Maximum length of a document in characters.")]
_MIN_WORDS = Annotated[int | None, typer.Option(min=0, help="Minimum length of a document in words.")]
_MAX_WORDS = Annotated[int | None, typer.Option(min=0, help="Maximum length of a document in words.")]
_REFRESH = 0.2  # seconds between two updates of the progress line


def clean(
    text: TEXT,
    out: Annotated[Path, typer.Option(help="The file to write (.gz and .xz are compressed), or -.")],
    min_characters: _MIN_CHARACTERS = None,
    max_characters: _MAX_CHARACTERS = None,
    min_words: _MIN_WORDS = None,
    max_words: _MAX_WORDS = None,
    min_letter_fraction: Annotated[float | None, typer.Option(help="Minimum fraction of letters, 0 to 1.")] = None,
    language: Annotated[str | None, typer.Option(help="Language to keep; several with commas.")] = None,
    identifier: Annotated[
        str | None,
        typer.Option(help="Train the language identifier: en=FILE,de=FILE, or their folder; or load a saved one."),
    ] = None,
    min_confidence: Annotated[float | None, typer.Option(help="Minimum probability of the language; 0.5.")] = None,
    save_identifier: Annotated[Path | None, typer.Option(help="Save the trained language identifier.")] = None,
    required_words: Annotated[
        Path | None, typer.Option(help="Keep documents with words of this list, one per line.")
    ] = None,
    min_required: Annotated[int | None, typer.Option(min=1, help="Minimum of different required words; 1.")] = None,
    blocked_words: Annotated[Path | None, typer.Option(help="Drop documents with a word of this list.")] = None,
    stopwords: Annotated[
        str | None, typer.Option(help="Stop words: a file, or n for the n most common words of the text.")
    ] = None,
    min_stopword_fraction: Annotated[float, typer.Option(help="Minimum fraction of stop words.")] = 0.0,
    max_stopword_fraction: Annotated[float, typer.Option(help="Maximum fraction of stop words.")] = 1.0,
    remove_stopwords: Annotated[bool, typer.Option("--remove-stopwords", help="Remove stop words.")] = False,
    deduplicate: Annotated[bool, typer.Option("--deduplicate", help="Drop exact duplicates.")] = False,
    near_duplicates: Annotated[
        float | None, typer.Option(help="Drop near-duplicates (MinHash) of this Jaccard similarity: 0.8.")
    ] = None,
    shingle_size: Annotated[int | None, typer.Option(min=1, help="Words per shingle of --near-duplicates; 5.")] = None,
    num_hashes: Annotated[int | None, typer.Option(min=1, help="MinHash functions of --near-duplicates; 128.")] = None,
    segment: Annotated[choice(SEGMENTERS) | None, typer.Option(help="Word segmentation: blanks between words.")] = None,
    lowercase: Annotated[Lowercase, typer.Option(help="Ignore case; turkish: I with ı, İ with i.")] = "yes",
    document: DOCUMENT = "auto",
    encoding: ENCODING = "utf-8",
    encoding_errors: ENCODING_ERRORS = "strict",
    samples: Annotated[int, typer.Option(min=0, help="First and random dropped documents to print per filter.")] = 2,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the samples.")] = 1,
    as_json: JSON = False,
) -> None:
    """Filter and deduplicate documents; print what each filter dropped."""
    options = SimpleNamespace(**locals())
    _check_dependent(options)
    source = _open_text(options)
    word_tokenizer = _word_tokenizer(options)
    filters = _filters(options, source, word_tokenizer)
    if not filters:
        raise FirthError("no filter", do="give one, such as --min-words 3; see firth corpus clean --help")
    _run(options, source, filters, word_tokenizer)


def _run(options: SimpleNamespace, source: Source, filters: list[Filter], word_tokenizer: WordTokenizer) -> None:
    from firth.corpus.cleaning import clean
    from firth.datasets.text_writer import open_writer

    documents = _with_locations(source, options.document)
    filtered = clean(documents, filters, word_tokenizer=word_tokenizer, samples=options.samples, seed=options.seed)
    with open_writer(options.out, options.document) as writer:
        for text in filtered:
            writer.write(text)
    _report(filtered, options, sys.stderr if str(options.out) == "-" else sys.stdout)
    if not filtered.kept:
        raise FirthError("no document is left, so nothing was written", where=options.out, do="loosen the filters")


# --- options --------------------------------------------------------------------------------------------------------


_DEPENDENT = {
    "save_identifier": "identifier",
    "min_confidence": "language",
    "min_required": "required_words",
    "shingle_size": "near_duplicates",
    "num_hashes": "near_duplicates",
}


def _check_dependent(options: SimpleNamespace) -> None:
    """Refuse an option that has no effect without another."""
    for name, partner in _DEPENDENT.items():
        if getattr(options, name) is not None and getattr(options, partner) is None:
            option, other = (f"--{key.replace('_', '-')}" for key in (name, partner))
            raise FirthError(f"{option} has no effect without {other}", do=f"give {other} too, or leave {option} out")


def _open_text(options: SimpleNamespace) -> Source:
    from firth.config import core, schema

    settings = [f"{key}={getattr(options, key)}" for key in ("text", "document", "encoding", "encoding_errors")]
    data = core.override(schema.Text(), settings)
    source = _open(data.text, data)
    if options.out.resolve() in {path.resolve() for part in source.parts if (path := getattr(part, "path", None))}:
        do = "give another file; what is dropped would be lost"
        raise FirthError("--out would overwrite the text", where=options.out, do=do)
    return source


def _open(names: Any, data: Any) -> Source:
    from firth.datasets.sources import open_source
    from firth.datasets.token_cache import default_cache

    return open_source(names, data, default_cache() / "spool")


def _word_tokenizer(options: SimpleNamespace) -> WordTokenizer:
    from firth.corpus.cleaning import WordTokenizer
    from firth.tokenizers.word_segmentation import segmenter

    if options.segment:
        return WordTokenizer(segmenter(options.segment), options.lowercase)
    return WordTokenizer(lowercase=options.lowercase)


def _filters(options: SimpleNamespace, source: Source, word_tokenizer: WordTokenizer) -> list[Filter]:
    """All filters: segmentation first, then the cheap ones, deduplication last.

    Length limits come after the removal of stop words, so that they hold for the text that is written."""
    from firth.corpus import filters as f

    if options.identifier and not options.language:
        raise FirthError("no language to keep", where="--identifier", do="give --language NAME")
    fractions, removal = _stopword_filters(options, source, word_tokenizer)
    content = [*_language_filter(options), *fractions]
    if options.required_words:
        content.append(f.RequiredWordsFilter(_read_list(options.required_words), options.min_required or 1))
    if options.blocked_words:
        content.append(f.BlockedWordsFilter(_read_list(options.blocked_words)))
    duplicates = [f.ExactDeduplicator()] if options.deduplicate else []
    if options.near_duplicates is not None:
        sizes = options.shingle_size or 5, options.num_hashes or 128
        duplicates.append(f.NearDeduplicator(options.near_duplicates, *sizes))
    lengths = _length_filters(options)
    first, then = (content, lengths) if removal else (lengths, content)
    return [*([f.WordSegmenter()] if options.segment else []), *first, *removal, *then, *duplicates]


def _language_filter(options: SimpleNamespace) -> list[Filter]:
    from firth.corpus.filters import LanguageFilter

    if not options.language:
        return []
    confidence = 0.5 if options.min_confidence is None else options.min_confidence
    return [LanguageFilter(tuple(split_commas(options.language)), _open_identifier(options), confidence)]


def _length_filters(options: SimpleNamespace) -> list[Filter]:
    from firth.corpus import filters as f

    filters: list[Filter] = []
    if options.min_characters is not None or options.max_characters is not None:
        filters.append(f.CharacterCountFilter(options.min_characters or 0, options.max_characters))
    if options.min_words is not None or options.max_words is not None:
        filters.append(f.WordCountFilter(options.min_words or 0, options.max_words))
    if options.min_letter_fraction is not None:
        filters.append(f.LetterFractionFilter(options.min_letter_fraction))
    return filters


def _stopword_filters(
    options: SimpleNamespace, source: Source, word_tokenizer: WordTokenizer
) -> tuple[list[Filter], list[Filter]]:
    """The limits on the fraction of stop words, and their removal."""
    from firth.corpus import filters as f
    from firth.corpus.stopwords import most_common_words

    limits = options.min_stopword_fraction, options.max_stopword_fraction
    limited = limits != (0.0, 1.0)
    if not options.stopwords:
        if limited or options.remove_stopwords:
            do = "give --stopwords FILE, or --stopwords 100 for the hundred most common words of the text"
            raise FirthError("no stop words", do=do)
        return [], []
    if options.stopwords.isdecimal():
        words = most_common_words(source, int(options.stopwords), word_tokenizer)
    else:
        words = _read_list(options.stopwords)
    fractions = [f.StopWordFractionFilter(words, *limits)] if limited else []
    return fractions, [f.StopWordRemover(words)] if options.remove_stopwords else []


def _open_identifier(options: SimpleNamespace) -> LanguageIdentifier:
    """The language identifier: trained on texts, loaded from a file, or py3langid."""
    from firth.corpus.language_id import NgramLanguageIdentifier, Py3LangidIdentifier
    from firth.runs import atomic_files

    if not options.identifier:
        return Py3LangidIdentifier()
    if "=" not in options.identifier and Path(options.identifier).is_file():
        if options.save_identifier:
            do = "leave --save-identifier out, or give texts to train on: --identifier en=FILE,de=FILE"
            raise FirthError("nothing is trained, so there is nothing to save", where=options.identifier, do=do)
        return NgramLanguageIdentifier.load(options.identifier)
    require_writable(options.save_identifier)
    trained = NgramLanguageIdentifier.train(_language_texts(options))
    if options.save_identifier:
        atomic_files.replace_file(options.save_identifier, trained.to_json().encode())
    return trained


def _language_texts(options: SimpleNamespace) -> dict[str, Source]:
    """The texts of en=FILE,de=FILE, or of a folder with a file or folder for each language."""
    from firth.config import schema

    folder = Path(options.identifier)
    if folder.is_dir():
        pairs = [(path.name.split(".")[0], str(path)) for path in sorted(folder.iterdir()) if path.name[0] != "."]
    else:
        pairs = [tuple(part.split("=", 1)) for part in split_commas(options.identifier)]
    for pair in pairs:
        if len(pair) < 2 or not all(pair):
            do = "write --identifier en=english.txt,de=german.txt, or give a folder or a saved file"
            raise FirthError(f"{'='.join(pair)!r} is neither LANGUAGE=FILE nor a file", where="--identifier", do=do)
    data = schema.Text(encoding=options.encoding, encoding_errors=options.encoding_errors)
    paths: dict[str, list[str]] = {}
    for name, path in pairs:
        paths.setdefault(name.strip(), []).append(path)
    return {name: _open(files, data) for name, files in paths.items()}


def _read_list(path: str | Path) -> tuple[str, ...]:
    from firth.corpus.stopwords import read_word_list

    return read_word_list(path)


# --- progress and report --------------------------------------------------------------------------------------------


def _with_locations(source: Source, unit: str) -> Iterator[tuple[str, str]]:
    """The documents, normalised as they are written, with their locations; progress is shown on a terminal."""
    from firth.datasets.text_files import no_text_error
    from firth.datasets.text_writer import normalise

    begun = updated = time.monotonic()
    seen, live = 0, sys.stderr.isatty()
    for part in source.parts:
        shown = getattr(part, "shown", source.shown[0])
        for number, document in enumerate(part, 1):
            seen += 1
            if live and (now := time.monotonic()) - updated > _REFRESH:
                updated = now
                print(f"\r{seen:,} documents, {seen / (now - begun):,.0f} per second ", end="", file=sys.stderr)
            yield f"{shown}, document {number:,}", normalise(document, unit)
    if live:
        print("\r\x1b[K", end="", file=sys.stderr)
    if not seen:
        raise no_text_error(source.describe())


def _report(filtered: FilteredDocuments, options: SimpleNamespace, file: Any) -> None:
    report = {**filtered.report(), "out": str(options.out)}
    if options.as_json:
        print(json.dumps(report, ensure_ascii=False), file=file)
        return
    seen = max(1, filtered.seen)
    rows = [(stats.name, f"{stats.dropped:,}", f"{stats.dropped / seen:.1%}") for stats in filtered.filter_stats]
    print_table([dict(zip(("filter", "dropped", "fraction"), row, strict=True)) for row in rows], file)
    documents = f"{filtered.seen:,} document{'s' * (filtered.seen != 1)}"
    print(f"{documents} read, {filtered.kept:,} kept ({filtered.kept / seen:.1%})", file=file)
    for stats in filtered.filter_stats:
        if stats.samples:
            print(f'\ndropped by "{stats.name}"', file=file)
        for sample in stats.samples:
            print(f"  {sanitise(sample.place)}: {sanitise(sample.text)}", file=file)
