"""`firth tokenizer import | export | edit`: other programs' files, and other tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from firth.errors import FirthError


def bring(
    source: Annotated[
        Path, typer.Argument(metavar="FILE", help="A .model, vocab.txt, vocab.json or merges.txt, or their folder.")
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT.json", help="The tokenizer.json to write.")],
) -> None:
    """Turn a tokenizer of another program (SentencePiece, BERT, GPT-2) into a tokenizer.json."""
    from firth.runs import files
    from firth.text.files import read

    files.destination(out)
    made = read(source)
    files.replace_file(out, made.to_json().encode())
    print(f"{out}: {made.kind}, {made.size:,} tokens, sha256 {made.hash[:12]}")


def export(
    tokenizer: Annotated[Path, typer.Argument(metavar="TOKENIZER", help="A tokenizer.json, or a run folder.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The .model to write; for bert and gpt2 a folder.")],
    to: Annotated[str, typer.Option(help="sentencepiece, bert or gpt2.")],
) -> None:
    """Write a tokenizer as a file of another program."""
    from firth.runs import files
    from firth.text.files import convert

    written = convert(load(tokenizer), to)
    if "" not in written.contents:
        files.require_folder(out.parent)
        files.make_folder(out)
    for name, content in written.contents.items():
        place = out / name if name else out
        files.replace_file(place, content)
        print(f"{place}: {len(content):,} bytes")
    for note in written.notes:
        print(f"note: {note}")


def edit(
    tokenizer: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, or a tokenizer.json.")],
    out: Annotated[Path, typer.Option(help="The new run folder, or the new tokenizer.json.")],
    add: Annotated[str, typer.Option(help="Words to add, with commas between; a space before one counts.")] = "",
    remove: Annotated[str, typer.Option(help="Tokens to remove, with commas between.")] = "",
    add_file: Annotated[Path | None, typer.Option(help="Words to add, one per line.")] = None,
    remove_file: Annotated[Path | None, typer.Option(help="Tokens to remove, one per line.")] = None,
) -> None:
    """Add tokens to a run's tokenizer, or remove some: a new run with the weights of the old one."""
    from firth.runs import files

    added, removed = _words(add, add_file), _words(remove, remove_file)
    if not added and not removed:
        raise FirthError("nothing to add or remove", do="give --add, --remove, --add-file or --remove-file")
    files.require_folder(out.parent)
    if tokenizer.is_dir():
        from firth.families.surgery import edit_run

        edited = edit_run(tokenizer, out, added, removed)
    else:
        from firth.text.surgery import edit as edit_tokenizer

        edited = edit_tokenizer(load(tokenizer), added, removed)
        files.replace_file(out, edited.tokenizer.to_json().encode())
    size = len(edited.tokenizer.vocabulary())
    print(f"{out}: {size:,} tokens, {len(edited.added)} added, {len(edited.removed)} removed")
    if edited.stranded:
        print(f"note: no text becomes {_some(edited.stranded)} any more, for want of a part that was removed")


def load(path: Path):
    """The tokenizer of a file or of a run folder."""
    from firth.text.tokenizer import Tokenizer

    return Tokenizer.load(path / "tokenizers" / "text.json" if path.is_dir() else path)


def _words(given: str, path: Path | None) -> list[str]:
    from firth.text.files.lines import lines_of

    return [*(given.split(",") if given else []), *(filter(None, lines_of(path)) if path else [])]


def _some(tokens: tuple[str, ...]) -> str:
    shown = ", ".join(map(repr, tokens[:5]))
    return shown if len(tokens) <= 5 else f"{shown} and {len(tokens) - 5} others"
