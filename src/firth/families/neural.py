"""The neural family: prepares the data, estimates, trains and evaluates a network; loads a trained one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from firth.config import schema
from firth.datasets.collators.batches import corrupt_batches, make_batches
from firth.datasets.collators.collator import Batches
from firth.datasets.collators.length_curriculum import LengthCurriculum, batches_per_stage, stage_configs
from firth.datasets.token_cache import Split
from firth.datasets.training_data import Tokenizers, read_training_data
from firth.datasets.word_dataset import encoder_of
from firth.errors import FirthError
from firth.families.distillation import attach_teacher, initialise_student, teacher_metadata, teacher_tokenizers
from firth.families.initialisation import initial_tokenizers, initialise_weights
from firth.families.pass_training import require_trained
from firth.families.pretrained_embeddings import load_pretrained_vectors, with_known_words
from firth.families.pretrained_encoder import encoder_tokenizers, initialise_encoder
from firth.families.run_weights import base_metadata, base_run, load_weights, read_merged
from firth.families.validation import Validation
from firth.models.build import System, build
from firth.nn.linear import quantize_weights
from firth.pipelines.answer_questions import QuestionAnswerer
from firth.pipelines.causal_lm import make_causal_lm
from firth.pipelines.chat_decoder import ChatDecoder
from firth.pipelines.chat_seq2seq import ChatSeq2Seq
from firth.pipelines.choose import ChoiceModel
from firth.pipelines.denoise import DenoisingModel
from firth.pipelines.detect_replaced import ReplacedTokenDetector
from firth.pipelines.embed import SentenceEncoder
from firth.pipelines.fill_mask import MaskedLMModel
from firth.pipelines.label_predictions import BaseClassifier
from firth.pipelines.language_model import LanguageModel
from firth.pipelines.neural_tagger import NeuralTagger
from firth.pipelines.permutation_lm import PermutationLMModel
from firth.pipelines.regression import make_classifier
from firth.pipelines.translate import TranslationModel
from firth.report.run_page import write_report
from firth.runs import checkpoints
from firth.runs.progress import Budget, Quiet, parse_budget
from firth.runs.run_folder import Record, Run, TrainRequest, read_log
from firth.runs.weights import read_metadata
from firth.tokenizers.tokenizer import Tokenizer
from firth.training.checkpoint import TrainerState
from firth.training.clock import EVALUATIONS, MAX_EVALUATION, FinalScores, StepClock, TimeClock
from firth.training.device import Distributed, free_threads, has_bf16, machine_info, training_environment
from firth.training.flops import estimate_timing, is_large, meta_system
from firth.training.loop import TrainingTask, train
from firth.training.parameter_groups import count_trained, prepare_training
from firth.training.partial_weights import SharedWeights, copy_shared
from firth.training.planner import Plan, StepTiming, make_plan, measure_timing, resolve
from firth.types import Cursor, Sizes, derive_seed

# That of a labelled task, by what its head predicts.
TASK_MODELS: dict[str, Callable[..., Any]] = {
    "labels": make_classifier,
    "tags": NeuralTagger,
    "spans": QuestionAnswerer,
    "choices": ChoiceModel,
}


def make_task_model(run: Run, tokenizer: Tokenizer | None, system: System) -> Any:
    """The pipeline of a network that was trained on a labelled task."""
    return TASK_MODELS[run.record.config.head.predicts](run, tokenizer, system)


def make_language_model(run: Run, tokenizer: Tokenizer, system: System) -> Any:
    """The pipeline of a causal language model, by what it was trained on."""
    is_chat = isinstance(run.record.config.data, schema.Dialogues)
    return ChatDecoder(run, tokenizer, system) if is_chat else make_causal_lm(run, tokenizer, system)


def make_seq2seq(run: Run, tokenizer: Tokenizer, system: System) -> Any:
    """The pipeline of a sequence-to-sequence network, by what it was trained on."""
    is_chat = isinstance(run.record.config.data, schema.Dialogues)
    return (ChatSeq2Seq if is_chat else TranslationModel)(run, tokenizer, system)


Model = LanguageModel | MaskedLMModel | BaseClassifier | SentenceEncoder
# The pipeline of a trained network, by its objective.
MODELS = {
    schema.CausalLM: make_language_model,
    schema.PrefixLM: make_causal_lm,
    schema.MaskedLM: MaskedLMModel,
    schema.Distillation: MaskedLMModel,
    schema.ReplacedTokenDetection: ReplacedTokenDetector,
    schema.Seq2Seq: make_seq2seq,
    schema.Denoising: DenoisingModel,
    schema.PermutationLM: PermutationLMModel,
    schema.Supervised: make_task_model,
    schema.Contrastive: SentenceEncoder,
}


ENDLESS = 1 << 40  # steps
_FEW_STEPS = 50


@dataclass(frozen=True)
class Prepared:
    """The data as tokenised splits, and the network to train."""

    config: schema.Neural
    tokenizers: Tokenizers
    splits: dict[str, Split]
    system: System

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The tokenizer of the text (of the target, for seq2seq); none for images."""
        return self.tokenizers.get("text")

    def batches(self, name: str) -> Batches:
        """Batches of a split as configured, in sequences of the full length."""
        return self._make_batches(self.config.batching, name, self.config.seed)

    @property
    def stages(self) -> int:
        """The stages of the length curriculum; 1 if none is configured."""
        return len(stage_configs(self.config.batching)) if self.config.batching.length_curriculum else 1

    def curriculum_batches(self, budget: Budget) -> Batches:
        """Batches for training, with a length curriculum if one is configured."""
        config = self.config
        if self.stages == 1:
            return self.batches("train")
        # how long a stage takes is decided by the clock if the budget is a time
        steps = int(budget.amount) if budget.unit == "steps" else ENDLESS
        stages = stage_configs(config.batching)
        seeds = [derive_seed(config.seed, "stage", index) for index in range(len(stages))]
        batches = [self._make_batches(stage, "train", seed) for stage, seed in zip(stages, seeds, strict=True)]
        return LengthCurriculum(batches, batches_per_stage(steps, len(stages), config.train.gradient_accumulation))

    def _make_batches(self, batching: schema.Batching, name: str, seed: int) -> Batches:
        special = self.tokenizer.special if self.tokenizer else None
        batches = make_batches(batching, self.splits[name], special, seed)
        return corrupt_batches(batches, self.config.objective, self.tokenizer, seed)


