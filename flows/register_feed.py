"""A feed put on file from a form in the Prefect UI; its password comes from a block, never from a parameter."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from prefect import Flow, flow
from prefect.logging import get_run_logger
from prefect.utilities.callables import get_call_parameters
from pydantic import Field

from blocks.feed_credentials import FeedCredentials
from db import engine
from db.errors import BadRequestError
from tasks.catalogue.config import parse_address
from tasks.catalogue.registry import Actor
from tasks.person import user_name
from tasks.registration import Credentials, Form, register

# Part of the form's schema, so that a server refuses a password in an address before it is stored with the run.
# The user holds no colon, not even an encoded one; no look-ahead, which the engine of Pydantic does not know.
_PATTERN = r"^(sftp|ftp|file)://(([^:/@%]|%[^3%:/@]|%3[^Aa%:/@])*@)?[^@]*$"
Url = Annotated[str, Field(pattern=_PATTERN)]


def _refuse_address(parameters: Mapping[str, Any]) -> None:
    """BadRequestError for an address that cannot be; what it says holds no password."""
    url = parameters.get("url")
    if url is None:
        return
    if not isinstance(url, str):  # Pydantic would make text of bytes, after Prefect has stored them
        message = "the address is not text"
        raise BadRequestError(message, code="BAD_VALUE")
    parse_address(url)
    if not re.search(_PATTERN, url):
        message = "the form does not take this address"
        hint = "write sftp, ftp or file in small letters, and %40 for an @ in user or path"
        raise BadRequestError(message, code="BAD_VALUE", hint=hint)


class _Checked(Flow[..., None]):
    """Looks at the address first: Prefect stores parameters, and logs them, before it validates them."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        options = {"return_state", "wait_for"}
        given = {name: value for name, value in kwargs.items() if name not in options}
        _refuse_address(get_call_parameters(self.fn, args, given))
        return super().__call__(*args, **kwargs)

    def validate_parameters(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """Of a run that a server took without looking, in the worker: what Prefect refuses here it logs in full."""
        _refuse_address(parameters)
        return super().validate_parameters(parameters)

    def with_options(self, **options: Any) -> Flow[..., None]:
        return _checked_first(super().with_options(**options))


def _checked_first(form: Flow[..., None]) -> Flow[..., None]:
    """The same flow. `@flow` makes no class but its own, and `prefect deploy` looks for `@flow` in the text."""
    form.__class__ = _Checked
    return form


@_checked_first
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
        register(conn, feed_key, form, _credentials(credentials_block), Actor(user_name()))
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
