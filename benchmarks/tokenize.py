"""Encoding speed through the whole path against the plain library: see tokenizing.py, which this starts.

A script's folder comes first in the search for modules, and the standard library has a `tokenize` too: whoever imports
that one from a benchmark gets it from here.
"""

import sys
from pathlib import Path

_here = str(Path(__file__).parent)
sys.path = [entry for entry in sys.path if entry != _here]
if __name__ == "__main__":
    sys.path.append(_here)
    import tokenizing

    tokenizing.main()
else:
    del sys.modules[__name__]
    import tokenize

    sys.modules[__name__] = tokenize
    sys.path.insert(0, _here)
