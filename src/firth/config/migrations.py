"""Files written by earlier versions, read as today's: one table of old names and new ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# By place in the configuration, and by the kind that stood there (`*`: any): old key -> new key.
FIELDS: dict[tuple[str, str], dict[str, str]] = {
    ("", "*"): {"start": "init_from", "possible": "gold_possible"},
    ("data", "*"): {
        "valid_share": "valid_fraction",
        "test_share": "test_fraction",
        "errors": "encoding_errors",
        "empty": "empty_pairs",
    },
    ("tokenizer", "*"): {"size": "vocabulary_size", "normal": "unicode_form", "lower": "lowercase"},
    ("phrases", "*"): {"rounds": "passes", "least": "min_count"},
    ("batching", "*"): {
        "stages": "length_curriculum",
        "rows": "batch_size",
        "tokens": "tokens_per_batch",
        "frame": "layout",
        "least": "min_score",
        "labels": "positive_labels",
    },
    ("input", "tokens"): {
        "spread": "init_range",
        "vectors": "pretrained_vectors",
        "rows": "table_size",
        "letters": "character_width",
    },
    ("input", "patches"): {"size": "image_size", "patch": "patch_size", "deviation": "std", "spread": "init_std"},
    ("backbone", "recurrent"): {
        "directions": "bidirectional",
        "locked": "variational_dropout",
        "learned_start": "learned_initial_state",
        "orthogonal": "orthogonal_init",
        "spread": "init_range",
    },
    ("backbone", "window"): {"words": "context_size", "direct": "direct_connections", "spread": "init_range"},
    ("backbone", "encoder-decoder"): {"looks": "attention", "reverse": "reverse_source"},
    ("looks", "*"): {
        "when": "query_state",
        "feeding": "input_feeding",
        "reach": "attention_span",
        "places": "max_positions",
    },
    ("head", "*"): {
        "scaled": "scale_states",
        "letters": "character_width",
        "sampled": "sampled_softmax",
        "epsilon": "norm_epsilon",
        "pool": "pooling",
        "layer": "pooler",
    },
    ("objective", "*"): {
        "hidden": "mask_token_fraction",
        "random": "random_token_fraction",
        "redraw": "masking",
        "masks": "static_masks",
        "longest": "max_span_length",
        "ordered": "permute",
        "generator": "generator_size",
        "weight": "discriminator_weight",
        "told": "distil_tokens",
        "soft_weight": "distillation_weight",
        "hard_weight": "mlm_weight",
        "state_weight": "cosine_weight",
        "first": "decoder_start",
        "opened": "add_start_token",
        "smoothing": "label_smoothing",
        "coverage": "coverage_weight",
        "span": "mean_span_length",
        "share": "mask_probability",
    },
    ("objective", "permuted"): {"share": "predict_fraction"},
    ("objective", "denoise"): {"share": "noise_density"},
    ("train", "*"): {
        "accumulate": "gradient_accumulation",
        "average": "ema_decay",
        "evaluate": "evaluate_every",
        "evaluate_batches": "eval_batches",
        "best": "best_by",
    },
    ("train", "neural"): {"save": "checkpoint_every"},
    ("train", "passes"): {"save": "checkpoint_seconds"},
    ("optimizer", "*"): {"rate": "learning_rate", "decay": "weight_decay", "clip": "gradient_clip"},
    ("schedule", "*"): {"warmup": "warmup_steps", "floor": "min_ratio", "parts": "decay_stages"},
    ("method", "*"): {
        "predict": "loss",
        "sample": "subsample",
        "rate": "learning_rate",
        "least_rate": "min_learning_rate",
        "least_part": "min_n",
        "most_part": "max_n",
        "side": "context",
        "distance": "distance_weighting",
        "top": "x_max",
        "entropy": "entropy_threshold",
        "places": "distortion",
        "first": "model1_epochs",
        "null": "null_probability",
        "jump": "max_jump",
        "strength": "smoothing_strength",
        "agree": "agreement",
        "same": "identical_bonus",
        "longest": "max_length",
        "join": "symmetrisation",
        "power": "singular_value_power",
    },
    ("method", "word2vec"): {"exponent": "noise_exponent"},
    ("method", "glove"): {"exponent": "alpha"},
    ("method", "counted"): {"smoothing": "context_smoothing", "method": "svd"},
}
# By place: old kind -> new kind.
KINDS: dict[str, dict[str, str]] = {
    "": {"vectors": "word-embeddings", "classifier": "fasttext-classifier", "ngram-model": "ngram-lm"},
    "data": {"pictures": "images"},
    "batching": {
        "framed": "segment-pairs",
        "joined": "sentence-pairs",
        "apart": "two-towers",
        "pairs": "source-target",
        "pictures": "images",
    },
    "head": {
        "language": "lm",
        "copying": "pointer-generator",
        "detection": "discriminator",
        "classes": "classification",
        "vector": "pooling",
    },
    "objective": {
        "causal": "causal-lm",
        "masked": "masked-lm",
        "permuted": "permutation-lm",
        "replaced": "replaced-token",
        "distil": "distillation",
        "written": "seq2seq",
        "denoise": "denoising",
        "prefix": "prefix-lm",
    },
    "method": {"counted": "count-vectors", "bag": "fasttext"},
}
# By new key: old value -> new value.
VALUES: dict[str, dict[Any, Any]] = {
    "masking": {"always": "dynamic", "in-turn": "static"},
    "permute": {"asked": "targets"},
    "distil_tokens": {"hidden": "masked"},
    "layout": {"first": "cls-first", "last": "cls-last"},
    "pairs": {"next": "next-sentence"},
    "bidirectional": {"left": "no", "concatenated": "concatenate", "averaged": "average"},
    "query_state": {"before": "previous", "after": "current"},
    "attention_span": {"all": "global", "monotonic": "local-m", "predicted": "local-p"},
    "bridge": {"same": "copy", "layer": "linear"},
    "best_by": {"quality": "metric"},
    "loss": {"negative": "negative-sampling", "hierarchical": "hierarchical-softmax", "ova": "one-vs-all"},
    "context": {"both": "symmetric"},
    "matrix": {"documents": "lsa"},
    "distortion": {"even": "uniform", "jumps": "hmm"},
    "sees": {"left": "causal", "all": "bidirectional", "permuted": "permutation"},
    "noise": {
        "mask": "token-masking",
        "bert": "bert-style",
        "delete": "token-deletion",
        "infill": "text-infilling",
        "permute": "sentence-permutation",
        "rotate": "document-rotation",
        "shuffle": "token-shuffling",
        "prefix": "prefix-lm",
        "drop": "token-dropping",
        "sentinels": "sentinel-tokens",
        "spans": "span-corruption",
    },
}
_SMOOTHING = {"none": "mle", "stupid": "stupid-backoff"}  # of n-gram models alone: aligners have a `none` too
# A Transformer's flat keys -> the seam they belong to now.
SEAMS: dict[str, str] = {
    "sees": "mask",
    "spread": "init_std",
    "head_width": "attention.head_width",
    "scaled": "attention.scaled",
    "attention_bias": "attention.bias",
    "attention_dropout": "attention.dropout",
    "inner": "feedforward.width",
    "activation": "feedforward.activation",
    "chunk": "feedforward.chunk",
    "norm_at": "norm.placement",
    "norm_input": "norm.embeddings",
    "epsilon": "norm.epsilon",
}
_POSITIONS = {"xl": "relative", "infused": "position-infused"}
_WINDOW = {
    "window_grows": "scale_window",
    "dilation": "dilation",
    "dilated_heads": "dilated_heads",
    "central": "global_tokens",
    "central_projections": "global_projections",
    "kernel": "kernel",
}


def migrate(config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration of firth 0.1 as today's."""
    return _group("", config, str(config.get("kind", "")))


