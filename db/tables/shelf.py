"""The shelf: what was promoted when, what waits for promotion, and the settings that decide what shows."""

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql as pg

from db.tables.base import flag, metadata, moment, uuid
from db.tables.catalogue import attribute_columns, source_column

product_changes = sa.Table(
    "product_changes",
    metadata,
    source_column(primary_key=True),
    sa.Column("obs_seq", sa.BigInteger, primary_key=True),
    sa.Column("product_id", sa.BigInteger, primary_key=True, comment="no foreign key: see decision 6"),
    uuid("run_id"),
    *attribute_columns(),
    comment="Attribute changes that wait for promotion.",
)

promotions = sa.Table(
    "promotions",
    metadata,
    source_column(primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True),
    moment("promoted_at", required=True),
    moment("observed_at", required=True),
    sa.Column("cutoff_obs", sa.BigInteger, nullable=False, comment="prices up to this observation belong to it"),
    uuid("run_id"),
    comment="One row per promotion, kept for ever; no foreign key to runs, which are cleaned up.",
)

# Without foreign keys, which took four of the five seconds that 500,000 first spans cost. Products come from the
# source's own sightings, and nothing deletes products.
shelf_spans = sa.Table(
    "shelf_spans",
    metadata,
    sa.Column("source_id", sa.BigInteger, nullable=False),
    sa.Column(
        "product_id", sa.BigInteger, primary_key=True, autoincrement=False, comment="no foreign key: see decision 6"
    ),
    sa.Column("from_seq", sa.Integer, primary_key=True, comment="the first promotion of the span"),
    sa.Column("to_seq", sa.Integer, comment="the last promotion that included the product; null while it is there"),
    sa.CheckConstraint("to_seq >= from_seq", name="order"),
)
sa.Index(
    "shelf_spans_one_open",
    shelf_spans.c.source_id,
    shelf_spans.c.product_id,
    unique=True,
    postgresql_where=sa.text("to_seq IS NULL"),
)

sightings = sa.Table(
    "sightings",
    metadata,
    source_column(primary_key=True),
    sa.Column("obs_seq", sa.BigInteger, primary_key=True),
    sa.Column("batch_no", sa.Integer, primary_key=True),
    uuid("run_id"),
    moment("seen_at", required=True),
    sa.Column("product_ids", pg.ARRAY(sa.BigInteger), nullable=False),
    comment="Sightings that no promotion covers yet: one row per committed batch.",
)
sa.Index("sightings_run", sightings.c.run_id)

setting_log = sa.Table(
    "setting_log",
    metadata,
    source_column(primary_key=True),
    sa.Column("n", sa.Integer, primary_key=True),
    moment("at", required=True),
    sa.Column("expiry_hours", sa.Integer, nullable=False),
    flag("is_display_primary"),
    flag("is_removed"),
    comment="Append-only: the settings that decide what shows, so that the shelf of any past moment can be told.",
)
