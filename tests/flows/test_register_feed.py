"""A feed registered from a form, with its password from a block; and the bar in Prefect of a file on its way."""

import json
import logging
import re
import traceback
from contextlib import suppress
from uuid import uuid4

import asyncssh
import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey
from prefect.client.schemas.sorting import FlowRunSort
from prefect.flows import load_flow_from_entrypoint

from blocks.feed_credentials import FeedCredentials
from db.errors import BadRequestError
from flows.register_feed import register_feed
from flows.try_feed import try_feed
from tasks import keyring, progress
from tasks.errors import FileMissingError
from tests.mill import after, csv_text, deliver, row

PASSWORD = "correct horse battery"
URL = "sftp://feeds@files.example.com/catalog.csv.gz"


@pytest.fixture
def saved():
    """Saves a block; what is left of it at the end is deleted."""
    names = []

    def save(name, **secrets):
        FeedCredentials(**secrets).save(name, overwrite=True)
        names.append(name)

    yield save
    for name in names:
        with suppress(ValueError):
            FeedCredentials.delete(name)


def blocks_named(name):
    try:
        return [FeedCredentials.load(name)]
    except ValueError:
        return []


def test_password_of_a_block_is_encrypted_into_the_feed(drawer, saved):
    saved("northfork-login", password=PASSWORD)
    register_feed("northfork", "Northfork", URL, credentials_block="northfork-login", every_hours=6, enable=True)
    feed = drawer.feed()
    assert (feed["status"], feed["schedule_frequency_hours"], feed["secret_kind"]) == ("ENABLED", 6, "PASSWORD")
    assert keyring.decrypted(feed) == PASSWORD
    assert PASSWORD.encode() not in feed["secret_ciphertext"]
    assert [event["fields"]["field_name"] for event in drawer.events("CREDENTIAL_CHANGED")] == ["password"]
    assert blocks_named("northfork-login")


def test_block_is_deleted_if_that_is_asked_for(drawer, saved):
    saved("northfork-login", password=PASSWORD)
    register_feed("northfork", "Northfork", URL, credentials_block="northfork-login", delete_block=True)
    assert blocks_named("northfork-login") == []


def test_block_stays_if_the_feed_could_not_be_registered(drawer, saved):
    saved("northfork-login", password=PASSWORD)
    with pytest.raises(BadRequestError):
        register_feed("northfork", "", URL, credentials_block="northfork-login", delete_block=True)
    assert blocks_named("northfork-login")
    assert drawer.conn.execute("SELECT FROM affiliate_feeds").fetchall() == []


def test_feed_on_file_gets_a_private_key(drawer, saved):
    drawer.put_on_file(URL, password=PASSWORD)
    key = asyncssh.generate_private_key("ssh-ed25519")
    text = key.export_private_key("pkcs8-pem", "open sesame").decode()
    saved("new-key", private_key=text, passphrase="open sesame")
    register_feed("northfork", credentials_block="new-key", delete_block=True)
    feed = drawer.feed()
    assert (feed["secret_kind"], feed["secret_version"]) == ("PRIVATE_KEY", 2)
    assert asyncssh.import_private_key(keyring.decrypted(feed)) == key


@pytest.mark.parametrize(
    "arguments, code",
    [
        pytest.param({"credentials_block": "no-such-block"}, "UNKNOWN_BLOCK", id="no such block"),
        pytest.param({}, "USAGE", id="nothing to do"),
        pytest.param({"url": "ftp://feeds@host/x.csv", "retailer": "Northfork"}, "BAD_VALUE", id="plain FTP"),
    ],
)
def test_form_that_cannot_be_taken_is_refused(drawer, arguments, code):
    with pytest.raises(BadRequestError) as caught:
        register_feed("northfork", **arguments)
    assert caught.value.code == code


WITH_PASSWORD = [
    pytest.param("sftp://feeds:hunter2@files.example.com/x.csv", id="in clear"),
    pytest.param("sftp://feeds%3Ahunter2@files.example.com/x.csv", id="after an encoded colon"),
    pytest.param("sftp://feeds%%3ahunter2@files.example.com/x.csv", id="after a percent sign and an encoded colon"),
    pytest.param("feeds:hunter2@files.example.com/x.csv", id="without a scheme"),
    pytest.param("file://feeds:hunter2@files.example.com/x.csv", id="of a local file"),
]


@pytest.mark.parametrize("url", WITH_PASSWORD)
def test_server_refuses_a_password_in_the_address_by_the_schema_of_the_form(url):
    form = load_flow_from_entrypoint("flows/register_feed.py:register_feed").parameters
    [text, _] = form.properties["url"]["anyOf"]
    assert re.search(text["pattern"], URL)
    assert not re.search(text["pattern"], url)


