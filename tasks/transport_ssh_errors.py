"""What an SSH or SFTP server means: its codes first, its words only where one code has several meanings."""

import re

import asyncssh

from tasks import errors
from tasks.ssh_algorithms import legacy_in

Meaning = tuple[type[errors.IngestError], str]

LOGIN: Meaning = (errors.LoginRefusedError, "user name, password or key refused by {address}")
BROKEN: Meaning = (errors.HostUnreachableError, "the connection broke off: {address}")
_BUSY: Meaning = (errors.ServerBusyError, "the server takes no more connections just now: {address}")
_NO_HANDSHAKE: Meaning = (errors.ProtocolMismatchError, "no SSH handshake is possible with {address}")
_NO_SFTP: Meaning = (errors.ProtocolMismatchError, "the server speaks SSH, but grants no SFTP: {address}")
_NO_SESSION: Meaning = (errors.ServerBusyError, "the server grants no SFTP session just now: {address}")
_MISSING: Meaning = (errors.FileMissingError, "there is no file at {address}")
_FOLDER: Meaning = (errors.FileMissingError, "this is a folder, not a file: {address}")
_DENIED: Meaning = (errors.FileDeniedError, "no permission to read {address}")
_PATH: Meaning = (errors.PathRefusedError, "the server does not accept the path of {address}")
_IN_USE: Meaning = (errors.FileBusyError, "the file is in use at the server: {address}")
_FAILED: Meaning = (errors.DownloadFailedError, "the server could not read the file: {address}")

_DISCONNECTED: dict[int, Meaning] = {
    asyncssh.DISC_HOST_NOT_ALLOWED_TO_CONNECT: (
        errors.HostNotAllowedError,
        "the server does not accept connections from this machine: {address}",
    ),
    asyncssh.DISC_PROTOCOL_ERROR: _NO_HANDSHAKE,
    asyncssh.DISC_KEY_EXCHANGE_FAILED: _NO_HANDSHAKE,
    asyncssh.DISC_SERVICE_NOT_AVAILABLE: _NO_SESSION,
    asyncssh.DISC_PROTOCOL_VERSION_NOT_SUPPORTED: _NO_HANDSHAKE,
    asyncssh.DISC_TOO_MANY_CONNECTIONS: _BUSY,
    asyncssh.DISC_AUTH_CANCELLED_BY_USER: LOGIN,
    asyncssh.DISC_NO_MORE_AUTH_METHODS_AVAILABLE: LOGIN,
    asyncssh.DISC_ILLEGAL_USER_NAME: LOGIN,
}
_STATUS: dict[int, Meaning] = {
    asyncssh.FX_NO_SUCH_FILE: _MISSING,
    asyncssh.FX_NO_SUCH_PATH: _MISSING,
    asyncssh.FX_NOT_A_DIRECTORY: _MISSING,
    asyncssh.FX_FILE_IS_A_DIRECTORY: _FOLDER,
    asyncssh.FX_PERMISSION_DENIED: _DENIED,
    asyncssh.FX_WRITE_PROTECT: _DENIED,
    asyncssh.FX_UNKNOWN_PRINCIPAL: _DENIED,
    asyncssh.FX_NO_CONNECTION: BROKEN,
    asyncssh.FX_CONNECTION_LOST: BROKEN,
    asyncssh.FX_OP_UNSUPPORTED: _NO_SFTP,
    asyncssh.FX_INVALID_FILENAME: _PATH,
    asyncssh.FX_LINK_LOOP: _PATH,
    asyncssh.FX_LOCK_CONFLICT: _IN_USE,
    asyncssh.FX_BYTE_RANGE_LOCK_CONFLICT: _IN_USE,
    asyncssh.FX_DELETE_PENDING: _IN_USE,
    asyncssh.FX_QUOTA_EXCEEDED: (errors.QuotaExceededError, "the quota of this user is used up: {address}"),
}
_CHANNEL: dict[int, Meaning] = {
    asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED: _NO_SFTP,
    asyncssh.OPEN_UNKNOWN_CHANNEL_TYPE: _NO_SFTP,
}

# OpenSSH says "Too many authentication failures" as a protocol error, and servers behind gateways "Failure" of a path.
_FAILED_LOGIN = re.compile(r"authentication fail|login fail|account (is )?(locked|disabled|expired)")
_TOO_MANY = re.compile(r"too many (connections|sessions|logins|users)|maxstartups|connection limit|not allowed at this")
_WORDS_OF_FAILURE = (
    (re.compile(r"permission denied|access denied|not permitted"), _DENIED),
    (re.compile(r"is a directory"), _FOLDER),
    (re.compile(r"no such|not found|does ?n[o']t exist"), _MISSING),
)


def meaning(error: asyncssh.Error) -> Meaning:
    """What the error says of a connection or a download; what is unknown may pass."""
    words = str(error.reason).lower()
    if isinstance(error, asyncssh.SFTPError):
        if error.code == asyncssh.FX_FAILURE:
            return next((found for pattern, found in _WORDS_OF_FAILURE if pattern.search(words)), _FAILED)
        return _STATUS.get(error.code, _FAILED)
    if isinstance(error, asyncssh.ChannelOpenError):
        return _CHANNEL.get(error.code, _NO_SESSION)
    if _FAILED_LOGIN.search(words):
        return LOGIN
    if _TOO_MANY.search(words):
        return _BUSY
    return _DISCONNECTED.get(getattr(error, "code", -1), BROKEN)


def hint_for(error: asyncssh.Error) -> str | None:
    """For a server that knows only old algorithms: how to accept them, if they may be accepted at all."""
    if isinstance(error, asyncssh.ConnectionLost):
        return "if it lasts, the server may know only old algorithms: see --legacy-algorithm of feedmill feeds set"
    if not isinstance(error, asyncssh.KeyExchangeFailed):
        return None
    named = legacy_in(str(error.reason))  # none of ours is among them, or the feed accepts it already
    if "host key" in str(error.reason):
        named = ["ssh-rsa"]
    if not named:
        return "the server offers only algorithms that are not safe; ask its owner to update it"
    return f"to accept what this old server offers all the same: feedmill feeds set KEY --legacy-algorithm {named[0]}"


def host_key_error(shown: tuple[str, ...], *, address: str, pinned: str | None) -> errors.IngestError:
    keys = " and ".join(shown)
    if pinned is not None:
        return errors.HostKeyMismatchError(f"{address} shows host key {keys}, but {pinned} is pinned")
    message = f"no host key is pinned for {address}; the server shows {keys}"
    hint = f"compare it with the owner of the server, then pin it with: feedmill feeds set KEY --host-key {keys}"
    unknown = errors.HostKeyUnknownError(message, hint=hint)
    unknown.fingerprint = keys
    return unknown
