"""A new key for every stored secret: all or none, readable throughout, whoever writes meanwhile or is killed."""

import base64
import threading
import time

import pytest

from db import engine, feeds
from db.clock import Clock
from db.engine import transaction
from tasks import files, key_rotation, keyring
from tasks.catalogue import config, registry
from tasks.errors import KeyMissingError, SecretUnreadableError
from tasks.secrets import key_id
from tests.mill import START

OLD, NEW = (base64.b64encode(bytes([byte]) * 32).decode() for byte in (1, 2))
ACTOR = registry.Actor("test", Clock(START))


@pytest.fixture(autouse=True)
def old_key(monkeypatch):
    monkeypatch.setenv("CREDENTIAL_ENCRYPTION_KEY_B64", OLD)
    monkeypatch.setenv("FEEDMILL_TEST_CLOCK", "1")


@pytest.fixture
def new_key(monkeypatch):
    """Deploys the new key beside the old one, and takes the old one away."""

    class Keys:
        def deploy(self):
            monkeypatch.setenv("CREDENTIAL_ENCRYPTION_KEY_B64", NEW)
            monkeypatch.setenv("CREDENTIAL_ENCRYPTION_OLD_KEY_B64", OLD)

        def drop_old(self):
            monkeypatch.delenv("CREDENTIAL_ENCRYPTION_OLD_KEY_B64")

    return Keys()


SECRET = "correct horse"


def add(conn, key, password=SECRET):
    address = config.parse_address(f"sftp://feeds@files.example.com/{key}.csv")
    settings = registry.FeedSettings(address=address)
    registry.add_feed(conn, registry.NewFeed(key, "default", f"Shop {key}", settings), ACTOR)
    if password:
        registry.set_password(conn, key, password, ACTOR)


def secrets_of(conn):
    rows = conn.execute("SELECT * FROM affiliate_feeds ORDER BY feed_key").fetchall()
    return {row["feed_key"]: (keyring.decrypted(row), row["secret_key_id"]) for row in rows}


def id_of(text):
    return key_id(base64.b64decode(text))


def test_rotate_moves_every_secret_and_nothing_else(conn, new_key):
    add(conn, "a", "first")
    add(conn, "b", "second")
    add(conn, "c", None)
    settings = "SELECT config_version, updated_at, last_content_hash FROM feed_settings ORDER BY id"
    before = conn.execute(settings).fetchall()
    versions = conn.execute("SELECT secret_version FROM feed_settings ORDER BY id").fetchall()
    new_key.deploy()
    done = key_rotation.rotate(conn, ACTOR)
    assert (done.key_id, done.feeds) == (id_of(NEW), ["a", "b"])
    new_key.drop_old()
    assert secrets_of(conn) == {"a": ("first", id_of(NEW)), "b": ("second", id_of(NEW)), "c": (None, None)}
    assert conn.execute(settings).fetchall() == before
    assert conn.execute("SELECT secret_version FROM feed_settings ORDER BY id").fetchall() != versions
    noted = conn.execute("SELECT key, fields FROM audit_events WHERE event_name = 'CREDENTIAL_CHANGED'").fetchall()
    assert [row["key"] for row in noted if row["fields"]["field_name"] == "encryption key"] == ["a", "b"]


def test_both_keys_are_read_until_it_is_done(conn, new_key):
    add(conn, "a")
    new_key.deploy()
    add(conn, "b")
    assert secrets_of(conn) == {"a": ("correct horse", id_of(OLD)), "b": ("correct horse", id_of(NEW))}


def test_rotate_twice_does_it_once(conn, new_key):
    add(conn, "a")
    new_key.deploy()
    assert [key_rotation.rotate(conn, ACTOR).feeds for _ in range(2)] == [["a"], []]


def test_one_secret_that_cannot_be_read_stops_all(conn, new_key):
    add(conn, "a")
    add(conn, "b")
    conn.execute("UPDATE feed_settings SET secret_key_id = 'lost' WHERE id = (SELECT max(id) FROM feed_settings)")
    new_key.deploy()
    with pytest.raises(SecretUnreadableError, match=r"^b: ") as caught:
        key_rotation.rotate(conn, ACTOR)
    assert "feeds set b" in caught.value.hint
    conn.execute("UPDATE feed_settings SET secret_key_id = %s WHERE secret_key_id = 'lost'", [id_of(OLD)])
    assert {key for _, key in secrets_of(conn).values()} == {id_of(OLD)}


