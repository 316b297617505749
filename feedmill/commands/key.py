"""`feedmill key`: the key that stored passwords are encrypted with."""

from dataclasses import asdict

import click

from db import engine
from feedmill.contract import Group, Reply
from tasks import key_rotation, keyring
from tasks.catalogue.registry import Actor
from tasks.person import user_name


@click.group(cls=Group)
def key() -> None:
    """The key that stored passwords and private keys are encrypted with."""


@key.command()
def new() -> Reply:
    """Print a new key, for CREDENTIAL_ENCRYPTION_KEY_B64. It is stored nowhere."""
    text = keyring.new_key()
    return Reply({"key": text}, text)


@key.command()
def rotate() -> Reply:
    """Encrypt every stored password and private key under a new key, all of them or none.

    \b
    With the embedded database the new key is made, and the old one kept beside it (credential.key.old).
    With a database of your own, on every machine:
      1. make a key:  feedmill key new
      2. set CREDENTIAL_ENCRYPTION_KEY_B64 to it, CREDENTIAL_ENCRYPTION_OLD_KEY_B64 to the old one; both can be read
      3. once, anywhere:  feedmill key rotate
      4. take CREDENTIAL_ENCRYPTION_OLD_KEY_B64 away
    """
    with engine.connect() as conn:
        done = key_rotation.rotate(conn, Actor(user_name()))
    said = f"{len(done.feeds)} stored secrets moved; all of them are under key {done.key_id} now"
    return Reply(asdict(done), said)
