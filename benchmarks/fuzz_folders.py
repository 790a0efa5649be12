"""Folders that are fuzzed file by file: run folders, ladders, models of Hugging Face."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from safetensors.numpy import load, save

from benchmarks.fuzz_search import Target
from firth.runs.weights import CHECKSUM, METADATA_KEY, read_header

TEXT = [f"the {color} boat number {n} left the harbour at noon" for n in range(40) for color in ("red", "blue", "old")]
SMALL = {"tokenizer.vocabulary_size": 300, "batching.length": 16, "batching.batch_size": 4}
SKIPPED = (".html", "")  # reports and locks, which are not read
RUNS: dict[str, dict[str, Any]] = {
    "ngram-lm": {},
    "lstm-lm:tiny": {**SMALL, "backbone.width": 8, "backbone.depth": 1, "inputs.text.width": 8},
    "gpt-2:tiny": {**SMALL, "backbone.width": 8, "backbone.depth": 1, "backbone.heads": 2},
    "skipgram:tiny": {},
}
ARRAYS = {  # preset -> its text, and what is asked
    "naive-bayes": ("labels", "a boat"),
    "fasttext-classifier:tiny": ("labels", "a boat"),
    "hmm-tagger": ("tags", "the boat1 left"),
    "crf-tagger": ("tags", "the boat1 left"),
    "hmm-aligner": ("pairs", "a1 b1 ||| c1 d1"),
    "ibm-2": ("pairs", "a1 b1 ||| c1 d1"),
    "ngram-lm:tiny": ("text", "the red boat"),
    "fasttext:tiny": ("text", "boat"),
}


def _files(root: Path) -> dict[str, bytes]:
    """The files of a folder by their names in it; large ones are left as they are."""
    paths = sorted(path for path in root.rglob("*") if path.is_file())
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in paths
        if path.stat().st_size < 1 << 17 and path.suffix not in SKIPPED
    }


def _target(good: Path, use: Callable[[Path], Any]) -> Target:
    """Reads a folder in which one file is changed; afterwards the file is what it was, and nothing was added."""
    seeds = _files(good)
    names = {path.relative_to(good) for path in good.rglob("*")}

    def read(folder: Path, name: str, content: bytes) -> None:
        path = good / name
        path.unlink()  # not written in place: a reader may have mapped it into memory
        path.write_bytes(content)
        try:
            use(good / name.partition("/")[0])
        finally:
            path.unlink()
            path.write_bytes(seeds[name])
        added = {path.relative_to(good) for path in good.rglob("*")} - names
        if added:
            for each in sorted(added, reverse=True):
                shutil.rmtree(good / each) if (good / each).is_dir() else (good / each).unlink()
            raise AssertionError(f"reading adds files to a run: {sorted(map(str, added))[0]}")

    return Target(seeds, read, good)


def _trained(folder: Path, presets: Iterable[str] = RUNS) -> Path:
    """A folder of runs, trained for a few steps."""
    import firth

    good = folder / "runs"
    for preset in presets:
        budget = {"budget": "4 steps"} if "batching.length" in RUNS[preset] else {}
        firth.train(preset, text=TEXT, out=good / preset.partition(":")[0], settings=RUNS[preset], **budget)
    return good


def loaded_runs(folder: Path) -> Target:
    """Run folders, loaded, and asked for their scores."""
    import firth

    def use(run: Path) -> None:
        model = firth.load(run)
        repr(model), repr(model.history)

    return _target(_trained(folder), use)


def array_weights(folder: Path) -> Target:
    """The weights of the families without networks, used; without their checksums, which would hide everything else."""
    import firth

    texts = {
        "labels": "".join(f"__label__{'ab'[n % 2]} {line}\n" for n, line in enumerate(TEXT)),
        "tags": "".join(f"the DT\nboat{n % 9} NN\nleft{n % 3} VB\n\n" for n in range(60)),
        "pairs": "".join(f"a{n % 7} b{n % 5}\tc{n % 7} d{n % 5}\n" for n in range(60)),
    }
    good, asked = folder / "runs", {}
    for preset, (kind, question) in ARRAYS.items():
        text = folder / f"{kind}.{'conll' if kind == 'tags' else 'txt'}"
        text.write_text(texts.get(kind, "\n\n".join(TEXT)))
        firth.train(preset, text=str(text), out=good / preset.partition(":")[0])
        asked[good / preset.partition(":")[0]] = question
    for path in good.glob("*/model.safetensors"):
        data = path.read_bytes()
        header = read_header(io.BytesIO(data))
        metadata = json.loads(header.metadata[METADATA_KEY])
        metadata.pop(CHECKSUM)
        path.write_bytes(save(load(data), {METADATA_KEY: json.dumps(metadata)}))

    def use(run: Path) -> None:
        model = firth.load(run)
        model.format_answer(model.answer(asked[run], {}))

    target = _target(good, use)
    return replace(target, seeds={n: data for n, data in target.seeds.items() if n.endswith("/model.safetensors")})


def shown_runs(folder: Path) -> Target:
    """Run folders, summarised and compared, which needs no network."""
    import firth
    from firth.runs.summary import format_summary, summary

    good = _trained(folder, ("ngram-lm", "lstm-lm:tiny"))

    def use(run: Path) -> None:
        format_summary(summary(run))
        repr(firth.compare(run, run))

    for run in good.iterdir():
        firth.evaluate(run)
    return _target(good, use)


def huggingface(folder: Path) -> Target:
    """Folders of Hugging Face: configuration, tokenizer, weights."""
    import firth
    from firth.interop.importer import load_pretrained

    runs, good = _trained(folder, ("gpt-2:tiny",)), folder / "models"
    firth.export_model(runs / "gpt-2", to="huggingface", out=good / "gpt")
    for name, settings in (("bert:tiny", {}),):
        firth.train(name, text=TEXT, out=runs / "bert", settings={**RUNS["gpt-2:tiny"], **settings}, budget="2 steps")
        firth.export_model(runs / "bert", to="huggingface", out=good / "bert")
    return _target(good, load_pretrained)


def ladders(folder: Path) -> Target:
    """The settings of a ladder, and the runs of its rungs, summarised."""
    import firth
    from firth.config import from_dict
    from firth.ladder.settings import Settings
    from firth.runs.base_ladder import rung_folder
    from firth.runs.ladder_folder import LadderFolder
    from firth.runs.summary import summary

    good = folder / "ladders"
    firth.run_ladder(TEXT * 3, out=good / "one", rungs="1-gram,3-gram", budget="6s")

    def use(path: Path) -> None:
        ladder = LadderFolder(path)
        from_dict(Settings, ladder.read()["settings"])
        for rung in ("1-gram", "3-gram"):
            ladder.read_result(rung, {})
            summary(rung_folder(path, rung))

    return _target(good, use)


TARGETS: dict[str, Callable[[Path], Target]] = {
    "runs": loaded_runs,
    "arrays": array_weights,
    "summaries": shown_runs,
    "huggingface": huggingface,
    "ladders": ladders,
}