def fit(request: TrainRequest) -> Model:
    """Train in the run folder, from its newest checkpoint if any; then score the test split and write the report."""
    with training_environment(request.config.train, _free_threads(request)) as distributed:
        lock = request.run.lock() if distributed.is_main_process else None
        try:
            final = _fit(request, distributed)
            distributed.barrier()
            return _finish(request, distributed, final)
        finally:
            if lock is not None:
                lock.close()


def _fit(request: TrainRequest, distributed: Distributed) -> FinalScores | None:
    """Train; with a time budget, returns what there is time to score."""
    run = request.run
    if run.exists and not run.record.data["splits"]:
        do = f"continue it in a new run: firth train {run.path} --init-from {run.path} --text FILE"
        raise FirthError("this model was imported, not trained", where=run.path, do=do)
    begun = _begin(request, run) if distributed.is_main_process and not run.exists else None
    distributed.barrier()
    prepared = begun or _prepare(request, run.record.config, run)
    if distributed.is_main_process and not begun:
        _compare_with_record(run.record, prepared, request)
        _restart_if_best_is_lost(request)
    if not begun:
        _initialise(prepared, run, lambda _: None)
    distributed.barrier()
    metadata = {"config": run.config_digest(), "tokenizers": dict(run.record.tokenizers)}
    config = prepared.config.train
    budget = parse_budget(config.budget)
    batches = prepared.curriculum_batches(budget)
    _check_batch_size(prepared.config.batching, batches, distributed)
    final, seconds = None, 0.0
    if budget.unit == "seconds":
        test = prepared.splits.get("test")
        final = FinalScores(budget.amount, *((len(test.ids), test.tally.documents) if test else (0, 0)))
        seconds = MAX_EVALUATION / EVALUATIONS * budget.amount
    validation = Validation(
        prepared.system,
        prepared.batches("valid"),
        config.best_by == "metric",
        lambda: MODELS[type(prepared.config.objective)](run, prepared.tokenizer, prepared.system),
        config.eval_batches or _logged_batches(run),
        seconds,
        final,
    )
    _require_quality(validation)
    begins = f"; the budget of {config.budget} begins" if begun else ""
    request.progress.say(f"{_format_counts(prepared.system)}{begins}")
    clock = TimeClock(config, budget.amount, final.reserve) if final else StepClock(config, int(budget.amount))
    task = TrainingTask(
        prepared.system,
        config,
        clock,
        batches,
        validation,
        run.path,
        metadata,
        prepared.config.seed,
        distributed,
        request.progress,
        prepared.stages,
        _shared_weights(prepared, run),
    )
    state = train(task)
    _warn_of_few_steps(request, state.step)
    return final


