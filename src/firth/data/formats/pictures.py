"""Picture files: PPM and PGM by ourselves, PNG and JPEG through Pillow where it is installed."""

from __future__ import annotations

import re
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from firth.data import packed
from firth.errors import FirthError

if TYPE_CHECKING:
    import numpy as np

MOST = 1 << 28  # bytes of one picture
HEADER = re.compile(rb"P([56])((?:\s|#[^\n]*\n)+[0-9]{1,9}){3}\s")
NUMBER = re.compile(rb"(?:\s|#[^\n]*\n)+([0-9]+)")
CHANNELS = {"1": "L", "L": "L", "RGB": "RGB", "RGBA": "RGB", "P": "RGB", "CMYK": "RGB", "YCbCr": "RGB", "LA": "L"}
AGAIN = "save it again as PNG, JPEG or PPM"


def load(path: Path) -> np.ndarray:
    """The pixels of a file (y, x, channels), bytes; what it is is told from its content."""
    with packed.reading(str(path)):
        if not path.is_file():
            raise packed.missing(str(path))
        if path.stat().st_size > 2 * MOST:
            raise FirthError(f"larger than {2 * MOST >> 20} MB", where=path, do="make it smaller")
        content = path.read_bytes()
    return _pnm(content, path) if content[:2] in (b"P5", b"P6") else _pillow(content, path)


def encode(pixels: np.ndarray) -> bytes:
    """The pixels as PPM, or as PGM if they are grey."""
    height, width, channels = pixels.shape
    if channels not in (1, 3) or pixels.dtype.str != "|u1":
        what = f"a picture of {channels} channels of {pixels.dtype}"
        raise FirthError(what, do="give bytes (uint8) with one or three channels")
    return b"P%d\n%d %d\n255\n" % (5 if channels == 1 else 6, width, height) + pixels.tobytes()


def _pnm(content: bytes, path: Path) -> np.ndarray:
    import numpy as np

    header = HEADER.match(content)
    numbers = [int(found) for found in NUMBER.findall(header[0])] if header else []
    if len(numbers) != 3 or not 0 < numbers[2] < 256:
        raise FirthError("the header of this PPM file is damaged, or not of bytes", where=path, do=AGAIN)
    width, height, _ = numbers
    channels = 1 if header[1] == b"5" else 3
    found = len(content) - header.end()
    if found != width * height * channels or not found:
        what = f"it declares {width}×{height}×{channels} = {width * height * channels} bytes and has {found}"
        raise FirthError(what, where=path, do="get the whole file")
    return np.frombuffer(content, np.uint8, offset=header.end()).reshape(height, width, channels)


def _pillow(content: bytes, path: Path) -> np.ndarray:
    import io

    import numpy as np

    if not find_spec("PIL"):
        what = "neither PPM nor PGM; PNG and JPEG need another package"
        raise FirthError(what, where=path, do="pip install 'firth[images]', or save it as PPM")
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a size limit of its own, which ours stands in for
            with Image.open(io.BytesIO(content), formats=("PNG", "JPEG")) as image:
                mode, size = CHANNELS.get(image.mode), image.width * image.height * 3
                if mode is None or size > MOST:
                    what = f"{image.width}×{image.height} in mode {image.mode}"
                    raise FirthError(what, where=path, do=f"give 8 bits a channel and at most {MOST >> 20} MB")
                pixels = np.array(image.convert(mode))
    except FirthError:
        raise
    except Exception as error:  # Pillow raises many kinds for damaged files
        raise FirthError(f"not a whole PNG or JPEG file ({str(error)[:80]})", where=path, do=AGAIN) from error
    return pixels if pixels.ndim == 3 else pixels[:, :, None]
