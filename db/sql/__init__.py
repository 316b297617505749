"""The only way to reach SQL."""

from functools import cache
from importlib.resources import files
from typing import LiteralString, cast


@cache
def load_sql(name: LiteralString) -> LiteralString:
    """Text of `db/sql/<name>.sql`, for example `catalogue/append_prices`."""
    text = files(__name__).joinpath(f"{name}.sql").read_text(encoding="utf-8")
    return cast(LiteralString, text)  # reviewed with the code, so as safe as a literal