def estimate(request: TrainRequest) -> Plan:
    """The estimated size and cost of a run; no run folder is written."""
    with training_environment(request.config.train):
        prepared = _prepare(request, request.config, None, meta_system)
        config, batches, valid = prepared.config, prepared.batches("train"), prepared.batches("valid")
        if is_large(config, prepared.system, batches):
            timing = estimate_timing(config, prepared.system, batches, valid)
        else:
            prepared = replace(prepared, system=_network(config, prepared.tokenizers, prepared.splits, build))
            _initialise(prepared, None, request.progress.say)
            timing = _timing(prepared)
        size = sum(split.ids.nbytes for split in prepared.splits.values())
        return make_plan(config, prepared.system, batches, timing, size)


def _begin(request: TrainRequest, run: Run) -> Prepared:
    """Decide once and write: tokenizers, steps, intervals, threads; with the record the run exists."""
    prepared = _prepare(request, request.config, None)
    _initialise(prepared, None, request.progress.say)
    if request.config.train.precision == "bf16" and not has_bf16():
        request.progress.say("note: this CPU has no bf16 instructions, so bf16 is emulated and slower than float32")
    for name, tokenizer in prepared.tokenizers.items():
        run.write_tokenizer(name, tokenizer)
    config = replace(request.config, train=_resolve(request.config.train, prepared))
    data = {
        "splits": {name: split.key for name, split in prepared.splits.items()},
        "byte_counts": list(prepared.splits["train"].tally.histogram),
        **_steps(config.train),
        **prepared.splits["train"].metadata,
        **(teacher_metadata(config.objective) if isinstance(config.objective, schema.Distillation) else {}),
        **(base_metadata(config.init_from) if config.train.adapter.saved_alone else {}),
    }
    hashes = {name: tokenizer.hash for name, tokenizer in prepared.tokenizers.items()}
    run.write_record(Record(request.preset, request.request_digest, config, hashes, data, machine_info()))
    return replace(prepared, config=config)


def _prepare(
    request: TrainRequest, config: schema.Neural, run: Run | None, make: Callable[..., System] = build
) -> Prepared:
    """The data and the network; a run that exists has its tokenizers, and says nothing."""
    known, progress = (run.tokenizers(), Quiet()) if run else (_known_tokenizers(request), request.progress)
    tokenizers, splits = read_training_data(config, known, request.cache, progress)
    tokenizers, splits = with_known_words(config, known, tokenizers, splits)
    _check_calibration(config)
    if "valid" not in splits:
        raise FirthError("no validation text", do="set data.valid_fraction above 0, or give --valid")
    if config.batching.length_curriculum:
        stage_configs(config.batching)  # an error now rather than after the run has begun
    progress.stage("preparing the network")
    prepared = Prepared(config, tokenizers, splits, _network(config, tokenizers, splits, make))
    for name in splits:
        prepared.batches(name)  # an error in them too
    return prepared


def _check_calibration(config: schema.Neural) -> None:
    """Refuse calibration of what has no probabilities of labels, tags or answers."""
    calibrates = getattr(config.data, "calibration", "none") != "none"
    values = config.head.problem_type == "regression"
    if calibrates and (config.head.predicts not in ("labels", "tags", "spans") or values):
        what = "only probabilities of labels, tags and answers are calibrated"
        raise FirthError(what, where="data.calibration", do="set it to none")


def _network(
    config: schema.Neural, tokenizers: Tokenizers, splits: dict[str, Split], make: Callable[..., System]
) -> System:
    """The network to train, with what is frozen in it."""
    system = make(config, _sizes(tokenizers, splits))
    prepare_training(system, config)
    return system


