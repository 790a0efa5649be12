"""The neural family: prepare the data, plan, train, evaluate; and load what was trained."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import torch

from firth.build import System, build
from firth.config import schema
from firth.data.batches.staged import Staged, shares, stages
from firth.data.batching import Batches, batches
from firth.data.cache import Split
from firth.data.corrupt import corrupted
from firth.data.material import Tokenizers, read_material, source_size, text_size
from firth.data.randomness import number
from firth.errors import FirthError
from firth.families.causal import causal_model
from firth.families.denoiser import DenoisingModel
from firth.families.given import put_vectors
from firth.families.labelling import label_model
from firth.families.labels import Labeller
from firth.families.language import LanguageModel
from firth.families.masked import MaskedModel
from firth.families.order import Order
from firth.families.passes import require_trained
from firth.families.permuted import PermutedModel
from firth.families.replaced import ReplacedModel
from firth.families.sentences import SentenceModel
from firth.families.starting import start_from, start_tokenizers
from firth.families.teaching import attach_teacher, begin_as, teacher_note, teacher_tokenizers
from firth.families.translating import TranslatingModel
from firth.nn.linear import lighten
from firth.report.page import write_report
from firth.runs import checkpoints
from firth.runs.budget import parse
from firth.runs.folder import Record, Run
from firth.runs.weights import read_note
from firth.text.tokenizer import Tokenizer
from firth.training.calibrate import Pace, Plan, measure, needed, plan, resolve
from firth.training.checkpoint import load_model
from firth.training.devices import Devices, devices, has_bf16, machine
from firth.training.loop import Evaluation, Job, train
from firth.types import Cursor, Term

Model = LanguageModel | MaskedModel | Labeller | SentenceModel
# What a trained system can do is a matter of what it has learned.
MODELS = {
    schema.Causal: causal_model,
    schema.Prefix: causal_model,
    schema.Masked: MaskedModel,
    schema.Distil: MaskedModel,
    schema.Replaced: ReplacedModel,
    schema.Written: TranslatingModel,
    schema.Denoise: DenoisingModel,
    schema.Permuted: PermutedModel,
    schema.Supervised: label_model,
    schema.Contrastive: SentenceModel,
}


@dataclass(frozen=True)
class Prepared:
    """Text or pictures turned into batches, and a model to read them."""

    config: schema.Neural
    tokenizers: Tokenizers
    splits: dict[str, Split]
    system: System

    @property
    def tokenizer(self) -> Tokenizer | None:
        """Of the text, or of what is written; none for pictures."""
        return self.tokenizers.get("text")

    def batches(self, name: str) -> Batches:
        """Batches of a split as configured, in rows of the full length."""
        return self._made(self.config.batching, name, self.config.seed)

    def staged(self, steps: int) -> Batches:
        """Batches for so many steps of training, in rows that grow if that is configured."""
        config = self.config
        parts = stages(config.batching)
        if len(parts) == 1:
            return self.batches("train")
        made = [self._made(part, "train", number(config.seed, "stage", index)) for index, part in enumerate(parts)]
        return Staged(made, shares(steps, len(parts), config.train.accumulate))

    def _made(self, batching: schema.Batching, name: str, seed: int) -> Batches:
        special = self.tokenizer.special if self.tokenizer else None
        whole = batches(batching, self.splits[name], special, seed)
        return corrupted(whole, self.config.objective, self.tokenizer, seed)


def fit(order: Order) -> Model:
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
    if run.exists and not run.record.data["splits"]:
        do = f"go on with it in a new run: firth train {run.path} --start {run.path} --text FILE"
        raise FirthError("this model was imported, not trained", where=run.path, do=do)
    if place.leads and not run.exists:
        _begin(order, run)
    place.wait()
    prepared = _prepare(order, run.record.config, run)
    if place.leads:
        _compare_with_record(run.record, prepared, order)
        _start_over_if_lost(order)
    place.wait()
    note = {"config": run.config_digest(), "tokenizers": dict(run.record.tokenizers)}
    config = prepared.config.train
    steps = int(parse(config.budget).amount)
    training = prepared.staged(steps)
    _check_rows(prepared.config.batching, training, place)
    train(
        Job(
            prepared.system,
            config,
            steps,
            training,
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
    for name, tokenizer in prepared.tokenizers.items():
        run.write_tokenizer(name, tokenizer)
    pace = _pace(prepared) if needed(order.config.train) else None
    config = replace(order.config, train=resolve(order.config.train, prepared.batches("train"), pace))
    data = {
        "splits": {name: split.key for name, split in prepared.splits.items()},
        "byte_counts": list(prepared.splits["train"].tally.histogram),
        "steps": int(parse(config.train.budget).amount),
        **prepared.splits["train"].notes,
        **teacher_note(config),
    }
    hashes = {name: tokenizer.hash for name, tokenizer in prepared.tokenizers.items()}
    run.write_record(Record(order.preset, order.asked, config, hashes, data, machine()))
    count = sum(parameter.numel() for parameter in prepared.system.parameters())
    order.progress.say(f"{count:,} parameters, {config.train.budget}")


def _prepare(order: Order, config: schema.Neural, run: Run | None) -> Prepared:
    say = order.progress.say if run is None else (lambda _: None)
    ready = run.own_tokenizers() if run else start_tokenizers(config) or teacher_tokenizers(config)
    tokenizers, splits = read_material(config, ready, order.cache, say)
    tokenizer = tokenizers.get("text")
    if "valid" not in splits:
        raise FirthError("no validation text", do="set data.valid_share above 0, or give --valid")
    stages(config.batching)  # refused now rather than after the run has begun
    system = build(config, text_size(tokenizers), len(splits["train"].names) or 2, source_size(tokenizers))
    teacher = attach_teacher(system, config, tokenizer, run)
    if run is None or checkpoints.newest(run.path) is None:
        if teacher is not None:
            say(begin_as(system, teacher))
        if config.start:
            say(start_from(system, config, tokenizer, splits["train"].names))
        if config.input.vectors:
            say(put_vectors(system, config.input, tokenizer))
    return Prepared(config, tokenizers, splits, system)


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


def _check_rows(config: schema.Batching, training: Batches, place: Devices) -> None:
    """What several processes cannot share: a carried state in uneven parts, and texts told from those beside them."""
    if place.world == 1:
        return
    if isinstance(config, schema.Apart):
        what = "texts are told from the others of their batch, so a batch cannot be shared by processes"
        raise FirthError(what, where="batching", do="train in one process")
    if isinstance(config, schema.Contiguous):
        rows = [training.batch(Cursor(stage)).size for stage in range(len(stages(config)))]
        uneven = [count for count in rows if count % place.world]
        if uneven:
            raise FirthError(f"batching.rows = {uneven[0]}: not divisible by {place.world} processes")


class Validation:
    """Scores the validation split during training: in as many rows as training has, which is quicker than in one."""

    def __init__(self, prepared: Prepared, run: Run) -> None:
        self.system, self.limit = prepared.system, prepared.config.train.evaluate_batches
        self.batches = prepared.batches("valid")
        self.model = MODELS[type(prepared.config.objective)](run, prepared.tokenizer, prepared.system)
        self.judged = prepared.config.train.best == "quality"
        if self.judged and not hasattr(self.model, "quality"):
            do = "set train.best=loss"
            raise FirthError("this model writes no texts that could be judged", where="train.best", do=do)

    def __call__(self) -> Evaluation:
        found = totals(self.system, self.batches, self.limit)
        loss = sum(term.weight * term.sum / term.count for term in found.values())
        told = found[self.system.objective.yardstick]
        value = self.model.figure(told.sum, told.count)
        if self.judged:
            quality = self.model.quality()
            return Evaluation(loss, quality.name, quality.value, self.model.sample(), rank=-quality.value)
        rank = told.sum / told.count if self.system.objective.drifts else None
        return Evaluation(loss, self.model.metric, value, self.model.sample(), rank)


@torch.no_grad()
def totals(system: System, parts: Batches, limit: int = 0) -> dict[str, Term]:
    """The terms of the loss over a split, added up, the state carried from batch to batch."""
    found: dict[str, Term] = {}
    state = None
    for index, batch in enumerate(parts.once()):
        if limit and index == limit:
            break
        terms, state = system(batch.to("cpu"), None if batch.fresh else state)
        for term in terms:
            before = found.get(term.name, Term(term.name, 0.0, 0.0))
            found[term.name] = term._replace(sum=before.sum + float(term.sum), count=before.count + term.count)
    return found


def load(run: Run, weights: str = "") -> Model:
    """The trained model of a run; its matrices in another form than that of training, if one is named."""
    require_trained(run, "trained weights")
    record, tokenizers = run.record, run.own_tokenizers()
    tokenizer, classes = tokenizers.get("text"), len(record.data.get("labels", ())) or 2
    system = build(record.config, text_size(tokenizers), classes, source_size(tokenizers))
    note = load_model(run.weights, system, run.config_digest())
    if note["tokenizers"] != record.tokenizers:
        raise FirthError(
            "the weights belong to another tokenizer", where=run.path, do="restore the folder, or train again"
        )
    model = MODELS[type(record.config.objective)](run, tokenizer, system.eval())
    if weights:
        lighten(system, weights)
        model.lightened = weights
    return model


def _finish(order: Order, place: Devices) -> Model:
    model = load(order.run)
    if place.leads and "test" in order.run.record.data["splits"]:
        part = model.evaluate(split="test", cache=order.cache)
        order.run.add_scores([score.to_dict() for score in part])
    if place.leads:
        write_report(order.run, model.samples(order.config.seed))
    return model
