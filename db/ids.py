"""Identifiers of runs and jobs: UUID version 7, so that they sort by time of making."""

from uuid import UUID

from uuid_utils.compat import uuid7


def new_id() -> UUID:
    return uuid7()
