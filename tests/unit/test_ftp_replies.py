"""What FTP servers mean by their replies, in the words that they use."""

import pytest

from db.enums import Recovery
from tasks import errors
from tasks.ftp_replies import Sent, meaning
from tasks.transport_ftp import size_in, time_in

BUSY, LOGIN, TLS = errors.ServerBusyError, errors.LoginRefusedError, errors.TlsRequiredError
MISSING, DENIED, IN_USE = errors.FileMissingError, errors.FileDeniedError, errors.FileBusyError
DATA, FAILED, QUOTA = errors.DataConnectionError, errors.DownloadFailedError, errors.QuotaExceededError

REPLIES = [
    ("421 Timeout.", BUSY),
    ("421 Too many connections (8) from this IP", BUSY),
    ("421 Service not available, closing control connection.", BUSY),
    ("421 TLS is required on the control channel", TLS),
    ("425 Can't open data connection.", DATA),
    ("425 Failed to establish connection.", DATA),
    ("426 Connection closed; transfer aborted.", DATA),
    ("426 Failure writing network stream.", DATA),
    ("430 Invalid username or password", LOGIN),
    ("450 File busy", IN_USE),
    ("450 catalog.csv: No such file or directory", IN_USE),
    ("451 Requested action aborted: local error in processing.", FAILED),
    ("452 Requested action not taken. Insufficient storage space in system.", FAILED),
    ("500 'RETR': command not understood.", errors.ProtocolMismatchError),
    ("522 SSL connection required", TLS),
    ("530 Login incorrect.", LOGIN),
    ("530 User alice cannot log in.", LOGIN),
    ("530 Please login with USER and PASS.", LOGIN),
    ("530 Sorry, the maximum number of clients (3) for this user are already connected.", BUSY),
    ("530 Too many users logged in, closing control connection.", BUSY),
    ("530 User limit reached for this account.", BUSY),
    ("530 Not logged in, user or password incorrect.", LOGIN),
    ("530 temporarily not available", BUSY),
    ("530 Login incorrect. Too many failed attempts", LOGIN),
    ("530 Login incorrect: too many failed login attempts, account locked", LOGIN),
    ("530 Account temporarily disabled due to failed logins", LOGIN),
    ("530 Maximum login attempts exceeded", LOGIN),
    ("430 Too many invalid passwords, try again later", LOGIN),
    ("530 Too many connection attempts, try again later", BUSY),
    ("530 Must perform authentication before identifying USER (TLS required).", TLS),
    ("530 Non-anonymous sessions must use encryption.", TLS),
    ("534 Policy requires SSL.", TLS),
    ("550 No such file or directory.", MISSING),
    ("550 catalog.csv: The system cannot find the file specified. ", MISSING),
    ("550 File not found", MISSING),
    ("550 Can't open catalog.csv: No such file or directory", MISSING),
    ("550 Could not get file size.", MISSING),
    ("550 Failed to open file.", MISSING),
    ("550 Requested action not taken. File unavailable.", MISSING),
    ("550 Datei oder Verzeichnis nicht gefunden", MISSING),
    ("550 feeds is a directory", MISSING),
    ("550 feeds: not a plain file.", MISSING),
    ("550 Permission denied.", DENIED),
    ("550 Access is denied. ", DENIED),
    ("550 Can't open catalog.csv: Permission denied", DENIED),
    ("550 Not enough privileges.", DENIED),
    ("550 I won't allow this on my server", DENIED),
    ("550 The process cannot access the file because it is being used by another process. ", IN_USE),
    ("550 Quota exceeded", QUOTA),
    ("550 SSL/TLS required on the control channel", TLS),
    ("550 Received an unexpected EOF for remote file", FAILED),
    ("550", MISSING),
    ("552 Requested file action aborted. Exceeded storage allocation.", QUOTA),
    ("553 Requested action not taken. File name not allowed.", errors.PathRefusedError),
    ("550-Some servers say more.\n550 No such file.", MISSING),
    ("499 never heard of", FAILED),
    ("<html>", errors.ProtocolMismatchError),
]


