"""The same text and settings give the same file, in every process; and importing stays light."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent

TRAIN = """
import pydoc_data.topics, sys
from tokenizer_samples import CHANGING, CORPUS, PLAIN
from dataclasses import replace
from firth.tokenizers import Tokenizer
documents = CORPUS + [pydoc_data.topics.topics[name] for name in sorted(pydoc_data.topics.topics)[:6]]
for config in PLAIN + CHANGING:
    print(config.model, config.split, Tokenizer.train(replace(config, vocabulary_size=600), documents).hash)
"""


def run(code: str, **environment: str) -> str:
    known = {**os.environ, "PYTHONPATH": str(HERE), **environment}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=known, check=True, capture_output=True, text=True).stdout


def test_every_kind_is_the_same_in_every_process():
    first = run(TRAIN, PYTHONHASHSEED="1", RAYON_NUM_THREADS="1")
    assert len(first.splitlines()) == 23
    assert run(TRAIN, PYTHONHASHSEED="2", RAYON_NUM_THREADS="4") == first
    assert run(TRAIN, PYTHONHASHSEED="3", TOKENIZERS_PARALLELISM="false", OMP_NUM_THREADS="1") == first


def test_the_order_of_documents_does_not_matter():
    from tokenizer_samples import CORPUS, PLAIN

    from firth.tokenizers import Tokenizer

    for config in PLAIN:
        assert Tokenizer.train(config, CORPUS).to_json() == Tokenizer.train(config, CORPUS[::-1]).to_json()


def test_importing_is_light():
    code = "import firth.tokenizers, sys; print([m for m in ('numpy', 'tokenizers', 'torch') if m in sys.modules])"
    assert run(code).strip() == "[]"
    code = "from firth.tokenizers import split_words, split_sentences; import sys; print('tokenizers' in sys.modules)"
    assert run(code).strip() == "False"
    code = "from firth.tokenizers import Tokenizer, describe; import sys; print('numpy' in sys.modules)"
    assert run(code).strip() == "False"
