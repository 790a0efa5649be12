"""Two gigabytes of text in bounded memory (FIRTH_LARGE_MB sets another size)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

MEGABYTES = int(os.environ.get("FIRTH_LARGE_MB", "2000"))
MEMORY = 1500  # MB that the process may take at its highest, whatever the size of the text
VOCABULARY, DECAY = 3_000_000, 1.2  # distinct words and Zipf's exponent, about those of gigabytes of the web
LINE, PARAGRAPH, CHUNK = 12, 5, 1200  # words, lines, paragraphs
SYLLABLES = [a + b for a in "bdfgklmnprstvzçş" for b in "aeioué"]
PICKED = 1000  # a document to look at

CHILD = """
import json, resource, sys
from pathlib import Path
from firth.config import schema
from firth.datasets.token_cache import tokenise_split
from firth.datasets.sources import open_source
from firth.tokenizers.tokenizer import Tokenizer

path, cache = Path(sys.argv[1]), Path(sys.argv[2])
source = open_source((str(path),), schema.Text(), cache / "spool")
tokenizer = Tokenizer.train(schema.Tokenizer(model=sys.argv[3], vocabulary_size=8000), source)
split = tokenise_split(cache, "train", source.fingerprint(), source, tokenizer, account=False)
picked = [0, int(sys.argv[4]), split.tally.documents - 1]
texts = [tokenizer.decode(split.ids[split.starts[n] : split.starts[n + 1]].tolist()) for n in picked]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"peak": peak, "bytes": split.tally.bytes, "documents": split.tally.documents,
                  "tokens": split.tally.tokens, "texts": texts}))
"""


def paragraphs(size: int) -> Iterator[str]:
    """Varied text of about so many bytes: words of every frequency (Zipf's law), each paragraph another."""
    words, draw = [spelling(rank) for rank in range(VOCABULARY)], np.random.default_rng(1)
    while size > 0:
        even = draw.random((CHUNK * PARAGRAPH, LINE))
        ranks = (even * (VOCABULARY ** (1 - DECAY) - 1) + 1) ** (1 / (1 - DECAY))  # from 1 to VOCABULARY
        lines = [" ".join(map(words.__getitem__, row)) for row in (ranks - 1).astype(np.int64).tolist()]
        for start in range(0, len(lines), PARAGRAPH):
            result = "\n".join(lines[start : start + PARAGRAPH])
            size -= len(result.encode()) + 2
            yield result


def spelling(rank: int) -> str:
    """A word for each rank, commoner ones shorter."""
    word = ""
    while rank >= 0:
        rank, rest = divmod(rank, len(SYLLABLES))
        word += SYLLABLES[rest]
        rank -= 1
    return word


@pytest.mark.slow
@pytest.mark.parametrize("model", ["byte-bpe"])
def test_a_large_text_is_learnt_from_and_cached_in_bounded_memory(tmp_path, model):
    with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
        path, count, size, kept = Path(folder, "large.txt"), 0, 0, []
        with path.open("w", encoding="utf-8") as file:
            for paragraph in paragraphs(MEGABYTES * 1_000_000):
                file.write(f"{paragraph}\n\n")
                if count in (0, PICKED):
                    kept.append(paragraph)
                count, size = count + 1, size + len(paragraph.encode())
        command = [sys.executable, "-c", CHILD, str(path), str(Path(folder, "cache")), model, str(PICKED)]
        began = time.monotonic()
        result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        seconds = time.monotonic() - began
        print(f"{MEGABYTES} MB: {seconds:.0f} s, peak {result['peak']:.0f} MB, {result['tokens']:,} tokens")
    assert result["peak"] < MEMORY
    assert (result["documents"], result["bytes"]) == (count, size)
    assert result["texts"] == [*kept, paragraph]
