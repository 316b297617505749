"""The catalogue: retailers, sources, feeds, what their runs found, products and prices."""

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql as pg

from db.enums import (
    Compression,
    FileFormat,
    IdentityType,
    Network,
    PriceReason,
    SecretKind,
    SourceKind,
    Transport,
    UnchangedPolicy,
)
from db.tables.base import count, flag, json, metadata, moment, serial, text, uuid, uuid_key, word


def source_column(*, primary_key: bool = False) -> sa.Column[int]:
    return sa.Column("source_id", sa.BigInteger, sa.ForeignKey("sources.id"), nullable=False, primary_key=primary_key)


retailers = sa.Table(
    "retailers",
    metadata,
    serial(),
    sa.Column("tenant_id", sa.Text, sa.ForeignKey("tenants.id"), nullable=False),
    text("name", required=True),
    text("website"),
    text("logo_url"),
    moment("created_at", required=True),
    sa.UniqueConstraint("tenant_id", "name"),
)

sources = sa.Table(
    "sources",
    metadata,
    serial(),
    sa.Column("tenant_id", sa.Text, sa.ForeignKey("tenants.id"), nullable=False),
    sa.Column("retailer_id", sa.BigInteger, sa.ForeignKey("retailers.id"), nullable=False),
    text("name", required=True),
    text("url"),
    *word("source_kind", SourceKind, default=SourceKind.DIRECT),
    flag("is_display_primary", comment="at most one per retailer; an affiliate feed shows only if it is"),
    *word("affiliate_network", Network, required=False),
    text("affiliate_account_id"),
    text("affiliate_account_name"),
    text("affiliate_tracking_template"),
    sa.Column("obs_seq", sa.BigInteger, nullable=False, server_default="0", comment="attempts at a run so far"),
    moment("last_stamp_at", comment="the latest time written for this source; its clock never goes below it"),
    moment("created_at", required=True),
    moment("updated_at", required=True),
    sa.CheckConstraint("obs_seq >= 0", name="obs_seq_counted"),
)
sa.Index("sources_retailer_id_idx", sources.c.retailer_id)
sa.Index(
    "sources_one_primary_per_retailer",
    sources.c.retailer_id,
    unique=True,
    postgresql_where=sa.text("is_display_primary = true"),
)

feed_settings = sa.Table(
    "feed_settings",
    metadata,
    serial(),
    sa.Column("schedule_id", sa.BigInteger, sa.ForeignKey("schedules.id"), nullable=False, unique=True),
    sa.Column("source_id", sa.BigInteger, sa.ForeignKey("sources.id"), nullable=False, unique=True),
    *word("network", Network, default=Network.IMPACT),
    sa.Column("expiry_hours", sa.Integer, nullable=False, server_default="48"),
    sa.Column("heartbeat_hours", sa.Integer, nullable=False, server_default="24", comment="0: no heartbeats"),
    *word("unchanged_policy", UnchangedPolicy, default=UnchangedPolicy.AGE),
    json("gates", default="{}", comment="this feed's own thresholds by gate; a gate that is off is false"),
    *word("transport", Transport, default=Transport.SFTP),
    text("host"),
    sa.Column("port", sa.Integer),
    text("path", required=True),
    text("username"),
    text("host_key_fingerprint", comment="SHA256:… as OpenSSH prints it; pinned"),
    sa.Column("secret_ciphertext", pg.BYTEA, comment="version, IV, tag, AES-256-GCM ciphertext"),
    text("secret_key_id"),
    sa.Column("secret_version", sa.Integer, nullable=False, server_default="1"),
    *word("format", FileFormat, default=FileFormat.CSV),
    *word("compression", Compression, default=Compression.NONE),
    moment("last_remote_mtime", comment="of the last processed file; cleared by a failed run, an edit, a replay"),
    sa.Column("last_remote_size", sa.BigInteger),
    text("last_content_hash"),
    sa.Column("max_file_size_bytes", sa.BigInteger, comment="null: 500 MB; inflated twenty times that"),
    sa.Column("max_row_count", sa.Integer, comment="null: 500,000"),
    sa.Column("config_version", sa.BigInteger, nullable=False, server_default="1", comment="one more with each edit"),
    text("created_by"),
    moment("created_at", required=True),
    moment("updated_at", required=True),
    sa.Column("max_product_count", sa.Integer, comment="null: as many as rows"),
    *word("secret_kind", SecretKind, default=SecretKind.PASSWORD),
    sa.Column(
        "legacy_algorithms",
        pg.ARRAY(sa.Text),
        nullable=False,
        server_default=sa.text("'{}'::text[]"),
        comment="old SSH algorithms that this feed accepts, by name",
    ),
    sa.CheckConstraint("max_product_count > 0", name="max_product_count_positive"),
    sa.CheckConstraint("expiry_hours BETWEEN 1 AND 168", name="expiry_hours_range"),
    sa.CheckConstraint("heartbeat_hours BETWEEN 0 AND 8760", name="heartbeat_hours_range"),
    sa.CheckConstraint("port BETWEEN 1 AND 65535", name="port_range"),
    sa.CheckConstraint("max_file_size_bytes > 0", name="max_file_size_bytes_positive"),
    sa.CheckConstraint("max_row_count > 0", name="max_row_count_positive"),
    sa.CheckConstraint("(transport = 'FILE') = (host IS NULL)", name="host_unless_file"),
    sa.CheckConstraint("(secret_ciphertext IS NULL) = (secret_key_id IS NULL)", name="secret_has_its_key_id"),
)

