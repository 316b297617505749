CREATE TABLE tenants (
	id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	plan TEXT DEFAULT 'enterprise' NOT NULL, 
	created_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	CONSTRAINT tenants_pkey PRIMARY KEY (id), 
	CONSTRAINT tenants_plan_known CHECK (plan IN ('free', 'growth', 'enterprise')), 
	CONSTRAINT tenants_id_form CHECK (id ~ '^[a-z0-9][a-z0-9_-]{0,62}$')
);

COMMENT ON COLUMN tenants.plan IS 'free: fixed cadence of 24 hours; -> growth, enterprise by the operator
growth: cadence down to 6 hours; -> free, enterprise by the operator
enterprise: cadence down to 1 hour; -> free, growth by the operator';

CREATE TABLE audit_events (
	id BIGINT GENERATED ALWAYS AS IDENTITY, 
	tenant_id TEXT NOT NULL, 
	event_name TEXT NOT NULL, 
	level TEXT NOT NULL, 
	actor TEXT NOT NULL, 
	pipeline TEXT, 
	key TEXT, 
	run_id UUID, 
	job_id UUID, 
	correlation_id TEXT, 
	fields JSONB DEFAULT '{}'::jsonb NOT NULL, 
	occurred_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	CONSTRAINT audit_events_pkey PRIMARY KEY (id), 
	CONSTRAINT audit_events_level_known CHECK (level IN ('DEBUG', 'INFO', 'WARN', 'ERROR'))
);

CREATE INDEX audit_events_run ON audit_events (run_id) WHERE run_id IS NOT NULL;

CREATE INDEX audit_events_key ON audit_events (tenant_id, pipeline, key, id);

COMMENT ON TABLE audit_events IS 'Append-only. No foreign keys: an event outlives what it speaks of.';

COMMENT ON COLUMN audit_events.event_name IS 'a name of the design documents; never renamed';

COMMENT ON COLUMN audit_events.level IS 'DEBUG: decision details; final
INFO: life of runs and admin actions; final
WARN: anomalies, fallbacks, blocked actions; final
ERROR: failures; final';

CREATE TABLE dispatcher_ticks (
	id INTEGER NOT NULL, 
	ticked_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	worker_instance TEXT NOT NULL, 
	CONSTRAINT dispatcher_ticks_pkey PRIMARY KEY (id), 
	CONSTRAINT dispatcher_ticks_one_row CHECK (id = 1)
);

COMMENT ON COLUMN dispatcher_ticks.id IS 'always 1: the newest tick';

CREATE TABLE retailers (
	id BIGINT GENERATED ALWAYS AS IDENTITY, 
	tenant_id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	website TEXT, 
	logo_url TEXT, 
	created_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	CONSTRAINT retailers_pkey PRIMARY KEY (id), 
	CONSTRAINT retailers_tenant_id_name_key UNIQUE (tenant_id, name), 
	CONSTRAINT retailers_tenant_id_fkey FOREIGN KEY(tenant_id) REFERENCES tenants (id)
);

CREATE SEQUENCE lock_ids AS BIGINT;

CREATE TABLE schedules (
	id BIGINT GENERATED ALWAYS AS IDENTITY, 
	tenant_id TEXT NOT NULL, 
	pipeline TEXT NOT NULL, 
	key TEXT NOT NULL, 
	status TEXT DEFAULT 'DRAFT' NOT NULL, 
	interval_seconds INTEGER, 
	next_run_at TIMESTAMP WITH TIME ZONE, 
	is_coalesced BOOLEAN DEFAULT true NOT NULL, 
	misfire_grace_seconds INTEGER, 
	minimum_interval_seconds INTEGER, 
	lock_id BIGINT DEFAULT nextval('lock_ids') NOT NULL, 
	manual_requested_at TIMESTAMP WITH TIME ZONE, 
	manual_requested_by TEXT, 
	consecutive_failures INTEGER DEFAULT '0' NOT NULL, 
	last_run_at TIMESTAMP WITH TIME ZONE, 
	created_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	updated_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	CONSTRAINT schedules_pkey PRIMARY KEY (id), 
	CONSTRAINT schedules_status_known CHECK (status IN ('DRAFT', 'ENABLED', 'PAUSED', 'DISABLED', 'REMOVED')), 
	CONSTRAINT schedules_pipeline_key_key UNIQUE (pipeline, key), 
	CONSTRAINT schedules_tenant_id_pipeline_key_key UNIQUE (tenant_id, pipeline, key), 
	CONSTRAINT schedules_pipeline_form CHECK (pipeline ~ '^[a-z][a-z0-9_]{0,62}$'), 
	CONSTRAINT schedules_key_form CHECK (key ~ '^[a-z0-9][a-z0-9._-]{0,99}$'), 
	CONSTRAINT schedules_interval_seconds_positive CHECK (interval_seconds > 0), 
	CONSTRAINT schedules_misfire_grace_seconds_counted CHECK (misfire_grace_seconds >= 0), 
	CONSTRAINT schedules_minimum_interval_seconds_positive CHECK (minimum_interval_seconds > 0), 
	CONSTRAINT schedules_interval_allowed CHECK (interval_seconds >= minimum_interval_seconds), 
	CONSTRAINT schedules_consecutive_failures_counted CHECK (consecutive_failures >= 0), 
	CONSTRAINT schedules_next_run_only_if_it_may_run CHECK (next_run_at IS NULL OR (interval_seconds IS NOT NULL AND status IN ('DRAFT', 'ENABLED'))), 
	CONSTRAINT schedules_tenant_id_fkey FOREIGN KEY(tenant_id) REFERENCES tenants (id), 
	CONSTRAINT schedules_lock_id_key UNIQUE (lock_id)
);

CREATE INDEX schedules_due ON schedules (next_run_at) WHERE status = 'ENABLED' AND next_run_at IS NOT NULL;

CREATE INDEX schedules_requested ON schedules (manual_requested_at) WHERE status = 'ENABLED' AND manual_requested_at IS NOT NULL;

COMMENT ON COLUMN schedules.status IS 'DRAFT: made by `feeds add`; never runs; -> ENABLED (enable), REMOVED (remove)
ENABLED: runs by slot and on request; -> PAUSED (pause), DISABLED (third failure), REMOVED (remove)
PAUSED: paused by admin; -> ENABLED (resume), REMOVED (remove)
DISABLED: disabled due to repeated failures; -> ENABLED (reenable, acknowledged), REMOVED (remove)
REMOVED: archived by `feeds remove`; final, its history stays';

COMMENT ON COLUMN schedules.interval_seconds IS 'null: runs on request only';

COMMENT ON COLUMN schedules.next_run_at IS 'the next slot; a claim moves it on by whole intervals, so slots do not drift';

COMMENT ON COLUMN schedules.is_coalesced IS 'a backlog of slots yields one run, that of the newest';

COMMENT ON COLUMN schedules.misfire_grace_seconds IS 'a slot older than this is passed over; null: never';

COMMENT ON COLUMN schedules.minimum_interval_seconds IS 'the plan''s floor under interval_seconds; null: none';

COMMENT ON COLUMN schedules.manual_requested_at IS 'the newest request for a run; whether it is still open is derived';

COMMENT ON COLUMN schedules.last_run_at IS 'when the last run ended, for display';

