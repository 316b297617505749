"""The errors of a run, and what each means for the next attempt."""

import polars as pl

from db.enums import Recovery
from db.errors import ConnectionLostError, FeedmillError, StatementRefusedError


class IngestError(FeedmillError):
    """A run cannot go on."""

    recovery = Recovery.PERMANENT
    code = "INGEST_FAILED"
    counts = True  # towards the failures that disable a feed


class HostUnreachableError(IngestError):
    """The host does not answer."""

    recovery = Recovery.TRANSIENT
    code = "HOST_UNREACHABLE"
    hint = "check host and port with: feedmill feeds show KEY"


class LoginRefusedError(IngestError):
    """The server refuses this user name and password."""

    recovery = Recovery.CONFIGURATION
    code = "LOGIN_REFUSED"
    hint = "set the password anew with: feedmill feeds set KEY --password-stdin"


class HostKeyMismatchError(IngestError):
    """The server shows another host key than the one that was pinned."""

    recovery = Recovery.CONFIGURATION
    code = "HOST_KEY_MISMATCH"
    hint = "ask the owner of the server; if the new key is right, pin it with: feedmill feeds set KEY --host-key ..."


class HostKeyUnknownError(IngestError):
    """No host key is pinned for this server."""

    recovery = Recovery.CONFIGURATION
    code = "HOST_KEY_UNKNOWN"
    hint = "pin it with: feedmill feeds set KEY --host-key SHA256:..."
    fingerprint = ""  # of the key that the server showed


class FileMissingError(IngestError):
    """There is no file at this path."""

    recovery = Recovery.PERMANENT
    code = "FILE_NOT_FOUND"
    hint = "check the path with: feedmill feeds show KEY"


class FileDeniedError(IngestError):
    """The file may not be read."""

    recovery = Recovery.PERMANENT
    code = "PERMISSION_DENIED"
    hint = "ask the owner of the server for permission to read the file"


class FileStillUploadingError(IngestError):
    """The remote file changed or ended early while it was read."""

    recovery = Recovery.TRANSIENT
    code = "FILE_STILL_UPLOADING"


class FileTooLargeError(IngestError):
    """The file is larger than this feed allows."""

    recovery = Recovery.PERMANENT
    code = "FILE_SIZE_LIMIT_EXCEEDED"
    hint = "if the size is right, raise the limit with: feedmill feeds set KEY --max-bytes N"


class SecretUnreadableError(IngestError):
    """The stored password cannot be decrypted with this key."""

    recovery = Recovery.CONFIGURATION
    code = "SECRET_UNREADABLE"
    hint = "restore the key that encrypted it, or set the password anew with: feedmill feeds set KEY --password-stdin"


class KeyMissingError(IngestError):
    """There is no valid key to encrypt or decrypt passwords with."""

    recovery = Recovery.CONFIGURATION
    code = "CREDENTIAL_KEY_INVALID"
    hint = "set CREDENTIAL_ENCRYPTION_KEY_B64 to the base64 text of 32 random bytes"


class ProtocolMismatchError(IngestError):
    """Something answers at this port, but it does not speak the feed's protocol."""

    recovery = Recovery.CONFIGURATION
    code = "PROTOCOL_MISMATCH"
    hint = "check transport, host and port with: feedmill feeds show KEY"


class DownloadFailedError(IngestError):
    """The file could not be read to its end."""

    recovery = Recovery.TRANSIENT
    code = "DOWNLOAD_FAILED"


class FileDamagedError(IngestError):
    """The file arrived whole and is not valid gzip."""

    recovery = Recovery.PERMANENT
    code = "FILE_DAMAGED"
    hint = "ask the owner of the server to upload the file again"


class PlanChangedError(IngestError):
    """File or shelf have changed since the plan was made."""

    code = "PLAN_CHANGED"
    hint = "look at what a run would do now with: feedmill plan KEY"
    counts = False  # a person asked for what is no longer there; the feed did nothing wrong


class ArchiveFailedError(IngestError):
    """The file could not be kept in the archive, so it was not processed."""

    recovery = Recovery.TRANSIENT
    code = "ARCHIVE_FAILED"
    hint = "check space and permissions of FEEDMILL_ARCHIVE_URL, or of archive/ in FEEDMILL_HOME"


class ArchiveMisconfiguredError(IngestError):
    """FEEDMILL_ARCHIVE_URL does not name a place that files can be kept in."""

    recovery = Recovery.CONFIGURATION
    code = "ARCHIVE_MISCONFIGURED"
    hint = "set FEEDMILL_ARCHIVE_URL to a URL that fsspec knows, for example s3://bucket/feedmill"


class ArchiveGoneError(IngestError):
    """The file of this run is not in the archive any more."""

    code = "ARCHIVE_GONE"
    hint = "files are kept for 30 days; deliver the file again and run the feed"
    counts = False  # of a replay, which says nothing of what the feed delivers


# Trying again would only repeat a mistake in our own code; and a run that lost its session may not write any more.
_FOR_GOOD = (
    TypeError,
    LookupError,
    AttributeError,
    NameError,
    AssertionError,
    NotImplementedError,
    pl.exceptions.PolarsError,
    StatementRefusedError,
    ConnectionLostError,
)


def classify(error: BaseException) -> Recovery:
    """By our own type first, then by kind; the unknown is transient, a mistake of ours permanent."""
    if isinstance(error, IngestError):
        return error.recovery
    if isinstance(error, _FOR_GOOD):
        return Recovery.PERMANENT
    return Recovery.TRANSIENT


def counts(error: BaseException) -> bool:
    """Whether a run that failed by this error counts towards those that disable its feed."""
    return error.counts if isinstance(error, IngestError) else True