@pytest.mark.spec("002 16.2")
@pytest.mark.parametrize("reply, kind", REPLIES, ids=[reply for reply, _ in REPLIES])
def test_meaning_of_a_reply(reply, kind):
    found, sentence = meaning(reply)
    assert found is kind
    assert "{address}" in sentence


ECHOES = [
    ("/exports/locked-items.csv", "550 /exports/locked-items.csv: No such file or directory", MISSING),
    ("/exports/locked-items.csv", "550 locked-items.csv: No such file or directory", MISSING),
    ("/exports/ssl/feed.csv", "550 ssl/feed.csv: No such file or directory", MISSING),
    ("exports/ssl/feed.csv", "550 /exports/ssl/feed.csv: No such file or directory", MISSING),
    ("/exports/ssl/feed.csv", "550 'C:\\Exports\\SSL\\feed.csv': Access is denied.", DENIED),
    ("/exports/feed.csv", "550 /srv/ssl/exports/feed.csv: No such file or directory", MISSING),
    ("/exports/ssl/feed.csv", "550 /exports/ssl: No such file or directory", MISSING),
    ("/in use/quota (1).csv", "550 Can't open /in use/quota (1).csv: No such file or directory", MISSING),
    ("/busy.csv", "550-/busy.csv\n550 /busy.csv: No such file or directory", MISSING),
    ("/exports/locked.csv", "550 /exports/locked.csv is locked", IN_USE),
    ("/Locked.csv", "550 /Locked.csv: No such file or directory", MISSING),
    ("/tls/feed.csv", "550 Only FTP/TLS here", TLS),
    ("/exports/d", "550 The file is being used", IN_USE),
    ("/exports/u", "550 The file is in use", IN_USE),
    ("/550", "550 Permission denied", DENIED),
    ("/", "550 Sorry, the maximum of 3", BUSY),
]


@pytest.mark.parametrize("path, reply, kind", ECHOES, ids=[f"{reply} of {path}" for path, reply, _ in ECHOES])
def test_words_of_the_path_that_a_reply_repeats_mean_nothing(path, reply, kind):
    assert meaning(reply, Sent(path=path))[0] is kind


@pytest.mark.parametrize(
    "username, reply, kind",
    [
        ("ssl-feeds", "530 User ssl-feeds cannot log in.", LOGIN),
        ("Temporary", "530 User temporary cannot log in.", LOGIN),
        ("feeds@tls.example", "530 feeds@tls.example: unknown", LOGIN),
        ("ssl", "530 User ssl: too many users", BUSY),
        ("t", "530 Sorry, no TLS", TLS),
        ("s", "530 Sorry, no TLS", TLS),
        ("530", "530 Sorry, no TLS", TLS),
        ("", "530 Sorry, the maximum of 3", BUSY),
        ("busy", "550 /home/busy: Permission denied", DENIED),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_words_of_the_user_name_that_a_reply_repeats_mean_nothing(username, reply, kind):
    assert meaning(reply, Sent(username=username))[0] is kind


@pytest.mark.spec("002 16.2")
@pytest.mark.parametrize(
    "reply, recovery",
    [
        ("421 x", Recovery.TRANSIENT),
        ("450 x", Recovery.TRANSIENT),
        ("452 x", Recovery.TRANSIENT),
        ("530 x", Recovery.PERMANENT),
        ("550 permission", Recovery.PERMANENT),
        ("550 not found", Recovery.PERMANENT),
        ("534 TLS", Recovery.CONFIGURATION),
    ],
)
def test_meaning_has_the_class_of_the_design(reply, recovery):
    assert meaning(reply)[0].recovery is recovery


@pytest.mark.parametrize(
    "reply, size", [("213 12345", 12345), ("213 ", None), ("213 many", None), ("550 no", None), ("", None)]
)
def test_size_in_a_reply(reply, size):
    assert size_in(reply) == size


@pytest.mark.parametrize(
    "reply, told",
    [
        ("213 20260301123015", "2026-03-01T12:30:15+00:00"),
        ("213 20260301123015.250", "2026-03-01T12:30:15.250000+00:00"),
        ("213 20261301123015", None),
        ("213 yesterday", None),
        ("", None),
    ],
)
def test_time_in_a_reply(reply, told):
    found = time_in(reply)
    assert (found.isoformat() if found else None) == told