_BLOCKED = "expiry_blocked OR expiry_step_failed"

catalogue_runs = sa.Table(
    "catalogue_runs",
    metadata,
    uuid_key("run_id", sa.ForeignKey("ingestion_runs.id", ondelete="CASCADE")),
    sa.Column("feed_id", sa.BigInteger, sa.ForeignKey("feed_settings.id"), nullable=False),
    source_column(),
    sa.Column("obs_seq", sa.BigInteger, comment="of its final attempt; order is by this, never by time"),
    moment("observed_at", comment="one per attempt, on all its rows"),
    sa.Column("config_version", sa.BigInteger, nullable=False),
    *count("download_bytes", big=True),
    *count("inflated_bytes", big=True),
    *count("rows_read"),
    *count("rows_parsed"),
    *count("products_upserted", comment="distinct accepted products = created + changed + unchanged"),
    *count("products_created"),
    *count("products_changed"),
    *count("products_unchanged"),
    *count("products_returned", comment="had an earlier span and no open one"),
    *count("products_vanished", comment="on the shelf of the last promotion and not in the file"),
    *count("products_expired", comment="would_expire_count if promoted, else 0"),
    *count("products_rejected"),
    json("rejected_by_code", default="{}"),
    *count("prices_written", comment="null until the first batch is committed"),
    sa.Column("error_count", sa.Integer, nullable=False, server_default="0"),
    sa.Column("duplicate_key_count", sa.Integer, nullable=False, server_default="0"),
    *count("url_hash_fallback_count"),
    *count("active_count_before"),
    *count("seen_success_count"),
    *count("would_expire_count"),
    flag("expiry_step_failed"),
    text("skipped_reason", comment="UNCHANGED_MTIME or UNCHANGED_HASH"),
    flag("expiry_blocked", comment="stays true after approval"),
    text("expiry_blocked_reason", comment="the first of blocked_reasons in the order of the gates"),
    json("blocked_reasons", default="[]"),
    moment("expiry_approved_at"),
    text("expiry_approved_by"),
    moment("expiry_rejected_at"),
    text("expiry_rejected_by"),
    text("expiry_rejected_reason"),
    sa.Column("promotion_seq", sa.Integer, comment="the promotion that put it on the shelf"),
    text("artifact_url"),
    uuid("replayed_from_run_id"),
    text("plan_digest"),
    text("content_hash", comment="SHA-256 of the file as delivered"),
    moment("remote_mtime"),
    *count("remote_size", big=True),
    json("detected", default="{}", comment="encoding, delimiter, quote, compression and the columns used"),
    *count("products_in_stock", comment="of products_upserted those that the file has in stock"),
    sa.CheckConstraint("products_upserted = products_created + products_changed + products_unchanged", name="sums"),
    sa.CheckConstraint(
        "rows_read = products_upserted + products_rejected + duplicate_key_count", name="every_row_once"
    ),
    sa.CheckConstraint("error_count >= 0 AND duplicate_key_count >= 0", name="errors_counted"),
    sa.CheckConstraint("expiry_blocked = (expiry_blocked_reason IS NOT NULL)", name="blocked_has_a_reason"),
    sa.CheckConstraint(f"expiry_approved_at IS NULL OR {_BLOCKED}", name="approved_was_waiting"),
    sa.CheckConstraint(f"expiry_rejected_at IS NULL OR {_BLOCKED}", name="rejected_was_waiting"),
    sa.CheckConstraint("expiry_approved_at IS NULL OR expiry_rejected_at IS NULL", name="one_verdict"),
    sa.CheckConstraint("(expiry_approved_at IS NULL) = (expiry_approved_by IS NULL)", name="approval_has_a_name"),
    sa.CheckConstraint("(expiry_rejected_at IS NULL) = (expiry_rejected_by IS NULL)", name="rejection_has_a_name"),
    sa.CheckConstraint(f"skipped_reason IS NULL OR NOT ({_BLOCKED})", name="skipped_is_not_blocked"),
)
sa.Index("catalogue_runs_feed_obs", catalogue_runs.c.feed_id, catalogue_runs.c.obs_seq)
sa.Index("catalogue_runs_source", catalogue_runs.c.source_id)