CREATE TABLE sources (
	id BIGINT GENERATED ALWAYS AS IDENTITY, 
	tenant_id TEXT NOT NULL, 
	retailer_id BIGINT NOT NULL, 
	name TEXT NOT NULL, 
	url TEXT, 
	source_kind TEXT DEFAULT 'DIRECT' NOT NULL, 
	is_display_primary BOOLEAN DEFAULT false NOT NULL, 
	affiliate_network TEXT, 
	affiliate_account_id TEXT, 
	affiliate_account_name TEXT, 
	affiliate_tracking_template TEXT, 
	obs_seq BIGINT DEFAULT '0' NOT NULL, 
	last_stamp_at TIMESTAMP WITH TIME ZONE, 
	created_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	updated_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	CONSTRAINT sources_pkey PRIMARY KEY (id), 
	CONSTRAINT sources_source_kind_known CHECK (source_kind IN ('DIRECT', 'AFFILIATE_FEED', 'OTHER')), 
	CONSTRAINT sources_affiliate_network_known CHECK (affiliate_network IN ('IMPACT')), 
	CONSTRAINT sources_obs_seq_counted CHECK (obs_seq >= 0), 
	CONSTRAINT sources_tenant_id_fkey FOREIGN KEY(tenant_id) REFERENCES tenants (id), 
	CONSTRAINT sources_retailer_id_fkey FOREIGN KEY(retailer_id) REFERENCES retailers (id)
);

CREATE INDEX sources_retailer_id_idx ON sources (retailer_id);

CREATE UNIQUE INDEX sources_one_primary_per_retailer ON sources (retailer_id) WHERE is_display_primary = true;

COMMENT ON COLUMN sources.source_kind IS 'DIRECT: the retailer''s own integration, shown unless another source is primary; final
AFFILIATE_FEED: a network''s feed, shown only as primary; final
OTHER: anything else, never shown; final';

COMMENT ON COLUMN sources.is_display_primary IS 'at most one per retailer; an affiliate feed shows only if it is';

COMMENT ON COLUMN sources.affiliate_network IS 'IMPACT: the only network so far; final';

COMMENT ON COLUMN sources.obs_seq IS 'attempts at a run so far';

COMMENT ON COLUMN sources.last_stamp_at IS 'the latest time written for this source; its clock never goes below it';

CREATE TABLE ingestion_jobs (
	id UUID NOT NULL, 
	tenant_id TEXT NOT NULL, 
	pipeline TEXT NOT NULL, 
	key TEXT NOT NULL, 
	slot TIMESTAMP WITH TIME ZONE NOT NULL, 
	trigger TEXT NOT NULL, 
	status TEXT DEFAULT 'queued' NOT NULL, 
	attempt INTEGER DEFAULT '0' NOT NULL, 
	submission INTEGER DEFAULT '0' NOT NULL, 
	submitted_at TIMESTAMP WITH TIME ZONE, 
	next_retry_at TIMESTAMP WITH TIME ZONE, 
	flow_run_id UUID, 
	run_id UUID, 
	external_run_id TEXT, 
	external_account_id TEXT, 
	correlation_id TEXT, 
	worker_instance TEXT, 
	requeued_from_job_id UUID, 
	error_code TEXT, 
	error_message TEXT, 
	error_class TEXT, 
	parameters JSONB DEFAULT '{}'::jsonb NOT NULL, 
	result JSONB, 
	requested_by TEXT, 
	created_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	started_at TIMESTAMP WITH TIME ZONE, 
	finished_at TIMESTAMP WITH TIME ZONE, 
	updated_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	CONSTRAINT ingestion_jobs_pkey PRIMARY KEY (id), 
	CONSTRAINT ingestion_jobs_trigger_known CHECK (trigger IN ('SCHEDULED', 'MANUAL', 'MANUAL_PENDING', 'ADMIN_TEST')), 
	CONSTRAINT ingestion_jobs_status_known CHECK (status IN ('queued', 'running', 'failed', 'dead_letter', 'success', 'skipped_timeout', 'canceled')), 
	CONSTRAINT ingestion_jobs_error_class_known CHECK (error_class IN ('transient', 'permanent', 'configuration')), 
	CONSTRAINT ingestion_jobs_tenant_id_pipeline_key_fkey FOREIGN KEY(tenant_id, pipeline, key) REFERENCES schedules (tenant_id, pipeline, key), 
	CONSTRAINT ingestion_jobs_tenant_id_pipeline_key_slot_key UNIQUE (tenant_id, pipeline, key, slot), 
	CONSTRAINT ingestion_jobs_attempt_counted CHECK (attempt >= 0), 
	CONSTRAINT ingestion_jobs_submission_counted CHECK (submission >= 0), 
	CONSTRAINT ingestion_jobs_retry_only_after_failure CHECK (next_retry_at IS NULL OR status = 'failed'), 
	CONSTRAINT ingestion_jobs_running_has_started CHECK (status <> 'running' OR started_at IS NOT NULL), 
	CONSTRAINT ingestion_jobs_finished_when_final CHECK ((status IN ('queued', 'running') OR (status = 'failed' AND next_retry_at IS NOT NULL)) = (finished_at IS NULL))
);

CREATE INDEX ingestion_jobs_open ON ingestion_jobs (status) WHERE status IN ('queued', 'running');

CREATE INDEX ingestion_jobs_run ON ingestion_jobs (run_id);

CREATE INDEX ingestion_jobs_retry_due ON ingestion_jobs (next_retry_at) WHERE next_retry_at IS NOT NULL;

CREATE UNIQUE INDEX ingestion_jobs_one_active ON ingestion_jobs (tenant_id, pipeline, key) WHERE status IN ('queued', 'running') OR (status = 'failed' AND next_retry_at IS NOT NULL);

CREATE INDEX ingestion_jobs_history ON ingestion_jobs (tenant_id, pipeline, key, created_at);

COMMENT ON COLUMN ingestion_jobs.id IS 'UUID version 7';

COMMENT ON COLUMN ingestion_jobs.slot IS 'the moment it stands for; of a manual run the moment of its request';

COMMENT ON COLUMN ingestion_jobs.trigger IS 'SCHEDULED: a slot came due; final, set once
MANUAL: a person asked; final, set once
MANUAL_PENDING: asked for while a run was under way, made when it ended; final, set once
ADMIN_TEST: a trial by an operator; final, set once';

COMMENT ON COLUMN ingestion_jobs.status IS 'queued: made by enqueue or claim, or back from running (crash, busy lock); -> running, canceled
running: started under the lock; -> success, failed, dead_letter, queued, skipped_timeout, canceled
failed: with next_retry_at: waits; -> queued, canceled. Without: final
dead_letter: retries used up or login refused; final, a person may requeue it as a new job
success: the run ended well, skipped and blocked included; final
skipped_timeout: found dead by a tick, and its policy has no retry; final
canceled: feed paused before the start, or stopped by an operator; final';

COMMENT ON COLUMN ingestion_jobs.attempt IS 'starts so far';

COMMENT ON COLUMN ingestion_jobs.submission IS 'flow runs asked for so far';

COMMENT ON COLUMN ingestion_jobs.next_retry_at IS 'set while a failed job waits for its retry';

COMMENT ON COLUMN ingestion_jobs.run_id IS 'its newest run';

COMMENT ON COLUMN ingestion_jobs.worker_instance IS 'host and process of the newest start';

COMMENT ON COLUMN ingestion_jobs.requeued_from_job_id IS 'the dead letter that it repeats';

COMMENT ON COLUMN ingestion_jobs.error_class IS 'transient: the same input may succeed later; -> a retry while attempts last
permanent: the same input will fail again; final
configuration: a person must change a setting; final';

COMMENT ON COLUMN ingestion_jobs.result IS 'what the run reports, for example records_synced';