def _group(place: str, values: Mapping[str, Any], family: str) -> dict[str, Any]:
    kind = str(values.get("kind", family if place == "train" else "*"))
    if place in ("encoder", "decoder"):
        place = "backbone"
    if place == "train":
        kind = "neural" if family == "neural" else "passes"
    if place == "backbone" and kind == "transformer":
        return _transformer(values)
    names = FIELDS.get((place, "*"), {}) | FIELDS.get((place, kind), {})
    result: dict[str, Any] = {}
    for key, value in values.items():
        if key == "kind":
            result[key] = KINDS.get(place, {}).get(value, value)
        elif isinstance(value, Mapping):
            result[names.get(key, key)] = _group(key, value, family)
        else:
            result[names.get(key, key)] = _value(names.get(key, key), value, kind)
    return result


def _value(key: str, value: Any, kind: str) -> Any:
    table = _SMOOTHING if key == "smoothing" and kind == "ngram" else VALUES.get(key, {})
    if isinstance(value, list):
        return [table.get(item, item) for item in value]
    return table.get(value, value) if isinstance(value, str) else value


def _transformer(old: Mapping[str, Any]) -> dict[str, Any]:
    """One flat group of 35 keys -> one group for each seam."""
    result: dict[str, Any] = {"kind": "transformer"}
    groups: dict[str, dict[str, Any]] = {"attention": {}, "feedforward": {}, "norm": {}}
    for key, value in old.items():
        group, dot, name = SEAMS.get(key, "").partition(".")
        if dot:
            groups[group][name] = value
        elif key in ("width", "depth", "heads", "context", "residual", "bias", "dropout") or group:
            result[group or key] = _value(key, value, "transformer")
    groups["norm"]["kind"] = old.get("norm", "layer")
    groups["feedforward"]["kind"] = "gated" if old.get("gated") else "mlp"
    groups["attention"] |= _attention(old)
    memory = old.get("memory", 0)
    return {
        **result,
        **groups,
        "positions": _positions(old),
        "memory": {"kind": "segment-recurrence", "length": memory} if memory else {"kind": "none"},
    }


