"""What feedmill says when it will not or cannot go on: a code for machines, a sentence and a hint for people."""


class FeedmillError(Exception):
    """Something was tried and failed."""

    code = "FAILED"
    hint = ""

    def __init__(self, message: str = "", *, code: str | None = None, hint: str | None = None) -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())
        self.code = code or type(self).code
        self.hint = type(self).hint if hint is None else hint

    @property
    def message(self) -> str:
        return str(self)


class BadRequestError(FeedmillError):
    """The request cannot be taken as it stands: nothing was tried."""

    code = "BAD_REQUEST"


class RefusedError(FeedmillError):
    """A rule forbids what was asked for."""

    code = "REFUSED"


class BusyError(FeedmillError):
    """Somebody else is at work on this feed."""

    code = "FEED_BUSY"
    hint = "wait for the run under way to end, or ask for another with: feedmill request KEY"


class DatabaseError(FeedmillError):
    """The database could not be reached."""

    code = "DATABASE_UNREACHABLE"


class StatementRefusedError(DatabaseError):
    """The database refused a statement; it would refuse it again."""

    code = "STATEMENT_REFUSED"


class ConnectionLostError(DatabaseError):
    """The session with the database is gone, and with it every lock that it held."""

    code = "CONNECTION_LOST"
    hint = "the server or the network ended it: try again, and if it happens again look with: feedmill db check"
