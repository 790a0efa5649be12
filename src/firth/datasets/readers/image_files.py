"""Image files: PPM and PGM natively, PNG and JPEG through Pillow if it is installed."""

from __future__ import annotations

import re
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from firth.datasets import compression
from firth.errors import FirthError

if TYPE_CHECKING:
    import numpy as np

MAX_IMAGE_BYTES = 1 << 28
HEADER = re.compile(rb"P([56])((?:\s|#[^\n]*\n)+[0-9]{1,9}){3}\s")
NUMBER = re.compile(rb"(?:\s|#[^\n]*\n)+([0-9]+)")
CHANNELS = {"1": "L", "L": "L", "RGB": "RGB", "RGBA": "RGB", "P": "RGB", "CMYK": "RGB", "YCbCr": "RGB", "LA": "L"}
AGAIN = "save it again as PNG, JPEG or PPM"


def load(path: Path) -> np.ndarray:
    """The pixels of an image file (y, x, channels), bytes; the format is recognised by content."""
    with compression.explain_read_errors(str(path)):
        if not path.is_file():
            raise compression.missing_file(str(path))
        if path.stat().st_size > 2 * MAX_IMAGE_BYTES:
            raise FirthError(f"larger than {2 * MAX_IMAGE_BYTES >> 20} MB", where=path, do="make it smaller")
        content = path.read_bytes()
    return _pnm(content, path) if content[:2] in (b"P5", b"P6") else _pillow(content, path)


def encode(pixels: np.ndarray) -> bytes:
    """The pixels as PPM, or as PGM if they have one channel."""
    height, width, channels = pixels.shape
    if channels not in (1, 3) or pixels.dtype.str != "|u1":
        what = f"an image of {channels} channels of {pixels.dtype}"
        raise FirthError(what, do="give bytes (uint8) with one or three channels")
    return b"P%d\n%d %d\n255\n" % (5 if channels == 1 else 6, width, height) + pixels.tobytes()


def _pnm(content: bytes, path: Path) -> np.ndarray:
    import numpy as np

    header = HEADER.match(content)
    numbers = [int(digits) for digits in NUMBER.findall(header[0])] if header else []
    if len(numbers) != 3 or not 0 < numbers[2] < 256:
        raise FirthError("the header of this PPM file is damaged, or its samples are not bytes", where=path, do=AGAIN)
    width, height, _ = numbers
    channels = 1 if header[1] == b"5" else 3
    size = len(content) - header.end()
    if size != width * height * channels or not size:
        what = f"it declares {width}×{height}×{channels} = {width * height * channels} bytes and has {size}"
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
            warnings.simplefilter("ignore")  # Pillow's own size limit, which ours replaces
            with Image.open(io.BytesIO(content), formats=("PNG", "JPEG")) as image:
                mode, size = CHANNELS.get(image.mode), image.width * image.height * 3
                if mode is None or size > MAX_IMAGE_BYTES:
                    what = f"{image.width}×{image.height} in mode {image.mode}"
                    raise FirthError(what, where=path, do=f"give 8 bits per channel, up to {MAX_IMAGE_BYTES >> 20} MB")
                pixels = np.array(image.convert(mode))
    except FirthError:
        raise
    except Exception as error:  # Pillow raises many kinds for damaged files
        raise FirthError(f"not a whole PNG or JPEG file ({str(error)[:80]})", where=path, do=AGAIN) from error
    return pixels if pixels.ndim == 3 else pixels[:, :, None]
