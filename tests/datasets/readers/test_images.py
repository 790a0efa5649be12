"""Pictures: what headers promise and bytes keep, tables, and the ways to write them."""

import gzip
import io
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from firth.datasets.readers import image_files
from firth.datasets.readers.images import Arrays, Folder, Idx, check_same_size
from firth.datasets.records import Image
from firth.errors import FirthError

pixels = arrays.arrays(np.uint8, st.tuples(st.integers(1, 4), st.integers(1, 4), st.sampled_from([1, 3])))


def idx(*sides, data=b"", kind=8):
    return bytes([0, 0, kind, len(sides)]) + struct.pack(f">{len(sides)}I", *sides) + data


def npy(header: str) -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


@pytest.fixture
def file(tmp_path):
    def file(content, name="x"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return file


def archive(file, content, key="images.npy"):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr(key, content)
    return file(packed.getvalue(), "x.npz")


# --- arrays ---


@pytest.mark.parametrize("shape", [(3, 2, 4, 3), (3, 2, 4)])
def test_arrays_and_their_captions(file, shape):
    wanted = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
    content = io.BytesIO()
    np.savez_compressed(content, images=wanted, other=wanted[:1])
    path = file(content.getvalue(), "x.npz")
    table = file(b"2\tc.jpg\t1\tred\n0\ta.jpg\t0\tblue\n2\tc.jpg\t0\tgreen\n", "t.tsv")
    result = list(Arrays().read((path, table)))
    assert np.array_equal(np.stack([image.pixels for image in result]).reshape(shape), wanted)
    assert [image.captions for image in result] == [("blue",), (), ("green", "red")]
    assert [image.name for image in result] == ["a.jpg", "", "c.jpg"] and result[2].line == 1
    assert len(list(Arrays(key="other").read(path))) == 1


def test_arrays_written_are_read_again(tmp_path):
    made = [Image(np.full((2, 3, 3), i, np.uint8), ("red", "blue")[: i % 3], name=f"{i}.png") for i in range(4)]
    Arrays().save(tmp_path / "x.npz", tmp_path / "t.tsv", made)
    for one, other in zip(Arrays().read((tmp_path / "x.npz", tmp_path / "t.tsv")), made, strict=True):
        assert np.array_equal(one.pixels, other.pixels) and one.captions == other.captions
        assert one.name == (other.name if other.captions else "")
    with pytest.raises(FirthError, match=r"images of different sizes: 1×1×3 \(image 2\), 2×3×3 \(image 1\)"):
        check_same_size([made[0], Image(np.zeros((1, 1, 3), np.uint8))])


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 99999, 99999)}", "images of size 99999×99999"),
        ("{'descr': '|u1', 'fortran_order': False, 'shape': (99999999999, 2, 2)}", "ends in number 3"),
        ("{'descr': '|u1', 'fortran_order': False, 'shape': (1, 2, 2)}", "more bytes than the 1 images"),
        ("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 2, -2)}", "not images, but something else"),
        ("{'descr': '|u1', 'fortran_order': False, 'shape': (8,)}", r"not images, but an array of type \|u1, 1 axes"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 1)}", "an array of type <f4"),
        ("{'descr': '|O', 'fortran_order': False, 'shape': (1, 2, 1)}", r"an array of type \|O"),
        ("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2, 2)}", "in Fortran order"),
        ("{" + "(" * 200 + "}", "something else"),
        ("__import__('os')", "something else"),
    ],
)
def test_headers_of_arrays_are_not_believed(file, header, message):
    with pytest.raises(FirthError, match=message):
        list(Arrays().read(archive(file, npy(header) + bytes(8))))


