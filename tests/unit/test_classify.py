"""What an error means for the next attempt, where it does not say so itself."""

import socket
import ssl

import pytest

from db.enums import Recovery
from tasks import errors


@pytest.mark.spec("002 16.2")
@pytest.mark.parametrize(
    "error, recovery",
    [
        (TimeoutError(), Recovery.TRANSIENT),
        (ConnectionResetError(), Recovery.TRANSIENT),
        (BrokenPipeError(), Recovery.TRANSIENT),
        (ConnectionRefusedError(), Recovery.TRANSIENT),
        (socket.gaierror(), Recovery.TRANSIENT),
        (RuntimeError("never heard of"), Recovery.TRANSIENT),
        (PermissionError(), Recovery.PERMANENT),
        (FileNotFoundError(), Recovery.PERMANENT),
        (TypeError(), Recovery.PERMANENT),
        (ssl.SSLCertVerificationError("certificate has expired"), Recovery.CONFIGURATION),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_classify_what_others_raise(error, recovery):
    assert errors.classify(error) is recovery


KINDS = [
    kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.IngestError)
]  # fmt: skip


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not errors.IngestError], ids=lambda k: k.code)
def test_every_error_says_what_to_do(kind):
    assert kind().hint


def test_every_error_has_a_code_of_its_own():
    codes = [kind.code for kind in KINDS]
    assert len(codes) == len(set(codes))
