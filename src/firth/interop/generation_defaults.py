"""Defaults of generation that an imported model brings along: generation_config.json, or config.json of old models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firth.config import schema
from firth.interop.config_fields import Fields
from firth.tokenizers.tokenizer import Tokenizer

FILE = "generation_config.json"
_TOP_K = 50  # transformers' default where it samples
# values that change nothing; anything else that is not read below is named in a note
_NEUTRAL = {
    "encoder_no_repeat_ngram_size": 0, "encoder_repetition_penalty": 1.0, "typical_p": 1.0, "epsilon_cutoff": 0.0,
    "eta_cutoff": 0.0, "min_p": 0.0, "top_h": None, "penalty_alpha": 0.0, "begin_suppress_tokens": None,
    "sequence_bias": None, "exponential_decay_length_penalty": None, "guidance_scale": 1.0, "stop_strings": None,
    "renormalize_logits": False, "num_beam_groups": 1, "num_return_sequences": 1, "max_time": None,
    "constraints": None, "force_words_ids": None, "forced_decoder_ids": None, "forced_eos_token_id": None,
    "dola_layers": None, "watermarking_config": None, "token_healing": False,
}  # fmt: skip
_READ = {
    "max_length", "max_new_tokens", "min_length", "min_new_tokens", "do_sample", "temperature", "top_k", "top_p",
    "num_beams", "length_penalty", "early_stopping", "no_repeat_ngram_size", "repetition_penalty", "bad_words_ids",
    "suppress_tokens", "forced_bos_token_id", "eos_token_id", "decoder_start_token_id",
}  # fmt: skip
# that do not change what is generated
_SILENT = {"pad_token_id", "bos_token_id", "use_cache", "cache_implementation", "return_dict_in_generate"}
_SILENT |= {"output_scores", "output_logits", "output_attentions", "output_hidden_states", "remove_invalid_values"}
_SILENT |= {"diversity_penalty", "transformers_version", "_from_model_config"}  # the penalty needs beam groups
_ASSISTED = ("num_assistant", "assistant_", "prompt_lookup", "target_lookbehind")  # faster, the same text
_EARLY_STOPPING = {True: "completed", False: "best", "never": "length"}
_LENGTH_PENALTIES = {0.0: "none", 1.0: "mean"}


def read_generation(
    own: Fields | None, model: Fields, config: schema.Neural, tokenizer: Tokenizer
) -> tuple[dict[str, Any], list[str]]:
    """The options in our words, and notes on those that firth does not have."""
    if config.objective.kind not in ("causal-lm", "permutation-lm", "seq2seq", "denoising"):
        return {}, []
    known = {name: value for name, value in model.values.items() if name in {*_READ, *_NEUTRAL}}
    fields = own or Fields(known, model.where)
    options: dict[str, Any] = {"huggingface": dict(own.values)} if own else {}  # to be exported again
    notes = _unsupported(fields)
    for read in (_method, _lengths, _constraints):
        read(fields, config, options, notes.append)
    _end(fields, config, tokenizer, options, notes.append)
    return options, [f"{note} ({FILE if own else 'config.json'})" for note in notes]


def _unsupported(fields: Fields) -> list[str]:
    known = _READ | _SILENT
    return [
        f"not used: {name} = {str(value)[:40]}"
        for name, value in fields.values.items()
        if value is not None
        and name not in known
        and not name.startswith(_ASSISTED)
        and _NEUTRAL.get(name, "") != value
    ]


def _method(fields: Fields, config: schema.Neural, options: dict[str, Any], say: Callable[[str], None]) -> None:
    """Greedy decoding, sampling or beam search."""
    beams = fields.positive_int("num_beams", 1)
    if beams > 1:
        penalty = float(fields.get("length_penalty", 1.0))
        options |= {"beam": beams, "length_normalisation": _LENGTH_PENALTIES.get(penalty, "mean")}
        options["early_stopping"] = _EARLY_STOPPING.get(fields.get("early_stopping", False), "best")
        if penalty not in _LENGTH_PENALTIES:
            say(f"length_penalty = {penalty:g}: used as 1, the mean log-probability of a token")
        if fields.get("do_sample", False):
            say("do_sample with num_beams: used without sampling")
    elif fields.get("do_sample", False):
        values = {"temperature": 1.0, "top_k": _TOP_K, "top_p": 1.0}
        options |= {name: fields.get(name, default) for name, default in values.items()}
    elif "do_sample" in fields:
        options["temperature"] = 0.0


def _lengths(fields: Fields, config: schema.Neural, options: dict[str, Any], say: Callable[[str], None]) -> None:
    """transformers counts the prompt, or the tokens that the decoder starts with, in max_length and min_length."""
    objective = config.objective
    start = 1 + objective.add_start_token if isinstance(objective, schema.Seq2Seq) else 0
    for side, least in (("max", 1), ("min", 0)):
        if f"{side}_new_tokens" in fields:
            options[f"{side}_length"] = fields.positive_int(f"{side}_new_tokens", 1)
        elif fields.get(f"{side}_length", 0) and start:
            options[f"{side}_length"] = max(least, fields.positive_int(f"{side}_length", 1) - start)
        elif fields.get(f"{side}_length", 0):
            options[f"total_{side}_length"] = fields.positive_int(f"{side}_length", 1)


def _constraints(fields: Fields, config: schema.Neural, options: dict[str, Any], say: Callable[[str], None]) -> None:
    seq2seq = isinstance(config.objective, schema.Seq2Seq)
    if size := fields.non_negative_int("no_repeat_ngram_size", 0):
        options["no_repeat_ngram_size"] = size
        if not seq2seq:
            say(f"no_repeat_ngram_size = {size}: n-grams of the prompt are not counted")
    if (penalty := float(fields.get("repetition_penalty", 1.0))) != 1.0:
        if penalty > 1.0:
            options["repetition_penalty"] = penalty
        say(f"repetition_penalty = {penalty:g}: " + ("of log-probabilities" if penalty > 1.0 else "not used"))
    if words := fields.get("bad_words_ids", None):
        options["bad_words_ids"] = words
    if tokens := fields.get("suppress_tokens", None):
        options["suppress_tokens"] = tokens


def _end(
    fields: Fields, config: schema.Neural, tokenizer: Tokenizer, options: dict[str, Any], say: Callable[[str], None]
) -> None:
    """The token that ends a text, and the first of every target."""
    special, ends = tokenizer.special, fields.get("eos_token_id", [])
    ends = ends if isinstance(ends, list) else [ends]
    if ends and special.end not in ends:
        options["eos_token_id"] = ends[0]
    others = [end for end in ends if end != options.get("eos_token_id", special.end)]
    if others:
        say(f"eos_token_id = {ends}: only {options.get('eos_token_id', special.end)} ends a text")
    forced = fields.get("forced_bos_token_id", None)
    starts = isinstance(config.objective, schema.Seq2Seq) and config.objective.add_start_token
    if forced is not None and starts and forced != special.start:
        say(f"forced_bos_token_id = {forced}: every target begins with {special.start}")
    elif forced is not None and not starts:
        options["forced_bos_token_id"] = forced