def test_a_header_allocates_nothing(file):
    """The largest image that is allowed, and no bytes of it."""
    path = archive(file, npy("{'descr': '|u1', 'fortran_order': False, 'shape': (9, 16384, 16384)}"))
    tracemalloc.start()
    with pytest.raises(FirthError, match="ends in number 1"):
        list(Arrays().read(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 << 20


def test_bad_archives(file):
    with pytest.raises(FirthError, match="not a whole npz file"):
        list(Arrays().read(file(b"PK\x03\x04 and no more", "x.npz")))
    with pytest.raises(FirthError, match="no array 'images' in it; it has: other"):
        list(Arrays().read(archive(file, npy("{}"), "other.npy")))
    with pytest.raises(FirthError, match="no such file"):
        list(Arrays().read("nothing.npz"))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("0\ta\t0", r"t\.tsv:2: 3 columns, expected 4"),
        ("1\ta\t1\tx", r"t\.tsv:2: row '1'.*there are 1 images"),
        ("²\ta\t1\tx", r"t\.tsv:2: row '²'"),
        ("-1\ta\t1\tx", "row '-1'"),
        ("0\ta\t0\tx", r"t\.tsv:2: row 0 is 'a' at line 1"),
        ("0\tb\t1\tx", r"t\.tsv:2: row 0 is 'a' at line 1"),
    ],
)
def test_bad_tables(file, row, message):
    path = archive(file, npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1, 2, 2)}") + bytes(4))
    with pytest.raises(FirthError, match=message):
        list(Arrays().read((path, file(f"0\ta\t0\tx\n{row}\n".encode(), "t.tsv"))))


# --- IDX ---


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_idx_images_and_labels(file, pack):
    images = file(pack(idx(3, 2, 2, data=bytes(range(12)))), "images")
    labels = file(pack(idx(3, data=b"\1\0\1")), "labels")
    result = list(Idx(names=("cat", "dog")).read((images, labels)))
    assert [image.label for image in result] == ["dog", "cat", "dog"]
    assert result[1].pixels.tolist() == [[[4], [5]], [[6], [7]]]
    assert [image.label for image in Idx().read(images)] == [None] * 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (idx(2, 2, 2, data=bytes(7)), "declares 2 images of 2×2 and ends in number 2"),
        (idx(2, 2, 2, data=bytes(9)), "more bytes than the 2 images"),
        (idx(2**32 - 1, 2**32 - 1, 2**32 - 1), "images of size"),
        (idx(2, 0, 2), "images of size 0×2"),
        (idx(2, 2, 2)[:9], "ends inside its header"),
        (idx(2, 2, 2, data=bytes(8), kind=13), "not an IDX file of images in bytes"),
        (idx(4, data=bytes(4)), "not an IDX file of images"),
        (b"\0", "not an IDX file of images"),
        (gzip.compress(idx(2, 2, 2, data=bytes(8)), mtime=0)[:-6], "truncated"),
    ],
)
def test_headers_of_idx_are_not_believed(file, content, message):
    with pytest.raises(FirthError, match=message):
        list(Idx().read(file(content)))


def test_labels_belong_to_images(file):
    images = file(idx(2, 1, 1, data=b"ab"), "images")
    for labels, message in [
        (idx(3, data=bytes(3)), "3 labels for 2 images"),
        (idx(2, data=b"\0"), "it ends after 1 labels"),
        (idx(2, data=b"\0\7"), "label 7 of image 2, but 1 names"),
    ]:
        with pytest.raises(FirthError, match=message):
            list(Idx(names=("cat",)).read((images, file(labels, "labels"))))


# --- folders ---


@settings(max_examples=50, deadline=None)
@given(pixels)
def test_ppm_comes_back_and_pillow_agrees(tmp_path_factory, made):
    from PIL import Image as Pillow

    content = image_files.encode(made)
    path = tmp_path_factory.mktemp("p") / "a.ppm"
    path.write_bytes(content)
    assert np.array_equal(image_files.load(path), made)
    theirs = np.array(Pillow.open(io.BytesIO(content)))
    assert np.array_equal(theirs.reshape(made.shape), made)


