"""What a network that writes texts for texts is for: translations, summaries, answers; and where it looked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch

from firth.data import examples
from firth.data.cache import default_cache
from firth.data.corrupt.noises import Pair
from firth.data.corrupt.writing import Writing
from firth.data.links import own_links
from firth.data.material import tokenise_pairs
from firth.data.written import pairs, prefixed, written
from firth.decoding.beam import Searched
from firth.decoding.ensemble import Ensemble
from firth.errors import FirthError
from firth.families.cutting import pieces
from firth.families.drawing import draw_looks, draw_search
from firth.families.labels import own_examples
from firth.families.linker import Link, compared
from firth.families.looks import Looks, looks
from firth.families.order import read_options
from firth.families.unknown import text_of
from firth.families.writing import Row, Wanted, WritingModel, stacked
from firth.metrics.score import Score, parts, signature
from firth.metrics.summary import count_rouge
from firth.metrics.translation import bleu, chrf
from firth.text.letters import LONGEST, PAD, spell
from firth.types import Batch

BEAM = 5  # of translations that are scored
_JUDGED = 500  # texts that are written to judge a model while it is trained
_SHOWN = 3  # pairs in the report
_SENTENCE = "The man sleeps."

Judge = Callable[[Sequence[str], Sequence[Sequence[str]]], list[Score]]
# What texts are judged by is a matter of what they are written for.
JUDGES: dict[str, Judge] = {
    "translation": lambda texts, wanted: [bleu(texts, wanted), chrf(texts, wanted)],
    "summarisation": lambda texts, wanted: [each.score() for each in count_rouge(texts, wanted)],
}


@dataclass(frozen=True)
class Asked(Wanted):
    """How texts are to be written, and what is done about words that the vocabulary lacks."""

    normalise: Literal["none", "mean", "gnmt"] = "mean"
    # a word that the vocabulary lacks is spelled if the model has learned to, or copied from where it looked in the
    # source; keep: it is shown as [UNK]
    unknown: Literal["spell", "copy", "keep"] = "spell"
    picture: str = ""  # a file for a picture of where the model looked
    tree: str = ""  # a file for a picture of the search


class Translation(NamedTuple):
    """A text that was written, and how probable it is."""

    text: str
    log_probability: float
    score: float  # what it was ranked by


class TranslatingModel(WritingModel):
    """A trained network that writes texts for texts: what `firth.load` gives for one."""

    # --- the yardstick ----------------------------------------------------------------------------------------

    def evaluate(
        self, text: str | Iterable[Any] | None = None, split: str = "test", cache: Path | None = None
    ) -> list[Score]:
        """How well texts are written for others: perplexity, and what a beam writes against what should be written."""
        part = own_examples(self.run, split, pairs) if text is None else self._given(text)
        letters = bool(self.config.input.letters or self.config.head.letters)
        found = self.surprised(tokenise_pairs(part, self._tokenizers, cache or default_cache(), letters))
        return [*found, *self.judged(part, beam=BEAM), *self._linked(part)]

    def judged(self, part: examples.Split, **how: Any) -> list[Score]:
        """What is written for pairs of texts against their second texts, by what they are written for."""
        said = self.generate([pair.left for pair in part.examples], **how)
        right = [pair.right for pair in part.examples]
        about = {"split": part.name, "data": part.key[:8], "texts": len(right), "beam": how.get("beam", 1)}
        signed = parts(self.signed(**about))
        signed = {"by": signed.pop("tok"), **signed}  # sacrebleu's own tok says how texts are cut to be compared
        exact = sum(one.strip() == other.strip() for one, other in zip(said, right, strict=True)) / len(right)
        found = [Score("exact_match", exact, signature(signed))]
        data = self.config.data
        tasks = data.tasks[:1] if data.source else data.tasks  # of several, no one yardstick serves all
        scores = JUDGES[tasks[0]](said, [right]) if len(tasks) == 1 and tasks[0] in JUDGES else []
        return found + [replace(score, signature=signature({**signed, **parts(score.signature)})) for score in scores]

    def _linked(self, part: examples.Split) -> list[Score]:
        """How well the words that it looks at agree with the right links, where these are known."""
        sure = own_links(self.config.data, part.name, part.examples)
        if not (sure and self.system.backbone.decoder.looks):
            return []
        found = self.links([(pair.left, pair.right) for pair in part.examples])
        signed = self.signed(split=part.name, data=part.key[:8])
        return [Score(name, value, signed) for name, value in compared(found, part.examples, sure).items()]

    def quality(self) -> Score:
        """One number, more being better, of what is written greedily for the first validation texts."""
        scores = self.judged(examples.make("valid", self.held_out[:_JUDGED]))
        return scores[min(1, len(scores) - 1)]

    def _given(self, text: str | Iterable[Any]) -> examples.Split:
        if isinstance(text, (str, Path)):
            text = examples.named(str(text), self.config.data)
        found = written(examples.Pair(*each) if type(each) is tuple else each for each in text)
        prefixes = self.config.data.prefixes
        return examples.make("given", prefixed(found, prefixes[0]) if len(prefixes) == 1 else found)

    @property
    def _tokenizers(self) -> dict[str, Any]:
        own = {"source": self.source} if self.source is not self.tokenizer else {}
        return {"text": self.tokenizer, **own}

    # --- its verbs --------------------------------------------------------------------------------------------

    def generate(self, texts: Sequence[str], **how: Any) -> list[str]:
        """What is written for each text: the best found, or drawn."""
        return [found[0].text for found in self.write(texts, **how)]

    translate = generate

    def write(self, texts: Sequence[str], **how: Any) -> list[list[Translation]]:
        """What is written for each text, `count` ways, the best first. A text that is too long is read in pieces."""
        if isinstance(texts, str):
            raise FirthError("one text, where several are read", do="put it into a list: translate([text])")
        asked = _asked(how)
        cut = [pieces(text, self.source, self.limit) for text in texts]
        whole = [piece for text in cut for piece in text]
        found = iter(self.written([self.row(piece) for piece in whole], asked))
        told = iter(
            [[self._told(piece, each, asked) for each in ways] for piece, ways in zip(whole, found, strict=True)]
        )
        return [_joined([next(told) for _ in text]) for text in cut]

    def joined_by(self, others: Sequence[TranslatingModel]) -> TranslatingModel:
        """A model that writes with others of the same tokenizers, by the mean of their probabilities (an ensemble)."""
        for other in others:
            if other.run.record.tokenizers != self.run.record.tokenizers:
                do = "train the runs with one tokenizer: --set tokenizer.file=RUN/tokenizers/text.json"
                raise FirthError(
                    "its tokenizer is another one, so they cannot write together", where=other.run.path, do=do
                )
        found = copy(self)
        found.stepper = Ensemble([self.stepper, *(other.stepper for other in others)])
        return found

    def row(self, text: str) -> Row:
        """A text as it is read."""
        ids, letters = self.source.ids(text), None
        if self.config.input.letters:
            letters = np.full((len(ids), LONGEST), PAD, np.int64)
            places = [place for place, token in enumerate(ids) if token == self.source.special.unknown]
            for place, word in zip(places, self.source.unknown_spans(text) if places else (), strict=True):
                letters[place] = spell(word.strip())
        return self.closed(ids, letters)

    def searched(self, text: str, asked: Asked) -> Searched:
        """The search for what is written for a text, with its tree."""
        return self.together([self.row(text)], asked, return_tree=True)

    def spelled(self, token: int) -> str:
        """How a token is shown."""
        special = self.tokenizer.special
        return self.tokenizer.piece(token) if token in special.ids else self.tokenizer.decode([token]).strip() or "␣"

    def _told(self, text: str, found: Any, asked: Asked) -> Translation:
        if not text.strip():  # for nothing, nothing is written
            return Translation("", 0.0, 0.0)
        return Translation(text_of(self, text, found.ids, asked.unknown), found.log_probability, found.score)

    # --- where it looks ---------------------------------------------------------------------------------------

    def align(self, texts: Sequence[str], others: Sequence[str], layer: int = -1) -> list[Looks]:
        """Where the network looks while it writes each of the other texts, word by word. A Transformer looks in each of
        its layers; what is told is the mean of one layer's heads."""
        if len(texts) != len(others):
            raise FirthError(f"{len(texts)} texts that are read and {len(others)} that are written", do="give pairs")
        depth = self.config.backbone.decoder.depth
        if not -depth <= layer < depth:
            raise FirthError(
                f"no layer {layer}: the decoder has {depth}", do=f"count from 0 to {depth - 1}, or from -1"
            )
        return [self._looks(one, other, layer) for one, other in zip(texts, others, strict=True)]

    def links(self, pairs: Sequence[tuple[str, str]]) -> list[list[Link]]:
        """The links (left, right) of each pair of texts: each word of the second with that of the first which the
        network looks at most while it writes it."""
        return [list(self._looks(left, right, -1).links) for left, right in pairs]

    def _looks(self, read: str, written: str, layer: int) -> Looks:
        tokens = self.source.encode(read), self.tokenizer.encode(written)
        return looks(read, written, self.weights(read, len(tokens[0].ids), tokens[1].ids, layer), tokens)

    @torch.no_grad()
    def weights(self, text: str, count: int, told: Sequence[int], layer: int = -1) -> np.ndarray:
        """How much each token looks at each of a text's `count` (written, read), marks at the ends left out."""
        batch = self.forced(text, told)
        given = [part for name, each in batch.streams.items() for part in (self.system.vectors(name, each), each)]
        found = self.system.backbone.aligned(*given, layer)
        if found is None:
            raise FirthError("this model looks at no token of the source", do="train one with attention, such as luong")
        first = int(self._opened)
        return found[0, first : first + len(told), first : first + count].float().numpy()

    def forced(self, text: str, told: Sequence[int]) -> Batch:
        """A batch of one pair: a text that is read, and tokens that are written for it."""
        pair = Pair(np.zeros(0, np.int64), np.array(told, np.int64))
        made = Batch(**Writing(self.config.objective, self.tokenizer).streams([pair]))
        streams = {"source": stacked([self.row(text)], self.source.special.padding), "target": made.streams["target"]}
        return replace(made, streams=streams).to("cpu")

    @property
    def _banned(self) -> list[int]:
        """An unknown word can be copied, where the network tells where it looks, or spelled, where it can."""
        able = self.system.backbone.decoder.looks or self.config.head.letters
        return [token for token in super()._banned if not able or token != self.tokenizer.special.unknown]

    # --- a look at it while it is trained ---------------------------------------------------------------------

    def sample(self) -> str:
        """What it would say now."""
        return self.generate([self.held_out[0].left], length=40)[0]

    def samples(self, seed: int) -> list[str]:
        """What it says in the report."""
        shown = self.held_out[:_SHOWN]
        said = self.generate([pair.left for pair in shown], length=80)
        return [f"{pair.left} → {text} (should be: {pair.right})" for pair, text in zip(shown, said, strict=True)]

    @cached_property
    def held_out(self) -> list[Any]:
        """Pairs of the run's own that it was not trained on; an imported model has none, and is shown a sentence."""
        known = self.run.record.data["splits"]
        name = next((name for name in ("valid", "test") if name in known), "")
        return own_examples(self.run, name, pairs).examples if name else [examples.Pair(_SENTENCE, "")]

    # --- the command line -------------------------------------------------------------------------------------

    @property
    def hint(self) -> str:
        """What to try first."""
        return f'firth run {self.run.path} "{self.held_out[0].left}"'

    reads_lines = True  # `firth run` without an input answers what it is told

    def answers(self, lines: Sequence[str], options: Mapping[str, object]) -> list[dict[str, Any]]:
        """What `firth run` says to lines."""
        asked = _asked({"beam": BEAM, **options} if not {"beam", "temperature"} & {*options} else options)
        if (asked.picture or asked.tree) and not (len(lines) == 1 and lines[0].strip()):
            raise FirthError("a picture is drawn of one text", where="--picture and --tree", do="give one input")
        found = self.write(lines, **asdict(asked))
        for line, ways in zip(lines, found, strict=True):
            if asked.picture:
                draw_looks(self, line, ways[0].text, asked.picture)
            if asked.tree:
                draw_search(self, line, asked, asked.tree)
        return [_answer(line, ways) for line, ways in zip(lines, found, strict=True)]

    def shown(self, answer: Mapping[str, Any]) -> str:
        """The same for a person."""
        return "\n---\n".join(answer["texts"])


def _asked(given: Mapping[str, object]) -> Asked:
    """The options; a length penalty is that of GNMT, where nothing else is said."""
    gnmt = {"normalise": "gnmt"} if given.get("length_penalty") and "normalise" not in given else {}
    return read_options(Asked, {**given, **gnmt})


def _answer(line: str, ways: Sequence[Translation]) -> dict[str, Any]:
    return {
        "input": line,
        "texts": [each.text for each in ways],
        "log_probabilities": [each.log_probability for each in ways],
        "scores": [each.score for each in ways],
    }


def _joined(pieces: list[list[Translation]]) -> list[Translation]:
    """The ways of writing a text, of those of its parts; its score is the mean of theirs."""
    if len(pieces) == 1:
        return pieces[0]
    return [
        Translation(
            " ".join(each.text for each in way),
            sum(each.log_probability for each in way),
            sum(each.score for each in way) / len(way),
        )
        for way in zip(*pieces, strict=False)
    ]
