"""Splits by size: about their fraction of the bytes, nothing lost, whatever the sizes of the documents."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from firth.config.schema import Text
from firth.datasets import document_sizes
from firth.datasets.byte_splits import BLOCK, MIN_CUT, ByteSplits, nearest_cut, target_bytes
from firth.datasets.document_sizes import measure_documents
from firth.datasets.sources import open_source
from firth.datasets.text_dataset import documents
from firth.errors import FirthError

SENTENCES = {
    "english": "The red boat left the old harbour at noon. Nobody knew when it would come back! ",
    "turkish": "Kırmızı tekne öğle vakti eski limandan ayrıldı. Ne zaman döneceğini kimse bilmiyordu. ",
    "chinese": "红色的小船中午离开了旧港口。没有人知道它什么时候回来！",
    "arabic": "غادر القارب الأحمر الميناء القديم عند الظهر. لم يعرف أحد متى سيعود؟ ",
    "unbroken": "abcdefghij",
}


def text_of(language: str, size: int, paragraphs: bool = True) -> str:
    """About so many bytes of numbered sentences, so that no two parts are the same."""
    sentence, rows, written = SENTENCES[language], [], 0
    while written < size:
        rows.append(f"{sentence}{len(rows)}" + ("\n\n" if paragraphs and len(rows) % 7 == 6 else ""))
        written += len(rows[-1].encode())
    return "".join(rows).strip("\n")


def split(folder, text, **config) -> dict[str, list[str]]:
    data = Text(text=tuple(map(str, text)) if isinstance(text, list) else (str(text),), **config)
    return {name: list(part) for name, part in documents(data, 1, folder / "cache").items()}


def size(texts) -> int:
    return sum(len(text.encode()) for text in texts)


def check_fractions(splits, source, valid=0.05, test=0.05):
    total = size(source)
    for name, fraction in (("valid", valid), ("test", test)):
        assert size(splits[name]) == pytest.approx(fraction * total, rel=0.2)
    assert Counter("".join(map("".join, splits.values()))) == Counter("".join(source))


@pytest.mark.parametrize("language", SENTENCES)
@pytest.mark.parametrize("paragraphs", [True, False])
def test_four_files_of_a_folder_are_split_three_ways(tmp_path, language, paragraphs):
    texts = [text_of(language, 700_000, paragraphs) for _ in range(4)]
    (tmp_path / "folder").mkdir()
    for number, text in enumerate(texts):
        (tmp_path / "folder" / f"{number}.txt").write_text(text, encoding="utf-8")
    splits = split(tmp_path, tmp_path / "folder")
    check_fractions(splits, texts)
    assert all(len(splits[name]) >= 20 for name in ("valid", "test"))
    for text in texts:  # each file gives its part
        assert size(piece for piece in splits["valid"] if piece in text) > 0.02 * len(text.encode())


@pytest.mark.parametrize("document", ["auto", "file"])
def test_a_single_novel_is_split_three_ways(tmp_path, document):
    novel = text_of("english", 3_000_000)
    (tmp_path / "novel.txt").write_text(novel)
    from firth.datasets.sources import open_source

    source = list(open_source((str(tmp_path / "novel.txt"),), Text(document=document), tmp_path))
    splits = split(tmp_path, tmp_path / "novel.txt", document=document)
    check_fractions(splits, source)
    assert len(splits["valid"]) >= 20 and len(splits["test"]) >= 20


def test_one_line_without_a_space_is_split_three_ways(tmp_path):
    (tmp_path / "line.txt").write_text(line := text_of("unbroken", 300_000, paragraphs=False))
    check_fractions(split(tmp_path, tmp_path / "line.txt"), [line])


def test_a_large_document_among_small_ones_gives_its_part_and_no_more(tmp_path):
    small = [f"Line {number} of a small file.\n" for number in range(40_000)]
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "0.txt").write_text(huge := text_of("english", 1_000_000))
    for number in range(100):
        (tmp_path / "folder" / f"n{number}.txt").write_text("".join(small[number * 400 : (number + 1) * 400]))
    splits = split(tmp_path, tmp_path / "folder")
    total = size([huge, *small])
    for name in ("valid", "test"):
        assert size(splits[name]) == pytest.approx(0.05 * total, rel=0.2)
        assert size(piece for piece in splits[name] if piece in huge) == pytest.approx(0.05 * len(huge), rel=0.2)


SIZES = st.lists(st.integers(1, 20) | st.integers(500, 3000) | st.integers(1, 60_000), min_size=3, max_size=60)


@settings(deadline=None)
@given(SIZES, st.sampled_from([0.0, 0.05, 0.2, 0.5]), st.sampled_from([0.0, 0.1, 0.3]), st.integers(0, 2**64 - 1))
@example([3000] * 60, 0.05, 0.1, 1)
@example([1, 1, 1000], 0.5, 0.49, 3)
def test_pieces_make_up_the_text_and_parts_have_their_size(sizes, valid, test, seed):
    texts = [text_of("english", size)[:size].replace("\n", "x") for size in sizes]
    targets = target_bytes(sum(sizes), (valid, test), 0)
    plan = ByteSplits(np.array(sizes, np.uint32), targets, seed)
    pieces = list(plan.pieces(texts))
    assert "".join(text for _, text in pieces) == "".join(texts)
    assert all(text.strip() for _, text in pieces)
    counts = [sum(len(text) for split, text in pieces if split == number) for number in range(3)]
    whole = max((size for size in sizes if size <= plan.max_whole), default=0)
    for target, count in zip(targets, counts[1:], strict=True):
        assert abs(count - target) <= 0.2 * target + whole
        assert (count > 0) == (target > 0)
    assert counts[0] > 0


@settings(deadline=None)
@given(st.integers(0, 3 * BLOCK), st.integers(0, 2**32))
def test_small_documents_stay_whole_and_many_are_exact(total, seed):
    generator = np.random.default_rng(seed)
    sizes = np.minimum(generator.lognormal(5, 1, total + 2000), MIN_CUT).astype(np.uint32) + 1
    plan = ByteSplits(sizes, target_bytes(int(sizes.sum()), (0.05, 0.05), 0), seed)
    splits = np.concatenate(list(plan.assign()))
    if plan.large == 0:
        assert set(splits) == {0, 1, 2}
    for number in (1, 2):
        assert abs(int(sizes[splits == number].sum()) - plan.targets[number - 1]) <= 2 * MIN_CUT


def test_every_document_has_the_same_chance(tmp_path):
    sizes = np.array([100, 900] * 100, np.uint32)
    targets = target_bytes(int(sizes.sum()), (0.1, 0.2), 0)
    sampled = np.array([np.concatenate(list(ByteSplits(sizes, targets, seed).assign())) for seed in range(1500)])
    for number, fraction in ((1, 0.1), (2, 0.2)):
        chances = (sampled == number).mean(0)
        assert abs(chances[::2].mean() - fraction) < 0.02 and abs(chances[1::2].mean() - fraction) < 0.02
        assert np.all(np.abs(chances - fraction) < 6 * np.sqrt(fraction * (1 - fraction) / 1500))


def test_held_out_text_has_a_limit(tmp_path):
    (tmp_path / "text.txt").write_text("\n".join(f"This is line {number}." for number in range(20_000)))
    splits = split(tmp_path, tmp_path / "text.txt", max_heldout=10_000)
    assert size(splits["valid"]) == pytest.approx(10_000, rel=0.01)
    assert size(splits["test"]) == pytest.approx(10_000, rel=0.01)


def test_a_split_with_files_of_its_own_takes_nothing_of_the_text(tmp_path):
    (tmp_path / "text.txt").write_text(text := text_of("english", 100_000))
    (tmp_path / "valid.txt").write_text("one\ntwo")
    splits = split(tmp_path, tmp_path / "text.txt", valid=(str(tmp_path / "valid.txt"),), document="file")
    assert splits["valid"] == ["one\ntwo"] and size(splits["test"]) == pytest.approx(5000, rel=0.2)
    assert Counter("".join(splits["train"] + splits["test"])) == Counter(text)


def test_documents_can_be_counted_as_before(tmp_path):
    (tmp_path / "text.txt").write_text("\n".join("x" * (number + 1) for number in range(200)))
    splits = split(tmp_path, tmp_path / "text.txt", split_by="documents")
    assert [len(part) for part in splits.values()] == [180, 10, 10]


def test_too_little_to_split_is_refused(tmp_path):
    (tmp_path / "text.txt").write_text("one\ntwo")
    with pytest.raises(FirthError, match=r"text.txt: 2 documents, too few to split three ways; use --document line"):
        split(tmp_path, tmp_path / "text.txt")


def test_sizes_are_measured_once(tmp_path, monkeypatch):
    (tmp_path / "text.txt").write_text("one\ntwö\n三三\n")
    config = Text(text=(str(tmp_path / "text.txt"),))
    source = open_source(config.text, config, tmp_path)
    assert measure_documents(source, tmp_path).sizes.tolist() == [3, 4, 6]
    with monkeypatch.context() as patched:
        patched.setattr(document_sizes, "_measure", None)
        assert measure_documents(source, tmp_path).sizes.tolist() == [3, 4, 6]
    (path,), said = (tmp_path / "counts").iterdir(), []
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert measure_documents(source, tmp_path, said.append).sizes.tolist() == [3, 4, 6] and "damaged" in said[0]


@pytest.mark.parametrize("split_by", ["bytes", "documents"])
@settings(max_examples=40, deadline=None)
@given(copies=st.lists(st.integers(1, 6), min_size=3, max_size=60), seed=st.integers(0, 99))
def test_documents_with_the_same_text_are_in_one_split(split_by, copies, seed):
    distinct = [f"document {number} {'x' * (number * 37 % 90)}" for number in range(len(copies))]
    texts = [text for text, count in zip(distinct, copies, strict=True) for _ in range(count)]
    np.random.default_rng(seed).shuffle(texts)
    with tempfile.TemporaryDirectory() as folder:
        (path := Path(folder, "text.txt")).write_text("\n".join(texts))
        splits = split(Path(folder), path, split_by=split_by, document="line")
        own = split(Path(folder), path, split_by=split_by, document="line", group_duplicates=False)
    assert Counter(text for part in splits.values() for text in part) == Counter(texts)
    assert Counter(text for part in own.values() for text in part) == Counter(texts)
    assert len(splits) == 3 and all(splits.values())
    assert sum(len(set(part)) for part in splits.values()) == len(copies)  # none is in two


def test_repeats_keep_the_fractions_and_common_texts_stay_in_training(tmp_path):
    texts = [f"line {number} {'y' * (number % 50)}" for number in range(4000)] * 4 + ["boilerplate"] * 3000
    (tmp_path / "text.txt").write_text("\n".join(texts))
    splits = split(tmp_path, tmp_path / "text.txt", document="line")
    total = size(texts)
    for name in ("valid", "test"):
        assert size(splits[name]) / total == pytest.approx(0.05, rel=0.05) and "boilerplate" not in splits[name]


def test_a_large_text_given_twice_is_cut_in_the_same_places(tmp_path):
    (tmp_path / "text.txt").write_text(text_of("english", 60_000))
    path = str(tmp_path / "text.txt")
    once, twice = (split(tmp_path, names, document="file") for names in ([path], [path, path]))
    assert {name: len(part) for name, part in twice.items()} == {name: 2 * len(part) for name, part in once.items()}
    assert not set(twice["test"]) & set(twice["train"]) and size(twice["test"]) == 2 * size(once["test"])


def test_fewer_than_three_different_texts_are_split_like_others(tmp_path):
    (tmp_path / "text.txt").write_text("\n".join(["one two", "three"] * 100))
    assert [len(part) for part in split(tmp_path, tmp_path / "text.txt", document="line").values()][1:] > [0, 0]


@given(st.lists(st.integers(0, 9), max_size=80), st.integers(1, 30))
def test_repeats_are_found_in_parts(texts, most):
    hashes, before = np.array([hash((text, "x")) % 2**64 for text in texts], np.uint64), document_sizes._SORTED
    document_sizes._SORTED = most
    try:
        repeats = document_sizes.find_repeats(hashes)
    finally:
        document_sizes._SORTED = before
    wanted = [(at, texts.index(text)) for at, text in enumerate(texts) if text in texts[:at]]
    assert list(zip(repeats.documents.tolist(), repeats.firsts.tolist(), strict=True)) == wanted


@pytest.mark.parametrize(
    ("text", "place", "wanted"),
    [
        ("One two.\n\nThree four. Five six seven", 14, "One two.\n\n"),
        ("One two. three\nfour five six seven", 12, "One two. "),
        ("一二三。四五六七八九十一二三四五", 6, "一二三。"),
        ("one two three four five six seven", 14, "one two three "),
        ("abcdefghijklmnopqrst", 10, "abcdefghij"),
        ("aaaaaaaaae\u0301bbbbbbbbbb", 10, "aaaaaaaaa"),
    ],
)
def test_texts_are_cut_at_the_best_boundary_near(text, place, wanted):
    assert text[: nearest_cut(text, place, 5 if " " in text or "。" in text else 3)] == wanted