@pytest.mark.parametrize("kind", ["L", "RGB", "P", "RGBA", "1", "LA"])
def test_png_is_decoded(file, kind):
    from PIL import Image as Pillow

    made = Pillow.fromarray(np.arange(48, dtype=np.uint8).reshape(4, 4, 3)).convert(kind)
    content = io.BytesIO()
    made.save(content, "PNG")
    grey = kind in ("L", "1", "LA")
    wanted = np.array(made.convert("L" if grey else "RGB")).reshape(4, 4, 1 if grey else 3)
    assert np.array_equal(image_files.load(file(content.getvalue())), wanted)
    with pytest.raises(FirthError, match="not a whole PNG or JPEG"):
        image_files.load(file(content.getvalue()[:40]))


def test_without_pillow_the_extra_is_named(file, monkeypatch):
    monkeypatch.setattr(image_files, "find_spec", lambda name: None)
    with pytest.raises(FirthError, match=r"pip install 'firth\[images\]'"):
        image_files.load(file(b"\x89PNG"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"P6\n2 2\n255\n" + bytes(11), r"declares 2×2×3 = 12 bytes and has 11"),
        (b"P6\n2 2\n255\n" + bytes(13), "has 13"),
        (b"P5\n999999999 999999999\n255\n", "declares 999999999×999999999"),
        (b"P5\n0 0\n255\n", "has 0"),
        (b"P5\n2 2\n65535\n" + bytes(8), "damaged, or its samples are not bytes"),
        (b"P5\n2\n", "damaged"),
        (b"P6" + b"#" * 1000, "damaged"),
    ],
)
def test_headers_of_ppm_are_not_believed(file, content, message):
    with pytest.raises(FirthError, match=message):
        image_files.load(file(content))


def test_a_folder_and_its_table(tmp_path):
    made = [Image(np.full((2, 2, 3), i, np.uint8), ("red", "a box")[: i + 1], "ab"[i], f"{i}/x.ppm") for i in range(2)]
    form = Folder(columns=("name", "label", "caption"))
    form.save(tmp_path, made)
    for one, other in zip(form.read(tmp_path), made, strict=True):
        assert np.array_equal(one.pixels, other.pixels) and one[1:4] == other[1:4]
    assert (tmp_path / "captions.tsv").read_text() == "0/x.ppm\ta\tred\n1/x.ppm\tb\tred\n1/x.ppm\tb\ta box\n"
    (tmp_path / "small.ppm").write_bytes(image_files.encode(np.zeros((1, 1, 3), np.uint8)))
    table = tmp_path / "other.tsv"
    table.write_text("0/x.ppm\tred\nsmall.ppm\tblue\n")
    with pytest.raises(FirthError, match=r"other\.tsv:2: small\.ppm is an image of another size: 1×1×3, 0/x.ppm 2×2×3"):
        list(Folder().read((tmp_path, table)))
    assert len(list(Folder(size="any").read((tmp_path, table)))) == 2


@pytest.mark.parametrize("name", ["../x", "/etc/hosts", "", "a\0b", "x" * 300])
def test_names_do_not_lead_out_of_the_folder(tmp_path, name):
    (tmp_path / "captions.tsv").write_text(f"{name}\tred\n")
    with pytest.raises(FirthError, match=r"captions\.tsv:1: .* is not the name of a file|captions\.tsv: a binary file"):
        list(Folder().read(tmp_path))


def test_a_image_that_is_not_there_is_named(tmp_path):
    (tmp_path / "captions.tsv").write_text("boat.ppm\tred\n")
    (tmp_path / "boats.ppm").write_bytes(b"P5 1 1 255\n1")
    with pytest.raises(FirthError, match=r"did you mean '.*boats\.ppm'"):
        list(Folder().read(tmp_path))


@pytest.mark.parametrize("form", [Arrays(), Idx(), Folder()])
@pytest.mark.parametrize("count", [0, 3])
def test_images_come_in_one_file_or_two(form, count, tmp_path):
    with pytest.raises(FirthError, match=f"{count} files, but images come in one or two"):
        list(form.read(tuple(tmp_path / str(number) for number in range(count))))