CREATE TABLE feed_settings (
	id BIGINT GENERATED ALWAYS AS IDENTITY, 
	schedule_id BIGINT NOT NULL, 
	source_id BIGINT NOT NULL, 
	network TEXT DEFAULT 'IMPACT' NOT NULL, 
	expiry_hours INTEGER DEFAULT '48' NOT NULL, 
	heartbeat_hours INTEGER DEFAULT '24' NOT NULL, 
	unchanged_policy TEXT DEFAULT 'age' NOT NULL, 
	gates JSONB DEFAULT '{}'::jsonb NOT NULL, 
	transport TEXT DEFAULT 'SFTP' NOT NULL, 
	host TEXT, 
	port INTEGER, 
	path TEXT NOT NULL, 
	username TEXT, 
	host_key_fingerprint TEXT, 
	secret_ciphertext BYTEA, 
	secret_key_id TEXT, 
	secret_version INTEGER DEFAULT '1' NOT NULL, 
	format TEXT DEFAULT 'CSV' NOT NULL, 
	compression TEXT DEFAULT 'NONE' NOT NULL, 
	last_remote_mtime TIMESTAMP WITH TIME ZONE, 
	last_remote_size BIGINT, 
	last_content_hash TEXT, 
	max_file_size_bytes BIGINT, 
	max_row_count INTEGER, 
	config_version BIGINT DEFAULT '1' NOT NULL, 
	created_by TEXT, 
	created_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	updated_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	CONSTRAINT feed_settings_pkey PRIMARY KEY (id), 
	CONSTRAINT feed_settings_network_known CHECK (network IN ('IMPACT')), 
	CONSTRAINT feed_settings_unchanged_policy_known CHECK (unchanged_policy IN ('age', 'refresh')), 
	CONSTRAINT feed_settings_transport_known CHECK (transport IN ('SFTP', 'FTP', 'FILE')), 
	CONSTRAINT feed_settings_format_known CHECK (format IN ('CSV')), 
	CONSTRAINT feed_settings_compression_known CHECK (compression IN ('NONE', 'GZIP')), 
	CONSTRAINT feed_settings_expiry_hours_range CHECK (expiry_hours BETWEEN 1 AND 168), 
	CONSTRAINT feed_settings_heartbeat_hours_range CHECK (heartbeat_hours BETWEEN 0 AND 8760), 
	CONSTRAINT feed_settings_port_range CHECK (port BETWEEN 1 AND 65535), 
	CONSTRAINT feed_settings_max_file_size_bytes_positive CHECK (max_file_size_bytes > 0), 
	CONSTRAINT feed_settings_max_row_count_positive CHECK (max_row_count > 0), 
	CONSTRAINT feed_settings_host_unless_file CHECK ((transport = 'FILE') = (host IS NULL)), 
	CONSTRAINT feed_settings_secret_has_its_key_id CHECK ((secret_ciphertext IS NULL) = (secret_key_id IS NULL)), 
	CONSTRAINT feed_settings_schedule_id_key UNIQUE (schedule_id), 
	CONSTRAINT feed_settings_schedule_id_fkey FOREIGN KEY(schedule_id) REFERENCES schedules (id), 
	CONSTRAINT feed_settings_source_id_key UNIQUE (source_id), 
	CONSTRAINT feed_settings_source_id_fkey FOREIGN KEY(source_id) REFERENCES sources (id)
);

COMMENT ON COLUMN feed_settings.network IS 'IMPACT: the only network so far; final';

COMMENT ON COLUMN feed_settings.heartbeat_hours IS '0: no heartbeats';

COMMENT ON COLUMN feed_settings.unchanged_policy IS 'age: an unchanged file does not renew its offers; -> refresh by `feeds set`
refresh: an unchanged file counts as an observation; -> age by `feeds set`';

COMMENT ON COLUMN feed_settings.gates IS 'this feed''s own thresholds by gate; a gate that is off is false';

COMMENT ON COLUMN feed_settings.transport IS 'SFTP: the default, encrypted; -> FTP, FILE by `feeds set --url`
FTP: clear text, only where allowed; -> SFTP, FILE by `feeds set --url`
FILE: a path on this machine; -> SFTP, FTP by `feeds set --url`';

COMMENT ON COLUMN feed_settings.host_key_fingerprint IS 'SHA256:… as OpenSSH prints it; pinned';

COMMENT ON COLUMN feed_settings.secret_ciphertext IS 'version, IV, tag, AES-256-GCM ciphertext';

COMMENT ON COLUMN feed_settings.format IS 'CSV: delimited text; final';

COMMENT ON COLUMN feed_settings.compression IS 'NONE: the name does not end in .gz; -> GZIP by `feeds set --url`
GZIP: the name ends in .gz; -> NONE by `feeds set --url`';

COMMENT ON COLUMN feed_settings.last_remote_mtime IS 'of the last processed file; cleared by a failed run, an edit, a replay';

COMMENT ON COLUMN feed_settings.max_file_size_bytes IS 'null: 500 MB; inflated twenty times that';

COMMENT ON COLUMN feed_settings.max_row_count IS 'null: 500,000';

COMMENT ON COLUMN feed_settings.config_version IS 'one more with each edit';

CREATE TABLE source_products (
	id BIGINT GENERATED ALWAYS AS IDENTITY, 
	source_id BIGINT NOT NULL, 
	identity_type TEXT NOT NULL, 
	identity_value TEXT NOT NULL, 
	title TEXT NOT NULL, 
	url TEXT NOT NULL, 
	delivered_url TEXT, 
	image_url TEXT, 
	impact_item_id TEXT, 
	sku TEXT, 
	normalized_url_hash TEXT, 
	upc TEXT, 
	brand TEXT, 
	category TEXT, 
	description TEXT, 
	fingerprint BIGINT NOT NULL, 
	fingerprint_version SMALLINT NOT NULL, 
	seen_outside_at TIMESTAMP WITH TIME ZONE, 
	created_by_run_id UUID, 
	last_updated_by_run_id UUID, 
	created_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	updated_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	CONSTRAINT source_products_pkey PRIMARY KEY (id), 
	CONSTRAINT source_products_identity_type_known CHECK (identity_type IN ('IMPACT_ITEM_ID', 'SKU', 'URL_HASH')), 
	CONSTRAINT source_products_source_id_identity_type_identity_value_key UNIQUE (source_id, identity_type, identity_value), 
	CONSTRAINT source_products_source_id_fkey FOREIGN KEY(source_id) REFERENCES sources (id)
);

CREATE INDEX source_products_sku_idx ON source_products (sku);

CREATE INDEX source_products_impact_item_id_idx ON source_products (impact_item_id);

CREATE INDEX sp_source_id_id_idx ON source_products (source_id, id);

COMMENT ON COLUMN source_products.identity_type IS 'IMPACT_ITEM_ID: the network''s item id was there; final, immutable
SKU: no item id, the retailer''s SKU was; final, immutable
URL_HASH: neither; the hash of the normalised address; final, immutable';

COMMENT ON COLUMN source_products.url IS 'canonical: unwrapped, without tracking parameters';

COMMENT ON COLUMN source_products.delivered_url IS 'the link as the file has it';

COMMENT ON COLUMN source_products.upc IS 'digits, leading zeros kept';

COMMENT ON COLUMN source_products.fingerprint IS 'hash of the attributes';

COMMENT ON COLUMN source_products.seen_outside_at IS 'last seen by a run that was not promoted; written by a fold only';

