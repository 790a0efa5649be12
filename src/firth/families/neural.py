"""The neural family: prepare the data, plan, train, evaluate; and load what was trained."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import numpy as np
import torch

from firth.build import System, build
from firth.config import schema
from firth.data.batching import Batches, batches, context, reading
from firth.data.cache import Split
from firth.data.corpus import read_text
from firth.errors import FirthError
from firth.families.given import put_vectors
from firth.families.language import LanguageModel
from firth.families.order import Order
from firth.families.stepper import NeuralStepper
from firth.metrics.language import perplexity
from firth.report.page import write_report
from firth.runs import checkpoints
from firth.runs.budget import parse
from firth.runs.folder import Record, Run
from firth.runs.weights import read_note
from firth.text.tokenizer import Tokenizer
from firth.training.calibrate import Pace, Plan, measure, needed, plan, resolve
from firth.training.checkpoint import load_model
from firth.training.devices import Devices, devices, has_bf16, machine
from firth.training.loop import Evaluation, Job, autocast, train
from firth.types import Batch, Cursor

SAMPLE = 40  # tokens that are generated after each evaluation
PIECE = 1024  # tokens of a row that are read at once where the state is carried


@dataclass(frozen=True)
class Prepared:
    """Text turned into batches, and a model to read them."""

    config: schema.Neural
    tokenizer: Tokenizer
    splits: dict[str, Split]
    system: System

    def batches(self, name: str) -> Batches:
        """Batches of a split as configured."""
        return batches(self.config.batching, self.splits[name], self.tokenizer.special, self.config.seed)


def fit(order: Order) -> LanguageModel:
    """Train into the run folder, or go on with what is there; then score the test split and write the report."""
    with devices(order.config.train) as place:
        kept = order.run.lock() if place.leads else None
        try:
            _fit(order, place)
        finally:
            if kept is not None:
                kept.close()
        place.wait()
        return _finish(order, place)


def _fit(order: Order, place: Devices) -> None:
    run = order.run
    if place.leads and not run.exists:
        _begin(order, run)
    place.wait()
    prepared = _prepare(order, run.record.config, run)
    if place.leads:
        _compare_with_record(run.record, prepared, order)
        _start_over_if_lost(order)
    place.wait()
    note = {"config": run.config_digest(), "tokenizers": dict(run.record.tokenizers)}
    _check_rows(prepared, place)
    config = prepared.config.train
    steps = int(parse(config.budget).amount)
    train(
        Job(
            prepared.system,
            config,
            steps,
            prepared.batches("train"),
            Validation(prepared, run),
            run.path,
            note,
            prepared.config.seed,
            place,
            order.progress,
        )
    )


def foresee(order: Order) -> Plan:
    """The plan of a run, without running it or writing a run folder."""
    with devices(order.config.train):
        prepared = _prepare(order, order.config, None)
        size = sum(split.ids.nbytes for split in prepared.splits.values())
        return plan(prepared.config, prepared.system, prepared.batches("train"), _pace(prepared), size)


def _begin(order: Order, run: Run) -> None:
    """Everything that is decided once: tokenizer, steps, intervals, threads. Then the run exists."""
    prepared = _prepare(order, order.config, None)
    if order.config.train.precision == "bf16" and not has_bf16():
        order.progress.say("note: this CPU has no bf16 instructions, so bf16 is emulated and slower than float32")
    run.write_tokenizer("text", prepared.tokenizer)
    pace = _pace(prepared) if needed(order.config.train) else None
    config = replace(order.config, train=resolve(order.config.train, prepared.batches("train"), pace))
    data = {
        "splits": {name: split.key for name, split in prepared.splits.items()},
        "byte_counts": list(prepared.splits["train"].tally.histogram),
        "steps": int(parse(config.train.budget).amount),
    }
    run.write_record(Record(order.preset, order.asked, config, {"text": prepared.tokenizer.hash}, data, machine()))
    count = sum(parameter.numel() for parameter in prepared.system.parameters())
    order.progress.say(f"{count:,} parameters, {config.train.budget}")


def _prepare(order: Order, config: schema.Neural, run: Run | None) -> Prepared:
    say = order.progress.say if run is None else (lambda _: None)
    tokenizer, splits = read_text(config, run.tokenizer("text") if run else None, order.cache, say)
    if "valid" not in splits:
        raise FirthError("no validation text", do="set data.valid_share above 0, or give --valid")
    system = build(config, tokenizer.size)
    if config.input.vectors and (run is None or checkpoints.newest(run.path) is None):
        say(put_vectors(system, config.input, tokenizer))
    return Prepared(config, tokenizer, splits, system)


def _pace(prepared: Prepared) -> Pace:
    return measure(prepared.system, prepared.config.train, prepared.batches("train"), prepared.batches("valid"))


def _compare_with_record(record: Record, prepared: Prepared, order: Order) -> None:
    """Refuse changed text; say so if the machine is another one."""
    for name, split in prepared.splits.items():
        if record.data["splits"].get(name) != split.key:
            raise FirthError(
                f"the {name} text has changed since this run began",
                where=order.run.path,
                do="restore the text, or train into another folder with --out",
            )
    here = machine()
    differing = [
        f"{name} {record.machine[name]} → {here[name]}" for name in here if record.machine.get(name) != here[name]
    ]
    if differing:
        order.progress.say(f"resumed, not bit-exact: {', '.join(differing)}")


def _start_over_if_lost(order: Order) -> None:
    """A checkpoint does not hold the best weights: if their file is lost, only training again brings them back."""
    place = checkpoints.newest(order.run.path)
    if place is None or json.loads((place / "training.json").read_bytes())["best"] is None:
        return
    try:
        read_note(order.run.weights)
    except FirthError as error:
        order.progress.say(f"{error.what}: training again from the start")
        checkpoints.drop_after(order.run.path, None)


def _check_rows(prepared: Prepared, place: Devices) -> None:
    """A carried state is shared out evenly."""
    rows = prepared.batches("train").batch(Cursor()).size
    if place.world > 1 and isinstance(prepared.config.batching, schema.Contiguous) and rows % place.world:
        raise FirthError(f"batching.rows = {rows}: not divisible by {place.world} processes")


class Validation:
    """Scores the validation split during training: in as many rows as training has, which is quicker than in one."""

    def __init__(self, prepared: Prepared, run: Run) -> None:
        self.system, self.limit = prepared.system, prepared.config.train.evaluate_batches
        self.batches = prepared.batches("valid")
        engine = NeuralEngine(prepared.system, prepared.config, prepared.tokenizer)
        self.model = LanguageModel(run, prepared.tokenizer, engine, engine.context)

    def __call__(self) -> Evaluation:
        nats, tokens = total_nats(self.system, self.batches, self.limit)
        (sample,) = self.model.generate(length=SAMPLE, temperature=0.8)
        return Evaluation(nats / tokens, "perplexity", perplexity(nats, tokens), sample)


@torch.no_grad()
def total_nats(system: System, parts: Batches, limit: int = 0) -> tuple[float, float]:
    """The negative log-likelihood of a split and its token count, the state carried from batch to batch."""
    nats, tokens, state = 0.0, 0.0, None
    for index, batch in enumerate(parts.once()):
        if limit and index == limit:
            break
        terms, state = system(batch.to("cpu"), None if batch.fresh else state)
        (term,) = (term for term in terms if term.name == system.objective.yardstick)
        nats += float(term.sum)
        tokens += term.count
    return nats, tokens


def load(run: Run) -> LanguageModel:
    """The trained model of a run."""
    if not run.is_trained:
        raise FirthError(
            "this run has no trained weights yet", where=run.path, do=f"continue it: firth train {run.path}"
        )
    record, tokenizer = run.record, run.tokenizer("text")
    system = build(record.config, tokenizer.size)
    note = load_model(run.weights, system, run.config_digest())
    if note["tokenizers"] != record.tokenizers:
        raise FirthError(
            "the weights belong to another tokenizer", where=run.path, do="restore the folder, or train again"
        )
    engine = NeuralEngine(system.eval(), record.config, tokenizer)
    return LanguageModel(run, tokenizer, engine, engine.context)


class NeuralEngine:
    """A system as a language model."""

    def __init__(self, system: System, config: schema.Neural, tokenizer: Tokenizer) -> None:
        self.system, self.config, self.special = system, config, tokenizer.special
        self.precision = config.train.precision
        self.stepper = NeuralStepper(system, tokenizer.size)

    @property
    def context(self) -> str:
        """What a token's prediction may look back on, for the signature."""
        return context(reading(self.config.batching))

    @torch.no_grad()
    def surprises(self, split: Split) -> np.ndarray:
        """-log p of every token of a split, its documents one after the other."""
        found, state = np.empty(len(split.ids), np.float32), None
        for batch in batches(reading(self.config.batching), split, self.special, 0).once():
            with autocast(self.config.train):
                values, state = self.system.surprises(batch.to("cpu"), None if batch.fresh else state)
            target = batch.targets["text"]
            told = target.weight > 0
            found[target.place[told]] = values.float().numpy()[told]
        return found

    @torch.no_grad()
    def log_probabilities(self, batch: Batch) -> np.ndarray:
        """Of each target given all before it that the model can look at (batch, time)."""
        tensors = batch.to("cpu")
        width, limit = tensors.streams["text"].ids.shape[1], self.system.backbone.limit
        # The same pieces whatever else is in the batch. Where there is a limit they overlap, else the state is carried.
        length, step = (limit, max(1, limit // 2)) if limit else (PIECE, PIECE)
        found, done, state = [], 0, None
        for first in range(0, max(1, width - length + step), step):
            stop = min(first + length, width)
            with autocast(self.config.train):
                values, state = self.system.surprises(tensors.columns(first, stop), None if limit else state)
            found.append(-values[:, done - stop :].float())
            done = stop
        return torch.cat(found, 1).numpy()


def _finish(order: Order, place: Devices) -> LanguageModel:
    model = load(order.run)
    if place.leads and "test" in order.run.record.data["splits"]:
        part = model.evaluate(split="test", cache=order.cache)
        order.run.add_scores([score.to_dict() for score in part])
    if place.leads:
        write_report(order.run, model.generate(length=60, count=3, temperature=0.8, seed=order.config.seed))
    return model
