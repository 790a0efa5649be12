"""Text-to-text generation with a sequence-to-sequence network: translation, summarisation, question answering; scores
(BLEU, chrF, ROUGE, exact match); attention weights and word links."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch

from firth.arguments import as_texts, batched
from firth.datasets import labelled_dataset
from firth.datasets.collators.corruption.noise import SourceTargetPair
from firth.datasets.collators.corruption.teacher_forcing import TeacherForcing
from firth.datasets.gold_alignments import builtin_links
from firth.datasets.records import Question
from firth.datasets.seq2seq_dataset import add_prefix, answers_of, is_question, read_pairs, to_source_target
from firth.datasets.tasks import UNANSWERABLE
from firth.datasets.token_cache import usable_cache
from firth.datasets.training_data import tokenise_pairs
from firth.display import Table
from firth.errors import FirthError
from firth.generation.beam_search import BeamSearchResult
from firth.generation.ensemble import Ensemble
from firth.metrics import question_answering
from firth.metrics.bleu import bleu, chrf
from firth.metrics.rouge import count_rouge
from firth.metrics.score import Score, parse_signature, signature
from firth.pipelines.align_words import Link, alignment_scores
from firth.pipelines.attention_plots import plot_attention, plot_search_tree
from firth.pipelines.attention_weights import WordAttention, word_attention
from firth.pipelines.chunking import split_text
from firth.pipelines.label_predictions import checked_examples, run_examples
from firth.pipelines.seq2seq import Seq2SeqModel, Seq2SeqOptions, SourceSequence, pad_sources
from firth.pipelines.unknown_words import decode_with_unknowns
from firth.runs.trained_model import given_text, read_options
from firth.tokenizers.characters import MAX_WORD_BYTES, PAD, encode_word
from firth.types import Batch

BEAM = 5  # beam size of translations that are scored
_QUALITY_TEXTS = 500  # generated to select the best weights during training
_REPORT_PAIRS = 3
_EXAMPLE = "The man sleeps."

Metric = Callable[[Sequence[str], Sequence[Sequence[str]]], list[Score]]
TASK_METRICS: dict[str, Metric] = {
    "translation": lambda texts, references: [bleu(texts, references), chrf(texts, references)],
    "summarisation": lambda texts, references: [each.score() for each in count_rouge(texts, references)],
}


@dataclass(frozen=True)
class TranslateOptions(Seq2SeqOptions):
    """The options of generation, of unknown words and of plots."""

    length_normalisation: Literal["none", "mean", "gnmt"] = "mean"
    # an unknown token is spelled by the character decoder, if there is one, or copied from the source word that it
    # attends to most; keep: it is shown as [UNK]
    unknown: Literal["spell", "copy", "keep"] = "spell"
    plot: str = ""  # a file for a heat map of the attention weights
    tree: str = ""  # a file for the beam search tree


class Translation(NamedTuple):
    """A generated text with its log-probability and score."""

    text: str
    log_probability: float
    score: float  # what hypotheses are ranked by


class TranslationModel(Seq2SeqModel):
    """A trained text-to-text model: what `firth.load` returns for one."""

    # --- evaluation -------------------------------------------------------------------------------------------

    def evaluate(
        self, text: str | Iterable[Any] | None = None, split: str = "test", cache: Path | None = None
    ) -> list[Score]:
        """Perplexity and accuracy of target tokens, the task's metrics of beam search outputs, alignment error rate."""
        part = run_examples(self, split, read_pairs) if text is None else self._other_pairs(text)
        with_characters = bool(self.config.input_of("source").character_width or self.config.head.character_width)
        tokens = tokenise_pairs(part, self._tokenizers, cache or usable_cache(), with_characters)
        generated = self.generation_scores(part, beam=BEAM)
        return Table([*self.perplexity_scores(tokens), *generated, *self._link_scores(part)])

    def generation_scores(self, part: labelled_dataset.Split, **options: Any) -> list[Score]:
        """Exact match, and the task's metrics (BLEU and chrF, or ROUGE), of generated texts against the references."""
        generated = self.generate([pair.left for pair in part.examples], **options)
        references, beam = [pair.right for pair in part.examples], options.get("beam", 1)
        fields = {**part.signed_fields, "texts": len(references), "beam": beam}
        signed = parse_signature(self.signed(**fields))
        signed = {"by": signed.pop("tok"), **signed}  # sacrebleu's own tok is the tokenisation for comparison
        if all(map(is_question, part.examples)):
            return _answer_scores(generated, part.examples, signed)
        exact = sum(one.strip() == other.strip() for one, other in zip(generated, references, strict=True))
        data = self.config.data
        tasks = data.tasks[:1] if data.source else data.tasks  # of several, no one metric serves all
        metric = TASK_METRICS.get(tasks[0]) if len(tasks) == 1 else None
        scores = metric(generated, [references]) if metric else []
        scores = [replace(each, signature=signature({**signed, **parse_signature(each.signature)})) for each in scores]
        return [Score("exact_match", exact / len(references), signature(signed)), *scores]

    def _link_scores(self, part: labelled_dataset.Split) -> list[Score]:
        """Alignment error rate of the links by attention weights, where gold links are known."""
        sure = builtin_links(self.config.data, part.name, part.examples)
        if not (sure and self.system.backbone.decoder.has_alignment):
            return []
        links = self.links([(pair.left, pair.right) for pair in part.examples])
        signed = self.signed(**part.signed_fields)
        return [Score(name, value, signed) for name, value in alignment_scores(links, part.examples, sure).items()]

    def quality(self) -> Score:
        """One score, higher being better, of greedy outputs for some validation texts; it selects the best weights."""
        scores = self.generation_scores(labelled_dataset.make_split("valid", self.held_out[:_QUALITY_TEXTS]))
        return scores[min(1, len(scores) - 1)]

    def _other_pairs(self, text: str | Iterable[Any]) -> labelled_dataset.Split:
        text = given_text(text)
        if isinstance(text, str):
            text = labelled_dataset.read_named(text, self.config.data)
        pairs = (labelled_dataset.Pair(*each) if _is_pair(each) else each for each in text)
        checked = checked_examples(pairs, labelled_dataset.Pair, Question)
        examples = to_source_target(checked, self.config.data.context == "with")
        prefixes = self.config.data.prefixes
        return labelled_dataset.make_split(
            "given", add_prefix(examples, prefixes[0]) if len(prefixes) == 1 else examples
        )

    @property
    def _tokenizers(self) -> dict[str, Any]:
        own = {"source": self.source} if self.source is not self.tokenizer else {}
        return {"text": self.tokenizer, **own}

    # --- generation -------------------------------------------------------------------------------------------

    def generate(self, texts: str | Iterable[str], **options: Any) -> Any:
        """The generated text for a source text, or a list of them for a list: the best of a beam search, or a
        sample. `options` are the fields of `TranslateOptions`: `beam=8`, `temperature=0.8`, `force_words=("Haus",)`."""
        return batched(texts, lambda texts: [translations[0].text for translations in self._generate(texts, **options)])

    translate = generate

    def generate_with_scores(self, texts: str | Iterable[str], **options: Any) -> Any:
        """The `count` best texts for a source text, best first, or a list of these for a list. A source longer than
        the model's maximum length is split into chunks. `options` as for `generate`."""
        return batched(texts, lambda texts: self._generate(texts, **options))

    def _generate(self, texts: Sequence[str], **options: Any) -> list[list[Translation]]:
        parsed = _parse_options(options)
        chunked = [split_text(text, self.source, self.limit) for text in texts]
        chunks = [chunk for text in chunked for chunk in text]
        decoded = zip(chunks, self.decode([self.encode_source(chunk) for chunk in chunks], parsed), strict=True)
        translations = iter([[self._translation(chunk, each, parsed) for each in nbest] for chunk, nbest in decoded])
        return [_join_chunks([next(translations) for _ in text]) for text in chunked]

    def ensemble_with(self, others: Sequence[TranslationModel]) -> TranslationModel:
        """An ensemble with other models of the same tokenizers, by the mean of their probabilities."""
        for other in others:
            if other.run.record.tokenizers != self.run.record.tokenizers:
                do = "train the runs with one tokenizer: --set tokenizer.file=RUN/tokenizers/text.json"
                what = "its tokenizer differs, so it cannot join the ensemble"
                raise FirthError(what, where=other.run.path, do=do)
        ensemble = copy(self)
        ensemble.stepper = Ensemble([self.stepper, *(other.stepper for other in others)])
        return ensemble

    def encode_source(self, text: str) -> SourceSequence:
        """The token ids of a source, and the characters of its out-of-vocabulary words if the model encodes them."""
        ids, characters = self.source.encode(text), None
        if self.config.input_of("source").character_width:
            characters = np.full((len(ids), MAX_WORD_BYTES), PAD, np.int64)
            unknown = [position for position, token in enumerate(ids) if token == self.source.special.unknown]
            for position, word in zip(unknown, self.source.oov_spans(text) if unknown else (), strict=True):
                characters[position] = encode_word(word.strip())
        return self.add_special_tokens(ids, characters)

    def search(self, text: str, options: TranslateOptions) -> BeamSearchResult:
        """The beam search for a source text, with its tree."""
        return self.decode_batch([self.encode_source(text)], options, return_tree=True)

    def token_text(self, token: int) -> str:
        """A token as text, for plots."""
        if token in self.tokenizer.special.ids:
            return self.tokenizer.id_to_token(token)
        return self.tokenizer.decode([token]).strip() or "␣"

    def _translation(self, text: str, hypothesis: Any, options: TranslateOptions) -> Translation:
        if not text.strip():  # an empty source has an empty target
            return Translation("", 0.0, 0.0)
        target = decode_with_unknowns(self, text, hypothesis.ids, options.unknown)
        return Translation(target, hypothesis.log_probability, hypothesis.score)

    # --- attention weights ------------------------------------------------------------------------------------

    def align(self, texts: str | Sequence[str], others: str | Sequence[str], layer: int = -1) -> Any:
        """Cross attention weights of the words of each target text over those of its source text, with teacher forcing;
        of a Transformer the mean over the heads of one layer. Of one text and its target, theirs alone."""
        if isinstance(texts, str) and isinstance(others, str):
            return self.align([texts], [others], layer)[0]
        texts, others = as_texts(texts), as_texts(others)
        if len(texts) != len(others):
            raise FirthError(f"{len(texts)} source texts and {len(others)} target texts", do="give pairs")
        depth = self.config.backbone.decoder.depth
        if not -depth <= layer < depth:
            do = f"count from 0 to {depth - 1}, or from -1"
            raise FirthError(f"no layer {layer}: the decoder has {depth}", do=do)
        return [self._word_attention(one, other, layer) for one, other in zip(texts, others, strict=True)]

    def links(self, pairs: Sequence[tuple[str, str]]) -> list[list[Link]]:
        """The word links (left, right) of each pair of texts: each target word with the source word that it attends to
        most."""
        return [list(self._word_attention(left, right, -1).links) for left, right in pairs]

    def _word_attention(self, source: str, target: str, layer: int) -> WordAttention:
        encodings = self.source.encode_with_offsets(source), self.tokenizer.encode_with_offsets(target)
        weights = self.attention_weights(source, len(encodings[0].ids), encodings[1].ids, layer)
        return word_attention(source, target, weights, encodings)

    @torch.no_grad()
    def attention_weights(self, text: str, count: int, target: Sequence[int], layer: int = -1) -> np.ndarray:
        """Cross attention weights of target tokens over a source's `count` tokens (target, source), without special
        tokens."""
        batch = self.teacher_forced_batch(text, target)
        inputs = [part for name, each in batch.streams.items() for part in (self.system.embed(name, each), each)]
        weights = self.system.backbone.align(*inputs, layer)
        if weights is None:
            raise FirthError("this model has no attention over the source", do="train one that has, such as luong")
        first = int(self._add_start_token)
        return weights[0, first : first + len(target), first : first + count].float().numpy()

    def teacher_forced_batch(self, text: str, target: Sequence[int]) -> Batch:
        """A batch of one source text and the given target tokens, for teacher forcing."""
        pair = SourceTargetPair(np.zeros(0, np.int64), np.array(target, np.int64))
        batch = Batch(**TeacherForcing(self.config.objective, self.tokenizer).make_streams([pair]))
        source = pad_sources([self.encode_source(text)], self.source.special.pad_id)
        return replace(batch, streams={"source": source, "target": batch.streams["target"]}).to("cpu")

    @property
    def _banned(self) -> list[int]:
        """Special tokens that are never generated; [UNK] may be, if it can be replaced by a copied or spelled word."""
        replaceable = self.system.backbone.decoder.has_alignment or self.config.head.character_width
        return [token for token in super()._banned if not replaceable or token != self.tokenizer.special.unknown]

    # --- samples during training ------------------------------------------------------------------------------

    def sample(self) -> str:
        """A sample to log after an evaluation."""
        return self.generate([self.held_out[0].left], max_length=40)[0]

    def samples(self, seed: int) -> list[str]:
        """Samples for the report."""
        pairs = self.held_out[:_REPORT_PAIRS]
        generated = self.generate([pair.left for pair in pairs], max_length=80)
        samples = zip(pairs, generated, strict=True)
        return [f"{pair.left} → {text} (reference: {pair.right})" for pair, text in samples]

    @cached_property
    def held_out(self) -> list[Any]:
        """Held-out pairs of the run's own data; an imported model has none, and gets an example sentence."""
        known = self.run.record.data["splits"]
        name = next((name for name in ("valid", "test") if name in known), "")
        return run_examples(self, name, read_pairs).examples if name else [labelled_dataset.Pair(_EXAMPLE, "")]

    # --- the command line -------------------------------------------------------------------------------------

    @property
    def hint(self) -> str:
        """A first command to try."""
        return f'firth run {self.run.path} "{self.held_out[0].left}"'

    reads_lines = True  # `firth run` without an input reads lines

    def answers(self, lines: Sequence[str], options: Mapping[str, object]) -> list[dict[str, Any]]:
        """The answers of `firth run` to lines."""
        parsed = _parse_options({"beam": BEAM, **options} if not {"beam", "temperature"} & {*options} else options)
        if (parsed.plot or parsed.tree) and not (len(lines) == 1 and lines[0].strip()):
            raise FirthError("a plot shows one text", where="--plot and --tree", do="give one input")
        results = list(zip(lines, self.generate_with_scores(lines, **asdict(parsed)), strict=True))
        for line, translations in results:
            if parsed.plot:
                plot_attention(self, line, translations[0].text, parsed.plot)
            if parsed.tree:
                plot_search_tree(self, line, parsed, parsed.tree)
        return [_answer(line, translations) for line, translations in results]

    def format_answer(self, answer: Mapping[str, Any]) -> str:
        """The answer as text."""
        return "\n---\n".join(answer["texts"])


