"""Reading one text and writing another, against peers: one part or several (default: all).

training: an encoder and a decoder of Transformers against Hugging Face's, the same pairs.
decoding: greedy writing and a beam of 5, one text and 32 at once, against transformers and CTranslate2, same weights.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable

import decoders
import written

# Each is given how many rounds to measure, prints its rows and returns them.
PARTS: dict[str, Callable[[int], list[dict]]] = {"training": written.training, "decoding": decoders.decoding}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--json", action="store_true", help="the last line is the table as JSON")
    options = parser.parse_args()
    if wrong := set(options.parts) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(wrong))}; there are {', '.join(PARTS)}")
    print(f"{'':40} {'ours':>14} {'peer':>14}")
    rows = [found for part in options.parts or PARTS for found in PARTS[part](2 if options.quick else 5)]
    if options.json:
        print(json.dumps({"rows": rows}))


if __name__ == "__main__":
    main()