@pytest.mark.parametrize("url", [*WITH_PASSWORD, pytest.param(b"sftp://feeds:hunter2@files.example.com/x", id="bytes")])
def test_address_is_refused_before_prefect_hears_of_it(drawer, caplog, url):
    key = f"leaky-{uuid4()}"
    with caplog.at_level(logging.DEBUG), pytest.raises(BadRequestError) as caught:
        register_feed(key, "Leaky", url)
    assert caught.value.code == "BAD_VALUE"
    assert "hunter2" not in caplog.text + "".join(traceback.format_exception(caught.value))
    with get_client(sync_client=True) as client:
        newest = client.read_flow_runs(sort=FlowRunSort.EXPECTED_START_TIME_DESC, limit=20)
    assert key not in [run.parameters.get("feed_key") for run in newest]


def test_address_that_a_server_let_through_is_not_logged_by_the_worker(drawer, caplog):
    with caplog.at_level(logging.DEBUG), pytest.raises(BadRequestError):
        register_feed.validate_parameters({"feed_key": "leaky", "url": "sftp://feeds:hunter2@files.example.com/x"})
    assert "hunter2" not in caplog.text


def test_address_that_the_schema_does_not_take_is_refused_by_us_and_not_by_prefect(drawer):
    with pytest.raises(BadRequestError, match="the form does not take"):
        register_feed("leaky", "Leaky", "sftp://feeds@hunter2@files.example.com/x")


def test_form_with_other_options_is_checked_too(drawer):
    with pytest.raises(BadRequestError):
        register_feed.with_options(name="renamed")("leaky", "Leaky", "sftp://feeds:hunter2@files.example.com/x")


def progress_artifacts():
    with get_client(sync_client=True) as client:
        wanted = ArtifactFilter(key=ArtifactFilterKey(any_=["fetch-northfork"]))
        return client.read_artifacts(artifact_filter=wanted)


def test_trial_from_a_form_says_what_it_found(mill):
    mill.deliver(row(1), row(2))
    try_feed("northfork")
    with get_client(sync_client=True) as client:
        tables = [json.loads(found.data) for found in client.read_artifacts() if found.type == "table"]
    assert any(step.get("found") == "the first 2 parsed, 0 rejected" for steps in tables for step in steps)
    mill.path.unlink()
    with pytest.raises(FileMissingError):
        try_feed("northfork")


@pytest.mark.spec("002 17.4")
def test_file_of_several_pieces_has_a_bar_in_prefect(mill, caplog):
    rows = csv_text([row(number) for number in range(1, 30)])
    wide = "x" * 1_000_000
    deliver(mill.path, rows + f"i,s,Tent,https://shop.example/{wide},9.99,,Y,USD,,\n" * 5)
    before = {found.id for found in progress_artifacts()}  # of other tests, on the same server
    with caplog.at_level(logging.DEBUG, logger="prefect.task_runs"):
        mill.run(at=after(1))
    told = [int(percent) for percent in re.findall(r"DOWNLOAD_PROGRESS .*percent_complete=(\d+)", caplog.text)]
    assert told == sorted(set(told))
    assert (len(told) <= 10, told[-1]) == (True, 100)
    [bar] = [found for found in progress_artifacts() if found.id not in before]
    assert (bar.type, float(bar.data)) == ("progress", 100.0)


def test_attempt_after_the_fetch_uses_the_file_on_disk(mill):
    """The database refuses to note the file once; the second attempt notes it without fetching anew."""
    mill.deliver(row(1))
    mill.conn.execute("""
        CREATE SEQUENCE refusals;
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF nextval('refusals') = 1 THEN RAISE EXCEPTION 'not now' USING ERRCODE = '57014'; END IF;
            RETURN NEW;
        END $$;
        CREATE TRIGGER refuse BEFORE UPDATE OF content_hash ON catalogue_runs FOR EACH ROW
            WHEN (NEW.content_hash IS NOT NULL) EXECUTE FUNCTION refuse()""")
    hearing = Hearing()
    with progress.heard_by(hearing):
        assert mill.run(at=after(1))["rows_read"] == 1
    assert (len(hearing.fetches), len(hearing.sentences)) == (1, 1)


class Hearing(progress.Listener):
    def __init__(self):
        self.fetches = []
        self.sentences = []

    def progressed(self, what, done, total):
        if what == "fetching":
            self.fetches.append(done)

    def told(self, sentence):
        self.sentences.append(sentence)