def _format_counts(system: System) -> str:
    count, trained = sum(parameter.numel() for parameter in system.parameters()), count_trained(system)
    return f"{count:,} parameters" if trained == count else f"{trained:,} of {count:,} parameters are trained"


def _known_tokenizers(request: TrainRequest) -> Tokenizers:
    """Those that are given, or of the run that the network is initialised from, or of its teacher."""
    config = request.config
    if request.tokenizers:
        return dict(request.tokenizers)
    if config.init_from:
        return initial_tokenizers(config)
    if encoder_of(config) is not None:
        return encoder_tokenizers(config)
    return teacher_tokenizers(config.objective) if isinstance(config.objective, schema.Distillation) else {}


def _initialise(prepared: Prepared, run: Run | None, say: Callable[[str], None]) -> None:
    """Attach the teacher; unless there is a checkpoint, take weights from the teacher, another run or word vectors."""
    config, system, tokenizer = prepared.config, prepared.system, prepared.tokenizer
    distils = isinstance(config.objective, schema.Distillation)
    teacher = attach_teacher(system, config.objective, tokenizer, run) if distils else None
    if run is not None and checkpoints.newest_checkpoint(run.path) is not None:
        if config.train.adapter.saved_alone:
            copy_shared(system, read_merged(base_run(run)))
        return
    if teacher is not None:
        say(initialise_student(system, teacher))
    if config.init_from:
        say(initialise_weights(system, config, tokenizer, prepared.splits["train"].metadata.get("labels", ())))
    if summary := initialise_encoder(system, config):
        say(summary)
    for name, part in config.used_inputs.items():
        if part.pretrained_vectors:
            own = prepared.tokenizers.get(name, tokenizer)
            say(load_pretrained_vectors(system, name, part.pretrained_vectors, own))


def _shared_weights(prepared: Prepared, run: Run) -> SharedWeights | None:
    """What an adapter is saved without."""
    if not prepared.config.train.adapter.saved_alone:
        return None
    return SharedWeights.of(prepared.system, read_merged(base_run(run)))


def _sizes(tokenizers: Tokenizers, splits: dict[str, Split]) -> Sizes:
    """The sizes that depend on the data: of the vocabulary, the labels and the source vocabulary."""
    return Sizes.of_run(tokenizers, splits["train"].metadata)


def _steps(config: schema.Train) -> dict[str, int]:
    """The number of steps of a budget in steps, for the record."""
    budget = parse_budget(config.budget)
    return {"steps": int(budget.amount)} if budget.unit == "steps" else {}


def _resolve(config: schema.Train, prepared: Prepared) -> schema.Train:
    """What is decided once: the number of threads and, unless the budget is a time, of steps, and the intervals."""
    if parse_budget(config.budget).unit == "seconds":
        return replace(config, threads=torch.get_num_threads())
    timing = None if config.checkpoint_every else _timing(prepared)
    return resolve(config, prepared.batches("train"), timing)


def _logged_batches(run: Run) -> int:
    """The validation batches of the first evaluation of an interrupted run; 0 if there was none."""
    return next((line["batches"] for line in read_log(run.path / "log.jsonl") if "batches" in line), 0)


def _require_quality(validation: Validation) -> None:
    if validation.select_by_metric and not hasattr(validation.model, "quality"):
        do = "set train.best_by=loss"
        raise FirthError("this model has no metric of generated texts", where="train.best_by", do=do)


def _free_threads(request: TrainRequest) -> int:
    """With a time budget and cores busy elsewhere, fewer threads. A budget in steps has the same number always, since
    the bytes of its result depend on it."""
    config = request.config.train
    if request.run.exists or config.threads or parse_budget(config.budget).unit != "seconds":
        return 0
    return free_threads(request.progress.say)


def _warn_of_few_steps(request: TrainRequest, steps: int) -> None:
    if steps < _FEW_STEPS and parse_budget(request.config.train.budget).unit == "seconds":
        budget, (preset, _, size) = request.config.train.budget, request.preset.partition(":")
        smaller = "a smaller width or depth" if size == "tiny" else f"a smaller model ({preset}:tiny)"
        do = f"give it more time (--budget 10m), or take {smaller}"
        request.progress.say(f"warning: only {steps} steps in {budget}: the model has hardly learned; {do}")