affiliate_feed_run_errors = sa.Table(
    "affiliate_feed_run_errors",
    metadata,
    serial(),
    sa.Column("run_id", pg.UUID(as_uuid=True), sa.ForeignKey("ingestion_runs.id", ondelete="CASCADE"), nullable=False),
    text("code", required=True),
    text("message", required=True),
    sa.Column("row_number", sa.Integer),
    text("raw_row", comment="the text of the row, cut"),
    moment("created_at", required=True),
)
sa.Index("affiliate_feed_run_errors_run", affiliate_feed_run_errors.c.run_id, affiliate_feed_run_errors.c.code)


def attribute_columns() -> list[sa.schema.SchemaItem]:
    """What a file says of a product beside its price. Shown only after promotion."""
    return [
        text("title", required=True),
        text("url", required=True, comment="canonical: unwrapped, without tracking parameters"),
        text("delivered_url", comment="the link as the file has it"),
        text("image_url"),
        text("impact_item_id"),
        text("sku"),
        text("normalized_url_hash"),
        text("upc", comment="digits, leading zeros kept"),
        text("brand"),
        text("category"),
        text("description"),
        sa.Column("fingerprint", sa.BigInteger, nullable=False, comment="hash of the attributes"),
        sa.Column("fingerprint_version", sa.SmallInteger, nullable=False),
    ]


source_products = sa.Table(
    "source_products",
    metadata,
    serial(),
    sa.Column("source_id", sa.BigInteger, nullable=False, comment="no foreign key: see decision 6"),
    *word("identity_type", IdentityType),
    text("identity_value", required=True),
    *attribute_columns(),
    moment("seen_outside_at", comment="last seen by a run that was not promoted; written by a fold only"),
    uuid("created_by_run_id"),
    uuid("last_updated_by_run_id"),
    moment("created_at", required=True),
    moment("updated_at", required=True),
    sa.UniqueConstraint("source_id", "identity_type", "identity_value"),
)
sa.Index("sp_source_id_id_idx", source_products.c.source_id, source_products.c.id)
sa.Index("source_products_impact_item_id_idx", source_products.c.impact_item_id)
sa.Index("source_products_sku_idx", source_products.c.sku)

prices = sa.Table(
    "prices",
    metadata,
    serial(),
    sa.Column("source_product_id", sa.BigInteger, nullable=False, comment="no foreign key: see decision 6"),
    sa.Column("obs_seq", sa.BigInteger, nullable=False),
    sa.Column("price_amount", sa.Numeric, nullable=False),
    sa.Column("original_price", sa.Numeric),
    text("currency", required=True),
    json("promo_json"),
    sa.Column("in_stock", sa.Boolean, nullable=False),
    *word("reason", PriceReason),
    uuid("affiliate_feed_run_id", comment="the run that wrote it, kept as provenance when the run is cleaned up"),
    text("price_signature_hash", comment="of everything the row says: amount, currency, promotion, availability"),
    moment("created_at", required=True, comment="when it was observed"),
    sa.CheckConstraint("price_amount >= 0 AND price_amount < 10000000000", name="price_amount_range"),
    sa.CheckConstraint("original_price >= 0 AND original_price < 10000000000", name="original_price_range"),
    sa.CheckConstraint("scale(price_amount) <= 4 AND coalesce(scale(original_price), 0) <= 4", name="scale_range"),
    sa.CheckConstraint("currency ~ '^[A-Z]{3}$'", name="currency_form"),
    sa.CheckConstraint("length(price_signature_hash) = 32", name="signature_length"),
    comment="Append-only: the database refuses UPDATE, DELETE and TRUNCATE. No other unique index may be added.",
)
sa.Index("prices_source_product_latest", prices.c.source_product_id, prices.c.obs_seq.desc(), prices.c.id.desc())
sa.Index(
    "prices_affiliate_dedupe",
    *(prices.c[column] for column in ("affiliate_feed_run_id", "source_product_id", "price_signature_hash")),
    unique=True,
    postgresql_where=sa.text("affiliate_feed_run_id IS NOT NULL"),
)
