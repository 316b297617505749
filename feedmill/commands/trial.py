"""`feedmill feeds try`: a look at a feed's file that writes nothing."""

from typing import TYPE_CHECKING, Any

import click
from rich.console import Group as Lines
from rich.console import RenderableType

from db import engine
from db.errors import FeedmillError
from feedmill import views
from feedmill.commands.feeds import actor, at_option, key_argument
from feedmill.contract import FAILED, Command, Reply
from tasks.hints import hint_of, naming

if TYPE_CHECKING:
    from tasks.catalogue.trial import Trial


@click.command("try", cls=Command)
@key_argument
@click.option("--trust-host-key", is_flag=True, help="If none is pinned yet: pin the key that the server shows")
@at_option
def try_(key: str, *, trust_host_key: bool, at: str | None) -> Reply:
    """Connect, look at the file and parse its first 100 rows; say what is found at each step.

    Nothing is written, but with --trust-host-key the host key. Compare the fingerprint with the owner of the server: a
    key that differs from a pinned one is never trusted this way.
    """
    from tasks import feed_trial  # noqa: PLC0415 - asyncssh takes a quarter of a second

    with naming(key), engine.connect() as conn:
        trial = feed_trial.try_feed(conn, key, actor(at), trust_host_key=trust_host_key)
    return Reply(_document(key, trial), _view(trial), 0 if trial.is_success else FAILED, _error(key, trial))


def _error(key: str, trial: "Trial") -> FeedmillError | None:
    if trial.failure is None:
        return None if trial.is_success else FeedmillError("none of the first rows can be used", code="NO_USABLE_ROWS")
    failure = trial.failure
    return FeedmillError(failure.message, code=failure.code, hint=hint_of(failure, key))


def _document(key: str, trial: "Trial") -> dict[str, Any]:
    error = _error(key, trial)
    return {
        "success": trial.is_success,
        "key": key,
        "steps": [{"step": step.name, "ok": step.is_ok, "said": step.said} for step in trial.steps],
        "rows_detected": trial.rows_detected,
        "format_detected": trial.detected,
        "columns": {"mapped": trial.mapped, "unmapped": trial.unmapped},
        "sample_rows": trial.sample_rows,
        "errors": trial.errors,
        "warnings": trial.warnings,
        "error": {"code": error.code, "message": error.message, "hint": error.hint or None} if error else None,
    }


def _view(trial: "Trial") -> RenderableType:
    steps = [("ok" if step.is_ok else "FAILED", step.name, step.said) for step in trial.steps]
    parts: list[RenderableType] = [views.table(("", "step", "found"), steps)]
    if trial.mapped:
        mapped = ", ".join(f"{field}={'|'.join(columns)}" for field, columns in trial.mapped.items())
        parts += ["", f"mapped: {mapped}", f"not mapped: {', '.join(trial.unmapped) or '-'}"]
    if trial.sample_rows:
        parts += ["", _rows(trial)]
    parts += [f"row {error['row_number']} is rejected: {error['code']}" for error in trial.errors]
    parts += [f"warning: {warning}" for warning in trial.warnings]
    return Lines(*parts)


def _rows(trial: "Trial") -> RenderableType:
    head = ("row", "item id", "sku", "title", "price", "address")
    rows = [
        (
            str(row["row_number"]),
            row["impact_item_id"] or "-",
            row["sku"] or "-",
            views.cut(row["title"], 40),
            f"{row['price']} {row['currency']}" if row["price"] else "-",
            views.cut(row["url"], 60),
        )
        for row in trial.sample_rows
    ]  # fmt: skip - one row of the table
    return views.table(head, rows, numbers=("row", "price"))