CREATE TABLE ingestion_runs (
	id UUID NOT NULL, 
	tenant_id TEXT NOT NULL, 
	pipeline TEXT NOT NULL, 
	key TEXT NOT NULL, 
	source_id TEXT NOT NULL, 
	job_id UUID, 
	trigger TEXT NOT NULL, 
	status TEXT DEFAULT 'pending' NOT NULL, 
	active_stage TEXT DEFAULT 'discovery' NOT NULL, 
	worker_instance TEXT, 
	correlation_id TEXT, 
	created_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	started_at TIMESTAMP WITH TIME ZONE, 
	finished_at TIMESTAMP WITH TIME ZONE, 
	updated_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	error_code TEXT, 
	error_message TEXT, 
	last_error_message TEXT, 
	error_class TEXT, 
	stats_json JSONB DEFAULT '{}'::jsonb NOT NULL, 
	CONSTRAINT ingestion_runs_pkey PRIMARY KEY (id), 
	CONSTRAINT ingestion_runs_trigger_known CHECK (trigger IN ('SCHEDULED', 'MANUAL', 'MANUAL_PENDING', 'ADMIN_TEST')), 
	CONSTRAINT ingestion_runs_status_known CHECK (status IN ('pending', 'running', 'completed', 'failed', 'canceled')), 
	CONSTRAINT ingestion_runs_active_stage_known CHECK (active_stage IN ('discovery', 'documents', 'ocr', 'summary')), 
	CONSTRAINT ingestion_runs_error_class_known CHECK (error_class IN ('transient', 'permanent', 'configuration')), 
	CONSTRAINT ingestion_runs_tenant_id_pipeline_key_fkey FOREIGN KEY(tenant_id, pipeline, key) REFERENCES schedules (tenant_id, pipeline, key), 
	CONSTRAINT ingestion_runs_running_has_started CHECK (status <> 'running' OR started_at IS NOT NULL), 
	CONSTRAINT ingestion_runs_finished_when_final CHECK ((status IN ('pending', 'running')) = (finished_at IS NULL)), 
	CONSTRAINT ingestion_runs_failed_has_a_code CHECK (status <> 'failed' OR error_code IS NOT NULL), 
	CONSTRAINT ingestion_runs_job_id_fkey FOREIGN KEY(job_id) REFERENCES ingestion_jobs (id) ON DELETE SET NULL
);

CREATE INDEX ingestion_runs_job ON ingestion_runs (job_id);

CREATE INDEX ingestion_runs_open ON ingestion_runs (status) WHERE status IN ('pending', 'running');

CREATE INDEX ingestion_runs_key_status_started ON ingestion_runs (pipeline, key, status, started_at);

CREATE INDEX ingestion_runs_key_started ON ingestion_runs (pipeline, key, started_at);

CREATE UNIQUE INDEX ingestion_runs_one_running ON ingestion_runs (tenant_id, pipeline, key) WHERE status = 'running' AND pipeline = 'catalogue';

CREATE INDEX ingestion_runs_started ON ingestion_runs (started_at);

CREATE INDEX ingestion_runs_key_trigger_started ON ingestion_runs (pipeline, key, trigger, started_at);

COMMENT ON COLUMN ingestion_runs.id IS 'UUID version 7';

COMMENT ON COLUMN ingestion_runs.source_id IS 'what is read: of a catalogue run the id in sources';

COMMENT ON COLUMN ingestion_runs.job_id IS 'the job that opened it';

COMMENT ON COLUMN ingestion_runs.trigger IS 'SCHEDULED: a slot came due; final, set once
MANUAL: a person asked; final, set once
MANUAL_PENDING: asked for while a run was under way, made when it ended; final, set once
ADMIN_TEST: a trial by an operator; final, set once';

COMMENT ON COLUMN ingestion_runs.status IS 'pending: made before its first job started; -> running, canceled
running: first job started under its lock; -> completed, failed, canceled
completed: every step done, skipped and blocked included; final
failed: cannot go on; final
canceled: stopped by an operator; final';

COMMENT ON COLUMN ingestion_runs.active_stage IS 'discovery: looking at or fetching the source; -> documents
documents: downloading or loading; -> ocr, summary
ocr: reading text; -> summary
summary: nothing left to do; final';

COMMENT ON COLUMN ingestion_runs.worker_instance IS 'host and process';

COMMENT ON COLUMN ingestion_runs.error_message IS 'the first error';

COMMENT ON COLUMN ingestion_runs.last_error_message IS 'the last error';

COMMENT ON COLUMN ingestion_runs.error_class IS 'transient: the same input may succeed later; -> a retry while attempts last
permanent: the same input will fail again; final
configuration: a person must change a setting; final';

CREATE TABLE promotions (
	source_id BIGINT NOT NULL, 
	seq INTEGER NOT NULL, 
	promoted_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	observed_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	cutoff_obs BIGINT NOT NULL, 
	run_id UUID, 
	CONSTRAINT promotions_pkey PRIMARY KEY (source_id, seq), 
	CONSTRAINT promotions_source_id_fkey FOREIGN KEY(source_id) REFERENCES sources (id)
);

COMMENT ON TABLE promotions IS 'One row per promotion, kept for ever; no foreign key to runs, which are cleaned up.';

COMMENT ON COLUMN promotions.cutoff_obs IS 'prices up to this observation belong to it';

CREATE TABLE sightings (
	source_id BIGINT NOT NULL, 
	obs_seq BIGINT NOT NULL, 
	batch_no INTEGER NOT NULL, 
	run_id UUID, 
	seen_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	product_ids BIGINT[] NOT NULL, 
	CONSTRAINT sightings_pkey PRIMARY KEY (source_id, obs_seq, batch_no), 
	CONSTRAINT sightings_source_id_fkey FOREIGN KEY(source_id) REFERENCES sources (id)
);

CREATE INDEX sightings_run ON sightings (run_id);

COMMENT ON TABLE sightings IS 'Sightings that no promotion covers yet: one row per committed batch.';

CREATE TABLE setting_log (
	source_id BIGINT NOT NULL, 
	n INTEGER NOT NULL, 
	at TIMESTAMP WITH TIME ZONE NOT NULL, 
	expiry_hours INTEGER NOT NULL, 
	is_display_primary BOOLEAN DEFAULT false NOT NULL, 
	is_removed BOOLEAN DEFAULT false NOT NULL, 
	CONSTRAINT setting_log_pkey PRIMARY KEY (source_id, n), 
	CONSTRAINT setting_log_source_id_fkey FOREIGN KEY(source_id) REFERENCES sources (id)
);

COMMENT ON TABLE setting_log IS 'Append-only: the settings that decide what shows, so that the shelf of any past moment can be told.';

