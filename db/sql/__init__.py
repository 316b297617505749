"""The only way to reach SQL."""

from functools import cache
from importlib.resources import files
from typing import LiteralString


@cache
def load_sql(name: LiteralString) -> LiteralString:
    """Text of `db/sql/<name>.sql`, for example `catalogue/append_prices`."""
    return files(__name__).joinpath(f"{name}.sql").read_text(encoding="utf-8")
