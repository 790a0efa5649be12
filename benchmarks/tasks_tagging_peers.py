"""spaCy and Stanza as taggers: their training, until processor time is up, and their tagging of lists of words."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.harness import Settings
from benchmarks.steps import prepare_torch

Sentences = Sequence[tuple[list[str], list[str]]]  # words and tags
Tag = Callable[[int], list[list[str]]]  # the tags of so many test sentences
TIMED = 500  # test sentences of a round
SPACY_BATCH = 256  # documents; the fastest of 32 to 2,077
STANZA_BATCH = 250  # sentences; its default
STANZA_TRAINING = {  # smaller batches than its own: with those a short training has too few steps
    "upos": {"lang": "en", "batch_size": 50, "eval_interval": 50},
    "ner": {"batch_size": 32, "eval_interval": 100},
}
ROOT, OTHER = "root", "dep"  # Stanza reads trees, and checks them


class OutOfTime(BaseException):
    """The processor time of a training is up; no `except Exception` of a peer's catches it."""


def read_sentences(files: str, split: str) -> Sentences:
    """The sentences of a file with a word and its tag a line."""
    blocks = Path(files, f"{split}.tsv").read_text(encoding="utf-8").split("\n\n")
    rows = [[line.split("\t") for line in block.split("\n")] for block in blocks if block]
    return [([word for word, _ in each], [tag for _, tag in each]) for each in rows]


def tag_test(files: str, tag: Callable[[list[list[str]]], list[list[str]]]) -> Tag:
    """The tags of the first test sentences, as a round has them."""
    sentences = [words for words, _ in read_sentences(files, "test")]
    return lambda most: list(tag(sentences[:most]))


# --- spaCy ---


def train_spacy(settings: Settings, task: str, files: str, out: str, epochs: int, seconds: float) -> Callable[[], None]:
    """`spacy train` with the configuration of `spacy init config`."""
    import spacy
    from spacy.cli.init_config import init_config
    from spacy.training.initialize import init_nlp
    from spacy.training.loop import train

    component = {"upos": "tagger", "ner": "ner"}[task]
    config = init_config(lang="en", pipeline=[component], optimize="efficiency", gpu=False)
    until: list[float] = []

    def logger(nlp: Any, stdout: Any, stderr: Any) -> Any:
        def log(info: Any) -> None:
            if time.process_time() > until[0]:
                raise OutOfTime

        return log, lambda: None

    spacy.registry.loggers("firth.limit.v1", func=lambda: logger)
    paths = {"paths.train": str(Path(out, "train.spacy")), "paths.dev": str(Path(out, "valid.spacy"))}
    config = config.merge({"training": {"logger": {"@loggers": "firth.limit.v1"}}})

    def run() -> None:
        until.append(time.process_time() + seconds)
        Path(out).mkdir(exist_ok=True)
        for split in ("train", "valid"):
            write_spacy(read_sentences(files, split), Path(out, f"{split}.spacy"), component)
        nlp = init_nlp(spacy.util.load_config_from_str(config.to_str(), overrides=paths))
        with suppress(OutOfTime):
            train(nlp, Path(out))

    return run


def write_spacy(sentences: Sentences, path: Path, component: str) -> None:
    """The sentences in spaCy's format."""
    import spacy
    from spacy.tokens import Doc, DocBin

    vocabulary, role = spacy.blank("en").vocab, {"tagger": "tags", "ner": "ents"}[component]
    documents = [Doc(vocabulary, words=words, **{role: tags}) for words, tags in sentences]  # type: ignore[arg-type]
    DocBin(docs=documents).to_disk(path)


def tag_with_spacy(settings: Settings, models: Mapping[str, str], files: str) -> Tag:
    """The tags of spaCy's best pipeline."""
    import spacy
    from spacy.tokens import Doc

    best, last = (Path(models["spacy"], f"model-{which}") for which in ("best", "last"))
    nlp = spacy.load(best if best.exists() else last)
    read_tag = spacy_entity if "ner" in nlp.pipe_names else spacy_tag

    def tag(sentences: list[list[str]]) -> list[list[str]]:
        documents = (Doc(nlp.vocab, words=words) for words in sentences)
        return [[read_tag(token) for token in each] for each in nlp.pipe(documents, batch_size=SPACY_BATCH)]

    return tag_test(files, tag)


