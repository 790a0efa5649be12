"""Every pre-trained family learns every labelled task: a table, each cell trained for two steps and asked."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest

import firth
from firth import api
from firth.config import core
from firth.datasets.choice_dataset import encode_choices
from firth.datasets.collators.sentence_pairs import build_input_sequence, sequences_of
from firth.datasets.records import Choices
from firth.errors import FirthError
from firth.presets import preset
from firth.runs.run_folder import Run

WORDS = ["the", "dog", "sees", "a", "red", "house", "near", "old", "trees"]
TEXT = [" ".join(WORDS[(n * k + k) % 9] for k in range(12)) for n in range(1, 60)]
# How wide the networks are that pre-training makes: presets of one shape share their settings.
STACK = {"width": 16, "depth": 2, "dropout": 0}
ONE = {f"backbone.{name}": value for name, value in STACK.items()}
TWO = {f"backbone.{side}.{name}": value for side in ("encoder", "decoder") for name, value in STACK.items()}
FAMILIES = {
    "bert:tiny": ONE, "modern-encoder:tiny": ONE, "electra:tiny": ONE, "longformer:tiny": ONE, "gpt-1:tiny": ONE,
    "gpt-2:tiny": ONE, "transformer-lm:tiny": ONE, "prefix-lm:tiny": ONE, "transformer-xl:tiny": ONE,
    "shortformer:tiny": ONE, "xlnet:tiny": ONE, "reformer:tiny": ONE, "longformer-lm:tiny": ONE, "lstm-lm:tiny": ONE,
    "bart:tiny": TWO, "t5:tiny": TWO, "t5-v1.1:tiny": TWO,
}  # fmt: skip
FEW = {"train.evaluate_every": 2, "train.eval_batches": 1, "train.threads": 1, "train.checkpoint_every": 2}
SMALLER = {
    "batching.batch_size": 4,
    "batching.tokens_per_batch": 128,
    "batching.length": 32,
    "tokenizer.vocabulary_size": 300,
}


def texts():
    return [json.dumps({"text": text, "label": ("yes", "no", "maybe")[n % 3]}) for n, text in enumerate(TEXT)]


def pairs():
    rows = pairwise(TEXT)
    return [json.dumps({"left": one, "right": two, "label": ("yes", "no")[n % 2]}) for n, (one, two) in enumerate(rows)]


def questions():
    lists = []
    for n, text in enumerate(TEXT):
        before, answer = " ".join(text.split()[:3]), text.split()[3]
        answers = [{"text": answer, "answer_start": len(before) + 1}]
        lists.append({"context": text, "qas": [{"id": f"q{n}", "question": "what is red ?", "answers": answers}]})
    return [json.dumps({"version": "1.1", "data": [{"title": "t", "paragraphs": lists}]})]


def choices():
    return [
        json.dumps({"context": text, "question": "it is", "choices": ["red", "old"], "answer": n % 2})
        for n, text in enumerate(TEXT)
    ]


def sentences():
    tagged = {word: "NOUN" if word in ("dog", "house") else "X" for word in WORDS}
    return [line for text in TEXT for line in [*(f"{word}\t{tagged[word]}" for word in text.split()), ""]]


def labels_of(model):
    probabilities = model.predict_proba(["the dog sees", "a red house"])
    return probabilities.shape == (2, 3) and np.allclose(probabilities.sum(1), 1, atol=1e-4)


def pair_labels(model):
    return np.allclose(model.predict_proba([("the dog", "a house")]).sum(1), 1, atol=1e-4)


TASKS = {
    "classification": ("bert-classifier:tiny", "texts.jsonl", texts, labels_of),
    "pairs": ("bert-classifier:tiny", "pairs.jsonl", pairs, pair_labels),
    "tagging": ("bert-tagger:tiny", "sentences.tsv", sentences, lambda model: len(model.answer("the dog", {})) > 1),
    "spans": ("bert-qa:tiny", "questions.json", questions, lambda model: model.find_answers("what ?", "the red dog")),
    "choices": ("bert-multiple-choice:tiny", "choices.jsonl", choices,
                lambda model: len(model.choose("it is", ["red", "old", "near"], "the dog")) == 3),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("families")
    for _, name, make, _ in TASKS.values():
        (folder / name).write_text("".join(f"{line}\n" for line in make()))
    return folder


@pytest.fixture(scope="module")
def pretrained(folder):
    trained = {}

    def get(name):
        if name not in trained:
            config = preset(name)
            settings = {**FAMILIES[name], **FEW, **{k: v for k, v in SMALLER.items() if core.has(config, k)}}
            if core.has(config, "tokenizer.sentinels") and config.tokenizer.sentinels:
                settings |= {"tokenizer.sentinels": 10}
            if config.batching.length_curriculum:
                settings |= {"batching.length_curriculum": 16}
            trained[name] = folder / name.replace(":", "-")
            firth.train(name, text=TEXT, out=trained[name], budget="2 steps", settings=settings)
        return trained[name]

    return get


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", FAMILIES)
def test_a_pretrained_family_learns_a_task(name, task, pretrained, folder):
    base, (task_preset, file, _, asked) = pretrained(name), TASKS[task]
    config = preset(task_preset)
    settings = {**FEW, **{k: v for k, v in SMALLER.items() if core.has(config, k) and "tokenizer" not in k}}
    out = folder / f"{task}-{name.replace(':', '-')}"
    more = {"init_from": str(base), "budget": "2 steps", "settings": settings}
    model = firth.train(task_preset, text=str(folder / file), out=out, **more)
    assert all(np.isfinite(row["loss"]) for row in model.history if "loss" in row)
    assert asked(model)
    assert model.evaluate() and repr(firth.load(out).config.backbone) == repr(model.config.backbone)


def test_the_encoder_of_t5_serves_alone(pretrained, folder):
    """Its decoder is not used: whatever its weights are, the probabilities are the same."""
    settings = {**FEW, "backbone": "encoder-decoder", "backbone.text_states": "encoder", "head.pooling": "mean"}
    settings["batching.length"] = 32
    more = {"init_from": str(pretrained("t5:tiny")), "budget": "2 steps", "settings": settings}
    model = firth.train("bert-classifier:tiny", text=str(folder / "texts.jsonl"), out=folder / "encoder", **more)
    before = model.predict_proba(TEXT[:3])
    for parameter in model.module.backbone.decoder.parameters():
        parameter.data.normal_()
    np.testing.assert_array_equal(model.predict_proba(TEXT[:3]), before)
    for parameter in model.module.backbone.encoder.parameters():
        parameter.data.normal_()
    assert (model.predict_proba(TEXT[:3]) != before).any()


def test_a_decoder_reads_the_text_shifted_by_one_token(pretrained, folder):
    """As transformers shifts it (`shift_tokens_right`): the first token of the decoder is that of pre-training."""
    base = pretrained("bart:tiny")
    config = api.resolve_config("bert-classifier:tiny", [], {"init-from": str(base)}).config
    special = Run.open(base).tokenizers()["text"].special
    assert (config.backbone.text_start, config.head.pooling) == (special.end, "last")
    t5 = api.resolve_config("bert-classifier:tiny", [], {"init-from": str(pretrained("t5:tiny"))}).config
    assert t5.backbone.text_start == Run.open(pretrained("t5:tiny")).tokenizers()["text"].special.pad


@pytest.mark.parametrize("task", ["tagging", "spans", "choices"])
def test_a_fine_tuned_run_is_exported_as_the_class_of_its_task(task, pretrained, folder):
    pytest.importorskip("transformers")
    preset_name, file, _, _ = TASKS[task]
    more = {"init_from": str(pretrained("bert:tiny")), "budget": "1 steps", "settings": {**FEW, "batching.length": 32}}
    firth.train(preset_name, text=str(folder / file), out=folder / f"own-{task}", **more)
    told = api.export_model(folder / f"own-{task}", to="huggingface", out=folder / f"hf-{task}", verify=True)
    kind = {"tagging": "TokenClassification", "spans": "QuestionAnswering", "choices": "MultipleChoice"}[task]
    written = json.loads((folder / f"hf-{task}" / "config.json").read_text())
    assert written["architectures"] == [f"BertFor{kind}"] and "gives the same logits" in told


def test_gpt_1_reads_start_delimiter_and_extract_tokens(pretrained, folder):
    """Figure 1 of Radford et al. 2018: for classification, entailment, similarity (both orders) and choices."""
    base = {"init-from": str(pretrained("gpt-1:tiny"))}
    tokenizer = Run.open(pretrained("gpt-1:tiny")).tokenizers()["text"].with_special_tokens()
    special = tokenizer.special
    one, two, three = (tokenizer.encode(text) for text in ("the dog", "a house", "old trees"))

    def sequences(task, settings, *texts):
        batching = api.resolve_config(TASKS[task][0], settings, base).config.batching
        made = [build_input_sequence(each, batching, special) for each in sequences_of(texts, batching)]
        return [sequence.ids.tolist() for sequence in made]

    start, delimiter, extract = [special.start], [special.sep], [special.cls]
    assert sequences("classification", [], one) == [[*start, *one, *extract]]
    assert sequences("pairs", [], one, two) == [[*start, *one, *delimiter, *two, *extract]]
    both = ["batching.pair_encoding=both-orders", "head.combine=sum"]
    assert sequences("pairs", both, one, two) == [
        [*start, *left, *delimiter, *right, *extract] for left, right in ((one, two), (two, one))
    ]
    batching = api.resolve_config(TASKS["choices"][0], [], base).config.batching
    question = Choices("the dog", "a house", ("old trees", "red"))
    ((texts, _),) = encode_choices([question], tokenizer, batching)
    whole = tokenizer.encode("the dog a house")
    assert build_input_sequence(texts, batching, special).ids.tolist() == [*start, *whole, *delimiter, *three, *extract]


# --- bad input ----------------------------------------------------------------------------------------------------


def test_a_pair_with_an_empty_side_is_one_line(tmp_path):
    rows = [{"left": "a dog", "right": "  " if n == 2 else "a cat", "label": "yn"[n % 2]} for n in range(12)]
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(FirthError, match=r"pairs.jsonl:3: a pair with an empty text; fill it in") as error:
        firth.train("bert-classifier:tiny", text=str(path), out=tmp_path / "run", budget="1 steps")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("task", TASKS)
def test_text_of_only_unknown_words_gets_an_answer(task, pretrained, folder):
    """WordPiece knows none of these characters, so that every word is [UNK]."""
    words = "žluťoučký kůň"
    out = folder / f"unknown-{task}"
    preset_name, file, _, _ = TASKS[task]
    settings = {**FEW, **{k: v for k, v in SMALLER.items() if core.has(preset(preset_name), k)}}
    settings = {name: value for name, value in settings.items() if "tokenizer" not in name}
    more = {"init_from": str(pretrained("bert:tiny")), "budget": "1 steps", "settings": settings}
    model = firth.train(preset_name, text=str(folder / file), out=out, **more)
    asked = {
        "classification": words, "pairs": f"{words}\t{words}", "tagging": words, "spans": f"{words}\t{words}",
        "choices": f"{words}\t{words}\tone\ttwo\tthree",
    }  # fmt: skip
    assert model.format_answer(model.answer(asked[task], {})).strip()


def test_more_choices_than_trained_with_are_chosen_among(pretrained, folder):
    model = firth.load(folder / "unknown-choices")
    assert model.run.record.data["choices"] == 2
    chosen = model.choose("it is", [*WORDS], "the dog")
    assert len(chosen) == len(WORDS) and sum(p for _, p in chosen) == pytest.approx(1.0, abs=1e-4)
