"""What an FTP server means by its reply: the code first, its words only where one code has several meanings."""

import re
from dataclasses import dataclass

from tasks import errors

Meaning = tuple[type[errors.IngestError], str]

_BUSY: Meaning = (errors.ServerBusyError, "the server takes no more connections just now: {address}")
_LOGIN: Meaning = (errors.LoginRefusedError, "user name or password refused by {address}")
_TLS: Meaning = (errors.TlsRequiredError, "the server accepts encrypted connections only: {address}")
_MISSING: Meaning = (errors.FileMissingError, "there is no file at {address}")
_FOLDER: Meaning = (errors.FileMissingError, "this is a folder, not a file: {address}")
_DENIED: Meaning = (errors.FileDeniedError, "no permission to read {address}")
_IN_USE: Meaning = (errors.FileBusyError, "the server cannot give the file just now: {address}")
_QUOTA: Meaning = (errors.QuotaExceededError, "the quota of this user is used up: {address}")
_NO_DATA: Meaning = (errors.DataConnectionError, "the connection for the file could not be opened: {address}")
_BROKEN: Meaning = (errors.DataConnectionError, "the server broke off the transfer of {address}")
_FAILED: Meaning = (errors.DownloadFailedError, "the server could not read the file: {address}")
_NOT_FTP: Meaning = (errors.ProtocolMismatchError, "what answers does not speak FTP as feedmill does: {address}")

# Words of real servers (ProFTPD, vsftpd, Pure-FTPd, FileZilla, IIS, Serv-U, wu-ftpd, pyftpdlib), in lower case.
_TOO_MANY = re.compile(
    r"too many|maximum (number of )?(allowed )?(clients|connections|users|logins|sessions)|sorry, the maximum"
    r"|limit (is )?(reached|exceeded)|(max|maximum) .{0,30}(reached|exceeded)|connection limit|user limit"
    r"|already (logged|connected)|temporar|try (again )?later|server is (full|busy)|no more connections"
)
# Comes before "too many": each further attempt with a wrong password keeps the account locked.
_WRONG_LOGIN = re.compile(
    r"incorrect|login attempts|(login|authentication) failures"
    r"|(failed|wrong|invalid|unsuccessful) (login |log-in |authentication )?(attempts|logins|passwords)"
)
_ENCRYPTION = re.compile(r"\btls\b|\bssl\b|\bftps\b|secure (connection|control|ftp)|encrypt|cleartext|clear.?text")
_IS_DENIED = re.compile(
    r"permission|denied|not allowed|won.?t allow|not permitted|forbidden|access is|no access|privilege"
    r"|insufficient rights|unauthori[sz]ed|zugriff verweigert"
)
_IS_FOLDER = re.compile(r"is a (directory|folder)|not a (plain|regular) file|not a file|not retrievable")
_IS_MISSING = re.compile(
    r"no such|not (be )?found|doesn.?t exist|does ?not exist|cannot find|can.?t find|could ?n.?t find|could not find"
    r"|no files? (found|exists?)|file (is )?(unavailable|not available)|not exist|nicht gefunden|introuvable"
    r"|failed to open file|could ?n.?t open|can.?t open|could not open|can(no|')t (get|open)|could not get|invalid path"
)
_IS_IN_USE = re.compile(r"in use|locked|busy|being used|sharing violation|temporar|being (uploaded|transferred)")
_IS_CUT_SHORT = re.compile(r"unexpected (eof|end of file)")
_IS_QUOTA = re.compile(
    r"quota|storage allocation|exceeded (your|the)|(bandwidth|traffic|ratio|transfer) limit|disk full"
)

