"""Ladders of labelled tasks, small: the scores of their runs, significance, the choice, resuming, errors."""

import json
import shlex
import shutil
from itertools import cycle, pairwise, product

import numpy as np
import pytest

import firth
from firth.config.schema import TaggedWords
from firth.datasets import tagged_sentences
from firth.errors import FirthError
from firth.ladder import task_climb
from firth.ladder.ladder_clock import LadderClock
from firth.ladder.rung_comparison import intervals, is_tied, p_value, recommend
from firth.ladder.task_advice import advise
from firth.ladder.task_configs import choose_config, rung_budget, train_command
from firth.ladder.task_settings import parse_task_settings
from firth.metrics import tagging
from firth.metrics.ladder_metric import ACCURACY, BITS_PER_BYTE, MEAN_SQUARED_ERROR
from firth.report.task_ladder_page import task_ladder_page
from firth.runs.base_ladder import ConfidenceInterval
from firth.runs.progress import Budget
from firth.runs.run_folder import Run
from firth.runs.task_ladder import TaskRow
from page_checks import check_page

LABELS = ("majority-class", "naive-bayes", "averaged-vectors")
COMMON = {"budget": "4 steps", "threads": 1}


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Labelled texts; half of the words say the label."""
    path = tmp_path_factory.mktemp("texts") / "films.tsv"
    words = {"good": ("fine", "lovely", "great"), "bad": ("boring", "awful", "dull")}
    rows = product(words.items(), range(3), ("film", "story", "plot", "end"), ("very", "quite", "a bit", "not that"))
    lines = (f"{label}\tThe {thing} {n} was {how} {each[n]}." for (label, each), n, thing, how in rows)
    path.write_text("".join(f"{line}\n" for line in lines) + "good\tA film.\n" * 2)
    return path


@pytest.fixture(scope="module")
def sentences(tmp_path_factory):
    """Sentences whose names are tagged, in columns."""
    path = tmp_path_factory.mktemp("sentences") / "names.txt"
    names, places = cycle(["Ann", "Ben Lee", "Cy"]), cycle(["Rome", "New York"])

    def span(name, label):
        return "".join(f"{word}\t{'I' if n else 'B'}-{label}\n" for n, word in enumerate(name.split()))

    each = (f"{span(next(names), 'PER')}went\tO\n{n}\tO\nto\tO\n{span(next(places), 'LOC')}.\tO\n\n" for n in range(60))
    path.write_text("".join(each))
    return path


@pytest.fixture(scope="module")
def labels(texts, tmp_path_factory):
    out = tmp_path_factory.mktemp("ladders") / "labels"
    return firth.run_ladder(texts, task="classification", rungs=",".join(LABELS), out=out, **COMMON)


@pytest.fixture(scope="module")
def tags(sentences, tmp_path_factory):
    out = tmp_path_factory.mktemp("ladders") / "tags"
    return firth.run_ladder(sentences, task="ner", rungs="bilstm,ner", out=out, budget="30 steps", threads=1)


def run_scores(ladder, split):
    """The scores that each run gives itself, by rung."""
    folders = {row.rung: ladder.path / "rungs" / row.rung for row in ladder.rows}
    return {
        rung: {score.name: score.value for score in firth.evaluate(folder, split=split)}
        for rung, folder in folders.items()
    }


def test_scores_are_those_of_each_run(labels):
    for split, value in (("test", lambda row: row.score.value), ("valid", lambda row: row.valid.value)):
        scores = run_scores(labels, split)
        for row in labels.rows:
            assert value(row) == pytest.approx(scores[row.rung]["accuracy"]), (row.rung, split)


def test_every_rung_has_the_same_examples_and_seed(labels):
    records = [Run(labels.path / "rungs" / name).record for name in LABELS]
    assert len({json.dumps(dict(record.data["splits"]), sort_keys=True) for record in records}) == 1
    assert {record.config.seed for record in records} == {1}


def test_tags_are_scored_by_chunks_of_the_file_whatever_scheme_a_rung_has(tags, sentences):
    """The file is in BIO, and these rungs tag in BIOES."""
    assert tags.metric == "chunk F1" and [row.rung for row in tags.rows] == ["bilstm", "ner"]
    gold = tagged_sentences.read(TaggedWords(text=(str(sentences),), tasks=("ner",)), seed=1).splits["test"].examples
    for row in tags.rows:
        predicted = firth.load(tags.path / "rungs" / row.rung).tag([sentence.words for sentence in gold])
        assert any(tag[:2] in ("S-", "E-") for each in predicted for tag in each)
        expected = tagging.chunk_f1([sentence.tags[0] for sentence in gold], predicted, "seqeval").score().value
        assert row.score.value == pytest.approx(expected) and expected > 0


def test_other_metrics_of_a_task(sentences, texts, tmp_path):
    again = {"out": tmp_path / "a", "metric": "macro-f1", "rungs": "majority-class,naive-bayes"}
    ladder = firth.run_ladder(texts, task="classification", **again, **COMMON)
    for row in ladder.rows:
        assert row.score.value == pytest.approx(run_scores(ladder, "test")[row.rung]["macro_f1"])
    tagged = firth.run_ladder(sentences, task="tagging", rungs="pos-tagger", out=tmp_path / "b", **COMMON)
    assert tagged.rows[0].score.value == pytest.approx(run_scores(tagged, "test")["pos-tagger"]["accuracy"])


def test_p_values_are_of_the_right_pairs(labels):
    counts = [np.array(result.test) for result in labels.results]
    below = [p_value(ACCURACY, one, other, 1) for one, other in pairwise(counts)]
    assert [row.p_below for row in labels.rows] == [None, *below]
    best = max(range(3), key=lambda n: ACCURACY.value(counts[n]))
    assert labels.rows[best].p_best is None
    assert all(row.p_best == p_value(ACCURACY, counts[best], counts[n], 1)
               for n, row in enumerate(labels.rows) if n != best)  # fmt: skip


def test_a_finished_ladder_is_not_trained_again(labels, monkeypatch):
    monkeypatch.setattr(task_climb.api, "train_config", None)
    again = firth.run_ladder(out=labels.path)
    assert again.rows == labels.rows and again.advice == labels.advice


def test_the_report_and_the_table(labels, texts):
    page = task_ladder_page(labels)
    check_page(page)
    assert "classification of films.tsv" in page and str(texts.parent) not in page.partition("<h2>Method")[0].replace(
        labels.advice.command, "")  # fmt: skip
    rows = labels.table
    assert [row["rung"] for row in rows] == list(LABELS) and sum(row["recommended"] for row in rows) == 1
    assert (labels.path / "report.html").read_text() == page
    told = json.loads(json.dumps(labels.to_dict()))
    assert told["better"] == "higher" and told["rows"][0]["score"]["low"] <= told["rows"][0]["score"]["value"]


# --- significance and choice ----------------------------------------------------------------------------------------


def right(*values):
    """The counts of items of which these are right."""
    return np.array([(value, 1.0) for value in values])


def test_the_best_has_the_highest_value_or_the_lowest_by_the_metric():
    low, high = right(*[0.0, 1.0] * 20), right(*[1.0] * 40)
    for metric, best in ((ACCURACY, 1), (MEAN_SQUARED_ERROR, 0)):
        own, behind = intervals(metric, [low, high], seed=1)
        assert [each.value for each in own] == [0.5, 1.0]
        assert behind[best] == ConfidenceInterval(0.0, 0.0, 0.0)
        assert behind[1 - best].value == 0.5 and behind[1 - best].low > 0.2


def row(rung, valid, behind=(0.0, 0.0, 0.0), score=None, p_best=None):
    def around(value):
        return ConfidenceInterval(value, value - 0.01, value + 0.01)

    test = around(valid if score is None else score)
    return TaskRow(rung, rung, 10, 1.0, 0.1, test, around(valid), ConfidenceInterval(*behind),
                   ConfidenceInterval(*behind), None, p_best, p_best)  # fmt: skip


CASES = [  # accuracy of two rungs, behind the best with its interval, the choice
    ((0.70, (0.20, 0.15, 0.25)), (0.90, (0.0, 0.0, 0.0)), "second"),  # significantly worse
    ((0.89, (0.01, -0.01, 0.03)), (0.90, (0.0, 0.0, 0.0)), "first"),  # not significant: the smaller
    ((0.89, (0.01, 0.005, 0.02)), (0.90, (0.0, 0.0, 0.0)), "second"),  # small, but significant
    ((0.80, (0.10, -0.01, 0.2)), (0.90, (0.0, 0.0, 0.0)), "second"),  # not significant, but large
    ((0.90, (0.0, 0.0, 0.0)), (0.89, (0.01, -0.01, 0.03)), "first"),  # the smaller one is the best
]


@pytest.mark.parametrize("first, second, chosen", CASES)
def test_the_smallest_rung_that_is_not_significantly_worse_is_recommended(first, second, chosen):
    rows = [row("first", *first), row("second", *second)]
    assert recommend(ACCURACY, rows).rung == chosen


def test_the_same_values_where_lower_is_better():
    rows = [row("first", 1.01, (0.01, -0.01, 0.03)), row("second", 1.0)]
    assert is_tied(BITS_PER_BYTE, rows[0]) and not is_tied(BITS_PER_BYTE, row("x", 1.1, (0.1, -0.1, 0.3)))


def test_the_sentences_say_why():
    settings = parse_task_settings({"task": "classification"})
    rows = [row("naive-bayes", 0.89, (0.01, -0.01, 0.03), p_best=0.4), row("text-cnn", 0.90, score=0.95)]
    rows[0] = row("naive-bayes", 0.89, (0.01, -0.01, 0.03), score=0.80, p_best=0.002)
    first, why, test = advise(rows, settings, str).sentences
    assert first.startswith("Use naive-bayes") and "accuracy 80.0 %" in first
    assert "smallest rung that is not significantly worse" in why and "text-cnn was better by 1.0 points" in why
    assert test == "On the test split text-cnn is significantly better (p = 0.002): look at both."


# --- budget, configurations, errors ---------------------------------------------------------------------------------


def test_rungs_share_the_time_by_their_cost():
    settings = parse_task_settings({"task": "classification", "budget": "1000s"})
    rungs = [settings.definition.rungs[name] for name in settings.rungs]
    clock = LadderClock(Budget(1000.0, "seconds"), sum(rung.cost for rung in rungs))
    shares = {rung.preset: float(rung_budget(settings, rung, clock)[:-1]) for rung in rungs if rung.cost}
    assert rung_budget(settings, rungs[0], clock) == ""
    assert shares["bilstm-classifier"] == pytest.approx(3 * shares["averaged-vectors"], rel=0.01)
    assert sum(shares.values()) == pytest.approx(950.0, abs=2.0)  # 5 % are for what surrounds training


def test_sizes_follow_the_time_unless_named():
    settings = parse_task_settings({"task": "classification", "rungs": "text-cnn,bilstm-classifier:small"})
    names = [choose_config("text-cnn", settings, budget).name for budget in ("9s", "500s", "2 epochs")]
    assert names == ["text-cnn:tiny", "text-cnn:small", "text-cnn:tiny"]
    assert choose_config("bilstm-classifier:small", settings, "9s").name == "bilstm-classifier:small"


def test_the_command_trains_the_rung_alone():
    words = {"task": "ner", "text": "my names.txt", "valid": "v.txt", "rungs": "bilstm", "seed": "3"}
    command = train_command("bilstm", parse_task_settings(words))
    assert command == ("firth train ner --text 'my names.txt' --valid v.txt --set head.decoder=softmax --seed 3")


def test_a_pre_trained_run_is_the_last_rung(tmp_path):
    for task, preset in (("classification", "bert-classifier"), ("ner", "bert-tagger")):
        assert "fine-tuned" not in parse_task_settings({"task": task}).rungs
        settings = parse_task_settings({"task": task, "init-from": str(tmp_path)})
        assert settings.rungs[-1] == "fine-tuned"
        words = f"firth train {preset}:mini --text world --init-from {tmp_path}".split()
        assert shlex.split(train_command("fine-tuned", settings))[: len(words)] == words


@pytest.mark.parametrize(
    "words, said",
    [
        ({"task": "parsing"}, "classification, pairs, tagging, ner"),
        ({"task": "ner", "rungs": "text-cnn"}, "unknown rung of ner"),
        ({"task": "ner", "rungs": "ner,ner"}, "named twice"),
        ({"task": "classification", "rungs": "fine-tuned"}, "--init-from"),
        ({"task": "classification", "rungs": "naive-bayes:small"}, "size of naive-bayes"),
        ({"task": "classification", "metric": "chunk-f1"}, "unknown metric of classification"),
        ({"task": "classification", "vocab-size": "9"}, "vocab-size"),
        ({"task": "classification", "budget": "1.5 steps"}, "not a whole number"),
    ],
)
def test_bad_settings_are_one_line(words, said):
    with pytest.raises(FirthError) as raised:
        parse_task_settings(words)
    assert said in str(raised.value) and "\n" not in str(raised.value)


def test_a_damaged_result_is_refused(labels, tmp_path):
    copy = shutil.copytree(labels.path, tmp_path / "copy")
    path = copy / "results/naive-bayes.json"
    values = json.loads(path.read_text())
    for changed in ({"rung": "x"}, {"metric": "macro F1"}, {"test": values["test"][1:]}, {"test": [[1.0]]}):
        path.write_text(json.dumps({**values, **changed}))
        with pytest.raises(FirthError, match="damaged"):
            firth.run_ladder(out=copy)
