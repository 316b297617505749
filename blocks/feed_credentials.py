"""What a feed logs in with, typed by a person in the Prefect UI: on its way into the feed, not to stay."""

from prefect.blocks.core import Block
from pydantic import Field, SecretStr


class FeedCredentials(Block):
    """A password, or an SSH private key with its passphrase. `register-feed` takes it by name and encrypts it.

    Prefect keeps it encrypted with a key that lies in the same database, and hands it to whoever may ask its API:
    delete the block once the feed has it.
    """

    _block_type_name = "Feed Credentials"
    _block_type_slug = "feed-credentials"
    _description = "A password or private key on its way into a feed; delete it once the feed is registered."

    password: SecretStr | None = Field(default=None, description="The password of the feed's user, if it has one")
    private_key: SecretStr | None = Field(default=None, description="An SSH private key, in place of a password")
    passphrase: SecretStr | None = Field(default=None, description="The passphrase of the private key, if it has one")