_BY_CODE: dict[int, Meaning] = {
    332: _LOGIN,  # an account beside user and password
    425: _NO_DATA,
    426: _BROKEN,
    430: _LOGIN,
    431: _TLS,
    434: (errors.HostUnreachableError, "the host of this name cannot be reached through {address}"),
    450: _IN_USE,
    451: _FAILED,
    452: _FAILED,
    500: _NOT_FTP,
    501: (errors.PathRefusedError, "the server does not understand the path of {address}"),
    502: _NOT_FTP,
    503: _NOT_FTP,
    504: _NOT_FTP,
    521: _TLS,
    522: _NO_DATA,  # no passive connection in this network protocol
    532: _LOGIN,
    533: _TLS,
    534: _TLS,
    535: _TLS,
    536: _TLS,
    551: _FAILED,
    552: _QUOTA,
    553: (errors.PathRefusedError, "the server does not allow this file name: {address}"),
}
_BY_WORDS: dict[int, tuple[tuple[re.Pattern[str], Meaning], ...]] = {
    # Most say 421 for any farewell; one of a server that wants TLS will be the same next time.
    421: ((_ENCRYPTION, _TLS),),
    522: ((_ENCRYPTION, _TLS),),
    430: ((_WRONG_LOGIN, _LOGIN), (_TOO_MANY, _BUSY)),
    530: ((_WRONG_LOGIN, _LOGIN), (_TOO_MANY, _BUSY), (_ENCRYPTION, _TLS)),
    # Busy first, denied before missing: "cannot open file: permission denied" names both.
    550: (
        (_IS_IN_USE, _IN_USE),
        (_TOO_MANY, _BUSY),
        (_IS_QUOTA, _QUOTA),
        (_ENCRYPTION, _TLS),
        (_IS_CUT_SHORT, _FAILED),
        (_IS_FOLDER, _FOLDER),
        (_IS_DENIED, _DENIED),
        (_IS_MISSING, _MISSING),
    ),
}
_OTHERWISE: dict[int, Meaning] = {421: _BUSY, 530: _LOGIN, 550: _MISSING}

_CODE = re.compile(r"^\s*(\d{3})(?:[\s.-]|$)")
_BETWEEN = r"[\\/]"  # the parts of a path; servers on Windows have their own way


@dataclass(frozen=True)
class Sent:
    """What the server was told and may repeat; its words say nothing of what went wrong."""

    path: str = ""
    username: str = ""


@dataclass(frozen=True)
class Reply:
    code: int | None
    words: str


def parsed(text: str, sent: Sent) -> Reply:
    """Code of a reply, none for what is none, and its words without those that it repeats."""
    found = _CODE.match(text)
    words = text.lower()
    for echo in (*_echoes_of_path(sent.path.lower()), *_echoes_of_name(sent.username.lower())):
        words = re.sub(echo, "*", words)
    return Reply(int(found.group(1)) if found else None, words)


def _echoes_of_path(path: str) -> list[str]:
    """Its last parts, the whole first, also below a folder that only the server knows; then the folders alone."""
    parts = [re.escape(part) for part in re.split(_BETWEEN, path) if part]
    if not parts:
        return []
    ends = "|".join(_BETWEEN.join(parts[first:]) for first in range(len(parts)))
    # A folder of the server begins where a word does: looked for at each letter, long lines would take minutes.
    below = rf"(?<![^\s'\"])[^\s'\"]*{_BETWEEN}"
    folders = [rf"(?<!\w){_BETWEEN}{_BETWEEN.join(parts[:last])}(?!\w)" for last in range(len(parts) - 1, 0, -1)]
    return [rf"(?:{below}|(?<!\w))(?:{ends})(?!\w)", *folders]


def _echoes_of_name(name: str) -> list[str]:
    return [rf"(?<!\w){re.escape(name)}(?!\w)"] if name else []


def meaning(text: str, sent: Sent = Sent()) -> Meaning:
    """What the reply says of a download. Of unknown codes, those from 400 to 499 and all others may pass."""
    reply = parsed(text, sent)
    if reply.code is None:
        return _NOT_FTP
    for pattern, found in _BY_WORDS.get(reply.code, ()):
        if pattern.search(reply.words):
            return found
    known = _OTHERWISE.get(reply.code) or _BY_CODE.get(reply.code)
    if known is not None:
        return known
    return _NOT_FTP if reply.code in range(500, 510) else _FAILED
