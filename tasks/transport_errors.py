"""What the network, a server or a file system raises, said once in the words of a run, with its class and a hint."""

import ftplib
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import asyncssh

from tasks import errors, ftp_replies, network
from tasks.ftp_replies import Sent
from tasks.transport_ssh_errors import BROKEN, LOGIN, Meaning, hint_for, host_key_error
from tasks.transport_ssh_errors import meaning as ssh_meaning

# Sentences name the address only. What a server says is left to the cause: it may repeat the user name.
_Sentence = tuple[tuple[type[BaseException], ...], Meaning]

_UNREACHABLE: tuple[_Sentence, ...] = (
    ((socket.gaierror,), (errors.HostUnreachableError, "the name of the host cannot be resolved: {address}")),
    ((ConnectionRefusedError,), (errors.HostUnreachableError, "nothing listens at {address}")),
    ((TimeoutError,), (errors.HostUnreachableError, "no answer in time from {address}")),
    ((ssl.SSLError,), (errors.TlsRequiredError, "the encryption of {address} cannot be set up or verified")),
    ((ConnectionError, EOFError), BROKEN),
)
_CONNECTING: tuple[_Sentence, ...] = (
    ((PermissionError,), LOGIN),
    *_UNREACHABLE,
    # A line that is far too long, or control characters in a name or password
    ((ValueError,), (errors.ProtocolMismatchError, "the server and feedmill do not understand each other: {address}")),
    ((Exception,), (errors.HostUnreachableError, "no connection to {address}")),
)
_READING: tuple[_Sentence, ...] = (
    ((FileNotFoundError, NotADirectoryError), (errors.FileMissingError, "there is no file at {address}")),
    ((IsADirectoryError,), (errors.FileMissingError, "this is a folder, not a file: {address}")),
    ((PermissionError,), (errors.FileDeniedError, "no permission to read {address}")),
    *_UNREACHABLE,
    # sshfs raises ValueError when the server grants no SFTP session
    ((ValueError,), (errors.ServerBusyError, "the server grants no SFTP session just now: {address}")),
    ((Exception,), (errors.DownloadFailedError, "the file cannot be read: {address}")),
)
_NOTHING_SENT = Sent()
_FOREIGN = (OSError, asyncssh.Error, EOFError, ValueError, ftplib.Error)


@contextmanager
def connecting(address: str, *, pinned: str | None = None, sent: Sent = _NOTHING_SENT) -> Iterator[None]:
    """Errors of the way to a server, from its name to the login."""
    try:
        yield
    except network.HostKeyRefusedError as error:
        raise host_key_error(error.shown, address=address, pinned=pinned) from error
    except _FOREIGN as error:
        raise _translated(error, _CONNECTING, address=address, sent=sent) from error


@contextmanager
def reading(address: str, sent: Sent = _NOTHING_SENT) -> Iterator[None]:
    """Errors of one file, remote or local."""
    try:
        yield
    except _FOREIGN as error:
        raise _translated(error, _READING, address=address, sent=sent) from error


def _translated(error: Exception, sentences: tuple[_Sentence, ...], *, address: str, sent: Sent) -> errors.IngestError:
    """By the code of the server, else by the first sentence that fits; the last of each list fits all."""
    if isinstance(error, ftplib.Error):
        kind, sentence = ftp_replies.meaning(str(error), sent)
    elif isinstance(error, asyncssh.Error):
        kind, sentence = ssh_meaning(error)
    else:
        kind, sentence = next(found for causes, found in sentences if isinstance(error, causes))
    hint = hint_for(error) if isinstance(error, asyncssh.Error) else None
    return kind(sentence.format(address=address), hint=hint)
