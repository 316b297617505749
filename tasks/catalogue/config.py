"""A feed's settings: what each may be, and how its address is read. Pure; refuses with one line."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from db.enums import Compression, Transport, UnchangedPolicy
from db.errors import BadRequestError

FREQUENCY_HOURS = (1, 2, 4, 6, 12, 24)
EXPIRY_HOURS = (1, 168)
HEARTBEAT_HOURS = (0, 8760)
DEFAULT_MAX_BYTES = 500_000_000
DEFAULT_MAX_ROWS = 500_000
INFLATED_FACTOR = 20

GATES = ("spike", "url_hash", "price_factor", "currency", "stock")

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
    if not low <= value <= high:
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


def valid_template(text: str) -> str:
    try:
        is_web = urlsplit(text).scheme in {"http", "https"} and bool(urlsplit(text).netloc)
    except ValueError:
        is_web = False
    if not is_web or not text.isprintable():
        message = "--tracking-template must be an address that starts with http:// or https://"
        raise refuse(message)
    return text


def valid_gates(words: list[str]) -> dict[str, Any]:
    """`NAME=SHARE`, `NAME=off`, or `NAME=default` to take back either, for each gate named."""
    gates: dict[str, Any] = {}
    for word in words:
        name, _, value = word.partition("=")
        if name not in GATES:
            message = f"there is no gate {name!r}"
            raise refuse(message, f"the gates are {', '.join(GATES)}")
        gates[name] = {"off": False, "default": None}[value] if value in {"off", "default"} else _threshold(name, value)
    return gates


def _threshold(name: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = -1
    if not 0 < number <= 1:
        message = f"--gate {name} takes a share between 0 and 1, or off, not {value!r}"
        raise refuse(message, f"for example --gate {name}=0.5")
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
_WITH_PASSWORD = re.compile(r"^[^:/?#]*://[^/@]*:.*@")


def _refuse_password(url: str) -> None:
    """Before anything is taken apart: a message about a part could repeat the password."""
    if _WITH_PASSWORD.match(url):
        message = "the address holds a password, which would stay in shell histories and process lists"
        raise refuse(message, "leave it out and give it with --password-stdin")


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