def spacy_tag(token: Any) -> str:
    """The part of speech of a token."""
    return str(token.tag_)


def spacy_entity(token: Any) -> str:
    """The IOB2 tag of a token."""
    return f"{token.ent_iob_}-{token.ent_type_}" if token.ent_type_ else "O"


# --- Stanza ---


def train_stanza(
    settings: Settings, task: str, files: str, out: str, epochs: int, seconds: float
) -> Callable[[], None]:
    """Stanza's own training scripts, without pre-trained vectors and character language models."""
    from stanza.models import ner_tagger, tagger

    prepare_torch(settings)
    module, write, suffix = {"upos": (tagger, write_conllu, "conllu"), "ner": (ner_tagger, write_json, "json")}[task]
    until: list[float] = []
    base, model = module.Trainer, Path(out, "model.pt")

    class Trainer(base):  # type: ignore[misc, valid-type]
        """Stanza's trainer, until time is up."""

        def update(self, *arguments: Any, **named: Any) -> Any:
            if time.process_time() > until[0]:
                if not model.exists():  # nothing was validated yet
                    self.save(str(model))
                raise OutOfTime
            return super().update(*arguments, **named)

    module.Trainer = Trainer
    paths = {split: Path(out, f"{split}.{suffix}") for split in ("train", "valid")}
    named = {"mode": "train", "train_file": paths["train"], "eval_file": paths["valid"], "save_dir": out}
    named |= {"save_name": model.name, "shorthand": "en_own", **STANZA_TRAINING[task]}

    def run() -> None:
        until.append(time.process_time() + seconds)
        Path(out).mkdir(exist_ok=True)
        for split, path in paths.items():
            write(read_sentences(files, split), path)
        given = [part for name, value in named.items() for part in (f"--{name}", str(value))]
        with suppress(OutOfTime):
            module.main([*given, "--no_pretrain", "--cpu"])

    return run


def write_conllu(sentences: Sentences, path: Path) -> None:
    """The sentences as CoNLL-U, each word below the one before."""
    with path.open("w", encoding="utf-8") as file:
        for words, tags in sentences:
            for number, (word, tag) in enumerate(zip(words, tags, strict=True), 1):
                relation = OTHER if number > 1 else ROOT
                file.write(f"{number}\t{word}\t_\t{tag}\t_\t_\t{number - 1}\t{relation}\t_\t_\n")
            file.write("\n")


def write_json(sentences: Sentences, path: Path) -> None:
    """The sentences as Stanza's entity tagger reads them."""
    rows = [[{"text": word, "ner": tag} for word, tag in zip(*each, strict=True)] for each in sentences]
    path.write_text(json.dumps(rows), encoding="utf-8")


def tag_with_stanza(settings: Settings, models: Mapping[str, str], files: str) -> Tag:
    """The tags of Stanza's pipeline."""
    import stanza

    prepare_torch(settings)
    folder = Path(models["stanza"])
    task = "pos" if (folder / "train.conllu").exists() else "ner"
    resources = {"en": {"lang_name": "English", "packages": {}, "default_processors": {}, "default_dependencies": {}}}
    (folder / "resources.json").write_text(json.dumps(resources))
    own = {f"{task}_model_path": str(folder / "model.pt"), f"{task}_batch_size": STANZA_BATCH}
    if task == "ner":  # one model, without what could come with it
        own |= dict.fromkeys(("ner_forward_charlm_path", "ner_backward_charlm_path", "ner_pretrain_path"), "")
    pipeline = stanza.Pipeline(
        "en", dir=str(folder), processors=f"tokenize,{task}", package=None, download_method=None,
        tokenize_pretokenized=True, use_gpu=False, verbose=False, allow_unknown_language=True, **own,
    )  # fmt: skip

    def tag(sentences: list[list[str]]) -> list[list[str]]:
        found = pipeline(sentences).sentences
        if task == "pos":
            return [[word.upos for word in each.words] for each in found]
        return [[token.ner for token in each.tokens] for each in found]

    return tag_test(files, tag)
