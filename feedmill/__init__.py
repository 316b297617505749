"""The face of feedmill: the command line, and for notebooks the reading API.

>>> import feedmill
>>> feedmill.offers("northfork", limit=10)
"""

from feedmill.reading import errors, evidence, feeds, offers, prices, run, runs

__all__ = ["errors", "evidence", "feeds", "offers", "prices", "run", "runs"]
