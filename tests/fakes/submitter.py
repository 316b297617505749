"""A Submitter that only remembers what it was handed."""

from dataclasses import dataclass, field
from uuid import UUID

from db.engine import Row
from db.ids import new_id


@dataclass
class Recorder:
    """Each submission gets a flow run of its own; a test says which of them came to nothing."""

    handed: list[Row] = field(default_factory=list)
    lost: set[UUID] = field(default_factory=set)

    def submit(self, job: Row) -> UUID:
        self.handed.append(job)
        return new_id()

    def is_lost(self, job: Row) -> bool:
        return job["flow_run_id"] in self.lost