CREATE TABLE catalogue_runs (
	run_id UUID NOT NULL, 
	feed_id BIGINT NOT NULL, 
	source_id BIGINT NOT NULL, 
	obs_seq BIGINT, 
	observed_at TIMESTAMP WITH TIME ZONE, 
	config_version BIGINT NOT NULL, 
	download_bytes BIGINT, 
	inflated_bytes BIGINT, 
	rows_read INTEGER, 
	rows_parsed INTEGER, 
	products_upserted INTEGER, 
	products_created INTEGER, 
	products_changed INTEGER, 
	products_unchanged INTEGER, 
	products_returned INTEGER, 
	products_vanished INTEGER, 
	products_expired INTEGER, 
	products_rejected INTEGER, 
	rejected_by_code JSONB DEFAULT '{}'::jsonb NOT NULL, 
	prices_written INTEGER, 
	error_count INTEGER DEFAULT '0' NOT NULL, 
	duplicate_key_count INTEGER DEFAULT '0' NOT NULL, 
	url_hash_fallback_count INTEGER, 
	active_count_before INTEGER, 
	seen_success_count INTEGER, 
	would_expire_count INTEGER, 
	expiry_step_failed BOOLEAN DEFAULT false NOT NULL, 
	skipped_reason TEXT, 
	expiry_blocked BOOLEAN DEFAULT false NOT NULL, 
	expiry_blocked_reason TEXT, 
	blocked_reasons JSONB DEFAULT '[]'::jsonb NOT NULL, 
	expiry_approved_at TIMESTAMP WITH TIME ZONE, 
	expiry_approved_by TEXT, 
	expiry_rejected_at TIMESTAMP WITH TIME ZONE, 
	expiry_rejected_by TEXT, 
	expiry_rejected_reason TEXT, 
	promotion_seq INTEGER, 
	artifact_url TEXT, 
	replayed_from_run_id UUID, 
	plan_digest TEXT, 
	content_hash TEXT, 
	remote_mtime TIMESTAMP WITH TIME ZONE, 
	remote_size BIGINT, 
	detected JSONB DEFAULT '{}'::jsonb NOT NULL, 
	CONSTRAINT catalogue_runs_pkey PRIMARY KEY (run_id), 
	CONSTRAINT catalogue_runs_download_bytes_counted CHECK (download_bytes >= 0), 
	CONSTRAINT catalogue_runs_inflated_bytes_counted CHECK (inflated_bytes >= 0), 
	CONSTRAINT catalogue_runs_rows_read_counted CHECK (rows_read >= 0), 
	CONSTRAINT catalogue_runs_rows_parsed_counted CHECK (rows_parsed >= 0), 
	CONSTRAINT catalogue_runs_products_upserted_counted CHECK (products_upserted >= 0), 
	CONSTRAINT catalogue_runs_products_created_counted CHECK (products_created >= 0), 
	CONSTRAINT catalogue_runs_products_changed_counted CHECK (products_changed >= 0), 
	CONSTRAINT catalogue_runs_products_unchanged_counted CHECK (products_unchanged >= 0), 
	CONSTRAINT catalogue_runs_products_returned_counted CHECK (products_returned >= 0), 
	CONSTRAINT catalogue_runs_products_vanished_counted CHECK (products_vanished >= 0), 
	CONSTRAINT catalogue_runs_products_expired_counted CHECK (products_expired >= 0), 
	CONSTRAINT catalogue_runs_products_rejected_counted CHECK (products_rejected >= 0), 
	CONSTRAINT catalogue_runs_prices_written_counted CHECK (prices_written >= 0), 
	CONSTRAINT catalogue_runs_url_hash_fallback_count_counted CHECK (url_hash_fallback_count >= 0), 
	CONSTRAINT catalogue_runs_active_count_before_counted CHECK (active_count_before >= 0), 
	CONSTRAINT catalogue_runs_seen_success_count_counted CHECK (seen_success_count >= 0), 
	CONSTRAINT catalogue_runs_would_expire_count_counted CHECK (would_expire_count >= 0), 
	CONSTRAINT catalogue_runs_remote_size_counted CHECK (remote_size >= 0), 
	CONSTRAINT catalogue_runs_sums CHECK (products_upserted = products_created + products_changed + products_unchanged), 
	CONSTRAINT catalogue_runs_every_row_once CHECK (rows_read = products_upserted + products_rejected + duplicate_key_count), 
	CONSTRAINT catalogue_runs_errors_counted CHECK (error_count >= 0 AND duplicate_key_count >= 0), 
	CONSTRAINT catalogue_runs_blocked_has_a_reason CHECK (expiry_blocked = (expiry_blocked_reason IS NOT NULL)), 
	CONSTRAINT catalogue_runs_approved_was_waiting CHECK (expiry_approved_at IS NULL OR expiry_blocked OR expiry_step_failed), 
	CONSTRAINT catalogue_runs_rejected_was_waiting CHECK (expiry_rejected_at IS NULL OR expiry_blocked OR expiry_step_failed), 
	CONSTRAINT catalogue_runs_one_verdict CHECK (expiry_approved_at IS NULL OR expiry_rejected_at IS NULL), 
	CONSTRAINT catalogue_runs_approval_has_a_name CHECK ((expiry_approved_at IS NULL) = (expiry_approved_by IS NULL)), 
	CONSTRAINT catalogue_runs_rejection_has_a_name CHECK ((expiry_rejected_at IS NULL) = (expiry_rejected_by IS NULL)), 
	CONSTRAINT catalogue_runs_skipped_is_not_blocked CHECK (skipped_reason IS NULL OR NOT (expiry_blocked OR expiry_step_failed)), 
	CONSTRAINT catalogue_runs_run_id_fkey FOREIGN KEY(run_id) REFERENCES ingestion_runs (id) ON DELETE CASCADE, 
	CONSTRAINT catalogue_runs_feed_id_fkey FOREIGN KEY(feed_id) REFERENCES feed_settings (id), 
	CONSTRAINT catalogue_runs_source_id_fkey FOREIGN KEY(source_id) REFERENCES sources (id)
);

CREATE INDEX catalogue_runs_feed_obs ON catalogue_runs (feed_id, obs_seq);

CREATE INDEX catalogue_runs_source ON catalogue_runs (source_id);

COMMENT ON COLUMN catalogue_runs.run_id IS 'UUID version 7';

COMMENT ON COLUMN catalogue_runs.obs_seq IS 'of its final attempt; order is by this, never by time';

COMMENT ON COLUMN catalogue_runs.observed_at IS 'one per attempt, on all its rows';

COMMENT ON COLUMN catalogue_runs.products_upserted IS 'distinct accepted products = created + changed + unchanged';

COMMENT ON COLUMN catalogue_runs.products_returned IS 'had an earlier span and no open one';

COMMENT ON COLUMN catalogue_runs.products_vanished IS 'on the shelf of the last promotion and not in the file';

COMMENT ON COLUMN catalogue_runs.products_expired IS 'would_expire_count if promoted, else 0';

COMMENT ON COLUMN catalogue_runs.prices_written IS 'null until the first batch is committed';

COMMENT ON COLUMN catalogue_runs.skipped_reason IS 'UNCHANGED_MTIME or UNCHANGED_HASH';

COMMENT ON COLUMN catalogue_runs.expiry_blocked IS 'stays true after approval';

COMMENT ON COLUMN catalogue_runs.expiry_blocked_reason IS 'the first of blocked_reasons in the order of the gates';

COMMENT ON COLUMN catalogue_runs.promotion_seq IS 'the promotion that put it on the shelf';

COMMENT ON COLUMN catalogue_runs.content_hash IS 'SHA-256 of the file as delivered';

COMMENT ON COLUMN catalogue_runs.detected IS 'encoding, delimiter, quote, compression and the columns used';

CREATE TABLE affiliate_feed_run_errors (
	id BIGINT GENERATED ALWAYS AS IDENTITY, 
	run_id UUID NOT NULL, 
	code TEXT NOT NULL, 
	message TEXT NOT NULL, 
	row_number INTEGER, 
	raw_row TEXT, 
	created_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	CONSTRAINT affiliate_feed_run_errors_pkey PRIMARY KEY (id), 
	CONSTRAINT affiliate_feed_run_errors_run_id_fkey FOREIGN KEY(run_id) REFERENCES ingestion_runs (id) ON DELETE CASCADE
);

CREATE INDEX affiliate_feed_run_errors_run ON affiliate_feed_run_errors (run_id, code);

COMMENT ON COLUMN affiliate_feed_run_errors.raw_row IS 'the text of the row, cut';