def test_rotate_without_the_old_key_says_what_to_do(conn):
    with pytest.raises(KeyMissingError, match="OLD_KEY") as caught:
        key_rotation.rotate(conn, ACTOR)
    assert "feedmill key new" in caught.value.hint


def test_ciphertext_moved_to_another_feed_does_not_open(conn):
    add(conn, "a", "first")
    add(conn, "b", "second")
    first = conn.execute("SELECT secret_ciphertext FROM feed_settings ORDER BY id").fetchone()["secret_ciphertext"]
    conn.execute("UPDATE feed_settings SET secret_ciphertext = %s", [first])
    assert keyring.decrypted(registry.find_feed(conn, "a")) == "first"
    with pytest.raises(SecretUnreadableError):
        keyring.decrypted(registry.find_feed(conn, "b"))


def test_secret_of_a_removed_feed_is_gone(conn):
    add(conn, "a")
    registry.remove_feed(conn, "a", ACTOR)
    assert secrets_of(conn) == {"a": (None, None)}


def test_password_written_meanwhile_is_not_left_under_the_old_key(conn, database, new_key):
    """A password on its way in holds the rotation up; the rotation then finds it."""
    add(conn, "a", None)
    with engine.open_connection(database) as other:
        with transaction(other):
            registry.set_password(other, "a", "on its way", ACTOR)  # under the old key, not committed
            new_key.deploy()
            rotation = threading.Thread(target=lambda: done.append(key_rotation.rotate(conn, ACTOR)))
            done = []
            rotation.start()
            wait_for_a_lock(other)
            assert done == []
        rotation.join()
    assert done[0].feeds == ["a"]
    new_key.drop_old()
    assert secrets_of(conn) == {"a": ("on its way", id_of(NEW))}


def wait_for_a_lock(conn):
    waiting = "SELECT count(*) AS n FROM pg_locks WHERE NOT granted AND locktype = 'advisory'"
    deadline = time.monotonic() + 10
    while not conn.execute(waiting).fetchone()["n"]:
        assert time.monotonic() < deadline, "nobody waits"