def _attention(old: Mapping[str, Any]) -> dict[str, Any]:
    if set(old.get("attends", ["full"])) != {"full"}:
        return {"kind": "lsh", "layers": old["attends"], "local": old.get("local", {}), "lsh": old.get("lsh", {})}
    if old.get("window"):
        return {"kind": "window", "window": [old["window"]]} | {
            new: old[name] for name, new in _WINDOW.items() if name in old
        }
    return {"kind": "full"}


def _positions(old: Mapping[str, Any]) -> dict[str, Any]:
    kind = _POSITIONS.get(old.get("positions", "learned"), old.get("positions", "learned"))
    if kind == "axial":
        return {"kind": kind, **old.get("axial", {})}
    return {"kind": kind, "segments": True} if kind == "relative" and old.get("relative_segments") else {"kind": kind}


def inputs_by_stream(config: Mapping[str, Any]) -> dict[str, Any]:
    """A stored configuration of one input, as those before format 4, with its input by stream."""
    old = config.get("input")
    if not isinstance(old, Mapping):
        return dict(config)
    stream = "image" if old.get("kind") == "patches" else "text"
    rest = {key: value for key, value in config.items() if key != "input"}
    return {**rest, "inputs": {stream: old}}


def keep_split(config: Mapping[str, Any]) -> dict[str, Any]:
    """A stored configuration that does not say how the text is split: firth 0.2 knew documents only, and earlier
    versions than today's did not keep duplicates together."""
    data = config.get("data")
    if not isinstance(data, Mapping):
        return dict(config)
    by = {"split_by": "documents"} if "document" in data and "split_by" not in data else {}
    is_split = {"document", "valid_fraction", "test_fraction"} & set(data)
    together = {"group_duplicates": False} if is_split and "group_duplicates" not in data else {}
    return {**config, "data": {**data, **by, **together}} if by or together else dict(config)


# --- other files of a run -----------------------------------------------------------------------------------------

