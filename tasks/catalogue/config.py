"""A feed's settings: what each may be, and how its address is read. Pure; refuses with one line."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from db.enums import Compression, Transport, UnchangedPolicy
from db.errors import BadRequestError
from tasks import plain_ftp
from tasks.catalogue.breaker import GATES, PARTS
from tasks.ssh_algorithms import LEGACY_NAMES

FREQUENCY_HOURS = (1, 2, 4, 6, 12, 24)
EXPIRY_HOURS = (1, 168)
HEARTBEAT_HOURS = (0, 8760)
DEFAULT_MAX_BYTES = 500_000_000
DEFAULT_MAX_ROWS = 500_000
INFLATED_FACTOR = 20

_KEY = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
_FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")
_DEFAULT_PORT = {Transport.SFTP: 22, Transport.FTP: 21}


def refuse(message: str, hint: str = "") -> BadRequestError:
    return BadRequestError(message, code="BAD_VALUE", hint=hint)


def valid_key(key: str) -> str:
    if not _KEY.fullmatch(key):
        message = f"{key!r} cannot be a feed key"
        raise refuse(message, "use up to 100 lower-case letters, digits, dots, dashes and underscores")
    return key


def valid_name(name: str, what: str) -> str:
    if not name.strip() or len(name) > 200 or not name.isprintable():
        message = f"the {what} must be 1 to 200 printable characters"
        raise refuse(message)
    return name.strip()


def valid_frequency(hours: int) -> int:
    if hours not in FREQUENCY_HOURS:
        listed = ", ".join(map(str, FREQUENCY_HOURS))
        message = f"--every {hours} is not offered"
        raise refuse(message, f"choose {listed} hours, or leave it out for runs on request only")
    return hours


def valid_range(value: int, bounds: tuple[int, int], option: str) -> int:
    low, high = bounds
    if not isinstance(value, int) or not low <= value <= high:
        message = f"{option} must be a whole number from {low} to {high}, not {value}"
        raise refuse(message)
    return value


def valid_limit(value: int, option: str) -> int:
    return valid_range(value, (1, 2**53 if option == "--max-bytes" else 2**31 - 1), option)


def valid_fingerprint(text: str) -> str:
    bare = text.rstrip("=")
    if not _FINGERPRINT.fullmatch(bare):
        message = "--host-key is not a SHA256 fingerprint"
        raise refuse(message, "it looks like SHA256:… with 43 characters, as `ssh-keygen -lf` prints it")
    return bare


def valid_legacy(names: list[str]) -> tuple[str, ...]:
    """Old SSH algorithms by name, or `none` to accept no more of them."""
    if names == ["none"]:
        return ()
    for name in names:
        if name not in LEGACY_NAMES:
            message = f"--legacy-algorithm {name!r} is not offered"
            raise refuse(message, f"the old algorithms are {', '.join(LEGACY_NAMES)}; `none` accepts none of them")
    return tuple(name for name in LEGACY_NAMES if name in names)


def refuse_plain_ftp(address: "Address", *, is_confirmed: bool) -> None:
    """Before a feed is set to plain FTP: this installation must allow it, and a person must know what it means."""
    if address.transport is not Transport.FTP:
        return
    if not plain_ftp.is_allowed():
        message = "plain FTP is switched off here: it sends the password in clear text"
        raise refuse(message, f"use sftp://, or set {plain_ftp.VARIABLE}=true")
    if not is_confirmed:
        raise refuse(plain_ftp.WARNING, "if you must: --i-understand-ftp-is-insecure")


def valid_gates(words: list[str]) -> dict[str, Any]:
    """Of each gate named its own limits: `NAME=SHARE`, `NAME=PART:NUMBER,...`, `NAME=off`, or `NAME=default` again."""
    gates: dict[str, Any] = {}
    for word in words:
        name, _, value = word.partition("=")
        if name not in GATES:
            message = f"there is no gate {name!r}"
            raise refuse(message, f"the gates are {', '.join(GATES)}")
        gates[name] = {"off": False, "default": None}[value] if value in {"off", "default"} else _limits(name, value)
    return gates


def _limits(name: str, value: str) -> float | dict[str, float | int]:
    """A bare number is a share; parts by name are kept by name."""
    if ":" not in value:
        return _number(name, "share", value)
    named = [part.partition(":") for part in value.split(",")]
    limits = {part: _number(name, part, number) for part, _, number in named}
    if len(limits) < len(named):
        message = f"--gate {name} names a part twice"
        raise refuse(message)
    return limits


def _number(name: str, part: str, text: str) -> float | int:
    if part not in PARTS[name]:
        message = f"the gate {name} has no part {part!r}"
        raise refuse(message, f"it has {', '.join(PARTS[name])}")
    if part != "share" and text.isdecimal() and 1 <= int(text) < 2**31:
        return int(text)
    try:
        number = float(text)
    except ValueError:
        number = -1
    if part != "share" or not 0 < number <= 1:
        kind = "a share between 0 and 1" if part == "share" else f"a whole number from 1 on as {part}"
        message = f"--gate {name} takes {kind}, not {text!r}"
        raise refuse(message, f"for example --gate {name}=0.5, or --gate {name}=off")
    return number


@dataclass(frozen=True)
class Address:
    """Where a feed's file lies."""

    transport: Transport
    host: str | None
    port: int | None
    path: str
    username: str | None

    @property
    def compression(self) -> Compression:
        return Compression.GZIP if self.path.endswith(".gz") else Compression.NONE


