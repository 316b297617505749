"""A person's private key, made ready to be stored: read with its passphrase, kept without."""

import asyncssh

from db.errors import BadRequestError

SMALLEST_RSA_BITS = 2048


def usable_private_key(text: str, passphrase: str | None) -> str:
    """The key as OpenSSH text without its passphrase, in whose place the feed's own encryption comes.

    Refuses what is no key, and a weak one; nothing of key or passphrase is in what is said of it.
    """
    try:
        key = asyncssh.import_private_key(text, passphrase or None)
    except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError, ValueError) as error:
        raise _refused(str(error), has_passphrase=bool(passphrase)) from None
    bits = getattr(key.pyca_key, "key_size", SMALLEST_RSA_BITS)
    if key.get_algorithm() == "ssh-dss" or (key.get_algorithm() == "ssh-rsa" and bits < SMALLEST_RSA_BITS):
        message = f"a private key of this kind ({key.get_algorithm()}, {bits} bits) is too weak"
        raise _bad(message, "make one with: ssh-keygen -t ed25519")
    return key.export_private_key().decode()


def _refused(said: str, *, has_passphrase: bool) -> BadRequestError:
    """By the words of asyncssh, which has one kind of error for all of them."""
    if "Passphrase must be specified" in said:
        return _bad("the private key has a passphrase", "give it with --passphrase-stdin")
    if has_passphrase and ("ncorrect passphrase" in said or "nable to decrypt" in said):
        return _bad("the private key does not open with this passphrase", "give the right one with --passphrase-stdin")
    return _bad(
        "this is not a private key that feedmill can read", "it reads OpenSSH and PEM text, as ssh-keygen makes it"
    )


def _bad(message: str, hint: str) -> BadRequestError:
    return BadRequestError(message, code="BAD_PRIVATE_KEY", hint=hint)
