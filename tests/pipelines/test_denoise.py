"""Laws of denoising sequence-to-sequence networks, on small models of their own."""

import os
import signal

import pytest

import firth
from firth import api
from firth.errors import FirthError
from firth.runs.checkpoints import Interrupted
from firth.runs.progress import Quiet

DOCUMENTS = [f"{a} and {b} are {'friends' if (a + b) % 2 else 'strangers'}" for a in range(12) for b in range(12)]
SIZE = {"width": 32, "depth": 1, "heads": 2, "init_std": 0.15}
SETTINGS = {
    "tokenizer.model": "word",
    "tokenizer.vocabulary_size": 300,
    **{f"backbone.{part}.{name}": value for part in ("encoder", "decoder") for name, value in SIZE.items()},
    "batching.tokens_per_batch": 256,
    "batching.length": 16,
    "train.budget": "60 steps",
    "train.evaluate_every": 30,
    "train.checkpoint_every": 30,
    "train.threads": 1,
    "train.optimizer.learning_rate": 0.01,
    "train.schedule.warmup_steps": 10,
}
T5 = {**SETTINGS, "inputs.text.init_range": 1.7, "tokenizer.sentinels": 10, "objective.noise_density": 0.3}
ONE = {  # of one stack
    **{
        name: value
        for name, value in SETTINGS.items()
        if "backbone" not in name and name != "batching.tokens_per_batch"
    },
    **{f"backbone.{name}": value for name, value in SIZE.items()},
    "batching.batch_size": 8,
}


@pytest.fixture(scope="module", params=["t5", "bart"])
def model(request, tmp_path_factory):
    settings = T5 if request.param == "t5" else SETTINGS
    out = tmp_path_factory.mktemp("run") / request.param
    return firth.train(f"{request.param}:tiny", text=DOCUMENTS, out=out, settings=settings)


def test_it_learns_to_reconstruct_the_text_or_its_masked_spans(model):
    scores = {score.name: score.value for score in model.evaluate()}
    assert scores["denoising_perplexity"] < 8
    assert scores["denoising_accuracy"] > 0.5
    again = {score.name: score.value for score in firth.load(model.run.path).evaluate()}
    assert again == scores


def test_generated_texts_do_not_depend_on_the_batch(model):
    texts = ["3 and [MASK] are friends", "5 [MASK] friends", "[MASK]", "", "11 and 4 are [MASK]"]
    together = model.generate(texts, max_length=12)
    assert together == [model.generate([text], max_length=12)[0] for text in texts]
    assert all(isinstance(text, str) for text in together)


def test_greedy_decoding_is_a_beam_of_one_and_a_wider_beam_finds_no_less(model):
    text = "7 and [MASK] are strangers"
    ((greedy,),) = model.generate_with_scores([text], max_length=12)
    ((one,),) = model.generate_with_scores([text], max_length=12, beam=1)
    assert greedy == pytest.approx(one) or greedy.text == one.text
    best = model.generate_with_scores([text], max_length=12, beam=4, count=3)[0]
    assert len(best) == 3
    assert best[0].log_probability >= greedy.log_probability - 1e-4
    assert [each.log_probability for each in best] == sorted((e.log_probability for e in best), reverse=True)


def test_sampled_texts_follow_the_seed(model):
    options = {"max_length": 12, "temperature": 1.5, "count": 4}
    one, again, other = (model.generate_with_scores(["1 and [MASK]"], seed=seed, **options) for seed in (1, 1, 2))
    assert one == again
    assert one != other


def test_a_filled_text_has_no_sentinels_and_no_masks_but_unfilled_ones(model):
    for text in ("3 and [MASK] are friends", "[MASK] and 2 are [MASK]"):
        filled = model.fill(text, max_length=14)
        assert "<extra_id" not in filled
        assert filled.count("[MASK]") <= text.count("[MASK]")
    filled = model.fill("3 and [MASK] are friends", max_length=1)  # too short to fill anything
    assert "<extra_id" not in filled
    assert filled.count("[MASK]") == 1 or model.config.objective.noise != ("span-corruption",)