@pytest.fixture
def key_files(monkeypatch, tmp_path):
    """The keys of an embedded database, which are files."""
    for name in ("FEEDMILL_DATABASE_URL", "CREDENTIAL_ENCRYPTION_KEY_B64"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FEEDMILL_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_key_is_made_for_the_first_secret_only(conn, key_files):
    add(conn, "a")
    made = (key_files / "credential.key").read_bytes()
    (key_files / "credential.key").unlink()
    add(conn, "b", None)
    for lost in (
        lambda: registry.set_password(conn, "b", SECRET, ACTOR),
        lambda: registry.set_password(conn, "a", SECRET, ACTOR),
        lambda: keyring.decrypted(registry.find_feed(conn, "a")),
        lambda: key_rotation.rotate(conn, ACTOR),
    ):
        with pytest.raises(KeyMissingError, match=str(key_files / "credential.key")):
            lost()
        assert list(key_files.iterdir()) == []
    (key_files / "credential.key").write_bytes(made)
    (key_files / "credential.key").chmod(0o600)
    assert secrets_of(conn)["a"][0] == SECRET


def test_key_is_made_again_once_no_secret_is_left(conn, key_files):
    add(conn, "a")
    registry.remove_feed(conn, "a", ACTOR)
    (key_files / "credential.key").unlink()
    add(conn, "b")
    assert secrets_of(conn)["b"][0] == SECRET


def test_rotate_makes_no_first_key(conn, key_files):
    with pytest.raises(KeyMissingError, match=r"credential\.key"):
        key_rotation.rotate(conn, ACTOR)
    assert not key_files.exists()


def test_key_file_is_replaced_and_the_old_one_kept_beside(conn, key_files):
    add(conn, "a")
    before = (key_files / "credential.key").read_bytes()
    key_rotation.rotate(conn, ACTOR)
    assert sorted(path.name for path in key_files.iterdir()) == ["credential.key", "credential.key.old"]
    assert (key_files / "credential.key.old").read_bytes() == before
    assert {path.stat().st_mode & 0o777 for path in key_files.iterdir()} == {0o600}
    (key_files / "credential.key.old").unlink()
    assert secrets_of(conn)["a"][0] == "correct horse"


def test_two_rotations_at_once_are_one(conn, database, key_files, monkeypatch):
    """The second comes while the first gives the new key its name; it waits, and finds the key replaced."""
    add(conn, "a")
    before = (key_files / "credential.key").read_bytes()
    real, second, done = files.replace_file, [], []

    def rotate_too():
        with engine.open_connection(database) as other:
            done.append(key_rotation.rotate(other, ACTOR))

    def replace_while_another_comes(source, target):
        if not second:
            second.append(threading.Thread(target=rotate_too))
            second[0].start()
            with engine.open_connection(database) as watcher:
                wait_for_a_lock(watcher)
            assert done == []
        real(source, target)

    monkeypatch.setattr(files, "replace_file", replace_while_another_comes)
    first = key_rotation.rotate(conn, ACTOR)
    second[0].join()
    assert (first.feeds, done[0].feeds, done[0].key_id) == (["a"], [], first.key_id)
    assert sorted(path.name for path in key_files.iterdir()) == ["credential.key", "credential.key.old"]
    assert (key_files / "credential.key.old").read_bytes() == before
    assert secrets_of(conn) == {"a": (SECRET, first.key_id)}


def test_rotation_that_waited_for_another_does_not_replace_its_key(conn, database, key_files, monkeypatch):
    """The second has read the old key's name, and begins only when the first has ended."""
    add(conn, "a")
    before = (key_files / "credential.key").read_bytes()
    real, first = feeds.lock_key, []

    def lock_after_another(waiting):
        if not first:
            first.append(None)
            with engine.open_connection(database) as other:
                first.append(key_rotation.rotate(other, ACTOR))
        real(waiting)

    monkeypatch.setattr(feeds, "lock_key", lock_after_another)
    second = key_rotation.rotate(conn, ACTOR)
    assert (first[1].feeds, second.feeds, second.key_id) == (["a"], [], first[1].key_id)
    assert (key_files / "credential.key.old").read_bytes() == before


def test_next_key_of_another_rotation_gets_no_name(key_files):
    first = keyring.first_key()
    other = keyring.key_to_rotate_to(first)
    keyring.finish_rotation(first)
    assert sorted(path.name for path in key_files.iterdir()) == ["credential.key", "credential.key.next"]
    keyring.finish_rotation(other)
    assert sorted(path.name for path in key_files.iterdir()) == ["credential.key", "credential.key.old"]


@pytest.mark.parametrize("moment", ["in the transaction", "after it", "between the two names"])
def test_rotation_that_was_killed_is_readable_and_can_be_finished(conn, key_files, monkeypatch, moment):
    add(conn, "a")
    old = secrets_of(conn)["a"][1]
    doors = {
        "in the transaction": "db.feeds.lock_secrets",
        "after it": "tasks.keyring.finish_rotation",
        "between the two names": "tasks.files.replace_file",
    }
    with monkeypatch.context() as killed, pytest.raises(KeyboardInterrupt):
        killed.setattr(doors[moment], _stop)
        key_rotation.rotate(conn, ACTOR)
    assert (key_files / "credential.key").exists()  # whoever reads it meanwhile finds it
    add(conn, "b")
    assert {secret for secret, _ in secrets_of(conn).values()} == {"correct horse"}
    assert secrets_of(conn)["b"][1] != old  # once there is a new key, nothing more is put under the old one
    key_rotation.rotate(conn, ACTOR)
    (key_files / "credential.key.old").unlink(missing_ok=True)
    assert {secret for secret, _ in secrets_of(conn).values()} == {"correct horse"}
    assert [path.name for path in key_files.iterdir()] == ["credential.key"]


def _stop(*paths):
    """In place of a door: what takes the old key's name away is done, anything else is not."""
    if getattr(paths[0], "name", "") == "credential.key":
        paths[0].replace(paths[1])
        return
    raise KeyboardInterrupt
