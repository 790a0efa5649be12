"""Two gigabytes of text in bounded memory (FIRTH_LARGE_MB sets another size)."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

MEGABYTES = int(os.environ.get("FIRTH_LARGE_MB", "2000"))
MEMORY = 1500  # MB that the process may take at its highest, whatever the size of the text
VOCABULARY = 1_000_000  # distinct words, as many as gigabytes of a language have
LINE, PARAGRAPH, CHUNK = 12, 5, 1200  # words, lines, paragraphs

CHILD = """
import json, resource, sys
from pathlib import Path
from firth.config import schema
from firth.data.cache import tokenised
from firth.data.sources import open_source
from firth.text.tokenizer import Tokenizer

path, cache = Path(sys.argv[1]), Path(sys.argv[2])
source = open_source((str(path),), schema.Text(), cache / "spool")
tokenizer = Tokenizer.train(schema.Tokenizer(model=sys.argv[3], size=8000), source)
split = tokenised(cache, "train", source.fingerprint(), source, tokenizer, account=False)
picked = [0, len(split.starts) // 2, len(split.starts) - 2]
texts = [tokenizer.decode(split.ids[split.starts[n] : split.starts[n + 1]].tolist()) for n in picked]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"peak": peak, "bytes": split.tally.bytes, "documents": split.tally.documents,
                  "tokens": split.tally.tokens, "texts": dict(zip(picked, texts))}))
"""


def paragraphs(size: int) -> Iterator[str]:
    """Varied text of about so many bytes: words of every frequency (Zipf's law), each paragraph another."""
    words, draw = [spelling(rank) for rank in range(VOCABULARY)], np.random.default_rng(1)
    while size > 0:
        ranks = np.exp(draw.random((CHUNK * PARAGRAPH, LINE)) * math.log(VOCABULARY)).astype(np.int64)
        lines = [" ".join(map(words.__getitem__, row)) for row in (ranks - 1).tolist()]
        for start in range(0, len(lines), PARAGRAPH):
            found = "\n".join(lines[start : start + PARAGRAPH])
            size -= len(found.encode()) + 2
            yield found


def spelling(rank: int) -> str:
    """A word for each rank, commoner ones shorter: syllables, some of them not ASCII."""
    syllables = [a + b for a in "bdfgklmnprstvzçş" for b in "aeioué"]
    word = ""
    while rank >= 0:
        rank, rest = divmod(rank, len(syllables))
        word += syllables[rest]
        rank -= 1
    return word


@pytest.mark.slow
@pytest.mark.parametrize("model", ["byte-bpe"])
def test_a_large_text_is_learnt_from_and_cached_in_bounded_memory(tmp_path, model):
    with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
        path, count, size = Path(folder, "large.txt"), 0, 0
        with path.open("w", encoding="utf-8") as file:
            for paragraph in paragraphs(MEGABYTES * 1_000_000):
                file.write(f"{paragraph}\n\n")
                count, size = count + 1, size + len(paragraph.encode())
        command = [sys.executable, "-c", CHILD, str(path), str(Path(folder, "cache")), model]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(f"{MEGABYTES} MB: peak {found['peak']:.0f} MB, {found['tokens']:,} tokens")
        assert found["peak"] < MEMORY
        assert (found["documents"], found["bytes"]) == (count, size)
        for number, text in found["texts"].items():
            assert text == next(islice(paragraphs(MEGABYTES * 1_000_000), int(number), None))
