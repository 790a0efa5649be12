"""Writing by one encoder and decoder in three programs: a part of seq2seq.py, each program in a process of its own.

`python decoders.py PROGRAM FOLDER ROWS BEAM` answers each line on standard input with the seconds of CPU, in one
thread, that writing takes; it leaves what was written beside the weights.
"""

from __future__ import annotations

import importlib.util
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import sides
import workers

SIZE, WIDTH, DEPTH, HEADS = 16_000, 512, 6, 8
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]  # the first tokens; none of them is written
END = 2
READ, NEW = 20, 32  # tokens of a source, and to be written
SHAPES = [(1, 1), (1, 5), (32, 1), (32, 5)]  # texts at once, width of the beam
# Who is set beside whom, and how much faster ours should be. Where nothing is said, weights are in float32.
BESIDE = [
    ("ours", "transformers", 2.0),
    ("ours", "ctranslate2", 0.7),
    ("ours, half", "transformers", 2.0),
    ("ours, int8", "transformers", 2.0),
    ("ours, int8", "ctranslate2, int8", None),
]
Ids = list[list[int]]


def make(folder: Path) -> None:
    """A BART with random weights as a Hugging Face folder; and as CTranslate2's, if it is installed."""
    import tokenizers
    import torch

    import transformers

    torch.manual_seed(0)
    sizes = {f"{part}_{name}": value for part in ("encoder", "decoder") for name, value in _layers().items()}
    config = transformers.BartConfig(
        vocab_size=SIZE, d_model=WIDTH, max_position_embeddings=256, dropout=0.0, pad_token_id=1, bos_token_id=0,
        eos_token_id=END, decoder_start_token_id=END, forced_eos_token_id=None, normalize_before=False,
        normalize_embedding=True, **sizes,
    )  # fmt: skip
    transformers.BartForConditionalGeneration(config).save_pretrained(folder / "model")
    table = {piece: number for number, piece in enumerate(_pieces())}
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel(table, unk_token="<unk>"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    names = dict(zip(("bos_token", "pad_token", "eos_token", "unk_token", "mask_token"), SPECIAL, strict=True))
    transformers.PreTrainedTokenizerFast(tokenizer_object=words, **names).save_pretrained(folder / "model")
    if "ctranslate2" in programs():
        import ctranslate2

        ctranslate2.converters.TransformersConverter(str(folder / "model")).convert(str(folder / "ctranslate2"))


def _layers() -> dict[str, int]:
    return {"layers": DEPTH, "attention_heads": HEADS, "ffn_dim": 4 * WIDTH}


def _pieces() -> list[str]:
    return [*SPECIAL, *(f"w{number}" for number in range(len(SPECIAL), SIZE))]


def sources(rows: int):
    import torch

    return torch.randint(len(SPECIAL), SIZE, (rows, READ), generator=torch.Generator().manual_seed(3))


def ours(folder: Path, rows: int, beam: int, weights: str) -> Callable[[], Ids]:
    """The package's own decoding."""
    import torch

    from firth.build import build
    from firth.decoding.writing import Search, decode
    from firth.families.writer import Writer
    from firth.interop.reading import fetch
    from firth.nn.linear import lighten
    from firth.types import Batch, Tokens

    found = fetch(folder / "model")
    system = build(found.config, found.tokenizer.size).eval()
    system.load_state_dict(dict(found.tensors))
    if weights:
        lighten(system, weights)
    source, first = sources(rows), torch.full((rows, 1), END)
    streams = {"source": Tokens(source, source >= 0), "text": Tokens(first, first >= 0)}
    stepper, never = Writer(system, SIZE), range(len(SPECIAL))

    def run() -> Ids:
        how = Search(beam=beam, stop="length")
        return [each[0].ids for each in decode(stepper, Batch(streams, {}), NEW, how, end=END, banned=[*never])]

    return run


def theirs(folder: Path, rows: int, beam: int, weights: str) -> Callable[[], Ids]:
    """`generate` of transformers."""
    import torch

    import transformers

    model, source = transformers.BartForConditionalGeneration.from_pretrained(folder / "model").eval(), sources(rows)
    how = {"num_beams": beam, "do_sample": False, "max_new_tokens": NEW, "min_new_tokens": NEW}
    how |= {"suppress_tokens": [*range(len(SPECIAL))], "early_stopping": False}

    def run() -> Ids:
        with torch.inference_mode():
            return model.generate(source, attention_mask=torch.ones_like(source), **how)[:, 1:].tolist()

    return run


def compiled(folder: Path, rows: int, beam: int, weights: str) -> Callable[[], Ids]:
    """CTranslate2."""
    import ctranslate2

    model = ctranslate2.Translator(str(folder / "ctranslate2"), intra_threads=1, compute_type=weights or "float32")
    pieces = _pieces()
    numbers = {piece: number for number, piece in enumerate(pieces)}
    texts = [[pieces[number] for number in row] for row in sources(rows).tolist()]
    never = [[piece] for number, piece in enumerate(SPECIAL) if number != END]
    how = {"beam_size": beam, "max_decoding_length": NEW, "min_decoding_length": NEW, "suppress_sequences": never}

    def run() -> Ids:
        found = model.translate_batch(texts, max_batch_size=0, **how)
        return [[numbers[piece] for piece in each.hypotheses[0]] for each in found]

    return run


PROGRAMS = {"ours": ours, "transformers": theirs, "ctranslate2": compiled}


def programs() -> list[str]:
    """Those that are installed, with the form of their weights."""
    names = dict.fromkeys(name for *pair, _ in BESIDE for name in pair)
    return [name for name in names if name.startswith("ours") or importlib.util.find_spec(name.partition(",")[0])]


def decoding(rounds: int) -> list[dict]:
    """Tokens a second of greedy writing and of a beam of 5, of one text and of 32 at once; and how much is the same."""
    found = []
    for name in PROGRAMS.keys() - {name.partition(",")[0] for name in programs()}:
        print(f"{name} is not installed: its rows are left out (pip install {name})")
    with tempfile.TemporaryDirectory() as place:
        make(Path(place))
        for rows, beam in SHAPES:
            times = _by_turns(place, rows, beam, rounds)
            for own, peer, target in BESIDE:
                if peer in times:
                    name = f"{'greedy' if beam == 1 else f'beam {beam}'}, {rows} at once, {own} / {peer}"
                    speeds = (rows * NEW / times[program] for program in (own, peer))
                    found.append(sides.row(name, *speeds, target, "tokens/s"))
            print(f"  the same tokens: {_agreement(Path(place), [*times])}")
    return found


def _by_turns(place: str, rows: int, beam: int, rounds: int) -> dict[str, float]:
    works = {name: workers.Worker(__file__, name, place, str(rows), str(beam)) for name in programs()}
    for work in works.values():
        work.round()  # warm
    found = [{name: work.round()["seconds"] for name, work in works.items()} for _ in range(rounds)]
    for work in works.values():
        work.close()
    return {name: statistics.median(each[name] for each in found) for name in works}


def _agreement(folder: Path, names: list[str]) -> str:
    wrote = {name: json.loads((folder / f"{name}.json").read_text()) for name in names}
    shares = []
    for name in names[1:]:
        pairs = [
            (a, b)
            for one, other in zip(wrote["ours"], wrote[name], strict=True)
            for a, b in zip(one, other, strict=True)
        ]
        shares.append(f"{name} {sum(a == b for a, b in pairs) / len(pairs):.1%}")
    return ", ".join(shares)


def main() -> None:
    program, place, rows, beam = sys.argv[1:]
    import torch

    torch.set_num_threads(1)
    name, _, weights = program.partition(", ")
    run = PROGRAMS[name](Path(place), int(rows), int(beam), weights)

    def work() -> float:
        began = time.process_time()
        found = run()
        seconds = time.process_time() - began
        assert all(len(ids) == NEW for ids in found)
        (Path(place) / f"{program}.json").write_text(json.dumps(found))
        return seconds

    workers.serve(work)


if __name__ == "__main__":
    main()
