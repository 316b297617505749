"""A file as blocks of text: inflated, decoded, bounded."""

import codecs
import gzip

import pytest

from tasks.catalogue import stream
from tasks.catalogue.dialect import PROBE_BYTES, UnreadableFileError, WrongGuessError, detect
from tasks.errors import FileTooLargeError
from tests.delivered import GOOD, lines, rows, survey, write

TEXT = "SKU,Name\né,2\n3,4\n"
BEYOND = rows(10_000)  # more text than is looked at to find out what a file is
assert len("".join(BEYOND)) > PROBE_BYTES


def text(path, *, max_bytes=10_000_000, dialect=None):
    return b"".join(stream.blocks(path, dialect or detect(path), max_bytes=max_bytes)).decode()


@pytest.fixture(params=[1, 2, 3, 5, 4_194_304], ids=lambda size: f"blocks of {size}")
def _any_block(request, monkeypatch):
    monkeypatch.setattr(stream, "BLOCK_BYTES", request.param)


@pytest.mark.usefixtures("_any_block")
@pytest.mark.parametrize(
    "content",
    [
        pytest.param(TEXT.encode(), id="UTF-8"),
        pytest.param(codecs.BOM_UTF8 + TEXT.encode(), id="UTF-8, marked"),
        pytest.param(TEXT.encode("utf-16-le"), id="UTF-16 LE"),
        pytest.param(TEXT.encode("utf-16-be"), id="UTF-16 BE"),
        pytest.param(codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"), id="UTF-16 LE, marked"),
        pytest.param(codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), id="UTF-16 BE, marked"),
        pytest.param(gzip.compress(TEXT.encode()), id="gzip"),
        pytest.param(b"".join(gzip.compress(bytes([byte])) for byte in TEXT.encode()), id="a gzip member per byte"),
        pytest.param(gzip.compress(TEXT.encode()) + bytes(600), id="gzip with padding"),
        pytest.param(gzip.compress(codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le")), id="UTF-16 in gzip"),
        pytest.param(TEXT.replace("\n", "\r").encode(), id="carriage returns alone"),
        pytest.param(TEXT.replace("3", "3\x00").encode(), id="zero bytes"),
    ],
)
def test_blocks_give_the_text_whatever_it_was(tmp_path, content):
    assert text(write(tmp_path, content)) == TEXT


@pytest.mark.usefixtures("_any_block")
@pytest.mark.parametrize(
    "content, better",
    [
        pytest.param(TEXT.encode("cp1252"), {"encoding": "cp1252"}, id="cp1252"),
        pytest.param("a,b\n1,café".encode("cp1252"), {"encoding": "cp1252"}, id="cp1252 that ends with it"),
        pytest.param("a,ü\nö,é\n".encode() + b"\xe9\n", {"is_damaged": True}, id="UTF-8 with one damaged byte"),
        pytest.param(b"\xe9," + "a,ü\nö,é\n".encode(), {"is_damaged": True}, id="a damaged byte first"),
        pytest.param("a,ü\nö,é".encode()[:-1], {"is_damaged": True}, id="UTF-8 that ends within a character"),
    ],
)
def test_blocks_say_how_else_to_read_what_is_not_utf_8(tmp_path, content, better):
    """By the whole file, so that one byte does not spoil every other."""
    path = write(tmp_path, content)
    with pytest.raises(WrongGuessError) as wrong:
        text(path)
    assert {name: getattr(wrong.value.better, name) for name in better} == better
    read = text(path, dialect=wrong.value.better)
    assert ("\ufffd" in read) is ("is_damaged" in better)


@pytest.mark.parametrize(
    "damage, said",
    [
        pytest.param(lambda packed: packed[:-9], "it ends early", id="cut short"),
        pytest.param(lambda packed: packed[: len(packed) // 2], "it ends early", id="cut in half"),
        pytest.param(lambda packed: packed[:-6] + b"\xff" + packed[-5:], "cannot be inflated", id="another checksum"),
        pytest.param(lambda packed: packed[:9_000] + bytes(500) + packed[9_500:], "cannot be inflated", id="a hole"),
        pytest.param(lambda packed: packed + b"rubbish", "cannot be inflated", id="something behind it"),
    ],
)
def test_damaged_gzip_is_refused(tmp_path, damage, said):
    packed = gzip.compress(lines(*BEYOND).encode())
    with pytest.raises(UnreadableFileError, match=said) as refused:
        survey(write(tmp_path, damage(packed)))
    assert refused.value.code == "PARSE_ERROR"


@pytest.mark.spec("002 7.3.1")
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_more_bytes_than_allowed_are_refused(tmp_path, pack):
    path = write(tmp_path, pack(TEXT.encode()))
    size = len(TEXT.encode())
    assert text(path, max_bytes=size) == TEXT
    with pytest.raises(FileTooLargeError, match="inflates to more than the 17 bytes") as refused:
        text(path, max_bytes=size - 1)
    assert refused.value.code == "FILE_SIZE_LIMIT_EXCEEDED"


@pytest.mark.spec("002 7.3.1")
def test_gzip_bomb_is_refused_before_it_is_inflated(tmp_path):
    """A gigabyte of one letter, of which a few blocks are looked at."""
    bomb = gzip.compress(b"a,b\n") + gzip.compress(b"x" * 50_000_000, 1) * 20
    with pytest.raises(FileTooLargeError):
        text(write(tmp_path, bomb), max_bytes=20_000_000)


@pytest.mark.parametrize(
    "ends, encoding, title",
    [
        pytest.param("2,,Café,https://a,1\n".encode("cp1252"), "cp1252", "Café", id="cp1252"),
        pytest.param("2,,Café \u201c8\u2033".encode("cp1252", "ignore"), "cp1252", None, id="cp1252 in a ragged row"),
        pytest.param("2,,Café,https://a,1\n".encode(), "utf-8", "Café", id="UTF-8"),
        pytest.param("2,,Çafé,https://a,1\n".encode() + b"\xe9,\n", "utf-8", "Çafé", id="UTF-8 with a damaged byte"),
    ],
)
def test_encoding_may_show_far_behind_the_start(tmp_path, ends, encoding, title):
    surveyed = survey(write(tmp_path, lines(*BEYOND).encode() + ends))
    assert surveyed.reading.document()["encoding"] == encoding
    assert surveyed.rows_read == len(BEYOND) + ends.count(b"\n") + (title is None)
    read = text(surveyed.reading.path, dialect=surveyed.reading.dialect)
    assert title is None or f",{title}," in read


def test_what_was_found_out_is_told(tmp_path):
    damaged = lines(GOOD, "i-2,,Çafé,https://a,1").encode() + b"i-3,,T\xe9nt,https://b,1\n"
    document = survey(write(tmp_path, gzip.compress(damaged))).reading.document()
    told = {name: document[name] for name in ("compression", "encoding", "delimiter", "is_damaged")}
    assert told == {"compression": "GZIP", "encoding": "utf-8", "delimiter": ",", "is_damaged": True}
