"""A small good file of every format, made by hand, and where its parts lie: for fuzzing."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from firth.datasets.readers import FORMATS


class Case(NamedTuple):
    """A format, a file it reads, and how that file is laid out together with others that the reader wants."""

    format: Any
    good: bytes
    lay: Callable[[Path, bytes], Any]


def alone(folder: Path, content: bytes) -> Path:
    """One file."""
    path = folder / "file"
    path.write_bytes(content)
    return path


def beside(other: bytes, first: bool = True) -> Callable[[Path, bytes], tuple[Path, Path]]:
    """The file and another that stays what it is; `first` says whether the file comes first."""

    def lay(folder: Path, content: bytes) -> tuple[Path, Path]:
        paths = (folder / "one", folder / "two")
        for path, data in zip(paths, (content, other) if first else (other, content), strict=True):
            path.write_bytes(data)
        return paths

    return lay


def image_folder(folder: Path, content: bytes) -> Path:
    """A folder with one image and its table."""
    (folder / "a").write_bytes(content)
    (folder / "captions.tsv").write_text("a\ta square\n")
    return folder


def in_class(folder: Path, content: bytes) -> Path:
    """A class folder with one image."""
    (folder / "square").mkdir(exist_ok=True)
    (folder / "square" / "a.ppm").write_bytes(content)
    return folder


def table(folder: Path, content: bytes) -> Path:
    """The same folder, of which the table is the file."""
    (folder / "a").write_bytes(PPM)
    (folder / "captions.tsv").write_bytes(content)
    return folder


def dumped(value: object) -> bytes:
    return json.dumps(value, indent=1).encode()


def npz() -> bytes:
    content = io.BytesIO()
    np.savez(content, images=np.arange(2 * 3 * 2, dtype=np.uint8).reshape(2, 3, 2))
    return content.getvalue()


def png() -> bytes:
    from PIL import Image

    content = io.BytesIO()
    Image.fromarray(np.arange(27, dtype=np.uint8).reshape(3, 3, 3)).save(content, "PNG")
    return content.getvalue()


PPM = b"P6\n2 1\n255\n" + bytes(range(6))
IDX = b"\0\0\x08\x03" + struct.pack(">3I", 2, 2, 1) + bytes(range(4))
SQUAD = dumped(
    {
        "version": "v2.0",
        "data": [
            {
                "title": "Boats",
                "paragraphs": [
                    {
                        "context": "The red boat left at noon.",
                        "qas": [
                            {"id": "q1", "question": "What left?", "answers": [{"text": "boat", "answer_start": 8}]},
                            {"id": 2, "question": "Who?", "answers": [], "is_impossible": True},
                        ],
                    }
                ],
            }
        ],
    }
)
CONLLU = b"# text = a b\n1\ta\ta\tX\t_\t_\t0\troot\t_\t_\n2\tb\tb\tX\t_\tN=1\t1\tdep\t_\t_\n\n"
TREC = b"<DOC>\n<DOCNO> d1 </DOCNO>\n<TITLE>Boats</TITLE>\n<TEXT>\nred boats\n</TEXT>\n</DOC>\n"
TOPIC = b"<top>\n<num> Number: 3\n<title> boats\n\n<desc> Description:\nred boats\n<narr> Narrative:\nany\n</top>\n"
PLAIN = {
    "tsv": b"label\ttext\nyes\ta b\nno\tc\n",
    "csv": b'label,text\nyes,"a, b"\nno,c\n',
    "jsonl": b'{"label": "yes", "text": "a b"}\n{"label": "no", "text": "\\u00e9"}\n',
    "conllu": CONLLU,
    "columns": b"-DOCSTART- -X- O O\n\na DT B-NP O\nboat NN I-NP B-X\n\nit PRP B-NP O\n",
    "trees": b"(S (NP (DT a) (NN boat))\n   (VP (VB left)))\n( (X y))\n",
    "labels": b"__label__a __label__b red boat\n__label__a noon\n",
    "squad": SQUAD,
    "choices": b'{"id": "q1", "context": "a", "question": "b?", "choices": ["c", "d"], "answer": 1}\n'
    b'{"context": "a", "question": "", "choices": ["c", "d", "e"]}\n',
    "dialogues": b'{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]}\n',
    "senses": b'{"words": ["a", "bank"], "position": 1, "word": "bank", "sense": "bank.n.01", "definition": "slope"}\n',
    "wic": b"bank\tN\t1-0\ta bank\tbank it\tF\n",
    "nbest": b"id\thypothesis\tscore\tpause\treference\tcontext\n"
    b"u1\ta boat\t-1.5\t2\ta goat\tone\nu1\t\t-2\t0\ta goat\tone\nu2\tnoon\t0\t1\tnoon\t\n",
    "parallel": b"a boat\tun bateau\nnoon\tmidi\n",
    "alignments": b"0-0 1-2\n\n2-1\n",
    "similarity": b"left\tright\tscore\nboat\tship\t9.50\nboat\tnoon\t1\n",
    "contexts": "\t".join(["1", "a", "n", "b", "n", "an <b>a</b>", "a <b>b</b>", "5.5", *"1234567890"]).encode()
    + b"\n",
    "analogy": b": capital\nA B C D\nE F G H\n",
    "bats": b"boat\tboats\nchild\tchildren/kids\n",
    "categories": b',category,word\n0,ship,boat\n1,"time, day",noon\n',
    "cranfield": b".I 1\n.T\nboats\n.A\nme\n.W\nred boats\n.I 2\n.W\nnoon\n",
    "trec": TREC + TOPIC,
    "passages": b'{"_id": "d1", "title": "", "text": "red", "n": 1}\nd2\tnoon\n',
    "judgements": b"1 0 d1 3\n1 0 d2 -1\n",
    "series": b"time,x,y\n2024-01-01 00:00:00,1.5,2\n2024-01-01 00:05:00,-1e3,3\n",
    "images": npz(),
    "idx": IDX,
    "text": "one\n\ntwo lines\nhere é\n".encode(),
}
CASES = {
    **{name: Case(FORMATS[name], content, alone) for name, content in PLAIN.items()},
    "image-folder: PPM": Case(FORMATS["image-folder"], PPM, image_folder),
    "image-folder: table": Case(FORMATS["image-folder"], b"a\ta square\na\ta box\n", table),
    "class-folders": Case(FORMATS["class-folders"], PPM, in_class),
    "images: table": Case(FORMATS["images"], b"0\ta\t0\tred\n1\tb\t0\tblue\n1\tb\t1\tsky\n", beside(npz(), False)),
    "idx: labels": Case(FORMATS["idx"], b"\0\0\x08\x01\0\0\0\x02\x05\x07", beside(IDX, False)),
    "idx: packed": Case(FORMATS["idx"], gzip.compress(IDX, mtime=0), alone),
    "choices: RACE": Case(
        FORMATS["choices"],
        b'{"article": "a", "id": "r", "questions": ["b?", "c?"], "options": [["d", "e"], ["f", "g"]], '
        b'"answers": ["B", "A"]}\n',
        alone,
    ),
    "dialogues: prompts": Case(
        replace(FORMATS["dialogues"], layout="prompt", extra="drop"),
        b'{"prompt": "hi", "completion": "ho", "n": 1}\n',
        alone,
    ),
    "nbest: no header": Case(FORMATS["nbest"], b"u1\ta boat\t-1.5\t2\nu1\ta\t-2\t0\n", alone),
    "wic: labels": Case(FORMATS["wic"], b"T\nF\n", beside(b"a\tN\t0-0\ta\ta\nb\tV\t1-0\ta b\tb\n", False)),
    "parallel: files": Case(FORMATS["parallel"], b"un bateau\nmidi\n", beside(b"a boat\nnoon\n")),
    "series: numbers": Case(replace(FORMATS["series"], missing="nan", order="sort"), b"t,v\n2,1\n1,\n3,NA\n", alone),
    "squad: repair": Case(replace(FORMATS["squad"], offsets="repair"), SQUAD.replace(b": 8", b": 3"), alone),
    "trees: xz": Case(FORMATS["trees"], lzma.compress(PLAIN["trees"]), alone),
}
