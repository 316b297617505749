"""A look at a feed's file from a form in the Prefect UI; it writes nothing but its findings."""

from prefect import flow
from prefect.artifacts import create_table_artifact

from db import engine
from tasks.catalogue.registry import Actor
from tasks.feed_trial import try_feed as look
from tasks.person import user_name


@flow(name="try-feed", flow_run_name="{feed_key}", persist_result=False)
def try_feed(feed_key: str, trust_host_key: bool = False) -> None:
    """Connect, parse the first rows, and say what was found at each step, as a table of this run.

    With `trust_host_key` the key that the server shows is pinned, if none is pinned yet.
    """
    with engine.connect() as conn:
        trial = look(conn, feed_key, Actor(user_name()), trust_host_key=trust_host_key)
    steps = [{"step": step.name, "ok": step.is_ok, "found": step.said} for step in trial.steps]
    create_table_artifact([*steps, *({"step": "warning", "ok": True, "found": said} for said in trial.warnings)])
    create_table_artifact(trial.sample_rows, description="the first rows as they would be read")
    if trial.failure is not None:
        raise trial.failure
