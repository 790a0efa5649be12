"""Import of n-gram models: an ARPA file becomes a run folder with a tokenizer of its words."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from firth.config import schema
from firth.errors import FirthError
from firth.families.ngram import NgramLanguageModel, load, weights_metadata
from firth.ngram import read_arpa, save
from firth.ngram.arpa import Arpa
from firth.ngram.arpa_sections import END, START, UNKNOWN
from firth.ngram.counts import MAX_ORDER
from firth.runs import atomic_files
from firth.runs.run_folder import Record, Run
from firth.tokenizers.components import MODELS, build_tokenizer_json
from firth.tokenizers.special_tokens import SPECIAL_TOKENS
from firth.tokenizers.tokenizer import Tokenizer

_ROLES = {"[UNK]": UNKNOWN, "[START]": START, "[END]": END}


def import_arpa(path: Path, run: Run, say: Callable[[str], None] = lambda _: None) -> NgramLanguageModel:
    """Import an ARPA file as a run: a document is a line, words are between blanks, as KenLM scores them. `say` gets
    notes, and what is read of a long file."""
    arpa = read_arpa(path, [_ROLES.get(name) for name in SPECIAL_TOKENS], say, possible_unknown=True)
    if arpa.model.order > MAX_ORDER:
        raise FirthError(f"n-grams of {arpa.model.order} tokens", where=path, do=f"{MAX_ORDER} are the most")
    lock = run.lock()
    try:
        _begin(path, arpa, run)
        save(arpa.model, run.weights, weights_metadata(run))
    finally:
        lock.close()
    return load(run)


def _begin(path: Path, arpa: Arpa, run: Run) -> None:
    """Write the tokenizer and the record, unless an interrupted import of the same file has written them."""
    source_digest = atomic_files.digest_file(path)
    if run.exists:
        if run.is_trained or run.record.request_digest != source_digest:
            raise FirthError("a run is in this folder", where=run.path, do="choose another --out")
        return
    words = _words(arpa.vocabulary[len(SPECIAL_TOKENS) :])
    size = max(16, len(SPECIAL_TOKENS) + len(words))
    config = schema.NgramModel(
        data=schema.Text(text=(), document="line"),
        tokenizer=schema.Tokenizer(model="word", split="whitespace", vocabulary_size=size),
        method=schema.Ngram(order=arpa.model.order),
    )
    vocabulary = {word: number for number, word in enumerate([*SPECIAL_TOKENS, *words])}
    content = build_tokenizer_json(config.tokenizer, {**MODELS["word"], "vocab": vocabulary})
    tokenizer = Tokenizer(json.dumps(content))
    run.write_tokenizer("text", tokenizer)
    data = {"splits": {}, "byte_counts": [0] * 256, "training": f"imported from {path.name}"}
    run.write_record(Record("arpa", source_digest, config, {"text": tokenizer.hash}, data, {}))


def _words(names: Sequence[str]) -> list[str]:
    """The words; one that is spelled like a special token gets a backslash before it, since text never becomes one."""
    return [f"\\{name}" if name.lstrip("\\") in SPECIAL_TOKENS else name for name in names]
