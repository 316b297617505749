"""What a feed's settings may be: each refusal is one line with a code, each address is read as it was meant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from db.enums import Compression, Transport, UnchangedPolicy
from db.errors import BadRequestError
from tasks.catalogue import config
from tasks.catalogue.config import Address, parse_address, shown_address


def refusal(check, *values):
    """The one line with which the check refuses."""
    with pytest.raises(BadRequestError) as refused:
        check(*values)
    error = refused.value
    assert error.code == "BAD_VALUE"
    assert error.message
    assert "\n" not in error.message + error.hint
    return f"{error.message} {error.hint}"


@pytest.mark.parametrize("key", ["a", "northfork", "4x4.parts_eu-2", "k" * 100], ids=lambda key: key[:20])
def test_valid_key_takes(key):
    assert config.valid_key(key) == key


@pytest.mark.parametrize(
    "key",
    [
        pytest.param("", id="nothing"),
        pytest.param("Northfork", id="capitals"),
        pytest.param("north fork", id="a space"),
        pytest.param("-x", id="a dash in front"),
        pytest.param(".x", id="a dot in front"),
        pytest.param("k" * 101, id="one character too many"),
        pytest.param("north\n", id="a newline at the end"),
        pytest.param("nörth", id="an accent"),
        pytest.param("a/b", id="a slash"),
    ],
)
def test_valid_key_refuses(key):
    assert "cannot be a feed key" in refusal(config.valid_key, key)


@pytest.mark.parametrize(
    "name, stored",
    [("Northfork", "Northfork"), (" 12 Häuser & Co. ", "12 Häuser & Co."), ("n" * 200, "n" * 200)],
    ids=["plain", "stripped", "the longest"],
)
def test_valid_name_takes(name, stored):
    assert config.valid_name(name, "retailer") == stored


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("", id="nothing"),
        pytest.param("   ", id="spaces"),
        pytest.param("n" * 201, id="one character too many"),
        pytest.param("a\nb", id="a newline"),
        pytest.param("a\x00b", id="a null character"),
        pytest.param("a\x1b[31mb", id="a terminal's escape"),
        pytest.param("a\udcffb", id="bytes that are not UTF-8"),
    ],
)
def test_valid_name_refuses(name):
    assert "the retailer must be" in refusal(config.valid_name, name, "retailer")


@pytest.mark.spec("002 5.2")
@pytest.mark.parametrize("hours", [1, 2, 4, 6, 12, 24])
def test_valid_frequency_takes_the_hours_of_the_design(hours):
    assert config.valid_frequency(hours) == hours


@pytest.mark.spec("002 5.2")
@pytest.mark.parametrize("hours", [-1, 0, 3, 5, 8, 23, 25, 48, 168])
def test_valid_frequency_refuses_other_hours(hours):
    assert "1, 2, 4, 6, 12, 24" in refusal(config.valid_frequency, hours)


@pytest.mark.spec("002 2.8.1")
@pytest.mark.parametrize("hours", [1, 48, 168])
def test_valid_range_takes_its_edges(hours):
    assert config.valid_range(hours, config.EXPIRY_HOURS, "--expiry-hours") == hours


@pytest.mark.spec("002 2.8.1")
@pytest.mark.parametrize("hours", [-1, 0, 169, 10_000])
def test_valid_range_refuses_what_lies_outside(hours):
    said = refusal(config.valid_range, hours, config.EXPIRY_HOURS, "--expiry-hours")
    assert "--expiry-hours must be a whole number from 1 to 168" in said


@pytest.mark.parametrize(
    "value, option, taken",
    [
        pytest.param(0, "--max-rows", False, id="no rows"),
        pytest.param(1, "--max-rows", True, id="one row"),
        pytest.param(2**31 - 1, "--max-rows", True, id="as many rows as the column holds"),
        pytest.param(2**31, "--max-rows", False, id="one row more"),
        pytest.param(2**31 - 1, "--max-products", True, id="as many products as the column holds"),
        pytest.param(2**31, "--max-products", False, id="one product more"),
        pytest.param(0, "--max-bytes", False, id="no bytes"),
        pytest.param(2**40, "--max-bytes", True, id="a terabyte"),
        pytest.param(2**63, "--max-bytes", False, id="more bytes than the column holds"),
    ],
)
def test_valid_limit_is_what_can_be_stored(value, option, taken):
    if taken:
        assert config.valid_limit(value, option) == value
    else:
        assert option in refusal(config.valid_limit, value, option)


FINGERPRINT = "SHA256:" + "Ab+/" * 10 + "xyz"


@pytest.mark.parametrize("text", [FINGERPRINT, FINGERPRINT + "="], ids=["as OpenSSH prints it", "padded"])
def test_valid_fingerprint_takes(text):
    assert config.valid_fingerprint(text) == FINGERPRINT


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param(FINGERPRINT.removeprefix("SHA256:"), id="no name of the hash"),
        pytest.param(FINGERPRINT[:-1], id="too short"),
        pytest.param(FINGERPRINT + "x", id="too long"),
        pytest.param("MD5:" + "ab:" * 15 + "ab", id="the old form"),
        pytest.param(FINGERPRINT + "\n", id="a newline at the end"),
    ],
)
def test_valid_fingerprint_refuses(text):
    assert "--host-key" in refusal(config.valid_fingerprint, text)


def test_valid_gates_reads_shares_and_off():
    words = ["spike=0.5", "url_hash=1", "stock=off"]
    assert config.valid_gates(words) == {"spike": 0.5, "url_hash": 1.0, "stock": False}


def test_valid_gates_reads_parts_by_name():
    words = ["spike=share:0.5,least:20,most:1000", "url_hash=most:5000"]
    expected = {"spike": {"share": 0.5, "least": 20, "most": 1000}, "url_hash": {"most": 5000}}
    assert config.valid_gates(words) == expected


@pytest.mark.parametrize(
    "word",
    [
        pytest.param("", id="nothing"),
        pytest.param("speed=0.5", id="no such gate"),
        pytest.param("spike", id="no value"),
        pytest.param("spike=", id="an empty value"),
        pytest.param("spike=0", id="zero"),
        pytest.param("spike=-0.1", id="negative"),
        pytest.param("spike=1.01", id="more than all"),
        pytest.param("spike=nan", id="not a number"),
        pytest.param("spike=inf", id="infinite"),
        pytest.param("spike=half", id="a word"),
        pytest.param("spike\n=1", id="a newline in the name"),
        pytest.param("spike=share:0.5,share:0.6", id="a part twice"),
        pytest.param("spike=share:2", id="a part out of range"),
        pytest.param("spike=most:0", id="a count of none"),
        pytest.param("spike=most:1.5", id="a count that is not whole"),
        pytest.param("spike=most:99999999999", id="a count past what a number holds"),
        pytest.param("spike=factor:2", id="a part that it does not have"),
        pytest.param("stock=most:5", id="a part that another gate has"),
        pytest.param("spike=share:0.5,", id="an empty part"),
    ],
)
def test_valid_gates_refuses(word):
    assert "gate" in refusal(config.valid_gates, [word])


def test_valid_unchanged_takes_its_two_words():
    assert [config.valid_unchanged(word) for word in ("age", "refresh")] == list(UnchangedPolicy)


@pytest.mark.parametrize("word", ["", "AGE", "never", "age\n"])
def test_valid_unchanged_refuses(word):
    assert "--unchanged is age or refresh" in refusal(config.valid_unchanged, word)


@pytest.mark.parametrize(
    "url, address",
    [
        pytest.param(
            "sftp://user@host:2222/feeds/catalog.csv.gz",
            Address(Transport.SFTP, "host", 2222, "/feeds/catalog.csv.gz", "user"),
            id="sftp with a port",
        ),
        pytest.param(
            "sftp://user@host/c.csv", Address(Transport.SFTP, "host", 22, "/c.csv", "user"), id="port of sftp"
        ),
        pytest.param("ftp://user@host/c.csv", Address(Transport.FTP, "host", 21, "/c.csv", "user"), id="port of ftp"),
        pytest.param("SFTP://user@Host/C.csv", Address(Transport.SFTP, "host", 22, "/C.csv", "user"), id="capitals"),
        pytest.param("sftp://u@host:65535/c", Address(Transport.SFTP, "host", 65535, "/c", "u"), id="the last port"),
        pytest.param("sftp://u@host:1/c", Address(Transport.SFTP, "host", 1, "/c", "u"), id="the first port"),
        pytest.param("sftp://u@[::1]:2222/c", Address(Transport.SFTP, "::1", 2222, "/c", "u"), id="IPv6 with a port"),
        pytest.param(
            "ftp://u@[2001:db8::7]/c", Address(Transport.FTP, "2001:db8::7", 21, "/c", "u"), id="IPv6 without a port"
        ),
        pytest.param("sftp://u@10.0.0.7/c", Address(Transport.SFTP, "10.0.0.7", 22, "/c", "u"), id="IPv4"),
        pytest.param(
            "sftp://feeds%40shop.example@host/c",
            Address(Transport.SFTP, "host", 22, "/c", "feeds@shop.example"),
            id="user with an at sign",
        ),
        pytest.param(
            "sftp://u@host/my%20feeds/100%25%3F%23.csv",
            Address(Transport.SFTP, "host", 22, "/my feeds/100%?#.csv", "u"),
            id="path with encoded characters",
        ),
        pytest.param(
            "sftp://u@host/%C3%A4.csv", Address(Transport.SFTP, "host", 22, "/ä.csv", "u"), id="path with an accent"
        ),
        pytest.param("file:///data/c.csv", Address(Transport.FILE, None, None, "/data/c.csv", None), id="a local file"),
        pytest.param(
            "file:///a%20b.csv", Address(Transport.FILE, None, None, "/a b.csv", None), id="a local file with a space"
        ),
    ],
)
def test_parse_address_reads(url, address):
    assert parse_address(url) == address


@pytest.mark.parametrize(
    "path, compression", [("/c.csv.gz", Compression.GZIP), ("/c.csv", Compression.NONE), ("/gz", Compression.NONE)]
)
def test_compression_follows_the_name(path, compression):
    assert Address(Transport.FILE, None, None, path, None).compression is compression


@pytest.mark.parametrize(
    "url, part",
    [
        pytest.param("", "sftp, ftp or file", id="nothing"),
        pytest.param("catalog.csv", "sftp, ftp or file", id="a bare name"),
        pytest.param("/data/catalog.csv", "sftp, ftp or file", id="a bare path"),
        pytest.param("https://u@host/c.csv", "sftp, ftp or file", id="another scheme"),
        pytest.param("s3://bucket/c.csv", "sftp, ftp or file", id="a bucket"),
        pytest.param("sftp://host/c.csv", "no user name", id="no user"),
        pytest.param("sftp://@host/c.csv", "no user name", id="an empty user"),
        pytest.param("sftp:///c.csv", "no host", id="no host"),
        pytest.param("sftp://u@/c.csv", "no host", id="a user and no host"),
        pytest.param("sftp://u@:22/c.csv", "no host", id="a port and no host"),
        pytest.param("sftp://u@host", "no file path", id="no path"),
        pytest.param("sftp://u@host/", "no file path", id="the root"),
        pytest.param("sftp://u@host/feeds/", "no file path", id="a folder"),
        pytest.param("sftp://u@host:0/c", "port 0", id="port zero"),
        pytest.param("sftp://u@host:65536/c", "cannot be read", id="a port past the last"),
        pytest.param("sftp://u@host:-1/c", "cannot be read", id="a negative port"),
        pytest.param("sftp://u@host:ssh/c", "cannot be read", id="a port in words"),
        pytest.param("sftp://u@[::1/c", "cannot be read", id="a bracket that does not close"),
        pytest.param("sftp://u@[nonsense]/c", "cannot be read", id="brackets around no address"),
        pytest.param("sftp://u@host/c?x=1", "no ? or #", id="a query"),
        pytest.param("sftp://u@host/c#top", "no ? or #", id="a fragment"),
        pytest.param("file:///c.csv?x", "no ? or #", id="a query of a local file"),
        pytest.param("file://host/c.csv", "on this machine", id="a local file on a host"),
        pytest.param("file:c.csv", "on this machine", id="a relative path"),
        pytest.param("file:///", "on this machine", id="the local root"),
        pytest.param("file:///data/", "on this machine", id="a local folder"),
        pytest.param("sftp://u@host/a%0Ab.csv", "control characters", id="an encoded newline in the path"),
        pytest.param("sftp://u@host/a%00b.csv", "control characters", id="an encoded null in the path"),
        pytest.param("file:///a%7Fb.csv", "control characters", id="an encoded delete in a local path"),
        pytest.param("sftp://u@host/" + "a" * 1000, "1,000 characters", id="a path too long"),
    ],
)
def test_parse_address_refuses(url, part):
    assert part in refusal(parse_address, url)


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("sftp://u@host/a\nb.csv", id="a newline in the path"),
        pytest.param("sftp://u@host/a\tb.csv", id="a tab in the path"),
        pytest.param("file:///a\rb.csv", id="a carriage return in a local path"),
        pytest.param("sftp://u@ho\nst/c.csv", id="a newline in the host"),
        pytest.param("sftp://u%0A@host/c.csv", id="an encoded newline in the user"),
        pytest.param("sftp://u%00@host/c.csv", id="an encoded null in the user"),
        pytest.param("\x01sftp://u@host/c.csv", id="a control character in front"),
        pytest.param("sftp://u@host/a\udcff.csv", id="bytes that are not UTF-8 in the path"),
        pytest.param("sftp://u@host/a%FF.csv", id="encoded bytes that are not UTF-8 in the path"),
        pytest.param("sftp://u@host/c.csv?", id="an empty query"),
    ],
)
def test_parse_address_refuses_what_it_would_not_store_as_written(url):
    refusal(parse_address, url)


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("sftp://u:hunter2@host/c", id="plain"),
        pytest.param("ftp://u:hunter2@host:21/c", id="with a port"),
        pytest.param("sftp://u:hunter2@[::1]/c", id="with IPv6"),
        pytest.param("sftp://u:hunter2%40@host/c", id="encoded"),
        pytest.param("sftp://u:hunter2@x@host/c", id="with an at sign"),
        pytest.param("sftp://u:hunter2@host", id="and no path"),
        pytest.param("sftp://u:hunter2@host:99999/c", id="and a bad port"),
        pytest.param("file://u:hunter2@/c", id="of a local file"),
        pytest.param("https://u:hunter2@host/c", id="and another scheme"),
        pytest.param("sftp://u:hunter2/3@host/c", id="with a slash"),
        pytest.param("sftp://u:hunter2#3@host/c", id="with a hash"),
        pytest.param("sftp://u%3Ahunter2@host/c", id="after an encoded colon"),
        pytest.param("sftp://u%3ahunter2@host/c", id="after an encoded colon in small letters"),
        pytest.param("sftp://u%%3Ahunter2@host/c", id="after a percent sign and an encoded colon"),
        pytest.param("file://u%3Ahunter2/3@host/c", id="of a local file, after an encoded colon"),
    ],
)
def test_parse_address_refuses_a_password_without_repeating_it(url):
    said = refusal(parse_address, url)
    assert "hunter2" not in said
    assert "holds a password" in said


def test_parse_address_refuses_an_empty_password():
    assert "--password-stdin" in refusal(parse_address, "sftp://u:@host/c")


NAMES = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF, exclude_categories=["Cc"]), min_size=1)
HOSTS = st.sampled_from(["files.example.com", "10.0.0.7", "::1", "fe80::1", "2001:db8::7"])


@given(NAMES.filter(lambda user: ":" not in user), HOSTS, st.integers(1, 65535), NAMES)
def test_shown_address_reads_back_as_the_same(user, host, port, name):
    remote = Address(Transport.SFTP, host, port, f"/feeds/{name.strip('/')}x", user)
    local = Address(Transport.FILE, None, None, f"/{name.strip('/')}x", None)
    for address in (remote, local):
        assert parse_address(shown_address(vars(address))) == address
