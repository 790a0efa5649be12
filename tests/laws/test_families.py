"""Laws of every preset at its smallest size: the same seed gives the same bytes, another seed others, and an answer
depends neither on the batch, nor on the order, nor on what else is asked.

In the usual tests one preset of each pipeline; with -m slow all of them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import firth
from firth.config import core
from firth.datasets import builtin
from firth.datasets.example_reader import small_world
from firth.datasets.records import Choices
from firth.families.word_embeddings import WordVectorModel
from firth.pipelines.align_words import WordAligner
from firth.pipelines.answer_questions import Candidates, QuestionAnswerer
from firth.pipelines.chat_model import ChatModel
from firth.pipelines.choose import ChoiceModel
from firth.pipelines.classify import ImageClassifier
from firth.pipelines.embed import SentenceEncoder
from firth.pipelines.fill_mask import MaskedLMModel
from firth.pipelines.label_predictions import BaseClassifier
from firth.pipelines.language_model import LanguageModel
from firth.pipelines.linear_predictions import LinearRegressor
from firth.pipelines.regression import TextRegressor
from firth.pipelines.seq2seq import Seq2SeqModel
from firth.pipelines.tag import BaseTagger
from firth.presets import preset
from small_presets import SIZES, STEPS, TEACHER, TEXT, few, learns_from_text, settings_of

QUICK = {  # one of each pipeline; test_scores.py has the language models
    "bert:tiny", "bert-classifier:tiny", "sentence-encoder:tiny", "transformer-mt:tiny", "t5:tiny", "vit:tiny",
    "bert-qa:tiny", "bert-multiple-choice:tiny", "bilstm-regressor:tiny", "lstm-crf:tiny", "fasttext-classifier:tiny",
    "logistic-regression:small", "ridge-regression:small", "hmm-tagger:small", "crf-tagger:small",
}  # fmt: skip
TEXTS = ["Anna is happy .", "the red boat that the wolf saw left at noon , and so did she", "x", "12 is 3 and a boat ."]
COMPANY = [f"number {n} and {n + 1} , " * (n % 4 + 1) for n in range(9)]
PLACES = ("a boat", "the old harbour of the town", "noon")
ANSWERS = {  # of texts to a pipeline, an array or a number of lists each; the first that fits
    ChatModel: lambda model, texts: [model.reply(text, max_length=8).log_probability for text in texts],
    ImageClassifier: lambda model, texts: model.predict_proba([_picture(text) for text in texts]),
    TextRegressor: lambda model, texts: model.predict([_parts(model, text) for text in texts]),
    LinearRegressor: lambda model, texts: model.predict([_parts(model, text) for text in texts]),
    BaseClassifier: lambda model, texts: model.predict_proba([_parts(model, text) for text in texts]),
    SentenceEncoder: lambda model, texts: model.embed(texts),
    MaskedLMModel: lambda model, texts: model.embed(texts),
    LanguageModel: lambda model, texts: model.token_scores(texts),
    Seq2SeqModel: lambda model, texts: [best.log_probability for (best, *_) in model.generate_with_scores(texts)],
    BaseTagger: lambda model, texts: model.predict_proba([text.split() for text in texts]),
    QuestionAnswerer: lambda model, texts: [_probabilities(each) for each in model.candidates(_questions(texts), 3)],
    ChoiceModel: lambda model, texts: model.choice_probabilities([Choices(text, "", PLACES) for text in texts]),
    WordAligner: lambda model, texts: [sorted(links) for links in model.align([(text, text[:20]) for text in texts])],
}
PRESETS = [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in SIZES]


def _picture(text: str) -> np.ndarray:
    size = 32
    return np.random.default_rng(len(text)).integers(0, 256, (size, size, 3), dtype=np.uint8)


def _parts(model: BaseClassifier, text: str) -> str | tuple[str, ...]:
    parts = getattr(model, "texts_per_example", 1) or 1
    return text if parts == 1 else (text,) * parts


def _questions(texts: list[str]) -> list[tuple[str, str]]:
    return [("who is happy ?", text) for text in texts]


def _probabilities(found: Candidates) -> list[float]:
    """That there is no answer, and those of the answers: a short context has fewer of them."""
    return [found.no_answer, *(answer.probability for answer in found.answers)]


@pytest.fixture(scope="module", params=PRESETS)
def models(request, tmp_path_factory):
    """Three trainings of a preset: with one seed twice, and with another."""
    folder, name = tmp_path_factory.mktemp("laws"), request.param
    with pytest.MonkeyPatch.context() as patch:
        for counts in (builtin.DOCUMENTS, builtin.IMAGES):
            for split, stretch in few(counts).items():
                patch.setitem(counts, split, stretch)
        settings = settings_of(name)
        if core.has(preset(name), "objective.teacher"):
            firth.train(TEACHER, text=TEXT, out=folder / "teacher", settings=STEPS)
            settings["objective.teacher"] = str(folder / "teacher")
        data = {"text": TEXT} if learns_from_text(name) else {}
        seeds = {"one": 1, "same": 1, "other": 2}
        yield {
            each: firth.train(name, out=folder / each, settings={**settings, "seed": seed}, **data)
            for each, seed in seeds.items()
        }
    small_world.cache_clear()  # other tests have the whole world


def test_the_same_seed_gives_the_same_bytes_and_another_others(models, request):
    one, same, other = (_tensors(models[name].run.weights) for name in ("one", "same", "other"))
    assert one == same
    assert models["one"].run.scores() == models["same"].run.scores()
    training = models["one"].run.record.data.get("training", "the same seed gives the same bytes")
    if "the same seed" in training or learns_from_text(request.node.callspec.params["models"]):  # which is split by it
        assert one != other
    else:
        assert one == other


def _tensors(path: Path) -> bytes:
    """The file without its header, which has a digest of the configuration."""
    content = path.read_bytes()
    return content[8 + int.from_bytes(content[:8], "little") :]


def test_an_answer_depends_on_the_question_alone(models):
    model = models["one"]
    answers = next((answers for kind, answers in ANSWERS.items() if isinstance(model, kind)), None)
    if isinstance(model, WordVectorModel):
        pytest.skip("word vectors answer one word at a time")
    alone = {text: answers(model, [text])[0] for text in TEXTS}
    for texts in (TEXTS, TEXTS[::-1], [*TEXTS, *COMPANY], [*COMPANY, *TEXTS]):
        for text, answer in zip(texts, answers(model, texts), strict=True):
            if text in alone:
                np.testing.assert_allclose(answer, alone[text], rtol=1e-4, atol=1e-5, err_msg=text)