def _answer_scores(generated: Sequence[str], pairs: Sequence[Any], signed: Mapping[str, object]) -> list[Score]:
    """Exact match and F1 of answers, as SQuAD's scripts count them."""
    answers = ["" if text.strip() == UNANSWERABLE else text for text in generated]
    scores = question_answering.score_answers(answers, [answers_of(pair) for pair in pairs])
    text = signature({**signed, **parse_signature(scores.signature)})
    return [replace(each.score(), signature=text) for each in scores.statistics()]


def _is_pair(value: object) -> bool:
    """Whether an example is a source and its target, as a tuple or a list of two strings."""
    return type(value) in (tuple, list) and len(value) == 2 and all(isinstance(each, str) for each in value)


def _parse_options(options: Mapping[str, object]) -> TranslateOptions:
    """The options; a length penalty means the length normalisation of GNMT, by default."""
    penalised = options.get("length_penalty") and "length_normalisation" not in options
    return read_options(TranslateOptions, {**options, **({"length_normalisation": "gnmt"} if penalised else {})})


def _answer(line: str, translations: Sequence[Translation]) -> dict[str, Any]:
    return {
        "input": line,
        "texts": [each.text for each in translations],
        "log_probabilities": [each.log_probability for each in translations],
        "scores": [each.score for each in translations],
    }


def _join_chunks(chunks: list[list[Translation]]) -> list[Translation]:
    """The translations of a text from those of its chunks; its score is the mean of theirs."""
    if len(chunks) == 1:
        return chunks[0]
    return [
        Translation(
            " ".join(each.text for each in parts),
            sum(each.log_probability for each in parts),
            sum(each.score for each in parts) / len(parts),
        )
        for parts in zip(*chunks, strict=False)
    ]
