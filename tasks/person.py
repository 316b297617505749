"""Who acts, as the machine knows them."""

import getpass
import os


def user_name() -> str:
    """The name of the user, or `uid-N` for an id without one, as containers have them."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # OSError from Python 3.13 on
        return f"uid-{os.getuid()}"