CREATE TABLE prices (
	id BIGINT GENERATED ALWAYS AS IDENTITY, 
	source_product_id BIGINT NOT NULL, 
	obs_seq BIGINT NOT NULL, 
	price_amount NUMERIC NOT NULL, 
	original_price NUMERIC, 
	currency TEXT NOT NULL, 
	promo_json JSONB, 
	in_stock BOOLEAN NOT NULL, 
	reason TEXT NOT NULL, 
	affiliate_feed_run_id UUID, 
	price_signature_hash TEXT, 
	created_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	CONSTRAINT prices_pkey PRIMARY KEY (id), 
	CONSTRAINT prices_reason_known CHECK (reason IN ('new', 'changed', 'heartbeat')), 
	CONSTRAINT prices_price_amount_range CHECK (price_amount >= 0 AND price_amount < 10000000000), 
	CONSTRAINT prices_original_price_range CHECK (original_price >= 0 AND original_price < 10000000000), 
	CONSTRAINT prices_scale_range CHECK (scale(price_amount) <= 4 AND coalesce(scale(original_price), 0) <= 4), 
	CONSTRAINT prices_currency_form CHECK (currency ~ '^[A-Z]{3}$'), 
	CONSTRAINT prices_signature_length CHECK (length(price_signature_hash) = 32), 
	CONSTRAINT prices_source_product_id_fkey FOREIGN KEY(source_product_id) REFERENCES source_products (id)
);

CREATE INDEX prices_source_product_latest ON prices (source_product_id, obs_seq DESC, id DESC);

CREATE UNIQUE INDEX prices_affiliate_dedupe ON prices (source_product_id, affiliate_feed_run_id, price_signature_hash) WHERE affiliate_feed_run_id IS NOT NULL;

COMMENT ON TABLE prices IS 'Append-only: the database refuses UPDATE, DELETE and TRUNCATE. No other unique index may be added.';

COMMENT ON COLUMN prices.reason IS 'new: no earlier price of the product; final
changed: the signature differs from the latest row; final
heartbeat: same signature, and the heartbeat was due; final';

COMMENT ON COLUMN prices.affiliate_feed_run_id IS 'the run that wrote it, kept as provenance when the run is cleaned up';

COMMENT ON COLUMN prices.price_signature_hash IS 'of everything the row says: amount, currency, promotion, availability';

COMMENT ON COLUMN prices.created_at IS 'when it was observed';

CREATE TABLE ingestion_items (
	id BIGINT GENERATED ALWAYS AS IDENTITY, 
	run_id UUID NOT NULL, 
	source_id TEXT NOT NULL, 
	source_url_id TEXT, 
	document_id TEXT, 
	item_key TEXT NOT NULL, 
	item_label TEXT, 
	stage TEXT NOT NULL, 
	item_type TEXT NOT NULL, 
	status TEXT NOT NULL, 
	ingest_status TEXT, 
	ingest_reason TEXT, 
	job_id UUID, 
	document_url TEXT, 
	filename TEXT, 
	file_checksum TEXT, 
	file_kind TEXT, 
	error_message TEXT, 
	last_error_message TEXT, 
	needs_review BOOLEAN, 
	review_reason TEXT, 
	context_json JSONB DEFAULT '{}'::jsonb NOT NULL, 
	payload_json JSONB, 
	first_seen_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	last_seen_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	created_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	updated_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	CONSTRAINT ingestion_items_pkey PRIMARY KEY (id), 
	CONSTRAINT ingestion_items_stage_known CHECK (stage IN ('discovery', 'documents', 'ocr')), 
	CONSTRAINT ingestion_items_item_type_known CHECK (item_type IN ('source_url', 'document', 'ocr_job')), 
	CONSTRAINT ingestion_items_status_known CHECK (status IN ('pending', 'running', 'completed', 'failed', 'canceled', 'skipped', 'review_required')), 
	CONSTRAINT ingestion_items_run_id_item_key_key UNIQUE (run_id, item_key), 
	CONSTRAINT ingestion_items_run_id_fkey FOREIGN KEY(run_id) REFERENCES ingestion_runs (id) ON DELETE CASCADE
);

COMMENT ON COLUMN ingestion_items.item_key IS 'source_url:ID, document:ID, ocr_job:ID, or the same with _url:SHA256';

COMMENT ON COLUMN ingestion_items.stage IS 'discovery: found; -> documents
documents: downloaded; -> ocr
ocr: text read; final';

COMMENT ON COLUMN ingestion_items.item_type IS 'source_url: an address that discovery found; final
document: a file behind an address; final
ocr_job: the reading of one document; final';

COMMENT ON COLUMN ingestion_items.status IS 'pending: known, not begun; -> running, skipped, canceled
running: under way; -> completed, failed, review_required, canceled
completed: done; -> running when its job is retried
failed: not done; -> running when its job is retried
canceled: stopped by an operator; final
skipped: nothing to do; -> running when its job is retried
review_required: done, but a person must look; -> completed, running';

COMMENT ON COLUMN ingestion_items.error_message IS 'the first error';

COMMENT ON COLUMN ingestion_items.last_error_message IS 'the last error';

CREATE TABLE product_changes (
	source_id BIGINT NOT NULL, 
	obs_seq BIGINT NOT NULL, 
	product_id BIGINT NOT NULL, 
	run_id UUID, 
	title TEXT NOT NULL, 
	url TEXT NOT NULL, 
	delivered_url TEXT, 
	image_url TEXT, 
	impact_item_id TEXT, 
	sku TEXT, 
	normalized_url_hash TEXT, 
	upc TEXT, 
	brand TEXT, 
	category TEXT, 
	description TEXT, 
	fingerprint BIGINT NOT NULL, 
	fingerprint_version SMALLINT NOT NULL, 
	CONSTRAINT product_changes_pkey PRIMARY KEY (source_id, obs_seq, product_id), 
	CONSTRAINT product_changes_source_id_fkey FOREIGN KEY(source_id) REFERENCES sources (id), 
	CONSTRAINT product_changes_product_id_fkey FOREIGN KEY(product_id) REFERENCES source_products (id)
);

COMMENT ON TABLE product_changes IS 'Attribute changes that wait for promotion.';

COMMENT ON COLUMN product_changes.url IS 'canonical: unwrapped, without tracking parameters';

COMMENT ON COLUMN product_changes.delivered_url IS 'the link as the file has it';

COMMENT ON COLUMN product_changes.upc IS 'digits, leading zeros kept';

COMMENT ON COLUMN product_changes.fingerprint IS 'hash of the attributes';

CREATE TABLE shelf_spans (
	source_id BIGINT NOT NULL, 
	product_id BIGINT NOT NULL, 
	from_seq INTEGER NOT NULL, 
	to_seq INTEGER, 
	CONSTRAINT shelf_spans_pkey PRIMARY KEY (product_id, from_seq), 
	CONSTRAINT shelf_spans_order CHECK (to_seq >= from_seq), 
	CONSTRAINT shelf_spans_source_id_fkey FOREIGN KEY(source_id) REFERENCES sources (id), 
	CONSTRAINT shelf_spans_product_id_fkey FOREIGN KEY(product_id) REFERENCES source_products (id)
);

CREATE UNIQUE INDEX shelf_spans_one_open ON shelf_spans (product_id) WHERE to_seq IS NULL;

CREATE INDEX shelf_spans_open ON shelf_spans (source_id, product_id) WHERE to_seq IS NULL;

CREATE INDEX shelf_spans_source ON shelf_spans (source_id, to_seq);

COMMENT ON COLUMN shelf_spans.from_seq IS 'the first promotion of the span';

