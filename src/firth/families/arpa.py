"""n-gram models of other programs as runs: an ARPA file becomes a folder with a tokenizer of its words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from firth.config import schema
from firth.counts.ngram import read_arpa, save
from firth.counts.ngram.arpa import Arpa
from firth.counts.ngram.arpa_lines import END, START, UNKNOWN
from firth.counts.ngram.counting import LONGEST
from firth.errors import FirthError
from firth.families.ngram import NgramLanguageModel, load, proof
from firth.runs import files
from firth.runs.folder import Record, Run
from firth.text.pipeline import MODELS, assemble
from firth.text.special import NAMES
from firth.text.tokenizer import Tokenizer

_ROLES = {"[UNK]": UNKNOWN, "[START]": START, "[END]": END}


def bring_in(path: Path, run: Run) -> NgramLanguageModel:
    """The run folder of an ARPA file: a document a line, words between blanks, as KenLM scores them."""
    found = read_arpa(path, [_ROLES.get(name) for name in NAMES])
    if found.model.order > LONGEST:
        raise FirthError(f"n-grams of {found.model.order} tokens", where=path, do=f"{LONGEST} are the most")
    kept = run.lock()
    try:
        _begin(path, found, run)
        save(found.model, run.weights, proof(run))
    finally:
        kept.close()
    return load(run)


def _begin(path: Path, found: Arpa, run: Run) -> None:
    """The tokenizer and the record, if they are not those of a stopped import of the same file."""
    asked = files.digest_file(path)
    if run.exists:
        if run.is_trained or run.record.asked != asked:
            raise FirthError("a run is in this folder", where=run.path, do="choose another --out")
        return
    words = _words(found.names[len(NAMES) :])
    config = schema.NgramModel(
        data=schema.Text(text=(), document="line"),
        tokenizer=schema.Tokenizer(model="word", split="whitespace", size=max(16, len(NAMES) + len(words))),
        method=schema.Ngram(order=found.model.order),
    )
    vocabulary = {word: number for number, word in enumerate([*NAMES, *words])}
    file = assemble(config.tokenizer, {**MODELS["word"], "vocab": vocabulary})
    tokenizer = Tokenizer(json.dumps(file))
    run.write_tokenizer("text", tokenizer)
    data = {"splits": {}, "byte_counts": [0] * 256, "training": f"imported from {path.name}"}
    run.write_record(Record("arpa", asked, config, {"text": tokenizer.hash}, data, {}))


def _words(names: Sequence[str]) -> list[str]:
    """The words; one that is spelled like a special token, which text never becomes, gets a sign before it."""
    return [f"\\{name}" if name.lstrip("\\") in NAMES else name for name in names]
