"""Generation with a KV cache by one GPT-2 in four programs: firth, transformers, CTranslate2, llama.cpp."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.harness import Measurement, Options, Row, Settings, is_installed, load_row, memory_row, speed_row
from benchmarks.pretrained import END, SPECIAL, load_ours, save_ctranslate2, save_gguf, save_hugging_face, vocabulary
from benchmarks.processes import Comparison, Program
from benchmarks.steps import SEED

if TYPE_CHECKING:
    from torch import Tensor

VOCABULARY, WIDTH, DEPTH, HEADS, CONTEXT = 8000, 384, 6, 6, 512
PROMPT, NEW = 16, 100  # tokens of a prompt, and to be generated
BATCHES = (1, 8)
TARGET = 2.0  # times the speed of transformers
Generate = Callable[..., None]


def make_model(folder: Path) -> None:
    """A GPT-2 with random weights for all programs; without transformers each of ours makes its own."""
    if not is_installed("transformers"):
        return
    import torch
    import transformers

    torch.manual_seed(SEED)
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY, n_positions=CONTEXT, n_embd=WIDTH, n_layer=DEPTH, n_head=HEADS,
        bos_token_id=0, eos_token_id=END, pad_token_id=1,
    )  # fmt: skip
    model = transformers.GPT2LMHeadModel(config)
    save_hugging_face(model, folder / "model")
    save_ctranslate2(folder / "model", folder / "ctranslate2")
    save_gguf(model, folder)


def prompts(batch: int) -> Tensor:
    """Random prompts (batch, PROMPT)."""
    import torch

    return torch.randint(len(SPECIAL), VOCABULARY, (batch, PROMPT), generator=torch.Generator().manual_seed(SEED))


# --- programs: each samples NEW tokens from the whole distribution ---


def ours(settings: Settings, folder: str) -> Generate:
    """Our own sampling."""
    from firth.config import schema
    from firth.generation.sampling import SamplingConfig, sample
    from firth.pipelines.lm_stepper import NeuralStepper
    from firth.types import Batch, Tokens

    backbone = schema.Transformer(width=WIDTH, depth=DEPTH, heads=HEADS, context=CONTEXT)
    config = schema.Neural(batching=schema.Windows(), backbone=backbone, head=schema.LMHead(bias=False))
    stepper = NeuralStepper(load_ours(Path(folder, "model"), settings, config, VOCABULARY), VOCABULARY)

    def run(batch: int) -> None:
        ids = prompts(batch)
        inputs = Batch({"text": Tokens(ids, ids >= 0)}, {})
        sequences = sample(stepper, inputs, NEW, SamplingConfig(), SEED, end=END, banned=[END])
        assert all(len(sequence.ids) == NEW for sequence in sequences)

    return run


def with_transformers(settings: Settings, folder: str) -> Generate:
    """`generate` of transformers, with its cache."""
    import torch
    import transformers

    torch.set_num_threads(settings.threads)
    model = transformers.GPT2LMHeadModel.from_pretrained(Path(folder, "model")).eval()
    options = {"do_sample": True, "top_k": 0, "max_new_tokens": NEW, "min_new_tokens": NEW}

    def run(batch: int) -> None:
        ids = prompts(batch)
        with torch.inference_mode():
            output = model.generate(ids, attention_mask=torch.ones_like(ids), **options)
        assert output.shape == (batch, PROMPT + NEW)

    return run


def with_ctranslate2(settings: Settings, folder: str) -> Generate:
    """CTranslate2's generator."""
    import ctranslate2

    model = ctranslate2.Generator(
        str(Path(folder, "ctranslate2")), intra_threads=settings.threads, compute_type=settings.precision
    )
    tokens = vocabulary(VOCABULARY)
    options = {"max_length": NEW, "min_length": NEW, "sampling_topk": 0, "include_prompt_in_result": False}

    def run(batch: int) -> None:
        starts = [[tokens[number] for number in row] for row in prompts(batch).tolist()]
        results = model.generate_batch(starts, max_batch_size=0, **options)
        assert all(len(result.sequences_ids[0]) == NEW for result in results)

    return run


def with_llama_cpp(settings: Settings, folder: str) -> Generate:
    """llama.cpp; one sequence at a time."""
    import llama_cpp

    path = str(Path(folder, f"{settings.precision}.gguf"))
    threads = {"n_threads": settings.threads, "n_threads_batch": settings.threads}
    model = llama_cpp.Llama(path, n_ctx=CONTEXT, verbose=False, **threads)
    options = {"temp": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "repeat_penalty": 1.0}

    def run(batch: int) -> None:
        for row in prompts(batch).tolist():
            model.reset()
            stream = model.generate(row, reset=True, **options)
            assert len([next(stream) for _ in range(NEW)]) == NEW

    return run


PROGRAMS = {  # precisions, package
    ours: (("float32", "float16", "int8"), ""),
    with_transformers: (("float32",), "transformers"),
    with_ctranslate2: (("float32", "int8"), "ctranslate2"),
    with_llama_cpp: (("float32", "float16", "int8"), "llama_cpp"),
}
PAIRS = (  # precision of ours, the peer and its precision, target, how many sequences at most
    ("float32", "transformers", "float32", TARGET, 8),
    ("float32", "ctranslate2", "float32", None, 8),
    ("float32", "llama_cpp", "float32", None, 1),
    ("float16", "llama_cpp", "float16", None, 1),
    ("int8", "ctranslate2", "int8", None, 8),
    ("int8", "llama_cpp", "int8", None, 1),
    ("float16", "transformers", "float32", TARGET, 8),
    ("int8", "transformers", "float32", TARGET, 8),
)


def generation(options: Options) -> Iterator[Row]:
    """Tokens per second of a small GPT-2, one sequence and eight at a time, at each precision of the weights."""
    folder = options.folder / "gpt2"
    make_model(folder)
    programs = {
        f"{package or 'ours'} {precision}": Program(prepare, Settings(options.threads, precision), package)
        for prepare, (precisions, package) in PROGRAMS.items()
        for precision in precisions
    }
    with Comparison(programs, folder=str(folder)) as comparison:
        for batch in BATCHES:
            yield from _rows(comparison.measure(options.choose(3, 7), batch=batch), batch)


def _rows(measured: dict[str, Measurement], batch: int) -> Iterator[Row]:
    for precision, package, peer_precision, target, most in PAIRS:
        if batch > most:
            continue
        name = f"generation, {batch} at a time, {precision}: {package} {peer_precision}"
        own, peer = measured[f"ours {precision}"], measured.get(f"{package} {peer_precision}")
        mode = "" if precision == peer_precision else f"{precision} weights"
        yield speed_row(name, own, peer, batch * NEW, "tokens/s", target, mode)
        if batch == 1 and not mode:
            yield load_row(name, own, peer)
            yield memory_row(name, own, peer)