COMMENT ON COLUMN shelf_spans.to_seq IS 'the last promotion that included the product; null while it is there';

ALTER TABLE ingestion_jobs ADD CONSTRAINT ingestion_jobs_run_id_fkey FOREIGN KEY(run_id) REFERENCES ingestion_runs (id) ON DELETE SET NULL;

-- Say no to any change of an append-only table, to its owner too.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END
$$;

CREATE TRIGGER prices_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON prices
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_events
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER promotions_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON promotions
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER setting_log_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON setting_log
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- ALWAYS: session_replication_role = replica switches ordinary triggers off.
ALTER TABLE prices ENABLE ALWAYS TRIGGER prices_append_only;
ALTER TABLE audit_events ENABLE ALWAYS TRIGGER audit_events_append_only;
ALTER TABLE promotions ENABLE ALWAYS TRIGGER promotions_append_only;
ALTER TABLE setting_log ENABLE ALWAYS TRIGGER setting_log_append_only;

-- Say no to a new value in a column that is set once.
CREATE FUNCTION refuse_rewrite() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is set once: change of % refused', TG_ARGV[0], TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END
$$;

CREATE TRIGGER source_products_identity BEFORE UPDATE OF source_id, identity_type, identity_value ON source_products
    FOR EACH ROW WHEN ((OLD.source_id, OLD.identity_type, OLD.identity_value)
                       IS DISTINCT FROM (NEW.source_id, NEW.identity_type, NEW.identity_value))
    EXECUTE FUNCTION refuse_rewrite('the identity of a product');
CREATE TRIGGER ingestion_runs_trigger BEFORE UPDATE OF trigger ON ingestion_runs
    FOR EACH ROW WHEN (OLD.trigger IS DISTINCT FROM NEW.trigger)
    EXECUTE FUNCTION refuse_rewrite('the trigger of a run');
CREATE TRIGGER ingestion_jobs_trigger BEFORE UPDATE OF trigger, slot ON ingestion_jobs
    FOR EACH ROW WHEN ((OLD.trigger, OLD.slot) IS DISTINCT FROM (NEW.trigger, NEW.slot))
    EXECUTE FUNCTION refuse_rewrite('the trigger and slot of a job');
CREATE TRIGGER ingestion_items_item_key BEFORE UPDATE OF item_key ON ingestion_items
    FOR EACH ROW WHEN (OLD.item_key IS DISTINCT FROM NEW.item_key)
    EXECUTE FUNCTION refuse_rewrite('the key of an item');

-- A feed as the seed has it. What the ledger owns (status, slots, lock, requests) lives in schedules.
CREATE VIEW affiliate_feeds AS
SELECT f.id, f.source_id, f.network, s.status,
       s.interval_seconds / 3600 AS schedule_frequency_hours, s.next_run_at,
       f.expiry_hours, s.consecutive_failures, s.last_run_at,
       f.transport, f.host, f.port, f.path, f.username,
       f.secret_ciphertext, f.secret_key_id, f.secret_version,
       f.format, f.compression,
       f.last_remote_mtime, f.last_remote_size, f.last_content_hash,
       f.max_file_size_bytes, f.max_row_count,
       s.lock_id AS feed_lock_id,
       -- An open request: later than the start of the last run, and than its end unless that run succeeded.
       coalesce(s.manual_requested_at > last.started_at, s.manual_requested_at IS NOT NULL)
           AND (coalesce(last.status IN ('running', 'completed'), true) OR s.manual_requested_at > last.finished_at)
           AS manual_run_pending,
       f.created_at, f.updated_at, f.created_by,
       s.tenant_id, s.key AS feed_key, f.schedule_id,
       src.retailer_id, r.name AS retailer, src.is_display_primary,
       src.affiliate_account_id, src.affiliate_tracking_template,
       f.heartbeat_hours, f.unchanged_policy, f.gates, f.host_key_fingerprint, f.config_version,
       s.manual_requested_at, src.obs_seq, src.last_stamp_at
  FROM feed_settings f
  JOIN schedules s ON s.id = f.schedule_id
  JOIN sources src ON src.id = f.source_id
  JOIN retailers r ON r.id = src.retailer_id
  LEFT JOIN LATERAL (
       SELECT run.started_at, run.finished_at, run.status
         FROM ingestion_runs run
        WHERE run.pipeline = s.pipeline AND run.key = s.key AND run.started_at IS NOT NULL
        ORDER BY run.started_at DESC
        LIMIT 1) last ON true;

-- A catalogue run as the seed has it. Its life is the ledger's (ingestion_runs), its figures the catalogue's.
CREATE VIEW affiliate_feed_runs AS
SELECT r.id, c.feed_id, c.source_id, r.trigger,
       CASE r.status WHEN 'completed' THEN 'SUCCEEDED' WHEN 'running' THEN 'RUNNING' ELSE 'FAILED' END AS status,
       r.started_at, r.finished_at,
       (extract(epoch FROM r.finished_at - r.started_at) * 1000)::bigint AS duration_ms,
       c.download_bytes, c.rows_read, c.rows_parsed,
       c.products_upserted, c.products_expired, c.products_rejected, c.prices_written,
       c.error_count, c.duplicate_key_count, c.url_hash_fallback_count,
       c.active_count_before, c.seen_success_count, c.would_expire_count,
       r.status IN ('failed', 'canceled') AND c.prices_written IS NOT NULL AS is_partial, c.expiry_step_failed, c.skipped_reason,
       c.expiry_blocked, c.expiry_blocked_reason, c.expiry_approved_at, c.expiry_approved_by,
       c.artifact_url,
       c.expiry_rejected_at, c.expiry_rejected_by, c.expiry_rejected_reason,
       c.products_created, c.products_changed, c.products_unchanged, c.products_returned, c.products_vanished,
       c.inflated_bytes, c.rejected_by_code, c.blocked_reasons,
       c.replayed_from_run_id, c.plan_digest, c.promotion_seq,
       c.content_hash, c.remote_mtime, c.remote_size, c.detected,
       r.error_code, r.error_message, r.error_class,
       r.tenant_id, r.key AS feed_key, r.job_id, r.correlation_id, r.worker_instance,
       c.obs_seq, c.observed_at, c.config_version
  FROM catalogue_runs c
  JOIN ingestion_runs r ON r.id = c.run_id
 WHERE r.status <> 'pending';

-- Seed 001's view of the ledger: one row per claimed slot that was started.
CREATE VIEW job_runs AS
SELECT j.id, j.key AS job_name, j.slot AS scheduled_for, j.started_at, j.finished_at,
       CASE WHEN j.status IN ('running', 'success', 'skipped_timeout') THEN j.status ELSE 'failed' END AS status,
       j.worker_instance, j.error_message, j.tenant_id, j.pipeline
  FROM ingestion_jobs j
 WHERE j.started_at IS NOT NULL;

-- The seed's presence, derived: when a product was last seen, and last seen by a run that was promoted.
CREATE VIEW source_product_presence AS
SELECT p.id, p.id AS source_product_id,
       greatest(k.observed_at, p.seen_outside_at, waiting.seen_at) AS last_seen_at,
       k.promoted_at AS last_seen_success_at,
       greatest(k.promoted_at, p.seen_outside_at, waiting.seen_at) AS updated_at,
       p.source_id
  FROM source_products p
  LEFT JOIN LATERAL (
       SELECT span.from_seq, span.to_seq
         FROM shelf_spans span
        WHERE span.product_id = p.id
        ORDER BY span.from_seq DESC
        LIMIT 1) last ON true
  LEFT JOIN (SELECT source_id, max(seq) AS seq FROM promotions GROUP BY source_id) newest
         ON newest.source_id = p.source_id AND last.from_seq IS NOT NULL
  LEFT JOIN promotions k ON k.source_id = p.source_id AND k.seq = coalesce(last.to_seq, newest.seq)
  LEFT JOIN (
       SELECT source_id, product_id, max(seen_at) AS seen_at
         FROM sightings, unnest(product_ids) AS product_id
        GROUP BY source_id, product_id) waiting
         ON waiting.source_id = p.source_id AND waiting.product_id = p.id;

