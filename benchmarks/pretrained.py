"""One model with random weights in the formats of several programs: Hugging Face, CTranslate2, GGUF (llama.cpp)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.harness import Settings, is_installed, note

if TYPE_CHECKING:
    from firth.config import schema
    from firth.models.build import System

SPECIAL = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")  # the first tokens of every vocabulary here
START, PAD, END = 0, 1, 2
WEIGHTS = {"float32": "", "float16": "half", "int8": "int8"}  # our names for a precision of the weights
GGUF_NAMES = {  # of GPT-2
    r"transformer\.wte": "token_embd",
    r"transformer\.wpe": "position_embd",
    r"transformer\.ln_f": "output_norm",
    r"transformer\.h\.(\d+)\.ln_1": r"blk.\1.attn_norm",
    r"transformer\.h\.(\d+)\.ln_2": r"blk.\1.ffn_norm",
    r"transformer\.h\.(\d+)\.attn\.c_attn": r"blk.\1.attn_qkv",
    r"transformer\.h\.(\d+)\.attn\.c_proj": r"blk.\1.attn_output",
    r"transformer\.h\.(\d+)\.mlp\.c_fc": r"blk.\1.ffn_up",
    r"transformer\.h\.(\d+)\.mlp\.c_proj": r"blk.\1.ffn_down",
}


def vocabulary(size: int) -> list[str]:
    """Special tokens, then words without meaning."""
    return [*SPECIAL, *(f"w{number}" for number in range(len(SPECIAL), size))]


def save_hugging_face(model: Any, folder: Path) -> None:
    """The model and a tokenizer of whole words, as a Hugging Face folder."""
    import transformers

    import tokenizers

    model.save_pretrained(folder)
    ids = {token: number for number, token in enumerate(vocabulary(model.config.vocab_size))}
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel(ids, unk_token="<unk>"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    names = dict(zip(("bos_token", "pad_token", "eos_token", "unk_token", "mask_token"), SPECIAL, strict=True))
    transformers.PreTrainedTokenizerFast(tokenizer_object=words, **names).save_pretrained(folder)


def save_ctranslate2(source: Path, folder: Path) -> None:
    """A Hugging Face folder as CTranslate2's, if that is installed and can."""
    if not is_installed("ctranslate2"):
        return
    import ctranslate2

    try:
        ctranslate2.converters.TransformersConverter(str(source)).convert(str(folder))
    except Exception as error:  # its converters follow the versions of transformers
        note(f"CTranslate2 cannot convert the model, its rows have no peer: {error!r}")


def save_gguf(model: Any, folder: Path) -> None:
    """A GPT-2 as GGUF files in float32, float16 and int8 (Q8_0), if the package `gguf` is installed."""
    if not is_installed("gguf"):
        return
    import gguf

    kinds = gguf.GGMLQuantizationType
    for precision, kind in (("float32", kinds.F32), ("float16", kinds.F16), ("int8", kinds.Q8_0)):
        writer = gguf.GGUFWriter(str(folder / f"{precision}.gguf"), "gpt2")
        _write_gguf_fields(writer, model.config)
        for name, tensor in model.state_dict().items():
            if name.startswith("transformer."):
                _write_gguf_tensor(writer, name, tensor, kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()


def _write_gguf_fields(writer: Any, config: Any) -> None:
    writer.add_context_length(config.n_positions)
    writer.add_embedding_length(config.n_embd)
    writer.add_feed_forward_length(4 * config.n_embd)
    writer.add_block_count(config.n_layer)
    writer.add_head_count(config.n_head)
    writer.add_layer_norm_eps(config.layer_norm_epsilon)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(vocabulary(config.vocab_size))
    writer.add_token_types([3] * len(SPECIAL) + [1] * (config.vocab_size - len(SPECIAL)))  # 3: control, 1: normal
    writer.add_token_merges(["w 5"])
    writer.add_bos_token_id(START)
    writer.add_eos_token_id(END)


def _write_gguf_tensor(writer: Any, name: str, tensor: Any, kind: Any) -> None:
    """Matrices in the given precision, vectors in float32; `c_*` layers of GPT-2 are stored (in, out)."""
    import gguf

    stem, _, ending = name.rpartition(".")
    target = next((re.sub(old, new, stem) for old, new in GGUF_NAMES.items() if re.fullmatch(old, stem)), None)
    if target is None:  # a buffer
        return
    array = (tensor.t() if ".c_" in name and tensor.ndim == 2 else tensor).float().contiguous().numpy()
    exact = array.ndim == 1 or target == "position_embd"
    kind = gguf.GGMLQuantizationType.F32 if exact else kind
    writer.add_tensor(f"{target}.{ending}", gguf.quants.quantize(array, kind), raw_dtype=kind)


def load_ours(folder: Path, settings: Settings, config: schema.Neural, size: int) -> System:
    """A Hugging Face folder as a model of ours in the precision of the settings; without one, random weights."""
    import torch

    from firth.interop.importer import load_pretrained
    from firth.models.build import build
    from firth.nn.linear import quantize_weights

    torch.set_num_threads(settings.threads)
    if folder.exists():
        loaded = load_pretrained(folder)
        system = build(loaded.config, size).eval()
        system.load_state_dict(dict(loaded.tensors))
    else:
        system = build(config, size).eval()
    if settings.precision != "float32":
        quantize_weights(system, WEIGHTS[settings.precision])
    return system
