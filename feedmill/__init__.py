"""The face of feedmill: the command line, and for notebooks the reading API.

>>> import feedmill
>>> feedmill.offers("northfork", limit=10)
"""

from feedmill.differences import diff
from feedmill.reading import errors, evidence, feeds, offers, plan, prices, run, runs

__all__ = ["diff", "errors", "evidence", "feeds", "offers", "plan", "prices", "run", "runs"]
