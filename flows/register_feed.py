"""A feed put on file from a form in the Prefect UI; its password comes from a block, never from a parameter."""

import getpass
from typing import Annotated, Literal

from prefect import flow
from prefect.logging import get_run_logger
from pydantic import Field

from blocks.feed_credentials import FeedCredentials
from db import engine
from db.errors import BadRequestError
from tasks.catalogue.registry import Actor
from tasks.registration import Credentials, Form, register

# Part of the form's schema, so that a server refuses a password in an address before it is stored with the run.
Url = Annotated[str, Field(pattern=r"^(sftp|ftp|file)://([^:/@]*@)?[^@]*$")]


@flow(name="register-feed", flow_run_name="{feed_key}", persist_result=False)
def register_feed(  # noqa: PLR0913, PLR0917 - a form
    feed_key: str,
    retailer: str | None = None,
    url: Url | None = None,
    credentials_block: str | None = None,
    delete_block: bool = False,
    host_key: str | None = None,
    every_hours: Literal[1, 2, 4, 6, 12, 24] | None = None,
    enable: bool = False,
    primary: bool = False,
    i_understand_ftp_is_insecure: bool = False,
) -> None:
    """Put a feed on file, with the credentials of a block; without an address, give a feed that is there new ones.

    Prefect would hand the block to anybody who may ask its API: let `delete_block` remove it once the feed has it.
    """
    form = None
    if url is not None:
        form = Form(retailer or "", url, host_key, every_hours, enable, primary, i_understand_ftp_is_insecure)
    with engine.connect() as conn:
        register(conn, feed_key, form, _credentials(credentials_block), Actor(getpass.getuser()))
    if credentials_block and delete_block:
        FeedCredentials.delete(credentials_block)
    elif credentials_block:
        get_run_logger().warning("the feed has its credentials; delete the block %s now", credentials_block)


def _credentials(block_name: str | None) -> Credentials:
    if block_name is None:
        return Credentials()
    try:
        block = FeedCredentials.load(block_name)
    except ValueError:
        message = f"there is no block of feed credentials named {block_name!r}"
        raise BadRequestError(message, code="UNKNOWN_BLOCK", hint="make one in the Prefect UI, under Blocks") from None
    typed = (block.password, block.private_key, block.passphrase)
    return Credentials(*(secret.get_secret_value() if secret else None for secret in typed))
