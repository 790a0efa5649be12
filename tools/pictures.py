"""Makes the pictures of the home page, docs/images/*.svg, with firth itself, from runs on built-in data.

    python tools/pictures.py FOLDER

The runs are in FOLDER; those that are there already are not trained again. New ones take about five minutes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import firth
from firth.report.drawing import to_svg
from firth.report.ladder_figures import learning_curves
from firth.runs import atomic_files

IMAGES = Path(__file__).parent.parent / "docs" / "images"
MAX_BYTES = 150_000  # of a picture
WORDS = "file,socket,thread,exception,list,class"
SENTENCE = "Julia is bitter because the wolf stole the red boat ."


def draw_ladder(folder: Path) -> None:
    """The learning curves of a ladder of two minutes, the default."""
    ladder = folder / "ladder"
    run_firth("ladder", *([] if ladder.exists() else ["--text", "python-docs"]), "--out", str(ladder))
    curves = learning_curves(firth.run_ladder(out=ladder))  # finished: read from its folder
    assert curves is not None
    atomic_files.replace_file(IMAGES / "ladder.svg", to_svg(curves[0]).encode())


def draw_word_map(folder: Path) -> None:
    """Words of the documentation near six others, by skip-gram vectors."""
    run = str(folder / "words")
    run_firth("train", "skipgram", "--text", "python-docs", "--deterministic", "--out", run)
    title = "Words of the Python documentation"
    out = str(IMAGES / "words.svg")
    run_firth("vectors", "map", run, "--near", WORDS, "--neighbours", "11", "--title", title, "--out", out)


def draw_attention(folder: Path) -> None:
    """The attention weights of a translation into the second language of the world."""
    run = str(folder / "translation")
    run_firth("train", "bahdanau:tiny", "--budget", "3000 steps", "--out", run)
    run_firth("run", run, SENTENCE, "--plot", str(IMAGES / "attention.svg"))


def run_firth(*arguments: str) -> None:
    """Run a command of firth."""
    subprocess.run([sys.executable, "-m", "firth", *arguments], check=True)


def main(folder: Path) -> None:
    """Draw all pictures; a large one is an error."""
    IMAGES.mkdir(exist_ok=True)
    for draw in (draw_ladder, draw_word_map, draw_attention):
        draw(folder)
    for picture in sorted(IMAGES.glob("*.svg")):
        size = picture.stat().st_size
        print(f"{picture.name}: {size:,} bytes")
        assert size < MAX_BYTES, picture


if __name__ == "__main__":
    main(Path(sys.argv[1]))