-- The seed's staging table, derived: which run saw which product. Promoted runs from their spans, others from their
-- sightings until a later set folds them, those of the final attempt; only runs that still exist.
CREATE VIEW source_product_seen AS
SELECT seen.run_id::text || ':' || seen.source_product_id AS id,
       seen.run_id, seen.source_product_id, seen.created_at, seen.source_id
  FROM (SELECT k.run_id, span.product_id AS source_product_id, k.observed_at AS created_at, k.source_id
          FROM promotions k
          JOIN shelf_spans span ON span.source_id = k.source_id
                               AND span.from_seq <= k.seq
                               AND (span.to_seq IS NULL OR span.to_seq >= k.seq)
         UNION
        SELECT s.run_id, product_id, s.seen_at, s.source_id
          FROM sightings s
          JOIN catalogue_runs final ON final.run_id = s.run_id AND coalesce(final.obs_seq, s.obs_seq) = s.obs_seq
         CROSS JOIN unnest(s.product_ids) AS product_id) seen
  JOIN ingestion_runs r ON r.id = seen.run_id;

-- What a shopper may see at a moment, as products and the promotion that each is shown by.
-- p_at null means now, which for each source is never before its last stamp.
CREATE FUNCTION shelf_at(p_at timestamptz)
RETURNS TABLE (source_product_id bigint, source_id bigint, promotion_seq integer,
               last_seen_success_at timestamptz, observed_at timestamptz, cutoff_obs bigint)
LANGUAGE sql STABLE AS $$
SELECT span.product_id, k.source_id, k.seq, k.promoted_at, k.observed_at, k.cutoff_obs
  FROM sources src
  CROSS JOIN LATERAL (SELECT coalesce(p_at, greatest(now(), src.last_stamp_at)) AS at) clock
  JOIN LATERAL (
       SELECT log.expiry_hours, log.is_display_primary, log.is_removed
         FROM setting_log log
        WHERE log.source_id = src.id AND log.at <= clock.at
        ORDER BY log.n DESC
        LIMIT 1) setting ON NOT setting.is_removed
  JOIN LATERAL (
       SELECT last.seq
         FROM promotions last
        WHERE last.source_id = src.id AND last.promoted_at <= clock.at
        ORDER BY last.seq DESC
        LIMIT 1) newest ON true
  JOIN shelf_spans span ON span.source_id = src.id AND span.from_seq <= newest.seq
  JOIN promotions k ON k.source_id = src.id AND k.seq = least(coalesce(span.to_seq, newest.seq), newest.seq)
 WHERE k.promoted_at >= clock.at - setting.expiry_hours * interval '1 hour'
   AND NOT EXISTS (
       SELECT FROM shelf_spans later
        WHERE later.product_id = span.product_id AND later.from_seq > span.from_seq AND later.from_seq <= newest.seq)
   AND CASE src.source_kind
       WHEN 'AFFILIATE_FEED' THEN setting.is_display_primary  -- fail closed
       WHEN 'DIRECT' THEN setting.is_display_primary OR NOT EXISTS (
            SELECT FROM sources other
              JOIN LATERAL (
                   SELECT log.is_display_primary, log.is_removed
                     FROM setting_log log
                    WHERE log.source_id = other.id AND log.at <= coalesce(p_at, greatest(now(), other.last_stamp_at))
                    ORDER BY log.n DESC
                    LIMIT 1) theirs ON theirs.is_display_primary AND NOT theirs.is_removed
             WHERE other.retailer_id = src.retailer_id)
       ELSE false END
$$;

-- The offers of a moment: each product with the price that its last promotion knew.
CREATE FUNCTION offers_at(p_at timestamptz)
RETURNS TABLE (source_product_id bigint, feed_key text, retailer text, identity_type text, identity_value text,
               impact_item_id text, sku text, upc text, title text, brand text, category text,
               url text, delivered_url text, tracking_template text, image_url text,
               price numeric, original_price numeric, currency text, in_stock boolean,
               last_seen_at timestamptz, last_seen_success_at timestamptz, priced_at timestamptz,
               tenant_id text, source_id bigint)
LANGUAGE sql STABLE AS $$
SELECT p.id, s.key, r.name, p.identity_type, p.identity_value,
       p.impact_item_id, p.sku, p.upc, p.title, p.brand, p.category,
       p.url, p.delivered_url, src.affiliate_tracking_template, p.image_url,
       price.price_amount, price.original_price, price.currency, price.in_stock,
       shelf.observed_at, shelf.last_seen_success_at, price.created_at,
       src.tenant_id, src.id
  FROM shelf_at(p_at) shelf
  JOIN source_products p ON p.id = shelf.source_product_id
  JOIN sources src ON src.id = shelf.source_id
  JOIN retailers r ON r.id = src.retailer_id
  LEFT JOIN feed_settings f ON f.source_id = src.id
  LEFT JOIN schedules s ON s.id = f.schedule_id
  JOIN LATERAL (
       SELECT latest.price_amount, latest.original_price, latest.currency, latest.in_stock, latest.created_at
         FROM prices latest
        WHERE latest.source_product_id = p.id AND latest.obs_seq <= shelf.cutoff_obs
        ORDER BY latest.obs_seq DESC, latest.id DESC
        LIMIT 1) price ON true
$$;

CREATE VIEW active_offers AS SELECT * FROM offers_at(NULL);

-- The price of each product that was ever promoted: the latest that its last promotion knew.
CREATE VIEW current_prices AS
SELECT last.product_id AS source_product_id, price.id AS price_id,
       price.price_amount AS price, price.original_price, price.currency, price.promo_json, price.in_stock,
       price.created_at AS observed_at, price.affiliate_feed_run_id AS run_id, k.source_id
  FROM (SELECT DISTINCT ON (product_id) product_id, source_id, to_seq
          FROM shelf_spans
         ORDER BY product_id, from_seq DESC) last
  JOIN (SELECT source_id, max(seq) AS seq FROM promotions GROUP BY source_id) newest USING (source_id)
  JOIN promotions k ON k.source_id = last.source_id AND k.seq = coalesce(last.to_seq, newest.seq)
  JOIN LATERAL (
       SELECT latest.*
         FROM prices latest
        WHERE latest.source_product_id = last.product_id AND latest.obs_seq <= k.cutoff_obs
        ORDER BY latest.obs_seq DESC, latest.id DESC
        LIMIT 1) price ON true;

-- A run that failed makes the next one read whatever is there, whoever closed it: itself, the next run or the reaper.
CREATE FUNCTION forget_file() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE feed_settings f
       SET last_remote_mtime = NULL, last_remote_size = NULL, last_content_hash = NULL
      FROM catalogue_runs c
     WHERE c.run_id = NEW.id AND f.id = c.feed_id;
    RETURN NULL;
END
$$;

CREATE TRIGGER ingestion_runs_forget_file AFTER UPDATE OF status ON ingestion_runs
    FOR EACH ROW WHEN (NEW.pipeline = 'catalogue' AND NEW.status IN ('failed', 'canceled'))
    EXECUTE FUNCTION forget_file();
