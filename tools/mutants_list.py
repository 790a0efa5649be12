"""Hand-made faults for `tools/mutants.py`: plausible bugs, each with the tests that must fail under it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """A piece of source text, what a bug would make of it, and the tests that see the difference."""

    file: str  # under src/firth
    old: str  # occurs exactly once in the file
    new: str
    tests: str  # under tests, separated by spaces

    @property
    def folder(self) -> str:
        """The part of the project it is in."""
        return self.file.split("/")[0]


NN = [
    ("recurrent.py", "torch.ones_like(x[:, :1])", "torch.ones_like(x)", "nn/test_recurrent.py"),
    ("recurrent.py", "weight_dropout, self.training", "weight_dropout, True", "nn/test_recurrent.py"),
    ("recurrent.py", "(1, packed.unsorted_indices)", "(1, packed.sorted_indices)", "nn/test_recurrent.py"),
    ("recurrent.py", "states.chunk(2, -1)).mean(0)", "states.chunk(2, -1)).sum(0)", "parity/test_recurrent.py"),
    (
        "transformer_block.py",
        "return F.dropout(output, self.dropout) if self.training else output",
        "return output",
        "nn/test_transformer_block.py",
    ),
    ("transformer_block.py", "kv_states=self.attention.pre_norm(content)", "kv_states=content", "laws"),
    ("attention/mask.py", "return distance(q, k) >= 0", "return distance(q, k) > 0", "nn/attention"),
    (
        "attention/mask.py",
        "(causal_mask(q, k) | k.prefix[:, None, :])",
        "(causal_mask(q, k) & k.prefix[:, None, :])",
        "nn/attention parity/test_transformer.py",
    ),
    ("attention/mask.py", "q.rank[:, :, None] >= k.rank", "q.rank[:, :, None] > k.rank", "laws/test_permutation_lm.py"),
    ("attention/mask.py", "(past, 0), value=-1", "(past, 0), value=0", "nn/attention/test_mask.py"),
    ("attention/mask.py", "offset.abs() <= self.window", "offset.abs() < self.window", "nn/attention"),
    ("attention/mask.py", "q.document[:, :, None] ==", "q.document[:, :, None] !=", "nn/attention"),
    (
        "attention/multi_head.py",
        "self.scale = 1 / math.sqrt(self.head_width)",
        "self.scale = 1 / math.sqrt(config.width)",
        "parity/test_transformer.py",
    ),
    ("attention/multi_head.py", "return self.dropout if self.training else 0.0", "return self.dropout", "nn/attention"),
    ("attention/multi_head.py", "return self.dropout if self.training else 0.0", "return 0.0", "nn/attention"),
    ("attention/kv_cache.py", "elif int(self.filled[0]) > self.end", "elif False", "nn/attention/test_kv_cache.py"),
    ("attention/segment_recurrence.py", "x.detach()[:, -self", "x[:, -self", "laws/test_segment_recurrence.py"),
    ("positions/encodings.py", "-math.log(10_000.0) / width", "-math.log(1_000.0) / width", "nn/positions parity"),
    ("positions/encodings.py", "torch.cat([-right, left], -1)", "torch.cat([right, left], -1)", "nn/positions"),
    (
        "positions/encodings.py",
        "first = (distance > 0) * count",
        "first = (distance < 0) * count",
        "nn/positions parity",
    ),
    ("positions/encodings.py", "2 ** (-8 * (n + 1) / power)", "2 ** (-8 * n / power)", "nn/positions"),
    ("sampled_softmax.py", "= -sampling_probabilities[", "= sampling_probabilities[", "nn/test_sampled_softmax.py"),
    ("sampled_softmax.py", "(column[targets] >= 0)", "(column[targets] > 0)", "nn/test_sampled_softmax.py"),
    ("feedforward.py", "gate_proj(x)) * hidden", "gate_proj(x)) + hidden", "parity"),
    ("reversible.py", "other - residual.detach()", "other + residual.detach()", "nn/test_reversible.py"),
    ("fused_loss.py", "float(rows.start > 0)", "0.0", "nn/test_fused_loss.py"),
    ("pooling.py", "(mask.sum(1) - 1).clamp", "(mask.sum(1) * 0 + mask.shape[1] - 1).clamp", "nn/test_pooling.py"),
    ("pooling.py", "(states * real).sum(1) / real.sum(1)", "states.mean(1)", "nn/test_pooling.py"),
    ("pooling.py", "states[:, 0, width:]", "ends[:, width:]", "nn/test_pooling.py"),
]
MODELS = [
    ("build.py", "(self.streams[-1]).weight", "(self.streams[-1]).weight.detach()", "models/heads"),
    ("heads/lm_head.py", "is not None and self.training:", "is not None:", "models/heads"),
    ("heads/lm_head.py", "1 / math.sqrt(width)", "math.sqrt(width)", "parity/test_encoder_decoder.py"),
    ("heads/lm_head.py", "- weight.mean(0)", "- weight.sum(0)", "models pipelines/test_translate.py"),
    ("heads/pointer_generator.py", "+ copied * (1 - gate)", "+ copied * gate", "models/heads"),
    ("inputs/token_embedding.py", "F.dropout(embeddings, self.dropout, self.training)", "embeddings", "models/inputs"),
    (
        "backbones/recurrent.py",
        "lengths = None if tokens.mask.all() else tokens.mask.sum(1)",
        "lengths = None",
        "models/backbones parity/test_recurrent.py",
    ),
]
OBJECTIVES = [
    ("masked_lm.py", "target.values[is_cls], red", "0 * target.values[is_cls], red", "objectives/test_masked_lm.py"),
    ("causal_lm.py", '["tokens"])], encoded.state', '["tokens"])], None', "training/test_loop.py"),
    ("replaced_token.py", "masked & (ids != target.values)", "masked", "parity/test_electra.py"),
    ("replaced_token.py", "system, corrupted.tokens)", "system, text)", "parity/test_electra.py"),
    ("distillation.py", "* temperature**2", "* temperature", "families/test_electra_and_distillation.py"),
    (
        "distillation.py",
        "F.kl_div(student_log_probabilities, teacher_log_probabilities,",
        "F.kl_div(teacher_log_probabilities, student_log_probabilities,",
        "families/test_electra_and_distillation.py",
    ),
    ("contrastive.py", "in (logits, logits.T)]", "in (logits, logits)]", "objectives/test_requirements.py"),
    ("contrastive.py", ") | duplicates(", ") & duplicates(", "objectives/test_contrastive.py"),
    ("seq2seq.py", "weights.cumsum(1) - weights", "weights.cumsum(1)", "models/backbones/test_attention_decoder.py"),
    ("seq2seq.py", "if self.training and self.label", "if self.label", "models pipelines/test_translate.py"),
    ("permutation_lm.py", "gather(1, position) - 1", "gather(1, position)", "objectives/test_permutation_lm.py"),
]
TRAINING = [
    (
        "loop.py",
        "with self.ema.averaged_weights() if self.ema is not None else nullcontext():",
        "with nullcontext():",
        "training/test_loop.py",
    ),
    ("loop.py", "task.system.eval()", "pass", "training/test_loop.py"),
    ("loop.py", "task.system.train()", "pass", "training/test_loop.py"),
    ("loop.py", "criterion < state.best_loss", "criterion > state.best_loss", "training/test_loop.py"),
    ("loop.py", '"step", self.state.step, index', '"step", index', "training/test_loop.py"),
    ("loop.py", "None if batch.reset_state else carried", "carried", "training/test_loop.py"),
    ("optimizer.py", "return (step + 1) / (config", "return step / (config", "training/test_schedule.py"),
    ("optimizer.py", "0.5 * (1.0 + math.cos(math.pi", "(math.cos(0.5 * math.pi", "training/test_schedule.py"),
    ("optimizer.py", "<= config.patience", "< config.patience", "training/test_schedule.py"),
    ("optimizer.py", "if weight.ndim >= 2", "if weight.ndim >= 1", "training/test_optimizer.py"),
    ("optimizer.py", "fill_(self.steps - frozen", "fill_(self.steps + 1 - frozen", "training/test_optimizer.py"),
    ("optimizer.py", "torch.tensor(1.0 / clip)", "torch.tensor(clip)", "training/test_optimizer.py"),
    (
        "optimizer.py",
        "torch.autograd.graph.increment_version(weights)",
        "pass",
        "training/test_optimizer.py",
    ),
    ("ema.py", "(1 + step) / (10 + step)", "(1 + step) / (2 + step)", "training/test_ema.py"),
    ("ema.py", "self.average[name].copy_(own)", "pass", "training/test_ema.py"),
]
FAMILIES = [("neural.py", "system.eval())", "system.train())", "training/test_loop.py")]
GENERATION = [
    ("sampling.py", "probabilities.cumsum(-1) - probabilities", "probabilities.cumsum(-1)", "generation"),
    ("sampling.py", "/ max(config.temperature", "* max(config.temperature", "generation/test_sampling.py"),
    ("hypothesis_scores.py", "(5 + tokens) / 6", "(6 + tokens) / 6", "generation"),
    ("hypothesis_scores.py", "clamp(_MIN_COVERAGE, 1.0)", "clamp(_MIN_COVERAGE)", "generation"),
    ("hypothesis_scores.py", "masked_fill(~self.source", "masked_fill(self.source", "generation"),
    ("hypotheses.py", "finished[:, beam_size:] = False", "pass", "generation"),
    ("hypotheses.py", "ranked - config.diversity", "ranked + config.diversity", "generation"),
    ("constraints.py", "if time < self.constraints.min", "if time <= self.constraints.min", "generation"),
    ("constraints.py", "gather(1, ids) * theta", "gather(1, ids) / theta", "generation/test_constraints.py"),
    ("constraints.py", "no_repeat_ngram_size <= time", "no_repeat_ngram_size < time", "generation"),
    ("ensemble.py", "self.weights /= self.weights.sum()", "pass", "generation/test_ensemble.py"),
    ("top_k.py", "min(k + len(banned), log", "min(k, log", "generation"),
]
DATASETS = [
    ("collators/contiguous.py", "self.split.ids[positions - 1]", "self.split.ids[positions]", "datasets/collators"),
    ("collators/contiguous.py", "at, reset_state=reset)", "at, reset_state=False)", "datasets/collators"),
    ("collators/contiguous.py", "positions >= done[rows", "positions > done[rows", "datasets/collators"),
    ("collators/packing.py", "= ids[first:last], document_id", "= ids[first:last], 1", "datasets/collators"),
    ("collators/packing.py", "+ size <= self.config.length", "+ size <= self.config.length + 1", "datasets/collators"),
    ("collators/segment_pairs.py", "(last - first) if other >= first else 0", "0", "datasets/collators"),
    ("collators/segment_pairs.py", "len(segment) + 1, segment_id", "len(segment) + 1, 0", "datasets/collators"),
    (
        "collators/length_curriculum.py",
        "round(config.batch_size * config.length / length)",
        "config.batch_size",
        "datasets/collators",
    ),
    (
        "collators/corruption/masking.py",
        "selected & ~masked & (uniform[1] < changed)",
        "selected & ~masked",
        "datasets/collators",
    ),
    (
        "collators/corruption/masking.py",
        "np.maximum(1, np.rint(fraction * candidates.sum(1)))",
        "np.rint(fraction * candidates.sum(1))",
        "datasets/collators",
    ),
    (
        "collators/corruption/permutation.py",
        "rank - context_size + 1",
        "rank - context_size",
        "datasets/collators",
    ),
    ("collators/corruption/prefix.py", "positions <= first", "positions < first", "datasets/collators"),
    ("collators/corruption/teacher_forcing.py", "np.roll(values, 1, axis=1)", "values", "datasets/collators"),
    ("text_dataset.py", "splits[:to_valid] = VALID", "splits[:held_out] = VALID", "datasets/test_splits.py"),
]
TOKENIZERS = [
    ("split.py", '"yes": (("Σ", "σ"),)', '"yes": ()', "tokenizers/test_tokenizer_normalise.py"),
    ("special_tokens.py", "self.pad_id if self.start is None else self.start", "self.pad_id", "datasets/collators"),
    (
        "special_tokens.py",
        "in sorted(sentinels)",
        "in sorted(sentinels, reverse=True)",
        "tokenizers/test_tokenizer_tokenizer.py",
    ),
    ("unigram.py", "_digamma(count) - _digamma", "np.log(count) - _digamma", "tokenizers/test_tokenizer_unigram.py"),
    ("unigram.py", "range(int(end == length), end)", "range(end)", "tokenizers/test_tokenizer_unigram.py"),
    ("tokenizer.py", "encode_special_tokens = True", "encode_special_tokens = False", "tokenizers"),
    (
        "tokenizer.py",
        "config.vocabulary_size - config.sentinels",
        "config.vocabulary_size",
        "tokenizers/test_tokenizer_tokenizer.py",
    ),
    (
        "tokenizer.py",
        "if i not in self._special_ids",
        "if i not in self.special.ids",
        "tokenizers/test_tokenizer_tokenizer.py",
    ),
]
METRICS = [
    ("perplexity.py", "nll / math.log(2) / size", "nll / size", "metrics/test_perplexity.py"),
    ("perplexity.py", "sum(self.counts) + 256", "sum(self.counts)", "metrics/test_perplexity.py"),
    ("ranking.py", "math.log2(rank + 1)", "math.log2(rank + 2)", "metrics/test_ranking.py"),
    ("ranking.py", "return total / len(relevant)", "return total / max(hits, 1)", "metrics/test_ranking.py"),
    ("classification.py", "2.0 * hits[label]", "hits[label]", "metrics/test_classification.py"),
    ("rouge.py", "else max(above[j + 1], row[j])", "else above[j + 1]", "metrics/test_rouge.py"),
    ("alignment_error_rate.py", "(gold | set(allowed))", "set(allowed)", "metrics/test_alignment_error_rate.py"),
    ("bootstrap.py", "(differences == 0).mean() / 2", "(differences == 0).mean()", "metrics"),
    ("repetition.py", "None if total < 2", "None if total < 1", "metrics/test_repetition.py"),
]
NGRAM = [
    ("discounts.py", "n - (n + 1) * y", "n - n * y", "ngram/test_ngram_smoothing.py"),
    ("smoothing.py", "uniform_weight / predictable.sum()", "uniform_weight / len(predictable)", "ngram"),
    ("smoothing.py", "raw_counts[child] > threshold", "raw_counts[child] >= threshold", "ngram"),
    ("smoothing.py", "np.log(k * size / total)", "np.log(k / total)", "ngram/test_ngram_smoothing.py"),
    ("smoothing.py", "/ total / (1.0 - below))", "/ total)", "ngram/test_ngram_smoothing.py"),
    ("pruning.py", "[level] > thresholds", "[level] >= thresholds", "ngram"),
    ("pruning.py", "context_logprobs[start] = 0.0", "pass", "ngram"),
]
EMBEDDINGS = [
    ("glove_kernels.py", "min(1.0, (x / x_max) ** alpha)", "(x / x_max) ** alpha", "embeddings/test_glove.py"),
    ("glove_kernels.py", "step * context, step * word", "step * word, step * context", "embeddings/test_glove.py"),
    ("huffman.py", "weight[leaf] < weight[inner]", "weight[leaf] > weight[inner]", "embeddings/test_word2vec.py"),
    ("word2vec_kernels.py", "(label[base + k] - SIGMOID", "(SIGMOID", "embeddings/test_word2vec.py"),
    ("analogies.py", "triples[block] - low", "triples[block]", "embeddings/test_evaluation.py"),
    ("document_term.py", "+ np.log2(shift)", "- np.log2(shift)", "embeddings/test_document_term.py"),
    (
        "document_term.py",
        "(1 + document_frequency)) + 1",
        "(1 + document_frequency))",
        "embeddings/test_document_term.py",
    ),
    ("svd.py", "rows @ x - means @ x", "rows @ x", "embeddings/test_svd.py"),
]
CONFIG = [
    ("core.py", "value <= above", "value < above", "config"),
    ("core.py", "value > most", "value >= most", "config"),
    ("core.py", "type(current) is chosen", "True", "config"),
    ("core.py", "and value != int(value)", "and False", "config"),
    ("core.py", 'len(value) != limits["count"]', 'len(value) < limits["count"]', "config"),
]
FOLDERS = {
    "nn": NN,
    "models": MODELS,
    "objectives": OBJECTIVES,
    "training": TRAINING,
    "families": FAMILIES,
    "generation": GENERATION,
    "datasets": DATASETS,
    "tokenizers": TOKENIZERS,
    "metrics": METRICS,
    "ngram": NGRAM,
    "embeddings": EMBEDDINGS,
    "config": CONFIG,
}
FAULTS = [Fault(f"{folder}/{file}", *rest) for folder, faults in FOLDERS.items() for file, *rest in faults]
