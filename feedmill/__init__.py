"""The face of feedmill: the command line, and for notebooks the reading API.

>>> import feedmill
>>> feedmill.offers("northfork", limit=10)
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from feedmill.differences import diff
    from feedmill.reading import errors, evidence, feeds, offers, plan, prices, run, runs

__all__ = ["diff", "errors", "evidence", "feeds", "offers", "plan", "prices", "run", "runs"]


def __getattr__(name: str) -> Any:
    """A function of the reading API, imported when it is asked for: the command line must be up before that."""
    if name not in __all__:
        message = f"module 'feedmill' has no attribute {name!r}"
        raise AttributeError(message)
    from feedmill import differences, reading  # noqa: PLC0415

    return getattr(differences if name == "diff" else reading, name)


def __dir__() -> list[str]:
    return __all__