def parse_address(url: str) -> Address:
    """`sftp://user@host:2222/path`, `ftp://…` or `file:///path`; a password in it is refused."""
    _refuse_password(url)
    _refuse_unprintable(url)
    try:
        parts = urlsplit(url)
        port = parts.port
        path, user = unquote(parts.path, errors="strict"), unquote(parts.username or "", errors="strict")
    except ValueError as error:
        message = f"the address cannot be read: {error}"
        raise refuse(message, _LOOKS_LIKE) from None
    transport = {"sftp": Transport.SFTP, "ftp": Transport.FTP, "file": Transport.FILE}.get(parts.scheme)
    if transport is None:
        message = f"feeds come by sftp, ftp or file, not {parts.scheme!r}"
        raise refuse(message, _LOOKS_LIKE)
    if "?" in url or "#" in url:
        message = "an address has no ? or # part"
        raise refuse(message, "write %3F or %23 if the file name holds one")
    _refuse_unprintable(path, user)
    if transport is Transport.FILE:
        return _file_address(url, path, authority=parts.netloc)
    return _remote_address(transport, host=parts.hostname, port=port, path=path, user=user)


_LOOKS_LIKE = "it looks like sftp://user@host:22/feeds/catalog.csv.gz"
_WITH_PASSWORD = re.compile(r"^[^:/?#]*://[^/@]*(:|%3a).*@", re.IGNORECASE)  # encoded, it would be stored as the user


def _refuse_password(url: str) -> None:
    """Before anything is taken apart: a message about a part could repeat the password."""
    if _WITH_PASSWORD.match(url):
        message = "the address holds a password, which would stay in shell histories and process lists"
        raise refuse(message, "leave it out, and give it with --password-stdin or by a block of feed credentials")


def _refuse_unprintable(*texts: str) -> None:
    for text in texts:
        has_control = any(ord(char) < 32 or ord(char) == 127 or 0xD800 <= ord(char) <= 0xDFFF for char in text)
        if has_control or len(text) > 1000:
            message = "the address holds control characters, or is over 1,000 characters long"
            raise refuse(message, _LOOKS_LIKE)


def _file_address(url: str, path: str, *, authority: str) -> Address:
    if authority or not path.startswith("/") or path.endswith("/"):
        message = f"{url!r} does not name a file on this machine"
        raise refuse(message, "it looks like file:///path/to/catalog.csv")
    return Address(Transport.FILE, None, None, path, None)


def _remote_address(transport: Transport, *, host: str | None, port: int | None, path: str, user: str) -> Address:
    if not host:
        message = "the address has no host"
        raise refuse(message, f"it looks like {transport.lower()}://user@host/feeds/catalog.csv.gz")
    if port == 0:
        message = "port 0 cannot be connected to"
        raise refuse(message)
    if path.endswith("/") or not path:
        message = "the address has no file path"
        raise refuse(message, f"it looks like {transport.lower()}://user@host/feeds/catalog.csv.gz")
    if not user:
        message = "the address has no user name"
        raise refuse(message, f"it looks like {transport.lower()}://user@host/feeds/catalog.csv.gz")
    return Address(transport, host, port or _DEFAULT_PORT[transport], path, user)


def shown_address(feed: Mapping[str, Any]) -> str:
    """The address of a stored feed as a person wrote it."""
    if feed["transport"] == Transport.FILE:
        return f"file://{quote(feed['path'])}"
    host = f"[{feed['host']}]" if ":" in feed["host"] else feed["host"]
    user, path = quote(feed["username"], safe=""), quote(feed["path"])
    return f"{feed['transport'].lower()}://{user}@{host}:{feed['port']}{path}"


def valid_unchanged(word: str) -> UnchangedPolicy:
    try:
        return UnchangedPolicy(word)
    except ValueError:
        message = f"--unchanged is age or refresh, not {word!r}"
        raise refuse(message) from None