def test_its_answers_are_the_same_for_people_and_machines(model):
    answer = model.answer("3 and [MASK] are friends", {"max_length": 14, "count": 1})
    assert answer["texts"] == model.generate(["3 and [MASK] are friends"], max_length=14)
    assert model.format_answer(answer)
    assert model.hint.startswith("firth run")
    assert model.samples(1) and isinstance(model.sample(), str)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("7 and 8 " * 20, {}, "takes at most 18 at once"),
        ("7", {"score": True}, "this model has no --score"),
        ("7", {"count": 3, "beam": 2}, "a beam of 2 cannot return 3 hypotheses"),
    ],
)
def test_what_it_cannot_do_is_refused(model, text, options, message):
    with pytest.raises(FirthError, match=message):
        model.answer(text, options)


def test_one_text_has_the_answer_of_a_list_of_it(model):
    for method in (model.generate, model.generate_with_scores):
        assert [method("7 and 8")] == method(["7 and 8"])
    assert [model.fill("7 and [MASK]")] == model.fill(["7 and [MASK]"])
    with pytest.raises(FirthError, match="texts: None"):
        model.generate(None)


def test_masks_are_sentinels_where_the_spans_are_generated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sentinels")
    settings = {**T5, "train.budget": "20 steps"}
    model = firth.train("t5:tiny", text=DOCUMENTS, out=folder / "t5", settings=settings)
    masks = ("<extra_id_0>", "[MASK]")
    named, plain = (model.generate_with_scores([f"3 and {mask} are friends"], max_length=12) for mask in masks)
    assert named == plain
    generated = [*_span(model, 0, "8"), *_span(model, 1, "friends")]
    source = model._encode_source("3 and [MASK] are [MASK]").ids
    denoised = model._denoised(source, generated, -1.0)
    assert denoised.text == "<extra_id_0> 8 <extra_id_1> friends"
    assert denoised.filled == "3 and 8 are friends"
    assert model._denoised(source, _span(model, 0, "8"), -1.0).filled == "3 and 8 are [MASK]"
    with pytest.raises(FirthError, match="has no sentinel token <extra_id_77>"):
        model.fill("3 and <extra_id_77>")


def _span(model, number, text):
    return [model.tokenizer.sentinels[number], *model.tokenizer.encode(text)]


class Stopper(Quiet):
    """Sends this process a signal at a certain step."""

    def step(self, entry):
        if entry["step"] == 13:
            os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize("preset", ["t5-v1.1", "electra"])
def test_an_interrupted_run_ends_with_the_same_bytes(preset, tmp_path):
    """With dropout, and with tokens that are sampled in the forward pass."""
    own = {**T5, "backbone.encoder.dropout": 0.1} if preset == "t5-v1.1" else {**ONE, "backbone.dropout": 0.1}
    settings = {**own, "train.budget": "20 steps", "train.evaluate_every": 10, "train.checkpoint_every": 10}
    whole = firth.train(f"{preset}:tiny", text=DOCUMENTS, out=tmp_path / "whole", settings=settings)
    with pytest.raises(Interrupted):
        firth.train(f"{preset}:tiny", text=DOCUMENTS, out=tmp_path / "cut", settings=settings, progress=Stopper())
    firth.train(f"{preset}:tiny", text=DOCUMENTS, out=tmp_path / "cut", settings=settings)
    one, two = (path / "model.safetensors" for path in (whole.run.path, tmp_path / "cut"))
    assert one.read_bytes() == two.read_bytes()


def test_a_prefix_language_model_trains_scores_and_generates(tmp_path):
    model = firth.train("prefix-lm:tiny", text=DOCUMENTS, out=tmp_path / "run", settings=ONE)
    assert model.perplexity() < 12
    assert model.bits_per_byte() is not None
    assert len(model.generate("3 and 4", max_length=5, count=2)) == 2
    assert model.score(DOCUMENTS[:3])


