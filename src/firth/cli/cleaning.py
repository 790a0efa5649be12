"""`firth text clean`: filters over documents, with a count and a sample of what each dropped."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from firth.errors import FirthError

if TYPE_CHECKING:
    from firth.data.sources import Source
    from firth.text.cleaning import Cleaned, Filter, Wording
    from firth.text.language import Identifier

_Count = Annotated[int | None, typer.Option(min=0, help="Of a document.")]
_MOMENT = 0.2  # seconds between two signs of life


def clean(
    text: Annotated[str, typer.Option(help="Files, folders, -, python-docs or world; several with commas.")],
    out: Annotated[Path, typer.Option(help="The file to write (.gz and .xz are packed), or -.")],
    min_characters: _Count = None,
    max_characters: _Count = None,
    min_words: _Count = None,
    max_words: _Count = None,
    letters: Annotated[float | None, typer.Option(help="Least share of letters, 0 to 1.")] = None,
    language: Annotated[str | None, typer.Option(help="The language to keep; several with commas.")] = None,
    languages: Annotated[
        str | None, typer.Option(help="en=FILE,de=FILE to learn from, a folder of them, or a file saved before.")
    ] = None,
    confidence: Annotated[float | None, typer.Option(help="Least probability of the language: 0.5.")] = None,
    save_languages: Annotated[Path | None, typer.Option(help="Keep what was learnt of the languages.")] = None,
    keep_words: Annotated[Path | None, typer.Option(help="Keep what has words of this list, one a line.")] = None,
    keep_least: Annotated[int | None, typer.Option(min=1, help="So many different ones: 1.")] = None,
    drop_words: Annotated[Path | None, typer.Option(help="Drop what has any word of this list.")] = None,
    stop_words: Annotated[str | None, typer.Option(help="A list, or a number: so many commonest words.")] = None,
    min_stop: Annotated[float, typer.Option(help="Least share of stop words.")] = 0.0,
    max_stop: Annotated[float, typer.Option(help="Largest share of stop words.")] = 1.0,
    drop_stop_words: Annotated[bool, typer.Option("--drop-stop-words", help="Take them out of the text.")] = False,
    exact: Annotated[bool, typer.Option("--exact", help="Drop what came before, to the letter.")] = False,
    near: Annotated[float | None, typer.Option(help="Drop what is as similar as this to one before: 0.8.")] = None,
    shingle: Annotated[int | None, typer.Option(min=1, help="Words in the runs that --near compares: 5.")] = None,
    hashes: Annotated[int | None, typer.Option(min=1, help="More make --near more exact: 128.")] = None,
    segment: Annotated[str | None, typer.Option(help="Blanks between words: chinese or japanese.")] = None,
    lower: Annotated[str, typer.Option(help="How words are compared: no, yes or turkish lower case.")] = "yes",
    document: Annotated[str, typer.Option(help="What a document is: auto, file, paragraph or line.")] = "auto",
    encoding: Annotated[str, typer.Option(help="Of the text files.")] = "utf-8",
    errors: Annotated[str, typer.Option(help="strict, or replace bytes that are not text.")] = "strict",
    samples: Annotated[int, typer.Option(min=0, help="Dropped documents shown of each filter, twice.")] = 2,
    seed: Annotated[int, typer.Option(min=0, help="Of the samples.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for machines.")] = False,
) -> None:
    """Clean a text: filters with a count of what each dropped."""
    asked = SimpleNamespace(**locals())
    _check_partners(asked)
    source = _source(asked)
    wording = _wording(asked)
    filters = _filters(asked, source, wording)
    if not filters:
        raise FirthError("no filter is asked for", do="give one, such as --min-words 3; see firth text clean --help")
    _run(asked, source, filters, wording)


def _run(asked: SimpleNamespace, source: Source, filters: list[Filter], wording: Wording) -> None:
    from firth.data.writing import writing
    from firth.text.cleaning import clean as cleaning

    documents = _placed(source, asked.document)
    cleaned = cleaning(documents, filters, wording=wording, samples=asked.samples, seed=asked.seed)
    with writing(asked.out, asked.document) as writer:
        for text in cleaned:
            writer.write(text)
    _tell(cleaned, asked, sys.stderr if str(asked.out) == "-" else sys.stdout)
    if not cleaned.kept:
        raise FirthError("no document is left, so nothing was written", where=asked.out, do="loosen the filters")


# --- what was asked for -------------------------------------------------------------------------------------------


_PARTNERS = {"save_languages": "languages", "confidence": "language", "keep_least": "keep_words", "shingle": "near",
             "hashes": "near"}  # fmt: skip


def _check_partners(asked: SimpleNamespace) -> None:
    """An option that does nothing by itself is a mistake."""
    for name, partner in _PARTNERS.items():
        if getattr(asked, name) is not None and getattr(asked, partner) is None:
            option, other = (f"--{key.replace('_', '-')}" for key in (name, partner))
            raise FirthError(f"{option} does nothing without {other}", do=f"give {other} too, or leave {option} out")


def _source(asked: SimpleNamespace) -> Source:
    from firth.config import core, schema

    settings = [f"{key}={getattr(asked, key)}" for key in ("text", "document", "encoding", "errors")]
    data = core.override(schema.Text(), settings)
    found = _open(data.text, data)
    if asked.out.resolve() in {path.resolve() for part in found.parts if (path := getattr(part, "path", None))}:
        do = "name another file; what is dropped would be lost"
        raise FirthError("the cleaned text would be written over the text", where=asked.out, do=do)
    return found


def _open(names: Any, data: Any) -> Source:
    from firth.data.cache import default_cache
    from firth.data.sources import open_source

    return open_source(names, data, default_cache() / "spool")


def _wording(asked: SimpleNamespace) -> Wording:
    from firth.text.cleaning import Wording
    from firth.text.segment import segmenter

    return Wording(segmenter(asked.segment), asked.lower) if asked.segment else Wording(lower=asked.lower)


def _filters(asked: SimpleNamespace, source: Source, wording: Wording) -> list[Filter]:
    """Segmenting, the cheap ones, then duplicates; lengths are those of the text that is written."""
    from firth.text import filters as f

    if asked.languages and not asked.language:
        raise FirthError("which language to keep is not said", where="--languages", do="give --language NAME")
    stop, taken = _stop_filters(asked, source, wording)
    content = [*_in_language(asked), *stop]
    content += [f.HasWords(_list(asked.keep_words), asked.keep_least or 1)] if asked.keep_words else []
    content += [f.LacksWords(_list(asked.drop_words))] if asked.drop_words else []
    repeated = [f.NotSeen()] if asked.exact else []
    repeated += [f.NotNear(asked.near, asked.shingle or 5, asked.hashes or 128)] if asked.near is not None else []
    lengths = _lengths(asked)
    first, then = (content, lengths) if taken else (lengths, content)
    return [*([f.Spaced()] if asked.segment else []), *first, *taken, *then, *repeated]


def _in_language(asked: SimpleNamespace) -> list[Filter]:
    from firth.text.filters import InLanguage

    if not asked.language:
        return []
    confidence = 0.5 if asked.confidence is None else asked.confidence
    return [InLanguage(_several(asked.language), _identifier(asked), confidence)]


def _lengths(asked: SimpleNamespace) -> list[Filter]:
    from firth.text import filters as f

    found: list[Filter] = []
    if asked.min_characters is not None or asked.max_characters is not None:
        found.append(f.Characters(asked.min_characters or 0, asked.max_characters))
    if asked.min_words is not None or asked.max_words is not None:
        found.append(f.Words(asked.min_words or 0, asked.max_words))
    return [*found, f.Letters(asked.letters)] if asked.letters is not None else found


def _stop_filters(asked: SimpleNamespace, source: Source, wording: Wording) -> tuple[list[Filter], list[Filter]]:
    """The limits on the share of stop words, and their removal."""
    from firth.text import filters as f
    from firth.text.lists import common_words

    limited = (asked.min_stop, asked.max_stop) != (0.0, 1.0)
    if not asked.stop_words:
        if limited or asked.drop_stop_words:
            do = "give --stop-words FILE, or --stop-words 100 for the hundred commonest words of the text"
            raise FirthError("no stop words are known", do=do)
        return [], []
    number = asked.stop_words.isdecimal()
    words = common_words(source, int(asked.stop_words), wording) if number else _list(asked.stop_words)
    shares = [f.StopWordShare(words, asked.min_stop, asked.max_stop)] if limited else []
    return shares, [f.WithoutWords(words)] if asked.drop_stop_words else []


def _identifier(asked: SimpleNamespace) -> Identifier:
    """Learnt from texts, opened from a file, or ready-made."""
    from firth.runs import files
    from firth.text.language import Languages, ReadyMade

    if not asked.languages:
        return ReadyMade()
    if "=" not in asked.languages and Path(asked.languages).is_file():
        if asked.save_languages:
            do = "leave --save-languages out, or give texts to learn from: --languages en=FILE,de=FILE"
            raise FirthError("nothing is learnt, so there is nothing to save", where=asked.languages, do=do)
        return Languages.load(asked.languages)
    if asked.save_languages:
        files.destination(asked.save_languages)  # told before the learning, not after it
    found = Languages.train(_texts_of_languages(asked))
    if asked.save_languages:
        files.replace_file(asked.save_languages, found.to_json().encode())
    return found


def _texts_of_languages(asked: SimpleNamespace) -> dict[str, Source]:
    """The texts behind en=FILE,de=FILE, or behind a folder with files or folders for each language."""
    from firth.config import schema

    folder = Path(asked.languages)
    if folder.is_dir():
        pairs = [(path.name.split(".")[0], str(path)) for path in sorted(folder.iterdir()) if path.name[0] != "."]
    else:
        pairs = [tuple(part.split("=", 1)) for part in _several(asked.languages)]
    for pair in pairs:
        if len(pair) < 2 or not all(pair):
            do = "write --languages en=english.txt,de=german.txt, or name a folder or a saved file"
            raise FirthError(f"{'='.join(pair)!r} is neither LANGUAGE=FILE nor a file", where="--languages", do=do)
    data = schema.Text(encoding=asked.encoding, errors=asked.errors)
    paths: dict[str, list[str]] = {}
    for name, path in pairs:
        paths.setdefault(name.strip(), []).append(path)
    return {name: _open(several, data) for name, several in paths.items()}


def _several(names: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in names.split(",") if part.strip())


def _list(path: str | Path) -> tuple[str, ...]:
    from firth.text.lists import read_list

    return read_list(path)


# --- on the way, and at the end -----------------------------------------------------------------------------------


def _placed(source: Source, unit: str) -> Iterator[tuple[str, str]]:
    """The documents as they would be written, with their places; on a terminal, a line tells how many there were."""
    from firth.data.reading import no_text
    from firth.data.writing import plain

    begun = told = time.monotonic()
    seen, live = 0, sys.stderr.isatty()
    for part in source.parts:
        shown = getattr(part, "shown", source.shown[0])
        for number, document in enumerate(part, 1):
            seen += 1
            if live and (now := time.monotonic()) - told > _MOMENT:
                told = now
                print(f"\r{seen:,} documents, {seen / (now - begun):,.0f} a second ", end="", file=sys.stderr)
            yield f"{shown}, document {number:,}", plain(document, unit)
    if live:
        print("\r\x1b[K", end="", file=sys.stderr)
    if not seen:
        raise no_text(source.describe())


def _tell(cleaned: Cleaned, asked: SimpleNamespace, file: Any) -> None:
    from firth.cli.tables import show
    from firth.counts.width import plain

    report = {**cleaned.report(), "out": str(asked.out)}
    if asked.as_json:
        print(json.dumps(report, ensure_ascii=False), file=file)
        return
    seen = max(1, cleaned.seen)
    rows = [(tally.name, f"{tally.dropped:,}", f"{tally.dropped / seen:.1%}") for tally in cleaned.tallies]
    show([dict(zip(("filter", "dropped", "share"), row, strict=True)) for row in rows], file)
    documents = f"{cleaned.seen:,} document{'s' * (cleaned.seen != 1)}"
    print(f"{documents} read, {cleaned.kept:,} kept ({cleaned.kept / seen:.1%})", file=file)
    for tally in cleaned.tallies:
        if tally.samples:
            print(f'\ndropped by "{tally.name}"', file=file)
        for sample in tally.samples:
            print(f"  {plain(sample.place)}: {plain(sample.text)}", file=file)
