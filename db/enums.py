"""Every short list of words that a column may hold. Each word carries its transition, which its column repeats."""

from enum import StrEnum
from typing import Self


class Word(StrEnum):
    """A word of a list, with what leads to it and what may follow."""

    transition: str

    def __new__(cls, value: str, transition: str = "") -> Self:
        word = str.__new__(cls, value)
        word._value_ = value
        word.transition = transition
        return word


class Plan(Word):
    FREE = "free", "fixed cadence of 24 hours; -> growth, enterprise by the operator"
    GROWTH = "growth", "cadence down to 6 hours; -> free, enterprise by the operator"
    ENTERPRISE = "enterprise", "cadence down to 1 hour; -> free, growth by the operator"


class ScheduleStatus(Word):
    DRAFT = "DRAFT", "made by `feeds add`; never runs; -> ENABLED (enable), REMOVED (remove)"
    ENABLED = "ENABLED", "runs by slot and on request; -> PAUSED (pause), DISABLED (third failure), REMOVED (remove)"
    PAUSED = "PAUSED", "paused by admin; -> ENABLED (resume), REMOVED (remove)"
    DISABLED = "DISABLED", "disabled due to repeated failures; -> ENABLED (reenable, acknowledged), REMOVED (remove)"
    REMOVED = "REMOVED", "archived by `feeds remove`; final, its history stays"


class Trigger(Word):
    SCHEDULED = "SCHEDULED", "a slot came due; final, set once"
    MANUAL = "MANUAL", "a person asked; final, set once"
    MANUAL_PENDING = "MANUAL_PENDING", "asked for while a run was under way, made when it ended; final, set once"
    ADMIN_TEST = "ADMIN_TEST", "a trial by an operator; final, set once"


class JobStatus(Word):
    QUEUED = "queued", "made by enqueue or claim, or back from running (crash, busy lock); -> running, canceled"
    RUNNING = "running", "started under the lock; -> success, failed, dead_letter, queued, skipped_timeout, canceled"
    FAILED = "failed", "with next_retry_at: waits; -> queued, canceled. Without: final"
    DEAD_LETTER = "dead_letter", "retries used up or login refused; final, a person may requeue it as a new job"
    SUCCESS = "success", "the run ended well, skipped and blocked included; final"
    SKIPPED_TIMEOUT = "skipped_timeout", "found dead by a tick, and its policy has no retry; final"
    CANCELED = "canceled", "feed paused before the start, or stopped by an operator; final"


class RunStatus(Word):
    PENDING = "pending", "made before its first job started; -> running, canceled"
    RUNNING = "running", "first job started under its lock; -> completed, failed, canceled"
    COMPLETED = "completed", "every step done, skipped and blocked included; final"
    FAILED = "failed", "cannot go on; final"
    CANCELED = "canceled", "stopped by an operator; final"


class Stage(Word):
    DISCOVERY = "discovery", "looking at or fetching the source; -> documents"
    DOCUMENTS = "documents", "downloading or loading; -> ocr, summary"
    OCR = "ocr", "reading text; -> summary"
    SUMMARY = "summary", "nothing left to do; final"


class ItemStage(Word):
    DISCOVERY = "discovery", "found; -> documents"
    DOCUMENTS = "documents", "downloaded; -> ocr"
    OCR = "ocr", "text read; final"


class ItemType(Word):
    SOURCE_URL = "source_url", "an address that discovery found; final"
    DOCUMENT = "document", "a file behind an address; final"
    OCR_JOB = "ocr_job", "the reading of one document; final"


class ItemStatus(Word):
    PENDING = "pending", "known, not begun; -> running, skipped, canceled"
    RUNNING = "running", "under way; -> completed, failed, review_required, canceled"
    COMPLETED = "completed", "done; -> running when its job is retried"
    FAILED = "failed", "not done; -> running when its job is retried"
    CANCELED = "canceled", "stopped by an operator; final"
    SKIPPED = "skipped", "nothing to do; -> running when its job is retried"
    REVIEW_REQUIRED = "review_required", "done, but a person must look; -> completed, running"


class CatalogueRunStatus(Word):
    RUNNING = "RUNNING", "lock held, record made; -> SUCCEEDED, FAILED"
    SUCCEEDED = "SUCCEEDED", "processed, skipped or blocked; final"
    FAILED = "FAILED", "an error, a lost worker or an operator's cancel; final"


class SourceKind(Word):
    DIRECT = "DIRECT", "the retailer's own integration, shown unless another source is primary; final"
    AFFILIATE_FEED = "AFFILIATE_FEED", "a network's feed, shown only as primary; final"
    OTHER = "OTHER", "anything else, never shown; final"


class Network(Word):
    IMPACT = "IMPACT", "the only network so far; final"


class Transport(Word):
    SFTP = "SFTP", "the default, encrypted; -> FTP, FILE by `feeds set --url`"
    FTP = "FTP", "clear text, only where allowed; -> SFTP, FILE by `feeds set --url`"
    FILE = "FILE", "a path on this machine; -> SFTP, FTP by `feeds set --url`"


class SecretKind(Word):
    PASSWORD = "PASSWORD", "the stored secret is a password; -> PRIVATE_KEY by `feeds set --private-key`"
    PRIVATE_KEY = "PRIVATE_KEY", "it is an SSH private key; -> PASSWORD by `feeds set --password-stdin`"


class FileFormat(Word):
    CSV = "CSV", "delimited text; final"


class Compression(Word):
    NONE = "NONE", "the name does not end in .gz; -> GZIP by `feeds set --url`"
    GZIP = "GZIP", "the name ends in .gz; -> NONE by `feeds set --url`"


class UnchangedPolicy(Word):
    AGE = "age", "an unchanged file does not renew its offers; -> refresh by `feeds set`"
    REFRESH = "refresh", "an unchanged file counts as an observation; -> age by `feeds set`"


class IdentityType(Word):
    IMPACT_ITEM_ID = "IMPACT_ITEM_ID", "the network's item id was there; final, immutable"
    SKU = "SKU", "no item id, the retailer's SKU was; final, immutable"
    URL_HASH = "URL_HASH", "neither; the hash of the normalised address; final, immutable"


class PriceReason(Word):
    NEW = "new", "no earlier price of the product; final"
    CHANGED = "changed", "the signature differs from the latest row; final"
    HEARTBEAT = "heartbeat", "same signature, and the heartbeat was due; final"


class Recovery(Word):
    TRANSIENT = "transient", "the same input may succeed later; -> a retry while attempts last"
    PERMANENT = "permanent", "the same input will fail again; final"
    CONFIGURATION = "configuration", "a person must change a setting; final"


class Level(Word):
    DEBUG = "DEBUG", "decision details; final"
    INFO = "INFO", "life of runs and admin actions; final"
    WARN = "WARN", "anomalies, fallbacks, blocked actions; final"
    ERROR = "ERROR", "failures; final"
