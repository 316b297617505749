"""What the network, an SFTP server or a file system raises, said once in the words of a run."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import asyncssh

from tasks import errors, network

# Sentences name the address only. What a server says is left to the cause: it may repeat the user name.
_Sentence = tuple[tuple[type[Exception], ...], type[errors.IngestError], str]

_UNREACHABLE: tuple[_Sentence, ...] = (
    ((socket.gaierror,), errors.HostUnreachableError, "the name of the host cannot be resolved: {address}"),
    ((ConnectionRefusedError,), errors.HostUnreachableError, "nothing listens at {address}"),
    ((TimeoutError,), errors.HostUnreachableError, "no answer in time from {address}"),
    (
        (ConnectionError, asyncssh.DisconnectError, asyncssh.SFTPConnectionLost, asyncssh.SFTPNoConnection),
        errors.HostUnreachableError,
        "the connection broke off: {address}",
    ),
)

_CONNECTING: tuple[_Sentence, ...] = (
    (
        (PermissionError, asyncssh.PermissionDenied, asyncssh.IllegalUserName),
        errors.LoginRefusedError,
        "user name or password refused by {address}",
    ),
    (
        (asyncssh.KeyExchangeFailed, asyncssh.ProtocolError, asyncssh.ProtocolNotSupported),
        errors.ProtocolMismatchError,
        "no SSH handshake is possible with {address}",
    ),
    *_UNREACHABLE,
    ((OSError, asyncssh.Error), errors.HostUnreachableError, "no connection to {address}"),
)

_READING: tuple[_Sentence, ...] = (
    (
        (FileNotFoundError, NotADirectoryError, asyncssh.SFTPNoSuchFile, asyncssh.SFTPNoSuchPath),
        errors.FileMissingError,
        "there is no file at {address}",
    ),
    (
        (IsADirectoryError, asyncssh.SFTPFileIsADirectory),
        errors.FileMissingError,
        "this is a folder, not a file: {address}",
    ),
    ((PermissionError, asyncssh.SFTPPermissionDenied), errors.FileDeniedError, "no permission to read {address}"),
    *_UNREACHABLE,
    # sshfs raises ValueError when the server grants no SFTP session
    ((OSError, asyncssh.Error, ValueError), errors.DownloadFailedError, "the file cannot be read: {address}"),
)


@contextmanager
def connecting(address: str, *, pinned: str | None) -> Iterator[None]:
    """Errors of the way to a server, from its name to the login."""
    try:
        yield
    except network.HostKeyRefusedError as error:
        raise _host_key(error.shown, address=address, pinned=pinned) from error
    except (OSError, asyncssh.Error) as error:
        raise _translated(error, _CONNECTING, address=address) from error


@contextmanager
def reading(address: str) -> Iterator[None]:
    """Errors of one file, remote or local."""
    try:
        yield
    except (OSError, asyncssh.Error, ValueError) as error:
        raise _translated(error, _READING, address=address) from error


def _translated(error: Exception, sentences: tuple[_Sentence, ...], *, address: str) -> errors.IngestError:
    """The first sentence that fits; the last of each list fits all that is caught."""
    kind, sentence = next((kind, sentence) for causes, kind, sentence in sentences if isinstance(error, causes))
    return kind(sentence.format(address=address))


def _host_key(shown: tuple[str, ...], *, address: str, pinned: str | None) -> errors.IngestError:
    keys = " and ".join(shown)
    if pinned is not None:
        return errors.HostKeyMismatchError(f"{address} shows host key {keys}, but {pinned} is pinned")
    message = f"no host key is pinned for {address}; the server shows {keys}"
    hint = f"compare it with the owner of the server, then pin it with: feedmill feeds set KEY --host-key {keys}"
    unknown = errors.HostKeyUnknownError(message, hint=hint)
    unknown.fingerprint = keys
    return unknown
