"""Laws of next sentence prediction in a trained BERT, and README's way from pre-training to a Hugging Face folder."""

import pytest
import torch
import transformers
from typer.testing import CliRunner

import firth
from firth.cli.main import app
from firth.errors import FirthError

SETTINGS = {"train.budget": "20 steps", "batching.length": 32, "tokenizer.vocabulary_size": 300, "train.threads": 1}
# each document repeats a word of its own, so that a segment's document can be told by any of its tokens
WORDS = ["sun", "moon", "star", "rain", "snow", "wind", "leaf", "root"]
DOCUMENTS = [" ".join([word] * 12) for word in WORDS * 30]


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    out = tmp_path_factory.mktemp("bert") / "run"
    return firth.train("bert:tiny", text="world:200", out=out, settings=SETTINGS)


def test_next_sentence_prediction_is_learned_and_scored(tmp_path):
    settings = SETTINGS | {"train.budget": "300 steps", "tokenizer.model": "word", "backbone.dropout": 0.0}
    settings |= {"data.group_duplicates": False}  # eight different documents, which every split should have
    model = firth.train("bert:tiny", text=DOCUMENTS, out=tmp_path / "run", settings=settings)
    scores = {score.name: score.value for score in model.evaluate()}
    assert scores["next_sentence_accuracy"] > 0.85  # another document may repeat the same word: 1 of 16 pairs
    assert model.next_sentence("sun sun sun", "sun sun sun sun") > 0.8
    assert model.next_sentence("sun sun sun", "rain rain rain") < 0.2


def test_a_head_that_always_says_yes_scores_the_fraction_of_true_pairs(bert):
    head, (first, second) = bert.system.objective.next_sentence, ("The man sees.", "The dog runs.")
    before = head.classifier.bias.detach().clone()
    accuracies = []
    for bias in (1e4, -1e4):
        with torch.no_grad():
            head.classifier.bias.copy_(torch.tensor([0.0, bias]))
        accuracies.append({score.name: score.value for score in bert.evaluate()}["next_sentence_accuracy"])
        assert bert.next_sentence(first, second) == pytest.approx(float(bias > 0))
    with torch.no_grad():
        head.classifier.bias.copy_(before)
    assert sum(accuracies) == pytest.approx(1.0) and 0.2 < accuracies[0] < 0.8


def test_the_probability_is_that_of_transformers(bert, tmp_path):
    firth.export_model(bert.run.path, to="huggingface", out=tmp_path / "hf", verify=True)
    theirs = transformers.BertForPreTraining.from_pretrained(tmp_path / "hf").eval()
    first, second = "The man sees the dog.", "The dog runs."
    ids, special = [bert.tokenizer.encode(text) for text in (first, second)], bert.tokenizer.special
    row = [special.cls, *ids[0], special.sep, *ids[1], special.sep]
    segment = [0] * (len(ids[0]) + 2) + [1] * (len(ids[1]) + 1)
    with torch.no_grad():
        logits = theirs(torch.tensor([row]), token_type_ids=torch.tensor([segment])).seq_relationship_logits
    # their class 0 is "B continues A"
    assert bert.next_sentence(first, second) == pytest.approx(float(logits.softmax(-1)[0, 0]), abs=1e-5)


def test_the_command_line_predicts_whether_the_input_continues_a_text(bert):
    texts = ["The man sees.", "The dog runs."]
    result = CliRunner().invoke(app, ["run", str(bert.run.path), "--next-sentence", *texts])
    assert result.exit_code == 0, result.output
    assert float(result.output.split()[0]) == pytest.approx(bert.next_sentence(*texts), abs=1e-4)


def test_a_model_without_the_head_says_so(tmp_path):
    settings = SETTINGS | {"train.budget": "1 steps"}
    model = firth.train("modern-encoder:tiny", text="world:50", out=tmp_path / "run", settings=settings)
    with pytest.raises(FirthError, match="next-sentence prediction"):
        model.next_sentence("a", "b")


def test_two_segments_longer_than_the_context_are_refused(bert):
    with pytest.raises(FirthError, match="tokens, and this model takes at most"):
        bert.next_sentence("man " * 20, "dog " * 20)


def test_pre_train_fine_tune_export_as_in_the_readme(bert, tmp_path):
    labelled = tmp_path / "reviews.tsv"
    labelled.write_text("text\tlabel\n" + "The man sees the dog.\tgood\nThe dog runs.\tbad\n" * 40, encoding="utf-8")
    out, runner = tmp_path / "sentiment", CliRunner()
    train = ["train", "bert-classifier:tiny", "--init-from", str(bert.run.path), "--text", str(labelled)]
    for command in (
        [*train, "--out", str(out), "--budget", "5 steps", "--threads", "1"],
        ["export", str(out), "--to", "huggingface", "--out", str(tmp_path / "hf"), "--verify"],
    ):
        result = runner.invoke(app, command)
        assert result.exit_code == 0, result.output
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "hf")
    assert sorted(theirs.config.id2label.values()) == ["bad", "good"]
