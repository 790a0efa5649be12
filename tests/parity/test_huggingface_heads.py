"""Every class of transformers in the families that firth reads: the same answers to padded texts, or a refusal by name.

Each model is tiny and random; texts differ in length, so that batches are padded."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from folders import NAMES, SIZE, write_tokenizer

import tokenizers
from firth import FirthError, api
from firth.datasets.records import Choices, Pair
from firth.interop import verification
from firth.interop.importer import load_pretrained
from firth.types import Batch, Target, Tokens

transformers = pytest.importorskip("transformers")

CLOSE = {"atol": 1e-5, "rtol": 1e-4}
TEXTS = ["w7 w8 w9 w10 w11 w12 w13", "w20 w21", "w30 w9 w31 w14"]
PAIRS = [("w7 w8 w9", "w10"), ("w20", "w21 w22 w23 w24 w25"), ("w8", "w9")]
SMALL = {
    "vocab_size": SIZE, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24,
    "max_position_embeddings": 24, "pad_token_id": 0,
}  # fmt: skip
GPT = {"vocab_size": SIZE, "n_positions": 24, "n_embd": 16, "n_layer": 2, "n_head": 2, "pad_token_id": 0}
SEQ2SEQ = {"vocab_size": SIZE, "d_model": 16, "pad_token_id": 0, "eos_token_id": 3, "bos_token_id": 2}
FAMILIES = {
    "Bert": SMALL,
    "Roberta": {**SMALL, "type_vocab_size": 1},
    "DistilBert": {"vocab_size": SIZE, "dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24, "pad_token_id": 0,
                   "max_position_embeddings": 24},
    "Electra": {**SMALL, "embedding_size": 8},
    "Longformer": {**SMALL, "attention_window": 4},
    "OpenAIGPT": GPT,
    "GPT2": GPT,
    "XLNet": {"vocab_size": SIZE, "d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 24, "pad_token_id": 0},
    "Reformer": {"vocab_size": SIZE, "attn_layers": ["local"], "hidden_size": 16, "num_attention_heads": 2,
                 "attention_head_size": 8, "feed_forward_size": 24, "axial_pos_shape": [4, 6], "num_hashes": 1,
                 "axial_pos_embds_dim": [6, 10], "local_attn_chunk_length": 8, "max_position_embeddings": 24,
                 "pad_token_id": 0},
    "Bart": {**SEQ2SEQ, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "encoder_ffn_dim": 24,
             "decoder_attention_heads": 2, "decoder_ffn_dim": 24, "max_position_embeddings": 24,
             "decoder_start_token_id": 3},
    "T5": {**SEQ2SEQ, "d_kv": 8, "d_ff": 24, "num_layers": 1, "num_heads": 2, "decoder_start_token_id": 0},
    "ViT": {key: SMALL[key] for key in SMALL if ("size" in key and key != "vocab_size") or "num" in key}
    | {"image_size": 8, "patch_size": 4},
}  # fmt: skip
CLASSIFIERS = ("Bert", "Roberta", "DistilBert", "Electra", "OpenAIGPT", "GPT2", "Bart")
PROBLEMS = {
    "single": {"num_labels": 5, "problem_type": "single_label_classification"},
    "two": {"num_labels": 2},
    "multi": {"num_labels": 5, "problem_type": "multi_label_classification"},
    "regression": {"num_labels": 1, "problem_type": "regression"},
    "values": {"num_labels": 2, "problem_type": "regression"},
    "score": {"num_labels": 1},
}
ROBERTA_TEMPLATE = ("[CLS] $A [SEP]", "[CLS] $A [SEP] [SEP] $B [SEP]")
TEMPLATES = {"Roberta": ROBERTA_TEMPLATE, "Bart": ROBERTA_TEMPLATE, "OpenAIGPT": None, "GPT2": None}
BERT_TEMPLATE = ("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1")


def classes_of(family):
    """The classes of transformers for a family, by what they are for: BertForMaskedLM → ForMaskedLM."""
    names = (name.removeprefix(family) for name in dir(transformers) if name.startswith(family))
    return sorted(n for n in names if n.startswith(("For", "LMHead", "Model", "DoubleHeads", "Encoder", "WithLM")))


def save(path, family, kind, **more):
    """A random model in which every tensor matters, and its tokenizer as transformers uses it."""
    torch.manual_seed(len(family) + len(kind))
    config = getattr(transformers, f"{family}Config")(**FAMILIES[family], **more)
    model = getattr(transformers, f"{family}{kind}")(config).eval()
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            tensor.normal_(1.0 if "norm" in name.lower() or "ln_" in name else 0.0, 0.3)
    model.save_pretrained(path)
    write_tokenizer(path)
    tokenizer = tokenizers.Tokenizer.from_file(str(path / "tokenizer.json"))
    template = TEMPLATES.get(family, BERT_TEMPLATE)
    if template:
        special = [(name, NAMES.index(name)) for name in ("[CLS]", "[SEP]")]
        tokenizer.post_processor = tokenizers.processors.TemplateProcessing(*template, special)
        tokenizer.save(str(path / "tokenizer.json"))
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]")
    segments = ["token_type_ids"] if family in ("Bert", "Electra") else []
    fast.model_input_names = ["input_ids", *segments, "attention_mask"]
    return model, lambda texts: fast(texts, padding=True, return_tensors="pt")


@torch.no_grad()
def theirs(model, tokenize, texts):
    return model(**tokenize(list(texts))).logits.numpy()


EXPECTED = {
    "single": lambda logits: torch.from_numpy(logits).softmax(-1).numpy(),
    "two": lambda logits: torch.from_numpy(logits).softmax(-1).numpy(),
    "multi": lambda logits: torch.from_numpy(logits).sigmoid().numpy(),
    "regression": lambda logits: logits[:, 0],
    "values": lambda logits: logits,
    "score": lambda logits: torch.from_numpy(logits).sigmoid().numpy()[:, 0],
}


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("family", CLASSIFIERS)
def test_a_sequence_classifier_answers_as_in_transformers(family, problem, tmp_path):
    model, tokenize = save(tmp_path / "hf", family, "ForSequenceClassification", **PROBLEMS[problem])
    mine = api.import_model(tmp_path / "hf", out=tmp_path / "run")
    is_regression = problem in ("regression", "values", "score")
    for texts in (TEXTS, PAIRS):
        answers = mine.predict(texts) if is_regression else mine.predict_proba(texts)
        np.testing.assert_allclose(answers, EXPECTED[problem](theirs(model, tokenize, texts)), **CLOSE)
    if is_regression:
        assert "values" in mine.answer(TEXTS[0], {}) and float(np.std(mine.predict(TEXTS))) > 0
        with pytest.raises(FirthError, match="values, not probabilities"):
            mine.predict_proba(TEXTS)
    told = api.export_model(tmp_path / "run", to="huggingface", out=tmp_path / "out", verify=True)
    assert f"transformers {transformers.__version__}" in told
    written = json.loads((tmp_path / "out" / "config.json").read_text())
    assert written["problem_type"] == PROBLEMS[problem].get("problem_type", written["problem_type"])
    again = api.import_model(tmp_path / "out", out=tmp_path / "again")
    first, second = ((each.predict if is_regression else each.predict_proba)(TEXTS) for each in (mine, again))
    np.testing.assert_allclose(first, second, **CLOSE)


READ = {
    "Bert": ("ForMaskedLM", "ForPreTraining", "ForNextSentencePrediction", "ForSequenceClassification",
             "ForQuestionAnswering", "ForTokenClassification", "ForMultipleChoice", "Model"),
    "Roberta": ("ForMaskedLM", "ForSequenceClassification", "ForQuestionAnswering", "ForTokenClassification",
                "ForMultipleChoice", "Model"),
    "DistilBert": ("ForMaskedLM", "ForSequenceClassification", "ForQuestionAnswering", "ForTokenClassification",
                   "Model"),
    "Electra": ("ForMaskedLM", "ForPreTraining", "ForSequenceClassification", "ForQuestionAnswering",
                "ForTokenClassification", "Model"),
    "Longformer": ("ForMaskedLM", "Model"),
    "OpenAIGPT": ("LMHeadModel", "ForSequenceClassification", "Model"),
    "GPT2": ("LMHeadModel", "ForSequenceClassification", "Model"),
    "XLNet": ("LMHeadModel",),
    "Reformer": ("ModelWithLMHead",),
    "Bart": ("ForConditionalGeneration", "ForSequenceClassification", "Model"),
    "T5": ("ForConditionalGeneration", "Model"),
    "ViT": ("ForImageClassification",),
}  # fmt: skip
ALL = [(family, kind) for family in FAMILIES for kind in classes_of(family)]


@pytest.mark.parametrize(("family", "kind"), ALL, ids=[f"{family}{kind}" for family, kind in ALL])
def test_every_class_is_read_rightly_or_refused_by_name(family, kind, tmp_path):
    """What is read comes out again as transformers computes it; no head is dropped without a word."""
    more = {"is_decoder": True} if family == "Reformer" and kind == "ModelWithLMHead" else {}
    save(tmp_path / "hf", family, kind, **more)
    if kind not in READ[family]:
        with pytest.raises(FirthError, match=f"does not support {family}{kind}"):
            load_pretrained(tmp_path / "hf")
        return
    notes = []
    api.import_model(tmp_path / "hf", out=tmp_path / "run", say=notes.append)
    told = api.export_model(tmp_path / "run", to="huggingface", out=tmp_path / "out", verify=True)
    assert f"transformers {transformers.__version__} gives the same logits" in told
    before, after = (json.loads((tmp_path / name / "config.json").read_text()) for name in ("hf", "out"))
    if kind != "Model":
        assert after["architectures"] == before["architectures"]
    elif family in ("Bert", "Roberta", "DistilBert", "Electra", "Longformer"):
        assert any("output layer" in note for note in notes)


@pytest.mark.parametrize("family", ["Bert", "Roberta", "DistilBert", "Electra"])
def test_answers_have_the_logits_of_transformers(family, tmp_path):
    model, tokenize = save(tmp_path / "hf", family, "ForQuestionAnswering")
    mine = api.import_model(tmp_path / "hf", out=tmp_path / "run")
    with torch.no_grad():
        expected = model(**tokenize([PAIRS[1]]))
    question, context = PAIRS[1]
    (results,) = mine.candidates([(question, context)], 3)
    begin = 1 + len(question.split()) + (2 if family == "Roberta" else 1)
    starts = expected.start_logits[0, begin : begin + 5].numpy()
    ends = expected.end_logits[0, begin : begin + 5].numpy()
    scores = {(i, j): starts[i] + ends[j] for i in range(5) for j in range(i, 5)}
    first, last = max(scores, key=scores.get)
    assert results.answers[0].text == " ".join(context.split()[first : last + 1])
    none = expected.start_logits[0, 0] + expected.end_logits[0, 0]
    total = np.logaddexp.reduce([*scores.values(), none.item()])
    assert results.no_answer == pytest.approx(np.exp(none.item() - total), abs=1e-4)


@pytest.mark.parametrize("family", ["Bert", "Roberta", "DistilBert", "Electra"])
@pytest.mark.parametrize("scheme", ["iob2", ""])
def test_tags_have_the_probabilities_of_transformers(family, scheme, tmp_path):
    names = ("O", "B-PER", "I-PER") if scheme else ("NOUN", "VERB", "X")
    labels = {"id2label": dict(enumerate(names)), "label2id": {name: n for n, name in enumerate(names)}}
    model, tokenize = save(tmp_path / "hf", family, "ForTokenClassification", **labels)
    mine = api.import_model(tmp_path / "hf", out=tmp_path / "run")
    expected = torch.from_numpy(theirs(model, tokenize, TEXTS)).softmax(-1).numpy()
    for text, row in zip(TEXTS, expected, strict=True):
        count = len(text.split())
        np.testing.assert_allclose(mine.predict_proba(text.split()), row[1 : 1 + count], **CLOSE)
    assert dict(mine.schemes) == ({"entity": "iob2"} if scheme else {}) and mine.labels[mine.layer] == names
    told = api.export_model(tmp_path / "run", to="huggingface", out=tmp_path / "out", verify=True)
    assert f"transformers {transformers.__version__} gives the same logits" in told


@pytest.mark.parametrize("family", ["Bert", "Roberta"])
def test_choices_have_the_probabilities_of_transformers(family, tmp_path):
    model, tokenize = save(tmp_path / "hf", family, "ForMultipleChoice")
    mine = api.import_model(tmp_path / "hf", out=tmp_path / "run")
    choices = ["w10", "w21 w22", "w30"]
    rows = tokenize([("w7 w8", f"w9 {choice}") for choice in choices])
    inputs = {name: tensor[None] for name, tensor in rows.items()}
    with torch.no_grad():
        expected = model(**inputs).logits[0].softmax(-1).numpy()
    (probabilities,) = mine.choice_probabilities([Choices("w7 w8", "w9", tuple(choices))])
    np.testing.assert_allclose(probabilities, expected, **CLOSE)


def test_a_regression_is_scored_by_correlation_and_trained(tmp_path):
    save(tmp_path / "hf", "Bert", "ForSequenceClassification", num_labels=1, problem_type="regression")
    model = api.import_model(tmp_path / "hf", out=tmp_path / "run")
    values = model.predict(PAIRS)
    gold = [Pair(*pair, score=float(2 * value + 1)) for pair, value in zip(PAIRS, values, strict=True)]
    scores = {score.name: round(score.value, 6) for score in model.evaluate(gold)}
    error = round(float(((values + 1) ** 2).mean()), 6)
    assert scores == {"spearman": 1.0, "pearson": 1.0, "mean_squared_error": pytest.approx(error, abs=1e-5)}
    assert model.score(PAIRS, values) == 1.0
    with pytest.raises(FirthError, match="scores"):
        model.evaluate([Pair(*PAIRS[0], label="yes")])
    text = Tokens(torch.tensor([[2, 7, 3]]), torch.ones(1, 3, dtype=torch.bool))
    target = Target(torch.tensor([0.25]), torch.ones(1))
    terms, _ = model.system(Batch({"text": text}, {"label": target}))
    value = model.system.head(model.system.encode(Batch({"text": text}, {})))
    torch.testing.assert_close(terms[0].sum, (value - 0.25).square().sum(), atol=1e-6, rtol=1e-5)


# --- pooling, truncation, generation ------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["Bert", "GPT2"])
@pytest.mark.parametrize("mode", ["cls", "mean", "max", "lasttoken"])
@pytest.mark.parametrize("normalize", [True, False])
def test_a_sentence_encoder_truncates_pools_and_normalises_as_sentence_transformers(family, mode, normalize, tmp_path):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    if (family, mode) == ("GPT2", "cls"):
        pytest.skip("the first token of a causal model attends to nothing of the text")
    model = save_sentence_encoder(tmp_path / "st", sentence_transformers, family, mode, normalize)
    mine = api.import_model(tmp_path / "st", out=tmp_path / "run")
    texts = [*TEXTS, " ".join(f"w{n % 30 + 5}" for n in range(40))]
    expected = model.encode(texts, batch_size=4)
    np.testing.assert_allclose(mine.embed(texts), expected, atol=1e-5, rtol=1e-4)
    assert bool(abs(np.linalg.norm(expected, axis=1) - 1).max() < 1e-5) is normalize
    cosines = sentence_transformers.util.cos_sim(expected, expected).numpy()
    np.testing.assert_allclose(mine.similarity(texts, texts), cosines, atol=1e-5)


def save_sentence_encoder(path, sentence_transformers, family, mode, normalize, length=12, *more):
    from sentence_transformers.sentence_transformer import modules

    base = path.parent / "base"
    save(base, family, "Model")
    roles = {"cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]", "pad_token": "[PAD]"}
    fast = transformers.PreTrainedTokenizerFast(tokenizer_file=str(base / "tokenizer.json"), **roles)
    fast.save_pretrained(base)
    encoder = modules.Transformer(str(base), max_seq_length=length)
    parts = [encoder, modules.Pooling(16, mode), *([modules.Normalize()] if normalize else []), *more]
    model = sentence_transformers.SentenceTransformer(modules=parts, device="cpu")
    model.save(str(path))
    return model


def test_older_files_of_sentence_transformers_are_read_and_other_modules_refused(tmp_path):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    folder = tmp_path / "st"
    model = save_sentence_encoder(folder, sentence_transformers, "Bert", "mean", True, 12)
    (folder / "tokenizer_config.json").unlink()
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 12, "do_lower_case": false}')
    flags = {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": False}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 16, **flags}))
    mine, text = api.import_model(folder, out=tmp_path / "run"), " ".join(f"w{n % 30 + 5}" for n in range(40))
    np.testing.assert_allclose(mine.embed(text), model.encode(text), atol=1e-5, rtol=1e-4)
    assert mine.config.batching.length == 12
    told = api.export_model(tmp_path / "run", to="huggingface", out=tmp_path / "out", verify=True)
    assert "gives the same logits" in told
    again = sentence_transformers.SentenceTransformer(str(tmp_path / "out"), device="cpu")
    np.testing.assert_allclose(mine.embed(text), again.encode(text), atol=1e-5, rtol=1e-4)
    flags["pooling_mode_max_tokens"] = True
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(flags))
    with pytest.raises(FirthError, match="pooling_mode_mean_tokens, pooling_mode_max_tokens"):
        load_pretrained(folder)
    listed = json.loads((folder / "modules.json").read_text())
    listed[2]["type"] = "sentence_transformers.models.Dense"
    (folder / "modules.json").write_text(json.dumps(listed))
    with pytest.raises(FirthError, match="modules Transformer, Pooling, Dense: firth supports"):
        load_pretrained(folder)


def test_a_cross_encoders_score_has_the_activation_of_its_file(tmp_path):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    save(tmp_path / "hf", "Bert", "ForSequenceClassification", num_labels=1)
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(tmp_path / "hf" / "tokenizer.json"),
        pad_token="[PAD]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )
    fast.save_pretrained(tmp_path / "hf")
    for name, activation in (("sigmoid", None), ("identity", torch.nn.Identity())):
        path = str(tmp_path / "hf")
        theirs = sentence_transformers.CrossEncoder(path, activation_fn=activation, device="cpu")
        theirs.save(str(tmp_path / name))
        config = json.loads((tmp_path / name / "config.json").read_text())
        if activation:
            config["sentence_transformers"] = {"activation_fn": "torch.nn.modules.linear.Identity"}
            (tmp_path / name / "config.json").write_text(json.dumps(config))
        mine = api.import_model(tmp_path / name, out=tmp_path / f"run-{name}")
        np.testing.assert_allclose(mine.predict(PAIRS), theirs.predict(PAIRS), atol=1e-5, rtol=1e-4)


GENERATION = {
    "greedy": {"do_sample": False, "max_new_tokens": 6},
    "long": {"max_length": 9, "do_sample": False},
    "beam": {"num_beams": 3, "max_new_tokens": 6, "length_penalty": 1.0, "early_stopping": True},
    "sum": {"num_beams": 2, "max_new_tokens": 5, "length_penalty": 0.0},
    "ngrams": {"do_sample": False, "max_new_tokens": 8, "no_repeat_ngram_size": 1},
    "suppressed": {"do_sample": False, "max_new_tokens": 6, "suppress_tokens": [7, 8, 9, 10, 11, 12, 13, 14]},
    "least": {"do_sample": False, "max_new_tokens": 8, "min_new_tokens": 5},
}


def save_generator(path, family, **settings):
    """A model that generates none of its special tokens but the end of a text, as firth never does."""
    kind = "ForConditionalGeneration" if family == "T5" else "LMHeadModel"
    model, _ = save(path, family, kind, tie_word_embeddings=False, **({} if family == "T5" else {"eos_token_id": 3}))
    with torch.no_grad():
        model.lm_head.weight[[0, 1, 2, 4]] = 0.0
    model.generation_config.update(eos_token_id=3, pad_token_id=0, **settings)
    model.generation_config.suppress_tokens = [0, 1, 2, 4, *settings.get("suppress_tokens", [])]
    model.save_pretrained(path)
    names = ["[PAD]", "[UNK]", "<s>", "</s>", "[MASK]"]
    write_tokenizer(path, names=names)
    file = path / "tokenizer.json"
    file.write_text(file.read_text().replace('"unk_token":"[PAD]"', '"unk_token":"[UNK]"'))
    return model


@pytest.mark.parametrize("name", GENERATION)
def test_generation_config_is_followed_by_a_sequence_to_sequence_model(name, tmp_path):
    model = save_generator(tmp_path / "hf", "T5", **GENERATION[name])
    mine = api.import_model(tmp_path / "hf", out=tmp_path / "run")
    for text in TEXTS:
        ids = torch.tensor([[*mine.tokenizer.encode(text), 3]])
        theirs = [token for token in model.generate(ids)[0].tolist() if token not in (0, 3)]
        assert theirs
        assert mine.tokenizer.encode(mine.generate(text)) == theirs
    short = mine.generate(TEXTS[0], max_length=2)
    assert len(mine.tokenizer.encode(short)) <= 2  # an option of the call comes first


def test_generation_config_is_followed_by_a_language_model(tmp_path):
    for number, settings in enumerate(
        ({"do_sample": False, "max_new_tokens": 5}, {"do_sample": False, "max_length": 9})
    ):
        model = save_generator(tmp_path / f"hf{number}", "GPT2", **settings)
        mine = api.import_model(tmp_path / f"hf{number}", out=tmp_path / f"run{number}")
        for text in TEXTS[1:]:
            ids = torch.tensor([[2, *mine.tokenizer.encode(text)]])  # firth's texts begin with the start token
            longer = {"max_length": 10} if "max_length" in settings else {}
            theirs = [token for token in model.generate(ids, **longer)[0].tolist() if token not in (2, 3)]
            assert mine.tokenizer.encode(mine.generate(text)[0]) == theirs


def test_what_firth_lacks_of_generation_config_is_named_and_exported_again(tmp_path):
    settings = {"num_beams": 2, "length_penalty": 2.0, "repetition_penalty": 1.2, "typical_p": 0.9}
    save_generator(tmp_path / "hf", "T5")
    path = tmp_path / "hf" / "generation_config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, **settings, "eos_token_id": [3, 9]}))
    notes = load_pretrained(tmp_path / "hf").notes
    for part in ("length_penalty = 2", "repetition_penalty = 1.2", "typical_p = 0.9", "eos_token_id = [3, 9]"):
        assert any(part in note for note in notes), part
    api.import_model(tmp_path / "hf", out=tmp_path / "run")
    api.export_model(tmp_path / "run", to="huggingface", out=tmp_path / "out")
    written = json.loads((tmp_path / "out" / "generation_config.json").read_text())
    assert {name: written[name] for name in settings} == settings


def test_a_decoder_that_starts_with_another_token_is_refused(tmp_path):
    save_generator(tmp_path / "hf", "T5")
    (tmp_path / "hf" / "generation_config.json").unlink()
    path = tmp_path / "hf" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "decoder_start_token_id": 2}))
    assert load_pretrained(tmp_path / "hf").config.objective.decoder_start == "start"
    path.write_text(json.dumps({**json.loads(path.read_text()), "decoder_start_token_id": 17}))
    with pytest.raises(FirthError, match="decoder_start_token_id = 17"):
        load_pretrained(tmp_path / "hf")
    (tmp_path / "hf" / "generation_config.json").write_text(json.dumps({"decoder_start_token_id": 0}))
    assert load_pretrained(tmp_path / "hf").config.objective.decoder_start == "pad"  # it comes first


def test_verify_says_so_where_transformers_is_not_installed(tmp_path, monkeypatch):
    save(tmp_path / "hf", "Bert", "ForMaskedLM")
    api.import_model(tmp_path / "hf", out=tmp_path / "run")
    monkeypatch.setattr(verification, "_import_transformers", lambda: None)
    told = api.export_model(tmp_path / "run", to="huggingface", out=tmp_path / "out", verify=True)
    assert "read back by firth only" in told


def test_verify_refuses_what_transformers_answers_otherwise(tmp_path, monkeypatch):
    """A folder whose reader agrees with its writer, and transformers with neither."""
    save(tmp_path / "hf", "Bert", "ForMaskedLM")
    api.import_model(tmp_path / "hf", out=tmp_path / "run")
    forward = transformers.BertForMaskedLM.forward

    def other(self, *arguments, **more):
        result = forward(self, *arguments, **more)
        result.logits = result.logits + torch.arange(SIZE)
        return result

    monkeypatch.setattr(transformers.BertForMaskedLM, "forward", other)
    with pytest.raises(FirthError, match="differs from the run by"):
        api.export_model(tmp_path / "run", to="huggingface", out=tmp_path / "out", verify=True)