RECORD = {"asked": "request_digest"}  # config.json, beside the configuration
LOG = {
    "rate": "learning_rate",
    "norm": "grad_norm",
    "guard": "guard_factor",
    "failed": "failed_step",
    "rank": "selection_score",
}
CHECKPOINT = {  # training.json of gradient steps
    "at": "cursor",
    "best": "best_loss",
    "stale": "bad_evaluations",
    "plateau_stale": "plateau_bad_evaluations",
    "plateau": "plateau_factor",
    "guard": "guard_factor",
}
PASS_CHECKPOINT = {"count": "loss_count", "total": "loss_sum", "best": "best_loss", "stale": "bad_epochs"}
METRICS = {
    "pairs_found": "in_batch_accuracy",
    "nearest_found": "retrieval_accuracy",
    "replaced_found": "replaced_recall",
    "writing_perplexity": "seq2seq_perplexity",
    "writing_accuracy": "seq2seq_accuracy",
    "permuted_perplexity": "permutation_perplexity",
}
ALIGNMENT = {"note": "metadata"} | {  # arrays and metadata of word alignment models
    f"{direction}.{old}": f"{direction}.{new}"
    for direction in ("forward", "backward")
    for old, new in {"chances": "probabilities", "rests": "unseen", "places": "positions"}.items()
}
LADDER = {"vocabulary": "vocabulary_size", "lower": "lowercase"}
TENSORS = [  # in this order, each applied once to a whole name; none matches a name of today
    (r"(blocks\.\d+)\.cross\.", r"\1.cross_attention."),
    (r"(blocks\.\d+\.(?:attention|cross_attention|feedforward))\.before\.", r"\1.pre_norm."),
    (r"(blocks\.\d+\.(?:attention|cross_attention|feedforward))\.after\.", r"\1.sandwich_norm."),
    (r"(blocks\.\d+\.(?:attention|cross_attention|feedforward))\.sum\.", r"\1.post_norm."),
    (r"(blocks\.\d+\.feedforward)\.inner\.input\.", r"\1.sublayer.up_proj."),
    (r"(blocks\.\d+\.feedforward)\.inner\.output\.", r"\1.sublayer.down_proj."),
    (
        r"(blocks\.\d+\.(?:attention|cross_attention))\.inner\.central\.inputs\.",
        r"\1.sublayer.global_projections.qkv_proj.",
    ),
    (r"(blocks\.\d+\.(?:attention|cross_attention))\.inner\.inputs\.", r"\1.sublayer.qkv_proj."),
    (r"(blocks\.\d+\.(?:attention|cross_attention))\.inner\.output\.", r"\1.sublayer.out_proj."),
    (r"(blocks\.\d+\.attention)\.inner\.relation\.", r"\1.sublayer.position_encoding."),
    (r"(blocks\.\d+\.attention)\.inner\.kinds\.", r"\1.sublayer.segment_encoding."),
    (r"\b(backbone(?:\.encoder|\.decoder)?)\.widen\.", r"\1.embedding_proj."),
    (r"\bbackbone\.query$", r"backbone.query_embedding"),
    (r"\.look\.score\.between\.", r".attention.score.key_proj."),
    (r"\.look\.score\.of_state\.", r".attention.score.query_proj."),
    (r"\.look\.score\.of_source\.", r".attention.score.key_proj."),
    (r"\.look\.score\.of_cover\.", r".attention.score.coverage_proj."),
    (r"\.look\.score\.place\.", r".attention.score.location_proj."),
    (r"\.look\.place\.", r".attention.position_predictor."),
    (r"\.look\.", r".attention."),
    (r"\.decoder\.join\.", r".decoder.combine."),
    (r"\.bridge\.make\.", r".bridge.layers."),
    (r"\.layers\.start_(hidden|cell)$", r".layers.initial_\1"),
    (r"\b(input|source_input)\.letters\.letters$", r"\1.character_encoder.embedding"),
    (r"\b(input|source_input)\.letters\.", r"\1.character_encoder."),
    (r"\bhead\.letters\.letters$", r"head.character_decoder.embedding"),
    (r"\bhead\.letters\.begin\.", r"head.character_decoder.initial_proj."),
    (r"\bhead\.letters\.", r"head.character_decoder."),
    (r"\bhead\.project\.", r"head.projection."),
    (r"\bhead\.classify\.", r"head.classifier."),
    (r"\bhead\.layer\.", r"head.pooler."),
    (r"\bobjective\.next\.pool\.", r"objective.next_sentence.pooler."),
    (r"\bobjective\.next\.classify\.", r"objective.next_sentence.classifier."),
    (r"\binput\.product\.", r"input.projection."),
    (r"\binput\.whole$", r"input.cls_token"),
    (r"\binput\.(projection\.|cls_token$)", r"inputs.image.\1"),
    (r"\binput\.", r"inputs.text."),
    (r"\bsource_input\.", r"inputs.source."),
]


def rename(values: Mapping[str, Any], table: Mapping[str, str]) -> dict[str, Any]:
    """The same values under today's keys."""
    return {table.get(key, key) if table.get(key, key) not in values else key: value for key, value in values.items()}


def rename_tensors(tensors: Mapping[str, Any]) -> dict[str, Any]:
    """The same tensors under today's names."""
    names = {name: name for name in tensors}
    for name in tensors:  # of gated feed-forward layers the gate was called input, and what it multiplies, gate
        if ".feedforward.inner.gate." in name:
            names[name] = name.replace(".inner.gate.", ".sublayer.up_proj.")
            names[name.replace(".inner.gate.", ".inner.input.")] = name.replace(".inner.gate.", ".sublayer.gate_proj.")
    return {_tensor_name(names[name]): tensor for name, tensor in tensors.items()}


def _tensor_name(name: str) -> str:
    for pattern, replacement in TENSORS:
        name = re.sub(pattern, replacement, name)
    return name