def test_the_objective_and_the_backbone_must_fit(tmp_path):
    with pytest.raises(FirthError, match="prefix language modelling needs a prefix mask"):
        firth.train("prefix-lm:tiny", text=DOCUMENTS, out=tmp_path / "a", settings={"backbone.mask": "causal"})
    with pytest.raises(FirthError, match="the tokenizer has no sentinel tokens"):
        settings = {**SETTINGS, "objective.noise": "span-corruption"}
        firth.train("bart:tiny", text=DOCUMENTS, out=tmp_path / "b", settings=settings)


def test_tasks_with_prefixes_are_learned_together_and_from_a_run(tmp_path):
    one, two = tmp_path / "once.tsv", tmp_path / "twice.tsv"
    numbers = [(a, "please " * b) for a in range(12) for b in range(6)]
    one.write_text("left\tright\n" + "".join(f"{many}{a}\t{a}\n" for a, many in numbers))
    two.write_text("left\tright\n" + "".join(f"{many}{a}\t{a} {a}\n" for a, many in numbers))
    own = {
        **SETTINGS,
        "inputs.text.init_range": 1.7,
        "data.text": f"{one},{two}",
        "data.prefixes": "once:,twice:",
        "train.budget": "150 steps",
        "train.evaluate_every": 50,
    }
    model = firth.train("text-to-text:tiny", out=tmp_path / "tasks", settings=own)
    scores = {score.name: score.value for score in model.evaluate()}
    assert set(scores) == {"seq2seq_perplexity", "seq2seq_accuracy", "exact_match"}
    assert scores["seq2seq_accuracy"] > 0.8
    assert scores["exact_match"] > 0.6
    assert scores == {score.name: score.value for score in firth.load(model.run.path).evaluate()}
    other = {score.name: score.value for score in model.evaluate(str(one))}
    assert set(other) == set(scores)
    assert '"once: ' in model.hint
    again = {name: own[name] for name in ("data.text", "data.prefixes")}
    again |= {"train.budget": "2 steps", "train.optimizer.learning_rate": 1e-6}
    more = firth.train("text-to-text:tiny", out=tmp_path / "more", init_from=model.run.path, settings=again)
    texts = ["once: please 3", "twice: 4"]
    assert more.generate(texts, max_length=6) == model.generate(texts, max_length=6)


LEARNED = {f"backbone.{part}.positions": "learned" for part in ("encoder", "decoder")}  # as public BARTs have them


@pytest.mark.parametrize(("name", "settings"), [("t5", T5), ("bart", {**SETTINGS, **LEARNED})])
def test_a_fine_tuned_network_is_exported(name, settings, tmp_path):
    transformers = pytest.importorskip("transformers")
    import torch

    few = {"train.budget": "2 steps", "train.evaluate_every": 2, "train.checkpoint_every": 2}
    firth.train(f"{name}:tiny", text=DOCUMENTS, out=tmp_path / "pretrained", settings={**settings, **few})
    pairs = [(text, text.split()[-1]) for text in DOCUMENTS]
    options = {"init_from": tmp_path / "pretrained", "settings": {"data.tasks": "translation", **few}}
    tuned = firth.train("text-to-text:tiny", text=pairs, out=tmp_path / "run", **options)
    summary = api.export_model(tmp_path / "run", to="huggingface", out=tmp_path / "out", verify=True)
    assert "the same logits" in summary
    theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "out").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    ids = tokenizer("3 and 4 are friends", return_tensors="pt").input_ids
    assert ids[0].tolist() == tuned.encode_source("3 and 4 are friends").ids
    batch = tuned.teacher_forced_batch("3 and 4 are friends", tuned.tokenizer.encode("4 and"))
    with torch.no_grad():
        expected = theirs(input_ids=ids, decoder_input_ids=batch.streams["target"].ids).logits.log_softmax(-1)
        log_probs = tuned.system.objective.log_probabilities(tuned.system, batch)
    torch.testing.assert_close(log_probs, expected, atol=1e-5, rtol=1e-5)
