"""Plain FTP sends passwords in clear text: whether this installation allows it at all."""

import os

VARIABLE = "AFFILIATE_FEED_ALLOW_PLAIN_FTP"
WARNING = "Insecure: FTP sends the password and the file in clear text. Use SFTP if possible."


def is_allowed() -> bool:
    """Only the word `true` allows it; anything else, and nothing, forbids it."""
    return os.environ.get(VARIABLE, "").strip().lower() == "true"