def _timing(prepared: Prepared) -> StepTiming:
    train_batches, valid_batches = prepared.batches("train"), prepared.batches("valid")
    return measure_timing(prepared.system, prepared.config.train, train_batches, valid_batches)


def _compare_with_record(record: Record, prepared: Prepared, request: TrainRequest) -> None:
    """Refuse changed text; report a changed machine."""
    for name, split in prepared.splits.items():
        if record.data["splits"].get(name) != split.key:
            raise FirthError(
                f"the {name} text has changed since this run began",
                where=request.run.path,
                do="restore the text, or train into another folder with --out",
            )
    here = machine_info()
    differing = [
        f"{name} {record.machine[name]} → {here[name]}" for name in here if record.machine.get(name) != here[name]
    ]
    if differing:
        request.progress.say(f"resumed, not bit-exact: {', '.join(differing)}")


def _restart_if_best_is_lost(request: TrainRequest) -> None:
    """A checkpoint does not hold the best weights: if their file is lost, train again from the start."""
    checkpoint = checkpoints.newest_checkpoint(request.run.path)
    if checkpoint is None:
        return
    data, where = checkpoints.read(checkpoint, "training.json"), checkpoint / "training.json"
    if TrainerState.from_json(data, request.run.config_digest(), where).best_loss is None:
        return
    try:
        read_metadata(request.run.weights)
    except FirthError as error:
        request.progress.say(f"{error.what}: training again from the start")
        checkpoints.drop_after(request.run.path, None)


def _check_batch_size(config: schema.Batching, batches: Batches, distributed: Distributed) -> None:
    """Refuse batches that processes cannot share: in-batch negatives, and a carried state in uneven shards."""
    if distributed.world_size == 1:
        return
    if isinstance(config, schema.TwoTowers):
        what = "the loss has in-batch negatives, so a batch cannot be divided among processes"
        raise FirthError(what, where="batching", do="train in one process")
    if isinstance(config, schema.Contiguous):
        sizes = [batches.batch(Cursor(stage)).size for stage in range(len(stage_configs(config)))]
        uneven = [size for size in sizes if size % distributed.world_size]
        if uneven:
            what = f"batching.batch_size = {uneven[0]}: not divisible by {distributed.world_size} processes"
            raise FirthError(what)


def load(run: Run, weights: str = "") -> Model:
    """The trained model of a run; with `weights` its matrices are converted to that format (half, int8)."""
    require_trained(run, "trained weights")
    record, tokenizers = run.record, run.tokenizers()
    tokenizer, system = tokenizers.get("text"), _build(run, Sizes.of_run(tokenizers, record.data))
    metadata = load_weights(run, system)
    if metadata["tokenizers"] != record.tokenizers:
        do = "restore the folder, or train again"
        raise FirthError("the weights belong to another tokenizer", where=run.path, do=do)
    model = MODELS[type(record.config.objective)](run, tokenizer, system.eval())
    if weights:
        quantize_weights(system, weights)
        model.weight_format = weights
    return model


def _build(run: Run, sizes: Sizes) -> System:
    """The network of config.json, in which whatever cannot be built is damage."""
    try:
        return build(run.record.config, sizes)
    except (ValueError, TypeError, LookupError, ArithmeticError, AssertionError, RuntimeError) as error:
        if "can't allocate memory" in str(error):
            raise
        what = "damaged: no network can be built from it"
        raise FirthError(what, where=run.path / "config.json", do="restore it, or train again") from None


def _finish(request: TrainRequest, distributed: Distributed, final: FinalScores | None) -> Model:
    """Score the test split, or as much of it as the budget has time for, and write the report."""
    model = load(request.run)
    if distributed.is_main_process and "calibration" in request.run.record.data["splits"]:
        request.progress.stage("calibrating the probabilities")
        request.run.add_scores([score.to_dict() for score in model.calibrate()])
    if distributed.is_main_process and "test" in request.run.record.data["splits"]:
        request.progress.stage("scoring the test split")
        if final is not None:
            model.sample_every = final.sample_every
        scores = model.evaluate(split="test", cache=request.cache)
        request.run.add_scores([score.to_dict() for score in scores])
        model.sample_every = 1
    if distributed.is_main_process:
        request.progress.stage("writing the report")
        write_report(request.run, model.samples(request.config.seed))
    return model
