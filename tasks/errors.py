"""The errors of a run, and what each means for the next attempt."""

import ssl

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


class ServerBusyError(IngestError):
    """The server takes no more connections just now."""

    recovery = Recovery.TRANSIENT
    code = "SERVER_BUSY"
    hint = "if it lasts, ask the owner of the server how many connections this user may have"


class DataConnectionError(IngestError):
    """The server answers, but the connection for the file itself failed or broke off."""

    recovery = Recovery.TRANSIENT
    code = "DATA_CONNECTION_FAILED"
    hint = "if it lasts, a firewall may block the passive ports of the server; ask its owner"


class HostNotAllowedError(IngestError):
    """The server does not accept connections from this machine."""

    recovery = Recovery.CONFIGURATION
    code = "HOST_NOT_ALLOWED"
    hint = "ask the owner of the server to allow the address of this machine"


class LoginRefusedError(IngestError):
    """The server refuses this user with this password or key."""

    recovery = Recovery.PERMANENT
    code = "LOGIN_REFUSED"
    hint = "set it anew with: feedmill feeds set KEY --password-stdin (or --private-key FILE)"


class TlsRequiredError(IngestError):
    """The server accepts encrypted connections only, or the encryption cannot be set up."""

    recovery = Recovery.CONFIGURATION
    code = "TLS_REQUIRED"
    hint = "ask the owner of the server for SFTP: feedmill speaks SFTP and plain FTP, not FTP with TLS"


class PlainFtpNotAllowedError(IngestError):
    """Plain FTP sends the password in clear text, and is switched off here."""

    recovery = Recovery.CONFIGURATION
    code = "PLAIN_FTP_NOT_ALLOWED"
    hint = "use SFTP, or set AFFILIATE_FEED_ALLOW_PLAIN_FTP=true where feeds are run"


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


class FileBusyError(IngestError):
    """The server cannot give the file just now."""

    recovery = Recovery.TRANSIENT
    code = "FILE_BUSY"
    hint = "if it lasts, ask the owner of the server when nobody writes the file, and run the feed then"


class PathRefusedError(IngestError):
    """The server does not accept this path."""

    recovery = Recovery.PERMANENT
    code = "PATH_REFUSED"
    hint = "check the path with: feedmill feeds show KEY"


class QuotaExceededError(IngestError):
    """The account at the server has used up what it may store or transfer."""

    recovery = Recovery.PERMANENT
    code = "QUOTA_EXCEEDED"
    hint = "ask the owner of the server to raise or reset the quota of this user"


class FileStillUploadingError(IngestError):
    """The remote file changed or ended early while it was read."""

    recovery = Recovery.TRANSIENT
    code = "FILE_STILL_UPLOADING"
    hint = "if it lasts, run the feed later, or ask whoever uploads the file to rename it once it is whole"


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
    hint = "set CREDENTIAL_ENCRYPTION_KEY_B64 to a key that you make with: feedmill key new"


class ProtocolMismatchError(IngestError):
    """Something answers at this port, but it does not speak the feed's protocol."""

    recovery = Recovery.CONFIGURATION
    code = "PROTOCOL_MISMATCH"
    hint = "check transport, host and port with: feedmill feeds show KEY"


class DownloadFailedError(IngestError):
    """The file could not be read to its end."""

    recovery = Recovery.TRANSIENT
    code = "DOWNLOAD_FAILED"
    hint = "if it lasts, ask the owner of the server whether the file can be read there"


class DownloadTimeoutError(IngestError):
    """The file takes longer than a run waits for it."""

    recovery = Recovery.TRANSIENT
    code = "DOWNLOAD_TIMEOUT"
    hint = "ask the owner of the server why it is so slow"


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
    FileNotFoundError,
    PermissionError,
)


def classify(error: BaseException) -> Recovery:
    """By our own type first, then by kind; the unknown is transient, a mistake of ours permanent."""
    if isinstance(error, IngestError):
        return error.recovery
    if isinstance(error, ssl.SSLError):
        return Recovery.CONFIGURATION
    if isinstance(error, _FOR_GOOD):
        return Recovery.PERMANENT
    return Recovery.TRANSIENT


def counts(error: BaseException) -> bool:
    """Whether a run that failed by this error counts towards those that disable its feed."""
    return error.counts if isinstance(error, IngestError) else True
