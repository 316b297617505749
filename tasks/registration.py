"""Putting a feed on file in one go, its credentials with it; what forms and notebooks call."""

from dataclasses import dataclass, field

from db.engine import Connection, Row, transaction
from db.enums import SecretKind
from db.errors import BadRequestError
from tasks.catalogue import config, registry
from tasks.redaction import kept_secret
from tasks.transport_keys import usable_private_key


@dataclass(frozen=True)
class Form:
    """A new feed as a person fills it in."""

    retailer: str
    url: str
    host_key: str | None = None
    every_hours: int | None = None
    is_enabled: bool = False
    is_primary: bool = False
    is_ftp_confirmed: bool = False
    tenant_id: str = "default"

    def new_feed(self, key: str) -> registry.NewFeed:
        """The feed; refuses a value that cannot be, and plain FTP that is not allowed or not confirmed."""
        address = config.parse_address(self.url)
        config.refuse_plain_ftp(address, is_confirmed=self.is_ftp_confirmed)
        settings = registry.FeedSettings(
            address=address,
            every_hours=config.valid_frequency(self.every_hours) if self.every_hours else None,
            host_key_fingerprint=config.valid_fingerprint(self.host_key) if self.host_key else None,
        )
        retailer = config.valid_name(self.retailer, "retailer")
        return registry.NewFeed(
            config.valid_key(key),
            self.tenant_id,
            retailer,
            settings,
            is_enabled=self.is_enabled,
            is_primary=self.is_primary,
        )


@dataclass(frozen=True)
class Credentials:
    """As a person types them: a password, or a private key that may have a passphrase. Blank means none."""

    password: str | None = field(default=None, repr=False)
    private_key: str | None = field(default=None, repr=False)
    passphrase: str | None = field(default=None, repr=False)

    def secret(self) -> tuple[str, SecretKind] | None:
        """What to store, and what it is; None for nothing."""
        if self.password and self.private_key:
            message = "the credentials hold a password and a private key"
            raise BadRequestError(message, code="BAD_CREDENTIALS", hint="a feed logs in with one of them")
        if self.private_key:
            return usable_private_key(self.private_key, self.passphrase), SecretKind.PRIVATE_KEY
        return (self.password, SecretKind.PASSWORD) if self.password else None


def register(conn: Connection, key: str, form: Form | None, credentials: Credentials, actor: registry.Actor) -> Row:
    """The feed as stored: a new one by its form, or without a form one that is there, with new credentials."""
    with kept_secret(credentials.password, credentials.private_key, credentials.passphrase):
        secret = credentials.secret()
        if form is None and secret is None:
            message = "there is nothing to store: neither an address nor credentials are given"
            raise BadRequestError(message, code="USAGE", hint="name retailer and url, a block of credentials, or both")
        with transaction(conn):
            if form is not None:
                registry.add_feed(conn, form.new_feed(key), actor)
            if secret is not None:
                registry.set_password(conn, key, secret[0], actor, kind=secret[1])
            return registry.find_feed(conn, key)
